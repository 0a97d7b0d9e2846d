"""The files that a class handed in, from a folder or a zip, one after the other.

Nothing is unpacked on the disk and no link is followed: the names in an archive are
only read. What cannot be read is given with the reason, and the next one follows.
"""

import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unrolled.grading.apart import GaveUpError, apart
from unrolled.grading.course.names import cleaned
from unrolled.grading.notebooks.submissions import LARGEST

_DEPTH = 6  # folders in folders
_PATH = 1_000  # characters of a path in an archive
_MEMBERS = 2_000  # files in a student's archive
_CLASS_MEMBERS = 100_000
_ARCHIVE = 200_000_000  # bytes of a student's archive, and of all that is read of it
# bz2 and lzma unpack all that they hold at once, whatever size a member claims
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LITTER = {"__macosx", "thumbs.db", "desktop.ini", "__pycache__"}
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError),
    *(ValueError, RuntimeError, KeyError),  # encrypted, or packed in unknown ways
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A file: where it is, and its bytes or why there are none.

    ``stray`` are files that claim to be no notebook, such as a picture.
    """

    parts: tuple[str, ...]  # of its path; the first says whose it is
    data: bytes = b""
    trouble: str = ""
    stray: bool = False

    @property
    def file(self) -> str:
        """Return its path within the submissions, as it may be shown."""
        return "/".join(map(cleaned, self.parts))


def items(top: Path) -> Iterator[Item]:
    """Yield the files of a folder, or of a class's archive, in a fixed order.

    Archives in it are looked into, once: such a one is the work of one student.

    Raises:
        ValueError: There is no such folder or archive.
    """
    if top.is_dir():
        yield from _of_folder(top, ())
    elif top.is_file() and zipfile.is_zipfile(top):
        yield from _of_zip(top.open("rb"), (), nested=False)
    else:
        raise ValueError(f"{top} must be a folder of submissions, or a zip of one")


def _ignored(name: str) -> bool:
    """Return whether a system or an editor has left this, and no student."""
    plain = name.casefold()
    hidden = plain.startswith(".") and not plain.endswith((".ipynb", ".zip"))
    return hidden or plain.startswith(("._", "~$")) or plain in _LITTER


def _of_folder(folder: Path, parts: tuple[str, ...]) -> Iterator[Item]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield Item(parts=parts, trouble=f"cannot be read: {error.strerror}")
        return
    if not entries and parts:
        yield Item(parts=(*parts, ""), trouble="is empty", stray=True)
    for entry in entries:
        here = (*parts, entry.name)
        if _ignored(entry.name):
            continue
        if entry.is_symlink():
            yield Item(parts=here, trouble="is a link, and links are not followed")
        elif entry.is_dir(follow_symlinks=False):
            if len(here) > _DEPTH:
                yield Item(parts=here, trouble=f"is more than {_DEPTH} folders deep")
            else:
                yield from _of_folder(Path(entry.path), here)
        elif not entry.is_file(follow_symlinks=False):
            yield Item(parts=here, trouble="is no file")
        else:
            yield from _of_file(Path(entry.path), here)


def _of_file(path: Path, parts: tuple[str, ...]) -> Iterator[Item]:
    kind = path.suffix.casefold()
    if kind not in (".ipynb", ".zip"):
        yield _stray(parts)
        return
    most = LARGEST if kind == ".ipynb" else _ARCHIVE
    try:
        if (size := path.stat().st_size) > most:
            yield Item(parts=parts, trouble=f"has {_large(size, most)}")
            return
        data = path.read_bytes()
    except OSError as error:
        yield Item(parts=parts, trouble=f"cannot be read: {error.strerror}")
        return
    yield from _of_bytes(data, parts)


def _of_bytes(data: bytes, parts: tuple[str, ...]) -> Iterator[Item]:
    if not parts[-1].casefold().endswith(".zip"):
        yield Item(parts=parts, data=data)
        return
    try:  # the list of what it holds may be most of it, and fill our memory
        n = apart(lambda: _count(data))
    except GaveUpError as error:
        yield Item(parts=parts, trouble=f"cannot be read: {error}")
        return
    if n is None:
        yield Item(parts=parts, trouble="is no zip that can be read")
    elif n > _MEMBERS:
        why = f"holds {n:,} files, and at most {_MEMBERS:,} are read"
        yield Item(parts=parts, trouble=why)
    else:
        yield from _of_zip(io.BytesIO(data), parts, nested=True)


def _count(data: bytes) -> int | None:
    """Return how many files an archive lists, None if it is none."""
    try:
        return len(zipfile.ZipFile(io.BytesIO(data)).infolist())
    except _BROKEN:
        return None


def _of_zip(
    file: io.BufferedIOBase, parts: tuple[str, ...], *, nested: bool
) -> Iterator[Item]:
    """Yield the files of an archive; in one that is itself in one, archives stay."""
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except _BROKEN:
            yield Item(parts=parts, trouble="is no zip that can be read")
            return
        members = [one for one in archive.infolist() if not one.is_dir()]
        if len(members) > _CLASS_MEMBERS:
            most = f"{_CLASS_MEMBERS:,}"
            why = f"holds {len(members):,} files, and at most {most} are read"
            yield Item(parts=parts, trouble=why)
            return
        size = sum(one.file_size for one in members if _is_notebook(one.filename))
        if nested and size > _ARCHIVE:  # no more than it says can be read of a file
            yield Item(parts=parts, trouble=f"unpacks to {_large(size, _ARCHIVE)}")
            return
        for member in sorted(members, key=lambda one: one.filename):
            path = member.filename[:_PATH].replace("\\", "/")
            inner = [part for part in path.split("/") if part not in ("", ".", "..")]
            here = (*parts, *inner)
            if not inner or any(map(_ignored, inner)):
                continue
            if (length := len(member.filename)) > _PATH:  # slow to clean, and no path
                why = f"has a path of {length:,} characters; at most {_PATH} are read"
                yield Item(parts=here, trouble=why)
            else:
                yield from _of_member(archive, member, here, nested=nested)


def _is_notebook(name: str) -> bool:
    return name.casefold().endswith(".ipynb")


def _of_member(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    parts: tuple[str, ...],
    *,
    nested: bool,
) -> Iterator[Item]:
    book = _is_notebook(parts[-1])
    if not book and (nested or not parts[-1].casefold().endswith(".zip")):
        yield _stray(parts)
        return
    most = LARGEST if book else _ARCHIVE
    if member.file_size > most:
        yield Item(parts=parts, trouble=f"has {_large(member.file_size, most)}")
        return
    if member.compress_type not in _PACKINGS:
        yield Item(parts=parts, trouble="is packed in a way that zips seldom are")
        return
    try:
        data = archive.read(member)
    except _BROKEN:
        yield Item(parts=parts, trouble="cannot be read: the archive is damaged")
        return
    yield from _of_bytes(data, parts)


def _stray(parts: tuple[str, ...]) -> Item:
    why = "is neither a notebook (.ipynb) nor a zip"
    return Item(parts=parts, trouble=why, stray=True)


def _large(size: int, most: int) -> str:
    return f"{size:,} bytes, and at most {most:,} are read"
