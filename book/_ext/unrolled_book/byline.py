"""Under a chapter's title: how long a page takes to read and to run.

The minutes are those of :mod:`unrolled_book.form`, measured on the page as it was
built: so they are put in last, in place of a mark.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from unrolled_book import notebooks, outline
from unrolled_book.form import measure

MINUTES = re.compile(r'(<span class="minutes" data-page="([\w-]+)">)([^<]*)(</span>)')


def minutes_of(stem: str) -> nodes.raw:
    """Return the place where the minutes of a page will stand."""
    html = f'<span class="minutes" data-page="{stem}">\N{HORIZONTAL ELLIPSIS}</span>'
    return nodes.raw("", html, format="html")


def add_byline(app: Sphinx, doctree: nodes.document) -> None:
    """Put the byline under the title of a page that was run."""
    path = Path(app.srcdir) / f"{app.env.docname}.ipynb"
    if not path.is_file():
        return
    notebook = notebooks.read(path)
    record = notebook["metadata"].get("unrolled")
    if record is None:
        raise ValueError(f"{path} was not run by 'make execute'")
    page = outline.pages(app).get(app.env.docname)
    optional = page is not None and page.kind == "study"
    line = nodes.paragraph(classes=["byline"])
    line += nodes.Text("Optional. About " if optional else "About ")
    line += minutes_of(path.stem)
    line += nodes.Text(
        f" minutes to read; runs in {record['seconds']:.0f} s on one core."
    )
    title = next(doctree.findall(nodes.title))
    section = title.parent
    section.insert(section.index(title) + 1, line)


def put_minutes(app: Sphinx, error: Exception | None) -> None:
    """Measure the pages that were written, and put the minutes wherever they stand."""
    if error or app.builder.format != "html":
        return
    files = sorted((Path(app.outdir) / "chapters").glob("*.html"))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    minutes = {path.stem: _own(path.stem, text) for path, text in texts.items()}
    for path, text in texts.items():
        full = MINUTES.sub(lambda m: f"{m[1]}{minutes.get(m[2], m[3])}{m[4]}", text)
        if full != text:
            path.write_text(full, encoding="utf-8")


def _own(stem: str, text: str) -> int:
    """Return the minutes of a page: as they stand there, or measured if it is new."""
    stands = {found[2]: found[3] for found in reversed([*MINUTES.finditer(text)])}
    if stands.get(stem, "").isdigit():
        return int(stands[stem])
    return measure(text).minutes


def setup(app: Sphinx) -> None:
    """Register the byline, and the minutes after the last repair of a page."""
    app.connect("doctree-read", add_byline)
    app.connect("build-finished", put_minutes, priority=900)
