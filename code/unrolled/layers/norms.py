r"""Normalisation: give every position the same scale, whatever it says.

Axes: B batch, T position, D model width. Each formula is here twice: as a function
that reads as the equation, and as a module that runs PyTorch's own kernel (for
LayerNorm about four times as fast). The tests hold the two to the same answer.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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


class RMSNorm(nn.Module):
    """What :func:`rms_norm` says, with a gain that starts at one."""

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        at_least(1, d_model=d_model)
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x`` (..., D) along its last axis."""
        return F.rms_norm(x, self.gain.shape, self.gain, self.eps)
