"""What a set from elsewhere says of its files: where they live and whose they are.

The book never needs any of this: what it does need, its corpora pin themselves. Sets
from elsewhere are for a reader with a network who wants to run a chapter on a set that
papers use. Every file is pinned by sha256 and, where its home keeps a history, by the
commit in its address. The digests are from public records, or reckoned from a copy of
the home's repository; the addresses are untested against the homes themselves from the
build machine, which has no way out.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeFile:
    """A file at its home: where, how many bytes, and the sha256 it must have."""

    url: str
    size: int
    sha256: str

    @property
    def filename(self) -> str:
        """Return the last part of the address: the name it has on the disk."""
        return urlsplit(self.url).path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Home:
    """A set of files that lives elsewhere, with its licence and citation."""

    name: str
    files: tuple[HomeFile, ...]
    licence: str
    citation: str

    @property
    def size(self) -> int:
        """Return the bytes of all its files together."""
        return sum(file.size for file in self.files)


def files_in(folder: str, lines: str) -> tuple[HomeFile, ...]:
    """Read a little table of file name, size and sha256, all under ``folder``."""
    words = iter(lines.split())
    return tuple(
        HomeFile(url=f"{folder}/{name}", size=int(size), sha256=sha256)
        for name, size, sha256 in zip(words, words, words, strict=True)
    )


def from_git(
    repository: str, commit: str, folder: str, lines: str
) -> tuple[HomeFile, ...]:
    """Return files of a public git repository as they were at ``commit``."""
    root = f"https://raw.githubusercontent.com/{repository}/{commit}"
    return files_in("/".join(filter(None, (root, folder))), lines)


def from_hub(
    repository: str, commit: str, folder: str, lines: str
) -> tuple[HomeFile, ...]:
    """Return files of the model hub's repository as they were at ``commit``."""
    root = f"https://huggingface.co/{repository}/resolve/{commit}"
    return files_in("/".join(filter(None, (root, folder))), lines)
