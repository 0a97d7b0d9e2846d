"""Run recurrent cells along the time axis.

Axes: B batch, T time, E input width, D hidden width.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from unrolled.layers.states import State, check_state, choose, shown
from unrolled.shapes import check_dtype, check_lengths, check_shape


class Cell(Protocol[State]):
    """A step of a recurrent network, and apart from it what needs no state."""

    d_in: int
    d_hidden: int
    W_x: nn.Parameter
    W_h: nn.Parameter

    def empty(self, x: Tensor) -> State:
        """Return the state before the first step of ``x`` (B, ...)."""

    def project(self, x: Tensor) -> Tensor:
        """Return the input's share of a step: of one, or of all at once."""

    def step(self, projected: Tensor, state: State) -> State:
        """Return the state after a step."""


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
    empty = cell.empty(x)
    if state is None:
        state = empty
    check_state(state, empty, cell.W_h, axes="B D")
    real = None
    if lengths is not None:
        check_lengths(lengths, n_rows, n_steps)
        steps = torch.arange(n_steps, device=x.device)
        real = (steps < lengths.to(x.device)[:, None])[..., None]  # (B, T, 1)
        x = x.masked_fill(~real, 0.0)  # even a nan there must not spread
    outputs = []
    # All inputs are projected in one product, and cut at once: the gradient of each
    # slice cut by itself would be as large as the whole.
    for t, projected in enumerate(cell.project(x).unbind(dim=1)):
        before, state = state, cell.step(projected, state)
        if real is not None:
            state = choose(real[:, t], state, before)
        outputs.append(shown(state))
    states = torch.stack(outputs, dim=1)  # (B, T, D)
    return states if real is None else states.masked_fill(~real, 0.0), state
