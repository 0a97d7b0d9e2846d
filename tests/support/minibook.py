"""Build a miniature book with our extension, and read its pages."""

import subprocess
import sys
from pathlib import Path

from bs4 import BeautifulSoup

EXTENSION = Path(__file__).resolve().parents[2] / "book" / "_ext"


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
            "PYTHONPATH": f"{EXTENSION}:{root}",
            "PATH": "/usr/bin:/bin",
            "HOME": str(root),
        },
    )


def page(root: Path, name: str) -> BeautifulSoup:
    """Return a page of the book that was built in ``root``."""
    html = (root / "_build" / "html" / name).read_text(encoding="utf-8")
    return BeautifulSoup(html, "html.parser")
