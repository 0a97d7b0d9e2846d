/* The Shannon game: guess the next letter until it is right, and a model guesses too.
 *
 * The page carries a text, not a model: it is counted here, when the first guess is made,
 * and smoothed by interpolated Kneser-Ney, as unrolled.models.ngram does it.
 */
// models: shannon-game
(function () {
  'use strict';
  const { fmt } = window.UnrolledLab.tools;
  const ABSENT = { order: 1, letters: ' abcdefghijklmnopqrstuvwxyz', text: '', sentences: [] };
  const model = window.UnrolledLab.models['shannon-game'] || ABSENT;
  const { letters, order } = model;
  const V = letters.length;
  const shown = (letter) => (letter === ' ' ? '\u2423' : letter);
  const spoken = (letter) => (letter === ' ' ? 'space' : letter);

  // ---- numbers ----

  /** Count all runs of 1 to order letters; lower orders count what comes before a run. */
  function count(text) {
    const raw = Array.from({ length: order }, () => new Map());
    for (let i = 0; i < text.length; i += 1) {
      for (let k = 0; k < order && i + k < text.length; k += 1) {
        const run = text.slice(i, i + k + 1);
        raw[k].set(run, (raw[k].get(run) || 0) + 1);
      }
    }
    return raw.map((runs, k) => {
      let counts = runs;
      if (k + 1 < order) {
        counts = new Map([...runs.keys()].map((run) => [run, 0]));
        for (const longer of raw[k + 1].keys()) {
          const run = longer.slice(1);
          counts.set(run, counts.get(run) + 1);
        }
      }
      const contexts = new Map();
      let [once, twice] = [0, 0];
      for (const [run, c] of counts) {
        if (c === 1) once += 1;
        if (c === 2) twice += 1;
        const u = run.slice(0, -1);
        const found = contexts.get(u) || { total: 0, kinds: 0 };
        found.total += c;
        found.kinds += c > 0 ? 1 : 0;
        contexts.set(u, found);
      }
      return { counts, contexts, d: once && twice ? once / (once + 2 * twice) : 0.75 };
    });
  }

  let tables = null;

  /** The probabilities of all letters after a context: share + rest times less context. */
  function next(context) {
    tables = tables || count(model.text);
    let p = Array(V).fill(1 / V);
    for (let k = 0; k < order && k <= context.length; k += 1) {
      const { counts, contexts, d } = tables[k];
      const u = context.slice(context.length - k);
      const { total, kinds } = contexts.get(u) || { total: 0, kinds: 0 };
      const rest = total > 0 ? (d * kinds) / total : 1;
      p = p.map((q, i) => {
        const c = counts.get(u + letters[i]) || 0;
        return Math.max(c - d, 0) / Math.max(total, 1) + rest * q;
      });
    }
    return p;
  }

  /** What the model makes of one letter of a sentence. */
  function judge(sentence, t) {
    const p = next(sentence.slice(0, t));
    const right = letters.indexOf(sentence[t]);
    const ahead = p.filter((q, i) => q > p[right] || (q === p[right] && i < right));
    return { p: p[right], bits: -Math.log2(p[right]), rank: ahead.length + 1 };
  }

  /** Shannon's bounds, and the bits of each rank, from how often each rank came. */
  function bounds(ranks) {
    const q = Array(V + 1).fill(0);
    for (const rank of ranks) q[rank - 1] += 1 / ranks.length;
    const lower = q.slice(0, V).reduce((sum, q_i, i) =>
      sum + (i + 1) * (q_i - q[i + 1]) * Math.log2(i + 1), 0);
    const each = ranks.map((rank) => -Math.log2(q[rank - 1]));
    return { lower, upper: mean(each), each };
  }
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const compute = ({ sentence }) => [...sentence].map((_, t) => judge(sentence, t));

  // ---- the page ----

  const LONGEST = 120; // characters of a sentence of one's own
  const SHOWN = '.';
  const HIGH = 14; // bits at the top of the plot
  const ROOM = { top: 18, bottom: 30, left: 34, step: 17 };
  const LINES = {
    you: { name: 'You', paint: 'var(--lab-series-2)' },
    model: { name: 'The model', paint: 'var(--lab-series-1)', dash: '6 3' },
    then: { name: 'Shannon\u2019s reader', paint: 'var(--lab-series-3)', dash: '2 3' },
  };

  function mount(root, tools) {
    const { el, svg } = tools;
    if (!model.sentences.length) {
      root.append(el('p', { class: 'lab-note' }, 'The model of this lab has not been exported.'));
      return;
    }
    let game = null;
    let replaying = false; // guesses from the address: drawn once, at the end
    const live = tools.liveRegion();
    const choice = tools.select({ label: 'Sentence', value: '0', onChange: () => start(),
      options: [...model.sentences.map(({ name, text }, i) =>
        [String(i), `${name}: ${text.length} letters and spaces`]), ['own', 'Your own']] });
    const typing = tools.text({ label: 'Your own sentence', most: LONGEST, onText: () => start() });
    const note = el('p', { class: 'lab-note' });
    const yours = el('div', { class: 'lab-gap-below' }, typing.root, note);
    const again = tools.button({ text: 'Start again', onClick: () => start() });
    const reveal = tools.button({ text: 'Show the letter',
      onClick: () => settle(null) });
    const tape = el('p', { class: 'lab-tape' });
    const id = tools.uid('guess');
    const box = el('input', { id, type: 'text', class: 'lab-typed', autocomplete: 'off',
      autocapitalize: 'off', spellcheck: 'false', oninput: typed });
    const keys = [...letters.slice(1), ' '].map((letter) => {
      const key = tools.button({ text: shown(letter), label: spoken(letter), kind: 'lab-key',
        onClick: () => guess(letter) });
      return { letter, ...key };
    });
    const says = el('p', { class: 'lab-says' });
    const facts = el('dl', { class: 'lab-facts' });
    const plot = svg('svg', { role: 'img' });
    const strip = el('div', { class: 'lab-scroll lab-chain', tabindex: 0, role: 'region',
      'aria-label': `${tools.title}: bits of each letter` }, plot);
    const legend = el('dl', { class: 'lab-legend' });
    const data = tools.table({ caption: `${tools.title}: guesses and bits of each letter` });
    data.root.classList.add('lab-tall');
    root.append(
      el('div', { class: 'lab-row' }, choice.root,
        el('div', { class: 'lab-group' }, again.root, reveal.root)),
      yours, tape,
      el('div', { class: 'lab-row lab-type' }, el('label', { for: id },
        'Type your guess, or press a key below: a letter, or a space'), box),
      el('div', { class: 'lab-keys', role: 'group', 'aria-label': 'Letters to guess' },
        ...keys.map((key) => key.root)),
      el('div', { class: 'lab-worked' }, says, facts), strip, legend, data.root, live.root);

    // ---- the game ----

    function start() {
      yours.hidden = choice.get() !== 'own';
      const sentence = yours.hidden ? model.sentences[Number(choice.get())]
        : prepared(typing.get());
      game = { ...sentence, ranks: [], tried: [], judged: [], log: '' };
      tell(game.text ? 'Which letter comes first? Nothing is given; a guess costs nothing but a '
        + 'count.' : 'Type a sentence above: how well does the model foresee it?');
      refresh();
    }

    /** A sentence in the letters of the model; a note says what became of the others. */
    function prepared(typed) {
      const plain = typed.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
      const strange = new Set([...plain].filter((c) => !letters.includes(c) && !/\s/.test(c)));
      note.textContent = `The model knows small letters from a to z and the space, no more.${
        strange.size ? ` A space stands for ${[...strange].join(' ')}` : ''}`;
      return { text: [...plain].map((c) => (letters.includes(c) ? c : ' ')).join('')
        .replace(/ +/g, ' ').trimStart() };
    }
    const over = () => game.ranks.length === game.text.length;

    function typed() {
      const letter = box.value.slice(-1).toLowerCase();
      box.value = '';
      if (letters.includes(letter)) guess(letter);
    }

    function guess(letter) {
      if (over() || game.tried.includes(letter)) return;
      game.log += letter;
      game.tried.push(letter);
      if (letter === game.text[game.ranks.length]) {
        settle(game.tried.length);
        return;
      }
      tell(`Not ${spoken(letter)}. ${game.tried.length} wrong so far.`);
      refresh();
    }

    function settle(rank) {
      if (over()) return;
      if (rank === null) game.log += SHOWN;
      const t = game.ranks.length;
      const letter = game.text[t];
      const its = judge(game.text, t);
      game.judged.push(its);
      game.ranks.push(rank);
      game.tried = [];
      const other = its.rank === 1 ? 'as its first guess' : `at guess ${its.rank}`;
      const how = rank ? `at guess ${rank}` : 'shown, not guessed';
      tell(`${spoken(letter)}, ${how}. The model had it ${other}: p\u00a0=\u00a0${
        its.p < 0.001 ? its.p.toExponential(1).replace('-', '\u2212') : fmt(its.p, 3)}, ${
        fmt(its.bits)} bits.${over() ? ' That was the last one.' : ''}`);
      refresh();
    }

    function tell(text) {
      says.textContent = text;
      live.say(text);
    }

    // ---- pictures ----

    function refresh() {
      if (replaying) return;
      const n = game.ranks.length;
      tape.replaceChildren(game.text.slice(0, n),
        el('span', { class: 'lab-gap' }, over() ? '' : '?'));
      reveal.off(over());
      for (const key of keys) {
        key.off(over() || game.tried.includes(key.letter));
        key.root.classList.toggle('lab-wrong', game.tried.includes(key.letter));
      }
      const own = game.ranks.filter((rank) => rank); // those that were not shown
      const mine = bounds(own);
      const left = [...mine.each];
      const each = game.ranks.map((rank) => (rank ? left.shift() : null));
      const series = { you: each, model: game.judged.map((its) => its.bits) };
      if (game.guesses) series.then = bounds(game.guesses).each.slice(0, n);
      const right = (ranks) => `${ranks.filter((r) => r === 1).length} of ${ranks.length}`;
      const given = n - own.length; // shown, which counts neither for nor against
      const average = (values) => {
        const there = values.filter((bits) => bits !== null);
        return there.length ? `${fmt(mean(there))} bits` : '\u2013';
      };
      facts.replaceChildren(...(n ? [
        ['Right at the first guess', `you ${right(own)}${given ? ` (${given} shown)` : ''}, the model ${
          right(game.judged.map((its) => its.rank))}${game.guesses
          ? `, Shannon\u2019s reader ${right(game.guesses.slice(0, n))}` : ''}`],
        ...(own.length ? [['Your bits a letter',
          `at most ${fmt(mine.upper)}${mine.lower <= mine.upper // else the shares do not fall
            ? `, at least about ${fmt(mine.lower)}` : ''}${own.length < 40
            ? '; of so few letters a rough guess' : ''}`]] : []),
        ['The model\u2019s', fmt(mean(series.model))],
      ].flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]) : []));
      legend.replaceChildren(...(n ? Object.entries(series).flatMap(([key, values]) => [
        el('dt', {}, sample(LINES[key]), el('span', {}, LINES[key].name)),
        el('dd', { 'data-show': key }, average(values))]) : []));
      data.update(['letter', 'your guesses', 'the model\u2019s', 'its bits'],
        game.ranks.map((rank, t) => [shown(game.text[t]), rank ? String(rank) : 'shown',
          String(game.judged[t].rank), fmt(game.judged[t].bits)]));
      draw(series, n);
    }

    const sample = ({ paint, dash }) => svg('svg', { width: 34, height: 12, 'aria-hidden': true },
      svg('line', { x1: 1, x2: 33, y1: 6, y2: 6, stroke: paint, 'stroke-width': 2.4,
        'stroke-dasharray': dash }));

    function draw(series, n) {
      const height = 190;
      const width = ROOM.left + ROOM.step * (Math.max(n, 12) + 1);
      const bottom = height - ROOM.bottom;
      const x = (t) => ROOM.left + ROOM.step * (t + 0.7);
      const y = (bits) => bottom - (Math.min(bits, HIGH) / HIGH) * (bottom - ROOM.top);
      const parts = [0, 2, 4, 6, 8, 10, 12, 14].map((bits) => svg('line', {
        class: bits ? 'lab-grid' : 'lab-zero', x1: ROOM.left, x2: width, y1: y(bits), y2: y(bits) }));
      parts.push(...[0, 4, 8, 12].map((bits) => svg('text', { x: ROOM.left - 7, y: y(bits),
        class: 'lab-end lab-quiet' }, String(bits))),
      svg('text', { x: 2, y: 8, class: 'lab-quiet' }, 'bits'));
      series.you.forEach((bits, t) => { if (bits !== null) parts.push(svg('line', {
        'data-bar': 'you', x1: x(t), x2: x(t), y1: bottom, y2: y(bits),
        stroke: LINES.you.paint, 'stroke-width': 7 })); });
      for (const key of ['then', 'model']) {
        if (!series[key]) continue;
        const at = series[key].map((bits, t) => `${x(t)},${y(bits).toFixed(2)}`).join(' ');
        parts.push(svg('polyline', { class: 'lab-series', 'data-line': key, points: at,
          stroke: LINES[key].paint, 'stroke-dasharray': LINES[key].dash }));
        series[key].forEach((bits, t) => parts.push(svg('circle', { cx: x(t), cy: y(bits), r: 2.6,
          fill: LINES[key].paint })));
      }
      for (let t = 0; t < n; t += 1) {
        parts.push(svg('text', { x: x(t), y: bottom + 13, class: 'lab-mid' }, shown(game.text[t])));
      }
      plot.setAttribute('width', width);
      plot.setAttribute('height', height);
      plot.replaceChildren(...parts);
      plot.setAttribute('aria-label', n ? `Bits of each of ${n} letters: on average the model\u2019s ${
        fmt(mean(series.model))}; yours stand above. The numbers are in the `
        + 'table below.' : 'An empty plot: the bits of each letter will stand here.');
      strip.scrollLeft = strip.scrollWidth;
    }

    // For the address: every guess in turn, and a dot for a letter that was shown.
    const guesses = {
      get: () => game.log,
      put(log) {
        if (log.length > V * game.text.length) return false;
        start();
        replaying = true;
        for (const letter of log) if (letter === SHOWN) settle(null); else guess(letter);
        replaying = false;
        refresh();
        return game.log === log; // else not every guess could be made
      },
    };
    start();
    return { sentence: choice, text: typing, guesses, table: data };
  }

  window.UnrolledLab.register('shannon-game', {
    title: 'The Shannon game',
    describe: 'Guess a sentence letter by letter. A model that has read four hundred thousand letters '
      + 'of the Bible guesses along. Who is less surprised?',
    compute,
    next,
    bounds,
    mount,
  });
})();
