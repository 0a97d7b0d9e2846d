"""English with gold part-of-speech tags: the Web Treebank of Universal Dependencies."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unrolled.data.fetch.home_files import Home, from_git
from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import Splits

EWT = Home(
    name="ewt",
    files=from_git(
        "UniversalDependencies/UD_English-EWT",
        "b33472d3ce50a62056d6057f1b8a723e9d211176",  # release 2.10
        "",
        """en_ewt-ud-train.conllu 13686411
        e6a3784727e7726d4f1c2e10ff22dcd0ddeb8869ad6f85b73bb1ff5ef798e944
        en_ewt-ud-dev.conllu 1738438
        ef962ac05d844eaff46eeded125937129bfc0876d43963d66810cb73ffa8f5df
        en_ewt-ud-test.conllu 1738935
        465100c5b6fb606725068dc70680d65cc047fbb4ae25195375618bc6353a4e58""",
    ),
    licence="CC BY-SA 4.0 (annotation)",
    citation="N. Silveira et al., A Gold Standard Dependency Corpus, LREC 2014",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagged:
    """A sentence: its name, its words and, one for each, their universal tags."""

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


def ewt() -> Splits[tuple[Tagged, ...]]:
    """Return the official parts, divided by document: 12,544, 2,001 and 2,077."""
    return Splits(
        train=_read(home_file(EWT, "en_ewt-ud-train.conllu")),
        validation=_read(home_file(EWT, "en_ewt-ud-dev.conllu")),
        test=_read(home_file(EWT, "en_ewt-ud-test.conllu")),
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
