"""The neural window model on words of the Bible, by how many words it sees.

Each unit trains one :class:`unrolled.models.window_lm.WindowLM` on every sixth
paragraph of the training books and scores it on held-out books, alone and mixed half
and half with a trigram that counted the same text. Rare words are one token, unknown.
The widths, the number of rounds and the learning rate were chosen on the validation
books (:mod:`unrolled.recipes.window_choice`); the test books had no part in it.
"""

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.data.batch import Batch
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.words import Words
from unrolled.evaluation.perplexity import bits_per_token
from unrolled.models.ngram import NGram, kneser_ney
from unrolled.models.window_lm import WindowLM, WindowLMConfig, log_probabilities
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.schedules import WarmupCosine

VERSION = 2
EVERY, N_TOKENS, N_TEST = 6, 2000, 30_000
D_EMBED, D_HIDDEN, N_ROWS, EPOCHS, RATE = 96, 192, 256, 3, 3e-3
CONTEXTS, SEEDS = (1, 2, 3, 4), range(3)
UNITS: list[dict[str, Any]] = [
    {"n_context": n, "seed": seed} for n in CONTEXTS for seed in SEEDS
]


@cache
def tokenizer() -> Words:
    """Return the words that come most often in the training text, and unknown."""
    return Words.of([_train_text()], max_size=N_TOKENS, specials=("<unk>",))


@cache
def texts() -> dict[str, Tensor]:
    """Return the training text and the beginnings of the held-out ones, as ids (N,)."""
    words, parts = tokenizer(), kjv_text()
    held_out = {"validation": parts.validation, "test": parts.test}
    return {"train": torch.tensor(words.encode(_train_text()))} | {
        part: torch.tensor(words.encode(text.lower())[:N_TEST])
        for part, text in held_out.items()
    }


def _train_text() -> str:
    return "\n".join(kjv_text().train.lower().split("\n")[::EVERY])


@cache
def count(order: int) -> NGram:
    """Return the Kneser-Ney model of the training text."""
    return kneser_ney(texts()["train"], order=order, n_tokens=N_TOKENS)


def train(
    n_context: int,
    seed: int,
    *,
    d_embed: int = D_EMBED,
    d_hidden: int = D_HIDDEN,
    epochs: int = EPOCHS,
    rate: float = RATE,
) -> WindowLM:
    """Train one model for a few rounds through the text."""
    seed_all(seed)
    config = WindowLMConfig(
        n_tokens=N_TOKENS, n_context=n_context, d_embed=d_embed, d_hidden=d_hidden
    )
    model = WindowLM(config)
    nn.init.normal_(model.embed.weight, std=0.1)
    ids, rng = texts()["train"], generator(seed)
    whole = Batch(x=model.windows(ids), y=ids)
    n_steps = epochs * (len(ids) // N_ROWS)

    def batches() -> Iterator[Batch]:
        while True:
            order = torch.randperm(len(ids), generator=rng)
            for rows in order[: len(ids) // N_ROWS * N_ROWS].split(N_ROWS):
                yield Batch(x=whole.x[rows], y=whole.y[rows])

    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch.x), batch.y)

    schedule = WarmupCosine(warmup=50, steps=n_steps, floor=0.0)
    settings = TrainConfig(steps=n_steps, lr=rate, schedule=schedule)
    for _ in training_steps(model, loss_fn, batches(), settings):
        pass
    return model


def mixed(one: Tensor, two: Tensor) -> Tensor:
    """Return the log-probabilities (N,) of the mean of two models' probabilities."""
    both = torch.stack([one.double(), two.double()])
    return both.logsumexp(dim=0) - math.log(2)


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train and score the model of one width of context and one seed."""
    test = texts()["test"]
    log_p = log_probabilities(train(**unit), test)
    both = mixed(log_p, count(3).log_probabilities(test))
    return {"bits": bits_per_token(log_p), "with trigram": bits_per_token(both)}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the bits a word of each width, seed by seed, and those of the counts."""
    test = texts()["test"]
    by_width = {
        key: {str(n): [u[key] for u in units if u["n_context"] == n] for n in CONTEXTS}
        for key in ("bits", "with trigram")
    }
    counted = {
        str(n): bits_per_token(count(n).log_probabilities(test)) for n in range(1, 6)
    }
    return {**by_width, "Kneser-Ney": counted}
