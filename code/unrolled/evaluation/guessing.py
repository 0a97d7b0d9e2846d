r"""Shannon's guessing game: how many guesses each letter takes, and what that bounds.

Somebody who knows all letters so far guesses the next until it is right. A rank is how
many guesses that took: 1 to V. Let :math:`q_i` be the share of letters that took i
guesses. Whoever guesses in the same way, an identical twin, can tell the text from the
ranks alone, so the bits of a letter are at most those of a rank (Shannon 1951),
:eq:`lm-shannon-bounds`:

.. math::

    \sum_{i=1}^{V} i \, (q_i - q_{i+1}) \log_2 i \;\le\; H \;\le\;
        -\sum_{i=1}^{V} q_i \log_2 q_i

The lower bound holds for the best guesser there could be, who always names the most
probable letter that is left, so that the shares fall from rank to rank; of anybody
else's ranks it is an estimate, and where few letters make the shares rise it may come
out above the upper bound, and says nothing. Both take the shares for the truth: of a
hundred letters they are a rough guess. Axes: T letters, V vocabulary.
"""

import torch
from torch import Tensor

from unrolled.models.ngram import NGram
from unrolled.shapes import WHOLE, at_least, check_shape


def ranks_of(model: NGram, ids: Tensor) -> Tensor:
    """Return how many guesses (T,) a model needs, naming the most probable first.

    Of equally probable tokens the one with the smaller id is named first.
    """
    found = []
    for t, token in enumerate(ids):
        p = model.next_token(ids[max(0, t - model.order + 1) : t])
        before = torch.arange(len(p)) < token
        ahead = (p > p[token]) | ((p == p[token]) & before)
        found.append(ahead.sum() + 1)
    return torch.stack(found)


def shares_of(ranks: Tensor, n_tokens: int) -> Tensor:
    """Return the share (V,) of letters that took 1, 2, … V guesses."""
    _check(ranks, n_tokens)
    return torch.bincount(ranks - 1, minlength=n_tokens).double() / len(ranks)


def rank_bits(ranks: Tensor, n_tokens: int) -> Tensor:
    r"""Return :math:`-\log_2 q` of each rank (T,): what a twin would be told a letter.

    Their mean is the upper bound.
    """
    return -shares_of(ranks, n_tokens)[ranks - 1].log2()


def entropy_bounds(ranks: Tensor, n_tokens: int) -> tuple[float, float]:
    """Return Shannon's bounds on the bits of a letter, lower and upper."""
    q = shares_of(ranks, n_tokens)
    i = torch.arange(1, n_tokens + 1, dtype=torch.float64)
    fall = q - torch.cat([q[1:], q.new_zeros(1)])
    lower = (i * fall * i.log2()).sum().item()
    return lower, rank_bits(ranks, n_tokens).mean().item()


def _check(ranks: Tensor, n_tokens: int) -> None:
    check_shape("ranks", ranks, "T")
    at_least(1, n_ranks=len(ranks), n_tokens=n_tokens)
    if ranks.dtype not in WHOLE:
        raise ValueError(f"ranks must be whole numbers, got dtype {ranks.dtype}")
    low, high = map(int, ranks.aminmax())
    if low < 1 or high > n_tokens:
        raise ValueError(f"ranks has {low} to {high}; guesses go from 1 to {n_tokens}")
