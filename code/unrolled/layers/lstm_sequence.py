r"""A whole sequence through an LSTM, and the way back through time written by hand.

It gives what :class:`~unrolled.layers.lstm.LSTMCell` gives step by step, sooner.
Automatic differentiation of the steps would form each step's share of the gradient of
:math:`\mathbf{W}_h` and add it to the sum of the others, T times a product and T times
a pass through memory; here the gradients of all pre-activations,
:math:`\mathbf{d}_{a,t}`, are laid side by side, and one product serves all steps. With
:math:`\mathbf{d}_{h,t}` and :math:`\mathbf{d}_{c,t}` for the gradients of state and
memory, and :math:`\mathbf{u}_t` for what comes from above, the way back is

.. math::

    \mathbf{d}_{h,t} &= \mathbf{u}_t + \mathbf{d}_{a,t+1} \mathbf{W}_h^\top \\
    \mathbf{d}_{c,t} &= \mathbf{f}_{t+1} \odot \mathbf{d}_{c,t+1}
        + \mathbf{o}_t \odot (1 - \tanh^2 \mathbf{c}_t) \odot \mathbf{d}_{h,t} \\
    \mathbf{d}_{a,t}^{i} &= \mathbf{g}_t \odot \mathbf{i}_t \odot (1 - \mathbf{i}_t)
        \odot \mathbf{d}_{c,t} \\
    \mathbf{d}_{a,t}^{f} &= \mathbf{c}_{t-1} \odot \mathbf{f}_t
        \odot (1 - \mathbf{f}_t) \odot \mathbf{d}_{c,t} \\
    \mathbf{d}_{a,t}^{g} &= \mathbf{i}_t \odot (1 - \mathbf{g}_t^2)
        \odot \mathbf{d}_{c,t} \\
    \mathbf{d}_{a,t}^{o} &= \tanh(\mathbf{c}_t) \odot \mathbf{o}_t
        \odot (1 - \mathbf{o}_t) \odot \mathbf{d}_{h,t}

The factors before the last are known before the way back begins, for all steps at once.
Axes: B batch, T time, E input width, D hidden width. Inside, time comes first, so that
a step is one piece of memory.
"""

from typing import Any

import torch
from torch import Tensor

from unrolled.layers.lstm import LSTMCell
from unrolled.layers.states import LSTMState

# d * y * (1 - y) and d * (1 - y ** 2), each in one pass through memory
_through_sigmoid = torch.ops.aten.sigmoid_backward
_through_tanh = torch.ops.aten.tanh_backward


def lstm_sequence(
    cell: LSTMCell, x: Tensor, state: LSTMState, real: Tensor | None = None
) -> tuple[Tensor, LSTMState]:
    """Return all h, (B, T, D), and the last state, given ``x`` (B, T, E).

    ``real`` (B, T, 1) is True up to some step of each row and False after it; there
    the memory stands still, and the last h is that of the last real step. What h is
    shown beyond it means nothing.
    """
    h, c = _LSTMSequence.apply(x, *state, cell.W_x, cell.W_h, cell.b, real)
    if real is None:
        return h, LSTMState(h=h[:, -1], c=c)
    last = real.sum(dim=1, keepdim=True) - 1  # (B, 1, 1)
    return h, LSTMState(h=h.take_along_dim(last, dim=1)[:, 0], c=c)


