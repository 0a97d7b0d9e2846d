"""A window that slides along a sentence, and the most that it found: a convolution."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from unrolled.figures.style import WIDTH, Theme, themed

GAP = 1.9  # rows between the window's weights and the sentence


@themed
def draw_pooling(
    theme: Theme, words: list[str], x: Tensor, weights: Tensor, found: Tensor
) -> Figure:
    """Draw one unit of a centred convolution at work on a sentence.

    Above, its ``weights`` (n, E), the earliest word's first. Below, the vectors ``x``
    (T, E) of the ``words``, time running down, and beside each what the unit ``found``
    (T,) there. The window is framed where it begins and, in bold, where it found most.
    Squares are numbers, by area: full above zero and hollow below.
    """
    n, n_steps, best = len(weights), len(words), int(found.argmax())
    top = -n - GAP  # the sentence's first word is row 0
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 0.27 * (n_steps - top)), width_ratios=(1.55, 1),
        sharey=True, layout="constrained",
    )  # fmt: skip
    _squares(theme, left, x, 0)
    _squares(theme, left, weights, top)
    for at in range(n):
        delay = at - n // 2
        name = f"{abs(delay)} {'before' if delay < 0 else 'after'}" if delay else "here"
        left.text(-0.9, top + at, name, ha="right", va="center", color=theme.muted)
    for at, word in enumerate(words):
        left.text(-0.9, at, word, ha="right", va="center")
    left.text(-0.5, top - 1.1, "the window's weights", va="center")
    left.text(-0.5, -1.1, "the words' vectors", va="center")
    _frame(theme, left, 0, x.shape[1], n, bold=False)
    _frame(theme, left, best - n // 2, x.shape[1], n, bold=True)
    middle = x.shape[1] + 0.35
    left.annotate(
        "", (middle, best - 0.2), (middle, n / 2 - 0.5),
        arrowprops={"arrowstyle": "-|>", "color": theme.muted, "linestyle": "--"},
    )  # fmt: skip
    left.set(xlim=(-4.6, x.shape[1] + 0.8), ylim=(n_steps - 0.3, top - 1.7))
    left.set_aspect("equal", anchor="E")
    left.axis("off")
    _bars(theme, right, found, best)
    return figure


def _squares(theme: Theme, ax: Axes, values: Tensor, top: float) -> None:
    """Draw each number of a table (rows, columns) as a square, its area the number."""
    largest = float(values.abs().max())
    for i, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            side = 0.86 * (abs(value) / largest) ** 0.5
            colour = theme.series[0 if value > 0 else 1]
            ax.add_patch(
                Rectangle(
                    (j - side / 2, top + i - side / 2), side, side, linewidth=1,
                    edgecolor=colour, facecolor=colour if value > 0 else theme.paper,
                )
            )  # fmt: skip


def _frame(
    theme: Theme, ax: Axes, row: int, n_columns: int, n_rows: int, *, bold: bool
) -> None:
    ax.add_patch(
        Rectangle(
            (-0.6, row - 0.5), n_columns + 0.2, n_rows, fill=False,
            edgecolor=theme.ink if bold else theme.muted,
            linewidth=2 if bold else 1.2, linestyle="-" if bold else "--",
        )
    )  # fmt: skip


def _bars(theme: Theme, ax: Axes, found: Tensor, best: int) -> None:
    """Draw what was found at each step, the most of it hatched and named."""
    values = found.tolist()
    low, high = min(*values, 0), values[best]
    for at, value in enumerate(values):
        most = at == best
        ax.barh(
            at, value, height=0.7, color=theme.regions[2 if most else 0],
            edgecolor=theme.series[2 if most else 0], hatch="//" if most else "",
        )  # fmt: skip
        ax.annotate(
            f"{value:.1f}".replace("-", "−"), (max(value, 0), at), (3, 0), va="center",
            textcoords="offset points", fontsize=10,
        )  # fmt: skip
    ax.text(0, -1.1, "what it finds", va="center", ha="center")
    ax.annotate(
        "the maximum", (0.85 * high, best - 0.4), (0.85 * high, best - 2.5),
        ha="center", va="center", arrowprops={"arrowstyle": "-|>", "color": theme.ink},
    )  # fmt: skip
    ax.vlines(0, -0.5, len(values) - 0.5, color=theme.muted, linewidth=0.8)
    ax.set(xlim=(low - 0.05 * high, 1.35 * high))
    ax.axis("off")
