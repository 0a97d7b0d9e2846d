"""How long is a memory? Accuracy by test lag, after training at one lag or at many.

Networks of 32 units learn to name one of eight symbols after ``lag`` distractors
(:mod:`unrolled.data.made.recall`). In one regime every training batch has lag 40; in
the other each batch has a lag of its own, uniform between 1 and 40. Then each network
is tested at lags from 1 to 160. A fixed lag can be solved by turning the state at a
pace that is right once; only varied lags ask for *holding*.

A unit is a network, a regime and a learning rate, with all its seeds trained side by
side as one stack (a leading axis M). The first ``CHOOSING`` seeds choose the rate, by
their loss on validation draws; the results come from the other seeds at that rate.
Axes: M networks, B rows, T steps, E input width, D hidden width, O answers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.data.made.recall import recall
from unrolled.layers.gru import GRUCell
from unrolled.layers.initialise import identity_, orthogonal_
from unrolled.layers.lstm import LSTMCell, chrono_
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.variants import ReLUCell
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

D_IN, D_HIDDEN, N_SYMBOLS = 10, 32, 8
LAG = 40  # the one lag, or the longest of many
UPDATES, ROWS, CLIP = 1500, 32, 1.0
REGIMES = ("fixed", "varied")
RATES = (1e-3, 3e-3, 1e-2)
CHOOSING, REPORTED = 3, 5  # seeds that choose the rate, and seeds that are reported
SEEDS = range(CHOOSING + REPORTED)
TEST_LAGS = (1, 2, 5, 10, 20, 30, 35, 38, 39, 40, 41, 42, 45, 50, 60, 80, 120, 160)
TEST_ROWS = 512
HELD = 0.9  # a lag is held if at least so many answers are right
WORST_LOSS = 100.0  # what a loss without bound is recorded as
AnyCell = RNNCell | GRUCell | LSTMCell


def orthogonal(d_in: int, d_hidden: int) -> RNNCell:
    """Return a tanh cell that starts as a rotation of its state."""
    cell = RNNCell(d_in, d_hidden)
    orthogonal_(cell.W_h)
    return cell


def identity_relu(d_in: int, d_hidden: int) -> RNNCell:
    """Return a ReLU cell that starts by copying its state, with small inputs."""
    cell = ReLUCell(d_in, d_hidden)
    identity_(cell.W_h)
    nn.init.normal_(cell.W_x, std=0.1)
    nn.init.zeros_(cell.b)
    return cell


@torch.no_grad()
def chrono_gru(d_in: int, d_hidden: int, longest: int, *, seed: int) -> GRUCell:
    r"""Return a GRU cell that expects dependencies of up to ``longest`` steps.

    The update gate's bias is :math:`\log u`, with :math:`u` uniform between 1 and
    ``longest`` - 1, as in :func:`~unrolled.layers.lstm.chrono_`: our gate keeps the
    state where it is one. The other biases are zero.
    """
    cell = GRUCell(d_in, d_hidden)
    u = torch.rand(d_hidden, generator=generator(seed))
    cell.b.zero_()
    cell.b_h.zero_()
    cell.b[d_hidden : 2 * d_hidden] = torch.log(1 + u * (longest - 2))
    return cell


def chrono_lstm(d_in: int, d_hidden: int, longest: int, *, seed: int) -> LSTMCell:
    """Return an LSTM cell that expects dependencies of up to ``longest`` steps."""
    return chrono_(LSTMCell(d_in, d_hidden), longest, generator=generator(seed))


#: How the cell of each network starts, given its input width, its width and a seed.
NETWORKS: dict[str, Callable[[int, int, int], AnyCell]] = {
    "Elman, default": lambda e, d, _: RNNCell(e, d),
    "Elman, orthogonal": lambda e, d, _: orthogonal(e, d),
    "Elman, identity + ReLU": lambda e, d, _: identity_relu(e, d),
    "GRU": lambda e, d, _: GRUCell(e, d),
    "GRU, chrono": lambda e, d, seed: chrono_gru(e, d, LAG, seed=seed),
    "GRU, chrono told 160": lambda e, d, seed: chrono_gru(e, d, 4 * LAG, seed=seed),
    "LSTM, forget bias 0": lambda e, d, _: LSTMCell(e, d, forget_bias=0.0),
    "LSTM, forget bias 1": lambda e, d, _: LSTMCell(e, d, forget_bias=1.0),
    "LSTM, chrono": lambda e, d, seed: chrono_lstm(e, d, LAG, seed=seed),
    "LSTM, chrono told 160": lambda e, d, seed: chrono_lstm(e, d, 4 * LAG, seed=seed),
}
UNITS: list[dict[str, Any]] = [
    {"network": network, "regime": regime, "lr": lr}
    for network, regime, lr in product(NETWORKS, REGIMES, RATES)
]


def start(
    network: str, seed: int, d_hidden: int = D_HIDDEN
) -> tuple[AnyCell, nn.Linear]:
    """Return the cell and the read-out with which one seed of ``network`` starts."""
    seed_all(seed)
    return NETWORKS[network](D_IN, d_hidden, seed), nn.Linear(d_hidden, N_SYMBOLS)


@dataclass(frozen=True, slots=True)
class Stack:
    """M networks of one kind: weights by name, each with a leading axis M."""

    kind: type[nn.Module]
    weights: dict[str, Tensor]

    @classmethod
    def of(cls, networks: Sequence[tuple[AnyCell, nn.Linear]]) -> "Stack":
        """Stack the weights of cells and their read-outs, ready to be trained."""
        parts = [
            dict(cell.named_parameters()) | {"V": read.weight.T, "c": read.bias}
            for cell, read in networks
        ]
        weights = {
            name: torch.stack([part[name].detach() for part in parts]).requires_grad_()
            for name in parts[0]
        }
        return cls(type(networks[0][0]), weights)

    def empty(self, n_rows: int) -> list[Tensor]:
        """Return the states before the first step: zeros (M, B, D), two for an LSTM."""
        M, D = self.weights["W_h"].shape[:2]
        zeros = self.weights["W_h"].new_zeros(M, n_rows, D)
        return [zeros, zeros] if self.kind is LSTMCell else [zeros]

    def step(self, projected: Tensor, state: list[Tensor]) -> list[Tensor]:
        """Take the input's share (M, B, ...) and the state to the state after it."""
        W_h, h = self.weights["W_h"], state[0]
        if self.kind is GRUCell:
            width = 2 * h.shape[-1]
            by_state = torch.bmm(h, W_h)
            gates = (projected[..., :width] + by_state[..., :width]).sigmoid()
            r, z = gates.chunk(2, dim=-1)
            new_h = by_state[..., width:] + self.weights["b_h"][:, None]
            n = torch.tanh(projected[..., width:] + r * new_h)
            return [n + z * (h - n)]
        a = torch.baddbmm(projected, h, W_h)
        if self.kind is LSTMCell:
            i, f, g, o = a.chunk(4, dim=-1)
            c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
            return [o.sigmoid() * c.tanh(), c]
        return [a.relu() if self.kind is ReLUCell else a.tanh()]

    def logits(self, x: Tensor) -> Tensor:
        """Return answers (M, B, O) to ``x`` (M, B, T, E), each network its own rows."""
        M, n_rows, n_steps, d_in = x.shape
        flat = x.transpose(1, 2).reshape(M, n_steps * n_rows, d_in)
        shares = torch.baddbmm(self.weights["b"][:, None], flat, self.weights["W_x"])
        state = self.empty(n_rows)
        for projected in shares.view(M, n_steps, n_rows, -1).unbind(dim=1):
            state = self.step(projected, state)
        return self._read(state)

    @torch.no_grad()
    def answers(self, ids: Tensor) -> Tensor:
        """Return answers (M, B, O) to symbols (B, T), all networks the same rows."""
        shares = self.weights["W_x"] + self.weights["b"][:, None]  # of each symbol
        state = self.empty(len(ids))
        for ids_t in ids.unbind(dim=1):
            state = self.step(shares[:, ids_t], state)
        return self._read(state)

    def _read(self, state: list[Tensor]) -> Tensor:
        return torch.baddbmm(self.weights["c"][:, None], state[0], self.weights["V"])


