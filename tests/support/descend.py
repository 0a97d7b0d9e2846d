"""The shortest training there is, for tests that ask whether a model can learn."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def descend(
    model: nn.Module, loss: Callable[..., Tensor], *, n_steps: int, lr: float
) -> None:
    """Take ``n_steps`` steps of Adam down ``loss(model)``, always the same."""
    adam = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(n_steps):
        value = loss(model)
        adam.zero_grad()
        value.backward()
        adam.step()


def loss_of_counting(model: nn.Module, n_tokens: int) -> float:
    """Train a language model on texts that count by threes, and return its loss."""
    ids = (torch.randint(0, n_tokens, (32, 1)) + 3 * torch.arange(9)) % n_tokens

    def loss(model: nn.Module) -> Tensor:
        return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    descend(model, loss, n_steps=40, lr=0.02)
    return loss(model).item()
