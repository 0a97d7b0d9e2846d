"""The figures of the primer show the numbers they are given, in the theme's colours."""

import re

import numpy as np
import pytest
import torch

from unrolled.evaluation.intervals import Interval
from unrolled.figures.pixels import plot_digits, plot_kernel_matrix
from unrolled.figures.primer import plot_intervals, plot_overfit, plot_worth
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


def test_a_matrix_and_what_it_finds_show_their_signs():
    matrix = torch.zeros(36, 64)
    matrix[0, :5], matrix[1, 3:5] = 1.0, -2.0
    found = torch.zeros(6, 6)
    found[0, 0], found[1, 1:4] = 4.0, -1.0
    kernel = torch.tensor([[1.0, -2.0], [0.0, 3.0]])
    drawn = plot_kernel_matrix(image((1, 1, 1.0)), kernel, found, matrix).light
    assert uses(drawn, LIGHT.series[0]) == 5 + 1
    rings = re.findall(rf"<use [^>]*stroke: {LIGHT.series[1]}", drawn)
    assert len(rings) == 2 + 3


def test_overfitting_has_a_band_for_each_line_and_the_share_wrong():
    curve = {step: torch.tensor([0.2, 0.3, 0.1]) for step in (25, 50, 75)}
    drawn = plot_overfit({"seen": curve, "new": curve}, share_wrong=0.3).light
    for region, colour in zip(LIGHT.regions[:2], LIGHT.series[:2], strict=True):
        assert f"fill: {region}" in drawn
        assert f"stroke: {colour}" in drawn
    assert "share of labels that are wrong" in drawn


def test_worth_has_a_mark_for_every_size_and_way():
    values = {n: 20 / n * torch.tensor([0.2, 0.3, 0.1]) for n in (100, 200, 400)}
    better = {n: v / 1.5 for n, v in values.items()}
    curves = {"one": values, "two": better}
    drawn = plot_worth(
        {"a": curves, "b": curves}, arrow=("two", 200), x_label="n", y_label="error"
    ).light
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
