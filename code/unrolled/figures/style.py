"""One look for every figure: two themes, colours that the colour-blind can tell apart.

A drawing function is decorated with :func:`themed`; it takes a :class:`Theme` and
numbers, and returns a matplotlib figure. It draws for light pages. The book's dark
pages show the same drawing with each colour of the light theme exchanged for its
counterpart, so a figure may use no colour but the theme's.

A notebook's theme is not known to a drawing in it, and JupyterLab shows no SVG of a
notebook that it does not trust, nor any style sheet. So a notebook gets an image in
colours that are read on light and on dark alike, without paper; where style sheets are
allowed, one moves them away from the page's own.
"""

import base64
import io
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from html import escape
from pathlib import Path
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
#: For a notebook: the colours of the light theme, but for paper, as they are seen on
#: light and on dark. A region is a veil (the last two digits say how thick).
BOTH = Theme(
    ink="#7a7a7a",
    muted="#7d7d7d",
    paper="none",
    series=("#2f86c9", "#d06a14", "#1f9470", "#c2629a", "#8f7d28"),
    regions=("#2f86c944", "#d06a1444", "#1f947044", "#c2629a44"),
)
#: Where a notebook is trusted: the same colours darker on light, and lighter on dark.
BRIGHTNESS = (
    "<style>"
    ":is([data-jp-theme-light=true],.vscode-light) .unrolled-figure img"
    "{filter:brightness(.62)}"
    ":is([data-jp-theme-light=false],.vscode-dark,html[theme=dark]) "
    ".unrolled-figure img{filter:brightness(1.5)}"
    "</style>"
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
        alt, caption = _words_of_cell()
        stored = {"image/svg+xml": self.light, "text/plain": alt}
        if os.environ.get("UNROLLED_BOOK"):
            return stored | {"text/plain": UNNAMED}
        return stored | {"text/html": draw_figure(self.light, alt=alt, caption=caption)}


UNNAMED = "A figure, drawn in the page."


def draw_figure(svg: str, *, alt: str, caption: str = "") -> str:
    """Return a light drawing as HTML for a notebook of any theme, trusted or not.

    Args:
        svg: The drawing, as :class:`ThemedFigure` keeps it.
        alt: What is to be seen, in plain words.
        caption: Plain words; what stands between backticks is set as code, and between
            asterisks in italics.
    """
    if not alt.strip():
        raise ValueError("alt is empty: say in words what the figure shows")
    on_fill = '<g style="fill: '  # of words that stand on a fill, as paper would
    svg = svg.replace(f"{on_fill}{LIGHT.paper}", f"{on_fill}white")
    data = base64.b64encode(_compact(recolour(svg, BOTH)).encode()).decode()
    words = re.sub(r"(?<![\w*>])\*(\w[^*<]*)\*", r"<em>\1</em>", prose(caption))
    below = f"<figcaption>{words}</figcaption>" if caption else ""
    return (
        f'<figure class="unrolled-figure" style="margin:0.5em 0">{BRIGHTNESS}'
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}" '
        f'style="max-width:100%">{below}</figure>'
    )


def prose(text: str) -> str:
    """Escape ``text`` for HTML, with words between backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def _compact(svg: str) -> str:
    """Return a drawing in fewer characters: a tenth of a point is not seen."""
    svg = re.sub(r"<(\?xml|!DOCTYPE|!--).*?>", "", svg, flags=re.S)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(
        r'(?<= d=")[^"]+', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg
    )
    return re.sub(r"> <", "><", re.sub(r"\s*\n\s*", " ", svg)).strip()


def _words_of_cell() -> tuple[str, str]:
    """Return the alt text and the caption of the cell that runs, where it has some.

    A kernel is not told of its cells' metadata; but it knows what it runs, and clients
    say which file that is from.
    """
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    if shell is None:
        return UNNAMED, ""
    name = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
    path = Path.cwd() / Path(name or "").name
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return UNNAMED, ""
    runs = shell.history_manager.input_hist_raw[-1].strip()
    for cell in cells:
        words = cell["metadata"].get("unrolled", {})
        if words.get("alt") and "".join(cell["source"]).strip() == runs:
            return words["alt"], words.get("caption", "")
    return UNNAMED, ""


def recolour(svg: str, theme: Theme = DARK) -> str:
    """Return a light drawing with every colour exchanged for its counterpart."""
    swap = dict(zip(LIGHT.colours(), theme.colours(), strict=True))
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
