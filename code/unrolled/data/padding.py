"""Rows of unequal length made into batches: padded, masked, and sorted into buckets.

Axes: B rows, T steps of the longest row, S of the longest source.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from unrolled.data.batch import Batch, PairBatch
from unrolled.shapes import at_least

Ids = Sequence[int]


def pad(rows: Sequence[Ids], *, pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """Return the rows as one tensor (B, T), filled up on the right, and its mask."""
    if not rows:
        raise ValueError("rows is empty: there is nothing to pad")
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]  # (B, T)
    ids = np.full(mask.shape, pad_id, dtype=np.int64)
    ids[mask] = list(chain.from_iterable(rows))  # NumPy: lists are slow in torch
    return torch.from_numpy(ids), torch.from_numpy(mask)


def pad_labelled(rows: Sequence[Ids], labels: Tensor, *, pad_id: int = 0) -> Batch:
    """Return padded rows with one label each: ``labels`` (B,), of any kind."""
    if not isinstance(labels, Tensor):
        kind = type(labels).__name__
        raise ValueError(f"labels is a {kind}; make it torch.tensor(labels)")
    x, mask = pad(rows, pad_id=pad_id)
    return Batch(x=x, y=labels, mask=mask)


def pad_tagged(rows: Sequence[Ids], tags: Sequence[Ids], *, pad_id: int = 0) -> Batch:
    """Return padded rows with one tag for each of their steps."""
    if len(rows) != len(tags):
        raise ValueError(
            f"there are {len(rows)} rows and {len(tags)} rows of tags: "
            "each row needs its own"
        )
    for i, (row, row_tags) in enumerate(zip(rows, tags, strict=True)):
        if len(row) != len(row_tags):
            raise ValueError(
                f"row {i} has {len(row)} steps and {len(row_tags)} tags: "
                "each step needs its own tag"
            )
    x, mask = pad(rows, pad_id=pad_id)
    return Batch(x=x, y=pad(tags, pad_id=pad_id)[0], mask=mask)


def pad_pairs(
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    *,
    begin_id: int,
    end_id: int,
    pad_id: int = 0,
) -> PairBatch:
    """Return padded pairs; the writer sees ``begin_id`` first and must end itself."""
    if len(sources) != len(targets):
        raise ValueError(
            f"there are {len(sources)} sources and {len(targets)} targets: "
            "each source needs its own target"
        )
    source, source_mask = pad(sources, pad_id=pad_id)
    whole, mask = pad([[begin_id, *row, end_id] for row in targets], pad_id=pad_id)
    target_mask = mask[:, 1:]
    return PairBatch(
        source=source,
        source_mask=source_mask,
        target_in=whole[:, :-1].where(target_mask, pad_id),
        target_out=whole[:, 1:],
        target_mask=target_mask,
    )


def buckets(
    lengths: Ids, n_rows: int, *, generator: torch.Generator, pool: int = 32
) -> Iterator[list[int]]:
    """Yield the places of all rows once, ``n_rows`` of like length at a time.

    The rows are shuffled, sorted by length within pools of ``pool`` batches, and the
    batches shuffled again: little padding, and yet another order each time. One batch
    may be smaller than the others.
    """
    at_least(1, n_rows=n_rows, pool=pool)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches: list[list[int]] = []
    for start in range(0, len(order), n_rows * pool):
        near = sorted(order[start : start + n_rows * pool], key=lengths.__getitem__)
        batches += [near[i : i + n_rows] for i in range(0, len(near), n_rows)]
    again = torch.randperm(len(batches), generator=generator).tolist()
    return (batches[i] for i in again)
