"""How costs grow, drawn from what ``make bench`` measured."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from unrolled.figures.style import WIDTH, Theme, themed


@themed
def plot_growth(theme: Theme, record: dict[str, Any]) -> Figure:
    """Draw each family of curves of ``record["growth"]``: size against milliseconds.

    Both axes are logarithmic, so that a power is a straight line: twice as steep is
    the square.
    """
    families = record["growth"]
    figure, axes = plt.subplots(
        len(families), 1, figsize=(WIDTH, 3.1 * len(families)), layout="constrained"
    )
    for ax, (name, family) in zip(axes, families.items(), strict=True):
        for label, curve in family["curves"].items():
            ax.plot(curve["sizes"], curve["milliseconds"], label=label, marker="o")
        ax.set(
            title=name, xlabel=family["size"], ylabel="ms", xscale="log", yscale="log"
        )
        sizes = sorted({n for c in family["curves"].values() for n in c["sizes"]})
        ax.set_xticks(sizes, labels=[f"{n:,}" for n in sizes])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.legend()
    return figure
