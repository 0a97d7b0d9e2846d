"""Under a chapter's title: how long it takes to read and to run."""

import math
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from unrolled_book import notebooks

WORDS_A_MINUTE = 150  # unhurried: this is a textbook
MINUTES_A_CELL = 0.75
MEASURED = re.compile(r"\{measured\}`[^`]*`")  # a number on the page


def minutes_to_read(notebook: dict) -> int:
    """Estimate the reading time to the next five minutes."""
    cells = notebook["cells"]
    prose = (notebooks.text(c["source"]) for c in cells if c["cell_type"] == "markdown")
    words = sum(len(MEASURED.sub("number", text).split()) for text in prose)
    code = sum(cell["cell_type"] == "code" for cell in cells)
    return 5 * math.ceil((words / WORDS_A_MINUTE + code * MINUTES_A_CELL) / 5)


def add_byline(app: Sphinx, doctree: nodes.document) -> None:
    """Put the byline under the title of a chapter that was run."""
    path = Path(app.srcdir) / f"{app.env.docname}.ipynb"
    if not path.is_file():
        return
    notebook = notebooks.read(path)
    record = notebook["metadata"].get("unrolled")
    if record is None:
        raise ValueError(f"{path} was not run by 'make execute'")
    words = (
        f"About {minutes_to_read(notebook)} minutes to read; "
        f"runs in {record['seconds']:.0f} s on {record['cores']} cores."
    )
    title = next(doctree.findall(nodes.title))
    section = title.parent
    section.insert(
        section.index(title) + 1, nodes.paragraph(text=words, classes=["byline"])
    )


def setup(app: Sphinx) -> None:
    """Register the byline."""
    app.connect("doctree-read", add_byline)
