r"""Alignment: where a decoder looks in its source before it writes a word.

Axes: B batch, T decoder step, S source position, D hidden width, E width of the keys.
Three ways to score how well a decoder's state :math:`\mathbf{h}^{\mathrm{d}}_t` and an
encoder's :math:`\mathbf{h}^{\mathrm{e}}_s` go together. ``project`` is the part of the
score that needs no decoder: call it once for each source, before the loop. One step is
T = 1. A mask (B, S) is boolean, and True means "may attend".
"""

import torch
from torch import Tensor, nn

from unrolled.shapes import at_least, check_shape


def look(
    scores: Tensor, memory: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Return the contexts (B, T, E) and the weights (B, T, S) of ``scores``.

    .. math::

        \alpha_{ts} = \frac{\exp e_{ts}}{\sum_{s'} \exp e_{ts'}}, \qquad
        \mathbf{c}_t = \sum_s \alpha_{ts} \mathbf{h}^{\mathrm{e}}_s

    ``scores`` is (B, T, S) and ``memory`` (B, S, E). What is masked weighs nothing; a
    row with nothing to see gets zeros, never ``nan``.
    """
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        check_shape("mask", mask, "B S", B=len(scores), S=scores.shape[-1])
        if mask.dtype != torch.bool:
            raise ValueError(f"mask is {mask.dtype}; it must be boolean, True to look")
        hidden = ~mask[:, None]  # (B, 1, S)
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1).masked_fill(hidden, 0.0)
    return weights @ memory, weights


class AdditiveAttention(nn.Module):
    r"""Score by a small network, as Bahdanau, Cho and Bengio do.

    .. math::

        e_{ts} = \tanh(\mathbf{h}^{\mathrm{d}}_t \mathbf{W}_q
            + \mathbf{h}^{\mathrm{e}}_s \mathbf{W}_k) \cdot \mathbf{v}
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        at_least(1, d_query=d_query, d_key=d_key, d_hidden=d_hidden)
        self.d_query, self.d_key = d_query, d_key
        self.W_q, self.W_k = _uniform(d_query, d_hidden), _uniform(d_key, d_hidden)
        self.v = nn.Parameter(_uniform(d_hidden, 1).detach()[:, 0])

    def project(self, memory: Tensor) -> Tensor:
        """Make the keys (B, S, D) of ``memory`` (B, S, E), once for each source."""
        check_shape("memory", memory, "B S E", E=self.d_key)
        return memory @ self.W_k

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return how well ``queries`` (B, T, D) and ``keys`` go together, (B, T, S)."""
        check_shape("queries", queries, "B T D", D=self.d_query)
        projected = queries @ self.W_q
        return torch.tanh(projected[:, :, None] + keys[:, None]) @ self.v

    def forward(
        self, queries: Tensor, keys: Tensor, memory: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the contexts (B, T, E) and the weights (B, T, S)."""
        return look(self.score(queries, keys), memory, mask)


class DotAttention(nn.Module):
    r"""Score by the product of two states of one width; nothing is learned.

    .. math:: e_{ts} = \mathbf{h}^{\mathrm{d}}_t \cdot \mathbf{h}^{\mathrm{e}}_s
    """

    def project(self, memory: Tensor) -> Tensor:
        """Take ``memory`` (B, S, D) as it is for the keys."""
        return memory

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return how well ``queries`` (B, T, D) and ``keys`` go together, (B, T, S)."""
        check_shape("queries", queries, "B T D", D=keys.shape[-1])
        return queries @ keys.mT

    def forward(
        self, queries: Tensor, keys: Tensor, memory: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the contexts (B, T, D) and the weights (B, T, S)."""
        return look(self.score(queries, keys), memory, mask)


class BilinearAttention(DotAttention):
    r"""Score by a matrix between the two states: Luong's "general".

    .. math:: e_{ts} = \mathbf{h}^{\mathrm{d}}_t \mathbf{W}_a \cdot
        \mathbf{h}^{\mathrm{e}}_s
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        at_least(1, d_query=d_query, d_key=d_key)
        self.d_query, self.d_key = d_query, d_key
        self.W_a = _uniform(d_query, d_key)

    def project(self, memory: Tensor) -> Tensor:
        """Make the keys (B, S, D) of ``memory`` (B, S, E), once for each source."""
        check_shape("memory", memory, "B S E", E=self.d_key)
        return memory @ self.W_a.T


def _uniform(n_rows: int, n_columns: int) -> nn.Parameter:
    """Return a matrix that starts uniform in ± 1 over the root of its rows."""
    bound = n_rows**-0.5
    return nn.Parameter(torch.empty(n_rows, n_columns).uniform_(-bound, bound))
