"""Whether a file is the one that is pinned."""

import hashlib
from pathlib import Path

from unrolled.data.fetch.home_files import HomeFile
from unrolled.data.fetch.sources import Archive


def fault(pin: Archive | HomeFile, path: Path) -> str | None:
    """Return what tells a file from the one that is pinned: None if it is that one."""
    size = path.stat().st_size
    if size != pin.size:
        return f"it has {size:,} bytes, not {pin.size:,}"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != pin.sha256:
        return f"its sha256 is {digest[:8]}..., not {pin.sha256[:8]}..."
    return None


def is_right(pin: Archive | HomeFile, path: Path) -> bool:
    """Tell whether a file is here, can be read, and is the one that is pinned."""
    try:
        return fault(pin, path) is None
    except OSError:
        return False
