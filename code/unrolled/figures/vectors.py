"""Figures about word vectors: analogies by rank, steps, and what training costs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from unrolled.figures.style import WIDTH, Theme, themed

EDGES = (1, 2, 6, 21, 10**6)  # first; second to fifth; up to twentieth; worse


@themed
def plot_by_sight(
    theme: Theme, bits: Mapping[str, Mapping[int, float]], *, y_label: str
) -> Figure:
    """Draw a line per entry over how many words a model sees, in whole numbers."""
    figure, ax = plt.subplots(layout="constrained")
    for label, found in bits.items():
        ax.plot(
            list(found), list(found.values()), label=label, marker="o", markersize=5
        )
    seen = sorted({n for found in bits.values() for n in found})
    ax.set_xticks(seen, [str(n) for n in seen])
    ax.set(xlabel="words in sight", ylabel=y_label)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@themed
def plot_ranks(
    theme: Theme,
    ranks: Mapping[str, Sequence[Sequence[int | None]]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    y_label: str,
    x_label: str,
) -> Figure:
    """Draw a square of ranks for each name; None is left empty.

    A first place is filled dark; other ranks are written down.
    """
    names = list(ranks)
    heights = [len(ranks[name]) for name in names]
    figure, axes = plt.subplots(
        len(names), 1, figsize=(WIDTH, 1.5 + 0.255 * sum(heights)), sharex=True,
        height_ratios=heights, layout="constrained",
    )  # fmt: skip
    colours = (theme.series[0], theme.regions[0], theme.regions[1], theme.series[1])
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        cells = ranks[name]
        grid = np.array([[r or np.nan for r in row] for row in cells], dtype=float)
        ax.pcolormesh(
            grid, cmap=ListedColormap(colours), norm=BoundaryNorm(EDGES, 4),
            edgecolors=theme.paper, linewidth=1.2,
        )  # fmt: skip
        _write_ranks(theme, ax, cells)
        labels = rows if len(cells) > 1 else [""]
        ax.set_yticks(np.arange(len(cells)) + 0.5, labels)
        ax.set_title(name, fontsize=10.5, loc="left")
        ax.invert_yaxis()
        ax.tick_params(length=0, labelsize=8.5)
        ax.spines[:].set_visible(False)
        if len(cells) > 1:
            ax.set_ylabel(y_label)
    last = np.atleast_1d(axes)[-1]
    last.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=55, ha="right")
    last.set_xlabel(x_label)
    return figure


def _write_ranks(theme: Theme, ax: Axes, cells: Sequence[Sequence[int | None]]) -> None:
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            if value is None:
                continue
            strong = value == 1 or value >= EDGES[3]
            ax.text(
                j + 0.5, i + 0.52, str(value), ha="center", va="center", fontsize=8,
                color=theme.paper if strong else theme.ink,
            )  # fmt: skip


@themed
def plot_steps(
    theme: Theme,
    chance: Sequence[float],
    kin: Sequence[float],
    *,
    marked: float,
    mark: str,
) -> Figure:
    """Draw how alike steps between random words are, and those between kin."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.0), layout="constrained")
    bins = np.linspace(-0.8, 1.0, 46).tolist()
    ax.hist(
        chance, bins, density=True, color=theme.regions[0], edgecolor=theme.series[0],
        linewidth=0.7, label="two random pairs of words",
    )  # fmt: skip
    ax.hist(
        kin, bins, density=True, color="none", edgecolor=theme.series[1], hatch="///",
        linewidth=0.9, label="two pairs of kin",
    )  # fmt: skip
    ax.axvline(marked, color=theme.ink, linewidth=1.4, linestyle="--")
    top = ax.get_ylim()[1]
    ax.text(marked - 0.02, 1.27 * top, mark, fontsize=9.5, va="top", ha="right")
    ax.set(xlabel="cosine between two steps", ylabel="density", xlim=(-0.8, 1.0))
    ax.set_ylim(0, 1.3 * top)
    figure.legend(loc="outside upper center", ncols=2, fontsize=9.5)
    return figure


@themed
def plot_by_labels(
    theme: Theme,
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    x_label: str,
    y_label: str,
    chance: float,
    chance_label: str,
) -> Figure:
    """Draw every seed as a mark and their mean as a line, over a logarithmic axis."""
    figure, ax = plt.subplots(layout="constrained")
    for label, points in curves.items():
        means = [float(np.mean(values)) for values in points.values()]
        line = ax.plot(list(points), means, marker="o", markersize=5, label=label)[0]
        for n, values in points.items():
            ax.plot(
                [n] * len(values), values, "_", color=line.get_color(), markersize=7,
                alpha=0.8,
            )  # fmt: skip
    ax.axhline(chance, color=theme.muted, linewidth=0.9, linestyle="-")
    every = [n for points in curves.values() for n in points]
    ax.text(max(every), chance, chance_label, ha="right", va="bottom", fontsize=9)
    ax.set_xscale("log")
    ticks = sorted(set(every))
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.minorticks_off()
    ax.set(xlabel=x_label, ylabel=y_label)
    figure.legend(loc="outside upper center", ncols=2, fontsize=9.5)
    return figure
