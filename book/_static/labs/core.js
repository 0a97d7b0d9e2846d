/* The shared core of the labs: figures that run in the page, without a kernel.
 *
 * A classic script without dependencies, so that it works from file:// as well.
 * It defines one global, UnrolledLab:
 *
 *   UnrolledLab.register(name, {title, describe, mount(root, tools), compute})
 *   UnrolledLab.tools      the helpers below, also handed to every mount
 *   UnrolledLab.compute    name -> the lab's pure numeric function, for the tests
 *   UnrolledLab.labs       name -> what was registered
 *   UnrolledLab.models     name -> weights, filled by _static/models/NAME.js
 *
 * A model script may run before this file, and in a notebook this file may run
 * once per copy of a lab: both are safe.
 */
(function () {
  'use strict';
  const Lab = (window.UnrolledLab = window.UnrolledLab || {});
  Lab.models = Lab.models || {};
  if (Lab.register) return;
  Lab.labs = {};
  Lab.compute = {};

  // ---- numbers: row vectors, as in the package, so x W is matvec(x, W) ----

  const matvec = (x, W) =>
    W[0].map((_, j) => x.reduce((sum, x_i, i) => sum + x_i * W[i][j], 0));
  const add = (...vectors) =>
    vectors[0].map((_, j) => vectors.reduce((sum, v) => sum + v[j], 0));
  const sigmoid = (z) =>
    z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z));
  const softmax = (z) => {
    const top = Math.max(...z);
    const e = z.map((z_i) => Math.exp(z_i - top));
    const sum = e.reduce((a, b) => a + b, 0);
    return e.map((e_i) => e_i / sum);
  };

  /** Numbers in half precision, packed in base 64 with the low byte first. */
  function halves(text) {
    const bytes = atob(text);
    return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
      const bits = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
      const sign = bits & 0x8000 ? -1 : 1;
      const [exponent, fraction] = [(bits >> 10) & 0x1f, bits & 0x3ff];
      if (exponent === 0) return sign * fraction * 2 ** -24;
      if (exponent === 31) return fraction ? NaN : sign * Infinity;
      return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
    });
  }

  /** A number with fixed decimals, a true minus sign, and no minus zero. */
  function fmt(x, digits = 2) {
    const text = x.toFixed(digits);
    return Number(text) === 0 ? text.replace('-', '') : text.replace('-', '\u2212');
  }

  // ---- elements ----

  let count = 0;
  const uid = (stem) => `lab-${stem}-${++count}`;

  function build(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? '' : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  /** An HTML element: el('p', {class: 'x', onclick: f}, 'text', node). */
  const el = (tag, attributes, ...children) =>
    build(document.createElement(tag), attributes, children);
  /** An SVG element, in the same way. */
  const svg = (tag, attributes, ...children) =>
    build(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

  /** A symbol with a subscript for HTML text: sym('h', 3). */
  const sym = (letter, sub) =>
    el('span', { class: 'lab-sym' }, el('i', {}, letter),
      sub === undefined ? null : el('sub', {}, String(sub)));
  /** The same for SVG: children of a <text>. */
  const svgSym = (letter, sub) => [
    svg('tspan', { class: 'lab-it' }, letter),
    ...(sub === undefined ? [] : [svg('tspan', { class: 'lab-sub', dy: 3 }, String(sub))]),
  ];

  // ---- controls ----

  function slider({ label, min, max, step, value, digits = 2, onInput }) {
    const id = uid('slider');
    const output = el('output', { for: id, 'aria-live': 'off', class: 'lab-value' });
    const input = el('input', { id, type: 'range', min, max, step });
    const show = () => {
      output.textContent = fmt(Number(input.value), digits);
      input.setAttribute('aria-valuetext', output.textContent);
    };
    const set = (v) => { input.value = v; show(); };
    input.addEventListener('input', () => { show(); onInput(Number(input.value)); });
    set(value);
    const head = el('div', { class: 'lab-slider-head' },
      el('label', { for: id }, ...[].concat(label)), output);
    return { root: el('div', { class: 'lab-slider' }, head, input), input, set };
  }

  /** A button. It keeps the focus when it is off, so that nobody loses their place. */
  function button({ text, label, onClick, kind = '' }) {
    const root = el('button', { type: 'button', class: `lab-button ${kind}`,
      'aria-label': label }, text);
    const off = (yes) => root.setAttribute('aria-disabled', yes ? 'true' : 'false');
    root.addEventListener('click', () => {
      if (root.getAttribute('aria-disabled') !== 'true') onClick();
    });
    off(false);
    return { root, off };
  }

  /** A labelled select; options are [value, text] pairs. */
  function select({ label, options, value, onChange }) {
    const id = uid('select');
    const input = el('select', { id },
      ...options.map(([v, text]) => el('option', { value: v }, text)));
    const set = (v) => { input.value = v; };
    input.addEventListener('change', () => onChange(input.value));
    set(value);
    return { root: el('div', { class: 'lab-select' }, el('label', { for: id }, label),
      input), input, set };
  }

  function checkbox({ label, value = false, onChange }) {
    const input = el('input', { type: 'checkbox' });
    input.checked = value;
    input.addEventListener('change', () => onChange(input.checked));
    const set = (v) => { input.checked = v; };
    return { root: el('label', { class: 'lab-check' }, input, label), input, set };
  }

  /** One of a few: a fieldset of radios drawn as a block. The arrows move in it. */
  function radios({ legend, options, value, onChange }) {
    const name = uid('radios');
    const inputs = {};
    const labels = options.map(([v, text, kind]) => {
      inputs[v] = el('input', { type: 'radio', name, value: v });
      inputs[v].addEventListener('change', () => onChange(v));
      return el('label', { class: `lab-radio ${kind || ''}` }, inputs[v],
        el('span', {}, text));
    });
    const set = (v) => { inputs[v].checked = true; };
    set(value);
    return { root: el('fieldset', { class: 'lab-radios' },
      el('legend', { class: 'lab-unseen' }, legend), ...labels), inputs, set };
  }

  // ---- telling and moving ----

  /** A polite live region: say(text) speaks the latest text, not every one. */
  function liveRegion(wait = 500) {
    const root = el('p', { class: 'lab-unseen', role: 'status', 'aria-live': 'polite' });
    let timer = null;
    return { root, say(text) {
      clearTimeout(timer);
      timer = setTimeout(() => { root.textContent = text; }, wait);
    } };
  }

  const stillness = window.matchMedia('(prefers-reduced-motion: reduce)');

  /** Back, next and play over count steps; go(i) from anywhere, i from 0.
   *
   * Nothing plays by itself. For readers who asked for less motion there is no
   * play button at all; stepping works as ever.
   */
  function stepper({ count: n, noun = 'step', wait = 1100, onStep }) {
    let index = 0;
    let timer = null;
    const back = button({ text: '\u2190 Back', label: `Back one ${noun}`,
      onClick: () => { stop(); go(index - 1); } });
    const next = button({ text: 'Next \u2192', label: `Next ${noun}`, kind: 'lab-main',
      onClick: () => { stop(); go(index + 1); } });
    const play = button({ text: 'Play', onClick: () => (timer ? stop() : start()) });
    const where = el('span', { class: 'lab-where' });

    function refresh() {
      back.off(index === 0);
      next.off(index === n - 1);
      play.root.hidden = stillness.matches;
      play.root.textContent = timer ? 'Pause' : 'Play';
      const word = noun[0].toUpperCase() + noun.slice(1);
      where.textContent = `${word} ${index + 1} of ${n}`;
    }
    function go(i) {
      index = Math.min(Math.max(i, 0), n - 1);
      if (timer && index === n - 1) stop();
      refresh();
      onStep(index);
    }
    function start() {
      if (stillness.matches) return;
      timer = setInterval(() => {
        if (root.isConnected) go(index + 1); else stop();
      }, wait);
      go(index === n - 1 ? 0 : index + 1);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      refresh();
    }
    stillness.addEventListener('change', stop);
    const root = el('div', { class: 'lab-stepper', role: 'group',
      'aria-label': `Move through the ${noun}s` }, back.root, next.root, play.root, where);
    refresh();
    return { root, go, stop, get index() { return index; },
      setCount(m) { n = m; go(index); },
      /** Left, Right, Home and End step, wherever the focus is in a region, but for
       * what has a use of its own for them: the controls named here, and a table. */
      keys(region) {
        const own = 'select, textarea, input:not([type="checkbox"]), .lab-details';
        region.addEventListener('keydown', (event) => {
          const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: n - 1 };
          const plain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
          if (!plain || !(event.key in to) || event.target.closest(own)) return;
          event.preventDefault();
          event.stopPropagation(); // a page may turn its leaves by these keys
          stop();
          go(to[event.key]);
        });
      } };
  }

  /** The data behind a figure; update(head, rows) with nodes or strings. */
  function table({ caption, summary = 'The numbers as a table' }) {
    const head = el('tr', {});
    const body = el('tbody', {});
    const frame = el('div', { class: 'lab-scroll', tabindex: 0, role: 'region',
      'aria-label': caption },
    el('table', { class: 'lab-table' }, el('caption', { class: 'lab-unseen' }, caption),
      el('thead', {}, head), body));
    return { root: el('details', { class: 'lab-details' }, el('summary', {}, summary), frame),
      update(names, rows) {
        head.replaceChildren(...names.map((c) => el('th', { scope: 'col' }, ...[].concat(c))));
        body.replaceChildren(...rows.map((row) => el('tr', {}, ...row.map((c, i) =>
          (i ? el('td', {}, c) : el('th', { scope: 'row' }, c))))));
      } };
  }

  /** The CSS paint of a signed value in [-1, 1]: colour and strength, for SVG. */
  const signedFill = (v) => ({
    fill: v < 0 ? 'var(--lab-neg)' : 'var(--lab-pos)',
    'fill-opacity': Math.min(1, Math.abs(v)).toFixed(3),
  });

  Lab.tools = { matvec, add, tanh: Math.tanh, sigmoid, softmax, halves, fmt, uid, el, svg, sym,
    svgSym, slider, button, select, checkbox, radios, liveRegion, stepper, table,
    signedFill, stillness };

  // ---- mounting ----

  /** Mount every lab that is on the page and not yet mounted. */
  Lab.mountAll = function () {
    for (const [name, lab] of Object.entries(Lab.labs)) {
      for (const root of document.querySelectorAll(`[data-lab="${name}"]`)) {
        if (root.hasAttribute('data-lab-mounted')) continue;
        root.setAttribute('data-lab-mounted', '');
        root.classList.add('unrolled-lab');
        const copies = document.querySelectorAll(`[data-lab="${name}"][data-lab-mounted]`);
        const title = copies.length > 1 ? `${lab.title} (${copies.length})` : lab.title;
        const id = uid('title');
        root.setAttribute('role', 'group');
        root.setAttribute('aria-labelledby', id);
        root.replaceChildren(el('header', { class: 'lab-head' },
          el('div', { id, class: 'lab-title' }, title),
          el('p', { class: 'lab-lead' }, lab.describe)));
        lab.mount(root, { ...Lab.tools, title });
      }
    }
  };

  Lab.register = function (name, lab) {
    Lab.labs[name] = Lab.labs[name] || lab;
    Lab.compute[name] = Lab.labs[name].compute;
    // Before the page is complete, scripts below this one (a model, say) may still run.
    if (document.readyState === 'complete') Lab.mountAll();
  };
  document.addEventListener('DOMContentLoaded', Lab.mountAll);
  window.addEventListener('load', Lab.mountAll);
})();
