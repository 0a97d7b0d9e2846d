"""What models begin with alike.

Axes: B batch, T position.
"""

from typing import TypeVar

import torch
from torch import Tensor, nn

from unrolled.data.batch import check_mask

Model = TypeVar("Model", bound=nn.Module)


@torch.no_grad()
def start_small(model: Model, *, scale: float = 0.02) -> Model:
    """Draw all matrices and tables of tokens anew, small around zero; biases are zero.

    Scores of a tied output are then near zero, whatever the token: an untrained model
    holds all tokens for about equally likely. Learned positions start so by themselves.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            module.weight.normal_(std=scale)
        if isinstance(module, nn.Linear) and module.bias is not None:
            module.bias.zero_()
    return model


def visible(mask: Tensor | None, ids: Tensor) -> Tensor | None:
    """Return who may be attended to, (B, 1, 1, T), for real tokens (B, T)."""
    if mask is None:
        return None
    check_mask("mask", mask, "ids", ids)
    return mask[:, None, None]
