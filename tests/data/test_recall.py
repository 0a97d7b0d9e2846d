"""Delayed recall: the first step holds the answer, and no later one does."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.made.draws import stream
from unrolled.data.made.recall import N_DISTRACTORS, recall
from unrolled.runtime import generator


@given(st.integers(1, 5), st.integers(0, 6), st.integers(2, 9), st.integers(0, 99))
def test_the_answer_is_the_first_symbol_and_the_rest_are_distractors(B, lag, n, seed):
    batch = recall(B, lag, n_symbols=n, generator=generator(seed))
    assert batch.x.shape == (B, lag + 1, n + N_DISTRACTORS)
    assert torch.equal(batch.x.sum(-1), torch.ones(B, lag + 1))  # one-hot
    ids = batch.x.argmax(-1)
    assert torch.equal(ids[:, 0], batch.y)
    assert (ids[:, 1:] >= n).all()


def test_symbols_and_distractors_are_all_drawn_alike():
    batch = recall(4000, 10, n_symbols=8, generator=generator(0))
    letters = torch.bincount(batch.y, minlength=8) / 4000
    noise = batch.x[:, 1:, 8:].mean(dim=(0, 1))
    assert (letters - 1 / 8).abs().max() < 0.02
    assert (noise - 1 / 2).abs().max() < 0.02
    # nothing after the first step tells the letter: no distractor leans on it
    later = batch.x[:, 1:, 8].mean(dim=1)
    means = torch.stack([later[batch.y == letter].mean() for letter in range(8)])
    assert (means - 0.5).abs().max() < 0.05


def test_the_same_seed_draws_the_same_and_a_stream_goes_on():
    first = recall(4, 5, generator=generator(3))
    draws = stream(recall, 4, 5, generator=generator(3))
    assert torch.equal(next(draws).x, first.x)
    assert not torch.equal(next(draws).x, first.x)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"lag": -1}, "lag=-1 must be at least 0"),
        ({"n_symbols": 1}, "n_symbols=1 must be at least 2"),
    ],
)
def test_sizes_that_make_no_game_are_named(wrong, message):
    sizes = {"n_rows": 2, "lag": 3, "n_symbols": 4} | wrong
    with pytest.raises(ValueError, match=message):
        recall(**sizes, generator=generator(0))
