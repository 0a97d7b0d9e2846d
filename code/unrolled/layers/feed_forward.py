"""Feed-forward networks: what a block does to each position by itself.

Axes: B batch, T position, D model width. In between they are ``d_inner`` wide, four
times the model's width by custom.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.shapes import at_least


def gelu_tanh(x: Tensor) -> Tensor:
    """GPT-2's approximation of GELU; BERT and ViT have the exact one, ``F.gelu``."""
    return F.gelu(x, approximate="tanh")


class _SquaredReLU(torch.autograd.Function):
    """Its own backward pass, 2 g relu(x), is much faster than that of two functions."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return F.relu(x).square_()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return F.relu(x) * g * 2


def squared_relu(x: Tensor) -> Tensor:
    """ReLU, squared: zero has no corner, and what is large counts for more."""
    if torch.compiler.is_compiling():
        return F.relu(x).square()
    y: Tensor = _SquaredReLU.apply(x)
    return y


class FeedForward(nn.Module):
    r"""Two products with a function between them, for each position by itself.

    .. math:: \phi(\mathbf{x} \mathbf{W}_1 + \mathbf{b}_1) \mathbf{W}_2 + \mathbf{b}_2
    """

    def __init__(
        self,
        d_model: int,
        d_inner: int,
        activation: Callable[[Tensor], Tensor] = F.relu,
        *,
        bias: bool = True,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        at_least(1, d_model=d_model, d_inner=d_inner)
        self.W_1 = nn.Linear(d_model, d_inner, bias=bias)
        self.W_2 = nn.Linear(d_inner, d_model, bias=bias)
        self.activation = activation
        self.p_drop = p_drop

    def forward(self, x: Tensor) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D)."""
        inner = self.activation(self.W_1(x))  # (B, T, d_inner)
        if self.training and self.p_drop:
            inner = F.dropout(inner, self.p_drop)
        y: Tensor = self.W_2(inner)
        return y


class SwiGLU(nn.Module):
    r"""Llama's feed-forward network: one half of a product gates the other.

    .. math:: (\operatorname{silu}(\mathbf{x} \mathbf{W}_g) \odot
        \mathbf{x} \mathbf{W}_u) \mathbf{W}_d

    :math:`\operatorname{silu}(a) = a \, \sigma(a)`. ``W_gu`` holds :math:`\mathbf{W}_g`
    (``gate_proj``) before :math:`\mathbf{W}_u` (``up_proj``).
    """

    def __init__(self, d_model: int, d_inner: int) -> None:
        super().__init__()
        at_least(1, d_model=d_model, d_inner=d_inner)
        self.W_gu = nn.Linear(d_model, 2 * d_inner, bias=False)
        self.W_d = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D)."""
        y: Tensor = self.W_d(self.gated(self.W_gu(x)))
        return y

    @staticmethod
    def gated(both: Tensor) -> Tensor:
        """Let the first half of ``both`` (B, T, 2 · d_inner) gate the second."""
        gate, up = both.chunk(2, dim=-1)
        return F.silu(gate) * up
