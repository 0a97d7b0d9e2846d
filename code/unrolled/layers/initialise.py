"""Starting values for the weights that carry the state.

How a recurrent network begins decides how far its gradient reaches. Each function
changes a matrix in place and returns it; D is the width of the state. What the two
numbers measured here do to a gradient is equation :eq:`bptt-bounds`.
"""

import torch
from torch import Tensor, nn


@torch.no_grad()
def identity_(W: Tensor) -> Tensor:
    """Make ``W`` (D, D) the identity: in silence a linear state stays as it is."""
    return nn.init.eye_(_square(W))


@torch.no_grad()
def orthogonal_(W: Tensor) -> Tensor:
    """Make ``W`` (D, D) a random rotation or reflection: it changes no length."""
    return nn.init.orthogonal_(_square(W))


@torch.no_grad()
def scale_to_radius_(W: Tensor, radius: float) -> Tensor:
    """Scale ``W`` (D, D) so that its largest eigenvalue is ``radius`` in size."""
    if radius < 0:
        raise ValueError(f"{radius=} must not be negative")
    now = spectral_radius(_square(W))
    if now == 0:
        raise ValueError("W has no eigenvalue but zero: no factor can scale it")
    return W.mul_(radius / now)


def spectral_radius(W: Tensor) -> float:
    r"""Return :math:`\rho`, the size of the largest eigenvalue of ``W`` (D, D)."""
    return torch.linalg.eigvals(_square(W).detach()).abs().max().item()


def largest_singular_value(W: Tensor) -> float:
    r"""Return :math:`\sigma_1`, the most by which ``W`` (D, D) stretches a vector."""
    return torch.linalg.matrix_norm(_square(W).detach(), 2).item()


def two_by_two(radius: float, stretch: float) -> Tensor:
    r"""Return a 2 × 2 matrix with :math:`\rho` = radius and :math:`\sigma_1` = stretch.

    Both eigenvalues of :math:`\begin{pmatrix} \rho & c \\ 0 & \rho \end{pmatrix}` are
    :math:`\rho`, and :math:`c = \sigma_1 - \rho^2 / \sigma_1` gives it the stretch.
    """
    if not 0 <= radius <= stretch or stretch == 0:
        raise ValueError(
            f"{radius=} must lie between 0 and {stretch=}: no matrix stretches less "
            "than its eigenvalues say"
        )
    c = stretch - radius**2 / stretch
    return torch.tensor([[radius, c], [0.0, radius]], dtype=torch.float64)


def _square(W: Tensor) -> Tensor:
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be square, (D, D); its shape is {tuple(W.shape)}")
    return W
