"""What axe objects to on a page that is open.

Whether letters can be read against what is behind them is by far the slowest of axe's
rules, and a page has few kinds of letters: so it looks at three places of each (the
same colour, size, weight and layers behind), and every other rule at the whole page.

Of what is left, most of a chapter is words of code and parts of equations. Where they
are not among those places, ``thin_out`` takes a word's tags away and puts a box of the
same size in an equation's place: no other rule has anything to say about them.
"""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

_AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
_MARK_LETTERS = """() => {
  const styles = new Map();
  const styleOf = node => {
    if (!styles.has(node)) styles.set(node, getComputedStyle(node));
    return styles.get(node);
  };
  const layers = new Map();
  const behind = node => {
    if (!node) return '';
    if (!layers.has(node)) {
      const {backgroundColor, backgroundImage, opacity, position} = styleOf(node);
      const own = `|${backgroundColor} ${backgroundImage} ${opacity} `
        + (position === 'static' ? '' : position);
      layers.set(node, own.replace('|rgba(0, 0, 0, 0) none 1 ', '')
        + behind(node.parentElement));
    }
    return layers.get(node);
  };
  const kinds = new Map();
  const note = node => {
    if (!node.checkVisibility()) return;
    const {color, fontSize, fontWeight, textShadow} = styleOf(node);
    const kind = [color, fontSize, fontWeight, textShadow, behind(node)].join();
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (kinds.get(kind) <= 3) node.setAttribute('data-letters', '');
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    if (texts.currentNode.data.trim()) note(texts.currentNode.parentElement);
  const controls = document.querySelectorAll('input, select, textarea, button');
  for (const control of controls) control.setAttribute('data-letters', '');
  axe.configure({rules: [{id: 'color-contrast', selector: '[data-letters]'}]});
}"""

_THIN_OUT = """() => {
  const marked = '[data-letters]';
  const plain = node => [...node.attributes].every(({name}) => name === 'class');
  const words = [...document.querySelectorAll(':is(pre, code, .sig) :is(span, em)')]
    .filter(node => plain(node) && !node.matches(marked)
      && getComputedStyle(node).display === 'inline');
  const own = 'a, [id], [tabindex]';  // what a writer can put into an equation
  const boxes = [...document.querySelectorAll('mjx-container > mjx-math')]
    .filter(math => !math.parentNode.querySelector(`${marked}, ${own}`))
    .map(math => [math, math.getBoundingClientRect()]);
  for (const word of words) word.replaceWith(...word.childNodes);
  for (const [math, {width, height}] of boxes) {
    const box = document.createElement('span');
    box.style = `display: inline-block; width: ${width}px; height: ${height}px`;
    math.parentNode.replaceChildren(box);
  }
  document.body.normalize();
}"""


def mark_letters(page: Page) -> None:
    """Add the kinds of letters on the page as it is now to those that axe looks at."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.read_text(encoding="utf-8"))
    page.evaluate(_MARK_LETTERS)


def thin_out(page: Page) -> None:
    """Make a page quicker to look at, for good; its letters must be marked."""
    page.evaluate(_THIN_OUT)


def violations(page: Page, within: str = "html", *, marked: bool = False) -> list[str]:
    """Return a line for each place that breaks a rule: rule, selector, the place."""
    if not marked:
        mark_letters(page)
    options = "{preload: false, resultTypes: ['violations']}"
    found = page.evaluate(f"within => axe.run(within, {options})", within)
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['html'][:120]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
