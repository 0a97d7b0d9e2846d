"""Recurrent cells: one step of a state machine whose rules are learned.

Axes: B batch, E input width, D hidden width. A cell takes one time step;
``unrolled.layers.unroll`` runs a cell along a sequence.
"""

import torch
from torch import Tensor, nn

from unrolled.layers.cells import one_step
from unrolled.shapes import at_least


class RNNCell(nn.Module):
    r"""One step of an Elman network, equation :eq:`rnn-cell`.

    .. math::

        \mathbf{a}_t &= \mathbf{x}_t \mathbf{W}_x + \mathbf{h}_{t-1} \mathbf{W}_h
            + \mathbf{b} \\
        \mathbf{h}_t &= \tanh(\mathbf{a}_t)

    All three parameters start uniform in :math:`\pm 1/\sqrt{D}`.
    """

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__()
        at_least(1, d_in=d_in, d_hidden=d_hidden)
        self.d_in, self.d_hidden = d_in, d_hidden
        bound = d_hidden**-0.5
        self.W_x = nn.Parameter(torch.empty(d_in, d_hidden).uniform_(-bound, bound))
        self.W_h = nn.Parameter(torch.empty(d_hidden, d_hidden).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(d_hidden).uniform_(-bound, bound))

    def forward(self, x_t: Tensor, h: Tensor | None = None) -> Tensor:
        """Take ``x_t`` (B, E) and the state before it, (B, D), to the state after it.

        Without ``h`` the memory starts empty: all zeros.
        """
        return one_step(self, x_t, h)

    def empty(self, x: Tensor) -> Tensor:
        """Return the state before the first step of ``x`` (B, ...): zeros (B, D)."""
        return x.new_zeros(len(x), self.d_hidden)

    def project(self, x: Tensor) -> Tensor:
        """Return the input's share of ``a``: (..., E) to (..., D).

        It needs no state, so a whole sequence can be projected in one product.
        """
        return x @ self.W_x + self.b

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        """Add the state's share and squash: (B, D), (B, D) to the new state (B, D)."""
        return torch.tanh(projected + h @ self.W_h)
