/* Gradient horizon: how much of a gradient is left, so many steps back in time.
 *
 *   h_t = φ(u + h_{t-1} W_h),   J_t = W_h diag(φ'(a_t)),   ∂h_T/∂h_t = J_{t+1} … J_T
 *
 * in the order of row vectors. W_h is 2 x 2 with spectral radius ρ and largest singular
 * value σ₁, and u is the same push into both units at every step. γ is the most that a
 * slope φ' can be, so that no gradient is above (γσ₁)ᵏ at lag k.
 */
(function () {
  'use strict';
  const { matvec, tanh, sigmoid, fmt } = window.UnrolledLab.tools;

  const ACTIVATIONS = { // φ, its slope in terms of the state that it gives, the most of that
    linear: { phi: (a) => a, slope: () => 1, gamma: 1 },
    tanh: { phi: tanh, slope: (h) => 1 - h * h, gamma: 1 },
    sigmoid: { phi: sigmoid, slope: (h) => h * (1 - h), gamma: 0.25 },
    relu: { phi: (a) => Math.max(0, a), slope: (h) => (h > 0 ? 1 : 0), gamma: 1 },
  };
  const NAMES = { linear: 'linear', tanh: 'tanh', sigmoid: 'sigmoid', relu: 'ReLU' };
  const PRESETS = [
    { id: 'vanish', text: 'Vanishes (\u03c1 = \u03c3\u2081 = 0.9)',
      radius: 0.9, stretch: 0.9, T: 200, activation: 'linear', push: 0 },
    { id: 'explode', text: 'Explodes (\u03c1 = \u03c3\u2081 = 1.1)',
      radius: 1.1, stretch: 1.1, T: 200, activation: 'linear', push: 0 },
    { id: 'hold', text: 'Holds, as an orthogonal matrix does (\u03c1 = \u03c3\u2081 = 1)',
      radius: 1, stretch: 1, T: 200, activation: 'linear', push: 0 },
    { id: 'hump', text: 'Grows, then vanishes (\u03c1 = 0.9, \u03c3\u2081 = 5.2)',
      radius: 0.9, stretch: 5.2, T: 200, activation: 'linear', push: 0 },
    { id: 'tanh', text: 'The one that explodes, with tanh and a push of 0.5',
      radius: 1.1, stretch: 1.1, T: 200, activation: 'tanh', push: 0.5 },
    { id: 'sigmoid', text: 'The one that holds, with a sigmoid (slope at most \u00bc)',
      radius: 1, stretch: 1, T: 200, activation: 'sigmoid', push: 0 },
  ];
  const RANGES = { radius: [0.5, 1.5, 0.01], stretch: [0.5, 6, 0.01], T: [5, 200, 5],
    push: [0, 2, 0.05] }; // lowest, highest and step of the sliders
  const FAR = 12; // the axis ends at ten to this power, and to minus this power
  const SMALL = 1e-3;
  const NEAR = 0.01; // within this of 1, the gradient holds

  // ---- numbers ----

  /** The matrix of unrolled.layers.initialise.two_by_two. */
  const twoByTwo = (radius, stretch) =>
    [[radius, stretch - (radius * radius) / stretch], [0, radius]];

  /** The largest singular value of a 2 x 2 matrix, in closed form. */
  const largest = ([[a, b], [c, d]]) =>
    (Math.hypot(a + d, b - c) + Math.hypot(a - d, b + c)) / 2;

  /** Every number of the figure; lists are by lag, from 0 to T.
   *
   * The product of Jacobians is kept near 1 by powers of two, which round nothing, so
   * logs (to base ten) are right where norms are too small for a double. A norm that is
   * exactly zero has the log -Infinity. below is the lag from which on the norm stays
   * under 1/1000, or null. rate is the factor per step in the long run: the spectral
   * radius of J where the state rests, and slope the steepest slope there.
   */
  function compute({ radius, stretch, T, push, activation }) {
    const { phi, slope, gamma } = ACTIVATIONS[activation];
    const W_h = twoByTwo(radius, stretch);
    const step = (h) => matvec(h, W_h).map((a) => phi(push + a));
    let h = [0, 0];
    const slopes = Array.from({ length: T }, () => {
      h = step(h);
      return h.map(slope);
    });
    let product = [[1, 0], [0, 1]];
    let power = 0; // the product is to be multiplied by two to this power
    const norms = [1];
    const logs = [0];
    for (const s of slopes.reverse()) {
      product = W_h.map((row) => matvec(row.map((w, j) => w * s[j]), product));
      const size = largest(product);
      norms.push(size * 2 ** power);
      logs.push(Math.log10(size) + power * Math.log10(2));
      const by = size > 0 ? Math.floor(Math.log2(size)) : 0;
      product = product.map((row) => row.map((v) => v * 2 ** -by));
      power += by;
    }
    for (let n = 0; n < 10000 && Math.max(...h) < 1e6; n += 1) { // until it rests
      const next = step(h);
      if (next.every((v, j) => v === h[j])) break;
      h = next;
    }
    const steepest = Math.max(...h.map(slope));
    const line = (base) => logs.map((_, k) => base ** k);
    const at = (lag) => ({ lag, value: norms[lag] });
    const last = norms.reduce((found, v, k) => (v >= SMALL ? k : found), 0);
    return { W_h, norms, logs, gamma, byRadius: line(radius), byStretch: line(gamma * stretch),
      peak: at(norms.indexOf(Math.max(...norms))), end: at(T),
      valley: at(norms.indexOf(Math.min(...norms))),
      below: last < T ? last + 1 : null, slope: steepest, rate: radius * steepest };
  }

  // ---- words ----

  const PLAIN = '0123456789-k1'; // and the same above or, at the end, below the line:
  const SMALLER = '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u1d4f\u2081';
  const raised = (n) => String(n).replace(/./g, (c) => SMALLER[PLAIN.indexOf(c)]);

  /** Text whose small characters become elements, for not every font has them alike. */
  const rich = (text, make) => text.split(new RegExp(`([${SMALLER.slice(0, -1)}]+|\u2081)`))
    .filter(Boolean).map((part) => {
      if (!SMALLER.includes(part[0])) return part;
      const plain = [...part].map((c) => PLAIN[SMALLER.indexOf(c)]).join('');
      return make(part === '\u2081' ? 'sub' : 'sup', plain.replace('-', '\u2212'));
    });

  /** A positive number with three digits; log is for what no double can hold. */
  function three(value, log = Math.log10(value)) {
    if (log === -Infinity) return '0';
    const near = log > -300;
    const whole = Math.floor(log);
    const [m, e] = (near ? value : 10 ** (log - whole)).toExponential(2).split('e').map(Number);
    const power = near ? e : e + whole;
    return power >= -3 && power <= 3 ? value.toFixed(Math.max(0, 2 - power))
      : `${m.toFixed(2)}\u00a0\u00d7\u00a010${raised(power)}`;
  }

  /** What the run shows, in a sentence; unrolled.widgets.gradient_horizon says the same. */
  function verdict({ norms, logs, peak, valley, end, below, rate }) {
    const at = ({ lag, value }) => three(value, logs[lag]);
    const T = end.lag;
    if (end.value === 0 && logs[T] === -Infinity) {
      return 'Nothing comes through: without a push ReLU stays at 0, and its slope there '
        + 'counts as 0.';
    }
    if (norms.every((v) => Math.abs(v - 1) <= NEAR)) return 'Holds: it stays at 1 at every lag.';
    const gone = `below 1/1000 from lag ${below} on.`;
    if (peak.value > 1 + NEAR) {
      const grows = `${at(peak)}-fold by lag ${peak.lag}`;
      if (peak.lag < T) {
        return below ? `Grows ${grows} before it vanishes: ${gone}`
          : `Grows ${grows}, then shrinks to ${at(end)} at lag ${T}.`;
      }
      if (rate > 1 + 1e-9) return `Explodes: grows ${grows}, and nothing stops it.`;
      if (valley.value < 1 - NEAR) {
        return `Shrinks to ${at(valley)} at lag ${valley.lag}, then grows to ${at(end)} at lag `
          + `${T}: at the first steps of the sequence the state has not come to rest.`;
      }
      return rate > 1 - 1e-9 ? `Grows ${grows}: by the same amount a step, not by a factor.`
        : `Grows ${grows}; in a longer sequence it would turn and vanish.`;
    }
    if (below) return `Vanishes: ${gone}`;
    return valley.lag < T ? `Shrinks to ${at(valley)} at lag ${valley.lag}, and is ${at(end)} `
      + `at lag ${T}.` : `Shrinks to ${at(end)} at lag ${T}.`;
  }

  const facts = ({ peak, below, end, rate, slope, logs }, radius, activation) => [
    ['Peak', !peak.lag ? 'none: it is largest at lag 0, where it is 1'
      : peak.lag === end.lag ? `none yet: it is largest at lag ${end.lag}, the last`
        : `${three(peak.value)} at lag ${peak.lag}`],
    [`At lag ${end.lag}`, three(end.value, logs[end.lag])],
    ['Below 1/1000', below ? `from lag ${below} on` : `not within ${end.lag} steps`],
    ['In the long run', slope === 1 ? `\u00d7\u00a0${three(rate)} a step, which is \u03c1`
      : `\u00d7\u00a0${three(rate)} a step: \u03c1\u00a0= ${fmt(radius)} times the slope of `
        + `${NAMES[activation]} where the state rests, ${three(slope)}`],
  ];

  // ---- the figure ----

  const LINES = [ // differing by dash and by name, not by colour alone
    { key: 'logs', paint: 'var(--lab-series-1)', dash: null, wide: 3.4, name: 'the curve' },
    { key: 'byRadius', paint: 'var(--lab-series-2)', dash: '9 7', wide: 2, name: '\u03c1\u1d4f',
      says: 'what the largest eigenvalue predicts' },
    { key: 'byStretch', paint: 'var(--lab-series-3)', dash: '3 5', wide: 2.4,
      name: '(\u03b3\u03c3\u2081)\u1d4f', says: 'the upper bound' },
  ];
  const FRAME = { left: 46, right: 12, top: 26, bottom: 40 };

  function mount(root, tools) {
    const { el, svg, sym, svgSym } = tools;
    const html = (text) => rich(text, (kind, part) => el(kind, {}, part));
    const drawn = (text) => { // in SVG each part is raised from where the last one stood
      let level = 0;
      return rich(text, (kind, part) => {
        const to = kind === 'sup' ? -4 : 3;
        const by = to - level;
        level = to;
        return svg('tspan', { class: 'lab-sub', dy: by }, part);
      });
    };
    const state = { ...PRESETS[0] };
    let run;
    let lag = 9;

    // ---- controls ----

    const preset = tools.select({ label: 'Example',
      options: [...PRESETS.map((p) => [p.id, p.text]), ['own', 'Your own setting']],
      value: state.id, onChange: choose });
    const activation = tools.select({ label: 'Activation', options: Object.entries(NAMES),
      value: state.activation, onChange: (v) => { state.activation = v; update(); } });
    const number = (key, label, digits, onInput) => {
      const [min, max, step] = RANGES[key];
      return tools.slider({ label, min, max, step, value: state[key], digits,
        onInput: (v) => { state[key] = v; update(onInput && onInput(v)); } });
    };
    const why = 'no matrix stretches less than its eigenvalues say.';
    const sliders = {
      radius: number('radius', [sym('\u03c1'), ' spectral radius'], 2, (v) => {
        if (v <= state.stretch) return '';
        state.stretch = v;
        return `\u03c3\u2081 went up with \u03c1, to ${fmt(v)}: ${why}`;
      }),
      stretch: number('stretch', [sym('\u03c3', 1), ' largest singular value'], 2, (v) => {
        if (v >= state.radius) return '';
        state.radius = v;
        return `\u03c1 went down with \u03c3\u2081, to ${fmt(v)}: ${why}`;
      }),
      T: number('T', [sym('T'), ' length of the sequence'], 0),
      push: number('push', [sym('u'), ' push into both units, at every step'], 2),
    };
    const cursor = tools.slider({ label: ['lag ', sym('k'), '\u00a0= ', sym('T'), '\u00a0\u2212 ',
      sym('t')], min: 0, max: state.T, step: 1, value: lag, digits: 0,
    onInput: (v) => { lag = v; draw(); live.say(atLag()); } });
    cursor.root.classList.add('lab-cursor');
    activation.root.classList.add('lab-short');

    // ---- places ----

    const note = el('p', { class: 'lab-note lab-passing' });
    const plot = svg('svg', { role: 'img', class: 'lab-plot' });
    const frame = el('div', { class: 'lab-frame', onpointerdown: point,
      onpointermove: (event) => { if (event.buttons & 1) point(event); } }, plot);
    const off = el('p', { class: 'lab-note' });
    const sample = ({ paint, dash, wide }) => svg('svg', { width: 34, height: 12, 'aria-hidden': true },
      svg('line', { x1: 1, x2: 33, y1: 6, y2: 6, stroke: paint, 'stroke-width': wide,
        'stroke-dasharray': dash }));
    const values = LINES.map(({ key }) => el('dd', { 'data-show': key }));
    const reach = ['\u2016\u2202', sym('h', 'T'), '/\u2202', sym('h', 't'), '\u2016'];
    const slopes = el('span', { 'data-show': 'gamma' });
    const power = (...base) => [...base, el('sup', {}, el('i', {}, 'k'))];
    const bound = () => power('(', sym('\u03b3'), sym('\u03c3', 1), ')');
    const titles = [[...reach, ', the gradient\u2019s reach'],
      [...power(sym('\u03c1')), `, ${LINES[1].says}`],
      [...bound(), `, ${LINES[2].says}: `, sym('\u03b3'), '\u00a0= ', slopes,
        ' is the steepest slope']];
    const legend = el('dl', { class: 'lab-legend' }, ...LINES.flatMap((line, i) =>
      [el('dt', {}, sample(line), el('span', {}, ...titles[i])), values[i]]));
    const says = el('p', { class: 'lab-says' });
    const list = el('dl', { class: 'lab-facts' });
    const disc = svg('svg', { role: 'img', width: 190, height: 190, viewBox: '-95 -95 190 190' });
    const caption = el('p', { class: 'lab-note' });
    const live = tools.liveRegion();
    const data = tools.table({ caption: `${tools.title}: the norm at every lag` });
    data.root.classList.add('lab-tall');
    data.root.addEventListener('toggle', fillTable);
    root.append(
      el('div', { class: 'lab-row' }, preset.root, activation.root),
      el('div', { class: 'lab-sliders lab-pairs' }, ...Object.values(sliders).map((s) => s.root)),
      note, frame, cursor.root, legend, off,
      el('div', { class: 'lab-worked lab-beside' }, el('div', {}, says, list, caption),
        el('div', { class: 'lab-disc' }, disc)),
      data.root, live.root);

    // ---- what the controls do ----

    function choose(id) {
      Object.assign(state, PRESETS.find((p) => p.id === id));
      activation.set(state.activation);
      update();
    }
    const matching = () => (PRESETS.find((p) => [...Object.keys(RANGES), 'activation']
      .every((key) => p[key] === state[key])) || { id: 'own' }).id;

    function point(event) {
      const box = frame.getBoundingClientRect();
      const room = box.width - FRAME.left - FRAME.right;
      const share = (event.clientX - box.left - FRAME.left) / room;
      lag = Math.round(Math.min(1, Math.max(0, share)) * state.T);
      draw();
      live.say(atLag());
    }

    function update(pushed = '') {
      run = compute(state);
      for (const [key, slider] of Object.entries(sliders)) slider.set(state[key]);
      preset.set(matching());
      note.replaceChildren(...html(pushed || 'Move \u03c3\u2081 and leave \u03c1 alone: the eigenvalues '
        + 'stay as they are. Does the curve?'));
      lag = Math.min(lag, state.T);
      cursor.input.max = state.T;
      says.replaceChildren(...html(verdict(run)));
      list.replaceChildren(...facts(run, state.radius, state.activation)
        .flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, ...html(text))]));
      drawDisc();
      fillTable();
      draw();
      live.say(`${pushed} ${verdict(run)} ${atLag()}`.trim());
    }

    const numbersAt = (k) => [three(run.norms[k], run.logs[k]), three(run.byRadius[k]),
      three(run.byStretch[k])];
    const atLag = () => {
      const [norm, low, high] = numbersAt(lag);
      return `At lag ${lag} the gradient\u2019s reach is ${norm}; \u03c1 to the power ${lag} is `
        + `${low}, the upper bound is ${high}.`;
    };

    function fillTable() {
      if (!data.root.open) return;
      data.update([['lag ', sym('k')], reach.map((part) => (part.cloneNode
        ? part.cloneNode(true) : part)), power(sym('\u03c1')), bound()],
      run.norms.map((_, k) => [String(k), ...numbersAt(k).map((text) =>
        el('span', {}, ...html(text)))]));
    }

    // ---- pictures ----

    function draw() {
      const width = Math.max(200, frame.clientWidth);
      const height = width < 480 ? 250 : 290;
      const { T } = state;
      const lines = LINES.map((line) => ({ ...line, logs: line.key === 'logs' ? run.logs
        : run[line.key].map(Math.log10) }));
      const seen = [...run.logs, ...lines[1].logs].filter((v) => v > -Infinity);
      const low = Math.max(-FAR, Math.min(-3, Math.floor(Math.min(...seen) - 0.1)));
      const high = Math.min(FAR, Math.max(1, Math.ceil(Math.max(...seen) + 1)));
      const bottom = height - FRAME.bottom;
      const x = (k) => FRAME.left + (k / T) * (width - FRAME.left - FRAME.right);
      const y = (log) => FRAME.top + ((high - Math.max(log, -999)) / (high - low))
        * (bottom - FRAME.top);
      const parts = [];
      const clip = tools.uid('clip');
      parts.push(svg('clipPath', { id: clip }, svg('rect', { x: FRAME.left, y: FRAME.top - 1,
        width: width - FRAME.left - FRAME.right + 1, height: bottom - FRAME.top + 2 })));
      const across = (log, kind) => svg('line', { class: kind, x1: FRAME.left,
        x2: width - FRAME.right, y1: y(log), y2: y(log) });
      const every = Math.ceil((high - low) / 8);
      for (let log = Math.ceil(low / every) * every; log <= high; log += every) {
        parts.push(across(log, log ? 'lab-grid' : 'lab-zero'),
          svg('text', { x: FRAME.left - 7, y: y(log), class: 'lab-end lab-quiet' },
            ...drawn(log ? `10${raised(log)}` : '1')));
      }
      const stride = [1, 2, 5, 10, 20, 25, 50].find((n) => T / n <= (width < 480 ? 5 : 10));
      for (let k = 0; k <= T; k += stride) {
        parts.push(svg('line', { class: 'lab-zero', x1: x(k), x2: x(k), y1: bottom, y2: bottom + 4 }),
          svg('text', { x: x(k), y: bottom + 13, class: 'lab-mid lab-quiet' }, String(k)));
      }
      parts.push(svg('text', { x: 2, y: 9, class: 'lab-quiet', 'dominant-baseline': 'central' },
        '\u2016\u2202', ...svgSym('h', 'T'), svg('tspan', { dy: -3 }, '/\u2202'),
        ...svgSym('h', 't'), svg('tspan', { dy: -3 }, '\u2016, logarithmic')),
      svg('text', { x: (FRAME.left + width - FRAME.right) / 2, y: height - 8,
        class: 'lab-mid lab-quiet' }, 'lag: steps back from the end'));
      const pen = svg('g', { 'clip-path': `url(#${clip})` });
      for (const { key, logs, paint, dash, wide } of lines) {
        pen.append(svg('polyline', { class: 'lab-series', 'data-line': key, stroke: paint,
          style: `stroke-width: ${wide}px`, 'stroke-dasharray': dash, 'stroke-dashoffset': 5,
          points: logs.map((v, k) => `${x(k).toFixed(2)},${y(v).toFixed(2)}`).join(' ') }));
      }
      parts.push(pen);
      const inside = (log) => log >= low && log <= high;
      if (run.peak.lag && run.peak.lag < T && inside(run.logs[run.peak.lag])) {
        parts.push(svg('circle', { class: 'lab-peak', cx: x(run.peak.lag),
          cy: y(run.logs[run.peak.lag]), r: 5.5 }));
      }
      parts.push(svg('line', { class: 'lab-now lab-wire', x1: x(lag), x2: x(lag),
        y1: FRAME.top, y2: bottom }));
      if (inside(run.logs[lag])) {
        parts.push(svg('circle', { class: 'lab-spot', cx: x(lag), cy: y(run.logs[lag]), r: 4.5 }));
      }
      const paths = lines.map(({ logs }) => logs.map((v, k) => [x(k), y(v)]));
      const edge = { left: FRAME.left, right: width - FRAME.right, top: FRAME.top, bottom };
      parts.push(...labels(paths, x(lag), edge));
      plot.setAttribute('width', width);
      plot.setAttribute('height', height);
      plot.replaceChildren(...parts);
      plot.setAttribute('aria-label', `The gradient\u2019s reach by lag, on a logarithmic axis, with `
        + `two lines beside it. ${verdict(run)} \u03c1 to the power of the lag ends at ${
          numbersAt(T)[1]}, the upper bound at ${numbersAt(T)[2]}.`);
      slopes.textContent = run.gamma === 1 ? '1' : '\u00bc';
      cursor.set(lag);
      cursor.input.setAttribute('aria-valuetext', `${lag}: ${numbersAt(lag)[0]}`);
      numbersAt(lag).forEach((text, i) => { values[i].replaceChildren(...html(text)); });
      tellOff(lines, low, high);
    }

    /** Say which lines leave the axis, and where; the drawing only stops at its edge. */
    function tellOff(lines, low, high) {
      const gone = lines.flatMap(({ logs, name }) => {
        const out = logs.flatMap((v, k) => (v < low || v > high ? [k] : []));
        if (!out.length) return [];
        const [first, last] = [out[0], out[out.length - 1]];
        const where = logs[first] > high ? 'above it' : logs[first] > -Infinity ? 'below it' : 'at 0';
        return [`${name} is ${where} from lag ${first} ${
          last < state.T ? `to ${last}` : 'on'}`];
      });
      off.replaceChildren(...html(gone.length ? `The axis goes from 10${raised(low)} to 10${
        raised(high)}: ${gone.join(', ')}.` : ''));
    }

    /** ρᵏ and (γσ₁)ᵏ written beside their lines, where no line and no other label is.
     *
     * If need be, a label may stand on the cursor; if there is no room at all, the legend
     * must do. */
    function labels(paths, cursorX, edge) {
      const [w, h] = [44, 16];
      const taken = [];
      const dense = paths.map((path) => path.slice(1).flatMap(([x2, y2], k) => {
        const [x1, y1] = path[k];
        const n = Math.min(60, Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 3));
        return Array.from({ length: n }, (_, i) =>
          [x1 + ((x2 - x1) * i) / n, y1 + ((y2 - y1) * i) / n]);
      }).filter(([, py]) => py >= edge.top && py <= edge.bottom));
      const free = (bx, by) => bx - w / 2 >= edge.left && bx + w / 2 <= edge.right
        && by - h / 2 >= edge.top && by + h / 2 <= edge.bottom
        && dense.flat().every(([px, py]) => Math.abs(px - bx) > w / 2 || Math.abs(py - by) > h / 2)
        && taken.every(([tx, ty]) => Math.abs(tx - bx) > w || Math.abs(ty - by) > h);
      const sides = [[0, -13], [27, -10], [27, 10], [-27, -10], [-27, 10], [0, 13], [41, 0]];
      return [2, 1].flatMap((i) => {
        const line = dense[i];
        const spots = [0.8, 0.65, 0.5, 0.9, 0.35, 0.2, 0.97].flatMap((share) => {
          const [px, py] = line[Math.floor(share * (line.length - 1))] || [0, 0];
          const turned = i === 2 ? sides : [...sides].reverse();
          return turned.map(([dx, dy]) => [px + dx, py + dy]);
        }).filter(([bx, by]) => free(bx, by));
        const spot = spots.find(([bx]) => Math.abs(bx - cursorX) > w / 2 + 2) || spots[0];
        if (!spot) return [];
        taken.push(spot);
        return [svg('text', { x: spot[0], y: spot[1], class: 'lab-mid lab-name',
          style: `fill: ${LINES[i].paint}` }, ...drawn(LINES[i].name))];
      });
    }

    /** What W_h does to the unit circle: it becomes an ellipse. */
    function drawDisc() {
      const { radius, stretch } = state;
      const { W_h } = run;
      const scale = 84 / Math.max(1, stretch);
      const turn = Array.from({ length: 181 }, (_, i) => (i * Math.PI) / 90);
      const image = (angle) => matvec([Math.cos(angle), Math.sin(angle)], W_h);
      const place = ([a, b]) => `${(a * scale).toFixed(2)},${(-b * scale).toFixed(2)}`;
      // The direction that is stretched most: the angle of the first singular vector.
      const gram = W_h.map((r) => W_h.map((s) => r[0] * s[0] + r[1] * s[1]));
      const most = Math.atan2(2 * gram[0][1], gram[0][0] - gram[1][1]) / 2;
      const arrow = ([a, b], paint, key, dash) => {
        const tip = [a * scale, -b * scale];
        const size = Math.min(8, Math.hypot(...tip) * 0.6);
        const angle = (Math.atan2(tip[1], tip[0]) * 180) / Math.PI;
        return [svg('line', { x1: 0, y1: 0, x2: tip[0], y2: tip[1], stroke: paint,
          'stroke-width': 2.4, 'stroke-dasharray': dash, 'data-arrow': key }),
        svg('path', { d: `M0 0 L${-size} ${-size / 2} L${-size} ${size / 2} Z`, fill: paint,
          transform: `translate(${tip}) rotate(${angle})` })];
      };
      disc.replaceChildren(
        svg('line', { class: 'lab-grid', x1: -92, x2: 92, y1: 0, y2: 0 }),
        svg('line', { class: 'lab-grid', x1: 0, x2: 0, y1: -92, y2: 92 }),
        svg('circle', { class: 'lab-unit', r: scale }),
        svg('polygon', { class: 'lab-image', points: turn.map((t) => place(image(t))).join(' ') }),
        ...arrow(image(most), LINES[2].paint, 'stretch', '2 3'),
        ...arrow([0, radius], LINES[1].paint, 'radius', '6 3'));
      const [[a, b], [c, d]] = W_h.map((row) => row.map((v) => fmt(v)));
      disc.setAttribute('aria-label', `One step with W_h, rows ${a}, ${b} and ${c}, ${d}: the unit `
        + `circle becomes an ellipse with half-axes ${fmt(stretch)} and ${
          fmt((radius * radius) / stretch)}. Along the eigenvector lengths change by ${
          fmt(radius)}.`);
      caption.replaceChildren(el('span', { class: 'lab-matrix' }, el('span', {}, sym('W', 'h'), ' ='),
        el('span', { style: 'grid-template-columns: auto auto' },
          ...[a, b, c, d].map((text) => el('span', {}, text)))),
      'In one step, the slope aside, it turns the unit circle (thin) into an ellipse. Dotted: '
        + 'the longest half-axis, ', sym('\u03c3', 1), '. Dashed: the eigenvector, now of length ',
      sym('\u03c1'), '.');
    }

    new ResizeObserver(() => draw()).observe(root);
    update();
    return { activation, ...sliders, lag: cursor, table: data };
  }

  window.UnrolledLab.register('gradient-horizon', {
    title: 'Gradient horizon',
    describe: 'A network with two units reads a sequence. How much does its last state still '
      + 'depend on the state k steps before?',
    presets: PRESETS,
    ranges: RANGES,
    compute,
    verdict,
    mount,
  });
})();
