"""Weight tying on words: one table or two, on the King James Bible.

The same Elman network with its table tied and untied, seed by seed on the same batches.
What is compared is the perplexity of the validation books, after every 200 updates.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.words import Words
from unrolled.data.windows import sampled_windows
from unrolled.evaluation.counting import count_parameters
from unrolled.evaluation.intervals import paired_t_interval
from unrolled.evaluation.language_model import text_log_probabilities
from unrolled.losses import cross_entropy
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW

D, ROWS, WIDTH, MIN_COUNT = 96, 32, 36, 5
TRAIN = TrainConfig(steps=1600, lr=3e-3, optimizer=AdamW(fused=False))
EVERY, HEAD, SCORED = 200, 20, 20_000
UNITS: list[dict[str, Any]] = [
    {"tied": tied, "seed": seed} for seed in range(3) for tied in (True, False)
]


@cache
def words() -> tuple[Words, Tensor, Tensor]:
    """Return the tokenizer, and the ids of the training and the validation text."""
    text = kjv_text()
    tokenizer = Words.of([text.train], min_count=MIN_COUNT)
    train = torch.tensor(tokenizer.encode(text.train))
    return tokenizer, train, torch.tensor(tokenizer.encode(text.validation))


def build(*, tied: bool, n_tokens: int) -> RNNLM:
    """Return the network before training, with one table or with two."""
    return RNNLM(RNNLMConfig(n_tokens=n_tokens, d_model=D, cell="rnn", tied=tied))


def loss_fn(model: RNNLM, batch: Batch) -> Tensor:
    """Return the mean surprise of the next word, in nats."""
    return cross_entropy(model(batch.x), batch.y)


def steps(*, tied: bool, seed: int) -> Iterator[tuple[int, Tensor, RNNLM]]:
    """Train one network; yield each update's number, its loss and the network."""
    seed_all(seed)
    tokenizer, text, _ = words()
    model, draws = build(tied=tied, n_tokens=len(tokenizer)), generator(seed)
    batches = (
        sampled_windows(text, ROWS, width=WIDTH, generator=draws)
        for _ in range(TRAIN.steps)
    )
    for update, loss in training_steps(model, loss_fn, batches, TRAIN):
        yield update, loss, model


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one network; keep its first losses and its validation loss on the way."""
    head, life = [], []
    for update, loss, model in steps(**unit):
        if update <= HEAD:
            head.append(round(loss.item(), 5))
        if update % EVERY == 0:
            nats = -text_log_probabilities(model, words()[2][:SCORED], width=WIDTH)
            life.append({"update": update, "nats": nats.double().mean().item()})
    return {
        "weights": count_parameters(model),
        "head": head,
        "life": life,
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the weights, and what tying changes at the end, with its interval."""
    ends = {
        tied: torch.tensor(
            [unit["life"][-1]["nats"] for unit in units if unit["tied"] == tied]
        )
        for tied in (True, False)
    }
    gain = paired_t_interval(ends[True], ends[False])
    return {
        "vocabulary": len(words()[0]),
        "width": D,
        "perplexity, tied": ends[True].mean().exp().item(),
        "perplexity, untied": ends[False].mean().exp().item(),
        "tied less untied, nats": gain.estimate,
        "low": gain.low,
        "high": gain.high,
    }
