"""Archives opened as files: members are read, nothing is installed or executed.

A stranger's archive may try to write outside a folder, to fill the memory or to pass
for another. So it is looked over in full when it is opened, one bad member condemns
it, and every byte that comes out of a decompressor is counted.
"""

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.guards import Allowance, refusal
from unrolled.data.fetch.tars import TarInside
from unrolled.data.fetch.zips import ZipInside

_T = TypeVar("_T")
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,  # gzip and bz2 complain with it, as the disk does
    EOFError,
    NotImplementedError,  # what zipfile raises at a compression it does not know
    RuntimeError,
    ValueError,
    OverflowError,
)


def _binary(file: Path | io.BytesIO) -> BinaryIO:
    """Return the archive as a file to read."""
    return file if isinstance(file, io.BytesIO) else file.open("rb")


class OpenArchive:
    """A wheel or a tar file, opened for reading its members by name.

    Args:
        file: Where it lies, or its bytes if it came out of another archive.
        label: What messages call it.
        allowance: The bytes that may still come out, shared with those inside it.
    """

    def __init__(
        self, file: Path | io.BytesIO, *, label: str, allowance: Allowance | None = None
    ) -> None:
        self.label = label
        self._allowance = allowance or Allowance()
        self._file = self._careful("", lambda: _binary(file))
        try:
            self._inside = self._careful("", self._look_inside)
        except BaseException:
            self._file.close()
            raise

    def _look_inside(self) -> ZipInside | TarInside:
        """Tell the kind of archive by its first bytes, and look it over."""
        head = self._file.read(512)
        self._file.seek(0)
        kind: type[ZipInside] | type[TarInside]
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            kind = ZipInside
        elif head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")):
            kind = TarInside
        elif head[257:262] == b"ustar":
            kind = TarInside
        else:
            raise refusal(self.label, "", "is neither a zip nor a tar")
        return kind(self._file, label=self.label, allowance=self._allowance)

    def _careful(self, member: str, work: Callable[[], _T]) -> _T:
        """Do some work on the archive; say whose fault it is if it is broken."""
        try:
            return work()
        except DataError:
            raise
        except _BROKEN as error:
            why = f"is damaged or truncated ({error})"
            raise refusal(self.label, member, why) from error

    def _known(self, member: str) -> str:
        if member not in self._inside.members:
            raise ValueError(f"{member=} is not in {self.label}")
        return member

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._inside.close()
        self._file.close()

    def names(self) -> list[str]:
        """Return the names of all members that are files, in the archive's order."""
        return list(self._inside.members)

    def read(self, member: str) -> bytes:
        """Return the bytes of one member."""
        known = self._known(member)
        return self._careful(known, lambda: self._inside.read(known))

    def checksum(self, member: str) -> tuple[int, int]:
        """Return the size and the CRC-32 of a member."""
        return self._inside.checksum(self._known(member))

    def inner(self, member: str) -> "OpenArchive":
        """Return an archive that lies inside this one, opened with the same care."""
        return OpenArchive(
            io.BytesIO(self.read(member)),
            label=f"{self.label}/{member}",
            allowance=self._allowance,
        )
