"""Figures made of pixels: digits, and a kernel that is laid on one.

A mark's area is in proportion to what it stands for.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from unrolled.figures.style import WIDTH, Theme, themed

LEVELS = 16


@themed
def plot_digits(
    theme: Theme, rows: Mapping[str, NDArray[np.float32]], *, labels: Sequence[int]
) -> Figure:
    """Draw a row of images (N, 8, 8) for each name, a square for each pixel's ink."""
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
    theme: Theme,
    image: NDArray[np.float32],
    kernel: Tensor,
    found: Tensor,
    matrix: Tensor,
) -> Figure:
    """Draw an image, a kernel, what it ``found`` there, and the same as a matrix."""
    figure, axes = plt.subplot_mosaic(
        [["image", "kernel", "found"], ["matrix"] * 3],
        figsize=(WIDTH, 5.0), height_ratios=(1, 1.75), layout="constrained",
    )  # fmt: skip
    draw_ink(theme, axes["image"], image, size=8.0)
    axes["image"].set_title(f"image, {len(image)} × {len(image)}", fontsize=10)
    n, ax = len(kernel), axes["kernel"]
    for (i, j), value in np.ndenumerate(kernel.numpy()):
        text = f"{value:g}".replace("-", "\N{MINUS SIGN}")
        ax.text(j, i, text, ha="center", va="center", fontsize=12)
    ax.set(xlim=(-1.1, n + 0.1), ylim=(n + 0.1, -1.1), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
    ax.set_title(f"kernel, {n} × {n}", fontsize=10)
    draw_signs(theme, axes["found"], found.numpy(), size=9.0)
    axes["found"].set_title(f"Z, {len(found)} × {len(found)}", fontsize=10)
    high, wide = matrix.shape
    ax = axes["matrix"]
    draw_signs(theme, ax, np.sign(matrix.numpy()), size=4.4)
    ax.set(xticks=[0, wide - 1], yticks=[0, high - 1])
    ax.set(xlabel="pixel of the image", ylabel="entry of Z")
    ax.spines[:].set_visible(True)
    ax.set_title(f"the same as a matrix, {high} × {wide}", fontsize=10)
    return figure


def draw_signs(
    theme: Theme, ax: Axes, values: NDArray[np.float32], *, size: float
) -> None:
    """Draw positive numbers as squares, negative ones as rings, by their size."""
    most = np.abs(values).max()
    for sign, colour, mark in ((1, theme.series[0], "s"), (-1, theme.series[1], "o")):
        face = colour if sign > 0 else theme.paper
        for level in range(1, LEVELS + 1):
            ys, xs = np.nonzero(np.round(sign * values / most * LEVELS) == level)
            side = size * (level / LEVELS) ** 0.5
            ax.plot(xs, ys, mark, color=colour, markersize=side, markerfacecolor=face,
                    markeredgewidth=0 if sign > 0 else 0.9)  # fmt: skip
    height, width = values.shape
    ax.set(xlim=(-1, width), ylim=(height, -1), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
