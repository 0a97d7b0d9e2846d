/* The embedding plane: pick three words and see which word lies at the fourth corner.
 *
 *   q = b - a + c, all of length one; answers by cosine with q
 *
 * The plane is the one through a, b and c, so the corner lies in it exactly; every other
 * word is seen from above, and its mark is the fainter the farther off the plane it is.
 */
// models: embedding-plane
(function () {
  'use strict';
  const { fmt } = window.UnrolledLab.tools;
  const ABSENT = { words: ['a', 'b', 'c'], picks: ['a', 'b', 'c'], width: 2, bytes: 'fwAAf39/',
    presets: [['a', 'b', 'c']] };
  const model = window.UnrolledLab.models['embedding-plane'] || ABSENT;
  const E = model.width;
  const dot = (x, y) => x.reduce((sum, v, i) => sum + v * y[i], 0);
  const less = (x, y) => x.map((v, i) => v - y[i]);
  const scaled = (x) => { const n = Math.sqrt(dot(x, x)); return x.map((v) => v / n); };
  const row = new Map(model.words.map((word, i) => [word, i]));
  let unit = null;

  /** The table, read when it is first needed: bytes, each row scaled to length one. */
  function table() {
    if (!unit) {
      const raw = Int8Array.from(atob(model.bytes), (c) => c.charCodeAt(0));
      unit = model.words.map((_, i) => scaled(Array.from(raw.subarray(i * E, (i + 1) * E))));
    }
    return unit;
  }

  /** Every number of the figure, for three different words. */
  function compute({ a, b, c, leaveOut, n = 8 }) {
    const U = table();
    const asked = [a, b, c].map((word) => row.get(word));
    const [va, vb, vc] = asked.map((i) => U[i]);
    const q = vb.map((v, i) => v - va[i] + vc[i]);
    const length = Math.sqrt(dot(q, q));
    const nearest = U.map((u, i) => [i, dot(u, q) / length])
      .filter(([i]) => !leaveOut || !asked.includes(i))
      .sort((x, y) => y[1] - x[1]).slice(0, n);
    const across = scaled(less(vb, va));
    const lifted = less(vc, va);
    const along = dot(lifted, across);
    const up = scaled(lifted.map((v, i) => v - along * across[i]));
    const place = (v) => {
      const step = less(v, va);
      const [x, y] = [dot(step, across), dot(step, up)];
      return { x, y, off: Math.sqrt(Math.max(0, dot(step, step) - x * x - y * y)) };
    };
    const shown = [...new Set([...asked, ...nearest.map(([i]) => i)])];
    return { nearest: nearest.map(([i, cosine]) => [model.words[i], cosine]), corner: place(q),
      points: Object.fromEntries(shown.map((i) => [model.words[i], place(U[i])])) };
  }

  function mount(root, tools) {
    const { el, svg } = tools;
    const state = { leaveOut: true };
    [state.a, state.b, state.c] = model.presets[0];
    const options = model.picks.map((word) => [word, word]);
    const live = tools.liveRegion();
    const preset = tools.select({ label: 'Example', value: '0',
      options: [...model.presets.map(([a, b, c], i) => [String(i), `${a} is to ${b} as ${c} is to \u2026`]),
        ['own', 'Your own']],
      onChange: (v) => {
        if (v !== 'own') [state.a, state.b, state.c] = model.presets[Number(v)];
        update();
      } });
    const picks = [['a', 'First word'], ['b', 'is to'], ['c', 'as']].map(([key, label]) =>
      [key, tools.select({ label, options, value: state[key],
        onChange: (v) => { state[key] = v; update(); } })]);
    const out = tools.checkbox({ label: 'Leave the three words out', value: true,
      onChange: (v) => { state.leaveOut = v; update(); } });
    const says = el('p', { class: 'lab-says' });
    const plot = svg('svg', { role: 'img', class: 'lab-plot' });
    const frame = el('div', { class: 'lab-plane' }, plot);
    const data = tools.table({ caption: `${tools.title}: the nearest words` });
    root.append(el('div', { class: 'lab-row' }, preset.root),
      el('div', { class: 'lab-row' }, ...picks.map(([, pick]) => pick.root)),
      el('div', { class: 'lab-row' }, out.root), frame,
      el('div', { class: 'lab-worked' }, says), data.root, live.root);

    function update() {
      const { a, b, c } = state;
      picks.forEach(([key, pick]) => pick.set(state[key]));
      const at = model.presets.findIndex((p) => p.join() === [a, b, c].join());
      preset.set(at < 0 ? 'own' : String(at));
      if (new Set([a, b, c]).size < 3) {
        tell('Three different words make a plane. Pick another.');
        plot.replaceChildren();
        plot.setAttribute('aria-label', 'Nothing is drawn: the words are not all different.');
        data.update(['word', 'cosine'], []);
        return;
      }
      const run = compute(state);
      const [first, second] = run.nearest;
      tell(`${a} is to ${b} as ${c} is to ${first[0]} (cosine ${fmt(first[1], 3)}); then ${
        second[0]} (${fmt(second[1], 3)}). ${state.leaveOut
        ? 'The three words could not be the answer.' : 'Every word could be the answer.'}`);
      data.update(['word', 'cosine with the corner', 'distance off the plane'],
        run.nearest.map(([word, cosine]) => [word, fmt(cosine, 3), fmt(run.points[word].off, 2)]));
      draw(run);
    }

    function tell(text) {
      says.textContent = text;
      live.say(text);
    }

    function draw(run) {
      const { a, b, c } = state;
      const width = Math.max(240, frame.clientWidth);
      const height = Math.max(300, Math.min(400, Math.round(width * 0.6)));
      const named = Object.entries(run.points);
      const all = [...named.map(([, p]) => p), run.corner];
      const span = (key) => [Math.min(...all.map((p) => p[key])), Math.max(...all.map((p) => p[key]))];
      const flat = span('x')[1] - span('x')[0] > span('y')[1] - span('y')[0];
      const [along, above] = flat ? ['x', 'y'] : ['y', 'x']; // the longer side lies along the page
      const [[x0, x1], [y0, y1]] = [span(along), span(above)];
      const scale = Math.min((width - 92) / (x1 - x0), (height - 64) / (y1 - y0));
      const x = (p) => width / 2 + scale * (p[along] - (x0 + x1) / 2);
      const y = (p) => height / 2 - scale * (p[above] - (y0 + y1) / 2);
      const [A, B, C] = [a, b, c].map((word) => run.points[word]);
      const edge = (from, to, dash) => svg('line', { class: 'lab-wire', x1: x(from), y1: y(from),
        x2: x(to), y2: y(to), 'stroke-dasharray': dash });
      const parts = [edge(A, B), edge(A, C), edge(B, run.corner, '5 4'), edge(C, run.corner, '5 4')];
      const taken = all.map((p) => [x(p) - 6, y(p) - 6, x(p) + 6, y(p) + 6]);
      const names = [];
      for (const [word, p] of named) { // the three words come first, then the nearest
        const asked = [a, b, c].includes(word);
        const best = word === run.nearest[0][0];
        parts.push(svg('circle', { 'data-word': word, cx: x(p), cy: y(p), r: best ? 6 : 4.5,
          fill: best ? 'var(--lab-accent)' : asked ? 'var(--lab-series-1)' : 'var(--lab-card)',
          stroke: asked || best ? 'var(--lab-card)' : 'var(--lab-edge)', 'stroke-width': 1.4,
          'fill-opacity': asked || best ? 1 : Math.max(0.25, 1 - p.off) },
        svg('title', {}, word)));
        const half = 3.5 * word.length + 3;
        const places = [[0, -14], [0, 15], [half + 8, 0], [-half - 8, 0], [0, -26], [0, 27]]
          .map(([dx, dy]) => [x(p) + dx, y(p) + dy])
          .filter(([tx, ty]) => tx - half > 0 && tx + half < width && ty > 8 && ty < height - 8
            && !taken.some(([l, t, r, d]) => tx + half > l && tx - half < r && ty + 6 > t && ty - 6 < d));
        if (!places.length) continue; // its name is in the table
        const [tx, ty] = places[0];
        taken.push([tx - half, ty - 6, tx + half, ty + 6]);
        names.push(svg('text', { x: tx, y: ty, stroke: 'var(--lab-card)', 'stroke-width': 4,
          'paint-order': 'stroke', class: asked || best ? 'lab-mid lab-strong' : 'lab-mid lab-quiet' },
        word));
      }
      parts.push(svg('path', { 'data-corner': '', fill: 'none', stroke: 'var(--lab-accent)',
        'stroke-width': 2, d: `M${x(run.corner) - 5} ${y(run.corner) - 5}l10 10m0 -10l-10 10` }),
      ...names);
      plot.setAttribute('width', width);
      plot.setAttribute('height', height);
      plot.setAttribute('aria-label', `The plane through ${a}, ${b} and ${c}, with a cross at the `
        + `fourth corner. Nearest to it by cosine: ${run.nearest.slice(0, 4).map(([w]) => w).join(', ')}.`);
      plot.replaceChildren(...parts);
    }

    new ResizeObserver(() => { if (new Set([state.a, state.b, state.c]).size === 3) draw(compute(state)); })
      .observe(root);
    update();
    return { ...Object.fromEntries(picks), leave_out: out, table: data };
  }

  window.UnrolledLab.register('embedding-plane', {
    title: 'The embedding plane',
    describe: 'Pick three words of GloVe. The cross is where the fourth ought to be; which word is '
      + `nearest to it, of the ${model.words.length.toLocaleString('en')} words this page carries?`,
    compute,
    mount,
  });
})();
