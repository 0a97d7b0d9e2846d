r"""Normalisation: give every position the same scale, whatever it says.

Axes: B batch, T position, D model width. Each formula is here twice: as a function
that reads as the equation, and as a module that is fast: LayerNorm by PyTorch's own
kernel, RMSNorm by a backward pass written out here, as PyTorch has no such kernel for
processors. The tests hold the two to the same answer.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from unrolled.shapes import at_least


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, *, eps: float = 1e-5) -> Tensor:
    r"""Centre and scale every row of ``x`` (..., D), by hand.

    .. math::

        \operatorname{LN}(\mathbf{x}) = \frac{\mathbf{x} - \mu}{\sqrt{\sigma^2 +
            \epsilon}} \odot \mathbf{g} + \mathbf{b}

    :math:`\mu` and :math:`\sigma^2` are the mean and the variance of the D numbers of
    one position: the sum of squares divided by D, not by D − 1.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * gain + bias


def rms_norm(x: Tensor, gain: Tensor, *, eps: float = 1e-5) -> Tensor:
    r"""Scale every row of ``x`` (..., D) to length :math:`\sqrt{D}`, by hand.

    .. math::

        \operatorname{RMS}(\mathbf{x}) = \frac{\mathbf{x}}{\sqrt{\frac{1}{D}
            \sum_i x_i^2 + \epsilon}} \odot \mathbf{g}

    It is LayerNorm without the mean and the bias: the direction stays as it is.
    """
    return x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps) * gain


class LayerNorm(nn.Module):
    """What :func:`layer_norm` says, with a gain that starts at one and a bias at zero.

    GPT-2 has ``eps`` = 1e-5; BERT and ViT have 1e-12.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x`` (..., D) along its last axis."""
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


class _UnitRMS(torch.autograd.Function):
    r"""Divide by the root mean square, :math:`\mathbf{y} = \mathbf{x} / r`.

    .. math:: \frac{\partial L}{\partial \mathbf{x}} = \frac{1}{r} \Bigl(\mathbf{g}
        - \mathbf{y} \, \frac{1}{D} \sum_i g_i y_i \Bigr), \qquad
        \mathbf{g} = \frac{\partial L}{\partial \mathbf{y}}

    Autograd, left to itself, makes twice as many passes over the numbers.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        shrink = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
        y = x * shrink
        ctx.save_for_backward(y, shrink)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        y, shrink = ctx.saved_tensors
        along = (g * y).mean(dim=-1, keepdim=True)
        return torch.addcmul(g, y, along, value=-1).mul_(shrink), None


def unit_rms(x: Tensor, *, eps: float = 1e-5) -> Tensor:
    """Return what :func:`rms_norm` says without a gain, fast; ``x`` is (..., D)."""
    if not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return torch.rms_norm(x, x.shape[-1:], None, eps)  # no backward, or a fused one
    y: Tensor = _UnitRMS.apply(x, eps)
    return y


class RMSNorm(nn.Module):
    """What :func:`rms_norm` says, with a gain that starts at one."""

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x`` (..., D) along its last axis."""
        return unit_rms(x, eps=self.eps) * self.gain


class UnitRMSNorm(nn.Module):
    """RMSNorm without a gain: the product that comes next can learn it as well."""

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x`` (..., D) along its last axis."""
        return unit_rms(x, eps=self.eps)
