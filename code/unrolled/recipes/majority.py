"""What a last state can keep: one cue, or a majority, by length and by budget.

Texts of made-up words are read by an Elman network, whose last state or the mean of
whose states decides. In one task a single word says the answer, anywhere in the text;
in the other many do, and the more frequent kind wins. Training has texts of 5 to 30
words, tests have up to 80.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.models.text_classifier import TextClassifier, TextClassifierConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

N_TOKENS, E, D, ROWS, RATE = 20, 16, 32, 32, 3e-3
SHORTEST, LONGEST = 5, 30  # words of a training text
TESTED = (5, 10, 20, 40, 80)
N_TEST = 1000
BUDGET, LONGER = 300, 3000
SEEDS = range(5)


def cue(n_rows: int, n_words: int, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw texts of neutral words, 2 to 19, with one 0 or 1, which is the answer."""
    x = torch.randint(2, N_TOKENS, (n_rows, n_words), generator=draws)
    y = torch.randint(2, (n_rows,), generator=draws)
    x[torch.arange(n_rows), torch.randint(n_words, (n_rows,), generator=draws)] = y
    return x, y


def vote(n_rows: int, n_words: int, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw texts in which four words in ten are a 0 or a 1: the more frequent wins.

    Ties are left out.
    """
    x = torch.randint(2, N_TOKENS, (n_rows, n_words), generator=draws)
    votes = torch.randint(2, (n_rows, n_words), generator=draws)
    x = torch.where(torch.rand(x.shape, generator=draws) < 0.4, votes, x)
    lead = (x == 1).sum(1) - (x == 0).sum(1)
    return x[lead != 0], (lead[lead != 0] > 0).long()


Texts = Callable[[int, int, torch.Generator], tuple[Tensor, Tensor]]
TASKS: dict[str, Texts] = {"one cue": cue, "majority": vote}
UNITS: list[dict[str, Any]] = [
    {"task": task, "pooling": pooling, "updates": updates, "seed": seed}
    for (task, updates), pooling, seed in product(
        [("one cue", BUDGET), ("majority", BUDGET), ("majority", LONGER)],
        ("last", "mean"),
        SEEDS,
    )
]


def train(task: str, pooling: str, updates: int, seed: int) -> TextClassifier:
    """Train one reader on texts of one length a batch, drawn anew each time."""
    seed_all(seed)
    draws = generator(seed)
    reader = TextClassifier(
        TextClassifierConfig(
            n_tokens=N_TOKENS,
            d_embed=E,
            d_hidden=D,
            n_classes=2,
            cell="rnn",
            pooling=pooling,
        )
    )
    optimizer = torch.optim.AdamW(reader.parameters(), lr=RATE)
    for update in range(1, updates + 1):
        n_words = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=draws))
        x, y = TASKS[task](ROWS, n_words, draws)
        loss = F.cross_entropy(reader(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        if enough(update):
            break
    return reader


@torch.no_grad()
def right_by_length(reader: TextClassifier, task: str) -> list[float]:
    """Return the share of right answers at each length of ``TESTED``."""
    unseen = (TASKS[task](N_TEST, n, generator(10_000 + n)) for n in TESTED)
    return [(reader(x).argmax(1) == y).float().mean().item() for x, y in unseen]


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the reader of one unit, and test it at every length."""
    return {"right": right_by_length(train(**unit), unit["task"])}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean share of right answers over the seeds, by length."""
    keys = dict.fromkeys((u["task"], u["pooling"], u["updates"]) for u in units)
    return {
        f"{task}, {pooling}, {updates} updates": [
            sum(shares) / len(shares)
            for shares in zip(
                *(
                    u["right"]
                    for u in units
                    if (u["task"], u["pooling"], u["updates"])
                    == (task, pooling, updates)
                ),
                strict=True,
            )
        ]
        for task, pooling, updates in keys
    }
