"""The ball of chapter 1: where it may go, and how well that can be known."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from unrolled.figures.style import DASHES, WIDTH, Theme, themed

MARKS = ("o", "s", "^", "D")


@themed
def plot_clouds(
    theme: Theme, panels: Mapping[str, tuple[Tensor, Tensor, Tensor]]
) -> Figure:
    """Draw panels two abreast: frames seen (T, 2), where it may be (N, 2), the truth.

    The truth (2,) is a ring; frames are discs, joined in their order.
    """
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(
        rows, 2, figsize=(WIDTH, 2.75 * rows), sharex=True, sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for ax, (title, (seen, cloud, truth)) in zip(
        axes.flat, panels.items(), strict=False
    ):
        ax.plot(*cloud.T.tolist(), ".", color=theme.series[1], markersize=3, alpha=0.6)
        ax.plot(*seen.T.tolist(), "-o", color=theme.series[0], markersize=6, lw=1)
        ax.plot(
            *truth[:, None].tolist(), "o", markersize=12, markerfacecolor="none",
            markeredgecolor=theme.ink, markeredgewidth=1.6,
        )  # fmt: skip
        ax.set(title=title, aspect="equal")
        ax.tick_params(length=0, labelbottom=False, labelleft=False)
    return figure


@themed
def plot_frames_noise(
    theme: Theme,
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    *,
    frames: Sequence[int],
    names: Mapping[str, str],
    floor: float,
) -> Figure:
    """Draw the error over the frames, a colour a noise: networks as marks, rest lines.

    ``panels`` holds for each world and noise the networks' errors and those they are
    compared with, whose name in the legend is ``names`` of the world. What is below
    ``floor`` is drawn on it.
    """
    figure, axes = plt.subplots(
        1, len(panels), figsize=(WIDTH, 3.7), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, (world, curves) in zip(axes[0], panels.items(), strict=True):
        for i, (noise, (networks, others)) in enumerate(curves.items()):
            colour = theme.series[i]
            xs = frames[len(frames) - len(others) :]
            ax.plot(
                xs, _above(others, floor), color=colour, linestyle=DASHES[i], lw=1.6
            )
            ax.plot(
                frames, _above(networks, floor), MARKS[i], color=colour, markersize=5,
                label=f"noise {noise}",
            )  # fmt: skip
        _finish(ax, world, names[world], frames)
    axes[0, 0].set_ylabel("off by, in sides of the box")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9,
                  handletextpad=0.1, columnspacing=1.2)  # fmt: skip
    return figure


@themed
def plot_ahead(
    theme: Theme,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    frames: Sequence[int],
) -> Figure:
    """Draw the error over how many frames ahead: a panel a world, a line a guess."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(WIDTH, 3.5), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    named = {}
    for ax, (world, curves) in zip(axes[0], panels.items(), strict=True):
        for i, (name, errors) in enumerate(curves.items()):
            named[name] = ax.plot(
                frames, errors, color=theme.series[i], linestyle=DASHES[i], lw=1.6,
                marker=MARKS[i], markersize=3.5,
            )[0]  # fmt: skip
        ax.set(title=world, xlabel="frames ahead", yscale="log", xticks=frames[::5])
    axes[0, 0].set_ylabel("off by, in sides of the box")
    figure.legend(
        list(named.values()), list(named), loc="outside upper center", ncols=2,
        fontsize=9.5,
    )  # fmt: skip
    return figure


def _above(values: Sequence[float], floor: float) -> list[float]:
    return [max(value, floor) for value in values]


def _finish(ax: Axes, title: str, name: str, frames: Sequence[int]) -> None:
    ax.set(title=f"{title}\n(lines: {name})", xlabel="frames seen", yscale="log",
           xticks=list(frames))  # fmt: skip
    ax.title.set_fontsize(10)
