"""Short texts with the mean score that fifteen people or more gave them, -4 to 4.

The ground truth of VADER (Hutto and Gilbert, 2014), in four kinds: tweets, snippets of
film reviews, sentences of product reviews and of newspaper opinion pieces. -4 is
"extremely negative", 0 is neutral and 4 is "extremely positive"; scores are real
numbers, so this is regression unless a chapter cuts them.

What stands together in the file is related, and is not split: sentences of products
and news carry their document in the identifier ("12_3" is the third of document 12).
Film snippets come from many reviews and were shuffled; nothing tells the film or the
review, so that several snippets on one film may lie in several parts. Their first half
is mostly praise and the second mostly blame: shuffle before you train.

What to know of each kind:

- Tweets: by the archive's README these are not tweets but texts like tweets: 4,000
  inspired by tweets of Twitter's public timeline, with a made-up user, @anonymous, and
  a made-up address where the tweets had theirs, and 200 contrived to try out how syntax
  and grammar convey the strength of a sentiment. Many of the 200 differ from another
  by a word, capitals, smileys or exclamation marks. Much of the 4,000 reads like the
  very words of people, and people are named.
- Films: the source cuts at 255 characters, a few texts in the middle of a word, and
  has lost its hyphens ("re release").
- Products: five products only, and the parts differ, for they are few documents: 55 %
  of the training texts score above 0, 62 % in validation and 66 % in test.

The README tells of twenty ratings a text or more; films have 15 to 29, most below 20.

We mask what could lead to a person. Digits of telephone numbers become 0; e-mail
addresses, two users' names, and what is left of others before @anonymous, become
@anonymous; links by a shortener, to a picture or a blog become the README's
``http://url_removed``. That touches 15 texts. Two apostrophes that became question
marks ("Cube?s") are put right.
"""

import html
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits, runs, split_families

SOURCE = Source(
    name="opinions",
    archives=pinned(
        """vaderSentiment-3.3.2.tar.gz 2466783
        5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"""
    ),
    licence="MIT",
    citation=(
        "C. J. Hutto and E. Gilbert, VADER: A Parsimonious Rule-based Model for "
        "Sentiment Analysis of Social Media Text, ICWSM 2014"
    ),
)
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

# 202 555 0143, (202) 555-0143, 555-0143 or seven digits and more; not "<33333333"
_NUMBER = re.compile(r"(?<![\d<])(?:(?:\(?\d{3}\)?[ .-])?\d{3}[ .-]\d{4}(?!\d)|\d{7,})")
_USER = re.compile(
    r"""(?<!\w)(?!RT@)[\w.+-]*\w@\w[\w.-]*\w  # an address; RT@ is a retweet
      | (?<=\bRT\ )\w+(?=:\ )  | \w+(?=\ on\ lj\b)  # in a retweet, and of a journal
    """,
    re.VERBOSE,
)
_LINK = re.compile(
    r"(?:\w+\.)?(?:bit\.ly|ow\.ly|tinyurl\.com|twitter\.com)/\w+|\w+\.tumblr\.com"
)


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


def _masked(text: str) -> str:
    """Return ``text`` without numbers, addresses and links that lead to a person."""
    unlinked = _LINK.sub("http://url_removed", _USER.sub("@anonymous", text))
    return _NUMBER.sub(lambda found: re.sub(r"\d", "0", found[0]), unlinked)


def _clean(text: str) -> str:
    """Return ``text`` without HTML entities, doubled quotes and runs of spaces."""
    plain = html.unescape(html.unescape(text)).replace("''", '"')
    return " ".join(re.sub(r"(?<=[a-z])\?(?=s )", "'", plain).split())


def opinion(line: str) -> Opinion:
    """Read one line: identifier, score and text, with tabs between."""
    fields = line.split("\t")
    if len(fields) != 3 or not re.fullmatch(r"-?\d+(\.\d+)?", fields[1]):
        raise ValueError(f"{line=} must be an identifier, a score and a text, by tabs")
    score, text = float(fields[1]), _masked(_clean(fields[2]))
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
    with open_source(SOURCE) as archive:
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
