/* Roll down the loss: the path that an optimizer takes on a surface of two weights.
 *
 * Gradient descent, momentum and Adam in the form, and with the order of operations,
 * of torch.optim; the surfaces are those of unrolled.training.surfaces.
 */
(function () {
  'use strict';
  const { fmt } = window.UnrolledLab.tools;

  const STEPS = 100;
  const NEAR = 1e-3; // this close to the lowest loss counts as there
  const FLAT = 1e-2; // and a gradient shorter than this as rest
  const AWAY = 1e3; // a weight beyond this has flown off
  const FAR = 1e6; // and beyond this the path ends
  const REACH = { rate: [-3, 0.5, 0.05], beta: [0, 0.99, 0.01] };
  const PLACE = 0.05; // the start moves on a grid of this width
  const HIGH = 1e6; // the plot of losses ends here, with an arrow
  const BOX = { left: 0.1, top: 0.015, width: 1.12, height: 1.115 }; // round the unit square
  const KEYS = ['surface', 'method', 'rate', 'beta', 'w1', 'w2'];

  // ---- numbers ----

  const SURFACES = {
    bowl: { name: 'a round bowl', lowest: 0, corner: [-3, -3], side: 6,
      loss: ([a, b]) => (a * a + b * b) / 2,
      slope: ([a, b]) => [a, b] },
    valley: { name: 'a valley, 25 times as steep across as along', lowest: 0,
      corner: [-3, -3], side: 6,
      loss: ([a, b]) => (a * a + 25 * b * b) / 2,
      slope: ([a, b]) => [a, 25 * b] },
    saddle: { name: 'a saddle between two hollows', lowest: -0.25, corner: [-2, -2], side: 4,
      loss: ([a, b]) => (a * a - b * b) / 2 + b ** 4 / 4,
      slope: ([a, b]) => [a, b ** 3 - b] },
    hollows: { name: 'two hollows, the left one deeper', lowest: -0.305428483743916,
      corner: [-2, -2], side: 4,
      loss: ([a, b]) => (a * a - 1) ** 2 + 0.3 * a + (b * b) / 2,
      slope: ([a, b]) => [4 * a * (a * a - 1) + 0.3, b] },
    bend: { name: 'a bent valley', lowest: 0, corner: [-2, -1], side: 4,
      loss: ([a, b]) => (1 - a) ** 2 + 10 * (b - a * a) ** 2,
      slope: ([a, b]) => [-2 * (1 - a) - 40 * a * (b - a * a), 20 * (b - a * a)] },
  };

  const LOWEST = { bowl: [[0, 0]], valley: [[0, 0]], saddle: [[0, 1], [0, -1]],
    hollows: [[-1.0355787140888537, 0]], bend: [[1, 1]] };

  /** One step of each method: weights, gradient, what it remembers, the step's number. */
  const METHODS = {
    descent: { name: 'gradient descent', beta: null,
      step: (w, g, memory, { lr }) => w.map((v, i) => v - lr * g[i]) },
    momentum: { name: 'with momentum', beta: 'momentum',
      step(w, g, memory, { lr, beta }) {
        memory.m = memory.m ? memory.m.map((m, i) => beta * m + g[i]) : g;
        return w.map((v, i) => v - lr * memory.m[i]);
      } },
    adam: { name: 'Adam', beta: '\u03b2\u2081 of Adam',
      step(w, g, memory, { lr, beta, t }) {
        const beta2 = 0.999;
        const [m, v] = [memory.m || [0, 0], memory.v || [0, 0]];
        memory.m = m.map((a, i) => a + (g[i] - a) * (1 - beta));
        memory.v = v.map((a, i) => a * beta2 + (1 - beta2) * g[i] * g[i]);
        const size = lr / (1 - beta ** t);
        const root = Math.sqrt(1 - beta2 ** t);
        return w.map((x, i) =>
          x - (size * memory.m[i]) / (Math.sqrt(memory.v[i]) / root + 1e-8));
      } },
  };

  /** The path from the start, the loss at each point, and what became of it. */
  function compute({ surface, method, rate, beta, w1, w2, steps = STEPS }) {
    const { loss, slope, lowest } = SURFACES[surface];
    const lr = 10 ** rate;
    const memory = {};
    const path = [[w1, w2]];
    for (let t = 1; t <= steps; t += 1) {
      const w = path[t - 1];
      path.push(METHODS[method].step(w, slope(w), memory, { lr, beta, t }));
      if (!path[t].every((v) => Math.abs(v) <= FAR)) break;
    }
    const losses = path.map(loss);
    const gaps = losses.map((v) => v - lowest);
    const out = path.findIndex((w) => !w.every((v) => Math.abs(v) <= AWAY));
    const off = gaps.map((gap, k) => (gap > NEAR ? k : -1)).reduce((a, b) => Math.max(a, b), -1);
    const last = path.length - 1;
    return { lr, path, losses, gaps, flown: out < 0 ? null : out,
      ended: path[last].every((v) => Math.abs(v) <= FAR) ? null : last,
      arrived: off + 1 < path.length ? off + 1 : null,
      slope: Math.hypot(...slope(path[last])) };
  }

  /** Where the path leads, in a sentence. */
  function verdict({ flown, ended, arrived, gaps, slope }) {
    if (flown !== null) {
      const end = ended === null ? '' : `, after ${ended} beyond a million, where the path ends`;
      return `Flies off: after ${flown} steps a weight is beyond 1,000${end}.`;
    }
    if (arrived === 0) return 'Starts at the lowest point, and stays there.';
    if (arrived !== null) {
      return `Arrives: within 0.001 of the lowest loss from step ${arrived} on.`;
    }
    const gap = fmt(gaps[gaps.length - 1], 3);
    if (slope < FLAT) return `Rests ${gap} above the lowest loss, where the ground is flat.`;
    return `Under way: after ${STEPS} steps it is ${gap} above the lowest loss.`;
  }

  /** Lines of equal loss, as SVG paths in the unit square: marching over n × n squares. */
  function contours({ loss, corner, side }, n = 96, count = 11) {
    const at = (i, j) => loss([corner[0] + (side * i) / n, corner[1] + (side * j) / n]);
    const grid = Array.from({ length: n + 1 }, (_, i) =>
      Array.from({ length: n + 1 }, (__, j) => at(i, j)));
    const sorted = grid.flat().sort((a, b) => a - b);
    // Levels such that between two lines lies the same share of the square.
    const levels = Array.from({ length: count }, (_, k) =>
      sorted[Math.floor(((k + 0.35) / count) * (sorted.length - 1))]);
    return levels.map((level) => {
      const parts = [];
      for (let i = 0; i < n; i += 1) {
        for (let j = 0; j < n; j += 1) {
          const ring = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
          const cuts = [];
          ring.forEach(([a, b], k) => {
            const [c, d] = ring[(k + 1) % 4];
            const [p, q] = [grid[a][b], grid[c][d]];
            if ((p < level) === (q < level)) return;
            const share = (level - p) / (q - p);
            cuts.push([(a + share * (c - a)) / n, 1 - (b + share * (d - b)) / n]);
          });
          for (let k = 0; k + 1 < cuts.length; k += 2) {
            const [from, to] = [cuts[k], cuts[k + 1]].map((c) => c.map((v) => v.toFixed(4)));
            parts.push(`M${from.join(' ')}L${to.join(' ')}`);
          }
        }
      }
      return parts.join('');
    });
  }

  const PRESETS = [
    ['Too careful', 'valley', 'descent', -2, 0.9, -2.5, 1.5],
    ['As bold as the valley allows', 'valley', 'descent', -1.1, 0.9, -2.5, 1.5],
    ['A little too bold', 'valley', 'descent', -1.05, 0.9, -2.5, 1.5],
    ['The careful one, with momentum', 'valley', 'momentum', -2, 0.8, -2.5, 1.5],
    ['Adam in the valley', 'valley', 'adam', -0.5, 0.8, -2.5, 1.5],
    ['On the ridge of a saddle', 'saddle', 'descent', -1, 0.9, -1.5, 0],
    ['Into the wrong hollow', 'hollows', 'descent', -1.3, 0.8, 1.6, 1],
    ['Through the wrong hollow, with momentum', 'hollows', 'momentum', -1.3, 0.8, 1.6, 1],
    ['Round the bend', 'bend', 'adam', -0.8, 0.9, -1.5, 2],
  ].map(([text, surface, method, rate, beta, w1, w2]) =>
    ({ text, surface, method, rate, beta, w1, w2 }));

  /** A loss in few digits: plain where it can be, else with its power of ten. */
  function few(v) {
    if (v === 0) return '0';
    const size = Math.abs(v);
    if (size >= 1e-3 && size < 1e4) return fmt(v, size < 10 ? 3 : 1);
    const [head, power] = v.toExponential(1).split('e');
    const raised = [...String(Number(power))].map((c) => (c === '-' ? '\u207b'
      : '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[c])).join('');
    return `${head.replace('-', '\u2212')} \u00d7 10${raised}`;
  }
  const short = (lr) => String(Number(lr.toPrecision(2)));

  // ---- the figure ----

  function mount(root, tools) {
    const { el, svg, sym } = tools;
    const state = { ...PRESETS[0] };
    let run;
    let lines = [];

    const example = tools.select({ label: 'Example',
      options: [...PRESETS.map((p, i) => [String(i), p.text]), ['own', 'Your own']],
      value: '0', onChange: (i) => {
        if (i !== 'own') Object.assign(state, PRESETS[Number(i)]);
        update();
      } });
    const surface = tools.select({ label: 'Surface',
      options: Object.entries(SURFACES).map(([key, s]) => [key, s.name]),
      value: state.surface, onChange: (key) => {
        state.surface = key;
        const { corner, side } = SURFACES[key];
        ['w1', 'w2'].forEach((name, i) => { state[name] = within(state[name], corner[i], side); });
        update();
      } });
    const method = tools.select({ label: 'Method',
      options: Object.entries(METHODS).map(([key, m]) => [key, m.name]),
      value: state.method, onChange: (key) => { state.method = key; update(); } });
    const make = (key, label, [min, max, step], digits) => tools.slider({ label, min, max, step,
      value: state[key], digits, onInput: (v) => { state[key] = v; update(); } });
    const betaName = el('span', {}, '');
    const sliders = {
      rate: make('rate', 'learning rate', REACH.rate, 2),
      beta: make('beta', [betaName], REACH.beta, 2),
      w1: make('w1', ['start, ', sym('w', 1)], [-3, 3, PLACE], 2),
      w2: make('w2', ['start, ', sym('w', 2)], [-3, 3, PLACE], 2),
    };
    const stepper = tools.stepper({ count: STEPS + 1, noun: 'point', wait: 90,
      onStep: () => draw() });

    const picture = svg('svg', { role: 'img', 
      viewBox: `${-BOX.left} ${-BOX.top} ${BOX.width} ${BOX.height}`,
      class: 'lab-court lab-slope' });
    const frame = el('div', { class: 'lab-losses' });
    const plot = svg('svg', { role: 'img' });
    frame.append(plot);
    const says = el('p', { class: 'lab-says' });
    const here = el('p', { class: 'lab-note' });
    const live = tools.liveRegion();
    const data = tools.table({ caption: `${tools.title}: weights and loss at each step` });
    data.root.classList.add('lab-tall');
    data.root.addEventListener('toggle', fillTable);

    root.append(
      el('div', { class: 'lab-row' }, example.root),
      el('div', { class: 'lab-row' }, surface.root, method.root),
      el('div', { class: 'lab-sliders lab-pairs' }, ...Object.values(sliders).map((s) => s.root)),
      el('p', { class: 'lab-note' }, 'Drag the ring to another start; the sliders do the same. '
        + 'Along a line the loss is the same, and the cross is where it is lowest.'),
      picture, stepper.root,
      el('div', { class: 'lab-worked' }, says, here, frame),
      data.root, live.root);
    stepper.keys(root);

    // ---- dragging ----

    function within(v, low, side) {
      const on = Math.round(v / PLACE) * PLACE;
      return Number(Math.min(low + side, Math.max(low, on)).toFixed(2));
    }
    let dragged = false;
    picture.addEventListener('pointerdown', (event) => {
      dragged = event.target.hasAttribute('data-drag');
      if (!dragged) return;
      event.preventDefault();
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener('pointermove', (event) => {
      if (!dragged) return;
      const { corner, side } = SURFACES[state.surface];
      const box = picture.getBoundingClientRect();
      const right = -BOX.left + ((event.clientX - box.left) / box.width) * BOX.width;
      const up = 1 + BOX.top - ((event.clientY - box.top) / box.height) * BOX.height;
      state.w1 = within(corner[0] + right * side, corner[0], side);
      state.w2 = within(corner[1] + up * side, corner[1], side);
      update();
    });
    for (const name of ['pointerup', 'pointercancel']) {
      picture.addEventListener(name, () => { dragged = false; });
    }

    // ---- drawing ----

    let drawn = null;
    function update() {
      run = compute(state);
      const { corner, side } = SURFACES[state.surface];
      if (drawn !== state.surface) {
        lines = contours(SURFACES[state.surface]);
        drawn = state.surface;
        ['w1', 'w2'].forEach((key, i) => {
          sliders[key].input.min = corner[i];
          sliders[key].input.max = corner[i] + side;
        });
      }
      for (const [key, slider] of Object.entries(sliders)) slider.set(state[key]);
      const rate = sliders.rate.root.querySelector('.lab-value');
      rate.textContent = short(run.lr);
      sliders.rate.input.setAttribute('aria-valuetext', short(run.lr));
      const { beta } = METHODS[state.method];
      betaName.textContent = beta || 'momentum (not used)';
      sliders.beta.input.disabled = beta === null;
      surface.set(state.surface);
      method.set(state.method);
      const same = PRESETS.findIndex((p) => KEYS.every((key) => p[key] === state[key]));
      example.set(same < 0 ? 'own' : String(same));
      fillTable();
      stepper.stop();
      stepper.setCount(run.path.length);
      stepper.go(run.path.length - 1); // the whole path; Home goes to its start
    }

    function draw() {
      const now = stepper.index;
      const { corner, side } = SURFACES[state.surface];
      const at = ([a, b]) => [(a - corner[0]) / side, 1 - (b - corner[1]) / side];
      const clip = tools.uid('clip');
      const parts = [
        svg('clipPath', { id: clip }, svg('rect', { x: 0, y: 0, width: 1, height: 1 })),
        svg('rect', { x: 0, y: 0, width: 1, height: 1, class: 'lab-wall' }),
        ...lines.map((d) => svg('path', { d, class: 'lab-level' })),
        ...axes(corner, side),
      ];
      for (const low of LOWEST[state.surface]) {
        const [x, y] = at(low);
        parts.push(svg('path', { class: 'lab-lowest',
          d: `M${x - 0.018} ${y - 0.018}l0.036 0.036m0 -0.036l-0.036 0.036` }));
      }
      const seen = run.path.slice(0, now + 1).filter((w) => w.every((v) => Math.abs(v) <= AWAY))
        .map(at);
      const pen = svg('g', { 'clip-path': `url(#${clip})` });
      pen.append(svg('polyline', { class: 'lab-walk', 'data-path': '',
        points: seen.map((p) => p.map((v) => v.toFixed(5)).join(',')).join(' ') }),
      ...seen.map(([x, y]) => svg('circle', { class: 'lab-foot', cx: x.toFixed(5),
        cy: y.toFixed(5), r: 0.007 })));
      const [x, y] = seen[seen.length - 1];
      pen.append(svg('circle', { class: 'lab-ball', cx: x, cy: y, r: 0.018 }));
      parts.push(pen);
      const [sx, sy] = at([state.w1, state.w2]);
      parts.push(svg('circle', { class: 'lab-truth', cx: sx, cy: sy, r: 0.028 }),
        svg('circle', { class: 'lab-grip', cx: sx, cy: sy, r: 0.06, 'data-drag': '' }));
      picture.replaceChildren(...parts);
      const sentence = verdict(run);
      const [a, b] = run.path[now];
      const spot = `After ${now} ${now === 1 ? 'step' : 'steps'}: weights ${few(a)} and ${few(b)}, loss ${
        few(run.losses[now])}.`;
      picture.setAttribute('aria-label', `The surface is ${SURFACES[state.surface].name}; the `
        + `path of ${METHODS[state.method].name} from ${fmt(state.w1)}, ${fmt(state.w2)} with `
        + `learning rate ${short(run.lr)}. ${sentence}`);
      says.textContent = sentence;
      here.textContent = spot;
      drawLosses(now);
      live.say(now === run.path.length - 1 ? sentence : spot);
    }

    /** The two weights along the edges of the map: numbers, and their names. */
    function axes(corner, side) {
      const small = { class: 'lab-tick', 'aria-hidden': 'true' };
      const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
        const [a, b] = corner.map((low) => fmt(low + share * side, 1).replace(/\.0$/, ''));
        return [svg('text', { ...small, x: share, y: 1.045, 'text-anchor': 'middle' }, a),
          svg('text', { ...small, x: -0.018, y: 1.012 - share, 'text-anchor': 'end' }, b)];
      });
      const name = (sub, x, y) => svg('text', { ...small, x, y, 'text-anchor': 'middle' },
        'w', svg('tspan', { dy: 0.008 }, sub === 1 ? '\u2081' : '\u2082'));
      return [...ticks, name(1, 0.625, 1.085), name(2, -0.07, 0.385)];
    }

    function drawLosses(now) {
      const width = Math.max(220, frame.clientWidth);
      const [left, right, top, bottom, height] = [44, 8, 16, 26, 150];
      const logs = run.gaps.map((v) => Math.log10(Math.min(HIGH, Math.max(1e-6, v))));
      const gone = run.gaps.findIndex((v) => !(v <= HIGH));
      const drawn = gone < 0 ? logs : logs.slice(0, gone + 1);
      const high = Math.ceil(Math.max(0, ...logs));
      const low = Math.min(high - 2, Math.floor(Math.min(...logs)));
      const x = (k) => left + (k / STEPS) * (width - left - right);
      const y = (v) => top + ((high - v) / (high - low)) * (height - top - bottom);
      const parts = [svg('text', { x: 2, y: 7, class: 'lab-quiet' },
        'loss above the lowest, logarithmic')];
      const every = Math.ceil((high - low) / 4);
      for (let v = high; v >= low; v -= every) {
        const power = svg('tspan', { dy: -4, class: 'lab-sub' }, fmt(v, 0));
        parts.push(svg('line', { class: 'lab-grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
          svg('text', { x: left - 6, y: y(v), class: 'lab-end lab-quiet' }, ...(v ? ['10', power] : ['1'])));
      }
      for (let k = 0; k <= STEPS; k += 20) {
        parts.push(svg('text', { x: x(k), y: height - bottom + 11, class: 'lab-mid lab-quiet' },
          String(k)));
      }
      parts.push(svg('text', { x: (left + width - right) / 2, y: height - 4,
        class: 'lab-mid lab-quiet' }, 'step'),
      svg('polyline', { class: 'lab-series', 'data-line': 'gaps', stroke: 'var(--lab-series-1)',
        points: drawn.map((v, k) => `${x(k).toFixed(2)},${y(v).toFixed(2)}`).join(' ') }),
      svg('line', { class: 'lab-now lab-wire', x1: x(now), x2: x(now), y1: top,
        y2: height - bottom }));
      if (gone >= 0) {
        parts.push(svg('path', { class: 'lab-series', stroke: 'var(--lab-series-1)',
          'data-gone': '', d: `M${x(gone) - 4} ${top + 5}L${x(gone)} ${top - 1}l4 6` }),
        svg('text', { x: x(gone) + 9, y: top + 4, class: 'lab-quiet' }, 'and on, beyond the plot'));
      }
      plot.setAttribute('width', width);
      plot.setAttribute('height', height);
      plot.setAttribute('aria-label', `The loss above the lowest, step by step: from ${
        few(run.gaps[0])} to ${few(run.gaps[run.gaps.length - 1])}.`);
      plot.replaceChildren(...parts);
    }

    function fillTable() {
      if (!data.root.open) return;
      data.update(['step', sym('w', 1), sym('w', 2), 'loss'], run.path.map(([a, b], k) =>
        [String(k), few(a), few(b), few(run.losses[k])]));
    }

    new ResizeObserver(() => drawLosses(stepper.index)).observe(frame);
    update();
    return { surface, method, ...sliders, point: stepper, table: data };
  }

  window.UnrolledLab.register('roll-down-the-loss', {
    title: 'Roll down the loss',
    describe: 'Two weights, a loss, and a hundred steps downhill. Which way does each method take, '
      + 'and when does it fly off?',
    presets: PRESETS,
    reach: REACH,
    surfaces: SURFACES,
    lowest: LOWEST,
    compute,
    verdict,
    contours,
    mount,
  });
})();
