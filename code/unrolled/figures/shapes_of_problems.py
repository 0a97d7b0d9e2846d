"""One to one, many to one, one to many, many to many: the four shapes, drawn."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from unrolled.figures.style import WIDTH, Theme, themed

SHAPES = (  # title, example, inputs, outputs
    ("one to one", "marks → pass?", 1, 1),
    ("many to one", "tweet → mood", 3, 1),
    ("one to many", "picture → caption", 1, 3),
    ("many to many", "sentence → sentence", 3, 4),
)


@themed
def draw_shapes(theme: Theme) -> Figure:
    """Draw the shapes two abreast: what comes in below, what goes out above."""
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 4.6), layout="constrained")
    for ax, (title, example, n_in, n_out) in zip(axes.flat, SHAPES, strict=True):
        ax.set(xlim=(-2.3, 2.3), ylim=(-0.45, 2.75), aspect="equal")
        ax.axis("off")
        ax.text(0, 2.5, title, ha="center", va="center", fontsize=12, color=theme.ink)
        ax.text(0, -0.32, example, ha="center", va="center", color=theme.ink)
        _box(theme, ax, 0.0, 1.05, 3.6, theme.regions[0])
        ax.text(0, 1.05, "model", ha="center", va="center", color=theme.ink)
        for n, y, colour, name, ways in (
            (n_in, 0.2, 3, "x", (0.42, 0.8)),
            (n_out, 1.9, 2, "y", (1.3, 1.67)),
        ):
            for i in range(n):
                x = (i - (n - 1) / 2) * 0.95
                _box(theme, ax, x, y, 0.6, theme.regions[colour])
                label = f"${name}_{i + 1}$" if n > 1 else f"${name}$"
                ax.text(x, y, label, ha="center", va="center", color=theme.ink)
                _arrow(theme, ax, x, *ways)
    return figure


def _box(theme: Theme, ax: Axes, x: float, y: float, width: float, fill: str) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2 + 0.08, y - 0.15), width - 0.16, 0.3, lw=1.2,
            boxstyle="round,pad=0.08", facecolor=fill, edgecolor=theme.ink,
        )
    )  # fmt: skip


def _arrow(theme: Theme, ax: Axes, x: float, start: float, end: float) -> None:
    ax.add_patch(
        FancyArrowPatch(
            (x, start), (x, end), arrowstyle="-|>", mutation_scale=10, lw=1.3,
            color=theme.series[0], shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip
