/* Gate board: hold a bit by hand with the three gates of one LSTM unit.
 *
 *   g_t = tanh(2 x_t),  c_t = f c_{t-1} + i g_t,  h_t = o tanh(c_t)
 *
 * At the first step the bit arrives, then distractors for a while, then the question,
 * which has no input of its own (x = 0). The reader sets the gates of each moment.
 */
(function () {
  'use strict';
  const { fmt } = window.UnrolledLab.tools;
  const SHARP = 2; // g = tanh(2 x)
  const SURE = 0.25; // |h| below this is no answer
  const MOMENTS = [['bit', 'The bit arrives'], ['distractor', 'A distractor arrives'],
    ['question', 'The question comes']];
  const GATES = [['f', 'forget gate'], ['i', 'input gate'], ['o', 'output gate']];
  // Drawn once; the same list in unrolled.widgets.gate_board, and a test compares them.
  const SIGNS = '+--+-++-+--++++-+--+-+++---+-+--++-+++-+----+-++--+-+-+++-'
    + '--++-+-++--+-+--+++-++---+-++-+--+-++-----+';
  const DISTRACTORS = [...SIGNS].slice(0, 100).map((s) => (s === '+' ? 1 : -1));
  const HALF = { f: 0.5, i: 0.5, o: 0.5 };
  const LATCH = { bit: { f: 0, i: 1, o: 0 }, distractor: { f: 1, i: 0, o: 0 },
    question: { f: 1, i: 0, o: 1 } };

  /** Every number of a run: x, g, c and h for each step, and what is left of the bit. */
  function compute({ bit, lag, gates }) {
    const x = [bit, ...DISTRACTORS.slice(0, lag), 0];
    const g = x.map((x_t) => Math.tanh(SHARP * x_t));
    const c = [];
    const h = [];
    let kept = 0;
    x.forEach((_, t) => {
      const { f, i, o } = gates[t === 0 ? 'bit' : t <= lag ? 'distractor' : 'question'];
      kept = f * kept + i * g[t];
      c.push(kept);
      h.push(o * Math.tanh(kept));
    });
    // c is linear in the g's: the bit's own share, and all that came on top of it.
    const share = gates.distractor.f ** lag * gates.question.f;
    return { x, g, c, h, left: share, own: share * c[0], other: c[lag + 1] - share * c[0] };
  }

  /** right, wrong or unsure, by the sign of the last h. */
  function verdict({ h }, bit) {
    const last = h[h.length - 1];
    if (Math.abs(last) < SURE) return 'unsure';
    return Math.sign(last) === bit ? 'right' : 'wrong';
  }

  function mount(root, tools) {
    const { el, svg } = tools;
    const state = { bit: 1, lag: 10,
      gates: Object.fromEntries(MOMENTS.map(([m]) => [m, { ...HALF }])) };
    const live = tools.liveRegion();
    const bit = tools.select({ label: 'The bit', options: [['1', '+1'], ['-1', '\u22121']],
      value: '1', onChange: (v) => { state.bit = Number(v); update(); } });
    const lag = tools.slider({ label: 'distractors before the question', min: 1, max: 100,
      step: 1, value: 10, digits: 0, onInput: (v) => { state.lag = v; update(); } });
    const sliders = {};
    const boxes = MOMENTS.map(([m, name]) => el('div', { role: 'group', 'aria-label': name },
      el('p', { class: 'lab-says' }, name),
      ...GATES.map(([gate, words]) => {
        const one = tools.slider({ label: [tools.sym(gate), ` ${words}`], min: 0, max: 1,
          step: 0.001, value: 0.5, digits: 3,
          onInput: (v) => { state.gates[m][gate] = v; update(); } });
        one.input.setAttribute('aria-label', `${name}: ${words} ${gate}`);
        sliders[`${m}-${gate}`] = one;
        return one.root;
      })));
    const put = (gates) => {
      for (const [m] of MOMENTS) for (const [gate] of GATES) {
        state.gates[m][gate] = gates[m][gate];
        sliders[`${m}-${gate}`].set(gates[m][gate]);
      }
      update();
    };
    const half = tools.button({ text: 'Everything half open',
      onClick: () => put({ bit: HALF, distractor: HALF, question: HALF }) });
    const solve = tools.button({ text: 'Show a solution', onClick: () => put(LATCH) });
    const picture = svg('svg', { role: 'img' });
    const frame = el('div', { class: 'lab-losses' }, picture);
    const says = el('p', { class: 'lab-says' });
    const more = el('p', { class: 'lab-note' });
    const data = tools.table({ caption: `${tools.title}: every number of the run` });
    data.root.classList.add('lab-tall');
    root.append(el('p', { class: 'lab-note' }, 'Hold the bit for 10 steps, then for 100. And '
      + 'with the input gate shut to distractors: what must f be to keep half of the bit '
      + 'over 100 steps? Inputs are +1 or \u22121, the question is 0, and the candidate is ',
    el('i', {}, 'g'), ' = tanh(2', el('i', {}, 'x'), ').'),
    el('div', { class: 'lab-row lab-gap-below' }, bit.root, lag.root),
    el('div', { class: 'lab-sliders' }, ...boxes),
    el('div', { class: 'lab-group lab-gap-below' }, half.root, solve.root),
    frame, says, more, data.root, live.root);

    function update() {
      const run = compute(state);
      const found = verdict(run, state.bit);
      const last = run.h[run.h.length - 1];
      const name = state.bit > 0 ? '+1' : '\u22121';
      const answer = { right: `The bit comes out right: h = ${fmt(last, 3)}, and it was ${name}.`,
        wrong: `The bit comes out wrong: h = ${fmt(last, 3)}, and it was ${name}.`,
        unsure: `No answer: h = ${fmt(last, 3)}, closer to 0 than ${SURE}; the bit was ${name}.`,
      }[found];
      says.textContent = answer;
      const { f, i } = state.gates.distractor;
      const of = `${fmt(f, 3)}^${state.lag} = ${(f ** state.lag).toPrecision(3)}`;
      more.textContent = `Over the ${state.lag} distractors the share f^lag = ${of} of what was `
        + `written is left. At the end the bit accounts for ${fmt(run.own, 4)} of c, ${
          i === 0 ? 'and the distractors for nothing, for the gate was shut to them.'
            : `all that came after it for ${fmt(run.other, 4)}.`}`;
      live.say(answer);
      draw(run);
      data.update(['step', 'x', 'g', 'c', 'h'], run.x.map((x, t) => [String(t + 1),
        fmt(x, 0), fmt(run.g[t], 4), fmt(run.c[t], 5), fmt(run.h[t], 5)]));
    }

    function draw({ x, c, h }) {
      const width = Math.max(260, frame.clientWidth || 600);
      const [left, top, tall] = [38, 30, 150];
      const far = Math.max(1, ...c.map(Math.abs));
      const at = (t) => left + ((width - left - 10) * (t + 0.5)) / x.length;
      const up = (v) => top + tall / 2 - (v / far) * (tall / 2);
      const path = (list) => list.map((v, t) => `${t ? 'L' : 'M'}${at(t).toFixed(1)} ${
        up(v).toFixed(1)}`).join('');
      const wide = Math.max(1, Math.min(14, (width - left - 10) / x.length - 1));
      picture.setAttribute('width', width);
      picture.setAttribute('height', top + tall + 44);
      picture.replaceChildren(
        ...x.map((v, t) => svg('rect', { x: at(t) - wide / 2, y: 4, width: wide, height: 16,
          fill: v > 0 ? 'var(--lab-pos)' : v < 0 ? 'var(--lab-neg)' : 'var(--lab-card)',
          stroke: t === 0 || v === 0 ? 'var(--lab-ink)' : 'none', 'data-x': v })),
        svg('text', { x: 4, y: 16, class: 'lab-quiet' }, 'x'),
        ...[far, 0, -far].flatMap((v) => [svg('line', { class: v ? 'lab-grid' : 'lab-zero',
          x1: left, x2: width - 10, y1: up(v), y2: up(v) }),
        svg('text', { x: left - 4, y: up(v), class: 'lab-end lab-quiet' }, fmt(v, 1))]),
        svg('path', { class: 'lab-series', d: path(c), stroke: 'var(--lab-series-1)' }),
        svg('path', { class: 'lab-series', d: path(h), stroke: 'var(--lab-series-2)',
          'stroke-dasharray': '5 3' }),
        svg('circle', { cx: at(x.length - 1), cy: up(h[h.length - 1]), r: 4,
          fill: 'var(--lab-series-2)' }),
        svg('text', { x: left, y: top + tall + 18, class: 'lab-quiet' }, 'bit'),
        svg('text', { x: width - 10, y: top + tall + 18, class: 'lab-end lab-quiet' },
          'question'),
        svg('text', { x: left, y: top + tall + 36 },
          'c, kept: full line;  h, shown: dashed'));
      picture.setAttribute('aria-label', `What is kept goes from ${fmt(c[0])} to ${
        fmt(c[c.length - 1])} over ${x.length} steps; shown in the end: ${fmt(h[h.length - 1])}.`);
    }

    new ResizeObserver(() => draw(compute(state))).observe(root);
    update();
    return { bit, lag, ...sliders, table: data };
  }

  window.UnrolledLab.register('gate-board', {
    title: 'Gate board',
    describe: 'One unit of an LSTM, and its gates are yours. A bit arrives, distractors follow, '
      + 'and then somebody asks for it. Input, what is kept and what is shown stand above '
      + 'one another; blue is +1, orange \u22121.',
    distractors: DISTRACTORS, latch: LATCH, verdict, compute, mount,
  });
})();
