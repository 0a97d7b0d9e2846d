/* Throw the ball: where will it go next?
 *
 * A ball in a box of side 1, filmed every tenth of a second. Between two bounces it
 * follows a parabola in closed form, as in unrolled.data.made.ball. Each frame is seen
 * with noise, and from the last few frames three guesses are made at the next.
 */
// models: ball
(function () {
  'use strict';
  const { fmt, matvec, add } = window.UnrolledLab.tools;

  const INTERVAL = 0.1;
  const COUNT = 25; // frames of a throw
  const TRAINED = 4; // frames that the network was trained on
  const STILL = 1e-6; // as in the package
  const REACH = { frames: [1, 8, 1], noise: [0, 0.1, 0.005], gravity: [0, 4, 0.1],
    keeps: [0.3, 1, 0.05], x: [0, 1, 0.01], y: [0, 1, 0.01], right: [-1.5, 1.5, 0.05],
    up: [-1.5, 1.5, 0.05] };
  const PRESETS = [
    { id: 'straight', text: 'Straight on', frames: 2, noise: 0, gravity: 0, keeps: 1,
      x: 0.02, y: 0.1, right: 0.4, up: 0.35 },
    { id: 'noisy', text: 'Straight on, seen badly', frames: 2, noise: 0.03, gravity: 0,
      keeps: 1, x: 0.02, y: 0.1, right: 0.4, up: 0.35 },
    { id: 'walls', text: 'Off the walls', frames: 4, noise: 0.03, gravity: 0, keeps: 1,
      x: 0.2, y: 0.3, right: 0.9, up: 0.6 },
    { id: 'arc', text: 'Up and down again, with gravity', frames: 3, noise: 0, gravity: 1,
      keeps: 1, x: 0.05, y: 0.1, right: 0.4, up: 1.2 },
    { id: 'hops', text: 'Hops, each lower than the last', frames: 3, noise: 0.005,
      gravity: 3, keeps: 0.75, x: 0.05, y: 0.8, right: 0.35, up: 0 },
  ];
  const KEYS = Object.keys(REACH);

  // ---- numbers ----

  /** The parabolas along one axis, from bounce to bounce: start, place, speed, pull. */
  function legsOf(place, speed, end, gravity, keeps) {
    const legs = [];
    let start = 0;
    for (;;) {
      const still = Math.abs(speed) < STILL * Math.sqrt(gravity) && place <= 0;
      if (still) speed = 0;
      const pull = still ? 0 : gravity;
      legs.push({ start, place, speed, pull });
      const top = 1 - place;
      const left = speed * speed - 2 * pull * top;
      const rises = speed > 0 && left >= 0;
      const floor = Math.sqrt(speed * speed + 2 * pull * place);
      let wait = Infinity;
      if (rises) wait = (2 * top) / (speed + Math.sqrt(left));
      else if (speed < 0) wait = (2 * place) / (floor - speed);
      else if (pull > 0) wait = (speed + floor) / pull;
      start += wait;
      if (!(start <= end)) return legs;
      speed = keeps * (rises ? -Math.sqrt(left) : floor);
      place = rises ? 1 : 0;
    }
  }

  function along(legs, time) {
    let leg = legs[0];
    for (const one of legs) if (one.start <= time) leg = one;
    const since = time - leg.start;
    return leg.place + leg.speed * since - (leg.pull * since * since) / 2;
  }

  /** The weight of each of n frames in the next one, by least squares. */
  function fitWeights(n, degree) {
    const mid = (n - 1) / 2;
    const t = Array.from({ length: n }, (_, i) => i - mid);
    const sum = (f) => t.reduce((total, v) => total + f(v), 0);
    const next = n - mid;
    const two = sum((v) => v * v);
    const line = t.map((v) => 1 / n + (v * next) / two);
    if (degree === 1) return line;
    const off = two / n; // the square, less its mean, is orthogonal to line and constant
    const four = sum((v) => (v * v - off) ** 2);
    return line.map((w, i) => w + ((t[i] * t[i] - off) * (next * next - off)) / four);
  }

  const mix = (weights, frames) => [0, 1].map((c) =>
    weights.reduce((total, w, i) => total + w * frames[i][c], 0));

  /** The network of the recipe "ball": a line and what bends it. */
  function network(model, frames) {
    const last = frames[frames.length - 1];
    const x = [...frames.flatMap((f) => f.map((v, c) => (v - last[c]) / INTERVAL)),
      ...last.map((v) => (v - 0.5) / 0.5)];
    const relu = (v) => v.map((a) => Math.max(0, a));
    const h = relu(add(matvec(relu(add(matvec(x, model.W_1), model.b_1[0])), model.W_2),
      model.b_2[0]));
    const step = add(matvec(x, model.A), model.c[0], matvec(h, model.V));
    return last.map((v, c) => v + INTERVAL * step[c]);
  }

  /** Every number of the figure. blur holds a standard normal pair for each frame. */
  function compute({ x, y, right, up, gravity, keeps, noise, frames, blur }) {
    const times = blur.map((_, i) => i * INTERVAL);
    const end = times[times.length - 1];
    const legs = [legsOf(x, right, end, 0, keeps), legsOf(y, up, end, gravity, keeps)];
    const positions = times.map((time) => legs.map((leg) => along(leg, time)));
    const seen = positions.map((p, i) => p.map((v, c) => v + noise * blur[i][c]));
    const model = window.UnrolledLab.models.ball;
    // guesses[kind][i] is the guess at frame i from the frames before it, or null
    const guess = (n, least, f) => positions.map((_, i) =>
      (n >= least && i >= n ? f(seen.slice(i - n, i)) : null));
    const guesses = {
      line: frames === 1 ? guess(1, 1, (s) => s[0])
        : guess(frames, 2, (s) => mix(fitWeights(frames, 1), s)),
      curve: guess(frames, 3, (s) => mix(fitWeights(frames, 2), s)),
      network: guess(model ? TRAINED : 0, 1, (s) => network(model, s)),
    };
    const errors = Object.fromEntries(Object.entries(guesses).map(([kind, list]) =>
      [kind, list.map((g, i) => (g ? Math.hypot(g[0] - positions[i][0],
        g[1] - positions[i][1]) : null))]));
    return { times, positions, seen, guesses, errors };
  }

  /** Standard normal pairs, the same for the same seed. */
  function drawBlur(seed, count) {
    let state = seed >>> 0;
    const uniform = () => { // mulberry32
      state = (state + 0x6d2b79f5) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 15), z | 1);
      z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
      return (((z ^ (z >>> 14)) >>> 0) + 0.5) / 4294967296;
    };
    return Array.from({ length: count }, () => {
      const radius = Math.sqrt(-2 * Math.log(uniform()));
      const angle = 2 * Math.PI * uniform();
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    });
  }

  // ---- words ----

  const KINDS = [
    { key: 'line', paint: 'var(--lab-series-2)', name: 'straight line', shape: 'M0 -6 L6 5 L-6 5 Z' },
    { key: 'curve', paint: 'var(--lab-series-3)', name: 'parabola', shape: 'M-5 -5 H5 V5 H-5 Z' },
    { key: 'network', paint: 'var(--lab-series-4)', name: 'network', shape: 'M0 -7 L6 0 L0 7 L-6 0 Z' },
  ];
  const number = (v) => (v === null ? '\u2013' : fmt(v, 3));

  /** What the guesses at the next frame are worth, in a sentence. */
  function verdict({ guesses, errors }, i, frames) {
    if (!guesses.line[i]) {
      return `The line waits for ${frames} frames; so far there ${i === 1 ? 'is 1' : `are ${i}`}.`;
    }
    if (frames === 1) {
      return `From one frame the ball may go anywhere: who guesses \u201chere\u201d is off by ${
        fmt(errors.line[i], 3)}.`;
    }
    const off = KINDS.filter(({ key }) => errors[key][i] !== null)
      .map(({ key, name }) => `the ${name} by ${fmt(errors[key][i], 3)}`);
    return `Off at the next frame: ${off.join(', ')}.`;
  }

  const rms = (list, i) => {
    const some = list.slice(0, i + 1).filter((v) => v !== null);
    return some.length ? Math.sqrt(some.reduce((t, v) => t + v * v, 0) / some.length) : null;
  };

  // ---- the figure ----

  function mount(root, tools) {
    const { el, svg } = tools;
    const state = { ...PRESETS[2] };
    let seed = 1;
    let run;

    const preset = tools.select({ label: 'Example',
      options: [...PRESETS.map((p) => [p.id, p.text]), ['own', 'Your own throw']],
      value: state.id, onChange: (id) => {
        Object.assign(state, PRESETS.find((p) => p.id === id));
        update(0);
      } });
    const LABELS = { frames: ['frames for line and parabola', 0], noise: ['noise of each frame', 3],
      gravity: ['gravity', 1], keeps: ['speed kept in a bounce', 2],
      x: ['start, from the left', 2], y: ['start, from the floor', 2],
      right: ['speed to the right', 2], up: ['speed upwards', 2] };
    const sliders = Object.fromEntries(KEYS.map((key) => {
      const [min, max, step] = REACH[key];
      const [label, digits] = LABELS[key];
      return [key, tools.slider({ label, min, max, step, value: state[key], digits,
        onInput: (v) => { state[key] = v; update(); } })];
    }));
    const again = tools.button({ text: 'Other noise', onClick: () => { seed += 1; update(); } });
    const stepper = tools.stepper({ count: COUNT - 1, noun: 'frame', wait: 420,
      onStep: () => draw() });

    // Narrower than the card on a phone: a guess may lie outside the box.
    const picture = svg('svg', { role: 'img', viewBox: '-0.03 -0.03 1.06 1.06',
      class: 'lab-court', style: 'width: min(86%, 460px)' });
    const says = el('p', { class: 'lab-says' });
    const values = KINDS.map(({ key }) => el('dd', { 'data-show': key }));
    const sample = ({ shape, paint }) => svg('svg', { width: 18, height: 16,
      viewBox: '-9 -8 18 16', 'aria-hidden': true }, svg('path', { d: shape, fill: 'none',
      stroke: paint, 'stroke-width': 2.2 }));
    const titles = ['straight line through them, by least squares',
      'parabola through them, by least squares',
      `network, always on ${TRAINED} frames; trained with noise 0.03, without gravity, at speeds `
        + 'from 0.5 to 1.5'];
    const names = titles.map((title) => el('span', {}, title));
    const legend = el('dl', { class: 'lab-legend' }, ...KINDS.flatMap((kind, i) =>
      [el('dt', {}, sample(kind), names[i]), values[i]]));
    const live = tools.liveRegion();
    const data = tools.table({ caption: `${tools.title}: each frame and the guesses at it` });
    data.root.classList.add('lab-tall');
    data.root.addEventListener('toggle', fillTable);

    root.append(
      el('div', { class: 'lab-row' }, preset.root, again.root),
      el('div', { class: 'lab-sliders lab-pairs' }, ...KEYS.map((key) => sliders[key].root)),
      el('p', { class: 'lab-note' }, 'Drag the tip of the arrow to throw, or the ball to another '
        + 'start; the sliders do the same. Filled dots are frames that line and parabola look at, hollow '
        + 'ones are older.'),
      picture, stepper.root,
      el('div', { class: 'lab-worked' }, says, el('p', { class: 'lab-note' },
        'Off so far, root mean square, in sides of the box:'), legend),
      data.root, live.root);
    stepper.keys(root);

    // ---- dragging ----

    const spot = (event) => {
      const box = picture.getBoundingClientRect();
      return [-0.03 + ((event.clientX - box.left) / box.width) * 1.06,
        1.03 - ((event.clientY - box.top) / box.height) * 1.06];
    };
    const snap = (key, v) => {
      const [min, max, step] = REACH[key];
      return Number(Math.min(max, Math.max(min, Math.round(v / step) * step)).toFixed(3));
    };
    let dragged = null;
    picture.addEventListener('pointerdown', (event) => {
      dragged = event.target.getAttribute('data-drag');
      if (!dragged) return;
      event.preventDefault();
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener('pointermove', (event) => {
      if (!dragged) return;
      const [px, py] = spot(event);
      if (dragged === 'ball') Object.assign(state, { x: snap('x', px), y: snap('y', py) });
      else {
        Object.assign(state, { right: snap('right', (px - state.x) / ARROW),
          up: snap('up', (py - state.y) / ARROW) });
      }
      update(0);
    });
    for (const name of ['pointerup', 'pointercancel']) {
      picture.addEventListener(name, () => { dragged = null; });
    }
    const ARROW = 0.3; // seconds that the arrow is long

    // ---- drawing ----

    function update(to) {
      run = compute({ ...state, blur: drawBlur(seed, COUNT) });
      for (const key of KEYS) sliders[key].set(state[key]);
      const same = PRESETS.find((p) => KEYS.every((key) => p[key] === state[key]));
      preset.set(same ? same.id : 'own');
      again.off(state.noise === 0);
      fillTable();
      if (to === undefined) draw();
      else { stepper.stop(); stepper.go(to); }
    }

    function draw() {
      const now = stepper.index; // frames 0 … now have been seen
      const next = now + 1;
      const at = ([px, py]) => `${px.toFixed(4)} ${(1 - py).toFixed(4)}`;
      const parts = [svg('rect', { x: 0, y: 0, width: 1, height: 1, class: 'lab-wall' })];
      const used = run.seen.slice(Math.max(0, next - state.frames), next);
      parts.push(svg('path', { class: 'lab-flown', fill: 'none',
        d: `M${run.positions.slice(0, next).map(at).join(' L')}` }));
      run.seen.slice(0, next).forEach((p) => parts.push(svg('circle', { class:
        used.includes(p) ? 'lab-frame-used' : 'lab-frame-seen', cx: p[0], cy: 1 - p[1], r: 0.012 })));
      const truth = run.positions[next];
      parts.push(svg('circle', { class: 'lab-truth', cx: truth[0], cy: 1 - truth[1], r: 0.022 }));
      for (const { key, shape, paint } of KINDS) {
        const g = run.guesses[key][next];
        if (g) {
          parts.push(svg('g', { transform: `translate(${at(g)}) scale(0.0034)`, 'data-guess': key },
            svg('path', { d: shape, fill: 'none', style: `stroke: ${paint}; stroke-width: 2.2` })));
        }
      }
      if (now === 0) parts.push(...arrow());
      picture.replaceChildren(...parts);
      const sentence = verdict(run, next, state.frames);
      const seen = next === 1 ? 'first frame' : `first ${next} frames`;
      picture.setAttribute('aria-label', `A box with the ${seen} of a throw; the next is at `
        + `${fmt(truth[0])} from the left and ${fmt(truth[1])} from the floor. ${sentence}`);
      says.textContent = sentence;
      names[0].textContent = state.frames > 1 ? titles[0] : 'staying put: one frame shows no line';
      names[1].textContent = state.frames > 2 ? titles[1] : 'parabola, which needs three frames';
      KINDS.forEach(({ key }, i) => { values[i].textContent = number(rms(run.errors[key], next)); });
      live.say(sentence);
    }

    function arrow() {
      const tip = [state.x + ARROW * state.right, state.y + ARROW * state.up];
      const [x1, y1, x2, y2] = [state.x, 1 - state.y, tip[0], 1 - tip[1]];
      return [
        svg('line', { class: 'lab-throw', x1, y1, x2, y2 }),
        svg('circle', { class: 'lab-ball', cx: x1, cy: y1, r: 0.03, 'data-drag': 'ball' }),
        svg('circle', { class: 'lab-tip-spot', cx: x2, cy: y2, r: 0.018 }),
        svg('circle', { class: 'lab-grip', cx: x2, cy: y2, r: 0.06, 'data-drag': 'tip' }),
      ];
    }

    function fillTable() {
      if (!data.root.open) return;
      data.update(['frame', 'from the left', 'from the floor', 'seen left', 'seen floor',
        ...KINDS.map(({ name }) => `${name} off by`)],
      run.positions.map((p, i) => [String(i + 1), number(p[0]), number(p[1]),
        number(run.seen[i][0]), number(run.seen[i][1]),
        ...KINDS.map(({ key }) => number(run.errors[key][i]))]));
    }

    update(0);
    return { ...sliders, noise_seed: tools.whole({ most: 9999, get: () => seed,
      set: (v) => { seed = v; update(); } }), frame: stepper, table: data };
  }

  window.UnrolledLab.register('throw-the-ball', {
    title: 'Throw the ball',
    describe: 'Where will it go next? The ring is where the ball truly is one frame on; the marks '
      + 'are guesses at it from the frames before.',
    presets: PRESETS,
    reach: REACH,
    compute,
    drawBlur,
    verdict,
    mount,
  });
})();
