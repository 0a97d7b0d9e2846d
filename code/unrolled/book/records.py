"""Records: what a chapter's outputs store, and how they are seen in a notebook.

An output that was run for the book holds the record and a line of plain text: how a
card, a quiz or a lab looks is decided when the page is built. The notebook that readers
open, and one that they run, hold the drawing as well.
"""

import os
from collections.abc import Mapping
from typing import Any

OURS = "application/vnd.unrolled."  # how the types of all records begin
CLAIM = "application/vnd.unrolled.claim+json"
QUIZ = "application/vnd.unrolled.quiz+json"
SHOW = "application/vnd.unrolled.show+json"
FIGURE = "image/svg+xml"


def bundle(mime: str, record: dict[str, Any], words: str) -> dict[str, Any]:
    """Return what an output holds: the record, words, and for a reader the drawing."""
    stored = {mime: record, "text/plain": words}
    if os.environ.get("UNROLLED_BOOK"):
        return stored
    from unrolled.book.drawing import draw  # which knows all that make records

    return stored | {"text/html": draw(mime, record, notebook=True)}


def without_drawing(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an output holds, less the drawing beside a record or a figure.

    Drawings are made for whoever opens a notebook. They are no part of what was run: a
    card that looks otherwise makes no chapter stale.
    """
    drawn = any(mime.startswith(OURS) or mime == FIGURE for mime in data)
    return {m: data[m] for m in data if not (drawn and m == "text/html")}
