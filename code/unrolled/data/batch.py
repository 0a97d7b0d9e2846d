"""What a model is trained on: inputs, the answers to them, and which steps count.

Axes: B rows, T steps of the input or target, S steps of the source. A mask is True
where a step counts and False where it only fills a row up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from unrolled.shapes import at_least

AnyBatch = TypeVar("AnyBatch", bound="Batch | PairBatch")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Batch:
    """Inputs ``x`` and targets ``y`` of equal length B, moved together.

    ``mask`` (B, T) says which steps of the rows count; without one, all do.
    """

    x: Tensor
    y: Tensor
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(
                f"x has {len(self.x)} rows and y has {len(self.y)}: "
                "each input needs its own target"
            )
        if self.mask is not None:
            check_mask("mask", self.mask, "x", self.x)

    def __len__(self) -> int:
        return len(self.x)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Self:
        """Return the same batch on ``device``."""
        return _each(self, lambda x: x.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Return the same batch in memory that a GPU can read by itself."""
        return _each(self, Tensor.pin_memory)

    def split(self, n_rows: int) -> Iterator[Self]:
        """Cut the batch into batches of ``n_rows``; the last may be smaller."""
        at_least(1, n_rows=n_rows)
        starts = range(0, len(self), n_rows)
        return (_each(self, itemgetter(slice(i, i + n_rows))) for i in starts)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PairBatch:
    """Sources and their targets, for a model that reads one and writes the other.

    ``source`` (B, S) and its mask are what is read. ``target_in`` (B, T) is what the
    writer has seen before it writes each token of ``target_out`` (B, T): the same
    tokens, one step later. ``target_mask`` (B, T) is for both.
    """

    source: Tensor
    source_mask: Tensor
    target_in: Tensor
    target_out: Tensor
    target_mask: Tensor

    def __post_init__(self) -> None:
        check_mask("source_mask", self.source_mask, "source", self.source)
        for name in ("target_in", "target_out"):
            check_mask("target_mask", self.target_mask, name, getattr(self, name))
        if len(self.source) != len(self.target_in):
            raise ValueError(
                f"source has {len(self.source)} rows and target_in has "
                f"{len(self.target_in)}: each source needs its own target"
            )

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Self:
        """Return the same batch on ``device``."""
        return _each(self, lambda x: x.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Return the same batch in memory that a GPU can read by itself."""
        return _each(self, Tensor.pin_memory)


def _each(batch: AnyBatch, change: Callable[[Tensor], Tensor]) -> AnyBatch:
    """Return a batch of the same kind, every tensor of it changed."""
    changed: dict[str, Any] = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        changed[field.name] = value if value is None else change(value)
    return type(batch)(**changed)


def check_mask(name: str, mask: Tensor, of: str, steps: Tensor) -> None:
    """Refuse a mask that is not boolean, or of another size than what it masks."""
    if mask.dtype != torch.bool or mask.shape != steps.shape[:2]:
        raise ValueError(
            f"{name} is {mask.dtype} of shape {tuple(mask.shape)}; it must be boolean, "
            f"one value for each step of {of}: {tuple(steps.shape[:2])}"
        )
