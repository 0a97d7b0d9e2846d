"""Copy, reversal, varying recall and running parity keep their rules."""

import functools
import operator
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.made.recall import N_DISTRACTORS
from unrolled.data.made.symbols import (
    copying,
    reversal,
    running_parity,
    varying_recall,
)
from unrolled.runtime import generator

TASKS = (copying, reversal)


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 4), st.integers(0, 99))
def test_copies_and_reversals_of_the_lengths_asked_for(shortest, more, first, seed):
    longest = shortest + more
    for task in TASKS:
        pairs = task(
            5, shortest, longest, n_symbols=7, first_id=first, generator=generator(seed)
        )
        assert len(pairs) == 5
        for pair in pairs:
            n = len(pair.source)
            assert shortest <= n <= longest
            assert set(pair.source) <= set(range(first, first + 7))
            mirror = [n - 1 - t if task is reversal else t for t in range(n)]
            assert [pair.source[t] for t in mirror] == list(pair.target)


def test_lengths_and_symbols_are_all_drawn_alike():
    pairs = copying(6000, 2, 5, n_symbols=4, first_id=3, generator=generator(0))
    lengths = Counter(len(pair.source) for pair in pairs)
    assert set(lengths) == {2, 3, 4, 5}
    assert all(abs(n / 6000 - 1 / 4) < 0.03 for n in lengths.values())
    symbols = Counter(symbol for pair in pairs for symbol in pair.source)
    assert set(symbols) == {3, 4, 5, 6}
    assert all(abs(n / symbols.total() - 1 / 4) < 0.03 for n in symbols.values())


@given(st.integers(0, 5), st.integers(0, 6), st.integers(2, 9), st.integers(0, 99))
def test_the_only_symbol_comes_lag_steps_before_the_end(shortest, more, n, seed):
    longest = shortest + more
    batch, lags = varying_recall(
        6, shortest, longest, n_symbols=n, generator=generator(seed)
    )
    assert batch.x.shape == (6, longest + 1, n + N_DISTRACTORS)
    assert torch.equal(batch.x.sum(-1), torch.ones(6, longest + 1))
    for row, lag, answer in zip(batch.x.argmax(-1), lags, batch.y, strict=True):
        assert shortest <= lag <= longest
        symbols = [(t, i) for t, i in enumerate(row.tolist()) if i < n]
        assert symbols == [(longest - lag.item(), answer.item())]


def test_lags_answers_and_distractors_are_drawn_alike_and_apart():
    batch, lags = varying_recall(8000, 3, 6, n_symbols=4, generator=generator(1))
    table = torch.zeros(4, 4)
    table.index_put_((lags - 3, batch.y), torch.ones(8000), accumulate=True)
    assert (table / 8000 - 1 / 16).abs().max() < 0.01
    first, second = batch.x[..., 4].sum(), batch.x[..., 5].sum()
    assert abs(first / (first + second) - 0.5) < 0.01


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 99))
def test_parity_is_the_exclusive_or_of_the_bits_so_far(B, T, seed):
    batch = running_parity(B, T, generator=generator(seed))
    assert batch.x.shape == batch.y.shape == (B, T)
    for bits, answers in zip(batch.x.tolist(), batch.y.tolist(), strict=True):
        for t, answer in enumerate(answers):
            assert answer == functools.reduce(operator.xor, bits[: t + 1])


def test_parity_of_fair_bits_is_fair_even_knowing_all_but_the_first():
    batch = running_parity(20_000, 4, generator=generator(0))
    later = batch.x[:, 1:] @ torch.tensor([4, 2, 1])
    for known in range(8):
        assert abs(batch.y[later == known, -1].float().mean() - 0.5) < 0.04
    rare = running_parity(2000, 10, p_one=0.1, generator=generator(0))
    assert abs(rare.x.float().mean() - 0.1) < 0.01


@pytest.mark.parametrize("task", [*TASKS, varying_recall])
def test_the_seed_decides(task):
    first, again = (task(9, 3, 7, generator=generator(4)) for _ in range(2))
    assert repr(first) == repr(again)
    assert repr(first) != repr(task(9, 3, 7, generator=generator(5)))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"shortest": 0}, "shortest=0 must be at least 1"),
        ({"longest": 1}, "longest=1 must be at least shortest=2"),
        ({"n_symbols": 0}, "n_symbols=0 must be at least 1"),
        ({"first_id": -1}, "first_id=-1 must be at least 0"),
    ],
)
def test_strings_that_cannot_be_are_named(task, wrong, message):
    settings = {"n_rows": 2, "shortest": 2, "longest": 3} | wrong
    with pytest.raises(ValueError, match=message):
        task(**settings, generator=generator(0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"shortest": -1}, "shortest=-1 must be at least 0"),
        ({"longest": 1}, "longest=1 must be at least shortest=2"),
        ({"n_symbols": 1}, "n_symbols=1 must be at least 2"),
    ],
)
def test_recalls_that_cannot_be_are_named(wrong, message):
    settings = {"n_rows": 2, "shortest": 2, "longest": 3} | wrong
    with pytest.raises(ValueError, match=message):
        varying_recall(**settings, generator=generator(0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_steps": 0}, "n_steps=0 must be at least 1"),
        ({"p_one": 1.5}, "p_one=1.5 must be a probability between 0 and 1"),
    ],
)
def test_bits_that_cannot_be_are_named(wrong, message):
    settings = {"n_rows": 2, "n_steps": 2} | wrong
    with pytest.raises(ValueError, match=message):
        running_parity(**settings, generator=generator(0))
