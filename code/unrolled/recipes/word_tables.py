"""What the window model knows about words, seed by seed.

Each unit trains the window model that sees two words. Where does it do better than a
trigram, and what if a word in its window is exchanged for another? And what does its
table say to the questions that :mod:`unrolled.recipes.company` asks of every table?
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.evaluation.perplexity import bits_per_token
from unrolled.models.window_lm import WindowLM, log_probabilities
from unrolled.recipes import company, window_words
from unrolled.runtime import generator

VERSION = 2
N_CONTEXT = 2  # words in sight
UNITS: list[dict[str, Any]] = [{"seed": seed} for seed in range(5)]


@cache
def seen() -> Tensor:
    """Return which runs of three words of the test text are in the training text."""
    train, test = window_words.texts()["train"], window_words.texts()["test"]
    runs = set(map(tuple, train.unfold(0, N_CONTEXT + 1, 1).tolist()))
    asked = map(tuple, test.unfold(0, N_CONTEXT + 1, 1).tolist())
    return torch.tensor([run in runs for run in asked])


def by_sight(log_p: Tensor) -> dict[str, float]:
    """Return the bits a word of the test text, by whether its run was seen or is new.

    ``log_p`` (N,) are a model's log-probabilities of the test text.
    """
    log_p = log_p[N_CONTEXT:]
    return {
        "seen": bits_per_token(log_p[seen()]),
        "new": bits_per_token(log_p[~seen()]),
    }


def exchanges(model: WindowLM) -> dict[str, Tensor]:
    """Return for each way to exchange words what every word (V,) is exchanged for.

    Words are numbered by frequency, so one of the same ten is about as frequent.
    """
    n_words = model.config.n_tokens
    places = F.normalize(model.embed.weight[:n_words].detach(), dim=1)
    tens = torch.arange(n_words).view(-1, 10)
    return {
        "nearest word": (places @ places.T).fill_diagonal_(-1).argmax(dim=1),
        "any word": torch.randperm(n_words, generator=generator(0)),
        "word as frequent": tens.roll(5, dims=1).flatten(),
    }


@torch.no_grad()
def bits_if(model: WindowLM, exchange: Tensor) -> float:
    """Return the bits a word on new runs, the word before exchanged for another."""
    ids = window_words.texts()["test"]
    windows = model.windows(ids)[N_CONTEXT:].clone()  # rows of a view share memory
    windows[:, -1] = exchange[windows[:, -1]]
    log_p = -F.cross_entropy(model(windows), ids[N_CONTEXT:], reduction="none")
    return bits_per_token(log_p[~seen()])


def window_table(model: WindowLM) -> tuple[Tensor, dict[str, int]]:
    """Return the window model's vectors (V, E), of length one, and each word's row."""
    rows = {str(word): row for word, row in window_words.tokenizer().ids.items()}
    return F.normalize(model.embed.weight.detach(), dim=1), rows


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the network of one seed and ask it."""
    window = window_words.train(n_context=N_CONTEXT, seed=unit["seed"])
    swaps = exchanges(window).items()
    return {
        **by_sight(log_probabilities(window, window_words.texts()["test"])),
        **{name: bits_if(window, exchange) for name, exchange in swaps},
        **company.ask(*window_table(window)),
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return every number seed by seed, and what the trigram needs."""
    plain = ("seen", "new", "nearest word", "any word", "word as frequent")
    test = window_words.texts()["test"]
    first = [int(company.came_first(u["shared kin"]).sum()) for u in units]
    return {
        **{name: [u[name] for u in units] for name in (*plain, "same kind")},
        "first": first,
        "analogies": len(units[0]["shared kin"]),
        "trigram": by_sight(window_words.count(3).log_probabilities(test)),
    }
