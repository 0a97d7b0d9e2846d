"""The cache of archives, and the one way to open them."""

import os
import zlib
from pathlib import Path

from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.digests import fault, is_right
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.parts import clear_way, open_part, part_of
from unrolled.data.fetch.places import data_folder, is_offline, writing
from unrolled.data.fetch.sources import Archive, Source

# What this process has verified. It trusts a file until its size or its time changes:
# this is to find damage, not to hold off somebody who may write into the folder.
_known_good: dict[Path, tuple[int, int]] = {}


def find_archive(source: Source, filename: str | None = None) -> Archive:
    """Return an archive of a source: its first, or the one called so."""
    archives = {a.filename: a for a in source.archives}
    if filename is None:
        return next(iter(archives.values()))
    if filename not in archives:
        raise ValueError(
            f"{filename=} is not in {source.name}; it has {', '.join(archives)}"
        )
    return archives[filename]


def path_of(archive: Archive) -> Path:
    """Return where an archive lies, or will lie."""
    return data_folder() / archive.filename


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def fetch(name: str, archive: Archive) -> bool:
    """Fetch an archive of a source unless it is here; return whether it was fetched.

    A file that is not the one pinned is fetched anew. One that is right is not
    touched, nor its folder, which may be another's.
    """
    path, again = path_of(archive), f"unrolled data fetch {name}"
    if is_right(archive, path):
        return False
    if is_offline():
        raise DataError(
            f"{path} is missing or corrupt, and UNROLLED_OFFLINE forbids to fetch it. "
            f"Unset it and run: {again}"
        )
    with writing(path, again):
        if is_right(archive, path):  # another process was at it
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


def open_source(source: Source, filename: str | None = None) -> OpenArchive:
    """Open an archive of a source: its first, or the one called so.

    Raises:
        DataError: It cannot be had or trusted; the message says what to run.
    """
    archive = find_archive(source, filename)
    return OpenArchive(_ready(source.name, archive), label=archive.filename)


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


def unpacked_path(source: Source, member: str) -> Path:
    """Return where a member of a source lies as a file, or will lie."""
    return data_folder() / "unpacked" / source.name / member


def unpacked_fault(source: Source, member: str) -> str | None:
    """Return what is wrong with an unpacked file, trusting nothing known before."""
    path = unpacked_path(source, member)
    _known_good.pop(path, None)
    with open_source(source) as archive:
        right = _is_member(path, archive, member)
    return None if right else "it is not what the archive has"


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step: half of it never has its name."""
    part = part_of(path)
    clear_way(part)
    try:
        with open_part(part) as file:
            file.truncate()
            file.write(content)
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def unpack(source: Source, member: str) -> Path:
    """Return a member of a source as a file on the disk, for readers that need one."""
    target = unpacked_path(source, member)
    with open_source(source) as archive:
        if _is_member(target, archive, member):
            return target
        with writing(target, f"unrolled data fetch {source.name}"):
            if not _is_member(target, archive, member):
                _write(target, archive.read(member))
    return target
