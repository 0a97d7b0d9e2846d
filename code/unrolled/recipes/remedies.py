"""Who learns to recall? Activation, start and architecture, over lag and learning rate.

Each unit trains one network of 32 units to name a symbol that it saw ``lag`` steps ago
(:mod:`unrolled.data.made.recall`). It has solved the task when it names all 32 of a
fresh batch five times in a row; the result is the number of updates it had made by
then, or None if 1,000 were not enough.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.data.batch import Batch
from unrolled.data.made.draws import stream
from unrolled.data.made.recall import recall
from unrolled.layers.initialise import identity_, orthogonal_, scale_to_radius_
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.variants import ReLUCell, SigmoidCell
from unrolled.models.classifier import Classifier
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW

D_IN, D_HIDDEN, N_SYMBOLS = 10, 32, 8
UPDATES, IN_A_ROW = 1000, 5
LAGS, RATES, SEEDS = (10, 20, 40), (1e-3, 3e-3, 1e-2), range(5)


class LSTMClassifier(nn.Module):
    """torch.nn.LSTM, its forget bias at one, read at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(D_IN, D_HIDDEN, batch_first=True)
        self.read = nn.Linear(D_HIDDEN, N_SYMBOLS)
        biases = dict(self.lstm.named_parameters())
        nn.init.zeros_(biases["bias_hh_l0"])
        nn.init.zeros_(biases["bias_ih_l0"])
        with torch.no_grad():
            biases["bias_ih_l0"][D_HIDDEN : 2 * D_HIDDEN] = 1.0  # the forget gate's

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, O) for ``x`` (B, T, E)."""
        logits: Tensor = self.read(self.lstm(x)[0][:, -1])
        return logits


def orthogonal() -> RNNCell:
    """Return a tanh cell that starts as a rotation of its state."""
    cell = RNNCell(D_IN, D_HIDDEN)
    orthogonal_(cell.W_h)
    return cell


def scaled() -> RNNCell:
    """Return a tanh cell whose uniform start is scaled to a spectral radius of one."""
    cell = RNNCell(D_IN, D_HIDDEN)
    scale_to_radius_(cell.W_h, 1.0)
    return cell


def identity_relu() -> RNNCell:
    """Return a ReLU cell that starts by copying its state, with small inputs."""
    cell = ReLUCell(D_IN, D_HIDDEN)
    identity_(cell.W_h)
    nn.init.normal_(cell.W_x, std=0.1)
    nn.init.zeros_(cell.b)
    return cell


def read_at_the_end(cell: RNNCell) -> nn.Module:
    """Return a classifier of the first symbol on top of ``cell``."""
    return Classifier(cell, N_SYMBOLS)


#: What is tried: the plain network, and one remedy each.
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "tanh": lambda: read_at_the_end(RNNCell(D_IN, D_HIDDEN)),
    "sigmoid": lambda: read_at_the_end(SigmoidCell(D_IN, D_HIDDEN)),
    "ReLU": lambda: read_at_the_end(ReLUCell(D_IN, D_HIDDEN)),
    "tanh, scaled": lambda: read_at_the_end(scaled()),
    "tanh, orthogonal": lambda: read_at_the_end(orthogonal()),
    "ReLU, identity": lambda: read_at_the_end(identity_relu()),
    "LSTM": LSTMClassifier,
}
UNITS: list[dict[str, Any]] = [
    {"network": network, "lag": lag, "lr": lr, "seed": seed}
    for network, lag, lr, seed in product(NETWORKS, LAGS, RATES, SEEDS)
]


def updates_to_solve(network: str, lag: int, lr: float, seed: int) -> int | None:
    """Train one network; return after how many updates it had solved the task."""
    seed_all(seed)
    model, streak = NETWORKS[network](), 0

    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        nonlocal streak
        logits = model(batch.x)
        streak = streak + 1 if bool((logits.argmax(1) == batch.y).all()) else 0
        return F.cross_entropy(logits, batch.y)

    batches = stream(recall, 32, lag, n_symbols=N_SYMBOLS, generator=generator(seed))
    config = TrainConfig(steps=UPDATES, lr=lr, optimizer=AdamW(fused=False))
    for update, _ in training_steps(model, loss_fn, batches, config):
        if streak == IN_A_ROW:
            return update
    return None


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the network of one unit."""
    return {"updates": updates_to_solve(**unit)}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Count for each network and lag how many of its runs solved the task, by rate."""
    table: dict[str, dict[str, list[int]]] = {}
    for unit, result in zip(UNITS, units, strict=True):
        row = table.setdefault(unit["network"], {})
        counts = row.setdefault(str(unit["lag"]), [0] * len(RATES))
        counts[RATES.index(unit["lr"])] += result["updates"] is not None
    return {"solved": table, "runs in a cell": len(SEEDS)}
