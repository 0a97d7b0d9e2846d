"""Read the chapters' executed notebooks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any]:
    """Return the notebook at ``path`` as plain values."""
    return json.loads(path.read_text(encoding="utf-8"))


def of_chapters(root: Path) -> list[Path]:
    """Return the notebooks that have their source beside them; a copy has none."""
    found = sorted((root / "chapters").glob("[0-9][0-9]-*.ipynb"))
    return [path for path in found if path.with_suffix(".md").is_file()]


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
