"""The figure of the LSTM taken apart; its numbers come from ``gate_ablation``."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.figures.style import WIDTH, Theme, themed

PLAIN = "LSTM"


@themed
def plot_gaps(theme: Theme, found: Mapping[str, Any]) -> Figure:
    """Draw how each variant differs from the LSTM: on text, and in learning to recall.

    ``found`` is the summary of the recipe. Left, bits a character with an interval over
    text and seeds; the band is the margin. Right, the updates until each seed has
    learned to recall.
    """
    variants: Mapping[str, Any] = found["variants"]
    changed = [name for name in variants if name != PLAIN]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH * 1.25, 0.34 * len(variants) + 1.1), sharey=True,
        layout="constrained", gridspec_kw={"width_ratios": (3, 2)},
    )  # fmt: skip
    left.axvspan(-found["margin"], found["margin"], color=theme.regions[0])
    left.axvline(0, color=theme.muted, linewidth=0.8, linestyle="-")
    left.plot([0], [0], "o", color=theme.muted, markersize=5)
    for y, name in enumerate(changed, start=1):
        row, colour = variants[name], theme.series[0]
        ends = [row["gap, low"], row["gap, high"]]
        left.plot(ends, [y, y], "-", color=colour, linewidth=1.5)
        left.plot([row["gap"]], [y], "o", color=colour, markersize=6)
    left.set_yticks(range(len(variants)), [PLAIN, *changed], fontsize=10)
    left.set_xlabel("bits per character more than the LSTM")
    left.set_title("predicting characters", fontsize=10)
    _draw_solved(right, theme, [variants[n]["solved at"] for n in (PLAIN, *changed)])
    left.invert_yaxis()
    return figure


def _draw_solved(
    ax: Axes, theme: Theme, solved: Sequence[Sequence[int | None]]
) -> None:
    """Mark the update at which each seed had learned, row by row; none has a cross."""
    known = [at for row in solved for at in row if at is not None]
    edge = 1.1 * max(known, default=1)
    for y, row in enumerate(solved):
        done = [at for at in row if at is not None]
        ax.plot(done, [y] * len(done), "o", color=theme.series[1], markersize=4)
        never = len(row) - len(done)
        ax.plot([edge] * never, [y] * never, "x", color=theme.series[1])
    ax.set_xlim(left=0)
    ax.set_xlabel("updates until it recalls")
    ax.set_title("delayed recall", fontsize=10)
