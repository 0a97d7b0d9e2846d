"""The inside of a tar: unpacked into memory once, counting, and indexed there.

A packed tar has no table of contents and can only be read from its start, so reading
its members one by one from the file would unpack it again for each.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from unrolled.data.fetch.guards import (
    Allowance,
    check_count,
    check_names,
    check_size,
    refusal,
)

_PIECE = 1 << 20
_MEMORY = 256 << 20  # what an xz file may ask for its dictionary


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    """Yield what a gzip file holds; its checksum is held at its end."""
    with gzip.GzipFile(fileobj=file) as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _unxz(file: BinaryIO) -> Iterator[bytes]:
    """Yield what a bzip2 or xz file holds, piece by piece, all its streams."""
    packed = file.read(_PIECE)
    kind = bz2.BZ2Decompressor if packed.startswith(b"BZh") else _xz
    decoder = kind()
    while True:
        yield decoder.decompress(packed, _PIECE)
        if decoder.eof:
            packed = decoder.unused_data or file.read(_PIECE)
            if not packed.strip(b"\0"):  # xz may be padded
                return
            decoder = kind()
        else:
            packed = file.read(_PIECE) if decoder.needs_input else b""
            if decoder.needs_input and not packed:
                raise EOFError("it ends too early")


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)


def _inflate(file: BinaryIO, label: str, allowance: Allowance) -> bytes:
    """Return the unpacked tar, stopping as soon as it grows too big."""
    length = file.seek(0, 2)
    file.seek(0)
    head = file.read(6)
    file.seek(0)
    if head.startswith(b"\x1f\x8b"):
        pieces = _gunzip(file)
    elif head.startswith((b"BZh", b"\xfd7zXZ\0")):
        pieces = _unxz(file)
    else:
        pieces = iter(lambda: file.read(_PIECE), b"")
    data = bytearray()
    for piece in pieces:
        allowance.spend(len(piece), label)
        data += piece
        check_size(label, "", len(data), length)
    return bytes(data)


def _members(data: bytes, label: str) -> Iterator[tarfile.TarInfo]:
    """Yield the members of an unpacked tar, and hold it to its form and its end."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for number, member in enumerate(tar, 1):
            check_count(label, number)
            if not member.isdir() and (not member.isreg() or member.issparse()):
                raise refusal(label, member.name, "is a link or a device, not a file")
            end = member.offset_data + member.size
            if member.size < 0 or end > len(data):  # below 0: to loop without end
                raise refusal(label, member.name, "is truncated, or lies of its size")
            yield member
        # tarfile takes a damaged header, and a cut between members, for the end.
        if data[tar.offset : tar.offset + tarfile.BLOCKSIZE] != bytes(512):
            raise refusal(label, "", f"is damaged or truncated at byte {tar.offset:,}")


class TarInside:
    """The members of a tar, all of it unpacked in memory."""

    def __init__(self, file: BinaryIO, *, label: str, allowance: Allowance) -> None:
        self._data = _inflate(file, label, allowance)
        members = list(_members(self._data, label))
        check_names(label, [member.name for member in members])
        for member in members:
            check_size(label, member.name, member.size, member.size)
        self.members = {
            m.name: slice(m.offset_data, m.offset_data + m.size)
            for m in members
            if m.isreg()
        }

    def read(self, member: str) -> bytes:
        """Return the bytes of one member."""
        return self._data[self.members[member]]

    def checksum(self, member: str) -> tuple[int, int]:
        """Return the size and the CRC-32 of a member."""
        content = self.read(member)
        return len(content), zlib.crc32(content)

    def close(self) -> None:
        """Let go of the memory."""
        self._data = b""
