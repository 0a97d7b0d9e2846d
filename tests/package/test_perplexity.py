"""Perplexity, its definition taken literally."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.evaluation.perplexity import (
    bits,
    bits_per_byte,
    bits_per_token,
    perplexity,
    token_log_probabilities,
)

probabilities = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=20)


def logs(p):
    return torch.tensor(p, dtype=torch.float64).log()


@given(probabilities)
def test_it_is_the_geometric_mean_of_one_over_p(p):
    product = math.prod(Fraction(1 / one) for one in p)  # exact: no float overflows
    assert perplexity(logs(p)) == pytest.approx(float(product) ** (1 / len(p)))


@given(probabilities)
def test_it_is_exp_of_the_mean_surprise_and_two_to_the_bits(p):
    found = perplexity(logs(p))
    assert found == pytest.approx(math.exp(-sum(map(math.log, p)) / len(p)))
    assert found == pytest.approx(2 ** bits_per_token(logs(p)))
    assert bits(logs(p)) == pytest.approx(-sum(map(math.log2, p)), abs=1e-12)
    assert bits(logs(p)) == pytest.approx(len(p) * bits_per_token(logs(p)))


@pytest.mark.parametrize("n_tokens", [1, 2, 10, 68, 50_257])
@pytest.mark.parametrize("n", [1, 7, 100_000])
def test_a_uniform_model_has_the_perplexity_of_its_vocabulary(n_tokens, n):
    log_p = torch.full((n,), -math.log(n_tokens), dtype=torch.float64)
    assert perplexity(log_p) == pytest.approx(n_tokens, rel=1e-13)


def test_a_perfect_model_has_perplexity_one():
    assert perplexity(torch.zeros(5)) == 1.0
    assert bits(torch.zeros(5)) == 0.0


def test_one_impossible_token_makes_it_infinite():
    log_p = logs([0.5, 0.0, 0.5])
    assert perplexity(log_p) == bits(log_p) == bits_per_token(log_p) == math.inf
    assert bits_per_byte(log_p, n_bytes=9) == math.inf
    assert perplexity(log_p, mask=log_p > -1) == pytest.approx(2)


def test_a_hundred_thousand_tokens_are_no_difficulty():
    p = torch.rand(100_000, generator=torch.Generator().manual_seed(0)) * 0.9 + 0.1
    exact = math.exp(-math.fsum(math.log(one) for one in p.double().tolist()) / 1e5)
    assert perplexity(p.double().log()) == pytest.approx(exact, rel=1e-13)
    assert perplexity(p.log()) == pytest.approx(exact, rel=1e-7)  # logs in float32
    assert p.double().prod() == 0.0  # what the definition would give, multiplied out


def test_too_large_a_number_is_infinite_and_no_error():
    assert perplexity(torch.tensor([-1e6])) == math.inf


def test_only_what_the_mask_lets_through_counts():
    log_p = torch.tensor([[-1.0, -2.0], [-3.0, math.nan]])
    mask = torch.tensor([[True, False], [True, False]])
    assert perplexity(log_p, mask=mask) == pytest.approx(math.exp(2))
    assert bits(log_p, mask=mask) == pytest.approx(4 / math.log(2))
    assert bits_per_byte(log_p, n_bytes=8, mask=mask) == pytest.approx(
        0.5 / math.log(2)
    )


def test_bits_per_byte_are_the_same_however_the_text_is_cut():
    """Two letters at 3 bits each, or one token of both at 6: the same 3 bits a byte."""
    letters, pair = logs([1 / 8, 1 / 8]), logs([1 / 64])
    assert bits_per_byte(letters, n_bytes=2) == pytest.approx(3)
    assert bits_per_byte(pair, n_bytes=2) == pytest.approx(3)
    assert perplexity(letters) == pytest.approx(8)
    assert perplexity(pair) == pytest.approx(64)


def test_log_probabilities_are_read_off_logits(agree):
    logits, y = torch.randn(2, 3, 5, dtype=torch.float64), torch.randint(5, (2, 3))
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    log_p = token_log_probabilities(logits, y)
    assert log_p.shape == (2, 3)
    assert perplexity(log_p) == pytest.approx(math.exp(loss))
    meta = token_log_probabilities(logits.to("meta"), y.to("meta"))
    assert meta.shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: perplexity(torch.zeros(0)), r"^log_p has no token that counts"),
        (
            lambda: bits(torch.zeros(2), mask=torch.tensor([False, False])),
            r"^log_p has no token that counts",
        ),
        (
            lambda: perplexity(torch.tensor([0.5])),
            r"^log_p reaches 0.5; logarithms of probabilities are at most 0$",
        ),
        (lambda: perplexity(torch.tensor([math.nan])), r"^log_p reaches nan; log"),
        (
            lambda: perplexity(torch.zeros(2), mask=torch.ones(2)),
            r"^mask is torch.float32 of shape \(2,\); it must be boolean, of the shape",
        ),
        (
            lambda: perplexity(torch.zeros(2), mask=torch.tensor([True])),
            r"^mask is torch.bool of shape \(1,\); it must be .* log_p: \(2,\)$",
        ),
        (
            lambda: bits_per_byte(torch.zeros(2), n_bytes=0),
            r"^n_bytes=0 must be at least 1$",
        ),
        (
            lambda: token_log_probabilities(torch.zeros(2, 3, 4), torch.zeros(2, 2)),
            r"^targets must be \(B, T\): T should be 3, got 2",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
