"""A timeline that reads from top to bottom, one row for each milestone."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.figures.style import DASHES, WIDTH, Theme, themed

STRANDS = ("recurrence", "attention", "pre-training")
MARKS = ("o", "D", "s")
SIZES = (9.0, 7.5, 8.0)  # alike to the eye
ROW = 0.245  # inches
# Where things stand across the figure, in inches: the axis of years, the left end of a
# row, the first lane and the distance to the next one, the words.
AXIS, LEFT, LANE, APART, WORDS = 0.62, 1.28, 1.52, 0.3, 2.44


@themed
def draw_timeline(theme: Theme, milestones: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw each of ``milestones``, which has a ``year``, a ``name`` and a ``strand``.

    On the left the years stand to scale; a line leads from each year to the rows of its
    milestones. There is a lane for each strand, with a mark and a dash of its own.
    """
    years = [milestone["year"] for milestone in milestones]
    if years != sorted(years):
        raise ValueError(f"milestones must stand in the order of years, got {years}")
    lanes = [_lane(milestone) for milestone in milestones]
    height = ROW * (len(milestones) + 3)
    figure = plt.figure(figsize=(WIDTH, height))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(height, 0))
    ax.axis("off")
    for lane, x in enumerate((0.75, 2.3, 3.75)):  # the key
        _mark(theme, ax, lane, x, ROW)
        ax.text(x + 0.16, ROW, STRANDS[lane], va="center")
    rows = [ROW * (row + 2.5) for row in range(len(milestones))]
    _scale(theme, ax, years, rows)
    for lane in sorted(set(lanes)):
        own = [y for y, other in zip(rows, lanes, strict=True) if other == lane]
        ax.plot(
            [LANE + APART * lane] * 2, [own[0], own[-1]], color=theme.series[lane],
            linestyle=DASHES[lane], linewidth=1.6,
        )  # fmt: skip
    for y, lane, milestone in zip(rows, lanes, milestones, strict=True):
        ax.plot(
            [LEFT, WORDS - 0.06], [y, y], "-", color=theme.regions[lane],
            linewidth=1.2, zorder=0,
        )  # fmt: skip
        _mark(theme, ax, lane, LANE + APART * lane, y)
        ax.text(WORDS, y, milestone["year"], va="center", color=theme.muted)
        ax.text(WORDS + 0.5, y, milestone["name"], va="center")
    return figure


def _lane(milestone: Mapping[str, Any]) -> int:
    strand = milestone["strand"]
    if strand not in STRANDS:
        known = ", ".join(STRANDS)
        raise ValueError(
            f"{milestone['name']}: no strand {strand!r}; say one of {known}"
        )
    return STRANDS.index(strand)


def _mark(theme: Theme, ax: Axes, lane: int, x: float, y: float) -> None:
    ax.plot(
        x, y, MARKS[lane], markersize=SIZES[lane], linestyle="", markeredgewidth=1.8,
        markerfacecolor=theme.regions[lane], markeredgecolor=theme.series[lane],
    )  # fmt: skip


def _scale(theme: Theme, ax: Axes, years: Sequence[int], rows: Sequence[float]) -> None:
    """Draw the years to scale, and a line from each to its rows."""
    first, last = years[0], years[-1]
    inches = (rows[-1] - rows[0]) / max(last - first, 1)

    def place(year: int) -> float:
        return rows[0] + inches * (year - first)

    line: dict[str, Any] = {"linestyle": "-", "color": theme.muted}
    ax.plot([AXIS, AXIS], [place(first), place(last)], linewidth=1.4, **line)
    for year in range(first, last + 1):
        if year % 5 == 0:
            ax.plot([AXIS - 0.08, AXIS], [place(year)] * 2, linewidth=1.4, **line)
            ax.text(
                AXIS - 0.13, place(year), str(year), ha="right", va="center",
                color=theme.muted,
            )  # fmt: skip
    for year, y in zip(years, rows, strict=True):
        ax.plot([AXIS, LEFT], [place(year), y], linewidth=0.6, **line)
