"""Gradient horizon, with ipywidgets: how large a gradient is at each lag, and why.

The numbers are those of :func:`unrolled.evaluation.gradients.horizon` for two units
and the same push into both at every step; lists are by lag, from 0 to T.
"""

from dataclasses import dataclass
from math import log10

import ipywidgets
import torch

from unrolled.evaluation.gradients import ACTIVATIONS, horizon
from unrolled.layers.initialise import two_by_two

RHO = "\N{GREEK SMALL LETTER RHO}"
SMALL = 1e-3  # below this the gradient counts as gone, as in gradient-horizon.js
NEAR = 0.01  # and within this of 1 it holds
Setting = tuple[float, float, int, str, float]  # radius, stretch, T, activation, push
GAMMA = {"sigmoid": 0.25}  # the steepest slope of an activation, 1 for all others
PRESETS: dict[str, Setting] = {  # as in the script; a test keeps them in step
    f"Vanishes ({RHO} = σ₁ = 0.9)": (0.9, 0.9, 200, "linear", 0),
    f"Explodes ({RHO} = σ₁ = 1.1)": (1.1, 1.1, 200, "linear", 0),
    f"Holds, as an orthogonal matrix does ({RHO} = σ₁ = 1)": (1, 1, 200, "linear", 0),
    f"Grows, then vanishes ({RHO} = 0.9, σ₁ = 5.2)": (0.9, 5.2, 200, "linear", 0),
    "The one that explodes, with tanh and a push of 0.5": (1.1, 1.1, 200, "tanh", 0.5),
    "The one that holds, with a sigmoid (slope at most ¼)": (1, 1, 200, "sigmoid", 0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """What the lab shows of one setting."""

    norms: list[float]
    by_radius: list[float]
    by_stretch: list[float]  # the upper bound
    rate: float  # the factor per step in the long run

    @property
    def peak(self) -> int:
        """The lag at which the norm is largest."""
        return self.norms.index(max(self.norms))

    @property
    def valley(self) -> int:
        """The lag at which it is smallest."""
        return self.norms.index(min(self.norms))

    @property
    def below(self) -> int | None:
        """The lag from which on it stays under 1/1000, if it ends there."""
        last = max(k for k, norm in enumerate(self.norms) if norm >= SMALL)
        return last + 1 if last + 1 < len(self.norms) else None


def horizon_numbers(
    radius: float, stretch: float, T: int, activation: str, push: float
) -> Horizon:
    r"""Return the norms, and beside them :math:`\rho^k` and :math:`(\gamma\sigma_1)^k`.

    The latter is an upper bound, with :math:`\gamma` the steepest slope there is.
    """
    W_h = two_by_two(radius, stretch)
    norms = horizon(W_h, torch.full((T, 2), push, dtype=W_h.dtype), activation)
    phi, slope = ACTIVATIONS[activation]
    h, before = torch.zeros(2, dtype=W_h.dtype), None
    for _ in range(10_000):  # to where the state rests, if it does
        if before is not None and (h.equal(before) or h.max() > 1e6):
            break
        before, h = h, phi(push + h @ W_h)
    return Horizon(
        norms=norms.tolist(),
        by_radius=[radius**k for k in range(T + 1)],
        by_stretch=[(GAMMA.get(activation, 1) * stretch) ** k for k in range(T + 1)],
        rate=radius * slope(h).max().item(),
    )


def three(value: float) -> str:
    """Return a number that is not negative, with three digits."""
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    power = int(exponent)
    if -3 <= power <= 3:
        return f"{value:.{max(0, 2 - power)}f}"
    raised = str(power).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
    return f"{mantissa}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10{raised}"


def verdict(run: Horizon) -> str:
    """Return in a sentence what the gradient does, as the lab in the page says it."""
    norms, peak, valley = run.norms, run.peak, run.valley
    T = len(norms) - 1
    if run.rate == 0:
        return (
            "Nothing comes through: without a push ReLU stays at 0, and its slope "
            "there counts as 0."
        )
    if all(abs(norm - 1) <= NEAR for norm in norms):
        return "Holds: it stays at 1 at every lag."
    gone = f"below 1/1000 from lag {run.below} on."
    low, end = three(norms[valley]), three(norms[T])
    if norms[peak] <= 1 + NEAR:
        if run.below:
            return f"Vanishes: {gone}"
        if valley < T:
            return f"Shrinks to {low} at lag {valley}, and is {end} at lag {T}."
        return f"Shrinks to {end} at lag {T}."
    grows = f"{three(norms[peak])}-fold by lag {peak}"
    if peak < T and run.below:
        return f"Grows {grows} before it vanishes: {gone}"
    if peak < T:
        return f"Grows {grows}, then shrinks to {end} at lag {T}."
    if run.rate > 1 + 1e-9:
        return f"Explodes: grows {grows}, and nothing stops it."
    if norms[valley] < 1 - NEAR:
        return (
            f"Shrinks to {low} at lag {valley}, then grows to {end} at lag {T}: at the "
            "first steps of the sequence the state has not come to rest."
        )
    if run.rate > 1 - 1e-9:
        return f"Grows {grows}: by the same amount a step, not by a factor."
    return f"Grows {grows}; in a longer sequence it would turn and vanish."


def live() -> ipywidgets.VBox:
    """Return the controls and, below them, the curve and the numbers that follow."""
    wide = {"layout": {"width": "28rem"}}
    choice = ipywidgets.Dropdown(options=list(PRESETS), description="Example", **wide)
    controls = radius, stretch, T, activation, push = (
        ipywidgets.FloatSlider(min=0.5, max=1.5, step=0.01, description=RHO, **wide),
        ipywidgets.FloatSlider(min=0.5, max=6, step=0.01, description="σ₁", **wide),
        ipywidgets.IntSlider(min=5, max=200, step=5, description="T", **wide),
        ipywidgets.Dropdown(options=list(ACTIVATIONS), description="activation"),
        ipywidgets.FloatSlider(min=0, max=2, step=0.05, description="u", **wide),
    )
    lag = ipywidgets.IntSlider(value=9, min=0, max=200, description="lag", **wide)
    shown = ipywidgets.HTML()

    def use_preset(change: object = None) -> None:
        for control, value in zip(controls, PRESETS[choice.value], strict=True):
            control.value = value

    def refresh(change: object = None) -> None:
        lag.max = T.value
        run = horizon_numbers(*(control.value for control in controls))
        shown.value = _page(run, lag.value)

    def couple(change: dict[str, object]) -> None:
        if stretch.value < radius.value:  # no matrix stretches less than that
            other = stretch if change["owner"] is radius else radius
            other.value = change["new"]
        refresh()

    use_preset()
    choice.observe(use_preset, names="value")
    for control in (radius, stretch):
        control.observe(couple, names="value")
    for control in (T, activation, push, lag):
        control.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([choice, *controls, lag, shown])


def _page(run: Horizon, lag: int) -> str:
    """Return the verdict, the curve and a table of a few lags, as HTML."""
    last = len(run.norms) - 1
    few = {0, 1, 2, 5, 10, 20, 50, 100, 200, lag, run.peak, last}
    columns = (run.norms, run.by_radius, run.by_stretch)
    rows = "".join(
        f"<tr><td>{k}</td>{''.join(f'<td>{three(c[k])}</td>' for c in columns)}</tr>"
        for k in sorted(few)
        if k <= last
    )
    names = ("lag k", "‖∂h<sub>T</sub>/∂h<sub>t</sub>‖", f"{RHO}ᵏ", "(γσ₁)ᵏ")
    heads = "".join(f"<th scope=col>{name}</th>" for name in names)
    airy = "border-collapse: separate; border-spacing: 1em 0; text-align: right"
    return (
        f"<p><b>{verdict(run)}</b></p>{_curves(columns)}"
        f"<p>Solid: the gradient; dashed: {RHO}ᵏ; dotted: (γσ₁)ᵏ, the "
        "upper bound; from 10⁻¹² to 10¹².</p>"
        f"<table style='{airy}'><tr>{heads}</tr>{rows}</table>"
    )


def _curves(columns: tuple[list[float], ...]) -> str:
    """Draw each column over the lag, on a logarithmic axis that ends at 10^±12."""
    lines = ""
    for column, dash in zip(columns, ("none", "9 7", "3 5"), strict=True):
        logs = [max(-12, min(12, log10(max(v, 1e-99)))) for v in column]
        wide = 400 / (len(logs) - 1)
        at = " ".join(f"{wide * k:.1f},{96 - 8 * v:.1f}" for k, v in enumerate(logs))
        lines += f"<polyline points='{at}' stroke-dasharray='{dash}'/>"
    return (
        "<svg viewBox='0 0 400 192' width=400 fill=none stroke=currentColor "
        f"stroke-width=2 aria-hidden=true><path d='M0 96 H400' stroke-width='.5'/>"
        f"{lines}</svg>"
    )
