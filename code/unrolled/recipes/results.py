"""Read what recipes have found, and write it whole."""

import json
from pathlib import Path
from typing import Any, cast

from unrolled.runtime import book_folder


def results(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Return the committed results of the recipe ``name``."""
    path = (folder or book_folder() / "results") / f"{name}.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: run 'unrolled run {name}'")
    return cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` so that a crash leaves the old file or the new one."""
    beside = path.with_name(path.name + ".writing")
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(path)
