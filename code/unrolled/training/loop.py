"""The training loop: one generator that steps, one function that drains it.

There are no callbacks. Whoever wants to look inside a run writes the ``for`` loop
themselves: ``for step, loss in training_steps(...): ...``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from unrolled.data.batch import Batch


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """How to train. What to train is the model's own config."""

    steps: int
    lr: float = 3e-4
    clip_norm: float = 1.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps={self.steps} must be at least 1")
        for name in ("lr", "clip_norm"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}={getattr(self, name)} must be positive")
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay={self.weight_decay} must not be negative")


def training_steps(
    model: nn.Module,
    loss_fn: Callable[[Any, Batch], Tensor],
    batches: Iterable[Batch],
    config: TrainConfig,
) -> Iterator[tuple[int, Tensor]]:
    """Take one step per batch and yield its number, from 1, and its loss.

    The loss is that of the weights *before* the step. It is a tensor on the model's
    device: reading it with ``.item()`` at every step would stall a GPU.
    """
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, weight_decay=config.weight_decay
    )
    done = 0
    for batch in batches:
        model.train()
        loss = loss_fn(model, batch.to(device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        done += 1
        yield done, loss.detach()
        if done == config.steps:
            return
    raise ValueError(f"batches ran out after {done} of {config.steps} steps")


def fit(
    model: nn.Module,
    loss_fn: Callable[[Any, Batch], Tensor],
    batches: Iterable[Batch],
    config: TrainConfig,
    *,
    progress: bool = False,
) -> list[float]:
    """Take ``config.steps`` steps and return the loss of each."""
    steps = training_steps(model, loss_fn, batches, config)
    bar = tqdm(steps, total=config.steps, unit="step", disable=not progress)
    return torch.stack([loss for _, loss in bar]).tolist()
