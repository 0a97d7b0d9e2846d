"""Portuguese newspaper sentences with a gold part-of-speech tag for every word.

Porttinari-base: sentences of articles of the *Folha de S.Paulo*, tagged by hand with
16 of the 17 universal tags (none is PART). It comes as CoNLL-U, one word a line.

A token is a *syntactic word*, the lines with a whole number. A contraction such as
"da" stands in the file twice: as the range 18-19, which has no tag, and as its words
"de" and "a", which have; we keep the words and leave the range out (and would leave
out empty nodes, such as 8.1, but there are none). Punctuation marks are tokens too.

The archive does not hold the articles whole, only the sentences chosen from them; the
sentence's identifier tells the article. Articles are split, not sentences.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits, runs, split_families

SOURCE = Source(
    name="tags",
    archives=pinned(
        """dante_corpora-2.0.5-py3-none-any.whl 22764640
        e050761fd00d09a99beabf81658419b284267341c96afd6dd1225468a9d73bb0"""
    ),
    licence="MIT (package); the sentences are from the newspaper Folha de S.Paulo",
    citation="Porttinari-base, August 2022, the POeTiSA project",
)
MEMBER = "dante/data/porttinari/annotated.conllu"
TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN"),
    *("NUM", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
N_COLUMNS = 10
SHARED_WORDS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """The words of a sentence and the tag of each."""

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def document(self) -> str:
        """Return the name of the article that the sentence is from."""
        return self.id.partition("_SENT")[0]


def sentence(block: str) -> Sentence:
    """Read one sentence of a CoNLL-U file: its comments, then a line for each word."""
    name, words, tags = "", [], []
    for line in block.splitlines():
        if line.startswith("#"):
            field, _, value = line[1:].partition("=")
            name = value.strip() if field.strip() == "sent_id" else name
            continue
        columns = line.split("\t")
        if len(columns) != N_COLUMNS:
            raise ValueError(f"{line=} must have {N_COLUMNS} columns, as CoNLL-U has")
        number, word, _, tag = columns[:4]
        if number.isdigit():
            if tag not in TAGS:
                raise ValueError(f"{tag=} of {line!r} must be one of {TAGS}")
            words.append(word)
            tags.append(tag)
    if not name or not words:
        raise ValueError(f"{block=} must have a sent_id and at least one word")
    return Sentence(id=name, words=tuple(words), tags=tuple(tags))


def _keys(one: Sentence) -> Iterator[Hashable]:
    """Yield what no sentence of another part may share: article, words, long runs."""
    words = [word.casefold() for word in one.words if word[0].isalnum()]
    yield one.document
    yield tuple(words)
    yield from runs(words, SHARED_WORDS)


@cache
def tags() -> Splits[tuple[Sentence, ...]]:
    """Return the 8,420 sentences, divided by article: about 80 / 10 / 10.

    Articles stay together if they share a sentence (but for case and punctuation) or
    eight words in a row: the same story is often told twice.
    """
    with open_source(SOURCE) as archive:
        blocks = archive.read(MEMBER).decode("utf-8").strip().split("\n\n")
    sentences = tuple(sentence(block) for block in blocks)
    return split_families(sentences, name=lambda one: one.id, keys=_keys)
