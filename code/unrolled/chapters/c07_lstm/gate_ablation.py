"""Which gates matter? An LSTM with one part taken out or changed, on two tasks.

*Characters*: predict the next character of the King James Bible, from pieces that begin
anywhere in the training books. *Recall*: name one of eight symbols after 1 to 40
distractors, as in :mod:`unrolled.chapters.c07_lstm.memory_by_lag`. All variants have
the same width, start with the same weights and read the same batches; a gate that is
missing leaves its weights without use, and peepholes add three for each unit.

A unit is a task and a variant. Its choosing seeds are trained at three learning rates
and choose one, on validation books or validation draws; while the best is the lowest or
the highest that was tried, the next beyond it is tried too. Other seeds are then
trained at that rate and tested: on the test books, which nothing was chosen by, or on
fresh draws. Seeds are trained side by side, as one stack.

Two variants are compared block by block of the test books, seeds averaged. What lies
within ``MARGIN`` counts as no difference. It was fixed when the plain LSTM alone had
been tested, whose own four seeds are 0.05 bits apart: no less could be resolved.

Axes: M networks, B rows, T steps, E symbols read, D hidden width, O answers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.chapters.c07_lstm.gate_stack import (
    PLAIN,
    THREE_LAYERS,
    VARIANTS,
    Stack,
    start,
)
from unrolled.chapters.c07_lstm.gate_stack import step as step
from unrolled.chapters.c07_lstm.memory_by_lag import clip_each, train_lags
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.made.recall import N_DISTRACTORS, recall
from unrolled.data.windows import sampled_windows
from unrolled.evaluation.intervals import (
    Interval,
    paired_difference,
    student_quantile,
)
from unrolled.recipes._character_data import characters, held_out
from unrolled.runtime import generator
from unrolled.training.budget import enough
from unrolled.training.schedules import Constant, Schedule, WarmupCosine

VERSION = 1
#: The learning rates; a task begins with three of them.
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
CHOOSING, REPORTED = range(2), range(2, 6)  # seeds
MARGIN = 0.05  # bits a character: what lies within it does not matter
ROWS = {"characters": 16, "recall": 32}
CLIP = 1.0
BLOCK, PIECE = 1024, 64  # characters: what is resampled, and what is read in training
N_SYMBOLS, LAG = 8, 40
TEST_LAGS = (1, 2, 5, 10, 20, 30, 40, 60, 80, 120, 160, 320)
TEST_ROWS = 512
SOLVED, RECENT = 0.95, 50  # right answers, in so many batches in a row
EVERY = 100  # updates between two points of a learning curve
WORST = 100.0  # what a loss without bound is recorded as


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """How one task is trained: its width, updates, rates, and the longest it asks."""

    d_hidden: int
    updates: int
    rates: tuple[float, ...]
    schedule: Schedule
    longest: int


TASKS = {
    "characters": Task(
        d_hidden=64,
        updates=1200,
        rates=(3e-2, 1e-1, 3e-1),
        schedule=WarmupCosine(warmup=50, steps=1200),
        longest=PIECE,
    ),
    "recall": Task(
        d_hidden=32,
        updates=1000,
        rates=(1e-2, 3e-2, 1e-1),
        schedule=Constant(),
        longest=LAG,
    ),
}
UNITS: list[dict[str, Any]] = [
    {"task": task, "variant": variant} for task in TASKS for variant in VARIANTS
]


# ---- the two tasks: batches for M seeds, ids (M, B, T) and answers ----

Batches = Iterator[tuple[Tensor, Tensor]]


def character_batches(seeds: Sequence[int]) -> Batches:
    """Yield pieces that begin anywhere in the training books; y is (M, B, T)."""
    text, draws = characters()[1], [generator(seed) for seed in seeds]
    while True:
        found = [
            sampled_windows(text, ROWS["characters"], width=PIECE + 1, generator=draw)
            for draw in draws
        ]
        yield torch.stack([b.x for b in found]), torch.stack([b.y for b in found])


def recall_batches(seeds: Sequence[int]) -> Batches:
    """Yield rows to recall, each batch at a lag of its own; y is (M, B)."""
    draws = [generator(seed) for seed in seeds]
    for lag in train_lags("varied"):
        found = [
            recall(ROWS["recall"], lag, n_symbols=N_SYMBOLS, generator=draw)
            for draw in draws
        ]
        x = torch.stack([b.x.argmax(dim=-1) for b in found])
        yield x, torch.stack([b.y for b in found])


def train(stack: Stack, batches: Batches, task: Task, rates: Sequence[float]) -> Tensor:
    """Train a stack in place, each network at a rate of its own.

    Returns (updates, 2, M): of each batch, before the update, the loss in nats and the
    share of right answers. An update of Adam is proportional to its rate: each network
    takes as much of the one at the highest rate as its own asks for.
    """
    weights, highest = list(stack.weights.values()), max(rates)
    optimizer = torch.optim.Adam(weights, lr=highest)
    part = torch.tensor(rates) / highest  # (M,)
    log = []
    for done, (x, y) in enumerate(batches, start=1):
        logits = stack.everywhere(x) if y.ndim == 3 else stack.last(x)
        nats = F.cross_entropy(logits.flatten(0, -2), y.flatten(), reduction="none")
        loss = nats.view(len(y), -1).mean(dim=1)  # (M,)
        optimizer.param_groups[0]["lr"] = highest * task.schedule(done)
        optimizer.zero_grad()
        loss.sum().backward()  # no network has a part in the gradient of another
        clip_each(weights, CLIP)
        before = [w.detach().clone() for w in weights]
        optimizer.step()
        with torch.no_grad():
            for w, old in zip(weights, before, strict=True):
                w.copy_(old.lerp(w, part.view(-1, *[1] * (w.ndim - 1))))
        right = (logits.argmax(dim=-1) == y).float().flatten(1).mean(dim=1)
        log.append(torch.stack([loss.detach(), right]))
        if done == task.updates or enough(done):
            break
    return torch.stack(log)


def trained(
    task: str, variant: str, rates: Sequence[float], seeds: Sequence[int]
) -> tuple[Stack, Tensor]:
    """Return networks after training, one for each rate and seed, and how it went."""
    plan, recalls = TASKS[task], task == "recall"
    n_in = N_SYMBOLS + N_DISTRACTORS if recalls else len(characters()[0])
    sizes = {
        "n_in": n_in,
        "n_out": N_SYMBOLS if recalls else n_in,
        "d_hidden": plan.d_hidden,
        "longest": plan.longest,
    }
    stack = Stack.of(variant, [start(variant, seed, **sizes) for seed in seeds])
    batches = recall_batches(seeds) if recalls else character_batches(seeds)
    return stack, train(stack, batches, plan, rates)


# ---- measures ----


def blocks(text: str, n_most: int | None = None) -> Tensor:
    """Return ``text`` as rows of ids, (N, BLOCK + 1); a row ends as the next begins."""
    ids = torch.tensor(characters()[0].encode(text))
    return ids.unfold(0, BLOCK + 1, BLOCK)[:n_most].clone()


@torch.no_grad()
def bits(stack: Stack, ids: Tensor) -> Tensor:
    """Return the bits (M, N, T) of each next character of ``ids`` (N, T + 1)."""
    M = len(stack.weights["v"])
    x, y = ids[:, :-1].expand(M, -1, -1), ids[:, 1:].expand(M, -1, -1)
    found = []
    for h, y_t in zip(stack.states(x), y.unbind(dim=2), strict=True):
        nats = F.cross_entropy(
            stack.read(h).flatten(0, 1), y_t.flatten(), reduction="none"
        )
        found.append(nats.view(M, -1))
    return torch.stack(found, dim=2) / math.log(2)


def bits_in_pieces(stack: Stack, ids: Tensor) -> Tensor:
    """Return the mean bits (M, N) of each block, read in pieces as in training."""
    pieces = ids.unfold(1, PIECE + 1, PIECE).flatten(0, 1)  # (N * pieces, PIECE + 1)
    found = bits(stack, pieces).mean(dim=2)
    return found.view(len(found), len(ids), -1).mean(dim=2)


def by_place(found: Tensor) -> list[float]:
    """Return mean bits of places 1, 2 to 3, 4 to 7, ... of ``found`` (M, N, T)."""
    mean = found.double().mean(dim=(0, 1))
    n_bins = (len(mean) + 1).bit_length() - 1
    parts = [mean[2**k - 1 : 2 ** (k + 1) - 1] for k in range(n_bins)]
    return _finite(torch.stack([part.mean() for part in parts]))


@torch.no_grad()
def accuracy(stack: Stack, lag: int, n_rows: int) -> list[float]:
    """Return the share of right answers of each network at one test lag."""
    x, y = _rows(lag, n_rows, seed=10_000)
    right = stack.last(x.expand(len(stack.weights["v"]), -1, -1)).argmax(dim=-1) == y
    return right.float().mean(dim=1).tolist()


@torch.no_grad()
def recall_loss(stack: Stack, n_rows: int) -> list[float]:
    """Return the validation loss of each network, in nats, over all training lags."""
    M, losses = len(stack.weights["v"]), []
    for lag in range(1, LAG + 1):
        x, y = _rows(lag, n_rows, seed=20_000)
        logits = stack.last(x.expand(M, -1, -1))
        nats = F.cross_entropy(logits.mT, y.expand(M, -1), reduction="none")
        losses.append(nats.mean(dim=1))
    return _finite(torch.stack(losses).mean(dim=0))


def _rows(lag: int, n_rows: int, *, seed: int) -> tuple[Tensor, Tensor]:
    batch = recall(n_rows, lag, n_symbols=N_SYMBOLS, generator=generator(seed + lag))
    return batch.x.argmax(dim=-1), batch.y


def _finite(values: Tensor) -> list[float]:
    found = values.nan_to_num(nan=WORST).clamp(max=WORST).double()
    return [round(value, 5) for value in found.tolist()]


def solved_at(right: Sequence[float]) -> int | None:
    """Return the update at which the last ``RECENT`` batches are right, or None."""
    for done in range(RECENT, len(right) + 1):
        if sum(right[done - RECENT : done]) / RECENT >= SOLVED:
            return done
    return None


# ---- units ----


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Choose the rate of one variant by some seeds; train and test others at it."""
    return _run(**unit, n_blocks=None, n_rows=TEST_ROWS, lags=TEST_LAGS)


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Do the same with fewer tests, for a replay."""
    return _run(**unit, n_blocks=1, n_rows=8, lags=(1, LAG))


def _run(
    task: str, variant: str, *, n_blocks: int | None, n_rows: int, lags: Sequence[int]
) -> dict[str, Any]:
    tried = list(TASKS[task].rates)
    losses = _losses(task, variant, tried, n_blocks=n_blocks, n_rows=n_rows)
    while (k := best(losses)) in {0, len(tried) - 1}:
        beyond = RATES.index(tried[k]) + (1 if k else -1)
        if not 0 <= beyond < len(RATES):
            break
        rate, at = RATES[beyond], len(tried) if k else 0
        found = _losses(task, variant, [rate], n_blocks=n_blocks, n_rows=n_rows)
        tried.insert(at, rate)
        losses.insert(at, found[0])
    rate = tried[k]
    stack, log = trained(task, variant, [rate] * len(REPORTED), REPORTED)
    outcome: dict[str, Any] = {"rates": tried, "validation": losses, "rate": rate}
    if task == "recall":
        shares = {str(lag): accuracy(stack, lag, n_rows) for lag in lags}
        solved = [solved_at(one) for one in log[:, 1].T.tolist()]
        return outcome | {"accuracy": shares, "solved at": solved}
    ids = blocks(kjv_text().test, n_blocks)
    short, long = bits_in_pieces(stack, ids), bits(stack, ids)
    return outcome | {
        "bits by seed": _finite(short.mean(dim=1)),
        "bits by block": _finite(short.mean(dim=0)),
        "bits by place": by_place(long),
        "bits in training": _finite(
            torch.stack([part.mean() for part in log[:, 0].split(EVERY)]) / math.log(2)
        ),
    }


def _losses(
    task: str,
    variant: str,
    rates: Sequence[float],
    *,
    n_blocks: int | None,
    n_rows: int,
) -> list[list[float]]:
    """Return the validation loss of the choosing seeds, a list for each rate."""
    tried = [(rate, seed) for rate in rates for seed in CHOOSING]
    stack, _ = trained(task, variant, *zip(*tried, strict=True))
    if task == "recall":
        found = recall_loss(stack, max(2, n_rows // 16))
    else:
        ids = blocks(held_out(), n_blocks)
        found = _finite(bits_in_pieces(stack, ids).mean(dim=1))
    n = len(CHOOSING)
    return [found[n * k : n * (k + 1)] for k in range(len(rates))]


def best(losses: Sequence[Sequence[float]]) -> int:
    """Return which rate has the least mean loss over the choosing seeds."""
    means = [sum(one) / len(one) for one in losses]
    return means.index(min(means))


# ---- summary ----


def n_weights(task: str, variant: str) -> int:
    """Return the weights of the cell that are in use."""
    D = TASKS[task].d_hidden
    n_in = N_SYMBOLS + N_DISTRACTORS if task == "recall" else len(characters()[0])
    without = variant in THREE_LAYERS
    peepholes = 3 * D if variant == "peepholes" else 0
    return (3 if without else 4) * D * (n_in + D + 1) + peepholes


def gap_interval(
    one: Tensor, two: Tensor, *, one_seeds: Tensor, two_seeds: Tensor
) -> Interval:
    r"""Return an interval of mean(one) - mean(two), for other text and other seeds.

    ``one`` and ``two`` (N,) are bits of the same blocks, averaged over seeds, whose own
    means are ``one_seeds`` and ``two_seeds``. Blocks are paired and seeds are not:

    .. math:: \frac{s^2_{\text{one} - \text{two}}}{N} + \frac{s^2_1}{M_1} +
        \frac{s^2_2}{M_2}

    is the variance, and Student's t has as many degrees of freedom as the seeds.
    """
    difference = one.double() - two.double()
    seeds = (one_seeds.double(), two_seeds.double())
    variance = difference.var() / len(difference)
    variance += sum(values.var() / len(values) for values in seeds)
    n_free = sum(len(values) - 1 for values in seeds)
    half = student_quantile(n_free, 0.95) * math.sqrt(variance.item())
    middle = difference.mean().item()
    return Interval(estimate=middle, low=middle - half, high=middle + half)


def verdict(low: float, high: float) -> str:
    """Say what an interval of bits means beside the margin."""
    if -MARGIN < low and high < MARGIN:
        return "no difference"
    if low > 0:
        return "worse"
    if high < 0:
        return "better"
    return "open"


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare each variant with the LSTM on test blocks, and on recall by lag.

    ``gap`` is the variant's bits minus the LSTM's: ``low`` and ``high`` of an interval
    over text and seeds, which the verdict goes by, and of a bootstrap over text alone.
    """
    of = {(unit["task"], unit["variant"]): unit for unit in units}
    plain = of["characters", PLAIN]
    found: dict[str, dict[str, Any]] = {}
    for variant in VARIANTS:
        text, memory = of["characters", variant], of["recall", variant]
        found[variant] = {
            "weights": n_weights("characters", variant),
            "rate": text["rate"],
            "rates": text["rates"],
            "validation bits by rate": [_mean(one) for one in text["validation"]],
            "bits": _mean(text["bits by seed"]),
            "bits by seed": text["bits by seed"],
            "bits by place": text["bits by place"],
            "bits in training": text["bits in training"],
            "recall rate": memory["rate"],
            "recall": [_mean(memory["accuracy"][str(lag)]) for lag in TEST_LAGS],
            "recall, worst seed": [
                min(memory["accuracy"][str(lag)]) for lag in TEST_LAGS
            ],
            "solved at": memory["solved at"],
        }
        if variant != PLAIN:
            found[variant] |= _compared(text, plain)
    return {
        "variants": found,
        "margin": MARGIN,
        "lags": list(TEST_LAGS),
        "places": [2**k for k in range(len(plain["bits by place"]))],
        "blocks": len(plain["bits by block"]),
        "seeds": len(plain["bits by seed"]),
    }


def _compared(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    blocks_1, blocks_2 = (torch.tensor(unit["bits by block"]) for unit in (one, two))
    seeds_1, seeds_2 = (torch.tensor(unit["bits by seed"]) for unit in (one, two))
    gap = gap_interval(blocks_1, blocks_2, one_seeds=seeds_1, two_seeds=seeds_2)
    text = paired_difference(blocks_1, blocks_2, generator=generator(0))
    return {
        "gap": gap.estimate,
        "gap, low": gap.low,
        "gap, high": gap.high,
        "gap on this text, low": text.low,
        "gap on this text, high": text.high,
        "verdict": verdict(gap.low, gap.high),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
