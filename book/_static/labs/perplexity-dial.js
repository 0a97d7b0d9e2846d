/* Perplexity dial: the probabilities a model gave to the words of a sentence, and what
 * they come to.
 *
 *   PP = exp(-mean log p) = (product of 1/p)^(1/n) = 2^(mean bits)
 */
(function () {
  'use strict';
  const { fmt } = window.UnrolledLab.tools;
  const WORDS = ['the', 'students', 'opened', 'their', 'books', '.'];
  const MOST = 8; // words
  const PRESETS = [ // from the seventh word on they repeat
    { id: 'mixed', text: 'Unsure here, sure there', p: [0.25, 0.02, 0.05, 0.4, 0.125, 0.5] },
    { id: 'uniform', text: 'Uniform: ten words, all alike', p: Array(6).fill(0.1) },
    { id: 'right', text: 'Always right', p: Array(6).fill(1) },
    { id: 'zero', text: 'One word held impossible', p: [0.25, 0.02, 0.05, 0.4, 0, 0.5] },
    { id: 'coin', text: 'A coin at every word', p: Array(6).fill(0.5) },
  ];
  const FAR = 1000; // the end of the dial
  const LONG = 10; // bits at the end of a bar

  /** Every number of the figure. */
  function compute({ p }) {
    const each = p.map((p_t) => -Math.log2(p_t) + 0); // + 0: no minus zero
    const bits = each.reduce((a, b) => a + b, 0);
    const perplexity = 2 ** (bits / p.length);
    return { each, bits, mean: bits / p.length, perplexity, inverse: 1 / perplexity };
  }

  const number = (value, digits = 2) => (value === Infinity ? '\u221e' : fmt(value, digits));

  /** A sentence on what the dial shows. */
  function verdict({ perplexity }) {
    if (perplexity === Infinity) {
      return 'Perplexity is infinite: what came was held impossible, and no other word makes up for it.';
    }
    if (perplexity < 1 + 1e-9) return 'Perplexity 1: one choice at every word, and the right one.';
    return `Perplexity ${number(perplexity)}: as unsure as a model that chooses among ${
      number(perplexity)} equally likely words, every time.`;
  }

  function mount(root, tools) {
    const { el, svg } = tools;
    let words = WORDS;
    const p = Array.from({ length: MOST }, (_, t) => PRESETS[0].p[t % WORDS.length]);
    const live = tools.liveRegion();
    const preset = tools.select({ label: 'Example', value: 'mixed',
      options: [...PRESETS.map(({ id, text }) => [id, text]), ['own', 'Your own']],
      onChange: (id) => {
        const found = PRESETS.find((one) => one.id === id);
        if (found) p.forEach((_, t) => { p[t] = found.p[t % WORDS.length]; });
        update();
      } });
    const sentence = tools.text({ label: 'Words', value: WORDS.join(' '), most: 80, onText: read });
    const note = el('p', { class: 'lab-note' });
    const names = p.map(() => el('span', {}));
    const sliders = p.map((_, t) => tools.slider({ label: names[t], min: 0, max: 1, step: 0.005,
      value: p[t], digits: 3, onInput: (v) => { p[t] = v; update(); } }));
    const says = el('p', { class: 'lab-says' });
    const facts = el('dl', { class: 'lab-facts' });
    const dial = svg('svg', { role: 'img', width: 220, height: 132, viewBox: '-110 -108 220 132' });
    const bars = svg('svg', { role: 'img', class: 'lab-plot' });
    const frame = el('div', { class: 'lab-bars' }, bars);
    const data = tools.table({ caption: `${tools.title}: each word` });
    root.append(el('div', { class: 'lab-row' }, preset.root), sentence.root, note,
      el('div', { class: 'lab-sliders lab-pairs' }, ...sliders.map((s) => s.root)), frame,
      el('div', { class: 'lab-worked lab-beside' }, el('div', {}, says, facts),
        el('div', { class: 'lab-disc' }, dial)), data.root, live.root);

    function read(typed) {
      const found = typed.split(/\s+/).filter(Boolean);
      words = found.length ? found.slice(0, MOST) : WORDS;
      note.textContent = found.length ? '' : 'Nothing is typed, so the words of the example stand here.';
      if (found.length > MOST) note.textContent = `Only the first ${MOST} words count.`;
      update();
    }
    const judged = () => compute({ p: p.slice(0, words.length) });

    function update() {
      const run = judged();
      sliders.forEach((slider, t) => {
        slider.set(p[t]);
        slider.root.hidden = t >= words.length;
        names[t].textContent = `p of \u201c${words[t] || ''}\u201d`;
      });
      preset.set((PRESETS.find((one) => words.every((_, t) => one.p[t % WORDS.length] === p[t]))
        || { id: 'own' }).id);
      says.textContent = verdict(run);
      facts.replaceChildren(...[
        ['Bits in all', number(run.bits)],
        ['Bits a word, on average', number(run.mean)],
        ['Perplexity, 2 to that power', number(run.perplexity)],
        ['Its inverse, which the slide names', number(run.inverse, 4)],
      ].flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]));
      data.update(['word', 'p', 'choices, 1/p', 'bits'], words.map((word, t) =>
        [word, fmt(p[t], 3), number(1 / p[t], 1), number(run.each[t])]));
      drawBars(run);
      drawDial(run);
      live.say(verdict(run));
    }

    function drawBars(run) {
      const width = Math.max(200, frame.clientWidth);
      const [left, right, high] = [72, 46, 24];
      const x = (bits) => left + (Math.min(bits, LONG) / LONG) * (width - left - right);
      const bottom = high * words.length;
      const parts = words.flatMap((word, t) => [
        svg('text', { x: left - 8, y: high * (t + 0.5), class: 'lab-end' },
          word.length > 10 ? `${word.slice(0, 9)}\u2026` : word),
        svg('rect', { 'data-bar': word, x: left, y: high * t + 4, height: high - 8,
          width: Math.max(0, x(run.each[t]) - left), fill: 'var(--lab-pos)',
          stroke: 'var(--lab-series-1)' }),
        svg('text', { x: x(run.each[t]) + 6, y: high * (t + 0.5), class: 'lab-quiet',
          'dominant-baseline': 'central' }, number(run.each[t]))]);
      parts.push(svg('line', { class: 'lab-zero', x1: left, x2: left, y1: 0, y2: bottom }),
        svg('line', { 'data-line': 'mean', x1: x(run.mean), x2: x(run.mean), y1: 0, y2: bottom,
          stroke: 'var(--lab-series-2)', 'stroke-width': 2, 'stroke-dasharray': '6 3' }),
        svg('text', { x: x(run.mean), y: bottom + 12, class: 'lab-mid lab-quiet' },
          `mean ${number(run.mean)} bits`));
      bars.setAttribute('width', width);
      bars.setAttribute('height', bottom + 22);
      bars.setAttribute('aria-label', `The bits of each word: ${words.map((word, t) =>
        `${word} ${number(run.each[t])}`).join(', ')}; on average ${number(run.mean)}.`);
      bars.replaceChildren(...parts);
    }

    function drawDial({ perplexity }) {
      const angle = (value) => Math.PI * (1 - Math.log10(Math.min(value, FAR)) / Math.log10(FAR));
      const at = (value, r) => [r * Math.cos(angle(value)), -r * Math.sin(angle(value))];
      const mark = (value, text) => {
        const [[x1, y1], [x2, y2], [tx, ty]] = [at(value, 78), at(value, 86), at(value, 98)];
        return [svg('line', { class: 'lab-wire', x1, y1, x2, y2 }),
          svg('text', { x: tx, y: ty, class: 'lab-mid lab-quiet' }, text)];
      };
      const [x, y] = at(perplexity, 70);
      dial.replaceChildren(
        svg('path', { class: 'lab-wire', d: 'M-82 0 A82 82 0 0 1 82 0' }),
        ...[1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((v) => mark(v, String(v))),
        ...mark(FAR, '\u221e'),
        svg('line', { 'data-needle': '', x1: 0, y1: 0, x2: x, y2: y, stroke: 'var(--lab-accent)',
          'stroke-width': 3 }),
        svg('circle', { class: 'lab-spot', r: 5 }),
        svg('text', { x: 0, y: 17, class: 'lab-mid lab-strong' }, `PP = ${number(perplexity)}`));
      dial.setAttribute('aria-label', `A dial from 1 to ${FAR} and beyond; the needle is at ${
        number(perplexity)}.`);
    }

    new ResizeObserver(() => drawBars(judged())).observe(root);
    update();
    return { words: sentence, ...Object.fromEntries(sliders.map((one, t) => [`p${t + 1}`, one])),
      table: data };
  }

  window.UnrolledLab.register('perplexity-dial', {
    title: 'Perplexity dial',
    describe: 'Six words came, or some of your own. Set the probability that a model gave to each '
      + 'of them, and read off how unsure it was.',
    presets: PRESETS,
    words: WORDS,
    compute,
    verdict,
    mount,
  });
})();
