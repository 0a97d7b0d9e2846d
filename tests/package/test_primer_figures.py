"""The figures of the primer show the numbers they are given, in the theme's colours."""

import re

import numpy as np
import pytest
import torch

from unrolled.evaluation.intervals import Interval
from unrolled.figures.primer import (
    plot_digits,
    plot_intervals,
    plot_kernel_matrix,
    plot_worth,
)
from unrolled.figures.style import LIGHT


def uses(drawn: str, colour: str) -> int:
    """How many marks (SVG ``use``) are drawn in ``colour``."""
    return len(re.findall(rf"<use [^>]*fill: {colour}", drawn))


def image(*ink: tuple[int, int, float]) -> np.ndarray:
    made = np.zeros((8, 8), dtype=np.float32)
    for row, column, value in ink:
        made[row, column] = value
    return made


def test_a_digit_has_a_mark_for_every_pixel_with_ink():
    pictures = np.stack([image((0, 0, 1.0), (3, 4, 0.5)), image((7, 7, 1 / 16))])
    drawn = plot_digits({"form 1": pictures, "form 2": pictures}, labels=[3, 8]).light
    assert uses(drawn, LIGHT.ink) == 6


def test_a_matrix_shows_its_signs():
    matrix = torch.zeros(36, 64)
    matrix[0, :5], matrix[1, 3:5] = 1.0, -2.0
    kernel = torch.tensor([[1.0, -2.0], [0.0, 3.0]])
    drawn = plot_kernel_matrix(image((1, 1, 1.0)), kernel, matrix).light
    assert uses(drawn, LIGHT.series[0]) == 5
    assert uses(drawn, LIGHT.series[1]) == 2


def test_worth_has_a_mark_for_every_size_and_way():
    values = {n: torch.tensor([0.2, 0.3, 0.1]) for n in (100, 200, 400)}
    curves = {"one": values, "two": values}
    drawn = plot_worth({"a": curves, "b": curves}, x_label="n", y_label="error").light
    for colour in LIGHT.series[:2]:
        assert uses(drawn, colour) >= 6
    assert set(re.findall(r"#[0-9a-f]{6}", drawn)) <= set(LIGHT.colours())


@pytest.mark.parametrize(("truth", "missed"), [(0.0, 1), (2.5, 2)])
def test_intervals_that_miss_stand_out(truth, missed):
    ends = [(-1.0, 1.0), (-2.0, 3.0), (2.0, 4.0)]
    found = [Interval(estimate=(a + b) / 2, low=a, high=b) for a, b in ends]
    if truth:
        found = found[:1] + found  # the first, which holds 0, misses 2.5, twice
    drawn = plot_intervals({"t": found, "z": found}, truth=truth).light
    assert uses(drawn, LIGHT.series[1]) == 2 * missed
    assert uses(drawn, LIGHT.muted) >= 2 * (len(found) - missed)
