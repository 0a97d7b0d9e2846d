"""Skip-gram vectors of the Bible's words: who keeps company with whom.

Each unit trains one :class:`unrolled.models.skipgram.SkipGram` on the training books
and asks two things. Of some words of known kinds (numbers, tribes, beasts, ...), is the
nearest of the same kind? And at which rank does the table answer analogies of kin?
"""

from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

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
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

MIN_COUNT, D_EMBED, WINDOW, THRESHOLD = 20, 50, 4, 1e-4
N_ROWS, N_NOISE, EPOCHS, RATE = 4096, 5, 2, 5e-3
KINDS = {
    "numbers": "two three four five six seven eight nine ten twenty thirty forty",
    "kin": "father mother son daughter brother sister wife husband",
    "body": "hand foot eye ear mouth head heart tongue neck",
    "beasts": "ox ass sheep goat lamb bullock ram horse lion",
    "metals": "gold silver brass iron",
    "tribes": "judah benjamin ephraim manasseh reuben gad dan levi simeon naphtali",
}
UNITS: list[dict[str, Any]] = [{"seed": seed} for seed in range(5)]


@cache
def tokenizer() -> Words:
    """Return the words that come at least twenty times, and unknown, number 0."""
    text = kjv_text().train.lower()
    return Words.of([text], min_count=MIN_COUNT, specials=("<unk>",))


@cache
def text() -> tuple[Tensor, Tensor]:
    """Return the training books as ids (N,), and the paragraph of each (N,)."""
    lines = [tokenizer().encode(line) for line in kjv_text().train.lower().split("\n")]
    ids = torch.tensor([word for line in lines for word in line])
    owners = torch.arange(len(lines)).repeat_interleave(
        torch.tensor([len(line) for line in lines])
    )
    return ids, owners


def train(seed: int) -> SkipGram:
    """Go twice through all pairs of neighbours, with five words of noise each."""
    seed_all(seed)
    (ids, owners), rng, n_tokens = text(), generator(seed), len(tokenizer())
    frequency = frequencies(ids, n_tokens)
    stays = subsample(ids, frequency, threshold=THRESHOLD, generator=rng) & (ids > 0)
    pairs = skip_pairs(ids[stays], window=WINDOW, owners=owners[stays])
    model = SkipGram(SkipGramConfig(n_tokens=n_tokens, d_embed=D_EMBED))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    noise, done = noise_distribution(frequency), 0
    for _ in range(EPOCHS):
        for centres, neighbours in noisy_batches(
            pairs, noise, n_rows=N_ROWS, n_noise=N_NOISE, generator=rng
        ):
            loss = negative_sampling_loss(model(centres, neighbours))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            if enough(done):
                return model
    return model


def same_kind(unit: Tensor, rows: dict[str, int]) -> float:
    """Return the share of the words of known kinds whose nearest is of their kind.

    ``unit`` (V, E) has rows of length one, and ``rows`` says which is a word's.
    """
    kinds = [kind for kind, words in KINDS.items() for _ in words.split()]
    table = unit[[rows[word] for words in KINDS.values() for word in words.split()]]
    alike = (table @ table.T).fill_diagonal_(-torch.inf).argmax(dim=1).tolist()
    same = [kinds[i] == kinds[j] for i, j in enumerate(alike)]
    return sum(same) / len(same)


def kin_ranks(unit: Tensor, rows: dict[str, int]) -> list[tuple[int, int]]:
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


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train the vectors of one seed and ask them."""
    vectors = F.normalize(train(**unit).vectors(), dim=1)
    rows = {str(word): row for word, row in tokenizer().ids.items()}
    return {"same kind": same_kind(vectors, rows), "kin": kin_ranks(vectors, rows)}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what each seed's table says of kinds, and how often kin come first."""
    first = [[sum(r[k] == 1 for r in u["kin"]) for u in units] for k in (0, 1)]
    return {
        "same kind": [u["same kind"] for u in units],
        "analogies": len(units[0]["kin"]),
        "first, all in the race": first[0],
        "first, inputs left out": first[1],
    }
