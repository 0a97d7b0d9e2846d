/* BPE stepper: learn merge after merge from a short text, as unrolled.data.tokens does.
 *
 * The text is cut into pieces, which no token crosses; a piece is a row of bytes. Each step
 * merges the pair of neighbours that comes most often, and of equals the oldest tokens.
 */
(function () {
  'use strict';
  const EXAMPLES = [
    ['low, lower, lowest', 'low low low low low lower lower newest newest newest newest newest '
      + 'newest widest widest widest'],
    ['A verse', 'To every thing there is a season, and a time to every purpose under the heaven: '
      + 'a time to be born, and a time to die; a time to plant, and a time to pluck up that which '
      + 'is planted;'],
    ['Three scripts', 'time, χρόνος, 時間; to every time a time, κάθε χρόνος, 時間と時間'],
    ['Numbers', '1984 1985 1986 19.84 1,984 19 84'],
  ];
  const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
  const LETTER = '[\\p{L}\\p{Nl}\\p{No}]';
  const PIECES = new RegExp(` ?${LETTER}+(?:['\\u2019]${LETTER}+)*| ?\\p{Nd}+`
    + `| ?[^${SPACE}\\p{L}\\p{N}]+|[${SPACE}]+?(?= ?[^${SPACE}])|[${SPACE}]+`, 'gu');
  const LONGEST = 600; // characters of a text

  const encoder = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { fatal: true });

  /** All merges of a text with their counts, and its pieces, as ids, after each. */
  function compute({ text }) {
    const tokens = Array.from({ length: 256 }, (_, i) => [i]);
    let pieces = (text.match(PIECES) || []).map((piece) => Array.from(encoder.encode(piece)));
    const steps = [pieces];
    const merges = [];
    for (;;) {
      const counts = new Map();
      for (const piece of pieces) {
        for (let i = 0; i + 1 < piece.length; i += 1) {
          const key = piece[i] * 65536 + piece[i + 1];
          counts.set(key, (counts.get(key) || 0) + 1);
        }
      }
      let [best, most] = [-1, 1];
      for (const [key, n] of counts) {
        if (n > most || (n === most && n > 1 && key < best)) [best, most] = [key, n];
      }
      if (best < 0) break;
      const [left, right] = [Math.floor(best / 65536), best % 65536];
      merges.push({ left: tokens[left], right: tokens[right], count: most });
      pieces = pieces.map((piece) => join(piece, left, right, tokens.length));
      tokens.push([...tokens[left], ...tokens[right]]);
      steps.push(pieces);
    }
    return { merges, pieces: steps.map((step) => step.map((piece) => piece.map((i) => tokens[i]))) };
  }

  function join(piece, left, right, both) {
    const found = [];
    for (let i = 0; i < piece.length; i += 1) {
      if (piece[i] === left && piece[i + 1] === right) {
        found.push(both);
        i += 1;
      } else found.push(piece[i]);
    }
    return found;
  }

  /** A token as it can be read: a space is shown, and bytes that are no text in hex. */
  function spelt(token) {
    try {
      return decoder.decode(Uint8Array.from(token)).replaceAll(' ', '\u2423').replaceAll('\n', '\u21b5');
    } catch {
      return token.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    }
  }

  function mount(root, tools) {
    const { el } = tools;
    const live = tools.liveRegion();
    let run = compute({ text: EXAMPLES[0][1] });
    const box = tools.texts({ label: 'Text', examples: EXAMPLES, most: LONGEST, rows: 3,
      onText: learn });
    const says = el('p', { class: 'lab-says' });
    const tape = el('p', { class: 'lab-tokens' });
    const stepper = tools.stepper({ count: run.merges.length + 1, noun: 'stage', wait: 900,
      onStep: show });
    const data = tools.table({ caption: `${tools.title}: the merges so far`,
      summary: 'The merges as a table' });
    root.append(box.root, tape,
      el('div', { class: 'lab-worked' }, says), stepper.root, data.root, live.root);
    stepper.keys(root);

    function learn() {
      run = compute({ text: box.get() });
      stepper.stop();
      stepper.go(0);
      stepper.setCount(run.merges.length + 1);
    }

    function show(step) {
      const done = Math.min(step, run.merges.length);
      const last = done ? run.merges[done - 1] : null;
      const fresh = last ? [...last.left, ...last.right].join() : null;
      const tokens = run.pieces[done].flat();
      tape.replaceChildren(...run.pieces[done].map((piece) => el('span', { class: 'lab-piece' },
        ...piece.map((token) => el('span', { class: token.join() === fresh
          ? 'lab-token lab-fresh' : 'lab-token' }, spelt(token))))));
      const bytes = run.pieces[0].flat().length;
      const text = `${last ? `Merge ${done}: \u201c${spelt(last.left)}\u201d and \u201c${spelt(last.right)
        }\u201d stood side by side ${last.count} times.` : 'No merge yet: every byte is a token.'} ${
        bytes} bytes, ${tokens.length} tokens.`;
      says.textContent = text;
      live.say(text);
      data.update(['merge', 'left', 'right', 'times'], run.merges.slice(0, done).map((m, i) =>
        [String(i + 1), spelt(m.left), spelt(m.right), String(m.count)]));
    }

    show(0);
    return { ...box.state, step: stepper, table: data };
  }

  window.UnrolledLab.register('bpe-stepper', {
    title: 'BPE, step by step',
    describe: 'Learn a byte-pair encoding from a short text, one merge at a time. Change the text, '
      + 'and learn another.',
    examples: EXAMPLES,
    compute,
    spelt,
    mount,
  });
})();
