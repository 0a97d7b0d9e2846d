"""Perplexity dial, with ipywidgets: what a model's probabilities come to.

The numbers are those of :mod:`unrolled.evaluation.perplexity`, for the words of one
short sentence; the dial in the page has the same.
"""

from dataclasses import dataclass

import ipywidgets
import torch

from unrolled.evaluation.perplexity import bits, bits_per_token, perplexity

WORDS = ("the", "students", "opened", "their", "books", ".")
PRESETS: dict[str, tuple[float, ...]] = {  # as in the script; a test keeps them in step
    "Unsure here, sure there": (0.25, 0.02, 0.05, 0.4, 0.125, 0.5),
    "Uniform: ten words, all alike": (0.1,) * 6,
    "Always right": (1.0,) * 6,
    "One word held impossible": (0.25, 0.02, 0.05, 0.4, 0.0, 0.5),
    "A coin at every word": (0.5,) * 6,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Dial:
    """What the dial shows of a row of probabilities."""

    bits: float
    bits_per_word: float
    perplexity: float
    inverse: float  # what the slide's sentence would give


def dial_numbers(p: list[float]) -> Dial:
    """Return total and mean bits, the perplexity, and its inverse."""
    log_p = torch.tensor(p, dtype=torch.float64).log()
    value = perplexity(log_p)
    return Dial(
        bits=bits(log_p),
        bits_per_word=bits_per_token(log_p),
        perplexity=value,
        inverse=1 / value,
    )


def live() -> ipywidgets.VBox:
    """Return a slider for each word and, below them, what they come to."""
    choice = ipywidgets.Dropdown(options=list(PRESETS), description="Example")
    sliders = [
        ipywidgets.FloatSlider(min=0, max=1, step=0.005, description=word)
        for word in WORDS
    ]
    shown = ipywidgets.HTML()

    def use_preset(change: object = None) -> None:
        for slider, value in zip(sliders, PRESETS[choice.value], strict=True):
            slider.value = value

    def refresh(change: object = None) -> None:
        run = dial_numbers([slider.value for slider in sliders])
        shown.value = (
            f"<p>{run.bits:.2f} bits in all, {run.bits_per_word:.2f} a word.<br>"
            f"Perplexity <b>{run.perplexity:.2f}</b>; its inverse is "
            f"{run.inverse:.4f}.</p>"
        )

    use_preset()
    choice.observe(use_preset, names="value")
    for slider in sliders:
        slider.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([choice, *sliders, shown])