def train_lags(regime: str) -> Iterator[int]:
    """Yield the lag of each training batch, the same for every network and seed."""
    draw = generator(30_000)
    while True:
        varied = int(torch.randint(1, LAG + 1, (), generator=draw))
        yield LAG if regime == "fixed" else varied


def clip_each(weights: Sequence[Tensor], longest: float) -> None:
    """Shorten the gradient of each network of a stack to ``longest``, by its own norm.

    The norm is taken over all weights of a network, as ``clip_grad_norm_`` does.
    """
    gradients = [w.grad for w in weights if w.grad is not None]
    squares = [g.flatten(start_dim=1).square().sum(dim=1) for g in gradients]
    norm = torch.stack(squares).sum(dim=0).sqrt()  # (M,)
    factor = (longest / (norm + 1e-6)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor.view(-1, *[1] * (g.ndim - 1)))


def train(stack: Stack, regime: str, lr: float, *, seeds: Sequence[int]) -> None:
    """Train a stack in place; each of its networks draws rows by its own seed."""
    weights = list(stack.weights.values())
    optimizer = torch.optim.Adam(weights, lr=lr)
    draws = [generator(seed) for seed in seeds]
    for done, lag in enumerate(train_lags(regime), start=1):
        batches = [
            recall(ROWS, lag, n_symbols=N_SYMBOLS, generator=draw) for draw in draws
        ]
        logits = stack.logits(torch.stack([batch.x for batch in batches]))
        y = torch.cat([batch.y for batch in batches])
        # a sum of means: no network has a part in the gradient of another
        loss = F.cross_entropy(logits.flatten(0, 1), y) * len(draws)
        optimizer.zero_grad()
        loss.backward()
        clip_each(weights, CLIP)
        optimizer.step()
        if done == UPDATES or enough(done):
            return


