"""Figures of chapter 6: two themes, the same bytes twice, nothing left open."""

import matplotlib.pyplot as plt

from unrolled.figures.exposure import plot_dots, plot_exposure


def draw_both():
    by_step = {"right": [[0.1, 0.2], [0.1, 0.1]], "own": [[0.2, 1.0], [0.1, 0.8]]}
    ends = {name: {0.0: [0.1, 0.2], 1.0: [1.0, 1.1]} for name in by_step}
    yield plot_exposure(by_step, ends, trained_on=1, worst=1.0)
    groups = {"one": {"a": [0.7, 0.8], "b": [0.6, 0.9]}, "two": {"a": [1], "b": [0.5]}}
    yield plot_dots(groups, x_label="share", lines={"one": 0.5, "two": 0.6})


def test_figures_are_the_same_twice_and_have_a_dark_twin():
    for one, two in zip(draw_both(), draw_both(), strict=True):
        assert one.light == two.light
        assert one.dark != one.light
    assert plt.get_fignums() == []
