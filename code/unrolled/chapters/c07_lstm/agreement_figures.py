"""The figure of agreement by distance; its numbers are ``agreement_by_distance``'s."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.figures.style import DASHES, WIDTH, Theme, themed

TITLES = {"chain": "a chain: one number to keep", "nest": "a nest: one for each verb"}
#: How many words stand between subject and main verb in the longest training sentence
#: of each kind.
TRAINED = {"chain": 9, "nest": 10}
#: The rules that are drawn, and how.
RULE_STYLES = {"nearest noun": "-", "opening": ":", "nearest, then opening": "--"}
MARKERS = ("o", "s", "^")


@themed
def plot_agreement(theme: Theme, found: Mapping[str, Any]) -> Figure:
    """Draw right answers by words in between: one verb of a chain, all of a nest.

    ``found`` is the summary of the recipe. Bars are intervals over test sentences;
    small marks are single seeds.
    """
    figure, axes = plt.subplots(
        1, 2, figsize=(WIDTH * 1.25, 3.6), sharey=True, layout="constrained"
    )
    for ax, (kind, title) in zip(axes, TITLES.items(), strict=True):
        words = found["words"][kind]
        for i, (name, network) in enumerate(found["networks"].items()):
            sets = [f"{kind} {n}" for n in range(len(words))]
            rows = [network["accuracy"][test][-1] for test in sets]
            seeds = [network["by seed"][test][-1] for test in sets]
            place = [x + 0.45 * (i - 1) for x in words]
            _line(ax, theme, i, place, rows, seeds, name if kind == "chain" else None)
        for rule, style in RULE_STYLES.items():
            rule_rows = found["rules"][rule]["accuracy"]
            ax.plot(
                words,
                [rule_rows[f"{kind} {n}"][-1][0] for n in range(len(words))],
                color=theme.muted,
                linewidth=1.2,
                linestyle=style,
                label=f"rule: {rule}" if kind == "chain" else None,
            )
        ax.axvline(TRAINED[kind] + 1, color=theme.muted, linewidth=0.8, linestyle="-")
        ax.set(title=title, xlabel="words between subject and main verb")
        ax.set(ylim=(-0.03, 1.05), yticks=(0, 0.5, 1), xticks=words)
    axes[0].set_ylabel("sentences with every verb right")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def _line(
    ax: Axes,
    theme: Theme,
    i: int,
    place: Sequence[float],
    rows: Sequence[Sequence[float]],
    seeds: Sequence[Sequence[float]],
    label: str | None,
) -> None:
    """Draw the means of a network, their intervals, and its seeds as small marks."""
    means, low, high = zip(*rows, strict=True)
    ax.errorbar(
        place,
        means,
        yerr=[
            [max(0.0, m - end) for m, end in zip(means, low, strict=True)],
            [max(0.0, end - m) for m, end in zip(means, high, strict=True)],
        ],
        color=theme.series[i],
        linestyle=DASHES[i],
        marker=MARKERS[i],
        markersize=5,
        label=label,
    )
    for x, shares in zip(place, seeds, strict=True):
        ax.plot(
            [x] * len(shares),
            shares,
            color=theme.series[i],
            linestyle="none",
            marker=MARKERS[i],
            markersize=2.2,
        )


@themed
def plot_levels(
    theme: Theme, found: Mapping[str, Any], *, depths: Sequence[int] = (2, 3, 4)
) -> Figure:
    """Draw right answers by verb, from the first of a nest to its main verb."""
    figure, axes = plt.subplots(
        1, len(depths), figsize=(WIDTH * 1.25, 3.3), sharey=True, layout="constrained",
        width_ratios=[depth + 1 for depth in depths],
    )  # fmt: skip
    for ax, depth in zip(axes, depths, strict=True):
        test, order = f"nest {depth}", list(range(1, depth + 2))
        for i, (name, network) in enumerate(found["networks"].items()):
            rows = network["accuracy"][test][:-1]  # the last is of all verbs
            seeds = network["by seed"][test][:-1]
            place = [x + 0.12 * (i - 1) for x in order]
            _line(ax, theme, i, place, rows, seeds, name if ax is axes[0] else None)
        ax.axhline(0.5, color=theme.muted, linewidth=0.8, linestyle="-")
        names = ["first", *map(str, order[1:-1]), "main"]
        ax.set_xticks(order, names, fontsize=9)
        ax.set(title=f"{depth} nested", xlabel="verb", xlim=(0.6, depth + 1.4))
        ax.set(ylim=(-0.03, 1.05), yticks=(0, 0.5, 1))
    axes[0].set_ylabel("verbs right")
    figure.legend(loc="outside upper center", ncols=3)
    return figure
