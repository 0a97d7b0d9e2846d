"""Figures: drawn for two themes, the same bytes every time, told apart by anyone."""

import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch

from colours import contrast
from unrolled.evaluation.dynamics import portrait
from unrolled.figures.ball import plot_ahead, plot_clouds, plot_frames_noise
from unrolled.figures.diagrams import (
    draw_backward,
    draw_elman_jordan,
    draw_unrolled,
)
from unrolled.figures.flip_flop import plot_courses, plot_portraits
from unrolled.figures.gradients import (
    plot_asked,
    plot_lives,
    plot_reach,
    plot_runs,
    plot_solved,
)
from unrolled.figures.plots import (
    plot_fixed_points,
    plot_lines,
    plot_squash,
    plot_states,
)
from unrolled.figures.shapes_of_problems import draw_shapes
from unrolled.figures.style import DARK, DASHES, LIGHT, rc, recolour, themed
from unrolled.figures.windows import draw_pooling
from unrolled.layers.recurrent import RNNCell

THEMES = {"light": LIGHT, "dark": DARK}


def two_lines():
    curves = {"one": ([1, 2], [3.0, 4.0]), "two": ([1, 2], [4.0, 3.0])}
    return plot_lines(curves, x_label="x", y_label="y", marker="o")


def portraits():
    cell = RNNCell(2, 2)
    with torch.no_grad():
        cell.W_h.copy_(2 * torch.eye(2)), cell.b.zero_()
    shown = portrait(cell, torch.zeros(3, 2), n_grid=11)
    labels = ["+"] * len(shown.basins.points)
    return plot_portraits({"a": shown}, answers={"a": labels})


def pooling(found):
    """Four words of two numbers, a window of three: seven rows, five below zero."""
    x = torch.tensor([[1.0, -0.5], [0.2, 0.3], [-1.0, 0.4], [0.6, -0.7]])
    weights = torch.tensor([[0.5, 0.1], [-0.2, 0.3], [0.4, -0.6]])
    return draw_pooling(list("abcd"), x, weights, torch.tensor(found))


MOMENT = {"accuracy": 0.5, "radius": 0.9, "stretch": 1.2, "norms": [1.0, 0.8, 0.7]}
LIFE = [{**MOMENT, "update": 0}, {**MOMENT, "update": 20, "accuracy": 1.0}]

