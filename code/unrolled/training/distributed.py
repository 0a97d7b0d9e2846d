"""Several processes that train one model: data parallel, as torchrun starts them.

Each process holds the whole model and reads its rows of every batch; the gradients of
all are added up, so that all take the same step. Without torchrun there is one process,
and everything here does nothing.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from unrolled.data.transfer import SomeBatch
from unrolled.runtime import join_backend
from unrolled.training.digests import digest


@contextmanager
def together() -> Iterator[None]:
    """Join the processes that torchrun started; alone, or joined already, do nothing.

    After an error the group is left as it is: taking leave would wait for the others,
    who wait for us. This process ends, and torchrun ends them.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ or dist.is_initialized():
        yield
        return
    dist.init_process_group(join_backend())
    yield
    dist.destroy_process_group()


def check_joined() -> None:
    """Refuse to train in processes of torchrun that know nothing of each other."""
    n = int(os.environ.get("WORLD_SIZE", "1"))
    if "TORCHELASTIC_RUN_ID" in os.environ and n > 1 and not dist.is_initialized():
        raise ValueError(
            f"torchrun has started {n} processes, and each would train alone and write "
            "the same files: train inside 'with together():'"
        )


def n_processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def this_process() -> int:
    """Return the number of this process, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def leads() -> bool:
    """Return whether this is the process that writes files and shows the bar."""
    return this_process() == 0


@torch.no_grad()
def start_alike(model: nn.Module) -> None:
    """Give all processes the weights of the first, and draws of their own.

    Were their draws the same, dropout would drop the same units for different rows.
    """
    if n_processes() == 1:
        return
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor, src=0)
    if not leads():
        torch.manual_seed(int(torch.randint(2**31, ())) + this_process())


def shares(
    batch: SomeBatch, n_pieces: int, count: Callable[[SomeBatch], int]
) -> list[tuple[SomeBatch, float]]:
    """Cut ``batch`` by rows for all processes; return our pieces and their weights.

    The loss of a piece is a mean over what ``count`` counts there. Weighted by its part
    of the whole count, and added up over the pieces of all processes, it is the mean
    over the batch: a mean of means would give a short row more than its due.
    """
    n = n_pieces * n_processes()
    if n == 1:
        return [(batch, 1.0)]
    ends = [len(batch) * i // n for i in range(n + 1)]
    ours = range(n_pieces * this_process(), n_pieces * (this_process() + 1))
    pieces = [_rows(batch, ends[i], ends[i + 1]) for i in ours]
    if not (total := count(batch)):
        raise ValueError("a batch counts no target: its mask is False everywhere")
    weighed = [(piece, count(piece) / total) for piece in pieces if len(piece)]
    return [(piece, weight) for piece, weight in weighed if weight]


def check_same(batch: Any) -> None:
    """Refuse a batch of which another process has a different one.

    Each takes its rows of a batch that all must have drawn alike. Where it was drawn
    without a generator of its own, each process has drawn something else.
    """
    if n_processes() == 1:
        return
    held = torch.frombuffer(bytearray(digest(batch)), dtype=torch.uint8)
    if not all(torch.equal(held, other) for other in gathered(held)):
        raise ValueError(
            "the processes have drawn different batches: draw them from a generator "
            "with the same seed in all"
        )


@torch.no_grad()
def add_up(model: nn.Module, loss: Tensor) -> Tensor:
    """Add up the gradients of all processes in place; return the sum of their losses.

    One vector carries all. Before the gradients it says which weights have one: a
    weight that no process has used must stay without, or it would decay.
    """
    if n_processes() == 1:
        return loss
    weights = [w for w in model.parameters() if w.requires_grad]
    loss = loss.to(weights[0].dtype)
    used = loss.new_tensor([w.grad is not None for w in weights])
    slopes = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
    everything = torch.cat([loss[None], used, *(slope.flatten() for slope in slopes)])
    dist.all_reduce(everything)
    sizes = [1, len(weights), *(w.numel() for w in weights)]
    total, used, *sums = everything.split(sizes)
    for i, (w, slope) in enumerate(zip(weights, sums, strict=True)):
        if w.grad is not None or used[i]:
            w.grad = slope.view_as(w).to(w.dtype, copy=True)
    return total[0]


def agreed(number: float) -> float:
    """Return what the first process says."""
    said = torch.tensor([number], dtype=torch.float64)
    if n_processes() > 1:
        dist.broadcast(said, src=0)
    return float(said)


def sent(data: bytes) -> bytes:
    """Return the bytes that the first process has."""
    if n_processes() == 1:
        return data
    held = torch.empty(int(agreed(len(data))), dtype=torch.uint8)
    if not len(held):
        return b""
    if leads():
        held.numpy()[:] = memoryview(data)
    dist.broadcast(held, src=0)
    return held.numpy().tobytes()


def wait_for_all() -> None:
    """Return when every process has come this far."""
    if n_processes() > 1:
        dist.barrier()


def gathered(tensor: Tensor) -> list[Tensor]:
    """Return the ``tensor`` of every process, in order; all have one shape."""
    if n_processes() == 1:
        return [tensor]
    held = [torch.empty_like(tensor) for _ in range(n_processes())]
    dist.all_gather(held, tensor)
    return held


def _rows(batch: SomeBatch, start: int, stop: int) -> SomeBatch:
    parts: dict[str, Any] = {f.name: getattr(batch, f.name) for f in fields(batch)}
    cut = {name: part[start:stop] for name, part in parts.items() if part is not None}
    return replace(batch, **cut)
