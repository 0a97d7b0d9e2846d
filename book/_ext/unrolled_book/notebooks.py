"""Read the chapters' executed notebooks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unrolled.chapters.pages import all_pages


def read(path: Path) -> dict[str, Any]:
    """Return the notebook at ``path`` as plain values."""
    return json.loads(path.read_text(encoding="utf-8"))


def of_chapters(root: Path) -> list[Path]:
    """Return the notebooks of all pages, in reading order; a copy has no source."""
    return [page.notebook for page in all_pages(root) if page.notebook.is_file()]


def outputs(
    notebook: dict[str, Any], mime: str
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield every output of type ``mime``, with the whole bundle it belongs to."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if mime in output.get("data", {}):
                yield output["data"], output["data"][mime]


def text(content: str | list[str]) -> str:
    """Return what a notebook stores as a string or as a list of lines."""
    return content if isinstance(content, str) else "".join(content)
