"""A training run: what changes while a model is trained, all in one place."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.training.config import TrainConfig
from unrolled.training.digests import digest


class Losses(list[float]):
    """The loss of every step; ``validation`` holds what was found after some."""

    def __init__(self, losses: Iterable[float] = ()) -> None:
        super().__init__(losses)
        self.validation: dict[int, float] = {}

    @property
    def best_step(self) -> int | None:
        """The step after which validation found the least, the first if several."""
        found = {step: x for step, x in self.validation.items() if not math.isnan(x)}
        return min(found, key=found.__getitem__, default=None)


class Stream:
    """Batches one by one, the last of them remembered."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self.batches, self.last = iter(batches), None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.last = next(self.batches)
        return self.last

    def digest(self) -> str:
        """Return a digest of the last batch drawn."""
        return digest(self.last).hex() if self.last is not None else ""


class Run:
    """Weights, optimizers, batches and losses, from the first step to the last."""

    def __init__(
        self, model: nn.Module, config: TrainConfig, batches: Iterable[Any]
    ) -> None:
        self.model, self.config, self.stream = model, config, Stream(batches)
        self.optimizers = config.build_optimizers(model)
        self.losses = Losses()
        self.best: dict[str, Tensor] = {}
        self._unread: list[Tensor] = []  # on the device: reading one would wait for it

    @property
    def done(self) -> int:
        """How many steps have been taken."""
        return len(self.losses) + len(self._unread)

    @property
    def over(self) -> bool:
        """Whether no step is left, or no patience."""
        if self.config.patience is None:
            return self.done >= self.config.steps
        since = [n for n in self.losses.validation if n > (self.losses.best_step or 0)]
        return self.done >= self.config.steps or len(since) >= self.config.patience

    def note(self, loss: Tensor) -> None:
        """Add the loss of a step."""
        self._unread.append(loss)

    def judge(self, score: float) -> None:
        """Add what validation found now, and keep the weights if it is the best."""
        self.losses.validation[self.done] = score
        if self.config.patience is not None and self.losses.best_step == self.done:
            state = self.model.state_dict()
            self.best = {name: held.detach().clone() for name, held in state.items()}

    def finish(self) -> Losses:
        """Return all losses; with patience, also go back to the best weights."""
        if self.best:
            self.model.load_state_dict(self.best)
        return self.read()

    def read(self) -> Losses:
        """Return all losses so far; this waits for the device."""
        if self._unread:
            self.losses.extend(torch.stack(self._unread).tolist())
            self._unread.clear()
        return self.losses