def rows_at(lag: int, n_rows: int = TEST_ROWS) -> tuple[Tensor, Tensor]:
    """Return symbols (B, T) and answers (B,) on which every network is tested."""
    batch = recall(n_rows, lag, n_symbols=N_SYMBOLS, generator=generator(10_000 + lag))
    return batch.x.argmax(dim=-1), batch.y


def accuracy(stack: Stack, ids: Tensor, y: Tensor) -> list[float]:
    """Return the share of right answers of each network."""
    right = stack.answers(ids).argmax(dim=-1) == y
    return right.float().mean(dim=1).tolist()


def validation_loss(stack: Stack, regime: str, n_rows: int) -> list[float]:
    """Return the cross-entropy of each network, in nats, on draws as in training."""
    lags = [LAG] if regime == "fixed" else list(range(1, LAG + 1))
    losses = []
    for lag in lags:
        draw = generator(20_000 + lag)
        batch = recall(n_rows // len(lags), lag, n_symbols=N_SYMBOLS, generator=draw)
        logits = stack.answers(batch.x.argmax(dim=-1))  # (M, B, O)
        y = batch.y.expand(len(logits), -1)
        losses.append(F.cross_entropy(logits.mT, y, reduction="none").mean(dim=1))
    mean = torch.stack(losses).mean(dim=0)
    return mean.nan_to_num(nan=WORST_LOSS).clamp(max=WORST_LOSS).tolist()


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train all seeds of one network, regime and rate; return how each of them does."""
    return _run(unit, TEST_LAGS, n_rows=TEST_ROWS)


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Do the same with fewer tests, for a replay."""
    return _run(unit, (1, LAG), n_rows=2 * LAG)


def _run(unit: dict[str, Any], lags: Sequence[int], *, n_rows: int) -> dict[str, Any]:
    stack = Stack.of([start(unit["network"], seed) for seed in SEEDS])
    train(stack, unit["regime"], unit["lr"], seeds=SEEDS)
    return {
        "validation loss": validation_loss(stack, unit["regime"], 2 * n_rows),
        "accuracy": {str(lag): accuracy(stack, *rows_at(lag, n_rows)) for lag in lags},
    }


def reach(by_lag: Sequence[float]) -> int:
    """Return the longest test lag up to which every one is held, or 0."""
    held = 0
    for lag, share in zip(TEST_LAGS, by_lag, strict=True):
        if share < HELD:
            break
        held = lag
    return held


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Choose the rate of each network and regime, and report the other seeds by lag.

    Of each network and regime: the rate; mean, min and max over the reported seeds, in
    the order of the test lags; how far each of these seeds reaches; and for every rate
    the validation loss of the choosing seeds and the reported seeds' mean at lag 40.
    """
    found: dict[str, dict[str, Any]] = {}
    for network, regime in product(NETWORKS, REGIMES):
        tried = [
            unit
            for unit in units
            if unit["network"] == network and unit["regime"] == regime
        ]
        losses = [_mean(unit["validation loss"][:CHOOSING]) for unit in tried]
        best = tried[losses.index(min(losses))]
        by_lag = [best["accuracy"][str(lag)][CHOOSING:] for lag in TEST_LAGS]
        by_seed = list(zip(*by_lag, strict=True))
        found.setdefault(network, {})[regime] = {
            "rate": best["lr"],
            "mean": [_mean(shares) for shares in by_lag],
            "min": [min(shares) for shares in by_lag],
            "max": [max(shares) for shares in by_lag],
            "reach": [reach(shares) for shares in by_seed],
            "validation loss by rate": losses,
            "at 40 by rate": [_mean(u["accuracy"][str(LAG)][CHOOSING:]) for u in tried],
        }
    return {
        "networks": found,
        "lags": list(TEST_LAGS),
        "rates": list(RATES),
        "seeds": REPORTED,
        "test rows": TEST_ROWS,
        "chance": 1 / N_SYMBOLS,
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
