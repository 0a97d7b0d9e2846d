"""Two units learn two flip-flops: watch the attractors appear, over many seeds.

Each seed trains a fresh :class:`~unrolled.models.tagger.Tagger` with a two-dimensional
state. Every 25 updates the weights are frozen, the input is silenced, and the resting
points of the state are counted: a memory of two bits needs four. In the 25 updates
before four are first seen they are counted after every one.
"""

import copy
import json
import shutil
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.made.draws import stream_batches
from unrolled.data.made.flip_flop import flip_flop
from unrolled.evaluation.dynamics import portrait
from unrolled.layers.recurrent import RNNCell
from unrolled.models.tagger import Tagger, TaggerConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW

MODEL = TaggerConfig(d_in=2, d_hidden=2, d_out=2)
TRAIN = TrainConfig(steps=1000, lr=0.01, optimizer=AdamW(fused=False))
EVERY = 25
WEIGHTS = ("W_x", "W_h", "b", "V", "c")
UNITS: list[dict[str, Any]] = [{"seed": seed} for seed in range(20)]
VERSION = 2


def loss_fn(model: Tagger, batch: Batch) -> Tensor:
    """Return the binary cross-entropy of the answers, set against reset."""
    return F.binary_cross_entropy_with_logits(model(batch.x), (batch.y > 0).float())


def accuracy(model: Tagger, batch: Batch) -> float:
    """Return the share of right answers over all rows, steps and wires."""
    with torch.no_grad():
        right = (model(batch.x) > 0) == (batch.y > 0)
    return right.float().mean().item()


def train(seed: int) -> tuple[Tagger, list[dict[str, Any]]]:
    """Train one network; return it and a snapshot of its life every 25 updates."""
    seed_all(seed)
    model = Tagger(MODEL)
    test = flip_flop(64, 200, n_wires=2, generator=generator(10_000))
    life = [_snapshot(model, test, update=0)]
    batches = stream_batches(flip_flop, 32, 30, n_wires=2, generator=generator(seed))
    for update, _ in training_steps(model, loss_fn, batches, TRAIN):
        if update % EVERY == 0:
            life.append(_snapshot(model, test, update=update))
    return model, life


def before_four(seed: int) -> list[int]:
    """Train once more; count the resting points after each update of the stretch.

    It ends with the first snapshot that has four, and has ``EVERY`` updates.
    """
    seed_all(seed)
    model = Tagger(MODEL)
    batches = stream_batches(flip_flop, 32, 30, n_wires=2, generator=generator(seed))
    stretch: list[RNNCell] = []
    for update, _ in training_steps(model, loss_fn, batches, TRAIN):
        stretch.append(copy.deepcopy(_cell(model)))
        if update % EVERY == 0:
            if _resting_points(stretch[-1]) == 4:
                break
            stretch.clear()
    return [_resting_points(cell) for cell in stretch]


def far_test() -> Batch:
    """Return sequences of 5,000 steps with an order in 500: silences of thousands."""
    return flip_flop(20, 5000, n_wires=2, p_order=0.002, generator=generator(10_001))


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the network of one seed; keep the course of its training and its end."""
    model, life = train(unit["seed"])
    save_file(_weights(model), folder / f"seed-{unit['seed']}.safetensors")
    keep = ("update", "accuracy", "attractors", "restless")
    return {
        "life": [{key: moment[key] for key in keep} for moment in life],
        "before four": before_four(unit["seed"]),
        "far accuracy": accuracy(model, far_test()),
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Count how the seeds begin and end, and what they pass through."""
    courses = [[m["attractors"] for m in unit["life"]] for unit in units]
    last = [unit["life"][-1] for unit in units]
    return {
        "seeds": len(units),
        "begin with one": sum(course[0] == 1 for course in courses),
        "pass through two": sum(2 in course for course in courses),
        "end with four": sum(course[-1] == 4 for course in courses),
        "pass through three": sum(
            3 in course + unit["before four"]
            for unit, course in zip(units, courses, strict=True)
        ),
        "three in a snapshot": sum(3 in course for course in courses),
        "fell back to one": sum(
            1 in course[course.index(2) :] for course in courses if 2 in course
        ),
        "least accuracy": min(m["accuracy"] for m in last),
        "least far accuracy": min(unit["far accuracy"] for unit in units),
        "starts that never rest": sum(m["restless"] for u in units for m in u["life"]),
    }


def export(folder: Path, target: Path) -> None:
    """Write the network of seed 0 as a checkpoint and as a script for the lab."""
    kept = folder / "seed-0.safetensors"
    shutil.copyfile(kept, target / "flip-flop.safetensors")
    tensors = load_file(kept)
    numbers = json.dumps({name: tensors[name].tolist() for name in WEIGHTS})
    (target / "flip-flop.js").write_text(
        "window.UnrolledLab = window.UnrolledLab || {};\n"
        "window.UnrolledLab.models = window.UnrolledLab.models || {};\n"
        f'window.UnrolledLab.models["flip-flop"] = {numbers};\n',
        encoding="utf-8",
        newline="\n",
    )


def _weights(model: Tagger) -> dict[str, Tensor]:
    """Return the weights by their names in the book's equations."""
    cell, read = _cell(model), model.read
    weights = (cell.W_x, cell.W_h, cell.b, read.weight.T, read.bias)
    tensors = (w.detach().clone().contiguous() for w in weights)
    return dict(zip(WEIGHTS, tensors, strict=True))


def _cell(model: Tagger) -> RNNCell:
    return cast(RNNCell, model.rnn.cells[0])


def _resting_points(cell: RNNCell) -> int:
    silence = torch.zeros(1, cell.d_in)
    return len(portrait(cell, silence, n_grid=21).basins.points)


def _snapshot(model: Tagger, test: Batch, *, update: int) -> dict[str, Any]:
    state = {name: w.detach().clone() for name, w in model.state_dict().items()}
    rest = portrait(_cell(model), test.x[0], n_grid=21).basins
    return {
        "update": update,
        "accuracy": accuracy(model, test),
        "attractors": len(rest.points),
        "restless": int((rest.owner < 0).sum()),
        "weights": state,
    }
