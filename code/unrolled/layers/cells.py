"""What all recurrent cells have in common, and one step of any of them.

Axes: B batch, T time, E input width, D hidden width.
"""

from typing import Protocol

from torch import Tensor, nn

from unrolled.layers.states import State, check_state
from unrolled.shapes import check_dtype, check_shape


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


def one_step(cell: Cell[State], x_t: Tensor, state: State | None) -> State:
    """Return the state after ``x_t`` (B, E), all that is given being checked."""
    check_shape("x_t", x_t, "B E", E=cell.d_in)
    check_dtype("x_t", x_t, cell.W_x)
    return cell.step(cell.project(x_t), first_state(cell, x_t, state))


def first_state(cell: Cell[State], x: Tensor, state: State | None) -> State:
    """Return ``state``, checked, or the empty one of the rows of ``x`` (B, ...)."""
    empty = cell.empty(x)
    if state is None:
        return empty
    check_state(state, empty, cell.W_h, axes="B D")
    return state
