"""What an archive may not do: the limits, and the checks of names and sizes.

The limits stand far above the book's archives (the largest member has 98 MB, the
largest archive 143 MB unpacked, 7,628 members, a ratio of 53) and far below harm.
"""

import posixpath
import re
from collections.abc import Iterable

from unrolled.data.fetch.errors import DataError

MEMBER = 512 << 20  # bytes of one member, unpacked
TOTAL = 1 << 30  # bytes of an archive with all archives inside it, unpacked
COUNT = 200_000  # members
RATIO = 200  # unpacked bytes a packed byte, once there are more than SLACK of them
SLACK = 1 << 20

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def refusal(label: str, member: str, why: str) -> DataError:
    """Return the error that names the archive, the member, the reason and a way."""
    what = f"{label}: member {member!r}" if member else label
    return DataError(
        f"{what} {why}; the archive is refused. To check it: unrolled data verify"
    )


class Allowance:
    """The bytes that may still come out of an archive and of those inside it."""

    def __init__(self) -> None:
        self.left = TOTAL

    def spend(self, n_bytes: int, label: str, member: str = "") -> None:
        """Take ``n_bytes`` off, or refuse the archive they came out of."""
        self.left -= n_bytes
        if self.left < 0:
            raise refusal(label, member, f"unpacks to more than {TOTAL:,} bytes in all")


def check_name(label: str, name: str) -> None:
    """Refuse a name that could lead out of a folder, here or on another system."""
    if not name:
        raise refusal(label, "", "has a member without a name")
    if _CONTROL.search(name):
        raise refusal(label, name, "has a control character in its name")
    if "\\" in name or _DRIVE.match(name):
        raise refusal(label, name, "has a backslash or a drive in its name")
    if name.startswith("/"):
        raise refusal(label, name, "has an absolute path")
    if ".." in name.split("/"):
        raise refusal(label, name, "leads out of its folder")


def check_names(label: str, names: Iterable[str]) -> None:
    """Refuse bad names, and two members of one name."""
    seen: set[str] = set()
    for name in names:
        check_name(label, name)
        plain = posixpath.normpath(name)
        if plain in seen:
            raise refusal(label, name, "is there twice")
        seen.add(plain)


def check_count(label: str, n_members: int) -> None:
    """Refuse an archive of too many members."""
    if n_members > COUNT:
        raise refusal(label, "", f"has more than {COUNT:,} members")


def check_size(label: str, member: str, unpacked: int, packed: int) -> None:
    """Refuse a member, or a whole tar (member ""), that is or would become too big."""
    if not 0 <= unpacked <= (MEMBER if member else TOTAL):
        raise refusal(label, member, f"would unpack to {unpacked:,} bytes")
    if unpacked > SLACK and unpacked > RATIO * packed:
        raise refusal(
            label, member, f"unpacks {packed:,} bytes to {unpacked:,} or more"
        )
