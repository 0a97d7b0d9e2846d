"""Figures of the primer: errors of many seeds, and intervals."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator, PercentFormatter
from torch import Tensor

from unrolled.evaluation.intervals import Interval, t_interval
from unrolled.figures.style import DASHES, WIDTH, Theme, themed

MARKS = ("o", "s", "^", "D")


@themed
def plot_overfit(
    theme: Theme, curves: Mapping[str, Mapping[int, Tensor]], *, share_wrong: float
) -> Figure:
    """Draw errors by step, mean and t-interval of all seeds, and the share wrong."""
    figure, ax = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    for i, (name, by_step) in enumerate(curves.items()):
        found = [t_interval(values) for values in by_step.values()]
        means = [interval.estimate for interval in found]
        low, high = [f.low for f in found], [f.high for f in found]
        ax.fill_between(list(by_step), low, high, color=theme.regions[i], linewidth=0)
        ax.plot(list(by_step), means, linestyle=DASHES[i], label=name,
                color=theme.series[i])  # fmt: skip
    ax.axhline(share_wrong, color=theme.muted, linewidth=1, linestyle="-")
    ax.annotate("share of labels that are wrong", (0.4, share_wrong), xytext=(0, 4),
                xycoords=("axes fraction", "data"), textcoords="offset points",
                ha="center", fontsize=9, color=theme.muted)  # fmt: skip
    ax.set(xlabel="step", ylabel="share of errors", ylim=(0, None))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    figure.legend(loc="outside upper center", ncols=2, fontsize=9.5)
    return figure


@themed
def plot_worth(
    theme: Theme,
    panels: Mapping[str, Mapping[str, Mapping[int, Tensor]]],
    *,
    arrow: tuple[str, int],
    x_label: str,
    y_label: str,
) -> Figure:
    """Draw panels of errors by the number of examples, each with its t-interval.

    ``panels`` holds for each title and name the values of all seeds by that number. An
    ``arrow`` leads from the named curve, at that number, to where the first curve errs
    as often.
    """
    figure, axes = plt.subplots(
        1, len(panels), figsize=(WIDTH, 3.7), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for i, (name, by_size) in enumerate(curves.items()):
            found = [t_interval(values) for values in by_size.values()]
            xs = [n * 1.06 ** (0, -1, 1)[i] for n in by_size]  # side by side
            means = [interval.estimate for interval in found]
            ends = [
                [f.estimate - f.low for f in found],
                [f.high - f.estimate for f in found],
            ]
            colour = theme.series[i]
            ax.plot(xs, means, linestyle=DASHES[i], color=colour, lw=1.5)
            ax.errorbar(xs, means, ends, fmt=MARKS[i], color=colour, markersize=4.5,
                        elinewidth=1.2, label=name)  # fmt: skip
            if i == 0:
                plain = xs, means
            if name == arrow[0]:
                at = list(by_size).index(arrow[1])
                start = xs[at], means[at]
        end = np.interp(-start[1], -np.array(plain[1]), np.log(plain[0]))
        ax.annotate("", (np.exp(end), start[1]), start, zorder=9,
                    arrowprops={"arrowstyle": "->", "color": theme.ink,
                                "shrinkA": 4, "shrinkB": 0})  # fmt: skip
        ax.set(xscale="log", xlabel=x_label)
        ax.set_title(title, fontsize=10)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
        sizes = list(next(iter(curves.values())))
        ax.set_xticks(sizes, [f"{n}" for n in sizes])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 0].set_ylabel(y_label)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=9.5)
    return figure


@themed
def plot_intervals(
    theme: Theme, panels: Mapping[str, Sequence[Interval]], *, truth: float
) -> Figure:
    """Draw many intervals side by side; those that miss the ``truth`` stand out."""
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, 1.75 * len(panels) + 0.2), sharex=True,
        sharey=True, layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, (title, found) in zip(axes[:, 0], panels.items(), strict=True):
        hits = [truth in interval for interval in found]
        for kind, colour, width in (
            (True, theme.muted, 1.0),
            (False, theme.series[1], 2.2),
        ):
            at = [i for i, hit in enumerate(hits) if hit is kind]
            lows = [found[i].low for i in at]
            highs = [found[i].high for i in at]
            ax.vlines(at, lows, highs, color=colour, linewidth=width)
            means = [found[i].estimate for i in at]
            ax.plot(
                at,
                means,
                "o" if kind else "D",
                color=colour,
                markersize=2.2,  # a larger one would hide a short interval
            )
        ax.axhline(truth, color=theme.ink, linewidth=1, linestyle="-")
        ax.set_title(f"{title}: {hits.count(False)} of {len(hits)} miss", fontsize=10)
        ax.set(xlim=(-1, len(hits)))
        ax.set_ylabel("mean of three")
    axes[-1, 0].set_xlabel("one hundred experiments")
    return figure
