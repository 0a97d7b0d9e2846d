"""The embedding plane, with ipywidgets: three words, and the corner that they point to.

The numbers are those of :mod:`unrolled.evaluation.analogies`, for the words that the
page carries (:mod:`unrolled.recipes.embedding_plane`).
"""

from dataclasses import dataclass

import ipywidgets
import torch

from unrolled.evaluation.analogies import corner, nearest
from unrolled.recipes.embedding_plane import PICKS, PRESETS, table, words


@dataclass(frozen=True, kw_only=True, slots=True)
class Plane:
    """What the plane shows: the nearest words, and where all lie in it."""

    nearest: list[tuple[str, float]]
    points: dict[str, tuple[float, float]]
    corner: tuple[float, float]


def plane_numbers(a: str, b: str, c: str, *, leave_out: bool, n: int = 8) -> Plane:
    """Return the words nearest to b - a + c, and places in the plane of a, b and c.

    The plane goes through the three words; a is its origin and b lies on its first
    axis, so that b - a + c lies in it exactly and other words are seen from above.
    """
    if len({a, b, c}) < 3:
        raise ValueError(f"{a=}, {b=} and {c=} must be three different words")
    unit, rows = table(), [words().index(word) for word in (a, b, c)]
    query = corner(unit, *rows)
    found = nearest(unit, query, n, leave_out=rows if leave_out else ())
    cosines = (unit[found] @ query / query.norm()).tolist()
    across = unit[rows[1]] - unit[rows[0]]
    across = across / across.norm()
    up = unit[rows[2]] - unit[rows[0]]
    up = up - (up @ across) * across
    axes = torch.stack([across, up / up.norm()], dim=1)  # (E, 2)
    shown = list(dict.fromkeys([*rows, *found]))
    places = ((unit[shown] - unit[rows[0]]) @ axes).tolist()
    x, y = ((query - unit[rows[0]]) @ axes).tolist()
    return Plane(
        nearest=[(words()[row], cos) for row, cos in zip(found, cosines, strict=True)],
        points={
            words()[row]: (p[0], p[1]) for row, p in zip(shown, places, strict=True)
        },
        corner=(x, y),
    )


def live() -> ipywidgets.VBox:
    """Return three choices of words and the answers to them."""
    a, b, c = (
        ipywidgets.Dropdown(options=PICKS, value=word, description=text)
        for word, text in zip(PRESETS[0], ("", "is to", "as"), strict=True)
    )
    out = ipywidgets.Checkbox(description="Leave the three out", value=True)
    shown = ipywidgets.HTML()

    def refresh(change: object = None) -> None:
        if len({a.value, b.value, c.value}) < 3:
            shown.value = "<p>Pick three different words.</p>"
            return
        run = plane_numbers(a.value, b.value, c.value, leave_out=out.value)
        lines = [f"<li>{word} {cosine:.3f}</li>" for word, cosine in run.nearest]
        shown.value = f"<ol>{''.join(lines)}</ol>"

    for one in (a, b, c, out):
        one.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([a, b, c, out, shown])
