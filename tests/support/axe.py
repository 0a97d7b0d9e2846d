"""What axe objects to on a page that is open.

Whether letters can be read against what is behind them is by far the slowest of axe's
rules, and a page has few kinds of letters: so it looks at three places of each (the
same colour, size, weight and layers behind), and every other rule at the whole page.
"""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

_AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
_MARK_KINDS_OF_LETTERS = """() => {
  const styles = new Map();
  const styleOf = node => {
    if (!styles.has(node)) styles.set(node, getComputedStyle(node));
    return styles.get(node);
  };
  const behind = node => {
    let layers = '';
    for (let at = node; at; at = at.parentElement) {
      const {backgroundColor, backgroundImage, opacity, position} = styleOf(at);
      layers += `|${backgroundColor} ${backgroundImage} ${opacity} `;
      if (position !== 'static') layers += position;
    }
    return layers.replaceAll('|rgba(0, 0, 0, 0) none 1 ', '');
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


def violations(page: Page, within: str = "html") -> list[str]:
    """Return a line for each place that breaks a rule: rule, selector, the place."""
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    page.evaluate(_MARK_KINDS_OF_LETTERS)
    options = "{preload: false, resultTypes: ['violations']}"
    found = page.evaluate(f"within => axe.run(within, {options})", within)
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['html'][:120]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
