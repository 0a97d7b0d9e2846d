"""Gate reader, with ipywidgets: the gates of a trained character LSTM, one by one.

The model is the checkpoint that the page carries. Axes: T characters, D hidden width.
"""

from functools import cache
from html import escape
from typing import Any

import ipywidgets
import torch
from torch import Tensor

from unrolled.models import checkpoints
from unrolled.runtime import book_folder

TEXT = (
    "Now it came to pass in the days of Ahasuerus, (this [is] Ahasuerus which reigned"
)
QUANTITIES = "fiochg"


@cache
def _kept() -> Any:
    path = book_folder() / "_static" / "models" / "character-lstm.safetensors"
    return checkpoints.load(path)


def known(text: str) -> str:
    """Return ``text`` with a space for each character that the model has never seen."""
    alphabet = set(_kept().tokenizer.characters)
    return "".join(c if c in alphabet else " " for c in text)


@torch.no_grad()
def gate_numbers(text: str) -> dict[str, Tensor]:
    """Return i, f, g, o, c and h, (T, D) each, and the logits (T, V) of what follows.

    They are those after each character of ``text``, read from a state of zero.
    """
    kept = _kept()
    model = kept.model
    cell = model.layers.cells[0]
    ids = torch.tensor([kept.tokenizer.encode(known(text))])
    projected = cell.project(model.embed(ids))  # (1, T, 4 D)
    state = cell.empty(projected)
    found: dict[str, list[Tensor]] = {name: [] for name in "ifgoch"}
    for p_t in projected.unbind(dim=1):
        i, f, g, o = (p_t + state.h @ cell.W_h).chunk(4, dim=-1)
        state = cell.step(p_t, state)
        now = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid(), state.c, state.h)
        for values, value in zip(found.values(), now, strict=True):
            values.append(value[0])
    numbers = {name: torch.stack(values) for name, values in found.items()}
    return numbers | {"logits": model.logits(numbers["h"])}


def live() -> ipywidgets.VBox:
    """Return a text, a unit, a quantity, and the text coloured by it."""
    box = ipywidgets.Textarea(value=TEXT, description="Text")
    D = _kept().model.config.d_model
    unit = ipywidgets.IntSlider(value=1, min=1, max=D, description="Unit")
    choice = ipywidgets.Dropdown(options=list(QUANTITIES), description="Quantity")
    shown = ipywidgets.HTML()

    def refresh(_: object = None) -> None:
        text = known(box.value[:300]) or "\n"
        values = gate_numbers(text)[choice.value][:, unit.value - 1].tolist()
        marks = "".join(
            f'<span title="{value:z.3f}" style="background: rgba('
            f"{'230, 130, 40' if value < 0 else '60, 150, 220'}, "
            f'{min(1.0, abs(value)):.2f})">{escape(character)}</span>'
            for character, value in zip(text, values, strict=True)
        )
        shown.value = f"<pre style='white-space: pre-wrap'>{marks}</pre>"

    for control in (box, unit, choice):
        control.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([box, unit, choice, shown])
