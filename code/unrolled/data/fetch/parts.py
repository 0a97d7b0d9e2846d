"""Unfinished files: ``FILE.part``, a plain file of our own and nobody else's.

A folder may be shared. Whoever can write there could put a link in the place of a part,
so that our bytes went into another file; so links are taken away and never followed.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def part_of(path: Path) -> Path:
    """Return where the unfinished file lies."""
    return path.with_name(path.name + ".part")


def clear_way(part: Path) -> None:
    """Remove what has the name of a part and is no plain file of its own.

    Raises:
        OSError: It cannot be removed, as a folder cannot.
    """
    try:
        status = part.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        part.unlink()


def size_of(part: Path) -> int:
    """Return the bytes that have come: 0 if there is no part."""
    try:
        return part.lstat().st_size
    except FileNotFoundError:
        return 0


def open_part(part: Path) -> BinaryIO:
    """Open a part for writing at any place, as it is; make it if it is not there."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | _FLAGS, 0o666)

    return open(part, "r+b", opener=opener)
