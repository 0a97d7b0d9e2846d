"""What is in the folder, file by file: whether it is as it should be."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unrolled.data.fetch.digests import fault
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.home_files import Home
from unrolled.data.fetch.homes import home_folder
from unrolled.data.fetch.sources import Source
from unrolled.data.fetch.store import path_of, unpacked_fault, unpacked_path

MISSING = "it is missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A file of a source or home, what is wrong with it, and what repairs it."""

    name: str
    path: Path
    fault: str | None
    again: str


def _look(check: Callable[[], str | None]) -> str | None:
    """Return what a check finds, also if it cannot be done."""
    try:
        return check()
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"
    except DataError as error:
        return str(error)


def look_at(source: Source) -> Iterator[Finding]:
    """Yield a finding for each archive of a source, and for what was unpacked of it."""
    again, is_whole = f"unrolled data fetch {source.name}", True
    for archive in source.archives:
        path = path_of(archive)
        why = _look(partial(fault, archive, path))
        is_whole = is_whole and why is None
        yield Finding(name=source.name, path=path, fault=why, again=again)
    for member in source.unpacked if is_whole else ():
        path = unpacked_path(source, member)
        why = "it is not unpacked yet"
        if os.path.lexists(path):
            why = _look(partial(unpacked_fault, source, member))
        yield Finding(name=source.name, path=path, fault=why, again=again)


def look_elsewhere(homes: Iterable[Home]) -> Iterator[Finding]:
    """Yield a finding for each file that came from a home of its own."""
    for home in homes:
        again = f"unrolled data elsewhere {home.name}"
        for file in home.files:
            path = home_folder(home) / file.filename
            why = _look(partial(fault, file, path))
            if why != MISSING:
                yield Finding(name=home.name, path=path, fault=why, again=again)
