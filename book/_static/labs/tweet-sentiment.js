/* Message sentiment: one judge reads word by word, the other only counts.
 *
 * The weights are those of book/_static/models/reading-tasks.safetensors: an Elman
 * reader whose last state is judged, and a bag of words, a number for each word.
 */
// models: reading-tasks
(function () {
  'use strict';
  const { fmt, halves, sigmoid } = window.UnrolledLab.tools;
  const packed = window.UnrolledLab.models['reading-tasks'];
  const MOST = 60; // words that are read

  // ---- numbers ----

  let model = null;
  function load() {
    if (model) return model;
    const w = packed.weights;
    const unpack = (one) => halves(one.half);
    model = {
      ids: new Map(packed.words.map((word, i) => [word, i])),
      E: w['reader.embed.weight'].shape[1],
      D: w['reader.layers.cells.0.W_h'].shape[0],
      table: unpack(w['reader.embed.weight']),
      W_x: unpack(w['reader.layers.cells.0.W_x']),
      W_h: unpack(w['reader.layers.cells.0.W_h']),
      b: unpack(w['reader.layers.cells.0.b']),
      V: unpack(w['read.weight']),
      c: unpack(w['read.bias']),
      bag: unpack(w.bag),
      bias: unpack(w.bag_bias)[0],
    };
    return model;
  }

  // As unrolled.data.tokens.words cuts a text, in lower case.
  const PIECE = new RegExp("(?:[\\p{L}\\p{Nl}\\p{No}]*qu|[cdjlmnst])['\\u2019](?=[\\p{L}\\p{N}])"
    + "|[\\p{L}\\p{N}]+(?:(?:['\\u2019]|(?<=\\p{Nd})[.,](?=\\p{Nd}))[\\p{L}\\p{N}]+)*|\\S", 'gu');
  const split = (text) =>
    text.normalize('NFC').toLowerCase().replace(/\u00df/g, 'ss').match(PIECE) || [];

  /** What both judges make of a text: after each word, and for each word. */
  function compute({ text }) {
    const { ids, E, D, table, W_x, W_h, b, V, c, bag, bias } = load();
    const words = split(text).slice(0, MOST);
    let h = new Float64Array(D);
    const each = words.map((word) => {
      const known = ids.has(word);
      const id = known ? ids.get(word) : ids.get('<unk>');
      const next = Float64Array.from(b);
      for (let i = 0; i < E; i += 1) {
        for (let j = 0; j < D; j += 1) next[j] += table[id * E + i] * W_x[i * D + j];
      }
      for (let i = 0; i < D; i += 1) {
        for (let j = 0; j < D; j += 1) next[j] += h[i] * W_h[i * D + j];
      }
      h = next.map(Math.tanh);
      let score = c[1] - c[0];
      for (let j = 0; j < D; j += 1) score += h[j] * (V[D + j] - V[j]);
      return { word, known, reader: sigmoid(score), worth: bag[id] };
    });
    const total = each.reduce((sum, one) => sum + one.worth, 0);
    return { each, reader: each.length ? each[each.length - 1].reader : 0.5,
      bag: each.length ? sigmoid(total / each.length + bias) : 0.5 };
  }

  // ---- the page ----

  const EXAMPLES = [
    ['good not bad at all', 'good not bad at all'],
    ['bad not good at all', 'bad not good at all'],
    ['what a lovely morning , thank you all !', 'A thank-you'],
    ['my train is late again and it is raining :(', 'A late train'],
    ['i would not mind a bit of snow right now', 'A wish for snow'],
    ['see you on monday', 'See you on Monday'],
    ['see you on friday', 'See you on Friday'],
  ];
  const ROW = 24;

  function mount(root, tools) {
    const { el, svg } = tools;
    if (!packed) {
      root.append(el('p', { class: 'lab-note' }, 'The models of this lab have not been exported.'));
      return;
    }
    const live = tools.liveRegion();
    const box = tools.texts({ label: 'A short text, in English', most: 280, rows: 2,
      examples: EXAMPLES.map(([text, name]) => [name, text]), onText: refresh });
    const says = el('p', { class: 'lab-says' });
    const plot = svg('svg', { role: 'img' });
    const strip = el('div', { class: 'lab-scroll lab-chain', tabindex: 0, role: 'region',
      'aria-label': `${tools.title}: word by word` }, plot);
    const note = el('p', { class: 'lab-note' });
    const data = tools.table({ caption: `${tools.title}: both judges, word by word` });
    root.append(box.root,
      el('div', { class: 'lab-worked' }, says), strip, note, data.root, live.root);

    const verdict = (p) => `${p >= 0.5 ? 'praise' : 'blame'} (${fmt(p >= 0.5 ? p : 1 - p, 2)})`;

    function refresh() {
      const run = compute({ text: box.get() });
      const { each } = run;
      says.textContent = each.length ? `The reader says ${verdict(run.reader)}; the bag of words `
        + `says ${verdict(run.bag)}.` : 'Type a text for the judges.';
      live.say(says.textContent);
      const unknown = each.filter((one) => !one.known).map((one) => one.word);
      note.textContent = unknown.length ? `Not in their vocabulary, all alike to them: ${
        unknown.join(', ')}.` : '';
      data.update(['word', 'reader, after it: p of praise', 'worth to the bag'],
        each.map((one) => [one.word, fmt(one.reader, 3), fmt(one.worth, 2)]));
      draw(each);
      plot.setAttribute('aria-label', each.length ? `${each.length} words. ${says.textContent} The `
        + 'numbers are in the table below.' : 'An empty drawing.');
    }

    function draw(each) {
      const [left, right, wide] = [136, 244, 48];
      const height = 34 + ROW * Math.max(each.length, 1);
      const biggest = Math.max(1, ...each.map((one) => Math.abs(one.worth)));
      const bar = (x, y, v, name) => svg('rect', { 'data-bar': name, x: v < 0 ? x + v * wide : x,
        y: y - 7, width: Math.max(0.5, Math.abs(v) * wide), height: 14,
        fill: v < 0 ? 'var(--lab-series-2)' : 'var(--lab-series-1)' });
      const parts = [
        svg('text', { x: left, y: 9, class: 'lab-mid lab-quiet' }, 'reader so far'),
        svg('text', { x: right, y: 9, class: 'lab-mid lab-quiet' }, 'to the bag'),
        ...[left, right].map((x) => svg('line', { class: 'lab-zero', x1: x, x2: x, y1: 18,
          y2: height })),
      ];
      each.forEach((one, t) => {
        const y = 32 + ROW * t;
        parts.push(svg('text', { x: 80, y, class: one.known ? 'lab-end' : 'lab-end lab-quiet' },
          one.word.length > 11 ? `${one.word.slice(0, 10)}\u2026` : one.word),
        bar(left, y, 2 * one.reader - 1, 'reader'),
        bar(right, y, one.worth / biggest, 'bag'));
      });
      plot.setAttribute('width', 294);
      plot.setAttribute('height', height);
      plot.replaceChildren(...parts);
    }

    refresh();
    return { ...box.state, table: data };
  }

  window.UnrolledLab.register('tweet-sentiment', {
    title: 'Message sentiment',
    describe: 'Two small models, trained on 2,800 short texts that people had scored. To the right '
      + 'of each line means praise, to the left blame.',
    compute: packed ? compute : () => ({ each: [], reader: 0.5, bag: 0.5 }),
    split,
    mount,
  });
})();
