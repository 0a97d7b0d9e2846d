r"""How good a written sequence is: BLEU, chrF, exact match, accuracy by place.

:func:`bleu` and :func:`chrf` are sacrebleu's, so that a score means what it does in
papers; :func:`plain_bleu` is BLEU to be read, and equal to sacrebleu's where that
splits at spaces and does not smooth. All three go from 0 to 100 and judge a whole
corpus: the mean of the scores of sentences is another number.

.. math::

    \operatorname{BLEU} = 100 \cdot \exp\bigl(\min(0, 1 - r/c)\bigr)
        \Bigl(\prod_{n=1}^{4} p_n\Bigr)^{1/4}

Here c is the length of all hypotheses and r that of the references nearest to them in
length, and :math:`p_n` the share of n-grams of the hypotheses that are in a reference:
each at most as often as it is there. Axes: B rows, T steps.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import sacrebleu
import torch
from torch import Tensor

from unrolled.shapes import check_shape

Tokens = Sequence[Hashable]


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
) -> float:
    """Return sacrebleu's BLEU; ``references[i]`` are all those of sentence i.

    Give text as written: sacrebleu splits it, by WMT's rules "13a" unless told (with
    "none", at spaces). Case counts; an n without matches is smoothed ("exp").
    """
    streams = _streams(hypotheses, references)
    metric = sacrebleu.BLEU(tokenize=tokenize)
    return float(metric.corpus_score(list(hypotheses), streams).score)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return sacrebleu's chrF2: n-grams of characters up to 6, spaces left out.

    It is an F-score in which recall weighs twice as much as precision.
    """
    streams = _streams(hypotheses, references)
    return float(sacrebleu.CHRF().corpus_score(list(hypotheses), streams).score)


def plain_bleu(
    hypotheses: Sequence[Tokens],
    references: Sequence[Sequence[Tokens]],
    *,
    max_n: int = 4,
) -> float:
    """Return BLEU of sequences of tokens of any kind, without smoothing.

    If for some n no n-gram is right, or there is none, the score is 0.
    """
    _check_pairs(hypotheses, references)
    right, made = [0] * max_n, [0] * max_n
    for hypothesis, several in zip(hypotheses, references, strict=True):
        for n in range(1, max_n + 1):
            found = _ngrams(hypothesis, n)
            allowed: Counter[Tokens] = Counter()
            for reference in several:
                allowed |= _ngrams(reference, n)  # the larger count of each
            right[n - 1] += (found & allowed).total()  # the smaller: clipped
            made[n - 1] += found.total()
    if not all(right):
        return 0.0
    c = sum(map(len, hypotheses))
    r = sum(map(_nearest_length, hypotheses, references))
    log_precision = sum(math.log(a / b) for a, b in zip(right, made, strict=True))
    return 100 * math.exp(min(0.0, 1 - r / c) + log_precision / max_n)


def exact_match(hypotheses: Sequence[object], references: Sequence[object]) -> float:
    """Return the share of hypotheses that are their (one) reference to the letter."""
    _check_equal(hypotheses, references)
    same = [h == r for h, r in zip(hypotheses, references, strict=True)]
    return sum(same) / len(same)


def accuracy_by_position(found: Tensor, wanted: Tensor, mask: Tensor) -> Tensor:
    """Return the share of rows that are right at each step, (T,).

    ``found``, ``wanted`` and the boolean ``mask`` are (B, T); a step that counts in no
    row is ``nan``.
    """
    check_shape("found", found, "B T")
    for name, x in (("wanted", wanted), ("mask", mask)):
        check_shape(name, x, "B T", B=len(found), T=found.shape[1])
    right = ((found == wanted) & mask).sum(dim=0)
    return right.double() / mask.sum(dim=0)


def accuracy_by_length(right: Tensor, lengths: Tensor) -> dict[int, float]:
    """Return the mean of ``right`` (B,) over the rows of each length, shortest first.

    ``right`` may say whether a whole row is right, or what share of it is.
    """
    check_shape("right", right, "B")
    check_shape("lengths", lengths, "B", B=len(right))
    kinds, places = torch.unique(lengths, return_inverse=True)
    total = torch.bincount(places, right.double())
    means = total / torch.bincount(places)
    return dict(zip(kinds.tolist(), means.tolist(), strict=True))


def _ngrams(tokens: Tokens, n: int) -> Counter[Tokens]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _nearest_length(hypothesis: Tokens, references: Sequence[Tokens]) -> int:
    """Return the length of the reference nearest in length, the shorter if two are."""
    return min(
        map(len, references), key=lambda length: (abs(length - len(hypothesis)), length)
    )


def _streams(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[list[Any]]:
    """Return the references as sacrebleu wants them: all first ones, all second ..."""
    _check_pairs(hypotheses, references)
    most = max(map(len, references))
    return [
        [several[k] if k < len(several) else None for several in references]
        for k in range(most)
    ]


def _check_pairs(hypotheses: Sequence[object], references: Sequence[Tokens]) -> None:
    _check_equal(hypotheses, references)
    for several in references:
        if isinstance(several, str) or not several:
            raise ValueError(
                f"references has {several!r} for a sentence; it must be a list of one "
                "or more, as in [[reference]]"
            )


def _check_equal(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    if not 0 < len(hypotheses) == len(references):
        raise ValueError(
            f"there are {len(hypotheses)} hypotheses and {len(references)} references; "
            "there must be as many, and at least one"
        )
