"""What a model is trained on: inputs and the answers to them."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Inputs ``x`` and targets ``y`` of equal length B, moved together."""

    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(
                f"x has {len(self.x)} rows and y has {len(self.y)}: "
                "each input needs its own target"
            )

    def __len__(self) -> int:
        return len(self.x)

    def to(self, device: torch.device) -> Self:
        """Return the same batch on ``device``."""
        return type(self)(x=self.x.to(device), y=self.y.to(device))
