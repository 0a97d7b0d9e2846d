"""What a recurrent cell carries from one step to the next.

A plain cell carries one tensor, ``h``; an LSTM carries two. The functions here treat
both alike. Axes: B batch, D hidden width, L layers.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from unrolled.shapes import check_dtype, check_shape


class LSTMState(NamedTuple):
    """What an LSTM carries between steps: ``h`` is shown, ``c`` is kept."""

    h: Tensor
    c: Tensor


State = TypeVar("State", Tensor, LSTMState)


def each(change: Callable[..., Tensor], *states: State) -> State:
    """Return the state whose tensors are ``change`` of those of the states given."""
    first = states[0]
    if isinstance(first, Tensor):
        return change(*states)
    return LSTMState(*map(change, *states))


def choose(on: Tensor, this: State, that: State) -> State:
    """Return the rows of ``this`` where ``on`` (B, 1) is True, and else of ``that``."""
    return each(lambda a, b: torch.where(on, a, b), this, that)


def shown(state: Tensor | LSTMState) -> Tensor:
    """Return what others see of a state: its ``h``."""
    return state if isinstance(state, Tensor) else state.h


def check_state(state: State, like: State, weight: Tensor, *, axes: str) -> None:
    """Refuse a state that is not of the kind and shape of ``like``.

    ``axes`` is "B D" for one layer, whose state is named ``h``, and "L B D" for a
    stack, whose state is named ``h_0``; numbers must be of the kind of ``weight``.
    """
    one, two = (isinstance(s, Tensor) for s in (state, like))
    if one != two:
        wanted = "a tensor, h" if two else "an LSTMState(h, c)"
        raise ValueError(f"the state must be {wanted}, got a {type(state).__name__}")
    names = ("h_0", "c_0") if axes == "L B D" else ("h", "c")
    for name, tensor, model in zip(names, _parts(state), _parts(like), strict=False):
        sizes = dict(zip(axes.split(), model.shape, strict=True))
        check_shape(name, tensor, axes, **sizes)
        check_dtype(name, tensor, weight)


def _parts(state: Tensor | LSTMState) -> tuple[Tensor, ...]:
    return (state,) if isinstance(state, Tensor) else tuple(state)
