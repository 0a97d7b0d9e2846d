r"""Scores of labels and spans: tags, named things, answers cut out of a text.

With precision P, the share of what was found that is right, and recall R, the share of
what there is that was found,

.. math:: F_1 = \frac{2 P R}{P + R}.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from seqeval.metrics import f1_score, precision_score, recall_score

TAG = re.compile(r"O|[BI]-.+")
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanScores:
    """Precision, recall and their harmonic mean, F1; each from 0 to 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerScores:
    """The shares of answers that match exactly, and the mean F1 of their words."""

    exact_match: float
    f1: float


def span_scores(found: Rows, wanted: Rows) -> SpanScores:
    """Score the spans that BIO tags mark, by seqeval, over all rows together.

    A tag is O, B-kind or I-kind. A span is right if its kind and both its ends are. An
    I that continues nothing begins a span, as in CoNLL's own script. Where there is
    nothing to divide by, the score is 0.
    """
    _check_rows(found, wanted)
    for name, rows in (("found", found), ("wanted", wanted)):
        for tag in {tag for row in rows for tag in row}:
            if not TAG.fullmatch(tag):
                raise ValueError(f"{name} has {tag=}; it must be O, B-kind or I-kind")
    both = list(map(list, wanted)), list(map(list, found))
    return SpanScores(
        precision=float(precision_score(*both, zero_division=0)),
        recall=float(recall_score(*both, zero_division=0)),
        f1=float(f1_score(*both, zero_division=0)),
    )


def tag_accuracy(found: Rows, wanted: Rows) -> float:
    """Return the share of tags that are right, over all rows together."""
    _check_rows(found, wanted)
    right = [
        f == w
        for found_row, wanted_row in zip(found, wanted, strict=True)
        for f, w in zip(found_row, wanted_row, strict=True)
    ]
    if not right:
        raise ValueError("found has no tags: there is nothing to average")
    return sum(right) / len(right)


def normalise_answer(text: str) -> str:
    """Return an answer as SQuAD compares it.

    In lower case, without ASCII punctuation, without the words a, an and the, and with
    one space between words.
    """
    bare = text.lower().translate(PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", bare).split())


def answer_f1(found: str, wanted: str) -> float:
    """Return F1 of the words of two answers, normalised, as bags.

    If either has no words, it is 1 where both have none, else 0.
    """
    one, two = (Counter(normalise_answer(text).split()) for text in (found, wanted))
    if not one or not two:
        return float(one == two)
    return 2 * (one & two).total() / (one.total() + two.total())


def answer_scores(found: Sequence[str], wanted: Rows) -> AnswerScores:
    """Score answers as SQuAD does; ``wanted[i]`` are all right answers to question i.

    Of several right answers the one that suits best counts.
    """
    if not 0 < len(found) == len(wanted):
        raise ValueError(
            f"there are {len(found)} answers found and {len(wanted)} wanted; there "
            "must be as many, and at least one"
        )
    exact, f1 = 0.0, 0.0
    for answer, several in zip(found, wanted, strict=True):
        if isinstance(several, str) or not several:
            raise ValueError(
                f"wanted has {several!r} for a question; it must be a list of one or "
                "more answers"
            )
        own = normalise_answer(answer)
        exact += any(own == normalise_answer(right) for right in several)
        f1 += max(answer_f1(answer, right) for right in several)
    return AnswerScores(exact_match=exact / len(found), f1=f1 / len(found))


def _check_rows(found: Rows, wanted: Rows) -> None:
    """Refuse rows that do not pair off, tag by tag."""
    n_found, n_wanted = [len(row) for row in found], [len(row) for row in wanted]
    if not n_found or n_found != n_wanted:
        raise ValueError(
            f"found has rows of {n_found[:9]} tags and wanted of {n_wanted[:9]} "
            "(the first nine); they must be the same, and at least one row"
        )
