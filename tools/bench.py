"""Measure speeds as ratios to a reference, all within one run.

Absolute times say more about the machine than about the code, so each row is ours
against theirs, taken in turns: the median over rounds of the ratio of the two.
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

from unrolled.layers.unroll import RNN
from unrolled.models.numpy_rnn import NumpyRNN

OUT = Path(__file__).resolve().parents[1] / "_build" / "bench.json"
ROUNDS = 15


def both_ways(model: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """Return a forward and a backward pass of ``model`` on ``x``."""

    def run() -> None:
        model.zero_grad()
        model(x)[0].square().sum().backward()

    return run


def cases() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return what to compare: name to (ours, theirs)."""
    torch.manual_seed(0)
    found = {}
    for B, T, E, D in ((1, 200, 64, 64), (32, 100, 64, 128)):
        x = torch.randn(B, T, E)
        ours, theirs = RNN(E, D), nn.RNN(E, D, batch_first=True)
        name = f"RNN, batch {B}, {T} steps, {D} units, forward and backward: torch"
        found[name] = (both_ways(ours, x), both_ways(theirs, x))
    rng = np.random.default_rng(0)
    numpy_rnn = NumpyRNN(64, 100, 64, rng=rng, dtype=np.float32)
    torch_rnn, read = nn.RNN(64, 100, batch_first=True), nn.Linear(100, 64)
    targets = rng.integers(0, 64, (32, 25))
    one_hot = np.eye(64, dtype=np.float32)[rng.integers(0, 64, (32, 25))]
    x, y = torch.from_numpy(one_hot), torch.from_numpy(targets)

    def by_torch() -> None:
        logits = read(torch_rnn(x)[0])
        nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()

    name = "NumPy RNN, batch 32, 25 steps, 100 units, loss and gradients: torch"
    found[name] = (lambda: numpy_rnn.backward(one_hot, targets), by_torch)
    return found


def seconds(f: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def main() -> None:
    """Compare, print a table and write it as JSON."""
    torch.set_num_threads(1)
    rows = {}
    for name, (ours, theirs) in tqdm(cases().items(), unit="case"):
        for f in (ours, theirs):
            f()  # warm up
        ratios = [seconds(theirs) / seconds(ours) for _ in range(ROUNDS)]
        rows[name] = {
            "speed over reference": round(statistics.median(ratios), 3),
            "quartiles": [round(q, 3) for q in statistics.quantiles(ratios)[::2]],
        }
    OUT.parent.mkdir(exist_ok=True)
    record = {"torch": torch.__version__, "threads": 1, "rounds": ROUNDS, "rows": rows}
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
