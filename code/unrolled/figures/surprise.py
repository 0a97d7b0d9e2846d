"""Figures about language models: how surprised they are, and by what."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from unrolled.figures.style import DASHES, WIDTH, Theme, themed

SPACE = "\N{OPEN BOX}"
CHOICES = (3, 4, 6, 8, 12, 16, 20)  # perplexities that are marked beside the bits


@themed
def plot_surprise(
    theme: Theme,
    sentence: str,
    reader: Sequence[float],
    models: Mapping[str, Sequence[float]],
    *,
    breaks: Sequence[int],
    reader_name: str,
) -> Figure:
    """Draw the bits of each letter: the reader's as bars, each model's as a line.

    The sentence is cut into rows before the letters at ``breaks``.
    """
    starts = [0, *breaks]
    ends = [*breaks, len(sentence)]
    figure, axes = plt.subplots(
        len(starts), 1, figsize=(WIDTH, 0.6 + 1.75 * len(starts)), sharey=True,
        layout="constrained",
    )  # fmt: skip
    widest = max(end - start for start, end in zip(starts, ends, strict=True))
    for ax, start, end in zip(axes, starts, ends, strict=True):
        places = np.arange(end - start)
        ax.bar(
            places, reader[start:end], width=0.9, color=theme.regions[1],
            edgecolor=theme.series[1], linewidth=0.8, label=reader_name,
        )  # fmt: skip
        looks = zip((2, 0, 3), (2, 0, 1), strict=True)  # colour and dashes of each
        for (name, bits), (colour, dash) in zip(models.items(), looks, strict=False):
            ax.plot(
                places, bits[start:end], marker="o", markersize=2.6, linewidth=1.3,
                color=theme.series[colour], linestyle=DASHES[dash], label=name,
            )  # fmt: skip
        ax.set_xticks(places, [c.replace(" ", SPACE) for c in sentence[start:end]])
        ax.tick_params(axis="x", length=0, labelsize=9)
        ax.set(xlim=(-0.7, widest - 0.3), yticks=(0, 5, 10), ylabel="bits")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=9.5)
    return figure


@themed
def plot_orders(
    theme: Theme,
    curves: Mapping[str, Mapping[int, float]],
    hidden: Mapping[int, Sequence[float]],
) -> Figure:
    """Draw bits per byte: n-grams by order, hidden Markov models by states.

    The scale on the right gives the same as perplexity, two to the power of the bits.
    """
    figure, (ax, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 3.4), sharey=True, width_ratios=(3, 2),
        layout="constrained",
    )  # fmt: skip
    for label, curve in curves.items():
        bits = list(curve.values())
        ax.plot(list(curve), bits, marker="o", markersize=5, label=label)
    ax.set(xlabel="order n", ylabel="bits per byte, held out", title="n-grams")
    for j, (states, seeds) in enumerate(hidden.items()):
        right.plot(
            [states] * len(seeds), seeds, "D", markersize=5, color=theme.series[4],
            markerfacecolor="none", label=None if j else "one seed each",
        )  # fmt: skip
    means = [float(np.mean(seeds)) for seeds in hidden.values()]
    right.plot(list(hidden), means, "-", color=theme.series[4], linewidth=1)
    first = next(iter(curves.values()))
    for order, name in ((1, "unigram"), (2, "bigram")):
        right.axhline(first[order], color=theme.muted, linewidth=0.8, linestyle="-")
        right.text(min(hidden), first[order] + 0.04, name, fontsize=9)
    right.set_xscale("log", base=2)
    right.set_xticks(list(hidden), [str(n) for n in hidden])
    right.minorticks_off()
    right.set(xlabel="hidden states", title="hidden Markov")
    low, high = right.get_ylim()
    shown = [n for n in CHOICES if low <= np.log2(n) <= high]
    choices = right.twinx()
    choices.set_ylim(low, high)
    choices.set_yticks(np.log2(shown), [str(n) for n in shown])
    choices.spines["right"].set_visible(True)
    choices.set_ylabel("perplexity per byte")
    figure.legend(loc="outside upper center", ncols=2, fontsize=9.5)
    return figure


@themed
def plot_shares(
    theme: Theme, shares: Mapping[str, float], *, x_label: str, marked: str = ""
) -> Figure:
    """Draw one bar for each name, the first on top; letters in ``marked`` stand out."""
    figure, ax = plt.subplots(
        figsize=(WIDTH, 0.7 + 0.24 * len(shares)), layout="constrained"
    )
    names = [name.replace(" ", SPACE) for name in shares]
    kinds = [name in marked and bool(marked) for name in shares]
    ax.barh(
        names, list(shares.values()), height=0.7,
        color=[theme.regions[1] if kind else theme.regions[0] for kind in kinds],
        edgecolor=[theme.series[1] if kind else theme.series[0] for kind in kinds],
        hatch=["//" if kind else "" for kind in kinds],
    )  # fmt: skip
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel=x_label)
    return figure


@themed
def plot_letters(
    theme: Theme,
    panels: Mapping[str, Sequence[Mapping[str, float]]],
    *,
    y_label: str,
    marked: str,
) -> Figure:
    """Draw a share for each letter, a panel for each list of runs.

    Bars are the first run of a panel and circles are all others, side by side in
    their order; the bars of letters in ``marked`` are hatched.
    """
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, 0.3 + 2.1 * len(panels)), sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for ax, (title, runs) in zip(axes[:, 0], panels.items(), strict=True):
        for at, (letter, share) in enumerate(runs[0].items()):
            kind = letter in marked
            ax.bar(
                at, share, width=0.8, color=theme.regions[1 if kind else 0],
                edgecolor=theme.series[1 if kind else 0], hatch="//" if kind else "",
            )  # fmt: skip
        others = runs[1:]
        for place, run in zip(np.linspace(-0.3, 0.3, len(others)), others, strict=True):
            ax.plot(
                np.arange(len(run)) + place, list(run.values()), "o", markersize=3.2,
                color=theme.ink, markerfacecolor="none", markeredgewidth=0.8,
            )  # fmt: skip
        ax.axhline(0.5, color=theme.muted, linewidth=0.8, linestyle="--")
        ax.set_xticks(range(len(runs[0])), [c.replace(" ", SPACE) for c in runs[0]])
        ax.tick_params(axis="x", length=0)
        ax.set(ylim=(-0.04, 1.04), xlim=(-0.7, len(runs[0]) - 0.3), title=title)
        ax.set(ylabel=y_label)
    return figure
