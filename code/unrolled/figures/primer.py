"""Figures of the primer: digits, a kernel as a matrix, errors and intervals."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator, PercentFormatter
from numpy.typing import NDArray
from torch import Tensor

from unrolled.evaluation.intervals import Interval, t_interval
from unrolled.figures.style import DASHES, WIDTH, Theme, themed

MARKS = ("o", "s", "^", "D")
LEVELS = 16


@themed
def plot_digits(
    theme: Theme, rows: Mapping[str, NDArray[np.float32]], *, labels: Sequence[int]
) -> Figure:
    """Draw a row of images (N, 8, 8) for each name, the more ink the larger the dot."""
    figure, axes = plt.subplots(
        len(rows), 1, figsize=(WIDTH, 0.62 * len(rows) + 0.35), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, (name, images) in zip(axes[:, 0], rows.items(), strict=True):
        strip = np.concatenate([np.pad(image, ((0, 0), (0, 2))) for image in images], 1)
        draw_ink(theme, ax, strip, size=3.6)
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
    places = 10 * np.arange(len(labels)) + 3.5
    axes[-1, 0].set_xticks(places, [str(label) for label in labels])
    return figure


def draw_ink(
    theme: Theme, ax: Axes, image: NDArray[np.float32], *, size: float
) -> None:
    """Draw ink between 0 and 1 as squares, each of an area in proportion to it."""
    for level in range(1, LEVELS + 1):
        ys, xs = np.nonzero(np.round(image * LEVELS) == level)
        side = size * (level / LEVELS) ** 0.5
        ax.plot(xs, ys, "s", color=theme.ink, markersize=side, markeredgewidth=0)
    height, width = image.shape
    ax.set(xlim=(-1, width), ylim=(height - 0.2, -0.8), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


@themed
def plot_kernel_matrix(
    theme: Theme, image: NDArray[np.float32], kernel: Tensor, matrix: Tensor
) -> Figure:
    """Draw an image, the kernel's numbers, and where the large matrix is not zero."""
    figure, (one, two, three) = plt.subplots(
        1, 3, figsize=(WIDTH, 2.5), width_ratios=(1, 0.8, 1.7), layout="constrained"
    )
    draw_ink(theme, one, image, size=8.0)
    one.set_title("image, 8 × 8", fontsize=10)
    n = len(kernel)
    for (i, j), value in np.ndenumerate(kernel.numpy()):
        text = f"{value:g}".replace("-", "\N{MINUS SIGN}")
        two.text(j, i, text, ha="center", va="center", fontsize=11)
    two.set(xlim=(-0.6, n - 0.4), ylim=(n - 0.4, -0.6), xticks=[], yticks=[])
    two.set_aspect("equal")
    two.spines[:].set_visible(False)
    two.set_title(f"kernel, {n} × {n}", fontsize=10)
    for sign, colour, mark in ((1, theme.series[0], "s"), (-1, theme.series[1], "o")):
        rows, columns = np.nonzero(np.sign(matrix.numpy()) == sign)
        three.plot(columns, rows, mark, color=colour, markersize=1.9, markeredgewidth=0)
    high, wide = matrix.shape
    three.set(xlim=(-1, wide), ylim=(high, -1), xticks=[0, wide - 1])
    three.set(yticks=[0, high - 1], xlabel="pixel of the image", ylabel="comes out")
    three.set_title(f"the same as a matrix, {high} × {wide}", fontsize=10)
    three.set_aspect("equal")
    return figure


@themed
def plot_worth(
    theme: Theme,
    panels: Mapping[str, Mapping[str, Mapping[int, Tensor]]],
    *,
    x_label: str,
    y_label: str,
) -> Figure:
    """Draw panels of errors by the number of examples, each with its t-interval.

    ``panels`` holds for each title and name the values of all seeds by that number.
    """
    figure, axes = plt.subplots(
        1, len(panels), figsize=(WIDTH, 3.5), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for i, (name, by_size) in enumerate(curves.items()):
            found = [t_interval(values) for values in by_size.values()]
            xs = [n * 1.06 ** (i - (len(curves) - 1) / 2) for n in by_size]
            means = [interval.estimate for interval in found]
            ends = [
                [f.estimate - f.low for f in found],
                [f.high - f.estimate for f in found],
            ]
            colour = theme.series[i]
            ax.plot(xs, means, linestyle=DASHES[i], color=colour, lw=1.5)
            ax.errorbar(xs, means, ends, fmt=MARKS[i], color=colour, markersize=5,
                        elinewidth=1.4, label=name)  # fmt: skip
        ax.set(xscale="log", xlabel=x_label)
        ax.set_title(title, fontsize=10)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
        sizes = list(next(iter(curves.values())))
        ax.set_xticks(sizes, [f"{n}" for n in sizes])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].set_ylabel(y_label)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=9.5)
    return figure


@themed
def plot_intervals(
    theme: Theme, panels: Mapping[str, Sequence[Interval]], *, truth: float
) -> Figure:
    """Draw many intervals side by side; those that miss the ``truth`` stand out."""
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, 1.75 * len(panels) + 0.2), sharex=True,
        sharey=True, layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, (title, found) in zip(axes[:, 0], panels.items(), strict=True):
        hits = [truth in interval for interval in found]
        for kind, colour, width in (
            (True, theme.muted, 1.0),
            (False, theme.series[1], 2.2),
        ):
            at = [i for i, hit in enumerate(hits) if hit is kind]
            lows = [found[i].low for i in at]
            highs = [found[i].high for i in at]
            ax.vlines(at, lows, highs, color=colour, linewidth=width)
            means = [found[i].estimate for i in at]
            ax.plot(
                at,
                means,
                "o" if kind else "D",
                color=colour,
                markersize=2.2 if kind else 3.6,
            )
        ax.axhline(truth, color=theme.ink, linewidth=1, linestyle="-")
        ax.set_title(f"{title}: {hits.count(False)} of {len(hits)} miss", fontsize=10)
        ax.set(ylim=(truth - 6, truth + 6), xlim=(-1, len(hits)))
        ax.set_ylabel("mean of three")
    axes[-1, 0].set_xlabel("one hundred experiments")
    return figure
