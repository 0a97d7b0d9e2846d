"""The cache of archives, and the one way to open them."""

import errno
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import platformdirs
from tqdm.auto import tqdm

from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.digests import fault, part_of
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.pins import Archive
from unrolled.data.fetch.sources import SOURCES, Source

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_known_good: dict[Path, tuple[int, int]] = {}  # what this process has verified


def data_folder() -> Path:
    """Return the folder of the archives: ``UNROLLED_DATA``, or the platform's cache."""
    if chosen := os.environ.get("UNROLLED_DATA"):
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_cache_path("unrolled") / "data"


def find_source(name: str) -> Source:
    """Return the source of that name, or say which there are."""
    if name not in SOURCES:
        raise ValueError(f"{name=} is no source; there are {', '.join(SOURCES)}")
    return SOURCES[name]


def find_archive(name: str, filename: str | None = None) -> Archive:
    """Return an archive of a source: its first, or the one called so."""
    archives = {a.filename: a for a in find_source(name).archives}
    if filename is None:
        return next(iter(archives.values()))
    if filename not in archives:
        raise ValueError(f"{filename=} is not in {name}; it has {', '.join(archives)}")
    return archives[filename]


def path_of(archive: Archive) -> Path:
    """Return where an archive lies, or will lie."""
    return data_folder() / archive.filename


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@contextmanager
def _writing(path: Path, again: str) -> Iterator[None]:
    """Hold the lock of a file that is to be written, and explain what the disk says."""
    folder = data_folder()
    lock = filelock.FileLock(folder / ".locks" / f"{path.name}.lock")
    try:
        for needed in (path.parent, folder / ".locks"):
            needed.mkdir(parents=True, exist_ok=True)
        try:
            held = lock.acquire(timeout=0)
        except filelock.Timeout:
            note = f"waiting for another process that is at {path.name} ..."
            tqdm.write(note, file=sys.stderr)
            held = lock.acquire()
        with held:
            yield
    except OSError as error:
        full = "the disk is full" if error.errno in _FULL else "it cannot be written"
        raise DataError(
            f"{path}: {full} ({error.strerror or error}). Make room or set "
            f"UNROLLED_DATA to another folder, then run: {again}"
        ) from error


def fetch(name: str, archive: Archive) -> bool:
    """Fetch an archive of a source unless it is here; return whether it was fetched.

    A file that is not what our table says is fetched anew.
    """
    path, again = path_of(archive), f"unrolled data fetch {name}"
    with _writing(path, again):
        if path.exists() and fault(archive, path) is None:
            return False
        path.unlink(missing_ok=True)
        from unrolled.data.fetch.download import download  # only who fetches pays

        download(archive, path, again=again)
        _known_good[path] = _stamp(path)
        return True


def _ready(name: str, archive: Archive) -> Path:
    """Return where an archive lies, fetched if need be and verified once a process."""
    path, again = path_of(archive), f"unrolled data fetch {name}"
    try:
        if not path.exists():
            if os.environ.get("UNROLLED_OFFLINE", "0") not in ("", "0"):
                raise DataError(
                    f"{path} is missing, and UNROLLED_OFFLINE forbids to fetch it. "
                    f"Run: {again}"
                )
            fetch(name, archive)
        stamp = _stamp(path)
        if _known_good.get(path) != stamp:
            why = fault(archive, path)
            if why:
                raise DataError(f"{path} is corrupt: {why}. Run: {again}")
            _known_good[path] = stamp
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Run: {again}"
        ) from error
    return path


def open_source(name: str, filename: str | None = None) -> OpenArchive:
    """Open an archive of the source ``name``: its first, or the one called so.

    Raises:
        DataError: It cannot be had or trusted; the message says what to run.
    """
    archive = find_archive(name, filename)
    return OpenArchive(_ready(name, archive), label=archive.filename)


def _is_member(path: Path, archive: OpenArchive, member: str) -> bool:
    """Tell whether a file is a member of an archive, by its size and CRC-32."""
    size, checksum = archive.checksum(member)
    try:
        stamp = _stamp(path)
        if _known_good.get(path) == stamp:
            return True
        right = stamp[0] == size and zlib.crc32(path.read_bytes()) == checksum
    except OSError:  # it is missing, or nobody can read it
        return False
    if right:
        _known_good[path] = stamp
    return right


def unpack(name: str, member: str) -> Path:
    """Return a member of a source as a file on the disk, for readers that need one."""
    target = data_folder() / "unpacked" / name / member
    with open_source(name) as archive:
        if _is_member(target, archive, member):
            return target
        with _writing(target, f"unrolled data fetch {name}"):
            if not _is_member(target, archive, member):
                part = part_of(target)
                with part.open("wb") as file:
                    file.write(archive.read(member))
                    os.fsync(file.fileno())
                os.replace(part, target)
    return target
