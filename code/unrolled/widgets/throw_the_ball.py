"""Throw the ball, with ipywidgets: where it goes, and guesses at where it goes next.

The flight is that of :func:`unrolled.data.made.ball.fly`; the guesses are those of
:func:`unrolled.evaluation.extrapolation.extrapolate`.
"""

from dataclasses import dataclass

import ipywidgets
import torch
from torch import Tensor

from unrolled.data.made.ball import fly
from unrolled.evaluation.extrapolation import extrapolate

INTERVAL, COUNT = 0.1, 25  # as in throw-the-ball.js
Throw = dict[str, float]
PRESETS: dict[str, Throw] = {  # as in the script; a test keeps them in step
    "Straight on": {
        "frames": 2, "noise": 0, "gravity": 0, "keeps": 1,
        "x": 0.02, "y": 0.1, "right": 0.4, "up": 0.35,
    },
    "Straight on, seen badly": {
        "frames": 2, "noise": 0.03, "gravity": 0, "keeps": 1,
        "x": 0.02, "y": 0.1, "right": 0.4, "up": 0.35,
    },
    "Off the walls": {
        "frames": 4, "noise": 0.03, "gravity": 0, "keeps": 1,
        "x": 0.2, "y": 0.3, "right": 0.9, "up": 0.6,
    },
    "Up and down again, with gravity": {
        "frames": 3, "noise": 0, "gravity": 1, "keeps": 1,
        "x": 0.05, "y": 0.1, "right": 0.4, "up": 1.2,
    },
    "Hops, each lower than the last": {
        "frames": 3, "noise": 0.005, "gravity": 3, "keeps": 0.75,
        "x": 0.05, "y": 0.8, "right": 0.35, "up": 0,
    },
}  # fmt: skip
REACH = {  # lowest, highest and step
    "frames": (1, 8, 1),
    "noise": (0, 0.1, 0.005),
    "gravity": (0, 4, 0.1),
    "keeps": (0.3, 1, 0.05),
    "x": (0, 1, 0.01),
    "y": (0, 1, 0.01),
    "right": (-1.5, 1.5, 0.05),
    "up": (-1.5, 1.5, 0.05),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Guesses:
    """Where the ball was and was seen, (T, 2), and how far off each guess was, (T,).

    An error is ``nan`` where there were too few frames to guess from.
    """

    positions: Tensor
    seen: Tensor
    line: Tensor
    curve: Tensor


def throw_numbers(throw: Throw, blur: Tensor) -> Guesses:
    """Throw the ball and guess at each frame; ``blur`` (T, 2) is noise of size 1."""
    start = torch.tensor([[throw["x"], throw["y"]]], dtype=torch.float64)
    velocity = torch.tensor([[throw["right"], throw["up"]]], dtype=torch.float64)
    times = INTERVAL * torch.arange(len(blur), dtype=torch.float64)
    flight = fly(
        start, velocity, times, gravity=throw["gravity"], bounciness=throw["keeps"]
    )
    positions = flight.positions[0]
    seen, n = positions + throw["noise"] * blur, int(throw["frames"])
    errors = []
    for degree, least in ((min(1, n - 1), 1), (2, 3)):
        off = torch.full((len(blur),), torch.nan, dtype=torch.float64)
        for i in range(n, len(blur)) if n >= least else ():
            guess = extrapolate(seen[None, i - n : i], degree=degree)[0]
            off[i] = (guess - positions[i]).norm()
        errors.append(off)
    return Guesses(positions=positions, seen=seen, line=errors[0], curve=errors[1])


def live() -> ipywidgets.VBox:
    """Return the controls and, below them, the flight and the errors of the guesses."""
    wide = {"layout": {"width": "28rem"}}
    choice = ipywidgets.Dropdown(options=list(PRESETS), description="Example", **wide)
    sliders = {
        key: ipywidgets.FloatSlider(
            min=low, max=high, step=step, description=key, readout_format=".3g", **wide
        )
        for key, (low, high, step) in REACH.items()
    }
    blur = torch.randn(
        COUNT, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    shown = ipywidgets.HTML()

    def refresh(change: object = None) -> None:
        throw = {key: slider.value for key, slider in sliders.items()}
        shown.value = _page(throw_numbers(throw, blur))

    def use_preset(change: object = None) -> None:
        for key, value in PRESETS[choice.value].items():
            sliders[key].value = value

    choice.observe(use_preset, names="value")
    for slider in sliders.values():
        slider.observe(refresh, names="value")
    use_preset()
    refresh()
    return ipywidgets.VBox([choice, *sliders.values(), shown])


def _page(run: Guesses) -> str:
    """Return the path, and how far off the guesses are, as HTML."""
    path = " ".join(f"{x:.4f},{1 - y:.4f}" for x, y in run.positions.tolist())
    dots = "".join(
        f"<circle cx='{x:.4f}' cy='{1 - y:.4f}' r='.012' fill=currentColor />"
        for x, y in run.seen.tolist()
    )
    rows = "".join(
        f"<p>{name}: off by {float(off.nanmean() if off.isfinite().any() else 0):.3f} "
        f"on average, over {int(off.isfinite().sum())} guesses</p>"
        for name, off in (("straight line", run.line), ("parabola", run.curve))
    )
    return (
        "<svg viewBox='-.03 -.03 1.06 1.06' width=320 fill=none stroke=currentColor "
        "stroke-width='.004' aria-hidden=true><rect width=1 height=1 />"
        f"<polyline points='{path}' stroke-dasharray='.01 .01' />{dots}</svg>{rows}"
    )
