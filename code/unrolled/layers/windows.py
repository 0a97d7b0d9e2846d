"""Truncated backpropagation through time: states cross a border, blame does not.

Axes: B batch, T time, E input width, D hidden width, L layers.
"""

import torch
from torch import Tensor

from unrolled.layers.stacks import RNN


def unroll_in_windows(
    rnn: RNN, x: Tensor, h_0: Tensor | None = None, *, window: int
) -> tuple[Tensor, Tensor]:
    """Return what ``rnn(x, h_0)`` does, cut for the gradient every ``window`` steps.

    The states (B, T, D) and the last ones (L, B, D) are those of reading ``x``
    (B, T, E) at once. A gradient reaches back to the start of its own window, and no
    further; none reaches the last states returned, which the next call may take.
    """
    if window < 1:
        raise ValueError(f"{window=} must be at least 1")
    pieces = []
    for piece in x.split(window, dim=1):
        states, h_0 = rnn(piece, h_0)
        h_0 = h_0.detach()
        pieces.append(states)
    assert h_0 is not None  # rnn refuses a sequence without steps
    return torch.cat(pieces, dim=1), h_0
