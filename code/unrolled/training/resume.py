"""A run that can be stopped at any moment and goes on as if it had never been.

A checkpoint is one safetensors file with all that a step depends on: weights, the
optimizers' memory, the state of every generator, and how many batches were drawn.
"""

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor, nn

from unrolled.runtime import draws, restore_draws
from unrolled.training.distributed import (
    gathered,
    leads,
    n_processes,
    sent,
    this_process,
)
from unrolled.training.run import Losses, Run
from unrolled.training.settings import defaults_of, differences, values_of, written

Tensors = dict[str, Tensor]
FOUND = ("last batch", "validation")  # what a run has met; all else are its settings


def save(run: Run, path: Path) -> None:
    """Write a checkpoint so that a kill leaves the old file or the new one."""
    found = _prefixed("model", run.model.state_dict()) | _prefixed("best", run.best)
    for i, optimizer in enumerate(run.optimizers):
        for j, state in optimizer.state_dict()["state"].items():
            found |= _prefixed(f"optimizer.{i}.{j}", state)
    for name, state in draws(_device(run.model)).items():
        for k, held in enumerate(gathered(state)):
            found[f"draws.{k}.{name}"] = held
    found["losses"] = torch.tensor(run.read(), dtype=torch.float64)
    if not leads():
        return
    about = {name: written(value) for name, value in _settings(run).items()} | {
        "last batch": run.stream.digest(),
        "validation": json.dumps(run.losses.validation),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".writing")
    save_file({name: _apart(tensor) for name, tensor in found.items()}, beside, about)
    with beside.open("rb+") as file:
        os.fsync(file.fileno())  # on the disk before the old one is gone
    beside.replace(path)


def resume(run: Run, path: Path) -> None:
    """Let ``run`` go on from the checkpoint at ``path``; without one, start."""
    data = sent(path.read_bytes() if leads() and path.is_file() else b"")
    if not data:
        return
    found, about = _opened(path, data)
    _check(run, path, found, about)
    run.losses = Losses(found["losses"].tolist())
    validation = json.loads(about["validation"])
    run.losses.validation = {int(step): score for step, score in validation.items()}
    run.model.load_state_dict(_under("model", found))
    run.best = _under("best", found)
    for i, optimizer in enumerate(run.optimizers):
        memory: dict[int, Tensors] = {}
        for name, tensor in _under(f"optimizer.{i}", found).items():
            number, _, part = name.partition(".")
            memory.setdefault(int(number), {})[part] = tensor
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": memory, "param_groups": groups})
    _skip(run, path, about["last batch"])
    # last, because a stream may draw from the generators of the machine
    restore_draws(_under(f"draws.{this_process()}", found), _device(run.model))


def _settings(run: Run) -> dict[str, Any]:
    """Return what must be the same for a run to go on, by name."""
    model = getattr(run.model, "config", run.model)
    return values_of(run.config) | {"model": model, "processes": n_processes()}


def _check(run: Run, path: Path, found: Tensors, about: dict[str, str]) -> None:
    before = {name: text for name, text in about.items() if name not in FOUND}
    other = differences(before, _settings(run), defaults_of(run.config))
    weights = {name: w.shape for name, w in _under("model", found).items()}
    if weights != {name: w.shape for name, w in run.model.state_dict().items()}:
        other.append("its weights are those of another model")
    if other:
        raise ValueError(
            f"{path} is the checkpoint of another run: {'; '.join(other)}. "
            "Delete it, or go on with what it was made with"
        )


def _skip(run: Run, path: Path, digest: str) -> None:
    """Draw the batches that the run has seen, and make sure that they are those."""
    for drawn in range(run.done):
        if next(run.stream, None) is None:
            raise ValueError(
                f"batches ran out after {drawn}, but {path} has seen {run.done}: give "
                "fit the same batches from their beginning"
            )
    if run.stream.digest() != digest:
        raise ValueError(
            f"batch {run.done} is not the one that {path} has seen: give fit the same "
            "batches from their beginning, drawn from a generator of their own"
        )


def _opened(path: Path, data: bytes) -> tuple[Tensors, dict[str, str]]:
    try:
        found, size = load(data), int.from_bytes(data[:8], "little")
        about: dict[str, str] = json.loads(data[8 : 8 + size])["__metadata__"]
        if "last batch" in about:
            return found, about
    except (SafetensorError, KeyError):
        pass
    raise ValueError(f"{path} is no checkpoint of a training run, or it is damaged")


def _prefixed(prefix: str, tensors: dict[str, Any]) -> Tensors:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def _under(prefix: str, tensors: Tensors) -> Tensors:
    """Return the tensors whose names begin with ``prefix``, without it."""
    start = prefix + "."
    return {n.removeprefix(start): x for n, x in tensors.items() if n.startswith(start)}


def _apart(tensor: Tensor) -> Tensor:
    """Return a copy that shares no memory: tied weights are written twice."""
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
