"""Let Chromium draw the document and print it, without a network."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, Route, sync_playwright

from . import PrintError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
INSIDE = re.compile(r"^(file|data|blob):")
# Pixels between the margins of print.css, on A4.
WIDTH, HEIGHT = round((210 - 50) / 25.4 * 96), round((297 - 46) / 25.4 * 96)
MINUTES = 10 * 60 * 1000

# Wait until all is drawn, show labs at their last step, and make what is too wide
# smaller. Returns what could not be drawn, and what still goes over the page's edge.
PREPARE = r"""async () => {
  await window.MathJax?.startup?.promise;
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const next of document.querySelectorAll('.lab-stepper .lab-main'))
    for (let i = 0; i < 200 && next.getAttribute('aria-disabled') !== 'true'; i++)
      next.click();
  await document.fonts.ready;
  const misdrawn = 'mjx-merror, mjx-mtext[style*="color: red"]';
  const broken = [];
  await Promise.all([...document.images].map((image) => {
    image.loading = 'eager';
    return image.decode().catch(() => broken.push(`no picture in ${image.src}`));
  }));
  for (const tag of document.querySelectorAll(misdrawn))
    broken.push('an equation is not understood: ' +
      tag.closest('mjx-container').textContent);
  for (const box of document.querySelectorAll('mjx-container[display="true"]')) {
    const size = parseFloat(getComputedStyle(box).fontSize);
    for (let i = 19; i > 9 && box.scrollWidth > box.clientWidth + 1; i--)
      box.style.fontSize = `${(i / 20) * size}px`;
  }
  for (const table of document.querySelectorAll('.bd-article table')) {
    const size = parseFloat(getComputedStyle(table).fontSize);
    const wide = () => table.offsetWidth > table.parentElement.clientWidth + 1;
    const shrink = (least) => {
      for (let i = 20; i >= least && wide(); i--)
        table.style.fontSize = `${(i / 20) * size}px`;
    };
    shrink(16);
    if (wide()) { // a page of its own, turned
      table.parentElement.style.page = `${table.closest('.leaf').style.page}-turned`;
      table.parentElement.classList.add('turned');
      shrink(12);
    }
    if (wide()) table.classList.add('tight');
  }
  const long = (block) => block.offsetHeight * (block.tagName === 'TABLE' ? 2.5 : 4);
  for (const block of document.querySelectorAll('div[class*="highlight-"], table'))
    if (long(block) > innerHeight) block.classList.add('long');
  const edge = document.querySelector('main').getBoundingClientRect().right + 2;
  const unseen = 'svg *, mjx-assistive-mml, .visually-hidden, .lab-unseen';
  const over = [...document.querySelectorAll('main *')].filter((tag) => {
    const box = tag.getBoundingClientRect();
    const limit = tag.closest('.turned')?.getBoundingClientRect().right + 2 || edge;
    return box.width && box.height && box.right > limit && !tag.closest(unseen);
  });
  const outermost = over.filter((tag) => !over.includes(tag.parentElement));
  const wide = outermost.map((tag) => `${tag.tagName}.${tag.className}: ` +
    tag.textContent.trim().replace(/\s+/g, ' ').slice(0, 60));
  return { broken, wide };
}"""
FILL = """(pages) => {
  for (const tag of document.querySelectorAll('.page-of'))
    tag.textContent = pages[tag.dataset.of] ?? '';
  // Lay everything out anew: a print that begins from the pages of the one before can
  // break them elsewhere, now one way, now the other.
  document.body.hidden = true;
  document.body.offsetHeight;
  document.body.hidden = false;
}"""


def find() -> str:
    """Return the path of an installed Chromium."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise PrintError(
        "no Chromium on the PATH: install it (Debian and Ubuntu: apt install chromium)"
    )


@contextmanager
def opened(html: str) -> Iterator[Page]:
    """Open a document in Chromium and wait until it is ready to be printed."""
    path = find()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        document = Path(folder, "book.html")
        document.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(MINUTES)
        faults: list[str] = []

        def outside(route: Route) -> None:
            faults.append(f"asked for {route.request.url}")
            route.abort()

        page.route(lambda url: not INSIDE.match(url), outside)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("requestfailed", lambda r: faults.append(f"did not find {r.url}"))
        page.emulate_media(media="print", color_scheme="light", reduced_motion="reduce")
        page.goto(document.as_uri(), wait_until="load")
        seen = page.evaluate(PREPARE)
        faults += seen["broken"]
        faults += [f"wider than the page: {thing}" for thing in seen["wide"]]
        if faults:
            raise PrintError("the document has faults:\n  " + "\n  ".join(faults))
        yield page
        browser.close()


def print_to(page: Page, target: Path, pages: dict[str, int]) -> None:
    """Print the document, with the page numbers ``pages`` by id filled in.

    Before they are known a plain print is enough: the layout is the same.
    """
    page.evaluate(FILL, pages)
    page.pdf(
        path=target,
        prefer_css_page_size=True,
        print_background=True,
        outline=bool(pages),
        tagged=bool(pages),
    )
