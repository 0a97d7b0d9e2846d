"""The figures of accuracy by test lag; the numbers come from ``memory_by_lag``."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.figures.style import DASHES, WIDTH, Theme, themed

#: The networks of the main page, one of each group.
SHOWN = (
    "Elman, default",
    "Elman, orthogonal",
    "GRU",
    "LSTM, forget bias 1",
    "LSTM, chrono",
)
TITLES = {"fixed": "trained at lag 40 only", "varied": "trained at lags 1 to 40"}
TICKS = (1, 2, 5, 10, 20, 40, 80, 160)


@themed
def plot_memory(
    theme: Theme, found: Mapping[str, Any], *, networks: Sequence[str] = SHOWN
) -> Figure:
    """Draw accuracy by test lag, a panel for each regime and a line for each network.

    ``found`` is the summary of the recipe; of ``networks`` there may be five at most,
    since a line is told by its colour and its dashes.
    """
    if len(networks) > len(theme.series):
        raise ValueError(
            f"{len(networks)} networks: there are {len(theme.series)} lines"
        )
    figure, axes = plt.subplots(
        1, 2, figsize=(WIDTH * 1.25, 3.6), sharey=True, layout="constrained"
    )
    for ax, regime in zip(axes, TITLES, strict=True):
        for i, network in enumerate(networks):
            ax.plot(
                found["lags"],
                found["networks"][network][regime]["mean"],
                color=theme.series[i],
                linestyle=DASHES[i],
                marker="o",
                markersize=3,
                label=network if regime == "fixed" else None,
            )
        _furnish(ax, theme, chance=found["chance"])
        ax.set(title=TITLES[regime], xlabel="test lag")
    axes[0].set_ylabel("right answers")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@themed
def plot_memory_map(theme: Theme, found: Mapping[str, Any]) -> Figure:
    """Draw a small panel for each network: both regimes, and the range of the seeds."""
    networks: Mapping[str, Any] = found["networks"]
    n_rows = -(-len(networks) // 2)
    figure, axes = plt.subplots(
        n_rows, 2, figsize=(WIDTH * 1.25, 1.55 * n_rows + 0.5), sharex=True,
        sharey=True, layout="constrained",
    )  # fmt: skip
    for ax, (network, regimes) in zip(axes.flat, networks.items(), strict=False):
        for i, regime in enumerate(TITLES):
            row, colour = regimes[regime], theme.series[i]
            ax.fill_between(
                found["lags"], row["min"], row["max"], color=theme.regions[i]
            )
            ax.plot(
                found["lags"], row["mean"], color=colour, linestyle=DASHES[i],
                label=TITLES[regime] if network == next(iter(networks)) else None,
            )  # fmt: skip
        _furnish(ax, theme, chance=found["chance"])
        ax.set_title(network, fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("test lag")
    figure.supylabel("right answers", fontsize=11)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def _furnish(ax: Axes, theme: Theme, *, chance: float) -> None:
    """Mark chance and the lag of training, and give ``ax`` its scales."""
    ax.axhline(chance, color=theme.muted, linewidth=0.8, linestyle="-")
    ax.axvline(40, color=theme.muted, linewidth=0.8, linestyle="-")
    ax.set(xscale="log", ylim=(-0.03, 1.05), yticks=(0, 0.5, 1))
    ax.set_xticks(TICKS, [str(tick) for tick in TICKS], fontsize=9)
    ax.set_xticks([], minor=True)
