"""Does a verb agree with its subject? By distance, by attractors and by depth.

Elman, GRU and LSTM networks of about equal size learn to predict the next word of
sentences such as "Near the pilots the nurse that the guards were calling was tired",
which ``agreement_sentences`` makes.

Two sets of test sentences put nouns between the subject and its verb. In a **chain**
(the nurse near the pilots behind the guard … was) one number must be kept. In a
**nest** (the nurse that the pilots that the guard was calling were helping was) each
noun has a verb of its own, the last noun the first verb. Half of the test sentences
begin with another noun, so that the first noun is not always the subject.

A unit is an architecture. Its first seeds choose the learning rate, by the loss on
validation sentences; other seeds are then trained at that rate, and are reported.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.chapters.c07_lstm.agreement_sentences import (
    RULES,
    Sentence,
    between,
    encode,
    like_training,
    n_attractors,
    right,
    vocabulary,
)
from unrolled.data.made.agreement import WAS
from unrolled.data.padding import pad
from unrolled.evaluation.counting import count_parameters
from unrolled.evaluation.intervals import (
    Interval,
    bootstrap,
    paired_difference,
    unpaired_t_interval,
)
from unrolled.losses import cross_entropy
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

VERSION = 1
TRAIN_ROWS, VALID_ROWS, TEST_ROWS = 40_000, 2000, 1000
UPDATES, ROWS, CLIP = 1800, 64, 1.0
RATES = (3e-3, 1e-2, 3e-2)
CHOOSING, REPORTED = (0, 1), (2, 3, 4, 5)  # seeds
WORST_LOSS = 100.0  # what a loss without bound is recorded as
D_EMBED = 32
#: Widths at which the three have about as many parameters.
WIDTHS = {"rnn": 91, "gru": 56, "lstm": 48}
NAMES = {"rnn": "Elman", "gru": "GRU", "lstm": "LSTM"}
#: How nouns are joined in each set of test sentences, and how many stand between the
#: subject and the main verb.
TESTS = {"chain": ("preposition", range(9)), "nest": ("object", range(5))}
WORDS_EACH = {"chain": 3, "nest": 5}  # how many words a noun between brings
UNITS: list[dict[str, Any]] = [{"cell": cell} for cell in WIDTHS]


def start(cell: str, seed: int) -> RNNLM:
    """Return a network before training."""
    seed_all(seed)
    return RNNLM(
        RNNLMConfig(
            n_tokens=len(vocabulary()),
            d_model=WIDTHS[cell],
            d_embed=D_EMBED,
            tied=False,
            cell=cell,
        )
    )


def loss_of(model: RNNLM, rows: Sequence[Sequence[int]]) -> Tensor:
    """Return the mean of -log p of each next word."""
    ids, real = pad(rows)
    return cross_entropy(model(ids[:, :-1]), ids[:, 1:], real[:, 1:])


def batches(rows: Sequence[list[int]], seed: int) -> Iterator[list[list[int]]]:
    """Yield batches without end, the rows in a new order each time through."""
    draw = generator(seed)
    while True:
        order = torch.randperm(len(rows), generator=draw).tolist()
        for i in range(0, len(rows) - ROWS + 1, ROWS):
            yield [rows[j] for j in order[i : i + ROWS]]


def train(
    model: RNNLM,
    rows: Sequence[list[int]],
    lr: float,
    *,
    seed: int,
) -> None:
    """Train ``model`` in place; the rate falls linearly to zero."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=True)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, UPDATES)
    for done, batch in enumerate(batches(rows, seed), start=1):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        decay.step()
        if done == UPDATES or enough(done):
            return


@torch.no_grad()
def says_plural(model: RNNLM, sentences: Sequence[Sentence]) -> list[list[bool]]:
    """Say of each verb whether *were* is more probable than *was*, given all before."""
    ids, _ = pad(encode(sentences))
    was, were = (vocabulary()[word] for word in WAS)
    logits = model(ids[:, :-1])
    more = (logits[..., were] > logits[..., was]).tolist()  # (B, T): of the next word
    return [
        [row[at] for at, _ in s.verbs] for row, s in zip(more, sentences, strict=True)
    ]


@cache
def test_sets(n_rows: int) -> dict[str, list[Sentence]]:
    """Return the test sentences by the name of their set, such as "nest 2"."""
    return {
        f"{name} {n}": between(n_rows, n, kind, seed=10_000 * (1 + k) + n)
        for k, (name, (kind, numbers)) in enumerate(TESTS.items())
        for n in numbers
    }


@cache
def corpus() -> tuple[list[list[int]], list[list[int]]]:
    """Return the training and the validation rows, the same for every network."""
    return (
        encode(like_training(TRAIN_ROWS, seed=1)),
        encode(like_training(VALID_ROWS, seed=2)),
    )


def trained(cell: str, lr: float, seed: int) -> tuple[RNNLM, float]:
    """Return a trained network and its loss on the validation sentences, in nats."""
    rows, valid = corpus()
    model = start(cell, seed)
    train(model, rows, lr, seed=seed)
    with torch.no_grad():
        loss = loss_of(model, valid).item()
    return model, loss if loss < WORST_LOSS else WORST_LOSS  # also if it is nan


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Choose the rate of an architecture, train the reported seeds and test them.

    Of each test set and verb, "right" has a digit for each sentence: of how many seeds
    the answer was right. The verbs are in the order of the sentence, the main one last;
    after them comes how many seeds were right about all.
    """
    return _run(unit, TEST_ROWS)


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Do the same with fewer test sentences, for a replay."""
    return _run(unit, 50)


