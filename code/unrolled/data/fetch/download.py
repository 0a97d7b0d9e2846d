"""One archive, from where the user's pip looks into a file, as our table knows it.

The bytes go to ``FILE.part``, which stays when we are interrupted: the next run goes on
where it ends. Only a part with the right digest gets the archive's name, in one step.
"""

import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import requests
from tqdm.auto import tqdm

from unrolled.data.fetch.digests import fault
from unrolled.data.fetch.errors import DataError, UnreachableError
from unrolled.data.fetch.index import Index, indexes, locate
from unrolled.data.fetch.local import copy, local_files
from unrolled.data.fetch.parts import clear_way, open_part, part_of, size_of
from unrolled.data.fetch.sources import Archive
from unrolled.data.fetch.web import (
    LostError,
    SilentError,
    UnavailableError,
    check_status,
    network,
    pieces,
    plain,
)

_T = TypeVar("_T")
_PAUSES = (0.5, 1.0, 2.0)  # seconds before each new try
_GAIN = 1 << 20  # a lost connection that brought this much is no failed try


def _persist(work: Callable[[], _T], gained: Callable[[], int]) -> _T:
    """Work until it is done, starting anew a few times when the connection is lost.

    What was gained before and has to be fetched once more is no gain.
    """
    failed, best = 0, gained()
    while True:
        try:
            return work()
        except LostError:
            failed = 0 if gained() - best >= _GAIN else failed + 1
            best = max(best, gained())
            if failed > len(_PAUSES):
                raise
            time.sleep(_PAUSES[max(failed, 1) - 1])


def _start(response: requests.Response, have: int, archive: Archive) -> int | None:
    """Return at which byte an answer begins; None if it does not fit our question."""
    if response.status_code == 206:
        said = response.headers.get("Content-Range", "")
        fits = re.fullmatch(rf"bytes {have}-\d+/({archive.size}|\*)", said)
        return have if fits else None
    if response.status_code == 416:
        return None
    check_status(response)
    length = response.headers.get("Content-Length", "")
    if re.fullmatch(r"[0-9]{1,18}", length) and int(length) != archive.size:
        raise UnavailableError(
            f"the server has a file of {int(length):,} bytes, not {archive.size:,}"
        )
    return 0


def _go_on(index: Index, address: str, archive: Archive, part: Path, bar: tqdm) -> None:
    """Ask for what the part lacks and add it, as far as the connection holds."""
    have = size_of(part)
    host = urlsplit(address).hostname or ""
    headers = {"Range": f"bytes={have}-"} if have else {}
    with network(host):
        response = index.session.get(
            address, headers=headers, stream=True, timeout=index.timeout
        )
    with response:
        start = _start(response, have, archive)
        if start is None:  # begin anew
            part.unlink(missing_ok=True)
            raise LostError(f"{host} cannot go on from byte {have:,}")
        bar.update(start - bar.n)
        with open_part(part) as file:
            file.seek(start)
            file.truncate()
            for piece in pieces(response, host):
                if file.tell() + len(piece) > archive.size:
                    file.truncate(0)
                    raise UnavailableError(
                        f"{host} sends more than {archive.size:,} bytes"
                    )
                file.write(piece)
                file.flush()  # so that a kill leaves all that has come
                bar.update(len(piece))
            os.fsync(file.fileno())
            if file.tell() < archive.size:
                raise LostError(f"{host} stops after {file.tell():,} bytes")


def _fill(index: Index, address: str, archive: Archive, part: Path) -> None:
    """Complete the part."""
    if size_of(part) == archive.size:
        return
    with tqdm(
        total=archive.size, desc=archive.filename, unit="B", unit_scale=True
    ) as bar:
        _persist(
            lambda: _go_on(index, address, archive, part, bar),
            gained=lambda: size_of(part),
        )


def _from_index(index: Index, archive: Archive, part: Path) -> None:
    """Fetch the part from one index, and hold it to the table's digest."""
    entry = _persist(lambda: locate(index, archive), gained=lambda: 0)
    if entry.is_yanked:  # as pip does with a version that is pinned
        note = f"{archive.filename} was withdrawn by its makers; the book still uses it"
        tqdm.write(note, file=sys.stderr)
    while True:
        old = size_of(part)
        try:
            _fill(index, entry.url, archive, part)
        except SilentError as silence:  # but the index did answer
            raise LostError(str(silence)) from None
        why = fault(archive, part)
        if why is None:
            return
        part.unlink()
        if not old:
            raise UnavailableError(f"{index.host} sends another file: {why}")
        # An old part may have been spoilt since: once more, from the start.


def _check_space(archive: Archive, part: Path) -> None:
    """Refuse to begin what the disk cannot hold."""
    lacking, free = archive.size - size_of(part), shutil.disk_usage(part.parent).free
    if lacking > free:
        raise OSError(errno.ENOSPC, f"{lacking:,} bytes needed, {free:,} free")


def _ways(archive: Archive, part: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what can be tried, each with what messages call it; the nearest first."""
    for file in local_files(archive):
        yield str(file), partial(copy, file, archive, part)
    for index in indexes():
        yield index.shown, partial(_from_index, index, archive, part)


def download(archive: Archive, target: Path, *, again: str) -> None:
    """Fetch an archive into the file ``target``; ``again`` is what to run after that.

    Raises:
        DataError: It cannot be had. Nothing has the name ``target`` then.
        UnreachableError: No index answers.
        OSError: The disk does not take it.
    """
    part, failures, silent = part_of(target), [], True
    clear_way(part)
    _check_space(archive, part)
    for name, get in _ways(archive, part):
        try:
            get()
        except (LostError, UnavailableError) as failure:
            failures.append(plain(f"{name}: {failure}"))
            silent = silent and isinstance(failure, SilentError)
        else:
            os.replace(part, target)
            return
    why = "; ".join(failures) or "pip's settings leave no index to ask on the web"
    kept = f" {size_of(part):,} bytes of it are kept." if size_of(part) else ""
    if not kept:
        part.unlink(missing_ok=True)
    kind = UnreachableError if failures and silent else DataError
    raise kind(
        f"{archive.filename} cannot be fetched: {why}.{kept} Put it into "
        f"{target.parent} by hand, or try again: {again}"
    )
