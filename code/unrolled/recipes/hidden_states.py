"""Hidden Markov models of the Bible's bytes, by how many hidden states they have.

Each is trained by Baum-Welch on a part of the text that the n-grams of chapter 2 are
counted on, in rows of 200 bytes, and scored on the same held-out text.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unrolled.data.corpora.kjv import kjv_text
from unrolled.evaluation.intervals import t_interval
from unrolled.evaluation.perplexity import bits_per_byte
from unrolled.models.hmm import HMM, HMMConfig, baum_welch
from unrolled.runtime import seed_all

EVERY = 4  # of the training books every fourth paragraph
WIDTH, N_ROWS, N_TEST_ROWS = 200, 300, 100
N_STEPS = 60
EXTRA = 1e-3  # keeps every byte possible
STATES = (2, 4, 8, 16, 32)
UNITS: list[dict[str, Any]] = [
    {"states": n, "seed": seed} for n in STATES for seed in range(3)
]


def texts() -> dict[str, str]:
    """Return the training, validation and test text of chapter 2."""
    parts = kjv_text()
    train = "\n".join(parts.train.split("\n")[::EVERY]) + "\n"
    return {"train": train, "validation": parts.validation, "test": parts.test}


def as_bytes(text: str) -> Tensor:
    """Return the bytes of a text in UTF-8, as ids (N,) from 0 to 255."""
    return torch.tensor(list(text.encode("utf-8")))


def rows_of(ids: Tensor, n_rows: int, width: int = WIDTH) -> Tensor:
    """Return so many rows (B, T), from all over the text."""
    starts = torch.linspace(0, len(ids) - width, n_rows).long()
    return ids[starts[:, None] + torch.arange(width)]


def train(states: int, seed: int, n_steps: int = N_STEPS) -> tuple[HMM, Tensor]:
    """Train one model; return it and the log-likelihoods on the way."""
    seed_all(seed)
    model = HMM(HMMConfig(n_states=states, n_tokens=256))
    ids = rows_of(as_bytes(texts()["train"]), N_ROWS)
    return model, baum_welch(model, ids, n_steps=n_steps, extra=EXTRA)


def held_out(model: HMM) -> float:
    """Return its bits per byte on rows of the test text."""
    ids = rows_of(as_bytes(texts()["test"]), N_TEST_ROWS, 5 * WIDTH)
    with torch.no_grad():
        log_p = model.filter(ids)[1]
    return bits_per_byte(log_p, n_bytes=ids.numel())


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train and score the model of one size and seed."""
    model, course = train(**unit)
    return {
        "bits per byte": held_out(model),
        "log-likelihood": [round(value, 1) for value in course.tolist()],
    }


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train for two rounds, and score."""
    model, course = train(**unit, n_steps=2)
    return {"bits per byte": held_out(model), "log-likelihood": course.tolist()}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and interval of the bits per byte for each number of states."""
    summary = {}
    for n in STATES:
        found = [u["bits per byte"] for u in units if u["states"] == n]
        ends = t_interval(torch.tensor(found))
        summary[str(n)] = {
            "mean": ends.estimate,
            "low": ends.low,
            "high": ends.high,
            "worst": max(found),
            "best": min(found),
        }
    return summary
