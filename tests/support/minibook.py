"""Build a miniature book with our extension, and read its pages."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
from bs4 import BeautifulSoup

import unrolled

EXTENSION = Path(__file__).resolve().parents[2] / "book" / "_ext"
PACKAGE = Path(unrolled.__file__).resolve().parents[1]  # the one under test


def build(root: Path) -> subprocess.CompletedProcess[str]:
    """Build as the book is built: warnings are errors, every link is looked up."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "-n", "--keep-going"]
    folders = [str(root), str(root / "_build" / "html")]
    return subprocess.run(
        [*command, "-q", *folders],
        capture_output=True,
        text=True,
        check=False,
        env={
            "PYTHONPATH": f"{EXTENSION}:{PACKAGE}:{root}",
            "PATH": "/usr/bin:/bin",
            "HOME": str(root),
        },
    )


def page(root: Path, name: str) -> BeautifulSoup:
    """Return a page of the book that was built in ``root``."""
    html = (root / "_build" / "html" / name).read_text(encoding="utf-8")
    return BeautifulSoup(html, "html.parser")


def prose(text: str) -> dict[str, Any]:
    """Return a cell of a notebook with words."""
    return {"cell_type": "markdown", "source": text, "metadata": {}}


def code(source: str, *bundles: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a cell of a notebook with code, which shows ``bundles``."""
    outputs = [
        {
            "output_type": "execute_result",
            "data": data,
            "metadata": {},
            "execution_count": 1,
        }
        for data in bundles
    ]
    return {
        "cell_type": "code",
        "source": source,
        "metadata": metadata,
        "execution_count": 1,
        "outputs": outputs,
    }


def write_page(
    root: Path, stem: str, *cells: dict[str, Any], kind: str = "", seconds: float = 12.4
) -> Path:
    """Write a page of a chapter: its notebook, and the words of its source."""
    notebook = {
        "cells": [{"id": f"cell-{n}"} | cell for n, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {
                "name": "python3",
                "display_name": "Python 3",
                "language": "python",
            },
            "language_info": {"name": "python", "version": "3.11.7"},
            "unrolled": {"key": "0", "seconds": seconds, "cores": 2},
            **({"page": kind} if kind else {}),
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = root / "chapters" / f"{stem}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    write_source(path, kind)
    return path


def write_source(path: Path, kind: str = "") -> None:
    """Write the source that the notebook at ``path`` was made of."""
    notebook = jupytext.read(path)
    source = jupytext.writes(notebook, fmt="md:myst")
    if kind:
        source = source.replace("---\n", f"---\npage: {kind}\n", 1)
    path.with_suffix(".md").write_text(source, encoding="utf-8")
