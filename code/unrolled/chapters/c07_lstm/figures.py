"""The figures of chapter 7's main page."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from unrolled.figures.style import WIDTH, Theme, themed

SENTENCE = "the flights that the airline was cancelling were full".split()
WRITTEN, SHOWN = 1, 6  # where the subject is noted, and where a verb must be chosen
TAPS = {"show": 0.65, "keep": 0.0, "add": -0.65}  # name: how high it stands


@themed
def draw_memory_line(theme: Theme) -> Figure:
    """Draw a memory that runs through a sentence, with three taps at each word."""
    figure, ax = plt.subplots(figsize=(WIDTH, 2.3), layout="constrained")
    ends = list(accumulate(len(word) + 2.5 for word in SENTENCE))
    places = [end - len(word) / 2 for end, word in zip(ends, SENTENCE, strict=True)]
    left, right = places[0] - 2, places[-1] + 2
    ax.plot([left, right], [0, 0], color=theme.muted, lw=1.2, ls="-", zorder=1)
    ax.plot(
        [places[WRITTEN], places[SHOWN]], [0, 0], color=theme.series[0], lw=4, ls="-"
    )
    for at, (place, word) in enumerate(zip(places, SENTENCE, strict=True)):
        held = WRITTEN <= at <= SHOWN
        is_open = {"show": at == SHOWN, "keep": held, "add": at == WRITTEN}
        for tap, height in TAPS.items():
            if height:
                ax.plot(
                    [place] * 2,
                    [0, height],
                    color=theme.muted,
                    lw=0.8,
                    ls="-",
                    zorder=1,
                )
            face, edge = (
                (theme.series[0], theme.series[0])
                if is_open[tap]
                else (theme.paper, theme.muted)
            )
            ax.plot(place, height, marker="o", ms=9, mfc=face, mec=edge, zorder=3)
        ax.text(place, -1.2, word, ha="center", va="top", color=theme.ink, fontsize=9)
    for tap, height in TAPS.items():
        ax.text(left - 1, height, tap, ha="right", va="center", color=theme.ink)
    ax.set(xlim=(left - 7, right + 1), ylim=(-1.8, 1.0))
    ax.axis("off")
    return figure


@themed
def draw_cell(theme: Theme) -> Figure:
    """Draw the wiring of one step: the memory line, three gates and a candidate."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")

    def wire(*points: tuple[float, float], arrow: bool = True) -> None:
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, color=theme.ink, lw=1.2, ls="-", zorder=1)
        if arrow:
            style = {
                "arrowstyle": "-|>", "color": theme.ink, "lw": 1.2, "shrinkA": 0, "shrinkB": 0,
            }  # fmt: skip
            ax.annotate("", points[-1], points[-2], arrowprops=style)

    def node(x: float, y: float, text: str, *, gate: bool = False) -> None:
        shape = {
            "boxstyle": "round,pad=0.35" if gate else "circle,pad=0.25",
            "fc": theme.regions[0] if gate else theme.paper,
            "ec": theme.series[0] if gate else theme.ink,
        }
        ax.text(x, y, text, ha="center", va="center", color=theme.ink, bbox=shape)

    wires: list[list[tuple[float, float]]] = [
        [(0, 3), (1.6, 3)], [(1.6, 3), (4.4, 3)], [(4.4, 3), (9.2, 3)],  # the memory
        [(1.6, 1.5), (1.6, 2.75)],  # keep
        [(3.4, 1.5), (3.4, 2.1), (4.15, 2.1)], [(5, 1.5), (5, 2.1), (4.65, 2.1)],
        [(4.4, 2.3), (4.4, 2.75)],  # add
        [(7.9, 3), (7.9, 2.3)], [(7.9, 1.9), (7.9, 1.45)],
        [(6.95, 1.2), (7.6, 1.2)], [(8.2, 1.2), (9.2, 1.2)],  # show
    ]  # fmt: skip
    for points in wires:
        wire(*points)
    wire((0, 0.3), (6.6, 0.3), arrow=False)  # the inputs of all four
    for x, name in ((1.6, "$f$"), (3.4, "$i$"), (5.0, "$g$"), (6.6, "$o$")):
        wire((x, 0.3), (x, 0.9))
        node(x, 1.2, name, gate=True)
    for x, y, name in ((1.6, 3, "×"), (4.4, 3, "+"), (4.4, 2.1, "×"), (7.9, 1.2, "×")):
        node(x, y, name)
    node(7.9, 2.1, "tanh", gate=True)
    for x, y, text, side in (
        (-0.1, 3, "$\\mathbf{c}_{t-1}$", "right"),
        (9.3, 3, "$\\mathbf{c}_t$", "left"),
        (-0.1, 0.3, "$\\mathbf{x}_t,\\ \\mathbf{h}_{t-1}$", "right"),
        (9.3, 1.2, "$\\mathbf{h}_t$", "left"),
    ):
        ax.text(x, y, text, ha=side, va="center", color=theme.ink)
    for x, y, text in ((1.6, 3.45, "keep"), (4.4, 3.45, "add"), (8.35, 0.75, "show")):
        ax.text(x, y, text, ha="center", va="center", color=theme.muted)
    ax.set(xlim=(-1.6, 10), ylim=(0, 3.7))
    ax.axis("off")
    return figure


@themed
def plot_paths(
    theme: Theme, lengths: Sequence[int], paths: Mapping[str, Tensor]
) -> Figure:
    """Draw what is left of a change: ``paths`` are (lengths, 2), whole and direct."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    for (name, sizes), colour, mark in zip(
        paths.items(), theme.series, "os^", strict=False
    ):
        whole, direct = sizes.T.tolist()
        ax.plot(lengths, whole, color=colour, ls="-", marker=mark, ms=4, label=name)
        ax.plot(lengths, direct, color=colour, ls="--", lw=1.2, marker=mark, ms=3)
    ax.plot([], [], color=theme.muted, ls="--", label="forget gates alone")
    ax.set(xlabel="steps", ylabel="what is left of a change", yscale="log")
    ax.legend()
    return figure
