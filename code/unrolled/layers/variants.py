r"""Elman cells that squash by another function than :math:`\tanh`.

Each is :class:`~unrolled.layers.recurrent.RNNCell` with one line changed. Axes: B
batch, D hidden width.
"""

import torch
from torch import Tensor

from unrolled.layers.recurrent import RNNCell


class ReLUCell(RNNCell):
    """A cell whose state is never negative and knows no upper bound."""

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        """Add the state's share and cut at zero: (B, D), (B, D) to (B, D)."""
        return torch.relu(projected + h @ self.W_h)


class SigmoidCell(RNNCell):
    """A cell whose state lies between 0 and 1, as in Elman's own network."""

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        """Add the state's share and squash to (0, 1): (B, D), (B, D) to (B, D)."""
        return torch.sigmoid(projected + h @ self.W_h)
