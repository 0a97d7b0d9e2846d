"""The encoder of a pair: it reads a source from one end, or from both.

Axes: B batch, S source position, E embedding width, D hidden width, L layers.
"""

from typing import Any

import torch
from torch import Tensor, nn

from unrolled.layers.readers import CELLS, lengths_of
from unrolled.layers.stacks import Bidirectional, Stack
from unrolled.layers.states import each


class Encoder(nn.Module):
    """Recurrent layers whose last states, (L, B, D), can be a decoder's first.

    From both ends, each direction has half of the width: what they show side by side
    is as wide as what one shows alone.
    """

    def __init__(
        self,
        cell: str,
        d_embed: int,
        d_hidden: int,
        *,
        n_layers: int,
        bidirectional: bool,
    ) -> None:
        super().__init__()
        self.bidirectional = bidirectional
        kind, width = (Bidirectional, 2) if bidirectional else (Stack, 1)
        self.layers = kind(CELLS[cell], d_embed, d_hidden // width, n_layers=n_layers)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Any]:
        """Map ``x`` (B, S, E) to what is shown, (B, S, D), and the last states.

        ``mask`` (B, S) is True where a token is real; padding comes after, and there
        zeros are shown, whatever was read.
        """
        lengths = None
        if mask is not None:
            lengths = lengths_of("source_mask", mask, *x.shape[:2])
        memory, last = self.layers(x, lengths=lengths)
        return memory, each(_side_by_side, last) if self.bidirectional else last


def _side_by_side(last: Tensor) -> Tensor:
    """Join the last states of both directions: (2 L, B, D / 2) to (L, B, D)."""
    ahead, back = last[::2], last[1::2]
    return torch.cat([ahead, back], dim=-1)
