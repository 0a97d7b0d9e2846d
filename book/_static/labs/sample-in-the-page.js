/* Sample in the page: the character model of chapter 6 writes, and shows its state.
 *
 * The weights are those of book/_static/models/character-rnn.safetensors, in half
 * precision, packed in base 64. All else is the Elman cell, a softmax and a draw.
 */
// models: character-rnn
(function () {
  'use strict';
  const { fmt, softmax, halves } = window.UnrolledLab.tools;
  const packed = window.UnrolledLab.models['character-rnn'];
  const MOST = 400; // characters in all
  const CHUNK = 60;

  // ---- numbers ----

  let model = null;

  /** The model, unpacked when it is first needed; pushes[v] is E[v] W_x + b. */
  function load() {
    if (model) return model;
    const { E, W_x, W_h, b, c } = packed.weights;
    const [V, D] = E.shape;
    const [table, into, over, bias, out] = [E, W_x, W_h, b, c].map((w) => halves(w.half));
    const pushes = Array.from({ length: V }, (_, v) => {
      const push = Float64Array.from(bias);
      for (let i = 0; i < D; i += 1) {
        const x = table[v * D + i];
        for (let j = 0; j < D; j += 1) push[j] += x * into[i * D + j];
      }
      return push;
    });
    model = { V, D, table, over, out, pushes, characters: [...packed.characters] };
    return model;
  }

  /** One step: the state after a token, and the scores of the next. */
  function step(h, token) {
    const { V, D, table, over, out, pushes } = load();
    const next = Float64Array.from(pushes[token]);
    for (let i = 0; i < D; i += 1) {
      if (h[i] === 0) continue;
      for (let j = 0; j < D; j += 1) next[j] += h[i] * over[i * D + j];
    }
    for (let j = 0; j < D; j += 1) next[j] = Math.tanh(next[j]);
    const logits = Array.from({ length: V }, (_, v) => {
      let sum = out[v];
      for (let j = 0; j < D; j += 1) sum += next[j] * table[v * D + j];
      return sum;
    });
    return { h: next, logits };
  }

  /** Read a text: the state and the scores after each of its characters. */
  function compute({ text }) {
    const { D, characters } = load();
    let h = new Float64Array(D);
    return [...text].map((character) => {
      const now = step(h, characters.indexOf(character));
      h = now.h;
      return { h: [...now.h], logits: now.logits };
    });
  }

  const warm = (logits, temperature) => softmax(logits.map((o) => o / temperature));

  /** Numbers in [0, 1) that a seed determines (mulberry32). */
  function randoms(seed) {
    let a = seed >>> 0;
    return () => {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = a;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  /** The token at which the running sum of p passes u. */
  function pick(p, u) {
    let sum = 0;
    for (let i = 0; i < p.length; i += 1) {
      sum += p[i];
      if (u < sum) return i;
    }
    return p.indexOf(Math.max(...p));
  }

  // ---- the page ----

  const CELL = 15;
  const shown = (character) => ({ ' ': '\u2423', '\n': '\u21b5' }[character] || character);
  const spoken = (character) => ({ ' ': 'space', '\n': 'new line' }[character] || character);

  function mount(root, tools) {
    const { el, svg } = tools;
    if (!packed) {
      root.append(el('p', { class: 'lab-note' }, 'The model of this lab has not been exported.'));
      return;
    }
    const { D, characters } = load();
    const side = Math.ceil(Math.sqrt(D));
    let temperature = 0.7;
    let random = null;
    let seed = 0;
    let text = [];
    let steps = [];
    let given = 0;
    let runs = []; // how the text came about: so many characters at such a temperature
    const live = tools.liveRegion();

    const box = tools.text({ label: 'Beginning', value: 'In the beginning ', most: 80,
      onText: () => start() });
    const dial = tools.slider({ label: 'Temperature', min: 0.1, max: 2, step: 0.05,
      value: temperature, onInput: (v) => { temperature = v; show(walk.index); } });
    const more = tools.button({ text: `Write ${CHUNK} characters`, kind: 'lab-main',
      onClick: () => write(CHUNK) });
    const one = tools.button({ text: 'Write one', onClick: () => write(1) });
    const again = tools.button({ text: 'Start again', label: 'Start again, with another draw',
      onClick: () => { seed += 1; start(); } });
    const page = el('p', { class: 'lab-written' });
    const walk = tools.stepper({ count: 1, noun: 'character', wait: 350, onStep: show });
    const squares = Array.from({ length: D }, (_, i) => svg('rect', {
      x: (i % side) * CELL + 1, y: Math.floor(i / side) * CELL + 1, width: CELL - 2,
      height: CELL - 2, stroke: 'var(--lab-line)', 'stroke-width': 0.6 }));
    const board = svg('svg', { role: 'img', width: side * CELL, height: side * CELL,
      viewBox: `0 0 ${side * CELL} ${side * CELL}` }, ...squares);
    const bars = svg('svg', { role: 'img', width: 230, height: 190 });
    const says = el('p', { class: 'lab-says' });
    const note = el('p', { class: 'lab-note' });
    const data = tools.table({ caption: `${tools.title}: probability and bits of each character` });
    data.root.classList.add('lab-tall');
    root.append(
      box.root, note, dial.root,
      el('div', { class: 'lab-group lab-gap-below' }, more.root, one.root, again.root),
      page, walk.root, says,
      el('div', { class: 'lab-beside' }, el('div', { class: 'lab-units' }, board),
        el('div', {}, bars)),
      data.root, live.root);
    walk.keys(root);

    function start() {
      const typed = [...box.get()];
      const known = typed.filter((character) => characters.includes(character));
      const strange = typed.filter((character) => !characters.includes(character));
      note.textContent = strange.length ? `${strange.length} character${strange.length > 1 ? 's' : ''
      } that the model has never seen left out: ${[...new Set(strange)].join(' ')}` : '';
      text = known.length ? known : ['\n'];
      runs = [];
      given = text.length;
      random = randoms(seed + 1);
      steps = [];
      read();
      showEnd();
    }

    function read() {
      while (steps.length < text.length) {
        const h = steps.length ? steps[steps.length - 1].h : new Float64Array(D);
        steps.push(step(h, characters.indexOf(text[steps.length])));
      }
    }

    /** Sample n characters more, as far as there is room. */
    function grow(n, warmth) {
      const before = text.length;
      while (text.length < Math.min(MOST, before + n)) {
        const p = warm(steps[steps.length - 1].logits, warmth);
        text.push(characters[pick(p, random())]);
        read();
      }
      const last = runs[runs.length - 1];
      if (last && last[1] === warmth) last[0] += text.length - before;
      else if (text.length > before) runs.push([text.length - before, warmth]);
    }

    function showEnd() {
      walk.setCount(text.length);
      walk.go(text.length - 1);
    }

    function write(n) {
      grow(n, temperature);
      showEnd();
      live.say(text.slice(-n).join(''));
    }

    const chance = (t) => softmax(steps[t - 1].logits)[characters.indexOf(text[t])];

    function show(at) {
      if (!steps.length) return;
      const full = text.length >= MOST;
      more.off(full);
      one.off(full);
      page.replaceChildren(...text.map((character, t) => el('span', {
        class: [t < given ? 'lab-given' : '', t === at ? 'lab-here' : ''].join(' '),
        'data-at': t,
        onclick: () => { walk.stop(); walk.go(t); } },
      character === '\n' ? (t === at ? '\u21b5\n' : '\n') : character)));
      const { h, logits } = steps[at];
      squares.forEach((square, i) => {
        const paint = tools.signedFill(h[i]);
        for (const [key, value] of Object.entries(paint)) square.setAttribute(key, value);
      });
      const strong = h.filter((v) => Math.abs(v) > 0.9).length;
      board.setAttribute('aria-label', `The ${D} hidden units after character ${at + 1}: ${
        strong} of them beyond 0.9 on either side.`);
      const p = warm(logits, temperature);
      const order = p.map((_, i) => i).sort((a, b) => p[b] - p[a]).slice(0, 8);
      bars.replaceChildren(
        svg('text', { x: 0, y: 10, class: 'lab-quiet' }, 'what comes next'),
        ...order.flatMap((v, k) => {
          const y = 28 + k * 20;
          return [svg('text', { x: 14, y, class: 'lab-mid' }, shown(characters[v])),
            svg('rect', { x: 30, y: y - 7, width: Math.max(1, 140 * p[v]), height: 14,
              fill: 'var(--lab-series-1)' }),
            svg('text', { x: 228, y, class: 'lab-end' }, fmt(p[v], 3))];
        }));
      bars.setAttribute('aria-label', `The likeliest next characters: ${order.slice(0, 3)
        .map((v) => `${spoken(characters[v])} ${fmt(p[v], 2)}`).join(', ')}.`);
      const first = order[0];
      says.textContent = `After \u201c${shown(text[at])}\u201d: ${strong} of ${D} units beyond `
        + `\u00b10.9; likeliest next, \u201c${shown(characters[first])}\u201d with ${
          fmt(p[first], 2)}.`;
      data.update(['character', 'p at temperature 1', 'bits'], text.map((character, t) =>
        (t ? [shown(character), fmt(chance(t), 4), fmt(-Math.log2(chance(t)))]
          : [shown(character), '\u2013', '\u2013'])));
    }

    // For the address: not the text but how to write it again, as 60-0.7_20-1.2.
    const written = {
      get: () => runs.map((run) => run.join('-')).join('_'),
      put(asked) {
        const wanted = asked.split('_').filter(Boolean).map((run) => run.split('-').map(Number));
        if (!wanted.every(([n, warmth]) => n > 0 && warmth >= 0.1 && warmth <= 2)) return false;
        start();
        wanted.forEach((run) => grow(...run));
        showEnd();
        return written.get() === asked; // else it is longer than a text may be, or oddly put
      },
    };
    start();
    return { text: box, draw: tools.whole({ most: 9999, get: () => seed,
      set: (v) => { seed = v; start(); } }), written, temperature: dial, character: walk,
    table: data };
  }

  window.UnrolledLab.register('sample-in-the-page', {
    title: 'Sample in the page',
    describe: 'A recurrent network that has read the Bible writes on, one character at a time. '
      + 'Each square is one of its hidden units: blue above zero, orange below.',
    compute: packed ? compute : () => [],
    warm,
    pick,
    mount,
  });
})();
