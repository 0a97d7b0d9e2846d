"""Pages with labs on them, and ways to look at and to use whatever lab is there."""

from pathlib import Path

from playwright.sync_api import Locator, Page

from unrolled.widgets import lab, lab_files

DARK = "[data-theme=dark] body { background: #14181e; color: #ddd }"  # as in the book


def write_page(
    folder: Path, *names: str, scripts: list[str] | None = None, theme: str = ""
) -> str:
    """Write a page as the book has it, loaded by file://; return its address.

    ``scripts`` are addresses; without them they are what the book loads for these labs.
    """
    files = dict.fromkeys(path for name in names for path in lab_files(name))
    style, *own = (path.as_uri() for path in files)
    sources = own if scripts is None else scripts
    tags = "".join(f'<script defer src="{address}"></script>' for address in sources)
    head = f'<style>{DARK}</style><link rel="stylesheet" href="{style}">{tags}'
    body = "".join(lab(name).placeholder() for name in names)
    return _write(folder, head, body, theme)


def write_live(folder: Path, *names: str) -> str:
    """Write a page with the outputs of so many cells of a notebook, and no more."""
    return _write(folder, "", "".join(lab(name).complete() for name in names))


def _write(folder: Path, head: str, body: str, theme: str = "") -> str:
    page = folder / "page.html"
    page.write_text(
        f'<!doctype html><html lang="en" {theme}><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Labs</title>{head}</head>"
        f"<body><main><h1>Labs</h1>{body}</main></body></html>",
        encoding="utf-8",
    )
    return page.as_uri()


def tab_through(page: Page) -> list[tuple[str, str, float]]:
    """Press Tab from the start of the page to the end of the lab.

    Return what took the focus: its kind, its own HTML and the width of its ring.
    """
    seen = []
    for _ in range(200):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
              const at = document.activeElement;
              if (!at.closest('.unrolled-lab')) return null;
              const ring = at.type === 'radio' ? at.closest('fieldset') : at;
              const {outlineStyle, outlineWidth} = getComputedStyle(ring);
              return [at.type || at.getAttribute('role') || at.tagName,
                      at.cloneNode().outerHTML,
                      outlineStyle === 'none' ? 0 : parseFloat(outlineWidth)];
            }"""
        )
        if found is None:
            return seen
        seen.append(tuple(found))
    raise RuntimeError("200 times Tab, and the focus is still in the lab")


def stops(page: Page) -> list[str]:
    """Return the HTML of what Tab ought to reach: of radios the one that is chosen.

    A slider that does nothing now may be disabled. A button may not: it would lose the
    focus of whoever pressed it.
    """
    return page.evaluate(
        """() => [...document.querySelectorAll('.unrolled-lab :is(a[href], button,'
              + 'input, select, textarea, summary, [tabindex="0"])')]
          .filter(node => node.checkVisibility()
            && (node.type !== 'radio' || node.checked)
            && !(node.type === 'range' && node.disabled))
          .map(node => node.cloneNode().outerHTML)"""
    )


def stir(root: Locator, *, buttons: bool = True) -> int:
    """Use every control in sight once, each select with every option; count them.

    What appears on the way is used as well. Buttons come last, for one may start over;
    the core's own, which undoes everything, is left alone.
    """
    return root.evaluate(
        """(root, buttons) => {
          const send = (node, ...names) => names.forEach(name =>
            node.dispatchEvent(new Event(name, {bubbles: true})));
          const use = {
            details: node => { node.open = true; },
            select: node => [...node.options].forEach(option => {
              node.value = option.value; send(node, 'input', 'change'); }),
            'input[type=range]': node => [node.min, node.max].forEach(value => {
              node.value = value; send(node, 'input', 'change'); }),
            'input[type=checkbox], input[type=radio]': node => node.click(),
            'input[type=text]:not([readonly]), textarea': node => {
              node.value = 'to be, or not \u00e9t\u00e9 5';
              send(node, 'input', 'change'); },
            ...(buttons ? {'button:not(.lab-reset)': node => node.click()} : {}),
          };
          let count = 0;
          for (const [kind, act] of Object.entries(use)) {
            const done = new Set();
            const next = () => [...root.querySelectorAll(kind)].find(node =>
              !done.has(node) && node.checkVisibility());
            for (let node = next(); node && done.size < 500; node = next()) {
              done.add(node);
              act(node);
            }
            count += done.size;
          }
          return count;
        }""",
        buttons,
    )


def looks(root: Locator) -> tuple[list[str], str]:
    """Return how a lab looks: the values of its controls, and its text.

    Left out are the core's two buttons and what only answers the reader's last move.
    """
    return root.evaluate(
        """root => {
          const copy = root.cloneNode(true);
          copy.querySelectorAll('.lab-share, .lab-passing, [role=status], [hidden],'
            + 'details:not([open]) > div').forEach(node => node.remove());
          const controls = [...root.querySelectorAll(
            'input, select, textarea, details, button')];
          return [controls.filter(node => !node.closest('.lab-share')).map(node =>
              [node.tagName, node.value, node.checked, node.open, node.min, node.max,
               node.ariaDisabled, node.checkVisibility()].join(' ')),
            copy.textContent];
        }"""
    )


def repeated_ids(page: Page) -> list[str]:
    """Return the ids that more than one element has."""
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    return sorted({one for one in ids if ids.count(one) > 1})


def colours(page: Page) -> dict[str, str]:
    """Return the core's named colours as the lab on the page has them."""
    names = (
        "card well ink soft line edge accent on-accent band pos neg good bad".split()
    )
    names += [f"series-{n}" for n in range(1, 5)]
    return page.evaluate(
        """names => Object.fromEntries(names.map(name => [name, getComputedStyle(
          document.querySelector('.unrolled-lab'))
          .getPropertyValue('--lab-' + name)]))""",
        names,
    )
