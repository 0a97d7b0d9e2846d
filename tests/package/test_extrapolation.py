"""Where the ball goes next: least squares, and the best guess there is."""

import math

import pytest
import torch

from unrolled.data.made.ball import balls
from unrolled.evaluation.extrapolation import (
    best_guess,
    extrapolate,
    fit_error,
    fit_weights,
)
from unrolled.runtime import generator

SETTING = {"interval": 0.1, "speed": (0.5, 1.5)}


def test_weights_of_few_frames_are_the_known_ones():
    for n, degree, weights in (
        (1, 0, [1]),
        (2, 1, [-1, 2]),
        (3, 2, [1, -3, 3]),
        (4, 0, [0.25] * 4),
    ):
        found = fit_weights(n, degree=degree)
        expected = torch.tensor(weights, dtype=torch.float64)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("n_frames", [3, 5, 8])
def test_a_curve_of_the_degree_is_continued_exactly(n_frames, degree):
    times = torch.arange(n_frames + 1, dtype=torch.float64)
    powers = times[:, None] ** torch.arange(degree + 1)
    curves = torch.randn(4, degree + 1, 2, generator=generator(0)).double()
    path = torch.einsum("tp,bpc->btc", powers, curves)
    found = extrapolate(path[:, :-1], degree=degree)
    torch.testing.assert_close(found, path[:, -1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_frames", [2, 3, 8])
def test_the_error_of_a_line_has_its_formula_and_is_what_noise_does(n_frames):
    formula = math.sqrt(2 * 2 * (2 * n_frames + 1) / (n_frames * (n_frames - 1)))
    assert fit_error(n_frames, 1.0) == pytest.approx(formula)
    noise = torch.randn(20_000, n_frames, 2, generator=generator(1)).double()
    off = extrapolate(noise).square().sum(dim=1).mean().sqrt()
    assert off.item() == pytest.approx(formula, rel=0.03)


def by_grid(seen, noise):
    """The posterior mean by brute force: every velocity of a fine grid, weighted."""
    speeds = 0.5 + (torch.arange(200, dtype=torch.float64) + 0.5) / 200
    angles = torch.arange(360, dtype=torch.float64) * (2 * torch.pi / 360)
    v = torch.stack([torch.outer(speeds, f(angles)).flatten() for f in (torch.cos,
                     torch.sin)], dim=1)  # fmt: skip
    n = len(seen)
    t = 0.1 * (torch.arange(n, dtype=torch.float64) - (n - 1) / 2)
    mean = seen.mean(dim=0)  # a flat prior of the place: its best value for each v
    gaps = seen - mean - t[:, None] * v[:, None]  # (V, T, 2)
    weights = (-gaps.square().sum(dim=(1, 2)) / (2 * noise**2)).softmax(dim=0)
    return mean + (weights @ v) * 0.1 * (n + 1) / 2


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("n_frames", [2, 4])
def test_the_best_guess_is_the_mean_of_all_that_may_be(noise, n_frames):
    flights = balls(6, n_frames, noise=noise, **SETTING, generator=generator(2))
    found = best_guess(flights.seen, noise=noise, **SETTING)
    expected = torch.stack([by_grid(seen, noise) for seen in flights.seen])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_one_frame_stays_and_no_noise_is_the_line():
    flights = balls(5, 3, box=(9.0, 9.0), **SETTING, generator=generator(3))
    p = flights.positions
    assert torch.equal(best_guess(p[:, :1], noise=0.1, **SETTING), p[:, 0])
    found = best_guess(p[:, :2], noise=0.0, **SETTING)
    torch.testing.assert_close(found, 2 * p[:, 1] - p[:, 0], rtol=0, atol=1e-12)


def test_too_few_frames_are_told_how_many_it_takes():
    with pytest.raises(ValueError, match=r"n_frames=2 leave .* degree=2 .* needs 3"):
        fit_weights(2, degree=2)
    with pytest.raises(ValueError, match="seen"):
        extrapolate(torch.zeros(3, 2))


@pytest.mark.parametrize("ahead", [1, 4, 16])
@pytest.mark.parametrize("n_frames", [2, 4, 8])
def test_further_ahead_a_line_goes_on_and_its_error_has_its_formula(n_frames, ahead):
    times = torch.cat([torch.arange(n_frames), torch.tensor([n_frames - 1 + ahead])])
    line = torch.tensor([[0.3, -0.2]]) + times[:, None] * torch.tensor([[0.1, 0.05]])
    found = extrapolate(line[None, :-1].double(), ahead=ahead)
    torch.testing.assert_close(found, line[None, -1].double(), rtol=1e-5, atol=1e-6)
    middle, spread = (n_frames - 1) / 2, n_frames * (n_frames**2 - 1) / 12
    formula = math.sqrt(2 * (1 / n_frames + (middle + ahead) ** 2 / spread))
    assert fit_error(n_frames, 1.0, ahead=ahead) == pytest.approx(formula)


def test_a_frame_that_is_not_ahead_is_refused():
    with pytest.raises(ValueError, match="ahead=0"):
        fit_weights(3, ahead=0)
