r"""Pooling: one vector out of a sequence of states, whatever its length.

Axes: B batch, T time, D width of a state. A mask (B, T) is boolean and True where a
step is real; without one, all are. What is not real has no say, even if it is ``nan``,
and a row in which nothing is real is refused.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from unrolled.layers.alignment import look
from unrolled.shapes import at_least, check_shape

#: From states (B, T, D) and their mask to one vector a row, (B, D).
Pool = Callable[[Tensor, Tensor | None], Tensor]


def last_state(states: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the last real state of each row: (B, T, D) to (B, D)."""
    real = _real(states, mask)
    steps = torch.arange(states.shape[1], device=states.device)
    return _at(states, torch.where(real, steps, -1).amax(dim=1))


def end_states(states: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return where each direction of a bidirectional layer has ended: (B, D).

    The first half of each state has read ahead, and ends at the last real step. The
    second half has read back, and ends at the first: at the last it has read one step.
    """
    real = _real(states, mask)
    _, n_steps, width = states.shape
    if width % 2:
        raise ValueError(f"states has D={width}; two directions have an even width")
    ahead, back = states.chunk(2, dim=-1)
    steps = torch.arange(n_steps, device=states.device)
    first = torch.where(real, steps, n_steps).amin(dim=1)
    return torch.cat([last_state(ahead, mask), _at(back, first)], dim=-1)


def mean_state(states: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Return the mean of the real states of each row: (B, T, D) to (B, D).

    .. math:: \frac{1}{T} \sum_{t=1}^{T} \mathbf{h}_t
    """
    real = _real(states, mask)[..., None]  # (B, T, 1)
    return states.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1)


def max_state(states: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return each unit's highest value at any real step: (B, T, D) to (B, D)."""
    real = _real(states, mask)[..., None]
    return states.masked_fill(~real, -torch.inf).amax(dim=1)


class AttentionPool(nn.Module):
    r"""A weighted mean of the states, whose weights are learned and have no query.

    .. math::

        e_t = \tanh(\mathbf{h}_t \mathbf{W} + \mathbf{b}) \cdot \mathbf{v}, \qquad
        \alpha_t = \frac{\exp e_t}{\sum_{t'} \exp e_{t'}}, \qquad
        \sum_{t=1}^{T} \alpha_t \mathbf{h}_t
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        self.d_model = d_model
        self.W = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the weighted mean of each row: (B, T, D) to (B, D)."""
        return self._look(states, mask)[0]

    def weights(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""Return the :math:`\alpha` (B, T): each row sums to one over what is real."""
        return self._look(states, mask)[1]

    def _look(self, states: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        check_shape("states", states, "B T D", D=self.d_model)
        real = _real(states, mask)
        states = states.masked_fill(~real[..., None], 0.0)  # zero times nan is nan
        scores = self.v(torch.tanh(self.W(states))).mT  # (B, 1, T)
        pooled, weights = look(scores, states, real)
        return pooled[:, 0], weights[:, 0]


def check_mask(name: str, mask: Tensor, n_rows: int, n_steps: int) -> None:
    """Refuse a mask that is not boolean (B, T), or has a row with nothing real."""
    check_shape(name, mask, "B T", B=n_rows, T=n_steps)
    if mask.dtype != torch.bool:
        raise ValueError(f"{name} is {mask.dtype}; it must be boolean, True where real")
    if torch.compiler.is_compiling() or mask.is_meta:
        return  # a look at the numbers would break the graph, or there are none
    if bool((empty := ~mask.any(dim=1)).any()):
        rows = empty.nonzero()[:, 0].tolist()
        raise ValueError(f"{name} is False throughout in rows {rows}: nothing is real")


def _real(states: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask, checked; without one, that of rows that are real throughout."""
    check_shape("states", states, "B T D")
    n_rows, n_steps, _ = states.shape
    if n_steps == 0:
        raise ValueError(
            f"states has no time steps: its shape is {tuple(states.shape)}"
        )
    if mask is None:
        return torch.ones(n_rows, n_steps, dtype=torch.bool, device=states.device)
    check_mask("mask", mask, n_rows, n_steps)
    return mask


def _at(states: Tensor, places: Tensor) -> Tensor:
    """Return the state of each row at its place: (B, T, D) and (B,) to (B, D)."""
    return states[torch.arange(len(states), device=states.device), places]
