"""Sample in the page, with ipywidgets: the character model writes on.

The model is the checkpoint that the page carries. Axes: T characters.
"""

from html import escape
from typing import Any

import ipywidgets
import torch

from unrolled.decoding.sampling import sampler
from unrolled.decoding.text import write
from unrolled.models import checkpoints
from unrolled.runtime import book_folder, generator

BEGINNING = "In the beginning "


def continuation(
    beginning: str, *, temperature: float, n_tokens: int, seed: int
) -> str:
    """Return what the model writes on; unknown characters are left out before."""
    path = book_folder() / "_static" / "models" / "character-rnn.safetensors"
    kept = checkpoints.load(path)
    tokenizer: Any = kept.tokenizer
    known = "".join(c for c in beginning if c in tokenizer.characters)
    choose = sampler(temperature=temperature, generator=generator(seed))
    with torch.no_grad():
        return "".join(
            write(kept.model, tokenizer, known, n_tokens=n_tokens, choose=choose)
        )


def live() -> ipywidgets.VBox:
    """Return a beginning, a temperature, a button, and what was written."""
    box = ipywidgets.Text(value=BEGINNING, description="Beginning")
    dial = ipywidgets.FloatSlider(
        value=0.7, min=0.1, max=2.0, step=0.05, description="Temperature"
    )
    button = ipywidgets.Button(description="Write")
    shown = ipywidgets.HTML()
    seed = 0

    def refresh(_: object = None) -> None:
        nonlocal seed
        text = continuation(box.value, temperature=dial.value, n_tokens=300, seed=seed)
        seed += 1
        shown.value = f"<pre><b>{escape(box.value)}</b>{escape(text)}</pre>"

    button.on_click(refresh)
    refresh()
    return ipywidgets.VBox([box, dial, button, shown])