DRAWINGS = {
    "lines": two_lines,
    "squash": lambda: plot_squash([5, 0.1, -0.5]),
    "fixed points": lambda: plot_fixed_points({2.0: 0.1, 0.9: 0.9}),
    "states": lambda: plot_states([1, 0, -1], {"h": [0.9, 0.9, -0.9]}),
    "unrolled": lambda: draw_unrolled(n_steps=2),
    "elman and jordan": draw_elman_jordan,
    "backward": lambda: draw_backward(n_steps=2),
    "lives": lambda: plot_lives({"a": LIFE, "b": LIFE}, updates=(0, 20)),
    "reach": lambda: plot_reach({"a": [LIFE]}, lag=2, solved=0.95),
    "asked": lambda: plot_asked({"a": {"1": 0.5, "2": 1.0}}, trained=2),
    "solved": lambda: plot_solved({"a": {"10": [0, 1, 3]}}, rates=(1, 2, 3), runs=3),
    "runs": lambda: plot_runs(
        {"a": [[1.0, 2.0]], "b": [[2.0, 1.0]]}, y_label="y", limits=(0.1, 9)
    ),
    "portraits": portraits,
    "clouds": lambda: plot_clouds(
        {"a": (torch.zeros(2, 2), torch.ones(5, 2), torch.ones(2))}
    ),
    "frames and noise": lambda: plot_frames_noise(
        {"a": {"0.1": ([0.2, 0.1], [0.1])}}, frames=(1, 2), names={"a": "b"}, floor=0.01
    ),
    "ahead": lambda: plot_ahead({"a": {"b": [0.1, 0.2]}}, frames=(1, 2)),
    "shapes of problems": draw_shapes,
    "pooling": lambda: pooling([0.5, -1.0, 2.0, 0.1]),
    "courses": lambda: plot_courses([0, 25], [[1, 2], [1, 4]]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_has_a_light_and_a_dark_drawing_and_the_same_bytes_twice(name):
    with mpl.rc_context({"lines.linewidth": 9}):  # a reader's settings must not leak in
        first = DRAWINGS[name]()
    assert first.light.count("<svg") == first.dark.count("<svg") == 1
    assert first.light != first.dark
    assert LIGHT.paper in first.light
    assert DARK.paper in first.dark
    torch.manual_seed(0)
    again = DRAWINGS[name]()
    assert (again.light, again.dark) == (first.light, first.dark)


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing_leaves_nothing_open_and_no_setting_changed(name):
    before = dict(mpl.rcParams)
    DRAWINGS[name]()
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == before


def test_a_figure_shows_svg_in_any_notebook_and_its_twin_to_the_book():
    figure = two_lines()
    bundle = figure._repr_mimebundle_()
    assert bundle["image/svg+xml"] == figure.light
    assert figure.dark == recolour(figure.light)
    assert "<Figure size" not in bundle["text/plain"]


def test_a_decorated_function_keeps_its_name_and_words():
    @themed
    def draw(theme):
        """Draw nothing."""
        return plt.figure()

    assert (draw.__name__, draw.__doc__) == ("draw", "Draw nothing.")


def test_our_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", THEMES)
def test_lines_and_words_stand_out_from_the_paper(name):
    theme = THEMES[name]
    for colour in theme.series:
        assert contrast(colour, theme.paper) >= 3, (name, colour)
    for colour in (theme.ink, theme.muted):
        assert contrast(colour, theme.paper) >= 4.5, (name, colour)


@pytest.mark.parametrize("name", THEMES)
def test_ink_is_read_on_every_region(name):
    theme = THEMES[name]
    for fill in theme.regions:
        assert contrast(theme.ink, fill) >= 4.5, (name, fill)


@pytest.mark.parametrize("name", THEMES)
def test_series_differ_in_style_as_well_as_in_colour(name):
    cycle = list(rc(THEMES[name])["axes.prop_cycle"])
    assert len(cycle) == len(THEMES[name].series) == len(DASHES)
    assert len({str(entry["linestyle"]) for entry in cycle}) == len(cycle)
    assert len({entry["color"] for entry in cycle}) == len(cycle)


def test_the_two_themes_have_as_many_colours():
    assert len(LIGHT.series) == len(DARK.series)
    assert len(LIGHT.regions) == len(DARK.regions)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_uses_no_colour_but_the_themes_and_holds_no_picture(name):
    drawing = DRAWINGS[name]()
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", drawing.light)) <= set(
        LIGHT.colours()
    )
    assert "data:image" not in drawing.light, "a picture could not be recoloured"


def test_no_two_colours_of_a_theme_are_alike():
    for theme in THEMES.values():
        assert len(set(theme.colours())) == len(theme.colours())


def test_recolouring_gives_what_drawing_in_the_dark_would():
    def draw(theme):
        figure, ax = plt.subplots()
        ax.plot([1, 2], color=theme.series[2])
        ax.axhspan(0, 1, color=theme.regions[0])
        return figure

    with mpl.rc_context(rc(DARK)):
        text = io.StringIO()
        figure = draw(DARK)
        figure.savefig(text, format="svg", metadata={"Date": None})
        plt.close(figure)
    by_colour = [
        re.findall("#[0-9a-f]{6}", svg)
        for svg in (themed(draw)().dark, text.getvalue())
    ]
    assert by_colour[0] == by_colour[1]


def test_a_window_has_a_square_for_each_number_and_one_maximum():
    drawing = pooling([0.5, -1.0, 2.0, 0.1]).light
    blue, orange = LIGHT.series[:2]
    assert drawing.count(f"fill: {blue}; stroke: {blue}") == 9
    assert drawing.count(f"fill: {LIGHT.paper}; stroke: {orange}") == 5
    assert drawing.count(f"fill: {LIGHT.regions[0]}; stroke: {blue}") == 3
    assert drawing.count("fill: url(#") == 1, "the maximum is hatched"
