"""Make a chapter's page of its source's words and its notebook's outputs.

The document that Sphinx reads is the notebook, which is the reader's edition; the words
of the page, and how it shows its code, are the source's. A stored output holds data.
When a page is read, each record gets its drawing
(:func:`unrolled.book.drawing.draw`): how a card looks is no part of any notebook, and
changing it runs no chapter again. Numbers in an alt text are put in here as well:
``{measured}`claim-id:name``` as in prose.
"""

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from unrolled.book.drawing import DRAWN, draw
from unrolled_book import notebooks
from unrolled_book.claims import LEDGER, measured

LOG = logging.getLogger(__name__)
ROLE = re.compile(r"\{measured\}`([^`]+)`")
HOW = "How it was checked"  # what the fold of a claim's own cell is called


def draw_outputs(app: Sphinx, docname: str, source: list[str]) -> None:
    """Take the words from the source, and give every record its drawing."""
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".ipynb":
        return
    words = path.with_suffix(".md")
    app.env.note_dependency(str(words))
    notebook = json.loads(source[0])
    try:
        notebook = notebooks.with_outputs(words, notebook)
    except (OSError, ValueError) as error:
        LOG.warning("no page can be made of it: %s", error, location=docname)
    ledger = ""
    if LEDGER in app.env.found_docs and app.builder.format == "html":
        ledger = app.builder.get_relative_uri(docname, LEDGER)
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        _fold_claim(cell["metadata"])
        _fill_alt(app, docname, cell["metadata"])
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/svg+xml" in data:
                data.pop("text/html", None)  # a figure as notebooks show it
            for mime in DRAWN.keys() & data.keys():
                data["text/html"] = draw(mime, data.pop(mime), ledger=ledger)
    source[0] = json.dumps(notebook)


def _fold_claim(metadata: dict[str, Any]) -> None:
    """Fold the code of a cell tagged ``claim`` under words that say what it is."""
    if "claim" in metadata.get("tags", []):
        metadata["tags"] = [*metadata["tags"], "hide-input"]
        metadata.setdefault("mystnb", {})["code_prompt_show"] = HOW


def _fill_alt(app: Sphinx, docname: str, metadata: dict[str, Any]) -> None:
    """Put measured numbers into an alt text, which MyST does not parse."""
    image = metadata.get("mystnb", {}).get("image", {})
    if "alt" not in image:
        return

    def number(role: re.Match[str]) -> str:
        try:
            return measured(app.unrolled_claims, role[1])
        except (LookupError, ValueError) as error:
            LOG.warning("in an alt text: %s", error, location=docname)
            return role[0]

    image["alt"] = ROLE.sub(number, image["alt"])


def setup(app: Sphinx) -> None:
    """Register the drawing."""
    app.connect("source-read", draw_outputs)
