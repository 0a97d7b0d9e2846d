"""What lets a plain tanh network leave the start: the optimizer, part by part.

AdamW differs from plain gradient descent in two ways: it divides the gradient of each
weight by the root of a running mean of its squares, and it follows a running mean of
gradients. Each unit trains one network of 32 units, from torch's uniform start, to name
a symbol that it saw 20 steps ago, with one of these, both or neither, or with every
gradient scaled to the same length. Solved means what it means in
:mod:`unrolled.recipes.remedies`, within as many updates.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Optimizer

from unrolled.data.made.draws import stream
from unrolled.data.made.recall import recall
from unrolled.recipes.remedies import IN_A_ROW, NETWORKS, UPDATES
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

LAG, ROWS, SEEDS = 20, 32, range(5)
NORM = 1.0  # no gradient is longer; with "one length" every gradient is as long
Parameters = Iterator[nn.Parameter]


def plain(parameters: Parameters, lr: float) -> Optimizer:
    """Gradient descent."""
    return torch.optim.SGD(parameters, lr=lr)


def momentum(parameters: Parameters, lr: float) -> Optimizer:
    """Follow a running mean of gradients, and divide by nothing."""
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9)


def divided(parameters: Parameters, lr: float) -> Optimizer:
    """Divide as AdamW does, and follow the gradient of the moment."""
    return torch.optim.AdamW(parameters, lr=lr, betas=(0.0, 0.999), weight_decay=0)


def both(parameters: Parameters, lr: float) -> Optimizer:
    """AdamW, without its decay of weights."""
    return torch.optim.AdamW(parameters, lr=lr, betas=(0.9, 0.999), weight_decay=0)


#: The optimizer and its learning rates.
DESCENTS: dict[
    str, tuple[Callable[[Parameters, float], Optimizer], tuple[float, ...]]
] = {
    "plain": (plain, (0.3, 1.0, 3.0)),
    "one length": (plain, (0.03, 0.1, 0.3)),
    "momentum": (momentum, (0.03, 0.1, 0.3)),
    "divided": (divided, (1e-3, 3e-3, 1e-2)),
    "both": (both, (1e-3, 3e-3, 1e-2)),
}
UNITS: list[dict[str, Any]] = [
    {"descent": name, "lr": lr, "seed": seed}
    for name, (_, rates) in DESCENTS.items()
    for lr in rates
    for seed in SEEDS
]


def updates_to_solve(descent: str, lr: float, seed: int) -> int | None:
    """Train one network; return after how many updates it had solved the task."""
    seed_all(seed)
    model, streak = NETWORKS["tanh"](), 0
    optimizer = DESCENTS[descent][0](model.parameters(), lr)
    batches = stream(recall, ROWS, LAG, generator=generator(seed))
    for update, batch in zip(range(1, UPDATES + 1), batches, strict=False):
        logits = model(batch.x)
        streak = streak + 1 if bool((logits.argmax(1) == batch.y).all()) else 0
        optimizer.zero_grad()
        F.cross_entropy(logits, batch.y).backward()
        length = nn.utils.clip_grad_norm_(model.parameters(), NORM)
        if descent == "one length" and length < NORM:
            for weight in model.parameters():
                assert weight.grad is not None
                weight.grad *= NORM / length
        optimizer.step()
        if streak == IN_A_ROW:
            return update
        if enough(update):
            break
    return None


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the network of one unit."""
    return {"updates": updates_to_solve(**unit)}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Count for each descent how many of its runs solved the task, over all rates."""
    return {
        "solved": {
            name: sum(u["updates"] is not None for u in units if u["descent"] == name)
            for name in DESCENTS
        },
        "runs each": len(units) // len(DESCENTS),
    }
