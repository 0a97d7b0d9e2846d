"""Run recurrent cells along the time axis.

Axes: B batch, T time, E input width, D hidden width.
"""

from typing import TypeGuard

import torch
from torch import Tensor

from unrolled.layers.cells import Cell, first_state
from unrolled.layers.lstm import LSTMCell
from unrolled.layers.lstm_sequence import lstm_sequence
from unrolled.layers.states import LSTMState, State, choose, shown
from unrolled.shapes import check_dtype, check_lengths, check_shape


def unroll(
    cell: Cell[State],
    x: Tensor,
    state: State | None = None,
    *,
    lengths: Tensor | None = None,
) -> tuple[Tensor, State]:
    """Return all that is shown, (B, T, D), and the last state, given ``x`` (B, T, E).

    ``lengths`` (B,) says how much of each row is real. Beyond it the state stands
    still and the output is zero, so padding changes nothing that is real.
    """
    check_shape("x", x, "B T E", E=cell.d_in)
    check_dtype("x", x, cell.W_x)
    n_rows, n_steps, _ = x.shape
    if n_steps == 0:
        raise ValueError(f"x has no time steps: its shape is {tuple(x.shape)}")
    state = first_state(cell, x, state)
    real = None
    if lengths is not None:
        check_lengths(lengths, n_rows, n_steps)
        steps = torch.arange(n_steps, device=x.device)
        real = (steps < lengths.to(x.device)[:, None])[..., None]  # (B, T, 1)
        x = x.masked_fill(~real, 0.0)  # even a nan there must not spread
    if isinstance(state, LSTMState) and _in_one_go(cell, x):
        states, state = lstm_sequence(cell, x, state, real)
    else:
        states, state = _step_by_step(cell, x, state, real)
    return states if real is None else states.masked_fill(~real, 0.0), state


def _in_one_go(cell: object, x: Tensor) -> TypeGuard[LSTMCell]:
    """Whether a sequence may go through a function of its own, forward and back.

    It knows the plain cell only, and a single step has nothing to gather. A compiler
    has ways of its own to fuse steps, and autocast chooses the precision of each.
    """
    kind = x.device.type
    cast = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    left_alone = cast or torch.compiler.is_compiling() or x.shape[1] == 1
    return type(cell) is LSTMCell and not left_alone


def _step_by_step(
    cell: Cell[State], x: Tensor, state: State, real: Tensor | None
) -> tuple[Tensor, State]:
    """Return all h and the last state; where a step is not ``real`` it stands still."""
    outputs = []
    # All inputs are projected in one product, and cut at once: the gradient of each
    # slice cut by itself would be as large as the whole.
    for t, projected in enumerate(cell.project(x).unbind(dim=1)):
        before, state = state, cell.step(projected, state)
        if real is not None:
            state = choose(real[:, t], state, before)
        outputs.append(shown(state))
    return torch.stack(outputs, dim=1), state  # (B, T, D)
