"""Figures of chapter 6: errors on own prefixes, and answers by length."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from unrolled.figures.style import WIDTH, Theme, themed


@themed
def plot_exposure(
    theme: Theme,
    by_step: Mapping[str, Sequence[Sequence[float]]],
    remedies: Mapping[str, Mapping[float, Sequence[float]]],
    *,
    trained_on: int,
    worst: float,
) -> Figure:
    """Draw the error at each step, seed by seed, and at the end by share of own inputs.

    Args:
        theme: the colours.
        by_step: what the prefixes are, to a curve for each seed.
        remedies: the same names, to the errors of each seed by share of own inputs.
        trained_on: how many steps the rows of training had; a line marks it.
        worst: the error of one who looks at no prefix; a line marks it.
    """
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 3.3), sharey=True, width_ratios=(3, 2),
        layout="constrained",
    )  # fmt: skip
    styles = zip(by_step.items(), theme.series, ("--", "-"), ("s", "o"), strict=False)
    for (name, curves), colour, dash, mark in styles:
        steps = np.arange(1, len(curves[0]) + 1)
        for curve in curves:
            left.plot(steps, curve, dash, color=colour, linewidth=0.7, alpha=0.5)
        mean = np.mean(np.asarray(curves), axis=0)
        left.plot(steps, mean, dash, color=colour, label=name)
        shares = sorted(remedies[name])
        means = [float(np.mean(remedies[name][share])) for share in shares]
        right.plot(shares, means, dash, color=colour)
        for share in shares:
            found = remedies[name][share]
            right.plot([share] * len(found), found, mark, color=colour, markersize=4)
    left.axvline(trained_on, color=theme.muted, linewidth=0.9, linestyle=":")
    left.annotate(
        "trained\nup to here", (trained_on, 0), xytext=(4, 22), color=theme.muted,
        textcoords="offset points", fontsize=9,
    )  # fmt: skip
    for ax in (left, right):
        ax.axhline(worst, color=theme.muted, linewidth=0.9, linestyle="-.")
    right.annotate(
        "reads no prefix", (0, worst), xytext=(0, 4), color=theme.muted,
        textcoords="offset points", fontsize=9,
    )  # fmt: skip
    left.set(xlabel="step", ylabel="error, nats", ylim=(0, None))
    right.set(xlabel="own inputs in training", xticks=(0, 0.5, 1))
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@themed
def plot_dots(
    theme: Theme,
    groups: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    x_label: str,
    lines: Mapping[str, float] | None = None,
) -> Figure:
    """Draw each seed's value as a dot: a panel for each group, a row for each name.

    ``lines`` are values of a group to compare with, such as always giving one answer.
    """
    n_rows = max(len(rows) for rows in groups.values())
    figure, axes = plt.subplots(
        1, len(groups), figsize=(WIDTH, 0.9 + 0.36 * n_rows), sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, (title, rows) in zip(axes[0], groups.items(), strict=True):
        for place, values in enumerate(rows.values()):
            ax.plot(values, [place] * len(values), "o", color=theme.series[0],
                    markersize=5, alpha=0.7)  # fmt: skip
            ax.plot([float(np.mean(values))], [place], "|", color=theme.ink,
                    markersize=14, markeredgewidth=2)  # fmt: skip
        if lines is not None:
            ax.axvline(lines[title], color=theme.muted, linewidth=0.9, linestyle="--")
        ax.set(title=title, xlabel=x_label, yticks=range(len(rows)))
        ax.set_yticklabels(list(rows))
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.grid(axis="x", color=theme.muted, alpha=0.25, linewidth=0.6)
    return figure
