/* Gate reader: what the gates of a trained character LSTM do, character by character.
 *
 * The weights are those of book/_static/models/character-lstm.safetensors, in half
 * precision. All else is the LSTM of the book, with gates in the order i, f, g, o.
 */
// models: character-lstm
(function () {
  'use strict';
  const { fmt, softmax, sigmoid, halves } = window.UnrolledLab.tools;
  const packed = window.UnrolledLab.models['character-lstm'];
  const MOST = 300; // characters
  const QUANTITIES = [['f', 'f, the forget gate'], ['i', 'i, the input gate'],
    ['o', 'o, the output gate'], ['c', 'c, what is kept'], ['h', 'h, what is shown'],
    ['g', 'g, the candidate']];
  const NAMES = 'ifgoch';

  // ---- numbers ----

  let model = null;

  /** The model, unpacked when it is first needed; pushes[v] is E[v] W_x + b. */
  function load() {
    if (model) return model;
    const { E, W_x, W_h, b, c } = packed.weights;
    const [V, D] = E.shape;
    const [table, into, over, bias, out] = [E, W_x, W_h, b, c].map((w) => halves(w.half));
    const characters = [...packed.characters];
    model = { V, D, table, into, over, bias, out, characters, pushes: Array(V).fill(null),
      index: new Map(characters.map((character, v) => [character, v])) };
    return model;
  }

  function pushOf(v) {
    const { D, table, into, bias, pushes } = load();
    if (pushes[v]) return pushes[v];
    const push = Float64Array.from(bias);
    for (let i = 0; i < D; i += 1) {
      const x = table[v * D + i];
      const row = i * 4 * D;
      for (let j = 0; j < 4 * D; j += 1) push[j] += x * into[row + j];
    }
    pushes[v] = push;
    return push;
  }

  /** Read ids: i, f, g, o, c and h, each T rows of D numbers, one after the other. */
  function read(ids) {
    const { D, over } = load();
    const T = ids.length;
    const run = Object.fromEntries([...NAMES].map((name) => [name, new Float64Array(T * D)]));
    const a = new Float64Array(4 * D);
    for (let t = 0; t < T; t += 1) {
      a.set(pushOf(ids[t]));
      if (t) {
        for (let i = 0; i < D; i += 1) {
          const h = run.h[(t - 1) * D + i];
          const row = i * 4 * D;
          for (let j = 0; j < 4 * D; j += 1) a[j] += h * over[row + j];
        }
      }
      for (let j = 0; j < D; j += 1) {
        const at = t * D + j;
        run.i[at] = sigmoid(a[j]);
        run.f[at] = sigmoid(a[D + j]);
        run.g[at] = Math.tanh(a[2 * D + j]);
        run.o[at] = sigmoid(a[3 * D + j]);
        run.c[at] = run.f[at] * (t ? run.c[at - D] : 0) + run.i[at] * run.g[at];
        run.h[at] = run.o[at] * Math.tanh(run.c[at]);
      }
    }
    return run;
  }

  /** The scores of the next character after step t of a run. */
  function scores(run, t) {
    const { V, D, table, out } = load();
    return Array.from({ length: V }, (_, v) => {
      let sum = out[v];
      for (let j = 0; j < D; j += 1) sum += run.h[t * D + j] * table[v * D + j];
      return sum;
    });
  }

  /** The tokens of a text; what the model has never seen is read as a space. */
  function encode(text) {
    const { index } = load();
    return [...text].map((character) => index.get(character) ?? index.get(' '));
  }

  /** For the tests: every number after each character, T rows of D, and the scores. */
  function compute({ text }) {
    const { D } = load();
    const ids = encode(text);
    const run = read(ids);
    const rows = (list) => ids.map((_, t) => [...list.subarray(t * D, (t + 1) * D)]);
    return { ...Object.fromEntries([...NAMES].map((name) => [name, rows(run[name])])),
      logits: ids.map((_, t) => scores(run, t)) };
  }

  // ---- the page ----

  const shown = (character) => ({ ' ': '\u2423', '\n': '\u21b5' }[character] || character);
  const spoken = (character) => ({ ' ': 'space', '\n': 'new line' }[character] || character);

  function mount(root, tools) {
    const { el } = tools;
    if (!packed) {
      root.append(el('p', { class: 'lab-note' }, 'The model of this lab has not been exported.'));
      return;
    }
    const { D, characters, index } = load();
    const found = Object.entries(packed.units).map(([feature, units]) => ({ feature, ...units[0] }));
    let text = [];
    let run = null;
    let cells = [];
    let at = 0;
    const live = tools.liveRegion();
    const box = tools.texts({ label: 'Text', most: MOST, rows: 4,
      examples: packed.examples.map(({ name, text: words }) => [name, words]),
      onText: () => start() });
    const unit = tools.select({ label: 'Unit', value: 'rule-0',
      options: [...found.map((one, k) => [`rule-${k}`, `${one.feature}: ${one.quantity} of unit ${
        one.unit + 1}, r = ${fmt(one.measured)}`]),
      ...Array.from({ length: D }, (_, j) => [String(j), `unit ${j + 1}`])],
      onChange: (v) => {
        if (v.startsWith('rule-')) quantity.set(found[Number(v.slice(5))].quantity);
        paint();
      } });
    const quantity = tools.select({ label: 'Quantity', options: QUANTITIES,
      value: found[0].quantity, onChange: () => paint() });
    const walk = tools.stepper({ count: 1, noun: 'character', wait: 350, onStep: (t) => show(t) });
    const page = el('p', { class: 'lab-written', style: 'font-size: 1rem; line-height: 1.7',
      onpointerover: (event) => point(event), onclick: (event) => point(event) });
    const says = el('p', { class: 'lab-says' });
    const scale = el('p', { class: 'lab-note' });
    const strange = el('p', { class: 'lab-note' });
    const numbers = el('tr', {});
    const next = el('p', {});
    const board = el('div', { class: 'lab-worked' }, says,
      el('div', { class: 'lab-scroll', tabindex: 0, role: 'region',
        'aria-label': `${tools.title}: the numbers at this character` },
      el('table', { class: 'lab-table' }, el('thead', {}, el('tr', {},
        ...[...NAMES].map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, numbers))), next);
    root.append(box.root, strange, el('div', { class: 'lab-row' }, unit.root, quantity.root),
      scale, page, walk.root, board, live.root);
    walk.keys(root);

    const chosen = () => {
      const v = unit.get();
      return v.startsWith('rule-') ? found[Number(v.slice(5))].unit : Number(v);
    };

    function point(event) {
      const { at: t } = event.target.dataset;
      if (t !== undefined && Number(t) !== at) { walk.stop(); walk.go(Number(t)); }
    }

    function start() {
      const typed = [...box.get()].slice(0, MOST);
      const unknown = typed.filter((character) => !index.has(character));
      strange.textContent = unknown.length ? `${unknown.length} character${
        unknown.length > 1 ? 's' : ''} that the model has never seen read as a space: ${
        [...new Set(unknown)].join(' ')}` : '';
      text = typed.length ? typed.map((c) => (index.has(c) ? c : ' ')) : ['\n'];
      run = read(encode(text.join('')));
      cells = text.map((character, t) => el('span', { 'data-at': t },
        character === '\n' ? '\u21b5\n' : character));
      page.replaceChildren(...cells);
      paint(false);
      walk.setCount(text.length);
    }

    function paint(again = true) {
      const j = chosen();
      const name = quantity.get();
      const gate = 'ifo'.includes(name);
      let far = 1;
      if (name === 'c') text.forEach((_, t) => { far = Math.max(far, Math.abs(run.c[t * D + j])); });
      cells.forEach((cell, t) => {
        const v = run[name][t * D + j];
        const strength = Math.round(100 * Math.min(1, Math.abs(v) / far));
        cell.style.background = `color-mix(in srgb, var(--lab-${v < 0 ? 'neg' : 'pos'}) ${
          strength}%, transparent)`;
      });
      scale.textContent = gate ? `${name} of unit ${j + 1}: no colour at 0, full blue at 1.`
        : `${name} of unit ${j + 1}: blue above zero, orange below; full at \u00b1${fmt(far, 1)}.`;
      if (again) show(at);
    }

    function show(t) {
      if (!run || !cells[t]) return;
      if (cells[at]) cells[at].style.outline = '';
      at = t;
      cells[t].style.outline = '2px solid var(--lab-accent)';
      const j = chosen();
      numbers.replaceChildren(...[...NAMES].map((name) => el('td', { 'data-show': name },
        fmt(run[name][t * D + j], 4))));
      const p = softmax(scores(run, t));
      const order = p.map((_, v) => v).sort((a, b) => p[b] - p[a]).slice(0, 3);
      next.textContent = `Likeliest next: ${order.map((v) => `\u201c${shown(characters[v])}\u201d ${
        fmt(p[v])}`).join(', ')}.`;
      const name = quantity.get();
      says.textContent = `Unit ${j + 1} after \u201c${shown(text[t])}\u201d, character ${t + 1}: ${
        name} = ${fmt(run[name][t * D + j], 3)}.`;
      live.say(`After ${spoken(text[t])}: ${name} is ${fmt(run[name][t * D + j], 2)}; likeliest next, ${
        spoken(characters[order[0]])}.`);
    }

    start();
    return { ...box.state, unit, quantity, character: walk };
  }

  window.UnrolledLab.register('gate-reader', {
    title: 'Gate reader',
    describe: 'An LSTM that has read the Bible reads on. Choose a unit and one of its gates or '
      + 'states: each character has the colour of its value there. The first units of the list '
      + 'were found by a rule; r is their correlation with it on text that took no part in '
      + 'the choice.',
    compute: packed ? compute : () => [],
    mount,
  });
})();
