r"""How far a gradient reaches: the Jacobian of the last state by each earlier one.

Rows are examples, so a small change :math:`\delta` of a state becomes
:math:`\delta \mathbf{J}_t` one step later, with
:math:`\mathbf{J}_t = \mathbf{W}_h \operatorname{diag}(\phi'(\mathbf{a}_t))`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
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
    h, states = W_h.new_zeros(len(W_h)), []
    for push in pushes:
        h = phi(push + h @ W_h)
        states.append(h)
    return _norms(W_h, [slope(h) for h in states])


@torch.no_grad()
def jacobian_norms(cell: RNNCell, x: Tensor) -> Tensor:
    """Return the same for a cell that reads ``x`` (B, T, E): (B, T + 1), by lag."""
    states, _ = unroll(cell, x)
    slopes = 1 - states**2  # (B, T, D)
    return torch.stack([_norms(cell.W_h, list(row)) for row in slopes])


def _norms(W_h: Tensor, slopes: list[Tensor]) -> Tensor:
    """Multiply the Jacobians from the last step back, and take each product's norm."""
    product = torch.eye(len(W_h), dtype=W_h.dtype, device=W_h.device)
    norms = [product.new_ones(())]
    for slope in reversed(slopes):
        product = (W_h * slope) @ product  # (D, D)
        norms.append(torch.linalg.matrix_norm(product, 2))
    return torch.stack(norms)
