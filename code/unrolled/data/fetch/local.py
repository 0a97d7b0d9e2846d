"""Files that pip would take from this machine: find-links, and indexes of file://."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from unrolled.data.fetch.digests import fault
from unrolled.data.fetch.parts import open_part
from unrolled.data.fetch.settings import read_settings
from unrolled.data.fetch.sources import Archive
from unrolled.data.fetch.web import UnavailableError


def _folder(place: str) -> Path | None:
    """Return the folder that a path or a file:// address names; None if neither."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return None
    if parts.scheme == "file":
        here = parts.netloc in ("", "localhost")
        return Path(url2pathname(parts.path)) if here else None
    return None if "://" in place else Path(os.path.expanduser(place))


def local_files(archive: Archive) -> Iterator[Path]:
    """Yield the files of this name in the folders that pip's settings name."""
    settings = read_settings("")
    project = re.sub(r"[-_.]+", "-", archive.project).lower()
    folders = [_folder(place) for place in settings.find_links]
    for address in settings.indexes:
        if address.lower().startswith("file:") and (simple := _folder(address)):
            folders.append(simple / project)
    for folder in folders:
        if folder and os.path.isfile(folder / archive.filename):
            yield folder / archive.filename


def copy(file: Path, archive: Archive, part: Path) -> None:
    """Copy a file of this machine into the part, if it is the one of our table."""
    try:
        why = fault(archive, file)
    except OSError as error:
        why = f"it cannot be read ({error.strerror or error})"
    if why:
        raise UnavailableError(why)
    with file.open("rb") as source, open_part(part) as target:
        target.truncate()
        shutil.copyfileobj(source, target)
        os.fsync(target.fileno())
    if why := fault(archive, part):
        part.unlink()
        raise UnavailableError(f"it changes while it is copied: {why}")
