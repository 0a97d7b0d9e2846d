"""Diagrams of recurrent networks: boxes, arrows and the names on them."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from unrolled.figures.style import WIDTH, Theme, themed

RADIUS = 0.34


@themed
def draw_unrolled(theme: Theme, n_steps: int = 4) -> Figure:
    """Draw the network with its loop on the left, the loop unrolled on the right."""
    figure, ax = _canvas(n_steps + 2.4, 3.6)
    _column(theme, ax, 0, "t", recurrent=False)
    _arrow(theme, ax, (0.24, 1.26), (0.24, 0.74), colour=1, bend=-1.9)
    ax.text(1.08, 1.0, "$W_h$", color=theme.series[1], ha="center", va="center")
    ax.text(1.62, 1.0, "=", fontsize=18, ha="center", va="center", color=theme.ink)
    for t in range(1, n_steps + 1):
        _column(theme, ax, 1.4 + t, str(t), recurrent=t > 1)
    start = (1.4 + 0.45, 1.0)
    _arrow(theme, ax, start, (2.4 - RADIUS, 1.0), colour=1)
    ax.text(start[0] + 0.02, 1.22, "$h_0$", ha="center", color=theme.ink)
    return figure


@themed
def draw_elman_jordan(theme: Theme) -> Figure:
    """Draw side by side what each feeds back: the state, or the answer."""
    figure, ax = _canvas(6.2, 3.7)
    for x, name in ((0.5, "Elman"), (4.0, "Jordan")):
        ax.text(x + 0.55, 2.7, name, fontsize=13, ha="center", color=theme.ink)
        for i, t in enumerate(("t-1", "t")):
            _column(theme, ax, x + 1.1 * i, t, recurrent=False, weights=False)
    _arrow(theme, ax, (0.5 + RADIUS, 1.0), (1.6 - RADIUS, 1.0), colour=1)
    ax.text(1.05, 1.14, "$W_h$", color=theme.series[1], ha="center")
    _arrow(theme, ax, (4.0 + 0.24, 1.76), (5.1 - 0.24, 1.24), colour=1)
    ax.text(4.72, 1.62, "$W_y$", color=theme.series[1], ha="left")
    return figure


@themed
def draw_backward(theme: Theme, n_steps: int = 4) -> Figure:
    """Draw the unrolled network, and dashed beside its arrows the way of the blame."""
    figure, ax = _canvas(1.45 * (n_steps - 1) + 1.9, 4.0)
    for t in range(1, n_steps + 1):
        x = 1.45 * (t - 1) + 0.35
        _column(theme, ax, x, str(t), recurrent=False, weights=False)
        _arrow(theme, ax, (x + 0.16, 1.7), (x + 0.16, 1.3), colour=3, dashed=True)
        ax.text(x, 2.55, rf"$\mathcal{{L}}_{t}$", ha="center", color=theme.ink)
        _arrow(theme, ax, (x + 0.16, 2.5), (x + 0.16, 2.3), colour=3, dashed=True)
        if t > 1:
            _arrow(theme, ax, (x - 1.45 + 0.33, 1.1), (x - 0.33, 1.1), colour=1)
            _arrow(theme, ax, (x - 0.33, 0.9), (x - 1.45 + 0.33, 0.9), colour=3,
                   dashed=True)  # fmt: skip
            middle = x - 0.72
            ax.text(middle, 1.19, "$W_h$", ha="center", color=theme.series[1])
            ax.text(middle, 0.52, r"$W_h^{\!\top}$", ha="center", color=theme.series[3])
    return figure


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure, ax = plt.subplots(figsize=(WIDTH, WIDTH * height / (width + 0.4)))
    figure.subplots_adjust(0, 0, 1, 1)
    ax.set(xlim=(-0.6, width - 0.2), ylim=(-0.55, height - 0.55), aspect="equal")
    ax.axis("off")
    return figure, ax


def _column(
    theme: Theme, ax: Axes, x: float, t: str, *, recurrent: bool, weights: bool = True
) -> None:
    """Draw input, state and answer of one step, one above another."""
    for y, name, colour in ((0.0, "x", 3), (1.0, "h", 0), (2.0, "o", 2)):
        ax.add_patch(
            Circle((x, y), RADIUS, facecolor=theme.regions[colour], lw=1.4,
                   edgecolor=theme.ink)
        )  # fmt: skip
        ax.text(x, y - 0.02, f"${name}_{{{t}}}$", ha="center", va="center",
                fontsize=12, color=theme.ink)  # fmt: skip
    for y, label in ((0.0, "$W_x$"), (1.0, "$V$")):
        _arrow(theme, ax, (x, y + RADIUS), (x, y + 1 - RADIUS))
        if weights:
            ax.text(x - 0.08, y + 0.5, label, ha="right", va="center", fontsize=9,
                    color=theme.series[0])  # fmt: skip
    if recurrent:
        _arrow(theme, ax, (x - 1 + RADIUS, 1.0), (x - RADIUS, 1.0), colour=1)
        ax.text(x - 0.5, 1.14, "$W_h$", ha="center", fontsize=9,
                color=theme.series[1])  # fmt: skip


def _arrow(
    theme: Theme,
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    colour: int = 0,
    bend: float = 0.0,
    dashed: bool = False,
) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=13, shrinkA=0, shrinkB=0,
            lw=1.5, color=theme.series[colour], connectionstyle=f"arc3,rad={bend}",
            linestyle=(0, (4, 2)) if dashed else "-",
        )
    )  # fmt: skip
