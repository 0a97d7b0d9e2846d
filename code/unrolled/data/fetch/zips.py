"""The inside of a zip: wheels are zips."""

import stat
import zipfile
from typing import BinaryIO

from unrolled.data.fetch.guards import (
    Allowance,
    check_count,
    check_names,
    check_size,
    refusal,
)

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)  # 0: made where files have no mode
_PIECE = 1 << 20


def _check(label: str, info: zipfile.ZipInfo) -> None:
    """Refuse a member that is locked, no plain file, or too big."""
    if info.flag_bits & _ENCRYPTED:
        raise refusal(label, info.filename, "is encrypted")
    if stat.S_IFMT(info.external_attr >> 16) not in _KINDS:
        raise refusal(label, info.filename, "is a link or a device, not a file")
    if info.compress_type not in _METHODS:
        raise refusal(label, info.filename, "is packed in a way that wheels are not")
    if info.is_dir() and info.file_size:
        raise refusal(label, info.filename, "is a folder with content")
    check_size(label, info.filename, info.file_size, info.compress_size)


class ZipInside:
    """The members of a zip, unpacked one by one as they are asked for."""

    def __init__(self, file: BinaryIO, *, label: str, allowance: Allowance) -> None:
        self._zip = zipfile.ZipFile(file)
        self._label, self._allowance = label, allowance
        infos = self._zip.infolist()
        check_count(label, len(infos))
        # An extra field may rename a member: neither name may do harm.
        check_names(label, [info.orig_filename for info in infos])
        check_names(label, [info.filename for info in infos])
        for info in infos:
            _check(label, info)
        # Members that share packed bytes make a small zip unpack to anything.
        length = file.seek(0, 2)
        if sum(info.compress_size for info in infos) > length:
            raise refusal(label, "", "has members that overlap")
        if sum(info.file_size for info in infos) > allowance.left:
            raise refusal(label, "", "says that it unpacks to too many bytes")
        self.members = {info.filename: info for info in infos if not info.is_dir()}
        self._counted: set[str] = set()

    def read(self, member: str) -> bytes:
        """Unpack one member, counting; zipfile holds it to its checksum."""
        info, pieces, n_bytes = self.members[member], [], 0
        with self._zip.open(info) as stream:
            while piece := stream.read(_PIECE):
                n_bytes += len(piece)
                if member not in self._counted:
                    self._allowance.spend(len(piece), self._label, member)
                check_size(self._label, member, n_bytes, info.compress_size)
                pieces.append(piece)
        if n_bytes != info.file_size:
            raise refusal(
                self._label, member, f"has {n_bytes} bytes, not {info.file_size}"
            )
        self._counted.add(member)
        return b"".join(pieces)

    def checksum(self, member: str) -> tuple[int, int]:
        """Return the size and the CRC-32 that the archive gives for a member."""
        return self.members[member].file_size, self.members[member].CRC

    def close(self) -> None:
        """Let go of the zip."""
        self._zip.close()
