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
 *   UnrolledLab.kept       the labs whose state stands in the address, in order
 *
 * mount returns what the reader can choose, name -> control: the core writes it into the
 * page's address and restores it from there. A control has get(), its value as a text, and
 * put(text), which does what a reader would do, and is false for a value it does not know.
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
    return { root: el('div', { class: 'lab-slider' }, head, input), input, set,
      get: () => input.value,
      put(text) {
        if (!/^-?\d{1,9}(\.\d{1,9})?$/.test(text)) return false;
        input.value = text; // which the browser brings into reach
        show();
        onInput(Number(input.value));
        return true;
      } };
  }

  /** A button. It keeps the focus when it is off, so that nobody loses their place. */
  function button({ text, label, onClick, kind = '' }) {
    const root = el('button', { type: 'button', class: `lab-button ${kind}`,
      'aria-label': label }, text);
    const off = (yes) => {
      const now = yes ? 'true' : 'false';
      if (root.getAttribute('aria-disabled') !== now) root.setAttribute('aria-disabled', now);
    };
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
      input), input, set,
    get: () => input.value,
    put(v) {
      if (![...input.options].some((option) => option.value === v)) return false;
      set(v);
      onChange(v);
      return true;
    } };
  }

  function checkbox({ label, value = false, onChange }) {
    const input = el('input', { type: 'checkbox' });
    input.checked = value;
    input.addEventListener('change', () => onChange(input.checked));
    const set = (v) => { input.checked = v; };
    return { root: el('label', { class: 'lab-check' }, input, label), input, set,
      get: () => (input.checked ? 'yes' : 'no'),
      put(text) {
        if (text !== 'yes' && text !== 'no') return false;
        set(text === 'yes');
        onChange(input.checked);
        return true;
      } };
  }

  /** A line to type in or, with rows, a box; onText is told at every letter. */
  function text({ label, value = '', most, rows, onText }) {
    const id = uid('text');
    const input = el(rows ? 'textarea' : 'input', { id, rows, type: rows ? null : 'text',
      class: 'lab-line', maxlength: most, autocomplete: 'off', spellcheck: 'false',
      oninput: () => onText(input.value) });
    const set = (v) => { input.value = v; };
    set(value);
    return { root: el('div', { class: 'lab-row' }, el('label', { for: id }, label,
      el('span', { class: 'lab-limit' }, ` (at most ${most} characters)`)), input), input, set,
    get: () => input.value,
    put(v) {
      if (v.length > most) return false;
      set(v);
      onText(input.value);
      return true;
    } };
  }

  /** One of some texts, [name, text] pairs, or the reader's own: a select above a box. */
  function texts({ label, examples, most, rows, onText }) {
    const box = text({ label, value: examples[0][1], most, rows,
      onText: (v) => { choice.set('own'); onText(v); } });
    const choice = select({ label: 'Example', value: '0',
      options: [...examples.map(([name], i) => [String(i), name]), ['own', 'Your own']],
      onChange: (v) => {
        if (v === 'own') return;
        box.set(examples[Number(v)][1]);
        onText(box.get());
      } });
    const own = { get: () => (choice.get() === 'own' ? box.get() : ''), put: box.put };
    return { root: el('div', {}, el('div', { class: 'lab-row' }, choice.root), box.root),
      get: box.get, state: { example: choice, text: own } };
  }

  /** A whole number that no control shows, such as a seed, from 0 to most. */
  const whole = ({ most, get, set }) => ({
    get: () => String(get()),
    put(v) {
      if (!/^\d{1,9}$/.test(v) || Number(v) > most) return false;
      set(Number(v));
      return true;
    },
  });

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
      get: () => String(index + 1),
      put(text) {
        if (!/^\d{1,9}$/.test(text)) return false;
        stop();
        go(Number(text) - 1);
        return true;
      },
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
    const root = el('details', { class: 'lab-details' }, el('summary', {}, summary), frame);
    return { root,
      get: () => (root.open ? 'open' : 'closed'),
      put(text) {
        if (text !== 'open' && text !== 'closed') return false;
        root.open = text === 'open';
        return true;
      },
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
    svgSym, slider, button, select, checkbox, text, texts, whole, radios, liveRegion, stepper,
    table, signedFill, stillness };

  // ---- the state in the address ----
  //
  // page.html#anchor?unroll-it.W_h=1.5&unroll-it.step=3&bpe-stepper.text=to+be: only what
  // differs from the lab as it opens, behind whatever anchor of the page is there.

  const REST = 400; // ms without a change before the address is written
  const LONGEST = 20000; // characters of an address that are read
  const SEEN = 'labs'; // marks, in the history, an address that this page wrote or went to
  // In a notebook this script stands inline, and the address there is JupyterLab's.
  const inBook = Boolean(document.currentScript && document.currentScript.src);
  const kept = (Lab.kept = []);

  const here = () => location.href.split('#')[0];
  /** The address in parts; asked is null where it speaks of no lab. */
  function address() {
    const [, anchor, asked] = location.hash.match(/^#?([^?]*)(?:\?(.*))?$/s);
    return { anchor, asked: asked === undefined ? null
      : new URLSearchParams(asked.length > LONGEST ? '' : asked) };
  }

  /** What the reader changed in these labs, as it is written in the address. */
  const changes = (labs) => new URLSearchParams(labs.flatMap(({ name, state, opens }) =>
    Object.entries(state).filter(([key, control]) => control.get() !== opens[key])
      .map(([key, control]) => [`${name}.${key}`, control.get()]))).toString();

  let timer = null;
  const writeSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(write, REST);
  };
  function write() {
    clearTimeout(timer);
    const { anchor } = address();
    const now = changes(kept);
    const hash = now ? `#${anchor}?${now}` : anchor && `#${anchor}`;
    if (hash !== location.hash) history.replaceState(SEEN, '', here() + hash);
    kept.forEach((lab) => lab.refresh());
  }

  /** Put a lab into the state that is asked for; what is not, or not known, as it opens. */
  function restore({ name, state, opens }, asked) {
    const wanted = (key) => asked.get(`${name}.${key}`);
    const put = (key, to) => state[key].get() === to || state[key].put(to);
    const keys = Object.keys(state);
    // What is not asked for comes first: a preset that goes back takes its sliders along.
    keys.filter((key) => wanted(key) === null).forEach((key) => put(key, opens[key]));
    keys.filter((key) => wanted(key) !== null).forEach((key) =>
      put(key, wanted(key)) || put(key, opens[key]));
  }

  /** Go to the lab that the address names first, unless the reader has been there. */
  function goThere() {
    const { asked } = address();
    if (!asked || history.state === SEEN) return;
    const lab = kept.find(({ name }) => name === [...asked.keys(), ''][0].split('.')[0]);
    if (!lab) return;
    lab.root.scrollIntoView();
    history.replaceState(SEEN, '', location.href);
    // Equations above that are set later push it down: go again, if nobody has scrolled.
    const from = scrollY;
    addEventListener('load', () => Promise.resolve(window.MathJax?.startup?.promise)
      .then(() => scrollY === from && lab.root.scrollIntoView()));
  }

  function keep(root, name, state) {
    const opens = Object.fromEntries(Object.entries(state).map(([key, control]) =>
      [key, control.get()]));
    const told = el('span', { 'aria-live': 'polite', class: 'lab-note' });
    const field = el('input', { type: 'text', class: 'lab-line', readonly: true, hidden: true,
      'aria-label': 'Link to this lab' });
    const link = button({ text: 'Copy link', onClick: async () => {
      write();
      field.value = `${here()}#?${changes([lab]) || name}`;
      try {
        await navigator.clipboard.writeText(field.value);
        field.hidden = true;
        told.textContent = 'The link is copied. It opens the lab as it is now.';
      } catch { // no clipboard, or none for us, as on many a page opened from a file
        field.hidden = false;
        field.focus();
        field.select();
        told.textContent = 'Copy the link from the field. It opens the lab as it is now.';
      }
    } });
    const reset = button({ text: 'Reset', label: 'Reset this lab', kind: 'lab-reset',
      onClick: () => {
        restore(lab, new URLSearchParams());
        write();
        told.textContent = 'The lab is as it opens.';
      } });
    root.append(el('div', { class: 'lab-share' }, link.root, reset.root, field, told));
    let last = null;
    const refresh = () => {
      const now = changes([lab]);
      if (now === last) return;
      last = now;
      reset.off(!now);
      field.hidden = true; // a link to what was
      told.textContent = '';
    };
    const lab = { name, root, state, opens, refresh };
    kept.push(lab);
    restore(lab, address().asked || new URLSearchParams());
    refresh();
    new MutationObserver(writeSoon).observe(root, { subtree: true, childList: true,
      attributes: true, characterData: true });
  }

  window.addEventListener('hashchange', () => {
    const { asked } = address();
    if (asked) kept.forEach((lab) => restore(lab, asked));
    else write(); // an anchor of the page: the labs stay as they are
    goThere();
  });

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
        // JupyterLab asks the element with the focus whether its shortcuts are wanted:
        // without this, two letters d at a button would delete the cell.
        root.addEventListener('focusin', (event) =>
          event.target.setAttribute('data-lm-suppress-shortcuts', 'true'));
        const state = lab.mount(root, { ...Lab.tools, title });
        const own = copies.length > 1 ? `${name}-${copies.length}` : name;
        if (inBook && state) keep(root, own, state);
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
  window.addEventListener('load', () => { Lab.mountAll(); goThere(); });
})();
