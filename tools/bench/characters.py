"""Measure speeds as ratios to a reference, all within one run.

Absolute times say more about the machine than about the code, so each row is ours
against theirs, taken in turns: the median over rounds of the ratio of the two. Times
are of the processor, on one thread, so that other work on the machine counts less.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from bench_batches import batch_cases
from bench_tokens import token_cases
from unrolled.layers.stacks import RNN
from unrolled.models.numpy_rnn import NumpyRNN

OUT = Path(__file__).resolve().parents[1] / "_build" / "bench.json"
ROUNDS, CALLS = 31, 5
LONG = 0.2  # seconds; what takes longer is called once a round, in FEW_ROUNDS
FEW_ROUNDS = 7
T, V, D = 25, 64, 100  # steps, characters and units of the character models
LR = 0.1

Step = Callable[[], object]
Arrays = dict[str, np.ndarray]
Cases = dict[str, tuple[Step, Step, int]]  # ours, theirs, our work in units of theirs


def both_ways(model: nn.Module, x: torch.Tensor) -> Step:
    """Return a forward and a backward pass of ``model`` on ``x``."""

    def run() -> None:
        model.zero_grad()
        model(x)[0].square().sum().backward()

    return run


def plain_loop(p: Arrays, ids: np.ndarray, targets: np.ndarray) -> tuple[float, Arrays]:
    """Return loss and gradients of one sequence, a character and a column at a time.

    The reference a min-char-rnn is: weights ``p`` multiply columns from the left, so
    they are the transposes of ours; nothing is gathered into larger products. For such
    small ones ``np.dot`` is twice as fast as ``@``, and the reference is to be good.
    """
    x, h, probs, loss = {}, {-1: np.zeros_like(p["b"])}, {}, 0.0
    for t, (i, y) in enumerate(zip(ids, targets, strict=True)):
        x[t] = np.zeros((p["W_x"].shape[1], 1), p["W_x"].dtype)
        x[t][i] = 1
        h[t] = np.tanh(np.dot(p["W_x"], x[t]) + np.dot(p["W_h"], h[t - 1]) + p["b"])
        scores = np.exp(np.dot(p["V"], h[t]) + p["c"])
        probs[t] = scores / scores.sum()
        loss -= np.log(probs[t][y, 0]) / len(ids)

    d = {name: np.zeros_like(value) for name, value in p.items()}
    from_later = np.zeros_like(p["b"])
    for t in reversed(range(len(ids))):
        d_o = probs[t] / len(ids)
        d_o[targets[t]] -= 1 / len(ids)
        d_a = (np.dot(p["V"].T, d_o) + from_later) * (1 - h[t] ** 2)
        d["V"] += np.dot(d_o, h[t].T)
        d["c"] += d_o
        d["W_x"] += np.dot(d_a, x[t].T)
        d["W_h"] += np.dot(d_a, h[t - 1].T)
        d["b"] += d_a
        from_later = np.dot(p["W_h"].T, d_a)
    return loss, d


def train_plain(ids: np.ndarray, targets: np.ndarray, dtype: type = np.float64) -> Step:
    """Return a step of SGD by the plain loop on one sequence, ids and targets (T,)."""
    weights = NumpyRNN(V, D, V, rng=np.random.default_rng(0), dtype=dtype).parameters()
    p = {name: np.atleast_2d(value).T.copy() for name, value in weights.items()}

    def run() -> None:
        _, gradients = plain_loop(p, ids, targets)
        for name, value in p.items():
            value -= LR * gradients[name]

    return run


def train_numpy(ids: np.ndarray, targets: np.ndarray) -> Step:
    """Return a step of SGD by the package's NumPy RNN."""
    net = NumpyRNN(V, D, V, rng=np.random.default_rng(0), dtype=np.float32)
    return lambda: net.step(net.backward(ids, targets)[1], LR)


def train_torch(ids: np.ndarray, targets: np.ndarray, batch_first: bool = True) -> Step:
    """Return a step of SGD by torch.nn.RNN, its one-hot rows made beforehand."""
    rnn, read = nn.RNN(V, D, batch_first=batch_first), nn.Linear(D, V)
    sgd = torch.optim.SGD([*rnn.parameters(), *read.parameters()], lr=LR)
    x, y = nn.functional.one_hot(torch.from_numpy(ids), V).float(), targets
    if not batch_first:
        x, y = x.transpose(0, 1).contiguous(), y.T.copy()
    y = torch.from_numpy(y).flatten()

    def run() -> None:
        sgd.zero_grad()
        nn.functional.cross_entropy(read(rnn(x)[0]).flatten(0, 1), y).backward()
        sgd.step()

    return run


def layer_cases() -> Cases:
    """Compare the package's RNN with torch's, forward and backward."""
    found = {}
    for B, n_steps, d_in, d_hidden in ((1, 200, 64, 64), (32, 100, 64, 128)):
        x = torch.randn(B, n_steps, d_in)
        ours, theirs = RNN(d_in, d_hidden), nn.RNN(d_in, d_hidden, batch_first=True)
        name = f"RNN, batch {B}, {n_steps} steps, {d_hidden} units: torch.nn.RNN"
        found[name] = (both_ways(ours, x), both_ways(theirs, x), 1)
    return found


def character_cases() -> Cases:
    """Compare the NumPy RNN's characters per second with a plain loop's and torch's."""
    found: Cases = {}
    for B in (16, 24, 32, 64):
        ids, targets = np.random.default_rng(0).integers(0, V, (2, B, T))
        ours = train_numpy(ids, targets)
        name = f"NumPy RNN, batch {B}, characters trained on per second"
        for dtype in (np.float64, np.float32):
            plain = train_plain(ids[0], targets[0], dtype)
            found[f"{name}: plain loop, {dtype.__name__}"] = (ours, plain, B)
        for order in ("batch", "time"):
            theirs = train_torch(ids, targets, batch_first=order == "batch")
            found[f"{name}: torch.nn.RNN, {order} first"] = (ours, theirs, 1)
    return found


def seconds(f: Step, n_calls: int = CALLS) -> float:
    """Return how long calls in a row, as in training, keep the processor."""
    start = time.process_time()
    for _ in range(n_calls):
        f()
    return time.process_time() - start


def compare(ours: Step, theirs: Step, work: int) -> list[float]:
    """Return the speed of ours over theirs in each round, after a call to warm up."""
    long = max(seconds(ours, 1), seconds(theirs, 1)) > LONG
    rounds, calls = (FEW_ROUNDS, 1) if long else (ROUNDS, CALLS)
    return [work * seconds(theirs, calls) / seconds(ours, calls) for _ in range(rounds)]


def main() -> None:
    """Compare, print a table and write it as JSON."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows, cases = {}, layer_cases() | character_cases() | token_cases() | batch_cases()
    for name, case in tqdm(cases.items(), unit="case"):
        ratios = compare(*case)
        rows[name] = {
            "rounds": len(ratios),
            "speed over reference": round(statistics.median(ratios), 3),
            "quartiles": [round(q, 3) for q in statistics.quantiles(ratios)[::2]],
        }
    OUT.parent.mkdir(exist_ok=True)
    record = {"torch": torch.__version__, "threads": 1, "rows": rows}
    OUT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\nours over theirs, 1 is as fast, higher is faster")
    for name, row in rows.items():
        low, high = row["quartiles"]
        print(
            f"  {row['speed over reference']:6.2f}  ({low:.2f} to {high:.2f})  {name}"
        )
    print(f"written to {OUT}")


if __name__ == "__main__":
    main()
