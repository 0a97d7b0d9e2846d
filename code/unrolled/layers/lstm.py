"""Long short-term memory: a cell that can keep what it has.

Axes: B batch, E input width, D hidden width. The columns of ``W_x``, ``W_h`` and ``b``
are stacked in the order i, f, g, o, so that one product serves all four gates.
"""

import torch
from torch import Tensor, nn

from unrolled.layers.cells import one_step
from unrolled.layers.states import LSTMState
from unrolled.shapes import at_least


class LSTMCell(nn.Module):
    r"""One step of a long short-term memory (:eq:`lstm-gates`, :eq:`lstm-memory`).

    .. math::

        \mathbf{a}_t &= \mathbf{x}_t \mathbf{W}_x + \mathbf{h}_{t-1} \mathbf{W}_h
            + \mathbf{b} \\
        \mathbf{i}_t, \mathbf{f}_t, \mathbf{o}_t &= \sigma(\mathbf{a}_t^{i,f,o}),
            \qquad \mathbf{g}_t = \tanh(\mathbf{a}_t^{g}) \\
        \mathbf{c}_t &= \mathbf{f}_t \odot \mathbf{c}_{t-1}
            + \mathbf{i}_t \odot \mathbf{g}_t \\
        \mathbf{h}_t &= \mathbf{o}_t \odot \tanh(\mathbf{c}_t)

    All parameters start uniform in :math:`\pm 1/\sqrt{D}`, and ``forget_bias`` is added
    to the forget gate's bias: a positive one keeps the memory open early in training.
    """

    def __init__(self, d_in: int, d_hidden: int, *, forget_bias: float = 1.0) -> None:
        super().__init__()
        at_least(1, d_in=d_in, d_hidden=d_hidden)
        self.d_in, self.d_hidden = d_in, d_hidden
        bound, width = d_hidden**-0.5, 4 * d_hidden
        self.W_x = nn.Parameter(torch.empty(d_in, width).uniform_(-bound, bound))
        self.W_h = nn.Parameter(torch.empty(d_hidden, width).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(width).uniform_(-bound, bound))
        with torch.no_grad():
            self.b[d_hidden : 2 * d_hidden] += forget_bias

    def forward(self, x_t: Tensor, state: LSTMState | None = None) -> LSTMState:
        """Take ``x_t`` (B, E) and the state before it to the state after it.

        Without ``state`` the memory starts empty: all zeros.
        """
        return one_step(self, x_t, state)

    def empty(self, x: Tensor) -> LSTMState:
        """Return the state before the first step of ``x`` (B, ...): zeros (B, D)."""
        zeros = x.new_zeros(len(x), self.d_hidden)
        return LSTMState(h=zeros, c=zeros)

    def project(self, x: Tensor) -> Tensor:
        """Return the input's share of all gates: (..., E) to (..., 4 D)."""
        return x @ self.W_x + self.b

    def step(self, projected: Tensor, state: LSTMState) -> LSTMState:
        """Add the state's share, (B, 4 D), and let the gates act."""
        a = torch.addmm(projected, state.h, self.W_h)
        i, f, g, o = a.chunk(4, dim=-1)  # each (B, D)
        c = f.sigmoid() * state.c + i.sigmoid() * g.tanh()
        return LSTMState(h=o.sigmoid() * c.tanh(), c=c)


class PeepholeLSTMCell(LSTMCell):
    r"""An LSTM whose gates also see what is kept, through a weight for each unit.

    .. math::

        \mathbf{i}_t, \mathbf{f}_t &= \sigma(\mathbf{a}_t^{i,f}
            + \mathbf{p}^{i,f} \odot \mathbf{c}_{t-1}) \\
        \mathbf{o}_t &= \sigma(\mathbf{a}_t^{o} + \mathbf{p}^{o} \odot \mathbf{c}_t)
    """

    def __init__(self, d_in: int, d_hidden: int, *, forget_bias: float = 1.0) -> None:
        super().__init__(d_in, d_hidden, forget_bias=forget_bias)
        bound = d_hidden**-0.5
        self.p_i, self.p_f, self.p_o = (
            nn.Parameter(torch.empty(d_hidden).uniform_(-bound, bound))
            for _ in range(3)
        )

    def step(self, projected: Tensor, state: LSTMState) -> LSTMState:
        """Let the gates act, the output gate after the memory has changed."""
        h, c = state
        i, f, g, o = torch.addmm(projected, h, self.W_h).chunk(4, dim=-1)
        i, f = (i + self.p_i * c).sigmoid(), (f + self.p_f * c).sigmoid()
        c = f * c + i * g.tanh()
        return LSTMState(h=(o + self.p_o * c).sigmoid() * c.tanh(), c=c)


@torch.no_grad()
def chrono_(cell: LSTMCell, longest: int, *, generator: torch.Generator) -> LSTMCell:
    r"""Start ``cell`` as one that expects dependencies of up to ``longest`` steps.

    The forget gate's bias is drawn as :math:`\log u` with :math:`u` uniform between 1
    and ``longest`` - 1, the input gate's is its opposite, and the others are zero: a
    unit with bias :math:`\log u` forgets over about :math:`u` steps.
    """
    at_least(3, longest=longest)
    D = cell.d_hidden
    u = torch.rand(D, generator=generator, dtype=cell.b.dtype)
    bias = torch.log(1 + u * (longest - 2)).to(cell.b.device)
    cell.b.zero_()
    cell.b[:D], cell.b[D : 2 * D] = -bias, bias
    return cell
