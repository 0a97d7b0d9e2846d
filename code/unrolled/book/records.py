"""Records: what a chapter's outputs store, and how they are seen in a notebook.

A notebook that the book stores holds the record and a line of plain text: how a card, a
quiz or a lab looks is decided when the page is built. A notebook that a reader runs
holds the drawing as well.
"""

import os
from typing import Any

CLAIM = "application/vnd.unrolled.claim+json"
QUIZ = "application/vnd.unrolled.quiz+json"
SHOW = "application/vnd.unrolled.show+json"


def bundle(mime: str, record: dict[str, Any], words: str) -> dict[str, Any]:
    """Return what an output holds: the record, words, and for a reader the drawing."""
    stored = {mime: record, "text/plain": words}
    if os.environ.get("UNROLLED_BOOK"):
        return stored
    from unrolled.book.drawing import draw  # which knows all that make records

    return stored | {"text/html": draw(mime, record)}