def _run(unit: dict[str, Any], n_rows: int) -> dict[str, Any]:
    cell = unit["cell"]
    tried = [[trained(cell, lr, seed)[1] for seed in CHOOSING] for lr in RATES]
    means = [_mean(losses) for losses in tried]
    rate = RATES[means.index(min(means))]
    models, losses = zip(*(trained(cell, rate, s) for s in REPORTED), strict=True)
    counts: dict[str, list[str]] = {}
    by_seed: dict[str, list[list[float]]] = {}
    for name, sentences in test_sets(n_rows).items():
        found = torch.tensor(
            [right(says_plural(model, sentences), sentences) for model in models]
        )  # (seeds, sentences, verbs)
        found = torch.cat([found, found.all(dim=-1, keepdim=True)], dim=-1)
        verbs = found.unbind(dim=-1)
        counts[name] = ["".join(map(str, v.sum(dim=0).tolist())) for v in verbs]
        by_seed[name] = [v.double().mean(dim=1).tolist() for v in verbs]
    return {
        "parameters": count_parameters(models[0]),
        "rate": rate,
        "validation loss by rate": tried,
        "validation loss": list(losses),
        "right": counts,
        "by seed": by_seed,
    }


def shares(digits: str) -> Tensor:
    """Return the share of seeds that are right about each sentence, (N,)."""
    return torch.tensor([int(d) for d in digits], dtype=torch.float64) / len(REPORTED)


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return accuracy by test set and verb, by attractors, of rules, and differences.

    Intervals are over test sentences, the seeds averaged. "by seed" is kept beside
    them, since seeds differ by more than sentences do.
    """
    networks: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, Tensor]] = {}
    for unit in units:
        per_verb = {
            name: torch.stack([shares(d) for d in verbs], dim=1)
            for name, verbs in unit["right"].items()
        }
        name = NAMES[unit["cell"]]
        answers[name] = per_verb
        networks[name] = (
            {
                key: unit[key]
                for key in ("parameters", "rate", "validation loss by rate", "by seed")
            }
            | {"width": WIDTHS[unit["cell"]]}
            | _accuracies(per_verb)
        )
        networks[name]["validation loss"] = _mean(unit["validation loss"])
    rules = {}
    for name, rule in RULES.items():
        per_verb = {}
        for test, sentences in test_sets(TEST_ROWS).items():
            guesses = [[rule(s, at) for at, _ in s.verbs] for s in sentences]
            found = torch.tensor(right(guesses, sentences))
            both = torch.cat([found, found.all(dim=-1, keepdim=True)], dim=-1)
            per_verb[test] = both.double()
        rules[name] = _accuracies(per_verb)
    seen = {tuple(row) for row in corpus()[0]}
    return {
        "networks": networks,
        "rules": rules,
        "differences": _differences(answers, networks),
        "rules on validation": _rules_on(like_training(VALID_ROWS, seed=2)),
        "seen in training": {
            test: _mean([tuple(row) in seen for row in encode(sentences)])
            for test, sentences in test_sets(TEST_ROWS).items()
        },
        "words": {
            name: [WORDS_EACH[name] * n for n in numbers]
            for name, (_, numbers) in TESTS.items()
        },
        "test sentences": TEST_ROWS,
        "rates": list(RATES),
        "seeds": len(REPORTED),
    }


def _rules_on(sentences: Sequence[Sentence]) -> dict[str, dict[str, float]]:
    """Return how often each rule is right about main and about other verbs."""
    found = {}
    for name, rule in RULES.items():
        guesses = [[rule(s, at) for at, _ in s.verbs] for s in sentences]
        answers = right(guesses, sentences)
        inner = [answer for row in answers for answer in row[:-1]]
        found[name] = {
            "main": _mean([row[-1] for row in answers]),
            "inner": _mean(inner),
        }
    return found


def _accuracies(per_verb: dict[str, Tensor]) -> dict[str, Any]:
    """Return intervals by test set and verb, and by attractors for the main verb."""
    by_attractors: dict[str, list[list[float]]] = {}
    for test, answers in per_verb.items():
        counts = torch.tensor([n_attractors(s, -1) for s in test_sets(TEST_ROWS)[test]])
        by_attractors[test] = [
            _interval(answers[counts == n, -2]) for n in range(int(counts.max()) + 1)
        ]
    return {
        "accuracy": {
            test: [_interval(verb) for verb in answers.unbind(dim=1)]
            for test, answers in per_verb.items()
        },
        "main verb by attractors": by_attractors,
    }


def _differences(
    answers: dict[str, dict[str, Tensor]], networks: dict[str, dict[str, Any]]
) -> dict[str, dict[str, list[float]]]:
    """Return for each pair and set the differences of the main verb and of all right.

    Over sentences (seeds averaged, the same sentences for both), and over seeds (which
    are not paired).
    """
    found: dict[str, dict[str, list[float]]] = {}
    for one, two in combinations(answers, 2):
        pair = found.setdefault(f"{one} - {two}", {})
        for test in answers[one]:
            for verb, of in ((-2, "main verb"), (-1, "all verbs")):
                over_sentences = paired_difference(
                    answers[one][test][:, verb],
                    answers[two][test][:, verb],
                    generator=generator(0),
                )
                seeds = [
                    torch.tensor(networks[name]["by seed"][test][verb])
                    for name in (one, two)
                ]
                pair[f"{test}, {of}"] = _ends(over_sentences)
                pair[f"{test}, {of}, over seeds"] = _ends(unpaired_t_interval(*seeds))
    return found


def _interval(values: Tensor) -> list[float]:
    return _ends(bootstrap(values, generator=generator(0)))


def _ends(interval: Interval) -> list[float]:
    return [round(v, 6) for v in (interval.estimate, interval.low, interval.high)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
