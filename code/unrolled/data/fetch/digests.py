"""Whether a file is the archive of our table, or on the way to be."""

import hashlib
from pathlib import Path

from unrolled.data.fetch.pins import Archive


def fault(archive: Archive, path: Path) -> str | None:
    """Return what tells a file from the archive: None if it is the archive."""
    size = path.stat().st_size
    if size != archive.size:
        return f"it has {size:,} bytes, not {archive.size:,}"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != archive.sha256:
        return f"its sha256 is {digest[:8]}..., not {archive.sha256[:8]}..."
    return None


def part_of(path: Path) -> Path:
    """Return where the unfinished archive lies."""
    return path.with_name(path.name + ".part")
