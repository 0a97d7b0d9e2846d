"""Roll down the loss, with ipywidgets: the path of an optimizer on a surface.

The paths are those of torch's own optimizers, by
:func:`unrolled.training.surfaces.roll`; ``rate`` is the logarithm of the learning rate,
to base ten.
"""

from dataclasses import dataclass

import ipywidgets
import torch
from torch import Tensor

from unrolled.training.surfaces import FAR, SURFACES, Surface, roll

STEPS = 100  # as in roll-down-the-loss.js
NEAR = 1e-3  # this close to the lowest loss counts as there
FLAT = 1e-2  # and a gradient shorter than this as rest
AWAY = 1e3  # a weight beyond this has flown off
METHOD_NAMES = {
    "descent": "gradient descent",
    "momentum": "with momentum",
    "adam": "Adam",
}
Setting = dict[str, float | str]
PRESETS: dict[str, Setting] = {  # as in the script; a test keeps them in step
    text: {"surface": surface, "method": method, "rate": rate, "beta": beta,
           "w1": w1, "w2": w2}
    for text, surface, method, rate, beta, w1, w2 in (
        ("Too careful", "valley", "descent", -2, 0.9, -2.5, 1.5),
        ("As bold as the valley allows", "valley", "descent", -1.1, 0.9, -2.5, 1.5),
        ("A little too bold", "valley", "descent", -1.05, 0.9, -2.5, 1.5),
        ("The careful one, with momentum", "valley", "momentum", -2, 0.8, -2.5, 1.5),
        ("Adam in the valley", "valley", "adam", -0.5, 0.8, -2.5, 1.5),
        ("On the ridge of a saddle", "saddle", "descent", -1, 0.9, -1.5, 0),
        ("Into the wrong hollow", "hollows", "descent", -1.3, 0.8, 1.6, 1),
        ("Through the wrong hollow, with momentum",
         "hollows", "momentum", -1.3, 0.8, 1.6, 1),
        ("Round the bend", "bend", "adam", -0.8, 0.9, -1.5, 2),
    )
}  # fmt: skip
REACH = {"rate": (-3, 0.5, 0.05), "beta": (0, 0.99, 0.01)}  # lowest, highest, step


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A path (N + 1, 2), its losses (N + 1,), and how steep it is where it ends."""

    surface: Surface
    points: Tensor
    losses: Tensor
    slope: float

    @property
    def gaps(self) -> Tensor:
        """How far above the lowest loss each point lies, (N + 1,)."""
        return self.losses - self.surface.lowest

    @property
    def flown(self) -> int | None:
        """The first step after which a weight is far off, if there is one."""
        out = ~(self.points.abs() <= AWAY).all(dim=1)
        return int(out.nonzero()[0]) if bool(out.any()) else None

    @property
    def ended(self) -> int | None:
        """The step with which the path ends for being too far off, if it does."""
        there = bool((self.points[-1].abs() <= FAR).all())
        return None if there else len(self.points) - 1

    @property
    def arrived(self) -> int | None:
        """The step from which on the loss stays near the lowest, if it does."""
        off = (self.gaps > NEAR).nonzero().flatten()
        first = int(off[-1]) + 1 if len(off) else 0
        return first if first < len(self.points) else None


def roll_numbers(setting: Setting) -> Path:
    """Return the path of a setting, by torch's optimizer."""
    surface = SURFACES[str(setting["surface"])]
    points, losses = roll(
        surface,
        (float(setting["w1"]), float(setting["w2"])),
        str(setting["method"]),
        lr=10.0 ** float(setting["rate"]),
        beta=float(setting["beta"]),
        steps=STEPS,
    )
    end = points[-1].clone().requires_grad_()
    (slope,) = torch.autograd.grad(surface.loss(end), end)
    return Path(
        surface=surface, points=points, losses=losses, slope=slope.norm().item()
    )


def verdict(run: Path) -> str:
    """Return in a sentence where the path leads, as the lab in the page says it."""
    if run.flown is not None:
        said = f"Flies off: after {run.flown} steps a weight is beyond 1,000"
        if run.ended is None:
            return f"{said}."
        return f"{said}, after {run.ended} beyond a million, where the path ends."
    if run.arrived == 0:
        return "Starts at the lowest point, and stays there."
    if run.arrived is not None:
        return f"Arrives: within 0.001 of the lowest loss from step {run.arrived} on."
    gap = f"{run.gaps[-1].item():.3f}"
    if run.slope < FLAT:
        return f"Rests {gap} above the lowest loss, where the ground is flat."
    return f"Under way: after {STEPS} steps it is {gap} above the lowest loss."


def live() -> ipywidgets.VBox:
    """Return the controls and, below them, the path and the losses that follow."""
    wide = {"layout": {"width": "28rem"}}
    choice = ipywidgets.Dropdown(options=list(PRESETS), description="Example", **wide)
    controls = {
        "surface": ipywidgets.Dropdown(
            options=[(s.name, key) for key, s in SURFACES.items()],
            description="surface", **wide,
        ),
        "method": ipywidgets.Dropdown(
            options=[(name, key) for key, name in METHOD_NAMES.items()],
            description="method", **wide,
        ),
    } | {
        key: ipywidgets.FloatSlider(
            min=low, max=high, step=step, description=key, **wide
        )
        for key, (low, high, step) in (
            REACH | {"w1": (-3, 3, 0.05), "w2": (-3, 3, 0.05)}
        ).items()
    }  # fmt: skip
    shown = ipywidgets.HTML()

    def refresh(change: object = None) -> None:
        setting = {key: control.value for key, control in controls.items()}
        shown.value = _page(roll_numbers(setting))

    def use_preset(change: object = None) -> None:
        for key, value in PRESETS[choice.value].items():
            controls[key].value = value

    use_preset()
    choice.observe(use_preset, names="value")
    for control in controls.values():
        control.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([choice, *controls.values(), shown])


def _page(run: Path) -> str:
    """Return the verdict, the path and a few of its losses, as HTML."""
    (left, low), side = run.surface.corner, run.surface.side
    inside = run.points[run.points.abs().amax(dim=1) <= AWAY].tolist()
    line = " ".join(f"{w1:.4f},{2 * low + side - w2:.4f}" for w1, w2 in inside)
    few = [k for k in (0, 1, 2, 5, 10, 20, 50, 100) if k < len(run.losses)]
    rows = "".join(
        f"<tr><td>{k}</td><td>{run.losses[k].item():.4g}</td></tr>" for k in few
    )
    return (
        f"<p><b>{verdict(run)}</b></p>"
        f"<svg viewBox='{left} {low} {side} {side}' width=320 fill=none "
        f"stroke=currentColor stroke-width='{side / 200}' aria-hidden=true>"
        f"<rect x='{left}' y='{low}' width='{side}' height='{side}'/>"
        f"<polyline points='{line}'/></svg>"
        f"<table><tr><th scope=col>step</th><th scope=col>loss</th></tr>{rows}</table>"
    )
