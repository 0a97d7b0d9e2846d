"""Figures about gradients that travel through time."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from unrolled.figures.style import DASHES, WIDTH, Theme, themed

Life = Sequence[Mapping[str, Any]]  # snapshots: update, radius, stretch, norms, …


@themed
def plot_lives(
    theme: Theme,
    lives: Mapping[str, Life],
    *,
    updates: Sequence[int],
    limits: tuple[float, float] = (1e-12, 1e12),
) -> Figure:
    """Draw each network in a row: the norms by lag at ``updates``, and predictions."""
    figure, axes = plt.subplots(
        len(lives), len(updates), figsize=(WIDTH, 0.5 + 2.0 * len(lives)), sharex=True,
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for row, (name, life) in zip(axes, lives.items(), strict=True):
        moments = {moment["update"]: moment for moment in life}
        for ax, update in zip(row, updates, strict=True):
            moment = moments[update]
            lags = np.arange(len(moment["norms"]))
            for label, base, style, colour in (
                (r"$\sigma_1^k$, the bound", moment["stretch"], ":", 2),
                (r"$\rho^k$, from the eigenvalue", moment["radius"], "--", 1),
            ):
                curve = np.clip(float(base) ** lags, *limits)
                ax.plot(lags, curve, style, color=theme.series[colour], label=label)
            ax.plot(lags, moment["norms"], "-", color=theme.series[0], label="measured")
            ax.axhline(1, color=theme.muted, linewidth=0.8, linestyle="-", zorder=0)
            right = f"{moment['accuracy']:.0%} right"
            ax.set_title(f"{update} updates\n{right}", fontsize=9.5)
            ax.set(yscale="log", ylim=limits, xticks=range(0, len(lags), 10))
        row[0].set_ylabel(name)
    figure.supxlabel("lag $k = T - t$", fontsize=11)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="outside upper center", ncols=3, fontsize=9.5
    )
    return figure


@themed
def plot_reach(
    theme: Theme, lives: Mapping[str, Sequence[Life]], *, lag: int, solved: float
) -> Figure:
    """Draw all snapshots: the norm at ``lag`` over the radius, beside its power."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.6), layout="constrained")
    moments = [m for group in lives.values() for life in group for m in life]
    groups = {
        "before training": [m for m in moments if m["update"] == 0],
        "later, task not solved": [
            m for m in moments if m["update"] and m["accuracy"] < solved
        ],
        "later, task solved": [
            m for m in moments if m["update"] and m["accuracy"] >= solved
        ],
    }
    marks = (("s", 4), ("x", 2), ("o", 0))
    for (label, group), (mark, colour) in zip(groups.items(), marks, strict=True):
        ax.plot(
            [m["radius"] for m in group], [m["norms"][lag] for m in group], mark,
            color=theme.series[colour], label=label, markersize=4,
            markerfacecolor="none" if mark == "o" else theme.series[colour],
        )  # fmt: skip
    least, most = (f(m["radius"] for m in moments) for f in (min, max))
    radii = np.linspace(0.95 * least, 1.02 * most, 200)
    ax.plot(radii, radii**lag, "--", color=theme.series[1], label=rf"$\rho^{{{lag}}}$")
    ax.axhline(1, color=theme.muted, linewidth=0.8, linestyle="-", zorder=0)
    ax.set(
        xlabel=r"spectral radius $\rho$ of the weights",
        ylabel=f"gradient at lag {lag}, measured",
        yscale="log", ylim=(1e-13, 1e12),
    )  # fmt: skip
    figure.legend(loc="outside upper center", ncols=2, fontsize=9.5)
    return figure


@themed
def plot_asked(
    theme: Theme, networks: Mapping[str, Mapping[str, float]], *, trained: int
) -> Figure:
    """Draw, a panel for each network, its share of right answers by lag."""
    n_rows = -(-len(networks) // 2)
    figure, axes = plt.subplots(
        n_rows, 2, figsize=(WIDTH, 0.4 + 1.55 * n_rows), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for ax in axes.flat[len(networks) :]:
        ax.axis("off")
    for ax, (name, asked) in zip(axes.flat, networks.items(), strict=False):
        for lag, share in ((int(lag), share) for lag, share in asked.items()):
            here = lag == trained
            ax.plot(
                [lag, lag], [0, share], "-", linewidth=3.2 if here else 2.2,
                color=theme.series[1 if here else 0],
            )  # fmt: skip
        ax.axhline(0, color=theme.muted, linewidth=0.8, linestyle="-")
        ax.set_title(name, fontsize=10)
        ax.set(ylim=(0, 1.08), yticks=(0, 1), yticklabels=("0%", "100%"))
    figure.supxlabel("asked after this many steps", fontsize=11)
    return figure


@themed
def plot_solved(
    theme: Theme,
    table: Mapping[str, Mapping[str, Sequence[int]]],
    *,
    rates: Sequence[float],
    runs: int,
) -> Figure:
    """Draw a row per network and, for each lag and learning rate, how many solved."""
    lags = list(next(iter(table.values())))
    figure, ax = plt.subplots(
        figsize=(WIDTH, 0.9 + 0.42 * len(table)), layout="constrained"
    )
    for i, cells in enumerate(table.values()):
        for j, lag in enumerate(lags):
            for k, count in enumerate(cells[lag]):
                x = j * (len(rates) + 0.6) + k
                fill = (theme.paper, theme.regions[1], theme.regions[2])
                shade = fill[0 if count == 0 else 2 if count == runs else 1]
                box = Rectangle((x, i), 0.94, 0.86, facecolor=shade,
                                edgecolor=theme.muted, linewidth=0.8)  # fmt: skip
                ax.add_patch(box)
                ax.text(x + 0.47, i + 0.45, str(count), ha="center", va="center",
                        color=theme.ink, fontsize=10)  # fmt: skip
    for j, lag in enumerate(lags):
        x = j * (len(rates) + 0.6)
        middle = x + len(rates) / 2
        ax.text(middle, -0.75, f"lag {lag}", ha="center", color=theme.ink)
        for k, rate in enumerate(rates):
            ax.text(x + k + 0.47, -0.12, f"{rate:g}", ha="center", fontsize=8,
                    color=theme.ink)  # fmt: skip
    width = len(lags) * (len(rates) + 0.6)
    ax.set(xlim=(-0.1, width), ylim=(len(table), -1.3), xticks=[])
    ax.set_yticks([i + 0.43 for i in range(len(table))], list(table))
    ax.tick_params(left=False)
    ax.spines[:].set_visible(False)
    return figure


@themed
def plot_runs(
    theme: Theme,
    groups: Mapping[str, Sequence[Sequence[float]]],
    *,
    y_label: str,
    limits: tuple[float, float],
) -> Figure:
    """Draw one thin line per run, all runs of a group alike, over the updates."""
    figure, ax = plt.subplots(layout="constrained")
    for i, (label, runs) in enumerate(groups.items()):
        for j, run in enumerate(runs):
            ax.plot(
                range(len(run)), run, linestyle=DASHES[i], linewidth=1.1,
                color=theme.series[i], label=label if j == 0 else None,
            )  # fmt: skip
    ax.set(xlabel="updates", ylabel=y_label, yscale="log", ylim=limits)
    figure.legend(loc="outside upper center", ncols=2)
    return figure
