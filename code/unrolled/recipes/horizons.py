"""How far the gradient reaches, before and through training, beside its predictions.

Each unit trains one network of 32 units to name a symbol that it saw 20 steps ago, and
stops now and then to measure the Jacobian of the last state by each earlier one, the
slopes of its units, and the two numbers that are said to govern it: the spectral radius
of ``W_h`` and its largest singular value. At the end it is asked after other lags too,
with its own read-out and with one fitted to that lag.
"""

import copy
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.made.draws import stream
from unrolled.data.made.recall import recall
from unrolled.evaluation.gradients import jacobian_norms
from unrolled.evaluation.probes import probe_accuracy
from unrolled.layers.initialise import (
    largest_singular_value,
    orthogonal_,
    spectral_radius,
)
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.models.classifier import Classifier
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW

LAG, D_IN, D_HIDDEN, N_SYMBOLS = 20, 10, 32, 8
EVERY = 20
ASKED = range(10, 31)  # the lags at which a trained network is tried
REFITTED = (19, 21, 100)  # and those at which another read-out is fitted
FAR = 100  # the lag at which its gradient is measured once more
TRAIN = {
    "default": TrainConfig(steps=300, lr=1e-2, optimizer=AdamW(fused=False)),
    "orthogonal": TrainConfig(steps=300, lr=3e-3, optimizer=AdamW(fused=False)),
}
UNITS: list[dict[str, Any]] = [
    {"start": start, "seed": seed} for start, seed in product(TRAIN, range(12))
]


def loss_fn(model: Classifier, batch: Batch) -> Tensor:
    """Return the cross-entropy of the answers."""
    return F.cross_entropy(model(batch.x), batch.y)


def train(start: str, seed: int) -> tuple[Classifier, list[dict[str, Any]]]:
    """Train one network; return it and a snapshot of its life every 20 updates."""
    seed_all(seed)
    cell = RNNCell(D_IN, D_HIDDEN)
    if start == "orthogonal":
        orthogonal_(cell.W_h)
    model = Classifier(cell, N_SYMBOLS)
    test = recall(64, LAG, n_symbols=N_SYMBOLS, generator=generator(10_000))
    life = [_snapshot(model, test, update=0)]
    batches = stream(recall, 32, LAG, n_symbols=N_SYMBOLS, generator=generator(seed))
    for update, _ in training_steps(model, loss_fn, batches, TRAIN[start]):
        if update % EVERY == 0:
            life.append(_snapshot(model, test, update=update))
    return model, life


@torch.no_grad()
def accuracy(model: Classifier, batch: Batch) -> float:
    """Return the share of right answers."""
    return (model(batch.x).argmax(1) == batch.y).float().mean().item()


def game(lag: int, n_rows: int, seed: int = 0) -> Batch:
    """Return sequences that no network was trained on."""
    draws = generator(20_000 + 100 * seed + lag)
    return recall(n_rows, lag, n_symbols=N_SYMBOLS, generator=draws)


@torch.no_grad()
def same_answer(model: Classifier, lag: int) -> float:
    """Return how often a letter gets the answer that it gets most often."""
    batch = game(lag, 256)
    found = model(batch.x).argmax(1)
    counts = [torch.bincount(found[batch.y == y]).max() for y in range(N_SYMBOLS)]
    return float(sum(counts)) / len(batch)


def refit(model: Classifier, lag: int) -> float:
    """Return the share right of a read-out fitted to the states after ``lag`` steps."""
    learn, test = game(lag, 2000, seed=1), game(lag, 500, seed=2)
    states = (unroll(model.cell, batch.x)[1].detach() for batch in (learn, test))
    return probe_accuracy(next(states), learn.y, next(states), test.y)


def far_gradient(model: Classifier) -> float:
    """Return the norm at lag 100, a geometric mean over eight rows."""
    exact = copy.deepcopy(model.cell).double()
    norms = jacobian_norms(exact, game(FAR + LAG, 8).x.double())
    return norms[:, FAR].log().mean().exp().item()


def degrees_a_step(model: Classifier) -> float:
    """Return by how much the leading eigenvalue of ``W_h`` turns: 0 to 180."""
    values = torch.linalg.eigvals(model.cell.W_h.detach())
    return values[values.abs().argmax()].angle().abs().rad2deg().item()


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the network of one unit; keep its life, and what it can do at the end."""
    model, life = train(**unit)
    return {
        "life": life,
        "asked": {str(lag): accuracy(model, game(lag, 256)) for lag in ASKED},
        "refitted": {str(lag): refit(model, lag) for lag in REFITTED},
        "same answer at 19": same_answer(model, 19),
        "far gradient": far_gradient(model),
        "degrees a step": degrees_a_step(model),
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Count, for each start, the networks that end with nearly all answers right."""
    solved = {start: 0 for start in TRAIN}
    for unit in units:
        solved[unit["start"]] += unit["life"][-1]["accuracy"] > 0.95
    return {"networks": len(units) // len(TRAIN), "solved": solved}


@torch.no_grad()
def _snapshot(model: Classifier, test: Batch, *, update: int) -> dict[str, Any]:
    """Measure a network: the norms are geometric means over the rows, by lag."""
    exact = copy.deepcopy(model.cell).double()  # a product of 20 may be tiny
    norms = jacobian_norms(exact, test.x.double())  # (B, T + 1)
    states, _ = unroll(model.cell, test.x)
    return {
        "update": update,
        "accuracy": accuracy(model, test),
        "radius": spectral_radius(model.cell.W_h),
        "stretch": largest_singular_value(model.cell.W_h),
        "slope": (1 - states**2).mean().item(),
        "norms": [
            float(f"{norm:.4g}") for norm in norms[:, : LAG + 1].log().mean(0).exp()
        ],
    }
