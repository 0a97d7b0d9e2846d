/* Unroll it: step through a recurrent network with live numbers.
 *
 *   a_t = x_t W_x + h_{t-1} W_h + b,   h_t = tanh(a_t)
 *   o_t = h_t V + c,                   ŷ_t = sigmoid(o_t)
 *
 * One unit with sliders, or a trained network of any size with inputs of -1, 0, 1.
 * The next line names the models this lab can show; the page loads them before it.
 */
// models: flip-flop
(function () {
  'use strict';
  const { matvec, add, tanh, sigmoid } = window.UnrolledLab.tools;

  const GAIN = 3; // V of the one-unit network: large enough for ŷ near 0 or 1
  const SURE = 0.75; // below this, a right answer counts as unsure
  const [SHORTEST, LONGEST] = [2, 16];
  const SIGNALS = [
    { id: 'mixed', text: 'set, \u2013, \u2013, reset, \u2013, set, \u2013, \u2013',
      x: [1, 0, 0, -1, 0, 1, 0, 0], shift: 3 }, // a second wire is so many steps ahead
    { id: 'silence', text: 'set, then fifteen silent steps',
      x: [1, ...Array(15).fill(0)], shift: 0 },
  ];
  const PRESETS = [
    { id: 'latch', text: 'Latch: remembers the last set or reset', W_x: 4, W_h: 2, b: 0 },
    { id: 'echo', text: 'Fading echo: remembers, and slowly forgets', W_x: 1, W_h: 0.7, b: 0 },
    { id: 'alternate', text: 'Wobble: the memory changes sign at every step',
      W_x: 4, W_h: -2, b: 0 },
    { id: 'none', text: 'No memory: sees only the present input', W_x: 4, W_h: 0, b: 0 },
  ];
  const NAMES = { 1: 'set', 0: 'nothing', '-1': 'reset' };

  /** Where one unit comes to rest in silence: the attracting h with h = tanh(w h + b).
   *
   * g(h) = tanh(w h + b) - h is positive at -1 and negative at 1. For w > 1 it rises
   * between two turning points, and the state is drawn to a crossing left or right of
   * them. Otherwise g falls and crosses once; a steep fall throws the state to and fro
   * for ever, and it never rests.
   */
  function restingValues(w, b) {
    const g = (h) => tanh(w * h + b) - h;
    function crossing(low, high) {
      for (let i = 0; i < 60; i += 1) {
        const mid = (low + high) / 2;
        if (g(mid) > 0) low = mid; else high = mid;
      }
      return (low + high) / 2;
    }
    if (w > 1) {
      const turn = Math.atanh(Math.sqrt(1 - 1 / w)); // in w h + b
      const [left, right] = [(-turn - b) / w, (turn - b) / w];
      return [...(g(left) < 0 ? [crossing(-1, left)] : []),
        ...(g(right) > 0 ? [crossing(right, 1)] : [])];
    }
    const h = crossing(-1, 1);
    return w >= -1 || -w * (1 - h * h) < 1 ? [h] : [];
  }

  /** All the numbers of a run: every list has one row for each time step.
   *
   * rests are the resting values of a network with one unit, and null for others.
   * truth is the last order so far, per channel: 1 set, -1 reset, 0 none yet.
   * verdict compares ŷ with it: 'right', 'unsure', 'wrong', or '' with no truth.
   */
  function compute({ W_x, W_h, b, V, c, x }) {
    const run = { from_x: [], from_h: [], a: [], h: [], o: [], y: [], truth: [], verdict: [] };
    let h = b.map(() => 0);
    let truth = x[0].map(() => 0);
    for (const x_t of x) {
      const from_x = matvec(x_t, W_x);
      const from_h = matvec(h, W_h);
      const a = add(from_x, from_h, b);
      h = a.map(tanh);
      const o = add(matvec(h, V), c);
      const y = o.map(sigmoid);
      truth = truth.map((last, k) => (x_t[k] === 0 ? last : x_t[k]));
      const verdict = y.map((y_k, k) => {
        if (y.length !== truth.length || truth[k] === 0) return '';
        if (Math.max(y_k, 1 - y_k) < SURE) return 'unsure';
        return y_k > 0.5 === truth[k] > 0 ? 'right' : 'wrong';
      });
      const row = { from_x, from_h, a, h, o, y, truth, verdict };
      for (const key of Object.keys(run)) run[key].push(row[key]);
    }
    return { ...run, rests: b.length === 1 ? restingValues(W_h[0][0], b[0]) : null };
  }

  const oneUnit = ({ W_x, W_h, b }) =>
    ({ W_x: [[W_x]], W_h: [[W_h]], b: [b], V: [[GAIN]], c: [0] });

  function mount(root, tools) {
    const { el, svg, sym, svgSym, fmt, signedFill } = tools;
    const trained = window.UnrolledLab.models['flip-flop'];
    const weights = { ...PRESETS[0] };
    const most = trained ? Math.max(1, trained.W_x.length) : 1;
    let net = oneUnit(weights);
    let signal = SIGNALS[0]; // the orders chosen last
    let orders; // T rows, one order for each wire that any network has
    let run;
    let hide = false;
    let changed = []; // states that the last change of an input moved
    let shape = ''; // of the order pad, to know when to rebuild it
    let pads = [];

    const ordersOf = ({ x, shift }) => x.map((_, t) =>
      Array.from({ length: most }, (_unused, k) => x[(t + shift * k) % x.length]));
    orders = ordersOf(signal);

    // ---- controls ----

    const preset = tools.select({ label: 'Network',
      options: [...PRESETS.map((p) => [p.id, p.text]),
        ...(trained ? [['trained', 'Trained network with two units']] : []),
        ['own', 'Your own weights']],
      value: 'latch', onChange: choose });
    const signals = tools.select({ label: 'Orders',
      options: [...SIGNALS.map((s) => [s.id, s.text]), ['own', 'Your own orders']],
      value: signal.id, onChange: chooseSignal });
    const weight = (name, label, reach) => tools.slider({ label, min: -reach, max: reach,
      step: 0.05, value: weights[name],
      onInput: (v) => { weights[name] = v; preset.set(matching()); changed = []; update(); } });
    const sliders = {
      W_x: weight('W_x', [sym('W', 'x'), ' input weight'], 5),
      W_h: weight('W_h', [sym('W', 'h'), ' memory weight'], 3),
      b: weight('b', [sym('b'), ' bias'], 2),
    };
    const sliderRow = el('div', { class: 'lab-sliders' },
      ...Object.values(sliders).map((s) => s.root));
    const matrices = el('div', { class: 'lab-matrices' });
    const sorting = el('p', { class: 'lab-note' }, 'No unit belongs to one wire by design; ',
      sym('V'), ' sorts them out.');
    const trainedBox = el('div', { class: 'lab-trained' }, matrices, sorting);
    const steps = tools.stepper({ count: orders.length, onStep: () => draw() });
    const more = tools.button({ text: 'Add a step', onClick: () => resize(1) });
    const less = tools.button({ text: 'Remove a step', onClick: () => resize(-1) });
    const again = tools.button({ text: 'Start over', onClick: restart });
    const predict = tools.checkbox({ label: 'Hide later steps: I predict',
      onChange: (yes) => { hide = yes; changed = []; update(); } });

    // ---- the figure ----

    const chainSvg = svg('svg', { role: 'img' });
    const padBox = el('div', { class: 'lab-pads' });
    const plotSvg = svg('svg', { role: 'img' });
    const band = el('div', { class: 'lab-band' }); // behind the present step
    const rests = el('div', { class: 'lab-rests', 'aria-hidden': 'true' });
    const strip = el('div', { class: 'lab-strip', onclick: (event) => {
      const { step } = event.target.dataset;
      if (step !== undefined) { steps.stop(); steps.go(Number(step)); }
    } }, band, chainSvg, padBox, rests, plotSvg);
    const chain = el('div', { class: 'lab-scroll lab-chain', tabindex: 0, role: 'region',
      'aria-label': `${tools.title}: the unrolled network. Left and right arrows step.` },
    strip);
    const note = el('p', { class: 'lab-note lab-passing' });
    const worked = el('div', { class: 'lab-worked' });
    const live = tools.liveRegion();
    const data = tools.table({ caption: `${tools.title}: every number of the run` });
    steps.keys(root);
    root.append(
      el('div', { class: 'lab-row' }, preset.root, predict.root),
      sliderRow, trainedBox,
      el('div', { class: 'lab-row' }, signals.root,
        el('div', { class: 'lab-group' }, more.root, less.root, again.root)),
      chain, note, steps.root, worked, data.root, live.root);

    // ---- what the controls do ----

    const matching = () => (PRESETS.find((p) =>
      ['W_x', 'W_h', 'b'].every((key) => p[key] === weights[key])) || { id: 'own' }).id;
    function choose(id) {
      const found = PRESETS.find((p) => p.id === id);
      if (found) {
        Object.assign(weights, found);
        for (const [key, slider] of Object.entries(sliders)) slider.set(weights[key]);
      }
      changed = [];
      update();
    }
    function resize(by) {
      if (by > 0) orders.push(Array(most).fill(0)); else orders.pop();
      changed = [];
      update();
      steps.setCount(orders.length);
    }
    function chooseSignal(id) {
      const found = SIGNALS.find((s) => s.id === id);
      if (!found) return; // the reader's own orders are made below the chain
      signal = found;
      restart();
    }
    function restart() {
      orders = ordersOf(signal);
      changed = [];
      steps.stop();
      update();
      steps.setCount(orders.length);
      steps.go(0);
    }
    // For the address: a letter for each order (set, nothing, reset), a dot between wires.
    const own = {
      get: () => Array.from({ length: most }, (_, k) =>
        orders.map((row) => 'rns'[row[k] + 1]).join('')).join('.'),
      put(text) {
        const wires = text.split('.');
        const T = wires[0].length;
        if (wires.length !== most || T < SHORTEST || T > LONGEST
          || !wires.every((wire) => wire.length === T && /^[rns]+$/.test(wire))) return false;
        orders = Array.from({ length: T }, (_, t) => wires.map((wire) => 'rns'.indexOf(wire[t]) - 1));
        changed = [];
        update();
        steps.setCount(T);
        return true;
      },
    };
    const last = { // what to start over with
      get: () => signal.id,
      put(id) { chooseSignal(id); return signal.id === id; },
    };
    function give(t, k, order) {
      const before = run.h;
      orders[t][k] = order;
      changed = [];
      update();
      const moved = run.h.map((h_t, s) => Math.max(...h_t.map((v, j) =>
        Math.abs(v - before[s][j]))));
      changed = moved.map((d) => d >= 0.005);
      const far = Math.max(...moved);
      const same = moved.slice(0, t).every((d) => d === 0);
      const earlier = t === 0 ? '' : t === 1 ? ' The state of step 1 stays as it was.'
        : ` The states of steps 1 to ${t} stay as they were.`;
      const later = hide && steps.index < orders.length - 1
        ? ' can move: which do, and how far?'
        : ` move, by up to ${fmt(far)} at step ${moved.indexOf(far) + 1}; \u0394 marks `
          + 'those that move visibly.';
      // Only say what was measured: `same` is computed, not assumed.
      note.textContent = `The input at step ${t + 1} is now ${NAMES[order]}.`
        + `${same ? earlier : ''} From step ${t + 1} on the states${later}`;
      draw(note.textContent);
    }

    // ---- numbers, then pictures ----

    function update() {
      net = preset.input.value === 'trained' ? trained : oneUnit(weights);
      const E = net.W_x.length;
      run = compute({ ...net, x: orders.map((row) => row.slice(0, E)) });
      sliderRow.hidden = net === trained;
      trainedBox.hidden = net !== trained;
      if (net === trained && !matrices.childElementCount) {
        for (const [name, W] of Object.entries({ W_x: net.W_x, W_h: net.W_h, b: [net.b],
          V: net.V, c: [net.c] })) matrices.append(matrix(name, W));
      }
      more.off(orders.length >= LONGEST);
      less.off(orders.length <= SHORTEST);
      buildPads(E);
      const all = JSON.stringify(orders);
      const found = SIGNALS.find((s) => JSON.stringify(ordersOf(s)) === all);
      signals.set(found ? found.id : 'own');
      if (!changed.length) {
        note.textContent = net !== trained && found && found.id === 'silence'
          ? 'Move the memory weight: when does the state fade, and when does it hold?'
          : 'Change an order below any step: which states move, and which cannot?';
      }
      draw();
    }

    const matrix = (name, W) => el('span', { class: 'lab-matrix' },
      el('span', {}, sym(...name.split('_')), ' ='),
      el('span', { style: `grid-template-columns: repeat(${W[0].length}, auto)` },
        ...W.flat().map((v) => el('span', {}, fmt(v)))));

    const wire = (k, E) => (E > 1 ? `, wire ${k + 1}` : '');

    function buildPads(E) {
      if (shape !== `${E} ${orders.length}`) {
        shape = `${E} ${orders.length}`;
        pads = [];
        padBox.replaceChildren();
        for (let k = 0; k < E; k += 1) {
          padBox.append(el('div', { class: 'lab-pad-name', 'aria-hidden': 'true' },
            E > 1 ? `wire ${k + 1}` : 'order'));
          for (let t = 0; t < orders.length; t += 1) {
            const pad = tools.radios({ legend: `Input at step ${t + 1}${wire(k, E)}`,
              options: [[1, 'set', 'lab-plus'], [0, 'nothing'], [-1, 'reset', 'lab-minus']],
              value: orders[t][k], onChange: (order) => give(t, k, order) });
            pads.push({ ...pad, t, k });
            padBox.append(el('div', { class: 'lab-pad' }, pad.root));
          }
        }
      }
      for (const pad of pads) pad.set(orders[pad.t][pad.k]);
    }

    const GUTTER = 56; // left of step 1: names of the rows, and h_0
    const PILL = { w: 41, h: 28, gap: 32 };

    function draw(say) {
      const T = orders.length;
      const now = Math.min(steps.index, T - 1); // orders may just have become fewer
      const room = chain.clientWidth - 8 - GUTTER;
      const column = Math.min(112, Math.max(70, Math.floor(room / T)));
      const centre = (t) => GUTTER + column * (t + 0.5);
      const view = { now, T, column, centre, width: GUTTER + column * T,
        shown: (t) => !hide || t <= now };
      strip.style.width = `${view.width}px`;
      band.style.left = `${centre(now) - column / 2 + 2}px`;
      band.style.width = `${column - 4}px`;
      drawChain(view);
      padBox.style.gridTemplateColumns = `${GUTTER}px repeat(${T}, ${column}px)`;
      drawPlot(view);
      const summary = drawWorked(view);
      drawTable(view);
      live.say(say || summary);
      const left = centre(now) - column / 2;
      if (left < chain.scrollLeft + GUTTER || left + column > chain.scrollLeft + chain.clientWidth) {
        chain.scrollLeft = left - (chain.clientWidth - column) / 2;
      }
    }

    /** Each step's column, to click on; above everything, and so drawn last. */
    const columns = ({ T, column, centre }, height) => Array.from({ length: T }, (_, t) =>
      svg('rect', { class: 'lab-hit', 'data-step': t, x: centre(t) - column / 2 + 2, y: 0,
        width: column - 4, height, rx: 8 }));

    function arrow(path, tip, turn, isNow) {
      const mark = isNow ? ' lab-now' : '';
      return [svg('path', { class: `lab-wire${mark}`, d: path }),
        svg('path', { class: `lab-tip${mark}`, d: 'M0 0 L-7 -4 L-7 4 Z',
          transform: `translate(${tip}) rotate(${turn})` })];
    }

    function pill(x, y, text, value, key) {
      const at = { x: x - PILL.w / 2, y: y - PILL.h / 2, width: PILL.w, height: PILL.h, rx: 14 };
      return [svg('rect', { ...at, class: 'lab-pill' }),
        value === null ? null : svg('rect', { ...at, ...signedFill(value) }),
        svg('rect', { ...at, class: 'lab-rim' }),
        svg('text', { x, y, class: 'lab-mid', 'data-show': key }, text)];
    }

    function verdictMark(x, y, verdict) {
      const d = { right: 'M-5 0 L-1.5 4 L5.5 -4.5', wrong: 'M-4 -4 L4 4 M4 -4 L-4 4',
        unsure: 'M-6 1.5 C-4 -3.5 -2 -3.5 0 0 S4 3.5 6 -1.5' }[verdict];
      return d ? svg('path', { d, class: `lab-mark ${verdict}`,
        transform: `translate(${x} ${y})` }) : null;
    }

    function drawChain(view) {
      const { now, T, centre, width, shown } = view;
      const [E, D] = [net.W_x.length, net.b.length];
      const O = net.c.length;
      const stack = (n, top) => Array.from({ length: n }, (_, j) => top + PILL.gap * (j + 0.5));
      const yTop = 40;
      const hTop = yTop + O * PILL.gap + 36;
      const boxH = D * PILL.gap + 8;
      const xTop = hTop + boxH + 36;
      const height = xTop + E * PILL.gap + 6;
      const rows = { y: stack(O, yTop), h: stack(D, hTop + 4), x: stack(E, xTop) };
      const mid = hTop + boxH / 2;
      const boxW = PILL.w + 6;
      const small = D === 1 && E === 1 && O === 1;
      const parts = [];
      const name = (letter, sub, y) => svg('text', { x: 6, y, class: 'lab-quiet',
        'dominant-baseline': 'central' }, ...svgSym(letter, sub));
      parts.push(svg('text', { x: 6, y: 13, class: 'lab-quiet', 'dominant-baseline': 'central' },
        'step'), name('\u0177', 't', yTop + (O * PILL.gap) / 2),
      name('x', 't', xTop + (E * PILL.gap) / 2));
      // The empty memory before the first step.
      rows.h.forEach((y, j) => parts.push(...pill(PILL.w / 2 + 2, y, fmt(0), 0, `h-0-${j}`)));
      parts.push(svg('text', { x: PILL.w / 2 + 2, y: hTop - 9, class: 'lab-mid lab-quiet' },
        ...svgSym('h', 0)));
      const edge = (letter, sub, value, x, y, anchor) => svg('text', { x, y,
        class: `lab-quiet ${anchor}`, 'dominant-baseline': 'central' },
      ...(small ? [fmt(value)] : svgSym(letter, sub)));

      for (let t = 0; t < T; t += 1) {
        const x = centre(t);
        const here = t === now;
        const from = t === 0 ? PILL.w + 3 : centre(t - 1) + boxW / 2;
        const to = x - boxW / 2;
        parts.push(
          svg('text', { x, y: 13, class: `lab-mid ${here ? 'lab-strong' : 'lab-quiet'}` },
            String(t + 1)),
          ...arrow(`M${from} ${mid} H${to - 6}`, `${to} ${mid}`, 0, here),
          ...arrow(`M${x} ${xTop} V${hTop + boxH + 6}`, `${x} ${hTop + boxH}`, -90, here),
          ...arrow(`M${x} ${hTop} V${yTop + O * PILL.gap + 6}`,
            `${x} ${yTop + O * PILL.gap}`, -90, here),
          svg('rect', { class: `lab-box${here ? ' lab-now' : ''}`, x: x - boxW / 2, y: hTop,
            width: boxW, height: boxH, rx: 16 }),
          edge('W', 'h', net.W_h[0][0], (from + to) / 2 - 1, mid - 15, 'lab-mid'),
          edge('W', 'x', net.W_x[0][0], x + 6, hTop + boxH + 20, ''),
          edge('V', undefined, net.V[0][0], x + 6, hTop - 16, ''));
        if (changed[t] && shown(t)) {
          parts.push(svg('text', { x: x - boxW / 2 + 1, y: hTop - 7, class: 'lab-changed lab-passing lab-mid' },
            '\u0394'));
        }
        rows.x.forEach((y, i) => parts.push(
          ...pill(x, y, signed(orders[t][i]), orders[t][i], `x-${t + 1}-${i}`)));
        rows.h.forEach((y, j) => parts.push(...pill(x, y, shown(t) ? fmt(run.h[t][j]) : '?',
          shown(t) ? run.h[t][j] : null, `h-${t + 1}-${j}`)));
        rows.y.forEach((y, k) => {
          parts.push(...pill(x, y, shown(t) ? fmt(run.y[t][k]) : '?',
            shown(t) ? 2 * run.y[t][k] - 1 : null, `y-${t + 1}-${k}`));
          if (shown(t)) {
            parts.push(verdictMark(O > 1 ? x + PILL.w / 2 + 9 : x, O > 1 ? y : yTop - 8,
              run.verdict[t][k]));
          }
        });
      }
      setSize(chainSvg, width, height);
      chainSvg.replaceChildren(...parts.filter(Boolean), ...columns(view, height));
      chainSvg.setAttribute('aria-label', `${T} copies of one cell in a row, with the same `
        + `weights. Each takes its input from below and the state from its left. States: `
        + run.h.map((h_t, t) => (shown(t) ? h_t.map((v) => fmt(v)).join(' and ') : 'hidden'))
          .join(', ') + '.');
    }

    const signed = (order) => (order > 0 ? '+1' : order < 0 ? '\u22121' : '0');

    function setSize(node, width, height) {
      node.setAttribute('width', width);
      node.setAttribute('height', height);
      node.setAttribute('viewBox', `0 0 ${width} ${height}`);
    }

    const SHAPES = [ // so that units differ by more than their colour
      { dash: null, d: 'M-4 0 a4 4 0 1 0 8 0 a4 4 0 1 0 -8 0 Z', word: 'circles' },
      { dash: '6 4', d: 'M-4 -4 H4 V4 H-4 Z', word: 'squares' },
      { dash: '2 3', d: 'M0 -5 L5 4 H-5 Z', word: 'triangles' },
      { dash: '9 3 2 3', d: 'M0 -5 L5 0 L0 5 L-5 0 Z', word: 'diamonds' },
    ];

    function drawPlot(view) {
      const { now, T, centre, width, shown } = view;
      const [top, tall] = [16, 96];
      const y = (v) => top + ((1 - v) * tall) / 2;
      const D = net.b.length;
      const parts = [];
      for (const v of [1, 0, -1]) {
        parts.push(svg('line', { class: v ? 'lab-grid' : 'lab-zero', x1: GUTTER, x2: width,
          y1: y(v), y2: y(v) }),
        svg('text', { x: GUTTER - 8, y: y(v), class: 'lab-end lab-quiet' }, fmt(v, 0)));
      }
      parts.push(svg('text', { x: 6, y: y(0), class: 'lab-quiet',
        'dominant-baseline': 'central' }, ...svgSym('h', 't')));
      const found = shown(T - 1) ? run.rests : null; // they tell how the run ends
      rests.style.width = `${Math.min(width, chain.clientWidth - 6)}px`;
      rests.replaceChildren();
      if (found) {
        for (const h of found) {
          parts.push(svg('line', { class: 'lab-rest', x1: GUTTER, x2: width, y1: y(h), y2: y(h) }));
        }
        rests.append(...(found.length ? found : [0]).map((h) => {
          const above = h < -0.6 || (h > 0.005 && h < 0.6); // in the plot, and apart
          return el('span', { style: `top: ${y(h) + (above ? -21 : 6)}px` },
            found.length ? `rests at ${fmt(h)}` : 'never rests');
        }));
      }
      for (let j = 0; j < D; j += 1) {
        const style = SHAPES[j % SHAPES.length];
        const paint = `var(--lab-series-${(j % 4) + 1})`;
        const seen = run.h.map((h_t, t) => [centre(t), y(h_t[j]), t]).filter(([, , t]) => shown(t));
        parts.push(svg('polyline', { class: 'lab-series', stroke: paint,
          'stroke-dasharray': style.dash, points: seen.map(([a, b]) => `${a},${b}`).join(' ') }));
        for (const [a, b] of seen) {
          parts.push(svg('path', { d: style.d, fill: paint, transform: `translate(${a} ${b})` }));
        }
        if (D > 1) { // a legend below
          const left = GUTTER + 12 + 84 * j;
          parts.push(svg('path', { d: style.d, fill: paint,
            transform: `translate(${left} ${tall + 36})` }),
          svg('text', { x: left + 10, y: tall + 36, class: 'lab-quiet',
            'dominant-baseline': 'central' }, `unit ${j + 1}`));
        }
      }
      const height = tall + (D > 1 ? 46 : 28);
      setSize(plotSvg, width, height);
      plotSvg.replaceChildren(...parts, ...columns(view, height));
      const last = hide ? now : T - 1;
      const rest = found && ` In silence it ${found.length
        ? `rests at ${found.map((h) => fmt(h)).join(' or ')}` : 'never rests'}.`;
      plotSvg.setAttribute('aria-label', `The state over time, between \u22121 and 1: ${net.b.map(
        (_, j) => `${D > 1 ? `unit ${j + 1} (${SHAPES[j % 4].word}) ` : ''}from ${
          fmt(run.h[0][j])} at step 1 to ${fmt(run.h[last][j])} at step ${last + 1}`)
        .join('; ')}.${rest || ''}`);
    }

    // ---- the worked step ----

    const DIGITS = 3; // one more than in the chain, so that the reader can check a line
    const exact = () => (net === trained ? DIGITS : 2); // what the sliders give has two
    const factor = (v, digits = DIGITS) => {
      const text = fmt(v, digits);
      return text.startsWith('\u2212') ? `(${text})` : text;
    };
    const term = (...children) => el('span', { class: 'lab-term' }, ...children);
    const line = (left, ...right) => [el('span', {}, left), el('span', {}, ...right)];

    /** Sum of v[i] W[i][j] with its numbers, as a list of terms. */
    const products = (v, W, j, digits) => v.map((v_i, i) =>
      `${factor(v_i, digits)}\u00b7${factor(W[i][j], exact())}`);

    function sum(terms) {
      return terms.map((text, i) => term(i ? '+\u00a0' : '', text, '\u00a0'));
    }

    function drawWorked({ now, T }) {
      const t = now + 1;
      const [x_t, D] = [orders[now].slice(0, net.W_x.length), net.b.length];
      const before = now ? run.h[now - 1] : net.b.map(() => 0);
      const at = (letter, step, j, n) => sym(letter, n > 1 ? `${step},${j + 1}` : step);
      const result = (v, key) => el('span', { class: 'lab-result', 'data-show': key }, fmt(v, DIGITS));
      const times = (...symbols) => term(symbols[0], '\u00b7', symbols[1], '\u00a0');
      const blocks = [];
      blocks.push(el('div', { class: 'lab-eq' },
        ...line(sym('a', t), '= ', times(sym('x', t), sym('W', 'x')),
          term('+\u00a0', sym('h', now), '\u00b7', sym('W', 'h'), '\u00a0'), term('+\u00a0', sym('b'))),
        ...net.b.flatMap((b_j, j) => line(D > 1 ? at('a', t, j, D) : '', '= ',
          ...sum([...products(x_t, net.W_x, j, 0), ...products(before, net.W_h, j),
            factor(b_j, exact())]), term('=\u00a0', result(run.a[now][j], `a-${j}`)))),
        ...net.b.flatMap((_, j) => line(at('h', t, j, D),
          `= tanh(${fmt(run.a[now][j], DIGITS)}) = `, result(run.h[now][j], `h-${j}`)))));
      const O = net.c.length;
      blocks.push(el('div', { class: 'lab-eq' }, ...net.c.flatMap((c_k, k) => [
        ...line(at('o', t, k, O), '= ', ...(D === 1 ? [times(sym('h', t), sym('V')),
          term('+\u00a0', sym('c'), '\u00a0'), '= '] : []),
        ...sum([...products(run.h[now], net.V, k), factor(c_k, exact())]),
        term('=\u00a0', result(run.o[now][k], `o-${k}`))),
        ...line(at('\u0177', t, k, O), `= \u03c3(${fmt(run.o[now][k], DIGITS)}) = `,
          result(run.y[now][k], `y-${k}`)),
      ])));
      const summary = sentence(now, T, x_t, before);
      worked.replaceChildren(el('p', { class: 'lab-says' }, summary), ...blocks,
        el('p', { class: 'lab-note' }, ...(net === trained ? [] : [sym('V'), ' is fixed at ',
          `${GAIN} and `, sym('c'), ' at 0. ']),
        'With two answers one score is enough: ', term('\u03c3(', sym('o'), ') = 1/(1 + ',
          el('i', {}, 'e'), el('sup', {}, '\u2212', el('i', {}, 'o')), '),'),
        ' the first entry of the softmax of ', term('(', sym('o'), ', 0).'), ' Here ',
        sym('\u0177', 't'), ' is the probability, according to the network, that the last '
          + 'order was \u201cset\u201d; the mark above it says whether that is right (\u2713), '
          + `wrong (\u2717) or unsure (~, below ${SURE} either way). Computed with all `
          + 'decimals, shown with three (two in the drawing).'));
      return summary;
    }

    function sentence(now, T, x_t, before) {
      const E = x_t.length;
      const list = (values) => values.map((v) => fmt(v, DIGITS)).join(' and ');
      const inputs = x_t.map((v, k) => `${NAMES[v]}${E > 1 ? ` on wire ${k + 1}` : ''}`);
      const answers = run.y[now].map((y_k, k) => {
        const who = E > 1 ? `Wire ${k + 1}: it` : 'It';
        const truth = run.truth[now][k];
        const verdict = run.verdict[now][k];
        const says = `${who} gives \u201cset\u201d a probability of ${fmt(y_k, DIGITS)}`;
        if (truth === undefined) return `${says}.`;
        if (truth === 0) return `${says}; there was no order yet.`;
        const found = orders.slice(0, now + 1).map((row) => row[k]).lastIndexOf(truth) + 1;
        const link = { right: ', rightly', wrong: ', wrongly', unsure: ', unsure' }[verdict];
        return `${says}${link}: the last order was ${NAMES[truth]}, at step ${found}.`;
      });
      return `Step ${now + 1} of ${T}: the network reads ${inputs.join(' and ')}, and its state `
        + `goes from ${list(before)} to ${list(run.h[now])}. ${answers.join(' ')}`;
    }

    function drawTable({ shown }) {
      const names = (letter, n) => Array.from({ length: n }, (_, j) =>
        [sym(letter, n > 1 ? `t,${j + 1}` : 't')]);
      const [E, D, O] = [net.W_x.length, net.b.length, net.c.length];
      data.update(['step', ...names('x', E), ...names('a', D), ...names('h', D),
        ...names('o', O), ...names('\u0177', O), 'last order', 'answer'],
      orders.map((row, t) => [String(t + 1), ...row.slice(0, E).map(signed),
        ...[...run.a[t], ...run.h[t], ...run.o[t], ...run.y[t]]
          .map((v) => (shown(t) ? fmt(v, 4) : '?')),
        run.truth[t].map((v) => (v ? NAMES[v] : 'none yet')).join(', '),
        shown(t) ? run.verdict[t].map((v) => v || '\u2013').join(', ') : '?']));
    }

    new ResizeObserver(() => draw()).observe(root);
    update();
    return { ...sliders, network: preset, signal: last, orders: own, hide: predict, step: steps,
      table: data };
  }

  window.UnrolledLab.register('unroll-it', {
    title: 'Unroll it',
    describe: 'One cell, drawn once for each time step. Every copy has the same weights; what '
      + 'differs is the input from below and the memory from the left.',
    presets: PRESETS,
    signals: SIGNALS,
    gain: GAIN,
    compute,
    mount,
  });
})();
