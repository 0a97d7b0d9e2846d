"""Readers: recurrent layers by the name of their cell, and such layers over words.

Axes: B batch, T time, V vocabulary, E embedding width, D hidden width.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.layers.gru import GRUCell
from unrolled.layers.lstm import LSTMCell
from unrolled.layers.pooling import check_mask
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.stacks import Bidirectional, Stack
from unrolled.shapes import check_shape

#: What a config may call a cell.
CELLS: dict[str, Callable[[int, int], Any]] = {
    "rnn": RNNCell,
    "lstm": LSTMCell,
    "gru": GRUCell,
}


class WordReader(nn.Module):
    """A table of vectors, and recurrent layers that read them.

    In both directions they show 2 D numbers a step, and else D: ``d_out``. While
    training, the share ``p_drop`` of the numbers looked up is dropped.
    """

    def __init__(
        self,
        n_tokens: int,
        d_embed: int,
        d_hidden: int,
        *,
        cell: str,
        n_layers: int = 1,
        bidirectional: bool = False,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        kind = Bidirectional if bidirectional else Stack
        self.d_out = 2 * d_hidden if bidirectional else d_hidden
        self.embed = nn.Embedding(n_tokens, d_embed)
        self.drop = nn.Dropout(p_drop)
        self.layers = kind(CELLS[cell], d_embed, d_hidden, n_layers=n_layers)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return what the top layer shows, (B, T, ``d_out``), having read ids (B, T).

        ``mask`` (B, T) is True where a token is real, and padding follows what is real.
        There the states are zero, whatever the ids.
        """
        check_shape("ids", ids, "B T")
        lengths = None
        if mask is not None:
            lengths = lengths_of("mask", mask, *ids.shape)
            ids = ids.masked_fill(~mask, 0)  # an id of no token may stand there
        states, _ = self.layers(self.drop(self.embed(ids)), lengths=lengths)
        return states


def lengths_of(name: str, mask: Tensor, n_rows: int, n_steps: int) -> Tensor:
    """Return how many steps of each row are real, (B,); all must come before the rest.

    ``mask``, called ``name`` in a complaint, must be (``n_rows``, ``n_steps``).
    """
    check_mask(name, mask, n_rows, n_steps)
    lengths = mask.sum(dim=1)
    if torch.compiler.is_compiling() or mask.is_meta:
        return lengths  # as in check_mask
    if bool((holes := (mask[:, 1:] & ~mask[:, :-1]).any(dim=1)).any()):
        rows = holes.nonzero()[:, 0].tolist()
        raise ValueError(
            f"{name} turns from False to True in rows {rows}: pad on the right"
        )
    return lengths
