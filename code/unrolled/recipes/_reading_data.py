"""What the reading tasks read: texts that praise or blame, and words with tags."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.corpora.opinions import Opinion, opinions
from unrolled.data.corpora.tags import TAGS, Sentence, tags
from unrolled.data.padding import pad_labelled, pad_tagged
from unrolled.data.tokens.words import Words

CLEAR = 0.5  # a text whose mean score is nearer to zero than this is left out
LONGEST = 60  # words of a text that are read
PARTS = ("train", "validation", "test")
Rows = dict[str, list[list[int]]]


def clear(texts: Sequence[Opinion]) -> list[Opinion]:
    """Return the texts that people found good or bad, not in between."""
    return [one for one in texts if abs(one.score) >= CLEAR]


@cache
def judged(task: str) -> tuple[Words, Rows, dict[str, Tensor]]:
    """Return the tokenizer, and by part the ids of texts and whether they praise."""
    splits = opinions(task)
    parts = {p: clear(getattr(splits, p)) for p in PARTS}
    known = Words.of([one.text.casefold() for one in parts["train"]], min_count=2)
    ids = {
        part: [known.encode(one.text.casefold())[:LONGEST] for one in texts]
        for part, texts in parts.items()
    }
    return (
        known,
        ids,
        {
            part: torch.tensor([int(one.score > 0) for one in texts])
            for part, texts in parts.items()
        },
    )


@cache
def tagged() -> tuple[Words, Rows, Rows]:
    """Return the tokenizer, and by part the ids of words and those of their tags."""
    splits = tags()
    parts = {p: getattr(splits, p) for p in PARTS}
    counts = Counter(w.casefold() for one in parts["train"] for w in one.words)
    known = Words(words=tuple(sorted(w for w, n in counts.items() if n >= 2)))
    unknown = known.ids["<unk>"]

    def encode(one: Sentence) -> list[int]:
        return [known.ids.get(word.casefold(), unknown) for word in one.words]

    words = {part: [encode(one) for one in found] for part, found in parts.items()}
    right = {
        part: [[TAGS.index(tag) for tag in one.tags] for one in found]
        for part, found in parts.items()
    }
    return known, words, right


def batch_of(task: str, part: str, rows: Sequence[int]) -> Batch:
    """Return the texts of these places, padded, with their labels or tags."""
    if task == "tags":
        _, words, right = tagged()
        return pad_tagged(
            [words[part][i] for i in rows], [right[part][i] for i in rows]
        )
    _, ids, labels = judged(task)
    return pad_labelled([ids[part][i] for i in rows], labels[part][list(rows)])


def texts_of(task: str, part: str) -> list[list[int]]:
    """Return the ids of the texts of a part."""
    return (tagged() if task == "tags" else judged(task))[1][part]


@cache
def usual_tags() -> tuple[dict[int, int], set[int]]:
    """Return each word's most frequent tag in training, and the words that vary.

    A word varies if its most frequent tag has less than nine tenths of its uses. Rare
    words count as one, and are left out of those that vary.
    """
    known, words, right = tagged()
    counts: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for row, row_tags in zip(words["train"], right["train"], strict=True):
        for word, tag in zip(row, row_tags, strict=True):
            counts[word][tag] += 1
    usual = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    vary = {
        word
        for word, found in counts.items()
        if found[usual[word]] < 0.9 * found.total() and word != known.ids["<unk>"]
    }
    return usual, vary
