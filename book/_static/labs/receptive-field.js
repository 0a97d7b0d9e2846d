/* Receptive field: how far a stack of convolutions along time can see.
 *
 * Layer l sees n steps, d_l apart: h_t = sum over k of x_{t - k d} W_k. The field by the
 * formula, 1 + sum of (n - 1) d_l, stands beside the field measured: a network with
 * random weights is run, and every input is nudged.
 */
(function () {
  'use strict';
  const COLUMNS = 33; // steps that are drawn
  const PATTERNS = {
    plain: { text: '1, 1, 1, \u2026: plain', dilation: () => 1 },
    double: { text: '1, 2, 4, \u2026: doubling', dilation: (l) => 2 ** l },
    triple: { text: '1, 3, 9, \u2026: tripling', dilation: (l) => 3 ** l },
  };
  const FAR = 200; // words back, for the question how many layers it takes

  // ---- numbers ----

  /** How far a layer sees back and ahead. A centred one has an odd number of delays. */
  function reach(n, dilation, causal) {
    const whole = (n - 1) * dilation;
    const ahead = causal ? 0 : whole / 2;
    return { back: whole - ahead, ahead };
  }

  const fieldOf = (n, dilations) => dilations.reduce((sum, d) => sum + (n - 1) * d, 1);

  /** The places in each layer that the output at t depends on, the input's first. */
  function tree(n, dilations, causal, t) {
    let places = [t];
    const layers = [places];
    for (const d of [...dilations].reverse()) {
      const { ahead } = reach(n, d, causal);
      const below = new Set(places.flatMap((p) =>
        Array.from({ length: n }, (_, k) => p + ahead - k * d)));
      places = [...below].sort((a, b) => a - b);
      layers.unshift(places);
    }
    return layers;
  }

  /** Which inputs move the output at t: each is nudged in turn, and the net run again. */
  function nudged(n, dilations, causal, t, T) {
    const weight = (l, k) => 0.3 + 0.5 * Math.abs(Math.sin(12.9 * l + 7.3 * k + 1)); // any will do
    const runAll = (x) => dilations.reduce((h, d, l) => {
      const { ahead } = reach(n, d, causal);
      return h.map((_, s) => {
        let sum = 0;
        for (let k = 0; k < n; k += 1) sum += weight(l, k) * (h[s + ahead - k * d] || 0);
        return Math.tanh(sum / n);
      });
    }, x);
    const x = Array.from({ length: T }, (_, s) => 0.2 * Math.sin(3.7 * s));
    const before = runAll(x)[t];
    return x.flatMap((_, s) => {
      const other = [...x];
      other[s] += 0.5;
      return runAll(other)[t] !== before ? [s] : [];
    });
  }

  /** Every number of the figure, for layers of n delays and the given dilations. */
  function compute({ n, dilations, causal }) {
    const field = fieldOf(n, dilations);
    const T = 2 * field + 1; // long enough that no end is felt
    const t = field;
    const seen = nudged(n, dilations, causal, t, T);
    const first = seen[0] - t;
    const last = seen[seen.length - 1] - t;
    return { field, first, last, measured: last - first + 1, seen: seen.map((s) => s - t),
      holes: last - first + 1 - seen.length };
  }

  /** How many layers of n delays it takes to reach FAR steps back, by pattern. */
  function layersFor(n, pattern, far = FAR) {
    const dilations = [];
    while (fieldOf(n, dilations) <= far) dilations.push(PATTERNS[pattern].dilation(dilations.length));
    return dilations.length;
  }

  // ---- words ----

  function verdict({ field, measured, holes }) {
    const hole = holes === 0 ? 'every step of it is seen'
      : `${measured - holes} steps of it are seen and ${holes} ${holes === 1 ? 'is a hole' : 'are holes'
      } that nothing leads to`;
    return `By the formula the field is ${field} ${field === 1 ? 'step' : 'steps'}; nudging every `
      + `input finds a span of ${measured}, and ${hole}.`;
  }

  // ---- the figure ----

  function mount(root, tools) {
    const { el, svg } = tools;
    const state = { layers: 3, n: 3, pattern: 'double', causal: true, t: 28 };
    const dilations = () => Array.from({ length: state.layers }, (_, l) =>
      PATTERNS[state.pattern].dilation(l));

    const pattern = tools.select({ label: 'Dilations, lowest layer first',
      options: Object.entries(PATTERNS).map(([id, p]) => [id, p.text]), value: state.pattern,
      onChange: (v) => { state.pattern = v; update(); } });
    const causal = tools.checkbox({ label: 'causal: sees no future', value: true,
      onChange: (v) => { state.causal = v; update(); } });
    const make = (key, label, min, max) => tools.slider({ label, min, max, step: 1,
      value: state[key], digits: 0, onInput: (v) => { state[key] = v; update(); } });
    const sliders = { layers: make('layers', 'layers', 1, 4),
      n: make('n', 'delays: steps that a layer sees', 2, 5),
      t: make('t', 'place of the output', 1, COLUMNS) };
    const note = el('p', { class: 'lab-note' });
    const picture = svg('svg', { role: 'img' });
    const frame = el('div', { class: 'lab-frame', style: 'cursor: pointer' }, picture);
    frame.addEventListener('pointerdown', (event) => {
      const box = frame.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      state.t = Math.min(COLUMNS, Math.max(1, Math.ceil(share * COLUMNS)));
      update();
    });
    const says = el('p', { class: 'lab-says' });
    const list = el('dl', { class: 'lab-facts' });
    const live = tools.liveRegion();
    const data = tools.table({ caption: `${tools.title}: layer by layer` });
    root.append(
      el('div', { class: 'lab-row' }, pattern.root, causal.root),
      el('div', { class: 'lab-sliders' }, ...Object.values(sliders).map((s) => s.root)),
      note, frame, el('div', { class: 'lab-worked' }, says, list), data.root, live.root);

    function update() {
      const odd = state.n % 2 === 1;
      const isCausal = state.causal || !odd;
      for (const [key, slider] of Object.entries(sliders)) slider.set(state[key]);
      note.textContent = odd || state.causal ? 'Touch a column to ask what the output there depends on.'
        : `A centred layer needs an odd number of delays; with ${state.n} it is drawn causal.`;
      const ds = dilations();
      const run = compute({ n: state.n, dilations: ds, causal: isCausal });
      says.textContent = verdict(run);
      const terms = ds.map((d) => `${state.n - 1}\u00b7${d}`).join(' + ');
      const facts = [
        ['Formula', `1 + ${terms} = ${run.field}`],
        ['Measured', `from ${tools.fmt(run.first, 0)} to ${run.last > 0 ? '+' : ''}${run.last}, relative to the output, if the sequence is long enough`],
        [`To reach ${FAR} back`, `${layersFor(state.n, state.pattern)} causal layers of this kind; plain ones, ${
          layersFor(state.n, 'plain')}`],
      ];
      list.replaceChildren(...facts.flatMap(([name, text]) => [el('dt', {}, name),
        el('dd', { 'data-show': name }, text)]));
      data.update(['layer', 'dilation', 'field so far'], ds.map((d, l) =>
        [String(l + 1), String(d), String(fieldOf(state.n, ds.slice(0, l + 1)))]));
      draw(ds, isCausal);
      live.say(verdict(run));
    }

    function draw(ds, isCausal) {
      const width = Math.max(240, frame.clientWidth);
      const cell = width / COLUMNS;
      const gap = width < 480 ? 40 : 52;
      const top = 16;
      const height = top + gap * ds.length + 30;
      const x = (s) => (s + 0.5) * cell;
      const y = (layer) => top + gap * (ds.length - layer);
      const layers = tree(state.n, ds, isCausal, state.t - 1);
      const inside = (s) => s >= 0 && s < COLUMNS;
      const parts = [];
      layers.slice(1).forEach((places, l) => { // the arrows into layer l + 1
        const { ahead } = reach(state.n, ds[l], isCausal);
        for (const p of places.filter(inside)) {
          for (let k = 0; k < state.n; k += 1) {
            const from = p + ahead - k * ds[l];
            if (inside(from)) {
              parts.push(svg('line', { class: 'lab-path', x1: x(from), y1: y(l), x2: x(p), y2: y(l + 1) }));
            }
          }
        }
      });
      layers.forEach((places, l) => {
        const on = new Set(places);
        for (let s = 0; s < COLUMNS; s += 1) {
          const output = l === ds.length && s === state.t - 1;
          parts.push(svg('circle', { cx: x(s), cy: y(l), r: Math.min(5.5, cell * 0.36),
            class: output ? 'lab-node lab-out' : on.has(s) ? 'lab-node lab-on' : 'lab-node',
            'data-node': `${l}-${s}` }));
        }
      });
      parts.push(svg('text', { x: 2, y: height - 8, class: 'lab-quiet' }, 'input'),
        svg('text', { x: width - 2, y: height - 8, class: 'lab-quiet', 'text-anchor': 'end' },
          'time \u2192'));
      picture.setAttribute('width', width);
      picture.setAttribute('height', height);
      picture.replaceChildren(...parts);
      const shown = layers[0].filter(inside).map((s) => s + 1);
      picture.setAttribute('aria-label', `${COLUMNS} inputs and ${ds.length} layers above them. The `
        + `output at ${state.t} depends on the inputs ${shown.join(', ')}${
          shown.length < layers[0].length ? ', and on zeros beyond the ends' : ''}.`);
    }

    new ResizeObserver(() => update()).observe(root);
    update();
    return { pattern, causal, ...sliders, table: data };
  }

  window.UnrolledLab.register('receptive-field', {
    title: 'Receptive-field explorer',
    describe: 'A stack of convolutions along time. Which inputs can one output depend on?',
    compute,
    tree,
    layersFor,
    verdict,
    mount,
  });
})();
