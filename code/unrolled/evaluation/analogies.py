r"""What a table of word vectors says: steps between words, and analogies by them.

*a is to b as c is to ...?* is answered by the word whose vector has the largest cosine
with the corner of the parallelogram,

.. math:: \mathbf{q} = \mathbf{e}_b - \mathbf{e}_a + \mathbf{e}_c,

all three of length one, as in the program of Mikolov and others (2013). Whether a, b
and c themselves may be the answer is for the caller to say, and matters.

Axes: V words, E embedding width; words are rows of the table. B draws of N of P pairs.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.shapes import at_least, check_shape

#: Words that differ in gender, he and she first.
KIN = (
    ("he", "she"),
    ("man", "woman"),
    ("boy", "girl"),
    ("father", "mother"),
    ("son", "daughter"),
    ("brother", "sister"),
    ("husband", "wife"),
    ("groom", "bride"),
    ("uncle", "aunt"),
    ("nephew", "niece"),
    ("grandfather", "grandmother"),
    ("grandson", "granddaughter"),
    ("stepfather", "stepmother"),
    ("king", "queen"),
    ("prince", "princess"),
)


def corner(unit: Tensor, a: int, b: int, c: int) -> Tensor:
    """Return b - a + c (E,), of the rows of a table (V, E)."""
    check_shape("unit", unit, "V E")
    return unit[b] - unit[a] + unit[c]


def rank(
    unit: Tensor, query: Tensor, answer: int, *, leave_out: Sequence[int] = ()
) -> int:
    """Return the place of ``answer`` among all words by cosine with the query, from 1.

    ``unit`` (V, E) has rows of length one. The words to leave out do not count; the
    answer must not be among them.
    """
    check_shape("unit", unit, "V E")
    check_shape("query", query, "E", E=unit.shape[1])
    if answer in leave_out:
        raise ValueError(f"{answer=} is among the words to leave out")
    score = unit @ query  # the query's own length does not change the order
    ahead = score > score[answer]
    ahead[list(leave_out)] = False
    return int(ahead.sum()) + 1


def nearest(
    unit: Tensor, query: Tensor, n: int, *, leave_out: Sequence[int] = ()
) -> list[int]:
    """Return the ``n`` words of largest cosine with the query, the nearest first."""
    check_shape("unit", unit, "V E")
    check_shape("query", query, "E", E=unit.shape[1])
    at_least(1, n=n)
    score = unit @ query
    score[list(leave_out)] = -torch.inf
    found: list[int] = score.topk(n).indices.tolist()
    return found


def step_cosine(vectors: Tensor, one: Tensor, two: Tensor) -> Tensor:
    r"""Return the cosines (N,) between the steps of pairs (N, 2) and of others (N, 2).

    The step of a pair (a, b) is :math:`\mathbf{e}_b - \mathbf{e}_a`.
    """
    check_shape("vectors", vectors, "V E")
    check_shape("one", one, "N C", C=2)
    check_shape("two", two, "N C", N=len(one), C=2)
    steps = [vectors[pairs[:, 1]] - vectors[pairs[:, 0]] for pairs in (one, two)]
    return F.cosine_similarity(steps[0], steps[1], dim=1)


def share_between(right: Tensor, pairs: Tensor) -> Tensor:
    """Return the share of right answers among the pairs of each draw: (B, N) -> (B,).

    ``right`` (P, P) says which questions were answered, by the pair that gives the step
    and the pair asked about. The questions share their pairs, so it is pairs that must
    be drawn: ``bootstrap(torch.arange(P), partial(share_between, right), ...)``. A pair
    is not asked about itself, also where it was drawn twice.
    """
    check_shape("right", right, "P Q", Q=right.shape[0])
    check_shape("pairs", pairs, "B N")
    one, two = pairs[:, :, None], pairs[:, None, :]
    asked = one != two
    return (right[one, two] * asked).sum(dim=(1, 2)) / asked.sum(dim=(1, 2)).clamp(1)


def leaning(unit: Tensor, words: Sequence[int], one: Tensor, two: Tensor) -> Tensor:
    """Return how much nearer each word is to a set of words than to another: (N,).

    It is the mean cosine with the rows ``one`` less the mean cosine with ``two``.
    """
    check_shape("unit", unit, "V E")
    rows = unit[list(words)]
    return (rows @ unit[one].T).mean(dim=1) - (rows @ unit[two].T).mean(dim=1)


def effect_size(x: Tensor, y: Tensor) -> float:
    """Return by how many standard deviations two groups' leanings (N,) differ.

    The measure of Caliskan, Bryson and Narayanan (2017): the difference of the means
    over the standard deviation of all values together. It lies between -2 and 2.
    """
    check_shape("x", x, "N")
    check_shape("y", y, "N")
    return float((x.mean() - y.mean()) / torch.cat([x, y]).std())
