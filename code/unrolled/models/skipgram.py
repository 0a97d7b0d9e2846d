r"""Skip-gram with negative sampling: vectors of words from the company they keep.

Each word has a vector :math:`\mathbf{v}` as the centre of a window and another,
:math:`\mathbf{u}`, as a neighbour. A true neighbour o of the centre c is to score high,
and k words n drawn as noise low (Mikolov and others 2013):

.. math::

    \ell = -\log \sigma(\mathbf{v}_c \cdot \mathbf{u}_o)
        - \sum_{i=1}^{k} \log \sigma(-\mathbf{v}_c \cdot \mathbf{u}_{n_i})

Noise is drawn by frequency to the power 0.75. A word of frequency f stays in the text
with probability :math:`\min(1, \sqrt{\tau / f})`, as in the paper.
All neighbours within the window count alike (the program narrows it at random).

Axes: B pairs, S neighbours scored at once, V vocabulary, E embedding width. A text is a
vector of token ids (N,).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.runtime import progress
from unrolled.shapes import at_least, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipGramConfig:
    """The sizes of a :class:`SkipGram`."""

    n_tokens: int
    d_embed: int

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, d_embed=self.d_embed)


class SkipGram(nn.Module):
    r"""Two tables of vectors, (V, E) each: of centres and of neighbours.

    As in the original program, the first starts uniform in :math:`\pm 1/(2E)` and the
    second at zero.
    """

    def __init__(self, config: SkipGramConfig) -> None:
        super().__init__()
        self.config = config
        size, bound = (config.n_tokens, config.d_embed), 0.5 / config.d_embed
        self.centre = nn.Parameter(torch.empty(size).uniform_(-bound, bound))
        self.neighbour = nn.Parameter(torch.zeros(size))

    def forward(self, centres: Tensor, neighbours: Tensor) -> Tensor:
        """Return the scores (B, S) of neighbours (B, S) for centres (B,)."""
        check_shape("centres", centres, "B")
        check_shape("neighbours", neighbours, "B S", B=len(centres))
        v = F.embedding(centres, self.centre)  # (B, E)
        u = F.embedding(neighbours, self.neighbour)  # (B, S, E)
        return (u * v[:, None]).sum(dim=-1)  # faster to go back through than a product

    def vectors(self) -> Tensor:
        """Return the vectors of the words (V, E): those of centres, as is usual."""
        return self.centre.detach().clone()


def negative_sampling_loss(scores: Tensor) -> Tensor:
    """Return the mean loss of scores (B, S): the first neighbour true, the rest noise.

    It is computed by log-sigmoids, and so finite for scores of any size.
    """
    check_shape("scores", scores, "B S")
    true, noise = scores[:, 0], scores[:, 1:]
    return -(F.logsigmoid(true) + F.logsigmoid(-noise).sum(dim=1)).mean()


def frequencies(ids: Tensor, n_tokens: int) -> Tensor:
    """Return how often each token comes in a text, as a share: (N,) -> (V,)."""
    check_shape("ids", ids, "N")
    counts = torch.bincount(ids, minlength=n_tokens).double()
    if len(counts) > n_tokens:
        raise ValueError(f"ids has token {len(counts) - 1}; {n_tokens=} is too few")
    return counts / counts.sum()


def noise_distribution(frequency: Tensor, *, power: float = 0.75) -> Tensor:
    """Return the probabilities (V,) of noise: frequencies to a power, made to sum to 1.

    A power below 1 makes rare words less rare; a word that never comes is no noise.
    """
    weights = torch.where(frequency > 0, frequency**power, 0.0)
    return weights / weights.sum()


def subsample(
    ids: Tensor, frequency: Tensor, *, threshold: float, generator: torch.Generator
) -> Tensor:
    """Return which tokens of the text stay, (N,) boolean: frequent ones often go."""
    if threshold <= 0:
        raise ValueError(f"{threshold=} must be positive")
    stays = (threshold / frequency.clamp(min=1e-300)).sqrt()  # above 1: stays surely
    return torch.rand(len(ids), generator=generator, dtype=torch.float64) < stays[ids]


def skip_pairs(ids: Tensor, *, window: int, owners: Tensor | None = None) -> Tensor:
    """Return all (centre, neighbour) at most ``window`` apart, (pairs, 2).

    ``owners`` (N,) numbers the sentence of each token; then no pair crosses two.
    """
    check_shape("ids", ids, "N")
    at_least(1, window=window)
    if owners is not None:
        check_shape("owners", owners, "N", N=len(ids))
    found = [ids.new_empty(0, 2)]
    for gap in range(1, min(window, len(ids) - 1) + 1):
        pairs = torch.stack([ids[:-gap], ids[gap:]], dim=1)
        if owners is not None:
            pairs = pairs[owners[:-gap] == owners[gap:]]
        found += [pairs, pairs.flip(1)]  # each is the other's neighbour
    return torch.cat(found)


def noisy_batches(
    pairs: Tensor,
    noise: Tensor,
    *,
    n_rows: int,
    n_noise: int,
    generator: torch.Generator,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Go once through the pairs, shuffled: centres (B,), neighbours (B, 1 + n_noise).

    The first neighbour is the true one. Noise may hit it by chance, as in the paper.
    """
    check_shape("pairs", pairs, "N C", C=2)
    at_least(1, n_rows=n_rows, n_noise=n_noise)
    order = torch.randperm(len(pairs), generator=generator)
    for rows in progress(order.split(n_rows)):
        centres, true = pairs[rows].unbind(dim=1)
        drawn = torch.multinomial(noise, len(rows) * n_noise, True, generator=generator)
        drawn = drawn.view(len(rows), n_noise)
        yield centres, torch.cat([true[:, None], drawn], dim=1)
