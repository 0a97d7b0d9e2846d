"""Vectors of the Bible's words, guessed and counted from the same text.

Each unit takes the training books, whole or with frequent words left out at random. On
all pairs of neighbours it trains one :class:`unrolled.models.skipgram.SkipGram`, and
the same pairs it counts. All tables are asked the same two things. Of some words of
known kinds (numbers, tribes, beasts, ...), is the nearest of the same kind? And at
which rank does the table answer analogies of kin? The validation books say after how
many rounds skip-gram predicts best; the questions have no part in it.

Axes: V words, E embedding width.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.corpora.glove import glove
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.words import Words
from unrolled.evaluation.analogies import KIN, corner, rank
from unrolled.models.skipgram import (
    SkipGram,
    SkipGramConfig,
    frequencies,
    negative_sampling_loss,
    noise_distribution,
    noisy_batches,
    skip_pairs,
    subsample,
)
from unrolled.recipes import window_words
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

VERSION = 2
MIN_COUNT, D_EMBED, WINDOW, THRESHOLD = 20, 50, 4, 1e-4
N_ROWS, N_NOISE, ROUNDS, RATE = 4096, 5, 4, 5e-3
N_JUDGED = 100_000  # pairs of the validation books
OFTEN = 5  # pairs that met less often are not compared with their mutual information
KINDS = {
    "numbers": "two three four five six seven eight nine ten twenty thirty forty",
    "kin": "father mother son daughter brother sister wife husband",
    "body": "hand foot eye ear mouth head heart tongue neck",
    "beasts": "ox ass sheep goat lamb bullock ram horse lion",
    "metals": "gold silver brass iron",
    "tribes": "judah benjamin ephraim manasseh reuben gad dan levi simeon naphtali",
}
TEXTS = ("whole", "subsampled")
UNITS: list[dict[str, Any]] = [
    {"text": which, "seed": seed} for which in TEXTS for seed in range(5)
]


@cache
def tokenizer() -> Words:
    """Return the words that come at least twenty times, and unknown, number 0."""
    text = kjv_text().train.lower()
    return Words.of([text], min_count=MIN_COUNT, specials=("<unk>",))


def rows() -> dict[str, int]:
    """Return the row of each word in the tables made here."""
    return {str(word): row for word, row in tokenizer().ids.items()}


@cache
def text(part: str = "train") -> tuple[Tensor, Tensor]:
    """Return the known words of some books as ids (N,), and each one's paragraph."""
    lines = getattr(kjv_text(), part).lower().split("\n")
    encoded = [tokenizer().encode(line) for line in lines]
    ids = torch.tensor([word for line in encoded for word in line])
    owners = torch.arange(len(lines)).repeat_interleave(
        torch.tensor([len(line) for line in encoded])
    )
    return ids[ids > 0], owners[ids > 0]


@cache
def frequency() -> Tensor:
    """Return each word's share (V,) of the training books."""
    return frequencies(text()[0], len(tokenizer()))


def pairs(which: str, rng: torch.Generator, part: str = "train") -> Tensor:
    """Return the pairs of neighbours (N, 2) of some books, whole or subsampled.

    Words are left out before the window is laid, so that it reaches further.
    """
    if which not in TEXTS:
        raise ValueError(f"{which=} must be one of {', '.join(TEXTS)}")
    ids, owners = text(part)
    if which == "subsampled":
        stays = subsample(ids, frequency(), threshold=THRESHOLD, generator=rng)
        ids, owners = ids[stays], owners[stays]
    return skip_pairs(ids, window=WINDOW, owners=owners)


def rounds(which: str, seed: int, n_rounds: int = ROUNDS) -> Iterator[SkipGram]:
    """Train on all pairs, with five words of noise each; yield after each round."""
    seed_all(seed)
    rng, n_tokens = generator(seed), len(tokenizer())
    met, noise, done = pairs(which, rng), noise_distribution(frequency()), 0
    model = SkipGram(SkipGramConfig(n_tokens=n_tokens, d_embed=D_EMBED))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(n_rounds):
        for centres, neighbours in noisy_batches(
            met, noise, n_rows=N_ROWS, n_noise=N_NOISE, generator=rng
        ):
            loss = negative_sampling_loss(model(centres, neighbours))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            if enough(done):
                yield model
                return
        yield model


def train(which: str, seed: int, n_rounds: int) -> SkipGram:
    """Train for so many rounds."""
    *_, model = rounds(which, seed, n_rounds)
    return model


@torch.no_grad()
def validation_loss(model: SkipGram, which: str) -> float:
    """Return the loss on pairs of the validation books, the same for every model."""
    rng, noise = generator(0), noise_distribution(frequency())
    met = pairs(which, rng, "validation")
    centres, neighbours = next(
        noisy_batches(met, noise, n_rows=N_JUDGED, n_noise=N_NOISE, generator=rng)
    )
    return negative_sampling_loss(model(centres, neighbours)).item()


def meetings(met: Tensor) -> Tensor:
    """Count how often each two words met (V, V), in pairs (N, 2)."""
    n_words = len(tokenizer())
    counts = torch.bincount(met[:, 0] * n_words + met[:, 1], minlength=n_words**2)
    return counts.view(n_words, n_words)


def mutual_information(met: Tensor) -> Tensor:
    """Return the pointwise mutual information (V, V); of pairs that never met, -inf."""
    alone = met.sum(dim=1) / met.sum()
    return (met / met.sum() / (alone[:, None] * alone).clamp(min=1e-12)).log()


