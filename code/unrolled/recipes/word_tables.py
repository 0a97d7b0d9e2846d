"""What two networks know about words, seed by seed: the window model and skip-gram.

Each unit trains the window model that sees two words and skip-gram. Where does the
first do better than a trigram, and what if a word in its window is exchanged for
another? How closely do the scores of the second go with the mutual information of two
words? And what does either table say to questions that any table can be asked?
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.corpora.glove import glove
from unrolled.evaluation.perplexity import bits_per_token
from unrolled.models.skipgram import SkipGram, skip_pairs
from unrolled.models.window_lm import WindowLM, log_probabilities
from unrolled.recipes import company, window_words
from unrolled.runtime import generator

N_CONTEXT, OFTEN = 2, 5  # words in sight; pairs that met less often are not compared
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


@cache
def meetings() -> Tensor:
    """Return how often each two known words of the Bible met within a window (V, V)."""
    (ids, owners), n_words = company.text(), len(company.tokenizer())
    pairs = skip_pairs(ids, window=company.WINDOW, owners=owners)
    pairs = pairs[(pairs > 0).all(dim=1)]
    met = torch.bincount(pairs[:, 0] * n_words + pairs[:, 1], minlength=n_words**2)
    return met.view(n_words, n_words)


@torch.no_grad()
def correlation(model: SkipGram, met: Tensor) -> float:
    """Return that of the scores with the mutual information, of pairs that met often.

    ``met`` (V, V) says how often; ``OFTEN`` times is often.
    """
    often, alone = met >= OFTEN, met.double().sum(dim=1) / met.sum()
    by_chance = alone[:, None] * alone
    information = (met[often] / met.sum() / by_chance[often]).log()
    scores = (model.centre @ model.neighbour.T)[often].double()
    return float(torch.corrcoef(torch.stack([scores, information]))[0, 1])


@cache
def shared() -> tuple[str, ...]:
    """Return the words that the window model, skip-gram and GloVe all know."""
    elsewhere = set(window_words.tokenizer().ids) & set(glove().words)
    return tuple(str(word) for word in company.tokenizer().ids if word in elsewhere)


def ask(unit: Tensor, rows: Mapping[str, int]) -> dict[str, float]:
    """Ask a table (V, E) of rows of length one for kinds, and for kin among the shared.

    Where a kind has a word that is not in ``rows``, the table's row 0 stands for it.
    """
    kinds = [word for words in company.KINDS.values() for word in words.split()]
    same = company.same_kind(unit, {word: rows.get(word, 0) for word in kinds})
    table = unit[[rows[word] for word in shared()]]
    ranks = company.kin_ranks(table, {word: i for i, word in enumerate(shared())})
    first = sum(out == 1 for _, out in ranks)
    return {"same kind": same, "analogies": len(ranks), "first": first}


def window_table(model: WindowLM) -> tuple[Tensor, dict[str, int]]:
    """Return the window model's vectors (V, E), of length one, and each word's row."""
    rows = {str(word): row for word, row in window_words.tokenizer().ids.items()}
    return F.normalize(model.embed.weight.detach(), dim=1), rows


def skip_table(model: SkipGram) -> tuple[Tensor, dict[str, int]]:
    """Return skip-gram's vectors (V, E), of length one, and each word's row."""
    rows = {str(word): row for word, row in company.tokenizer().ids.items()}
    return F.normalize(model.vectors(), dim=1), rows


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train both networks of one seed and ask them."""
    window = window_words.train(n_context=N_CONTEXT, seed=unit["seed"])
    bible = company.train(seed=unit["seed"])
    swaps = exchanges(window).items()
    return {
        **by_sight(log_probabilities(window, window_words.texts()["test"])),
        **{name: bits_if(window, exchange) for name, exchange in swaps},
        "correlation": correlation(bible, meetings()),
        "window model": ask(*window_table(window)),
        "skip-gram": ask(*skip_table(bible)),
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return every number seed by seed, and what the trigram needs."""
    plain = ("seen", "new", "nearest word", "any word", "word as frequent")
    test = window_words.texts()["test"]
    return {
        **{name: [u[name] for u in units] for name in (*plain, "correlation")},
        **{
            table: {of: [u[table][of] for u in units] for of in ("same kind", "first")}
            for table in ("window model", "skip-gram")
        },
        "analogies": units[0]["skip-gram"]["analogies"],
        "trigram": by_sight(window_words.count(3).log_probabilities(test)),
    }
