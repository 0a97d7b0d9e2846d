"""The state plane of a two-unit network as it learns two flip-flops."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.evaluation.dynamics import Portrait
from unrolled.figures.style import WIDTH, Theme, themed


@themed
def plot_portraits(
    theme: Theme,
    portraits: Mapping[str, Portrait],
    *,
    answers: Mapping[str, Sequence[str]],
) -> Figure:
    """Draw panels two abreast: fills for basins, arrows for steps, discs for rest.

    ``answers`` holds for each panel what the network says at each resting point.
    """
    rows = (len(portraits) + 1) // 2
    figure, axes = plt.subplots(
        rows, 2, figsize=(WIDTH, 2.9 * rows), sharex=True, sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, (title, portrait) in zip(axes.flat, portraits.items(), strict=False):
        _panel(theme, ax, portrait)
        for (x, y), answer in zip(
            portrait.basins.points.tolist(), answers[title], strict=True
        ):
            ax.text(
                x - 0.14 * np.sign(x), y - 0.2 * np.sign(y), answer, color=theme.ink,
                ha="right" if x > 0 else "left", va="center", fontweight="bold",
                bbox={"facecolor": theme.paper, "alpha": 0.75, "lw": 0, "pad": 1.0},
            )  # fmt: skip
        ax.set_title(title)
    for ax in axes[-1]:
        ax.set_xlabel("state of unit 1")
    for ax in axes[:, 0]:
        ax.set_ylabel("state of unit 2")
    return figure


def _panel(theme: Theme, ax: Axes, portrait: Portrait) -> None:
    starts, after = portrait.starts.cpu().numpy(), portrait.after.cpu().numpy()
    points, owner = (tensor.cpu().numpy() for tensor in portrait.basins)
    n = round(len(starts) ** 0.5)
    # A basin keeps its colour between panels: it is named by its attractor's quadrant.
    quadrant = (points[:, 0] > 0) + 2 * (points[:, 1] > 0)
    colours = np.where(owner >= 0, quadrant[owner], -1).reshape(n, n).T
    axis = starts[:n, 1]
    for i, fill in enumerate(theme.regions):
        if (colours == i).any():  # as outlines: a picture could not be recoloured
            ax.contourf(axis, axis, colours == i, levels=(0.5, 1.5), colors=[fill])
    thin = np.arange(n * n).reshape(n, n)[5::10, 5::10].ravel()
    move = (after - starts)[thin]
    ax.quiver(
        *starts[thin].T, *move.T, color=theme.muted, angles="xy", scale_units="xy",
        scale=2.4, width=0.006,
    )  # fmt: skip
    path = portrait.path.cpu().numpy()
    ax.plot(*path.T, "-", color=theme.ink, linewidth=0.7, alpha=0.8)
    ax.plot(*path.T, ".", color=theme.ink, markersize=3)
    ax.plot(
        *points.T, "o", markersize=11, linestyle="",
        markerfacecolor=theme.series[1], markeredgecolor=theme.ink,
    )  # fmt: skip
    ax.set(
        xlim=(-1.08, 1.08), ylim=(-1.08, 1.08),
        xticks=(-1, 0, 1), yticks=(-1, 0, 1), aspect="equal",
    )  # fmt: skip


@themed
def plot_courses(
    theme: Theme, updates: Sequence[int], courses: Sequence[Sequence[int]]
) -> Figure:
    """Draw the number of attractors over training, a thin line per seed."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.0), layout="constrained")
    spread = np.linspace(-0.22, 0.22, len(courses))
    for shift, course in zip(spread, courses, strict=True):
        ax.step(
            updates, np.asarray(course) + shift, "-", where="post", linewidth=1.1,
            color=theme.series[0], alpha=0.75,
        )  # fmt: skip
    ax.set(
        xlabel="updates", ylabel="resting points", yticks=(1, 2, 3, 4),
        ylim=(0.6, 4.4), xlim=(0, max(updates)),
    )  # fmt: skip
    return figure