def count_tables(met: Tensor) -> dict[str, Tensor]:
    """Return three tables made by counting, their rows of length one."""
    ppmi = mutual_information(met).clamp(min=0)
    left, values, _ = torch.linalg.svd(ppmi)
    tables = {
        "plain counts": met.float(),
        "PPMI": ppmi,
        "PPMI, fifty numbers": left[:, :D_EMBED] * values[:D_EMBED],
    }
    return {name: F.normalize(table, dim=1) for name, table in tables.items()}


@torch.no_grad()
def correlation(model: SkipGram, met: Tensor) -> float:
    """Return that of the scores with the mutual information, of pairs that met often.

    ``met`` (V, V) says how often; ``OFTEN`` times is often.
    """
    often = met >= OFTEN
    information = mutual_information(met.double())[often]
    scores = (model.centre @ model.neighbour.T)[often].double()
    return float(torch.corrcoef(torch.stack([scores, information]))[0, 1])


def same_kind(unit: Tensor, rows: Mapping[str, int]) -> float:
    """Return the share of the words of known kinds whose nearest is of their kind.

    ``unit`` (V, E) has rows of length one, and ``rows`` says which is a word's.
    """
    kinds = [kind for kind, words in KINDS.items() for _ in words.split()]
    table = unit[[rows[word] for words in KINDS.values() for word in words.split()]]
    alike = (table @ table.T).fill_diagonal_(-torch.inf).argmax(dim=1).tolist()
    same = [kinds[i] == kinds[j] for i, j in enumerate(alike)]
    return sum(same) / len(same)


def kin_ranks(unit: Tensor, rows: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return the rank of each analogy of kin: all words in the race, inputs left out.

    Pairs of which a word is unknown are not asked.
    """
    known = [pair for pair in KIN if all(word in rows for word in pair)]
    found = []
    for (a, b), (c, d) in permutations(known, 2):
        asked = [rows[a], rows[b], rows[c]]
        query = corner(unit, *asked)
        out = rank(unit, query, rows[d], leave_out=asked)
        found.append((rank(unit, query, rows[d]), out))
    return found


def came_first(ranks: Sequence[tuple[int, int]]) -> Tensor:
    """Return which analogies came first, a row for each pair that gives the step.

    ``ranks`` are those of :func:`kin_ranks`; the inputs are left out. No pair is asked
    about itself: the diagonal is zero.
    """
    n_pairs = next(n for n in range(2, len(KIN) + 1) if n * (n - 1) == len(ranks))
    first = torch.zeros(n_pairs, n_pairs, dtype=torch.float64)
    first[~torch.eye(n_pairs, dtype=torch.bool)] = torch.tensor(
        [float(out == 1) for _, out in ranks], dtype=torch.float64
    )
    return first


@cache
def shared() -> tuple[str, ...]:
    """Return the words that the window model, skip-gram and GloVe all know."""
    elsewhere = set(window_words.tokenizer().ids) & set(glove().words)
    return tuple(word for word in rows() if word in elsewhere)


def ask(unit: Tensor, rows: Mapping[str, int]) -> dict[str, Any]:
    """Ask a table (V, E) of rows of length one for kinds, and for kin among the shared.

    Where a kind has a word that is not in ``rows``, the table's row 0 stands for it.
    """
    kinds = [word for words in KINDS.values() for word in words.split()]
    table = unit[[rows[word] for word in shared()]]
    return {
        "same kind": same_kind(unit, {word: rows.get(word, 0) for word in kinds}),
        "shared kin": kin_ranks(table, {word: i for i, word in enumerate(shared())}),
    }


def _asked(table: Tensor) -> dict[str, Any]:
    return {**ask(table, rows()), "kin": kin_ranks(table, rows())}


def _guessed(unit: dict[str, Any], met: Tensor) -> list[dict[str, Any]]:
    """Train skip-gram; return what each round's table says."""
    return [
        {
            **_asked(F.normalize(model.vectors(), dim=1)),
            "loss": validation_loss(model, unit["text"]),
            "correlation": correlation(model, met),
        }
        for model in rounds(unit["text"], unit["seed"])
    ]


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Guess and count from one text, and ask all tables."""
    met = meetings(pairs(unit["text"], generator(unit["seed"])))
    counted = {name: _asked(table) for name, table in count_tables(met).items()}
    return {"guessed": _guessed(unit, met), "counted": counted}


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train for two updates; nothing is decomposed."""
    met = meetings(pairs(unit["text"], generator(unit["seed"])))
    return {"guessed": _guessed(unit, met), "met": int(met.sum())}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of each text seed by seed, and the best number of rounds."""

    def numbers(found: list[dict[str, Any]]) -> dict[str, Any]:
        plain: dict[str, Any] = {
            key: [one[key] for one in found]
            for key in ("same kind", "loss", "correlation")
            if key in found[0]
        }
        first = [int(came_first(one["kin"]).sum()) for one in found]
        free = [sum(free == 1 for free, _ in one["kin"]) for one in found]
        return {**plain, "first": first, "first, all in the race": free}

    summary: dict[str, Any] = {"analogies": len(units[0]["guessed"][0]["kin"])}
    for which in TEXTS:
        of_text = [unit for unit in units if unit["text"] == which]
        guessed = [
            numbers([unit["guessed"][n] for unit in of_text]) for n in range(ROUNDS)
        ]
        loss = [sum(found["loss"]) for found in guessed]
        summary[which] = {
            "rounds": {str(n + 1): found for n, found in enumerate(guessed)},
            "chosen": loss.index(min(loss)) + 1,
            **{
                name: numbers([unit["counted"][name] for unit in of_text])
                for name in of_text[0]["counted"]
            },
        }
    return summary
