"""Run recurrent cells along the time axis, in stacks.

Axes: B batch, T time, E input width, D hidden width, L layers.
"""

from typing import cast

import torch
from torch import Tensor, nn

from unrolled.layers.recurrent import RNNCell
from unrolled.shapes import check_dtype, check_lengths, check_shape


def unroll(
    cell: RNNCell,
    x: Tensor,
    h: Tensor | None = None,
    *,
    lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return all states (B, T, D) and the last one (B, D), given ``x`` (B, T, E).

    ``lengths`` (B,) says how much of each row is real. Beyond it the state stands
    still and the output is zero, so padding changes nothing that is real.
    """
    check_shape("x", x, "B T E", E=cell.d_in)
    check_dtype("x", x, cell.W_x)
    n_rows, n_steps, _ = x.shape
    if n_steps == 0:
        raise ValueError(f"x has no time steps: its shape is {tuple(x.shape)}")
    if h is None:
        h = x.new_zeros(n_rows, cell.d_hidden)
    check_shape("h", h, "B D", B=n_rows, D=cell.d_hidden)
    check_dtype("h", h, cell.W_h)
    real = None
    if lengths is not None:
        check_lengths(lengths, n_rows, n_steps)
        steps = torch.arange(n_steps, device=x.device)
        real = steps < lengths.to(x.device)[:, None]  # (B, T)
        x = x.masked_fill(~real[..., None], 0.0)  # even a nan there must not spread
    projected = cell.project(x)  # (B, T, D), outside the loop: it needs no state
    states = []
    for t in range(n_steps):
        new = cell.step(projected[:, t], h)
        h = new if real is None else torch.where(real[:, t, None], new, h)
        states.append(h)
    outputs = torch.stack(states, dim=1)  # (B, T, D)
    if real is not None:
        outputs = outputs.masked_fill(~real[..., None], 0.0)
    return outputs, h


class RNN(nn.Module):
    r"""A stack of Elman layers, equation :eq:`rnn-stack`.

    Layer :math:`\ell` reads the states of the layer below it; the lowest reads the
    input.

    .. math::

        \mathbf{h}_t^{(\ell)} = \tanh(\mathbf{h}_t^{(\ell-1)} \mathbf{W}_x^{(\ell)}
            + \mathbf{h}_{t-1}^{(\ell)} \mathbf{W}_h^{(\ell)} + \mathbf{b}^{(\ell)}),
        \qquad \mathbf{h}_t^{(0)} = \mathbf{x}_t
    """

    def __init__(self, d_in: int, d_hidden: int, *, n_layers: int = 1) -> None:
        super().__init__()
        if n_layers < 1:
            raise ValueError(f"{n_layers=} must be at least 1")
        self.d_in, self.d_hidden, self.n_layers = d_in, d_hidden, n_layers
        widths = [d_in] + [d_hidden] * (n_layers - 1)
        self.cells = nn.ModuleList(RNNCell(width, d_hidden) for width in widths)

    def forward(
        self, x: Tensor, h_0: Tensor | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the top layer's states (B, T, D) and every last state (L, B, D).

        ``x`` is (B, T, E), ``h_0`` (L, B, D) or None for zeros, ``lengths`` (B,).
        """
        check_shape("x", x, "B T E", E=self.d_in)
        if h_0 is None:
            h_0 = x.new_zeros(self.n_layers, len(x), self.d_hidden)
        check_shape("h_0", h_0, "L B D", L=self.n_layers, B=len(x), D=self.d_hidden)
        cells = [cast(RNNCell, cell) for cell in self.cells]
        check_dtype("h_0", h_0, cells[0].W_h)
        last = []
        for cell, h in zip(cells, h_0, strict=True):
            x, h = unroll(cell, x, h, lengths=lengths)
            last.append(h)
        return x, torch.stack(last)  # (B, T, D), (L, B, D)
