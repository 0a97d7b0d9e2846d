"""Read the chapters: the words of their sources, the outputs of their notebooks.

``chapters/NN-name.md`` has the words, the code, and how the page shows it.
``chapters/NN-name.ipynb`` is the reader's edition (:mod:`unrolled_book.edition`), and
holds what was run. A page of the book is made of both.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode

from unrolled.book.records import without_drawing
from unrolled.chapters.pages import all_pages

FOLDED = {"hide-input", "claim"}  # tags of cells whose code is not in sight


def read(path: Path) -> dict[str, Any]:
    """Return the notebook at ``path`` as plain values."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_source(source: Path) -> NotebookNode:
    """Read a chapter's source as a notebook without outputs.

    What is folded in the page is folded in JupyterLab as well.
    """
    notebook = jupytext.read(source)
    for cell in notebook.cells:
        if FOLDED & set(cell.metadata.get("tags", [])):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


def with_outputs(source: Path, stored: dict[str, Any]) -> NotebookNode:
    """Return the cells of ``source`` with what ``stored`` holds of their outputs.

    Drawings are left out: the page and the edition make their own.
    """
    page = read_source(source)
    ran = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    code = [cell for cell in page.cells if cell.cell_type == "code"]
    if [cell.source for cell in code] != [text(cell["source"]) for cell in ran]:
        raise ValueError(
            f"{source.name} has other code than was run: 'make execute' runs it"
        )
    for cell, old in zip(code, ran, strict=True):
        cell["execution_count"] = old["execution_count"]
        cell["outputs"] = [
            output | {"data": without_drawing(output["data"])}
            if "data" in output
            else output
            for output in old["outputs"]
        ]
    page["metadata"] = NotebookNode(stored["metadata"]) | page["metadata"]
    return page


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
