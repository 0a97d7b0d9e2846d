"""Batches on their way to the device that trains."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import torch

from unrolled.data.batch import Batch, PairBatch
from unrolled.runtime import copies_aside

SomeBatch = TypeVar("SomeBatch", Batch, PairBatch)


def to_device(
    batches: Iterable[SomeBatch], device: torch.device
) -> Iterator[SomeBatch]:
    """Yield the batches on ``device``, asking for each before it is needed.

    A GPU fetches the next batch out of pinned memory by itself while the program goes
    on; elsewhere this is ``batch.to(device)``. Untested on a GPU.
    """
    if not copies_aside(device):
        yield from (batch.to(device) for batch in batches)
        return
    ready: SomeBatch | None = None
    for batch in batches:
        coming = batch.pin_memory().to(device, non_blocking=True)
        if ready is not None:
            yield ready
        ready = coming
    if ready is not None:
        yield ready
