r"""The reach of a gradient: the Jacobian of the last state by each earlier one.

Rows are examples, so a small change :math:`\delta` of a state becomes
:math:`\delta \mathbf{J}_t` one step later, with
:math:`\mathbf{J}_t = \mathbf{W}_h \operatorname{diag}(\phi'(\mathbf{a}_t))`, equation
:eq:`bptt-jacobian`. Axes: B rows, T steps, D hidden width.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.layers.variants import ReLUCell, SigmoidCell
from unrolled.shapes import check_shape

#: An activation and its slope, written in terms of the state that it gives.
ACTIVATIONS: dict[
    str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]
] = {
    "linear": (lambda a: a, torch.ones_like),
    "tanh": (torch.tanh, lambda h: 1 - h**2),
    "sigmoid": (torch.sigmoid, lambda h: h * (1 - h)),
    "relu": (torch.relu, lambda h: (h > 0).to(h.dtype)),
}

#: By which of them each kind of cell squashes.
SQUASHED_BY = {RNNCell: "tanh", SigmoidCell: "sigmoid", ReLUCell: "relu"}


def horizon(W_h: Tensor, pushes: Tensor, activation: str = "tanh") -> Tensor:
    r"""Return :math:`\lVert \partial \mathbf{h}_T / \partial \mathbf{h}_t \rVert_2`.

    ``pushes`` (T, D) is the input's share of each pre-activation; the state starts at
    zero. The result (T + 1,) is ordered by lag, T - t: its first entry, at lag 0, is 1.
    """
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise ValueError(f"{activation=} must be one of {known}")
    check_shape("W_h", W_h, "D D")
    check_shape("pushes", pushes, "T D", D=len(W_h))
    phi, slope = ACTIVATIONS[activation]
    h, slopes = W_h.new_zeros(len(W_h)), []
    for push in pushes:
        h = phi(push + h @ W_h)
        slopes.append(slope(h))
    return _norms(W_h, torch.stack(slopes)[None])[0]


@torch.no_grad()
def jacobian_norms(cell: RNNCell, x: Tensor) -> Tensor:
    """Return the same for a cell that reads ``x`` (B, T, E): (B, T + 1), by lag."""
    if type(cell) not in SQUASHED_BY:
        known = ", ".join(kind.__name__ for kind in SQUASHED_BY)
        raise ValueError(f"cell is a {type(cell).__name__}; it must be one of {known}")
    _, slope = ACTIVATIONS[SQUASHED_BY[type(cell)]]
    states, _ = unroll(cell, x)
    return _norms(cell.W_h, slope(states))


def _norms(W_h: Tensor, slopes: Tensor) -> Tensor:
    """Multiply the Jacobians, last step first; slopes (B, T, D) give (B, T + 1)."""
    n_rows, n_steps, _ = slopes.shape
    product = torch.eye(len(W_h), dtype=W_h.dtype, device=W_h.device)
    norms = [slopes.new_ones(n_rows)]
    for t in reversed(range(n_steps)):
        product = (W_h * slopes[:, t, None, :]) @ product  # (B, D, D)
        norms.append(torch.linalg.matrix_norm(product, 2))
    return torch.stack(norms, dim=1)
