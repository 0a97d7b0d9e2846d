r"""Parts of the Transformer: tokens in their places, and what is kept while writing.

Axes: B batch, T position, S source position, D model width, H heads, K head width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.layers.attention import Cache
from unrolled.layers.positions import (
    LearnedPositions,
    SinusoidalPositions,
    count_positions,
)

POSITIONS: dict[str, Callable[[int, int], Any]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
}


class PlacedTokens(nn.Module):
    r"""What token, and where: :math:`\sqrt{D} \, \mathbf{E}[w_t] + \mathbf{p}_t`.

    The entries of the table start with a variance of 1 / D. The root, of the paper,
    brings them to the size of the clocks' hands; a read-out that shares the table then
    starts with logits of a size that does not depend on D.
    """

    def __init__(
        self,
        n_tokens: int,
        d_model: int,
        *,
        positions: str,
        n_positions: int,
        p_drop: float,
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(n_tokens, d_model)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        self.positions = POSITIONS[positions](n_positions, d_model)
        self.drop = nn.Dropout(p_drop)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, start: int = 0
    ) -> Tensor:
        """Look up ``ids`` (B, T), the first of them at position ``start``: (B, T, D).

        With a ``mask`` (B, T), positions count what is real, and what is not becomes
        zero: even a ``nan`` stays there.
        """
        n_positions, stop = len(self.positions.table), start + ids.shape[1]
        if stop > n_positions:
            raise ValueError(f"{stop} tokens are too many: {n_positions=} are known")
        places = torch.arange(start, stop, device=ids.device)
        if mask is not None:
            places = count_positions(mask)
        scale = self.table.embedding_dim**0.5
        x: Tensor = self.drop(scale * self.table(ids) + self.positions(places))
        return x if mask is None else x.masked_fill(~mask[..., None], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class TransformerState:
    """What has been written so far, and what of: a cache each for every block.

    ``written`` has the keys and values of the target, ``sources`` those of the source,
    and ``mask`` (B, 1, 1, S) hides what is padding there.
    """

    written: tuple[Cache | None, ...]
    sources: tuple[Cache, ...]
    mask: Tensor | None

    def rows(self, index: Tensor) -> "TransformerState":
        """Return the state of the rows ``index``, as a beam needs; rows may repeat."""
        return TransformerState(
            tuple(None if kv is None else kv.rows(index) for kv in self.written),
            tuple(kv.rows(index) for kv in self.sources),
            None if self.mask is None else self.mask[index],
        )

    @property
    def n_written(self) -> int:
        """How many tokens of the target have been read."""
        first = self.written[0]
        return 0 if first is None else first.k.shape[2]
