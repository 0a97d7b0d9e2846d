"""The recipes about words: what they read, how they mix and score, small pieces run."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from unrolled.recipes import company, frozen_or_tuned, window_words
from unrolled.recipes.runner import results
from unrolled.runtime import generator
from unrolled.widgets.bpe_stepper import EXAMPLES, bpe_steps, spelt


def test_a_mixture_is_the_mean_of_probabilities():
    p, q = torch.tensor([0.2, 0.9]), torch.tensor([0.6, 0.1])
    mixed = window_words.mixed(p.log(), q.log())
    torch.testing.assert_close(mixed.exp(), torch.tensor([0.4, 0.5]).double())


def test_window_words_reads_its_vocabulary_from_the_training_text():
    texts = window_words.texts()
    assert len(window_words.tokenizer()) == window_words.N_TOKENS
    assert texts["train"].max() < window_words.N_TOKENS
    assert len(texts["test"]) == window_words.N_TEST


def test_committed_counts_are_counted_again():
    kept = results("window_words")["summary"]["Kneser-Ney"]
    test = window_words.texts()["test"]
    log_p = window_words.count(2).log_probabilities(test)
    assert -log_p.mean().item() / math.log(2) == pytest.approx(kept["2"], abs=1e-6)


def test_kinds_are_known_words_and_a_perfect_table_tells_them():
    rows = {str(word): row for word, row in company.tokenizer().ids.items()}
    words = [(k, w) for k, text in company.KINDS.items() for w in text.split()]
    assert all(word in rows for _, word in words)
    table = torch.zeros(len(rows), len(company.KINDS))
    for kind, word in words:
        table[rows[word], list(company.KINDS).index(kind)] = 1.0
    assert company.same_kind(table, rows) == 1.0
    noise = torch.randn(len(rows), 50, generator=generator(0))
    assert company.same_kind(F.normalize(noise, dim=1), rows) < 0.5


def test_paragraphs_own_their_words():
    ids, owners = company.text()
    assert len(ids) == len(owners)
    assert (owners.diff() >= 0).all()


def test_kin_come_first_where_steps_are_equal():
    pairs = company.KIN[:3]
    rows = {word: i for i, word in enumerate(w for pair in pairs for w in pair)}
    base = torch.eye(4)[:3].repeat_interleave(2, dim=0) * 3
    base[1::2, 3] = 1.0  # the same step for each pair
    ranks = company.kin_ranks(F.normalize(base, dim=1), rows)
    assert len(ranks) == 6
    assert all(out == 1 for _, out in ranks)
    assert all(free >= out for free, out in ranks)


def test_starts_differ_in_what_may_move():
    frozen, tuned, random = map(
        frozen_or_tuned.start_model, ("frozen", "tuned", "random")
    )
    assert torch.equal(frozen.embed.weight, frozen_or_tuned.vectors())
    assert torch.equal(tuned.embed.weight, frozen_or_tuned.vectors())
    assert not torch.equal(random.embed.weight, frozen_or_tuned.vectors())
    assert not frozen.embed.weight.requires_grad
    assert tuned.embed.weight.requires_grad
    assert random.embed.weight.requires_grad


def test_a_slow_table_moves_at_a_part_of_the_rate():
    ids = torch.arange(1, 9).reshape(2, 4)
    for start, pace in frozen_or_tuned.PACES.items():
        model = frozen_or_tuned.start_model(start)
        assert torch.equal(model.embed.weight, frozen_or_tuned.vectors())
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
        F.cross_entropy(model(ids), torch.tensor([0, 1])).backward()
        optimizer.step()
        moved = (model.embed.weight - frozen_or_tuned.vectors()).detach()[1:9]
        assert moved.abs().median().item() == pytest.approx(0.01 * pace, rel=0.02)


def test_validation_chooses_the_pace_and_the_test_does_not():
    seeds = frozen_or_tuned.SEEDS
    units = [
        {"start": start, "labels": n, "seed": seed, "accuracy": a, "validation": v}
        for seed in seeds
        for start, n, a, v in (
            ("frozen", 25, 0.6, 0.5),
            ("3 %", 25, 0.5, 0.4),
            ("random", 25, 0.9, 0.1),
            ("tuned", 50, 0.9, 0.1),
        )
    ]
    found = frozen_or_tuned.chosen(units, 25)
    assert [(u["seed"], u["start"]) for u in found] == [(seed, "3 %") for seed in seeds]


def test_parts_share_no_text_and_labels_are_clear():
    train, test = frozen_or_tuned.part("train"), frozen_or_tuned.part("test")
    assert set(train.y.tolist()) == set(test.y.tolist()) == {0, 1}
    assert train.x.max() <= len(frozen_or_tuned.words())


def test_bpe_steps_shorten_the_text_one_merge_at_a_time():
    run = bpe_steps(EXAMPLES["low, lower, lowest"])
    lengths = [sum(map(len, step)) for step in run.pieces]
    assert len(run.pieces) == len(run.merges) + 1
    assert all(before > after for before, after in pairwise(lengths))
    assert spelt(b" a") == "␣a"
    assert spelt(b"\xc3") == "c3"
