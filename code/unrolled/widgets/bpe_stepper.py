"""The BPE stepper, with ipywidgets: learn merge after merge from a short text.

The numbers are those of :mod:`unrolled.data.tokens.bpe_training`.
"""

from dataclasses import dataclass
from html import escape

import ipywidgets

from unrolled.data.tokens.bpe import replay
from unrolled.data.tokens.bpe_training import learn_merges

EXAMPLES: dict[str, str] = {  # as in the script; a test keeps them in step
    "low, lower, lowest": "low low low low low lower lower newest newest newest newest "
    "newest newest widest widest widest",
    "A verse": "To every thing there is a season, and a time to every purpose under "
    "the heaven: a time to be born, and a time to die; a time to plant, and a time to "
    "pluck up that which is planted;",
    "Three scripts": "time, χρόνος, 時間; to every time a time, κάθε χρόνος, "
    "時間と時間",
    "Numbers": "1984 1985 1986 19.84 1,984 19 84",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The merges of a text with their counts, and its pieces after each of them."""

    merges: list[tuple[bytes, bytes, int]]
    pieces: list[list[list[bytes]]]  # from no merge on


def bpe_steps(text: str) -> Steps:
    """Return all merges that a text gives, and how it looks after each."""
    merges = list(learn_merges(text))
    pairs = [(left, right) for left, right, _ in merges]
    return Steps(merges=merges, pieces=list(replay(text, pairs)))


def spelt(token: bytes) -> str:
    """Return a token as it can be read: bytes that are no text in hexadecimal."""
    try:
        return token.decode().replace(" ", "␣").replace("\n", "↵")
    except UnicodeDecodeError:
        return token.hex(" ")


def live() -> ipywidgets.VBox:
    """Return a text, a slider over its merges, and the text in pieces."""
    box = ipywidgets.Textarea(value=EXAMPLES["low, lower, lowest"], description="Text")
    slider = ipywidgets.IntSlider(min=0, max=10, description="Merges")
    shown = ipywidgets.HTML()

    def refresh(change: object = None) -> None:
        run = bpe_steps(box.value)
        slider.max = len(run.merges)
        tokens = [token for piece in run.pieces[slider.value] for token in piece]
        said = "no merge yet"
        if slider.value:
            left, right, n = run.merges[slider.value - 1]
            said = f"{escape(spelt(left))} + {escape(spelt(right))}, {n} times"
        chips = " ".join(f"<code>{escape(spelt(token))}</code>" for token in tokens)
        shown.value = f"<p>{said}; {len(tokens)} tokens</p><p>{chips}</p>"

    box.observe(refresh, names="value")
    slider.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([box, slider, shown])
