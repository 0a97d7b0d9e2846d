"""Frozen or tuned? Word vectors for telling good opinions from bad, by labels given.

Each unit trains a bag of words on so many tweets with their labels: on GloVe's vectors
as they are (frozen), on the same vectors free to move (tuned) or to move at a part of
the rate, or on vectors that start at random. It stops when the validation texts say so,
and is scored on the test texts. Which pace is best the validation texts say as well.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from unrolled.data.batch import Batch
from unrolled.data.corpora.glove import glove
from unrolled.data.corpora.opinions import Opinion, opinions
from unrolled.data.padding import pad_labelled
from unrolled.data.splits import Splits
from unrolled.data.tokens.words import split_words
from unrolled.models.bag_classifier import BagClassifier, BagClassifierConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, fit

CLEAR = 1.0  # texts whose score is nearer to zero are left out
# How fast GloVe's vectors may move, as a part of the rate.
PACES = {"frozen": 0.0, "1 %": 0.01, "3 %": 0.03, "10 %": 0.1, "30 %": 0.3, "tuned": 1}
STARTS = (*PACES, "random")
LABELS, SEEDS = (25, 50, 100, 200, 400, 800, 1600), range(8)
STEPS, N_ROWS, RATE = 600, 32, 1e-2
UNITS: list[dict[str, Any]] = [
    {"start": start, "labels": n, "seed": seed}
    for n, start, seed in product(LABELS, STARTS, SEEDS)
]


def _clear(part: tuple[Opinion, ...]) -> list[Opinion]:
    return [one for one in part if abs(one.score) >= CLEAR]


@cache
def words() -> dict[str, int]:
    """Return the words of the texts that GloVe has, and their rows, from 1 on."""
    there = {
        word
        for part in (_tweets().train, _tweets().validation, _tweets().test)
        for one in part
        for word in split_words(one.text.lower())
    }
    return {word: i for i, word in enumerate(sorted(there & set(glove().words)), 1)}


def _tweets() -> Splits[tuple[Opinion, ...]]:
    return opinions("tweets")


@cache
def part(name: str) -> Batch:
    """Return the clear texts of a part, padded: 1 is a good opinion, 0 a bad one."""
    texts, known = _clear(getattr(_tweets(), name)), words()
    rows = [
        [known[w] for w in split_words(one.text.lower()) if w in known] or [0]
        for one in texts
    ]
    return pad_labelled(rows, torch.tensor([int(one.score > 0) for one in texts]))


@cache
def vectors() -> Tensor:
    """Return GloVe's vectors of the words (V, E); row 0, of no word, is zero."""
    table = glove().vectors[[glove().row(word) for word in words()]]
    return torch.from_numpy(np.concatenate([np.zeros_like(table[:1]), table]))


class SlowTable(nn.Module):
    """A table that is what it was, and a small part of what is learnt.

    Adam's steps have one size whatever the gradient's, so the table moves at this part
    of the rate.
    """

    def __init__(self, given: Tensor, pace: float) -> None:
        super().__init__()
        self.pace = pace
        self.given: Tensor
        self.register_buffer("given", given)

    def forward(self, learnt: Tensor) -> Tensor:
        """Return the table (V, E)."""
        return self.given + self.pace * learnt


def start_model(start: str) -> BagClassifier:
    """Return a bag of words with this start, one of ``STARTS``."""
    n_tokens, width = vectors().shape
    model = BagClassifier(
        BagClassifierConfig(n_tokens=n_tokens, d_embed=width, n_classes=2)
    )
    spread = float(vectors()[1:].std())
    with torch.no_grad():
        nn.init.normal_(model.embed.weight, std=spread)
        if start != "random":
            model.embed.weight.copy_(vectors())
    if 0 < (pace := PACES.get(start, 1)) < 1:
        nn.init.zeros_(model.embed.weight)
        register_parametrization(model.embed, "weight", SlowTable(vectors(), pace))
    model.embed.weight.requires_grad_(start != "frozen")
    return model


def accuracy(model: nn.Module, batch: Batch) -> float:
    """Return the share of texts that are told right."""
    with torch.no_grad():
        right = model(batch.x, batch.mask).argmax(dim=1) == batch.y
    return right.double().mean().item()


def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
    """Return the mean surprise at the opinions, in nats."""
    return F.cross_entropy(model(batch.x, batch.mask), batch.y)


@torch.no_grad()
def validate(model: nn.Module) -> float:
    """Return the loss on the validation texts."""
    return loss_fn(model, part("validation")).item()


def train(start: str, labels: int, seed: int) -> BagClassifier:
    """Train on so many texts, drawn by the seed, until validation says stop."""
    seed_all(seed)
    whole, rng = part("train"), generator(seed)
    chosen = torch.randperm(len(whole), generator=rng)[:labels]
    model = start_model(start)

    def batches() -> Iterator[Batch]:
        assert whole.mask is not None
        while True:
            rows = chosen[torch.randint(len(chosen), (N_ROWS,), generator=rng)]
            yield Batch(x=whole.x[rows], y=whole.y[rows], mask=whole.mask[rows])

    config = TrainConfig(steps=STEPS, lr=RATE, validate_every=20, patience=5)
    fit(model, loss_fn, batches(), config, validate=validate)
    return model


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one classifier; score it, and say what the validation texts say of it."""
    model = train(**unit)
    return {"accuracy": accuracy(model, part("test")), "validation": validate(model)}


def chosen(units: list[dict[str, Any]], labels: int) -> list[dict[str, Any]]:
    """Return for each seed the unit at the pace that the validation texts prefer."""
    paced = [u for u in units if u["labels"] == labels and u["start"] in PACES]
    return [
        min((u for u in paced if u["seed"] == seed), key=lambda u: u["validation"])
        for seed in SEEDS
    ]


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the accuracies by start and number of labels, seed by seed."""
    by_start = {
        start: {
            str(n): [
                u["accuracy"] for u in units if u["start"] == start and u["labels"] == n
            ]
            for n in LABELS
        }
        for start in STARTS
    }
    best = {str(n): chosen(units, n) for n in LABELS}
    by_start["chosen"] = {n: [u["accuracy"] for u in us] for n, us in best.items()}
    return {
        "accuracy": by_start,
        "pace": {n: [PACES[u["start"]] for u in us] for n, us in best.items()},
        "majority": part("test").y.double().mean().item(),
        "words": len(words()),
    }