class _LSTMSequence(torch.autograd.Function):
    """The steps and the way back, for PyTorch to put into its graph as one node."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        h_0: Tensor,
        c_0: Tensor,
        W_x: Tensor,
        W_h: Tensor,
        b: Tensor,
        real: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Return all h, (B, T, D), and the last c, (B, D)."""
        x = x.transpose(0, 1)  # (T, B, E)
        gates = torch.addmm(b, x.flatten(0, 1), W_x).view(*x.shape[:2], 4, -1)
        if real is not None:
            _shut(gates, ~real.transpose(0, 1))
        h, c = (s.new_empty(len(x) + 1, *s.shape) for s in (h_0, c_0))
        h[0], c[0] = h_0, c_0
        _steps(gates, h, c, W_h)
        ctx.save_for_backward(x, gates, h, c, W_x, W_h)
        return h[1:].transpose(0, 1), c[-1].clone()

    @staticmethod
    def backward(ctx: Any, above: Tensor, d_c: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of all that ``forward`` was given, in its order."""
        if torch.is_grad_enabled():  # create_graph=True
            raise RuntimeError(
                "the way back through an LSTM's sequence has no gradient of its own: "
                "for gradients of gradients call the cell step by step"
            )
        x, gates, h, c, W_x, W_h = ctx.saved_tensors
        d_a, d_h, d_c = _back(gates, c, W_h, above.transpose(0, 1), d_c)
        wanted = ctx.needs_input_grad[0]
        d_x = (d_a @ W_x.T).transpose(0, 1) if wanted else None  # (B, T, E)
        flat = d_a.flatten(0, 1)  # (T B, 4 D): all steps in one product
        d_W_x, d_W_h = (v.flatten(0, 1).T @ flat for v in (x, h[:-1]))
        return d_x, d_h, d_c, d_W_x, d_W_h, flat.sum(dim=0), None


def _shut(a: Tensor, padding: Tensor) -> None:
    """Let nothing in and forget nothing in ``padding`` (T, B, 1): i = 0 and f = 1."""
    a[:, :, 0].masked_fill_(padding, -torch.inf)
    a[:, :, 1].masked_fill_(padding, torch.inf)


def _steps(gates: Tensor, h: Tensor, c: Tensor, W_h: Tensor) -> None:
    """Take all steps, in place.

    ``gates`` (T, B, 4, D) holds the input's share and becomes the gates; of ``h`` and
    ``c`` (T + 1, B, D) the first are given.
    """
    i, f, g, o = (gate.unbind() for gate in gates.unbind(dim=2))
    i_and_f, a = gates[:, :, :2].unbind(), gates.flatten(2).unbind()
    h_, c_ = h.unbind(), c.unbind()
    for t in range(len(gates)):
        a[t].addmm_(h_[t], W_h)
        i_and_f[t].sigmoid_()
        g[t].tanh_()
        o[t].sigmoid_()
        torch.mul(f[t], c_[t], out=c_[t + 1]).addcmul_(i[t], g[t])
        torch.mul(o[t], c_[t + 1].tanh(), out=h_[t + 1])


def _back(
    gates: Tensor, c: Tensor, W_h: Tensor, above: Tensor, d_c: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``d_a`` (T, B, 4 D), ``d_h`` and ``d_c`` (B, D) before the first step.

    ``above`` (T, B, D) and ``d_c`` (B, D) are what later layers say.
    """
    i, f, g, o = gates.unbind(dim=2)
    before, shown = c[:-1], c[1:].tanh()
    d_a = torch.empty_like(gates)  # (T, B, 4, D): first the factors
    for k, (by, gate) in enumerate(((g, i), (before, f), (i, g), (shown, o))):
        slope = _through_tanh if gate is g else _through_sigmoid
        slope.grad_input(by, gate, grad_input=d_a[:, :, k])
    h_by_c, forget = _through_tanh(o, shown).unbind(), f.unbind()
    of_c, of_h = d_a[:, :, :3].unbind(), d_a[:, :, 3].unbind()
    d_h, d_c = torch.zeros_like(d_c), d_c.clone()
    W_back = W_h.T.contiguous()  # many small products read it, faster row by row
    for t in reversed(range(len(gates))):
        d_h += above[t]
        d_c.addcmul_(d_h, h_by_c[t])
        of_c[t].mul_(d_c[:, None])
        of_h[t].mul_(d_h)
        d_c *= forget[t]
        d_h = d_a[t].flatten(1) @ W_back
    return d_a.flatten(2), d_h, d_c
