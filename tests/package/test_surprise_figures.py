"""Figures on language models: two themes, the same bytes twice, nothing left open."""

import re

import matplotlib.pyplot as plt
import pytest

from unrolled.figures.style import DARK, LIGHT
from unrolled.figures.surprise import (
    plot_letters,
    plot_orders,
    plot_shares,
    plot_surprise,
)

DRAWINGS = {
    "surprise": lambda: plot_surprise(
        "a man a",
        [1.0] * 7,
        {"one": [2.0] * 7, "two": [3.0] * 7},
        breaks=(2, 6),
        reader_name="reader",
    ),
    "orders": lambda: plot_orders(
        {"one": {1: 4.0, 2: 3.0}, "two": {1: 4.0, 2: 3.5}}, {2: [4.1, 4.2], 4: [3.9]}
    ),
    "shares": lambda: plot_shares({"eyes": 0.5, "mouth": 0.25}, x_label="p"),
    "letters": lambda: plot_letters(
        {"one": [{"a": 0.9, "b": 0.1}, {"a": 0.8, "b": 0.3}], "two": [{"a": 0.6}]},
        y_label="s",
        marked="a",
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_has_two_themes_and_the_same_bytes_twice(name):
    first, again = DRAWINGS[name](), DRAWINGS[name]()
    assert first.light == again.light
    assert LIGHT.paper in first.light
    assert DARK.paper in first.dark
    assert plt.get_fignums() == []
    known = {colour.lower() for colour in LIGHT.colours()}
    used = {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}\b", first.light)}
    assert used <= known | {"#000000"}, used - known


def test_each_perplexity_stands_at_the_height_of_its_bits():
    figure = plot_orders.__wrapped__(LIGHT, {"one": {1: 4.4, 2: 2.4}}, {2: [4.1]})
    bits, _, choices = figure.axes
    assert choices.get_ylim() == bits.get_ylim()
    ticks = zip(choices.get_yticks(), choices.get_yticklabels(), strict=True)
    marks = {label.get_text(): at for at, label in ticks}
    assert marks["8"] == 3
    assert marks["16"] == 4
    assert "4" not in marks  # two bits: below all that is drawn
    plt.close(figure)


def test_every_letter_has_its_bar():
    one = DRAWINGS["surprise"]().light
    assert one.count(LIGHT.regions[1]) >= 7
