"""Calibration: by scikit-learn, by a loop, and on answers known to be calibrated."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from unrolled.evaluation.calibration import (
    brier_score,
    confident_answers,
    expected_calibration_error,
    reliability,
)
from unrolled.runtime import generator


def answers(n, *, seed, power=1.0):
    """Draw confidences, and answers right as often as confidence ** power."""
    draw = generator(seed)
    confidence = torch.rand(n, generator=draw, dtype=torch.float64)
    luck = torch.rand(n, generator=draw, dtype=torch.float64)
    return confidence, luck < confidence**power


@given(st.integers(1, 60), st.integers(1, 15), st.integers(0, 999))
def test_the_bins_are_scikit_learns(n, n_bins, seed):
    confidence, right = answers(n, seed=seed)
    bins = reliability(confidence, right, n_bins=n_bins)
    accuracy, sure = calibration_curve(right, confidence, n_bins=n_bins)
    there = bins.count > 0  # scikit-learn leaves empty bins out
    assert bins.accuracy[there].tolist() == pytest.approx(accuracy.tolist())
    assert bins.confidence[there].tolist() == pytest.approx(sure.tolist())
    assert bins.accuracy[~there].isnan().all()
    assert bins.count.sum() == n


@given(st.integers(1, 60), st.integers(1, 15), st.integers(0, 999))
def test_the_error_is_that_of_a_loop(n, n_bins, seed):
    confidence, right = answers(n, seed=seed)
    total = 0.0
    for b in range(n_bins):
        inside = [
            (c, r)
            for c, r in zip(confidence.tolist(), right.tolist(), strict=True)
            if b / n_bins < c <= (b + 1) / n_bins or (b == 0 and c == 0)
        ]
        total += abs(sum(r - c for c, r in inside)) / n
    found = expected_calibration_error(reliability(confidence, right, n_bins=n_bins))
    assert found == pytest.approx(total, abs=1e-12)


def test_edges_belong_to_the_bin_below():
    confidence = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])
    bins = reliability(confidence, torch.ones(5), n_bins=4)
    assert bins.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert bins.count.tolist() == [2, 1, 1, 1]


def test_calibrated_answers_have_next_to_no_error():
    confidence, right = answers(200_000, seed=0)
    bins = reliability(confidence, right)
    assert expected_calibration_error(bins) < 0.005
    assert (bins.accuracy - bins.confidence).abs().max() < 0.01


def test_overconfidence_is_measured():
    """Right as often as c squared: the gap is the integral of c - c**2, a sixth."""
    confidence, right = answers(200_000, seed=0, power=2.0)
    bins = reliability(confidence, right)
    assert expected_calibration_error(bins) == pytest.approx(1 / 6, abs=0.005)
    assert (bins.accuracy < bins.confidence).all()


def test_to_be_calibrated_is_not_to_be_useful():
    """Always saying 0.5 of a fair coin: no calibration error, and a bad Brier score."""
    y = torch.arange(1000) % 2
    shy = torch.full((1000, 2), 0.5)
    bins = reliability(*confident_answers(shy, y))
    assert expected_calibration_error(bins) == 0.0
    assert brier_score(shy, y) == 0.5
    assert brier_score(torch.nn.functional.one_hot(y).float(), y) == 0.0
    assert brier_score(torch.nn.functional.one_hot(1 - y).float(), y) == 2.0


@given(st.integers(2, 5), st.integers(1, 20), st.integers(0, 999))
def test_the_brier_score_is_scikit_learns(n_classes, n, seed):
    draw = generator(seed)
    p = torch.rand(n, n_classes, generator=draw, dtype=torch.float64)
    p = p / p.sum(dim=1, keepdim=True)
    y = torch.randint(n_classes, (n,), generator=draw)
    wanted = brier_score_loss(
        y.numpy(), p.numpy(), labels=list(range(n_classes)), scale_by_half=False
    )
    assert brier_score(p, y) == pytest.approx(wanted)


def test_the_answer_is_the_likeliest():
    p = torch.tensor([[0.2, 0.7, 0.1], [0.5, 0.1, 0.4]])
    confidence, right = confident_answers(p, torch.tensor([1, 2]))
    assert confidence.tolist() == pytest.approx([0.7, 0.5])
    assert right.tolist() == [True, False]


P = torch.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reliability(P[0], P[0], n_bins=0), r"^n_bins=0 must be at least 1$"),
        (lambda: reliability(P, P), r"^confidence must be \(B\): expected 1 axes, got"),
        (lambda: reliability(P[0], P[0, :1]), r"^right must be \(B\): B should be 2"),
        (
            lambda: reliability(P[0] + 1, P[0]),
            r"^confidence must hold numbers from 0 t",
        ),
        (
            lambda: reliability(P[0] * math.nan, P[0]),
            r"^confidence must hold numbers from 0 to 1, and at least one$",
        ),
        (lambda: reliability(P[0, :0], P[0, :0]), r"^confidence must hold numbers"),
        (
            lambda: brier_score(P * 2, P[0]),
            r"^p must hold probabilities: rows that sum",
        ),
        (
            lambda: confident_answers(torch.tensor([[1.5, -0.5]]), torch.zeros(1)),
            r"^p must hold probabilities: .* nothing negative, and at least one row$",
        ),
        (lambda: brier_score(P[:0], P[0, :0]), r"^p must hold probabilities"),
        (lambda: brier_score(P, P[0, :1]), r"^y must be \(B\): B should be 2, got 1"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
