"""Draw the picture that chats and social sites show beside a link to the book.

Run it when the logo or the subtitle changes: ``.venv/bin/python tools/card.py``.
It needs Chromium, as the browser tests do; the picture is committed.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from pdf.chromium import FLAGS

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
SIZE = {"width": 1200, "height": 630}
CARD = STATIC / "social-card.png"
ORDERS = ("set", "", "", "reset", "", "set")  # the last one is what it remembers


def chain() -> str:
    """Return the unrolled unit as SVG: a loop, then a circle for each step's state."""
    parts = ['<path d="M96 190A66 66 0 1 1 162 124M96 190H1046"/>']
    state = ""
    for step, order in enumerate(ORDERS):
        state, x = order or state, 96 + step * 190
        parts.append(f'<circle class="{state}" cx="{x}" cy="190" r="30"/>')
        parts.append(f'<text x="{x}" y="262">{order or "·"}</text>')
    return f'<svg viewBox="0 0 1110 280" width="1110">{"".join(parts)}</svg>'


PAGE = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; width: 1200px; height: 630px; box-sizing: border-box;
  padding: 62px 45px 0 64px; background: #fff; color: #1f2328;
  font: 34px/1.35 "Liberation Serif", Charter, serif; border-left: 20px solid #7b3b6f; }
h1 { margin: 0; font-size: 108px; line-height: 1; letter-spacing: -2px; }
p { margin: 18px 0 44px; color: #57606a; }
path { fill: none; stroke: #7b3b6f; stroke-width: 12; stroke-linecap: round; }
circle { fill: #fff; stroke: #7b3b6f; stroke-width: 10; }
circle.set { fill: #92caee; } circle.reset { fill: #f6b779; }
text { text-anchor: middle; fill: #57606a; font: 26px "Liberation Sans", sans-serif; }
</style><h1>Unrolled</h1>
<p>Sequence models, from recurrence to attention:<br>a textbook whose chapters run.</p>
"""


def main() -> None:
    """Write the card, and say how large it is."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium on the PATH: install it (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_content(PAGE + chain())
        page.screenshot(path=CARD)
        browser.close()
    print(f"{CARD} ({CARD.stat().st_size / 1e3:.0f} kB)")


if __name__ == "__main__":
    main()
