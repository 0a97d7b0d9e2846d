"""Recurrent layers on top of one another, in one direction or in both.

Axes: B batch, T time, E input width, D hidden width, L layers.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Generic, cast

import torch
from torch import Tensor, nn

from unrolled.layers.cells import Cell
from unrolled.layers.gru import GRUCell
from unrolled.layers.lstm import LSTMCell
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.states import LSTMState, State, check_state, each
from unrolled.layers.unroll import unroll
from unrolled.shapes import at_least, check_shape

MakeCell = Callable[[int, int], Cell[State]]


class Stack(nn.Module, Generic[State]):
    """Layers of cells, of which each reads what the one below it shows.

    ``make_cell(width, d_hidden)`` makes the cell of a layer that reads ``width``
    numbers a step: ``Stack(LSTMCell, 8, 16, n_layers=2)``. While training, the share
    ``p_drop`` of what a layer shows to the next one is dropped.
    """

    def __init__(
        self,
        make_cell: MakeCell[State],
        d_in: int,
        d_hidden: int,
        *,
        n_layers: int = 1,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.d_in, self.d_hidden, self.n_layers = d_in, d_hidden, n_layers
        self.cells = _layers(make_cell, d_in, d_hidden, n_layers, d_below=d_hidden)
        self.drop = nn.Dropout(p_drop)

    def forward(
        self, x: Tensor, state: State | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Return what the top layer shows, (B, T, D), and all last states, (L, B, D).

        ``x`` is (B, T, E), ``state`` of (L, B, D) or None for zeros, ``lengths`` (B,).
        """
        check_shape("x", x, "B T E", E=self.d_in)
        cells = cast("list[Cell[State]]", list(self.cells))
        empty = _pile([cell.empty(x) for cell in cells])
        if state is None:
            state = empty
        check_state(state, empty, cells[0].W_h, axes="L B D")
        last = []
        for layer, cell in enumerate(cells):
            x = self.drop(x) if layer else x
            before = each(itemgetter(layer), state)
            x, after = unroll(cell, x, before, lengths=lengths)
            last.append(after)
        return x, _pile(last)


class RNN(Stack[Tensor]):
    r"""A stack of Elman layers, equation :eq:`rnn-stack`.

    Layer :math:`\ell` reads the states of the layer below it; the lowest reads the
    input.

    .. math::

        \mathbf{h}_t^{(\ell)} = \tanh(\mathbf{h}_t^{(\ell-1)} \mathbf{W}_x^{(\ell)}
            + \mathbf{h}_{t-1}^{(\ell)} \mathbf{W}_h^{(\ell)} + \mathbf{b}^{(\ell)}),
        \qquad \mathbf{h}_t^{(0)} = \mathbf{x}_t
    """

    def __init__(
        self, d_in: int, d_hidden: int, *, n_layers: int = 1, p_drop: float = 0.0
    ) -> None:
        super().__init__(RNNCell, d_in, d_hidden, n_layers=n_layers, p_drop=p_drop)


class LSTM(Stack[LSTMState]):
    """A stack of LSTM layers; see :class:`~unrolled.layers.lstm.LSTMCell`."""

    def __init__(
        self, d_in: int, d_hidden: int, *, n_layers: int = 1, p_drop: float = 0.0
    ) -> None:
        super().__init__(LSTMCell, d_in, d_hidden, n_layers=n_layers, p_drop=p_drop)


class GRU(Stack[Tensor]):
    """A stack of GRU layers; see :class:`~unrolled.layers.gru.GRUCell`."""

    def __init__(
        self, d_in: int, d_hidden: int, *, n_layers: int = 1, p_drop: float = 0.0
    ) -> None:
        super().__init__(GRUCell, d_in, d_hidden, n_layers=n_layers, p_drop=p_drop)


class Bidirectional(nn.Module, Generic[State]):
    """Layers that read a sequence from both ends, and show both states side by side.

    It needs the whole sequence before its first answer, so it can tag and classify,
    and cannot predict what comes next: it has seen it. ``p_drop`` as in :class:`Stack`.
    """

    def __init__(
        self,
        make_cell: MakeCell[State],
        d_in: int,
        d_hidden: int,
        *,
        n_layers: int = 1,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.d_in, self.d_hidden, self.n_layers = d_in, d_hidden, n_layers
        self.ahead, self.back = (
            _layers(make_cell, d_in, d_hidden, n_layers, d_below=2 * d_hidden)
            for _ in range(2)
        )
        self.drop = nn.Dropout(p_drop)

    def forward(
        self, x: Tensor, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Return what the top layer shows, (B, T, 2 D), and the last states.

        The states are (2 L, B, D): of each layer first the one that has read ahead,
        to the end, then the one that has read back, to the beginning.
        """
        check_shape("x", x, "B T E", E=self.d_in)
        last = []
        for layer, (ahead, back) in enumerate(zip(self.ahead, self.back, strict=True)):
            x = self.drop(x) if layer else x
            right, at_end = unroll(cast("Cell[State]", ahead), x, lengths=lengths)
            turned = reverse(x, lengths)
            left, at_start = unroll(cast("Cell[State]", back), turned, lengths=lengths)
            x = torch.cat([right, reverse(left, lengths)], dim=-1)  # (B, T, 2 D)
            last += [at_end, at_start]
        return x, _pile(last)


def reverse(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Turn the real part of each row of ``x`` (B, T, ...) round; padding stays last."""
    if lengths is None:
        return x.flip(1)
    steps = torch.arange(x.shape[1], device=x.device)
    ends = lengths.to(x.device)[:, None]
    places = torch.where(steps < ends, ends - 1 - steps, steps)  # (B, T)
    return x[torch.arange(len(x), device=x.device)[:, None], places]


def _layers(
    make_cell: MakeCell[State], d_in: int, d_hidden: int, n_layers: int, *, d_below: int
) -> nn.ModuleList:
    """Return cells, of which all but the lowest read the ``d_below`` of another."""
    at_least(1, n_layers=n_layers)
    widths = [d_in] + [d_below] * (n_layers - 1)
    return nn.ModuleList(cast(nn.Module, make_cell(w, d_hidden)) for w in widths)


def _pile(states: list[State]) -> State:
    """Return one state for several: (B, D) each to (L, B, D)."""
    return each(lambda *tensors: torch.stack(tensors), *states)
