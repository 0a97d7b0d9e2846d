r"""Gated recurrent units, in the two forms that go by this name.

Both have an update gate and a reset gate, and both mix the old state with a new
proposal. They differ in where the reset gate acts: on the state before its product
(Cho et al., 2014, first version), or on the product (the second version, and PyTorch).
Axes: B batch, E input width, D hidden width. Columns are stacked as r, z, n: reset,
update, new.
"""

import torch
from torch import Tensor, nn

from unrolled.layers.cells import one_step
from unrolled.shapes import at_least


class GRUCell(nn.Module):
    r"""One step of a gated recurrent unit that resets after the product, as torch does.

    .. math::

        \mathbf{r}_t, \mathbf{z}_t &= \sigma(\mathbf{x}_t \mathbf{W}_x^{r,z}
            + \mathbf{h}_{t-1} \mathbf{W}_h^{r,z} + \mathbf{b}^{r,z}) \\
        \mathbf{n}_t &= \tanh(\mathbf{x}_t \mathbf{W}_x^{n} + \mathbf{b}^{n}
            + \mathbf{r}_t \odot (\mathbf{h}_{t-1} \mathbf{W}_h^{n} + \mathbf{b}_h)) \\
        \mathbf{h}_t &= (1 - \mathbf{z}_t) \odot \mathbf{n}_t
            + \mathbf{z}_t \odot \mathbf{h}_{t-1}

    An update gate of one keeps the state. The proposal has a second bias,
    :math:`\mathbf{b}_h`, since the reset gate scales it.
    """

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__()
        at_least(1, d_in=d_in, d_hidden=d_hidden)
        self.d_in, self.d_hidden = d_in, d_hidden
        bound, width = d_hidden**-0.5, 3 * d_hidden
        self.W_x = nn.Parameter(torch.empty(d_in, width).uniform_(-bound, bound))
        self.W_h = nn.Parameter(torch.empty(d_hidden, width).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(width).uniform_(-bound, bound))
        self.b_h = nn.Parameter(torch.empty(d_hidden).uniform_(-bound, bound))

    def forward(self, x_t: Tensor, h: Tensor | None = None) -> Tensor:
        """Take ``x_t`` (B, E) and the state before it, (B, D), to the state after it.

        Without ``h`` the memory starts empty: all zeros.
        """
        return one_step(self, x_t, h)

    def empty(self, x: Tensor) -> Tensor:
        """Return the state before the first step of ``x`` (B, ...): zeros (B, D)."""
        return x.new_zeros(len(x), self.d_hidden)

    def project(self, x: Tensor) -> Tensor:
        """Return the input's share of gates and proposal: (..., E) to (..., 3 D)."""
        return x @ self.W_x + self.b

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        """Mix the old state with the new proposal: (B, 3 D), (B, D) to (B, D)."""
        gates, new = projected.tensor_split([2 * self.d_hidden], dim=-1)
        by_state = h @ self.W_h  # (B, 3 D)
        gates_h, new_h = by_state.tensor_split([2 * self.d_hidden], dim=-1)
        r, z = (gates + gates_h).sigmoid().chunk(2, dim=-1)  # each (B, D)
        n = torch.tanh(new + r * (new_h + self.b_h))
        return n + z * (h - n)


class ResetFirstGRUCell(GRUCell):
    r"""One step of a gated recurrent unit that resets the state before its product.

    .. math::

        \mathbf{n}_t &= \tanh(\mathbf{x}_t \mathbf{W}_x^{n} + \mathbf{b}^{n}
            + (\mathbf{r}_t \odot \mathbf{h}_{t-1}) \mathbf{W}_h^{n}) \\
        \mathbf{h}_t &= (1 - \mathbf{z}_t) \odot \mathbf{h}_{t-1}
            + \mathbf{z}_t \odot \mathbf{n}_t

    This is deck 004's: an update gate of *zero* keeps the state (004:100, 004:108),
    and there is no second bias.
    """

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__(d_in, d_hidden)
        del self.b_h

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        """Mix the old state with the new proposal: (B, 3 D), (B, D) to (B, D)."""
        width = 2 * self.d_hidden
        gates, new = projected.tensor_split([width], dim=-1)
        r, z = (gates + h @ self.W_h[:, :width]).sigmoid().chunk(2, dim=-1)
        n = torch.tanh(new + (r * h) @ self.W_h[:, width:])
        return h + z * (n - h)
