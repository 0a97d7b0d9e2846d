"""Plots that many chapters draw."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from unrolled.figures.style import WIDTH, Theme, themed

MINUS = "\N{MINUS SIGN}"


@themed
def plot_lines(
    theme: Theme,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    y_label: str,
    log: str = "",
    marker: str | None = None,
) -> Figure:
    """Draw one labelled line per entry, name to (x, y); ``log`` names log axes."""
    figure, ax = plt.subplots(layout="constrained")
    for label, (xs, ys) in curves.items():
        ax.plot(xs, ys, label=label, marker=marker, markersize=5)
    ax.set(
        xlabel=x_label,
        ylabel=y_label,
        xscale="log" if "x" in log else "linear",
        yscale="log" if "y" in log else "linear",
    )
    if len(curves) > 1:
        figure.legend(loc="outside upper center", ncols=2)
    return figure


@themed
def plot_squash(theme: Theme, points: Sequence[float]) -> Figure:
    """Draw tanh, with where it takes each of ``points``."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.0), layout="constrained")
    a = np.linspace(-5.5, 5.5, 400)
    ax.axhline(0, color=theme.muted, linewidth=0.8, linestyle="-")
    ax.axvline(0, color=theme.muted, linewidth=0.8, linestyle="-")
    ax.plot(a, np.tanh(a))
    for point in points:
        value = np.tanh(point)
        ax.plot([point], [value], "o", color=theme.series[1])
        ax.annotate(
            f"{point:g} → {value:.4f}".replace("-", MINUS),
            (point, value),
            xytext=(8, -16 if value > 0.5 else -18) if value >= 0 else (-8, 8),
            ha="left" if value >= 0 and point < 3 else "right",
            textcoords="offset points",
        )
    ax.set(xlabel="a", ylabel="tanh(a)", ylim=(-1.15, 1.15))
    return figure


@themed
def plot_fixed_points(theme: Theme, starts: Mapping[float, float]) -> Figure:
    """Draw h → tanh(w h), the diagonal, and stairs from ±start, for each w: start."""
    figure, axes = plt.subplots(
        1, len(starts), figsize=(WIDTH, 3.0), sharey=True, layout="constrained"
    )
    h = np.linspace(-1.05, 1.05, 300)
    for ax, (w, start) in zip(axes, starts.items(), strict=True):
        ax.plot(h, h, "--", color=theme.muted, linewidth=1, label="h")
        ax.plot(h, np.tanh(w * h), "-", color=theme.series[0], label="tanh(w h)")
        for origin, colour in ((start, 1), (-start, 2)):
            stairs = [(origin, origin)]
            for _ in range(40):
                new = float(np.tanh(w * stairs[-1][0]))
                stairs += [(stairs[-1][0], new), (new, new)]
            ax.plot(*np.array(stairs).T, "-", color=theme.series[colour], linewidth=1.1)
            ax.plot(origin, origin, "o", color=theme.series[colour], markersize=4)
            ax.plot(
                *stairs[-1], "o", markersize=9, markerfacecolor=theme.series[colour],
                markeredgecolor=theme.ink,
            )  # fmt: skip
        ax.set(title=f"w = {w:g}", xlabel="state now", aspect="equal")
    axes[0].set_ylabel("state after a silent step")
    axes[0].legend(loc="upper left")
    return figure


@themed
def plot_states(
    theme: Theme, orders: Sequence[float], states: Mapping[str, Sequence[float]]
) -> Figure:
    """Draw the orders given as stems, and the states that they lead to as lines."""
    figure, (top, ax) = plt.subplots(
        2, 1, sharex=True, height_ratios=(1, 2.4), layout="constrained"
    )
    steps, given = np.arange(1, len(orders) + 1), np.asarray(orders)
    for value, shape in ((1, "^"), (-1, "v")):
        at = given == value
        top.plot(steps[at], given[at], shape, color=theme.ink, markersize=7)
    top.vlines(steps[given != 0], 0, given[given != 0], color=theme.ink, linewidth=1)
    top.axhline(0, color=theme.muted, linewidth=0.8, linestyle="-")
    top.set(yticks=(1, -1), yticklabels=("set", "reset"), ylim=(-1.6, 1.6))
    top.tick_params(bottom=False, left=False)
    for label, values in states.items():
        ax.plot(steps, values, label=label, marker="o", markersize=3)
    ax.axhline(0, color=theme.muted, linewidth=0.8, linestyle="-")
    ax.set(xlabel="step t", ylabel="state", ylim=(-1.1, 1.1))
    figure.legend(loc="outside upper center", ncols=2)
    return figure
