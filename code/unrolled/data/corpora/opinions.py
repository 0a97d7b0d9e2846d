"""Short texts with the mean score that about twenty people gave them, -4 to 4.

The ground truth of VADER (Hutto and Gilbert, 2014), in four kinds: tweets, snippets of
film reviews, sentences of product reviews and of newspaper opinion pieces. -4 is
"extremely negative", 0 is neutral and 4 is "extremely positive"; scores are real
numbers, so this is regression unless a chapter cuts them.

What stands together in the file is related, and is not split: sentences of products
and news carry their document in the identifier ("12_3" is the third of document 12).
Tweets have no document, but 200 of the 4,200 were contrived from others by changing
a word, adding capitals, smileys or exclamation marks. Film snippets come from many
reviews and were shuffled; nothing tells the film or the review, so that several
snippets on one film may lie in several parts. Their first half is mostly praise and
the second mostly blame: shuffle before you train.
"""

import html
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits, runs, split_families

KINDS = {
    "tweets": "tweets_GroundTruth.txt",
    "films": "movieReviewSnippets_GroundTruth.txt",
    "products": "amazonReviewSnippets_GroundTruth.txt",
    "news": "nytEditorialSnippets_GroundTruth.txt",
}
INNER = "hutto_ICWSM_2014.tar.gz"
LARGEST = 4.0
SHARED_WORDS = 8
SHORTEST = 5  # texts of fewer words are alike by chance: "i love it", "i love her"


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion:
    """A text and its mean score, -4 to 4."""

    id: str
    score: float
    text: str

    @property
    def document(self) -> str:
        """Return the number of the document that the text is from."""
        return self.id.partition("_")[0]


def _clean(text: str) -> str:
    """Return ``text`` without HTML entities, doubled quotes and runs of spaces."""
    return " ".join(html.unescape(html.unescape(text)).replace("''", '"').split())


def opinion(line: str) -> Opinion:
    """Read one line: identifier, score and text, with tabs between."""
    fields = line.split("\t")
    if len(fields) != 3 or not re.fullmatch(r"-?\d+(\.\d+)?", fields[1]):
        raise ValueError(f"{line=} must be an identifier, a score and a text, by tabs")
    score, text = float(fields[1]), _clean(fields[2])
    if abs(score) > LARGEST or not text:
        raise ValueError(f"{line=} must have a score between -4 and 4, and a text")
    return Opinion(id=fields[0], score=score, text=text)


def _keys(one: Opinion) -> Iterator[Hashable]:
    """Yield what no text of another part may share: document, words, long runs.

    Two texts that differ in one word, changed or added, share the words without it.
    """
    # "soooo" is "soo" here, and case and punctuation do not count
    squeezed = re.sub(r"(.)\1{2,}", r"\1\1", one.text.casefold())
    words = tuple(re.findall(r"[^\W_]+", squeezed))
    yield one.document
    yield words
    if len(words) >= SHORTEST:
        yield from (words[:i] + words[i + 1 :] for i in range(len(words)))
    yield from runs(words, SHARED_WORDS)


def _lines(filename: str) -> list[str]:
    """Return the lines of a file in the archive that lies in the archive."""
    with open_source("opinions") as archive:
        for outer in archive.names():
            if PurePosixPath(outer).name == INNER:
                with archive.inner(outer) as inner:
                    folder = INNER.removesuffix(".tar.gz")
                    data = inner.read(f"{folder}/{filename}")
                return data.decode("utf-8").splitlines()
        raise ValueError(f"{archive.label} must hold {INNER}, and does not")


@cache
def opinions(kind: str) -> Splits[tuple[Opinion, ...]]:
    """Return the texts of one kind, divided by document: about 80 / 10 / 10.

    ``kind`` is "tweets" (4,200 texts), "films" (10,605), "products" (3,708) or "news"
    (5,190). Documents stay together if they share a text (but for case and
    punctuation, and one word in five or more) or eight words in a row.
    """
    if kind not in KINDS:
        raise ValueError(f"{kind=} must be one of {', '.join(KINDS)}")
    found = tuple(opinion(line) for line in _lines(KINDS[kind]))
    return split_families(found, name=lambda one: f"{kind} {one.id}", keys=_keys)
