"""The figures about word vectors show the numbers they are given."""

import re

from unrolled.figures.style import LIGHT
from unrolled.figures.vectors import (
    plot_by_labels,
    plot_by_sight,
    plot_ranks,
    plot_steps,
)


def test_words_in_sight_are_whole_numbers_and_those_given():
    drawn = plot_by_sight({"a": {1: 6.0, 2: 5.5, 4: 5.0}}, y_label="bits").light
    at_foot = re.findall(r'<g id="xtick_\d+">.*?<!-- (\S+) -->', drawn, re.S)
    assert at_foot == ["1", "2", "4"]


def test_ranks_are_drawn_in_the_colour_of_their_place():
    drawn = plot_ranks(
        {"one": [[None, 1], [3, None]], "two": [[30, 7]]},
        rows=["a", "b"],
        columns=["c", "d"],
        y_label="from",
        x_label="about",
    ).light
    fills = set(re.findall(r"fill: (#[0-9a-f]{6})", drawn))
    assert {LIGHT.series[0], LIGHT.series[1], *LIGHT.regions[:2]} <= fills


def test_steps_and_labels_are_drawn_in_the_theme_s_colours():
    one = plot_steps([0.0, 0.1, -0.2], [0.6, 0.7], marked=0.69, mark="here").light
    two = plot_by_labels(
        {"frozen": {25: [0.7, 0.8], 50: [0.8]}, "tuned": {25: [0.6], 50: [0.9]}},
        x_label="labels",
        y_label="accuracy",
        chance=0.5,
        chance_label="chance",
    ).light
    for drawn in (one, two):
        used = set(re.findall(r"#[0-9a-f]{6}", drawn))
        assert used <= set(LIGHT.colours())
        assert LIGHT.series[0] in used
        assert LIGHT.series[1] in used
