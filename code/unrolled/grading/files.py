"""Files written whole: what was there stays until its successor is complete."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file at once; if that fails, leave nothing behind."""
    part = path.with_name(f"{path.name}.{os.getpid()}.writing")
    try:
        part.write_text(text, encoding="utf-8", errors="replace")
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
