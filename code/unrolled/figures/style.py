"""One look for every figure: two themes, colours that the colour-blind can tell apart.

A drawing function is decorated with :func:`themed`; it takes a :class:`Theme` and
numbers, and returns a matplotlib figure. It draws for light pages. The book's dark
pages show the same drawing with each colour of the light theme exchanged for its
counterpart, so a figure may use no colour but the theme's.
"""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.figure import Figure

P = ParamSpec("P")


@dataclass(frozen=True, kw_only=True, slots=True)
class Theme:
    """The colours of a page: ``series`` after Okabe and Ito, told apart by anyone."""

    ink: str
    muted: str
    paper: str
    series: tuple[str, ...]
    regions: tuple[str, ...]  # pale fills behind ink

    def colours(self) -> tuple[str, ...]:
        """Return every colour, in an order that is the same in every theme."""
        return (self.ink, self.muted, self.paper, *self.series, *self.regions)


LIGHT = Theme(
    ink="#1f2328",
    muted="#6b7280",
    paper="#ffffff",
    series=("#0063a3", "#c24e00", "#00795a", "#a8447f", "#6b5b00"),
    regions=("#cfe3f3", "#fbdcc5", "#cdeadd", "#f1d9e8"),
)
DARK = Theme(
    ink="#e6e8eb",
    muted="#9aa4b2",
    paper="#121212",
    series=("#6cb8f0", "#f5a15c", "#4cc9a0", "#e39ac6", "#e3cf57"),
    regions=("#17364f", "#4f2f17", "#14402f", "#452338"),
)
WIDTH = 5.6  # inches; narrow, so that text stays readable on a phone
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


def rc(theme: Theme) -> Any:
    """Return matplotlib's settings for ``theme``."""
    cycle = cycler(color=theme.series) + cycler(linestyle=DASHES)
    return {
        "figure.figsize": (WIDTH, 3.1),
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "axes.facecolor": theme.paper,
        "axes.edgecolor": theme.muted,
        "axes.labelcolor": theme.ink,
        "axes.titlesize": 11,
        "axes.titlecolor": theme.ink,
        "axes.prop_cycle": cycle,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
        "font.size": 11,
        "legend.frameon": False,
        "lines.linewidth": 2.0,
        "mathtext.fontset": "dejavuserif",
        "svg.fonttype": "path",
        "svg.hashsalt": "unrolled",  # the same drawing gives the same bytes
        "text.color": theme.ink,
        "xtick.color": theme.muted,
        "xtick.labelcolor": theme.ink,
        "ytick.color": theme.muted,
        "ytick.labelcolor": theme.ink,
    }


@dataclass(frozen=True, slots=True)
class ThemedFigure:
    """A figure as SVG text, in the colours of the light theme."""

    light: str

    @property
    def dark(self) -> str:
        """The same drawing in the colours of the dark theme."""
        return recolour(self.light)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {
            "image/svg+xml": self.light,
            "text/plain": "A figure, drawn in the page.",
        }


def recolour(svg: str) -> str:
    """Return a light drawing with every colour exchanged for its dark counterpart."""
    swap = dict(zip(LIGHT.colours(), DARK.colours(), strict=True))
    return re.sub("|".join(swap), lambda found: swap[found[0]], svg)


def themed(
    draw: Callable[Concatenate[Theme, P], Figure],
) -> Callable[P, ThemedFigure]:
    """Let ``draw`` be called without a theme, and keep the drawing as SVG."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> ThemedFigure:
        with mpl.rc_context(rc(LIGHT)):
            figure = draw(LIGHT, *args, **kwargs)
            text = io.StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None})
            plt.close(figure)
        return ThemedFigure(text.getvalue())

    return drawn
