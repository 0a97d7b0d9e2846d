"""English with gold part-of-speech tags: the Web Treebank of Universal Dependencies."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import Splits


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagged:
    """A sentence: its name, its words and, one for each, their universal tags."""

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


def ewt() -> Splits[tuple[Tagged, ...]]:
    """Return the official parts, divided by document: 12,544, 2,001 and 2,077."""
    return Splits(
        train=_read(home_file("ewt", "en_ewt-ud-train.conllu")),
        validation=_read(home_file("ewt", "en_ewt-ud-dev.conllu")),
        test=_read(home_file("ewt", "en_ewt-ud-test.conllu")),
    )


@cache
def _read(path: Path) -> tuple[Tagged, ...]:
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return tuple(_sentence(block) for block in blocks)


def _sentence(block: str) -> Tagged:
    """Return the words of a block of CoNLL-U.

    Lines numbered ``3-4`` (a contraction, whose two words follow) and ``3.1`` (a word
    that was left unsaid) have no tag of their own, and are passed over.
    """
    name = block.partition("# sent_id = ")[2].partition("\n")[0]
    rows = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
    words = [row for row in rows if row[0].isdigit()]
    return Tagged(
        id=name,
        words=tuple(row[1] for row in words),
        tags=tuple(row[3] for row in words),
    )
