"""Receptive-field explorer, with ipywidgets: formula, and field by nudging each input.

The layers are :class:`unrolled.models.tdnn.TimeDelay`, the formula is
:func:`unrolled.models.tdnn.receptive_field`.
"""

import ipywidgets

from unrolled.evaluation.reach import inputs_seen
from unrolled.models.tdnn import receptive_field

PATTERNS = {
    "1, 1, 1, …: plain": 1,
    "1, 2, 4, …: doubling": 2,
    "1, 3, 9, …: tripling": 3,
}


def field_numbers(n: int, dilations: list[int], *, causal: bool) -> dict[str, int]:
    """Return the field by the formula, and first, last and holes by nudging."""
    seen = inputs_seen([n] * len(dilations), dilations, causal=causal)
    span = seen[-1] - seen[0] + 1
    return {
        "field": receptive_field([n] * len(dilations), dilations),
        "measured": span,
        "first": seen[0],
        "last": seen[-1],
        "holes": span - len(seen),
    }


def live() -> ipywidgets.VBox:
    """Return the controls and, below them, the field by formula and by nudging."""
    wide = {"layout": {"width": "28rem"}, "style": {"description_width": "6rem"}}
    pattern = ipywidgets.Dropdown(
        options=list(PATTERNS), value=list(PATTERNS)[1], description="dilations", **wide
    )
    layers = ipywidgets.IntSlider(value=3, min=1, max=4, description="layers", **wide)
    n = ipywidgets.IntSlider(value=3, min=2, max=5, description="delays", **wide)
    causal = ipywidgets.Checkbox(value=True, description="causal: sees no future")
    shown = ipywidgets.HTML()

    def refresh(change: object = None) -> None:
        dilations = [PATTERNS[pattern.value] ** layer for layer in range(layers.value)]
        centred = not causal.value and n.value % 2 == 1
        run = field_numbers(n.value, dilations, causal=not centred)
        terms = " + ".join(f"{n.value - 1}·{d}" for d in dilations)
        shown.value = (
            f"<p>By the formula: 1 + {terms} = {run['field']}. Nudging every input: "
            f"{run['measured']}, from {run['first']} to {run['last']}, "
            f"{run['holes']} of them holes.</p>"
        )

    for control in (pattern, layers, n, causal):
        control.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([pattern, layers, n, causal, shown])
