"""Unroll it, with ipywidgets: a recurrent network of one unit, step by step.

Axes: T time, E input width, D hidden width, O outputs.
"""

import ipywidgets
import torch

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll

Rows = list[list[float]]

GAIN = 3.0  # V of the one-unit network, as in unroll-it.js
ORDERS = {"set": 1.0, "nothing": 0.0, "reset": -1.0}
PRESETS = {  # name: W_x, W_h, b, as in unroll-it.js; a test keeps them in step
    "Latch: remembers the last set or reset": (4.0, 2.0, 0.0),
    "Fading echo: remembers, and slowly forgets": (1.0, 0.7, 0.0),
    "Wobble: the memory changes sign at every step": (4.0, -2.0, 0.0),
    "No memory: sees only the present input": (4.0, 0.0, 0.0),
}


def unroll_numbers(
    x: Rows, *, W_x: Rows, W_h: Rows, b: list[float], V: Rows, c: list[float]
) -> dict[str, Rows]:
    r"""Return every number of a run over ``x`` (T, E), in float64.

    ``a`` (T, D) before the squashing, the states ``h`` (T, D), the read-out
    :math:`\mathbf{o}_t = \mathbf{h}_t\mathbf{V} + \mathbf{c}` (T, O) and its sigmoid
    ``y`` (T, O).
    """
    tensors = [torch.tensor(v, dtype=torch.float64) for v in (x, W_x, W_h, b, V, c)]
    inputs, w_x, w_h, bias, read, offset = tensors
    cell = RNNCell(*w_x.shape).double()
    with torch.no_grad():
        for parameter, value in zip(cell.parameters(), (w_x, w_h, bias), strict=True):
            parameter.copy_(value)
        h = unroll(cell, inputs[None])[0][0]  # (T, D)
        before = torch.cat([torch.zeros_like(h[:1]), h[:-1]])
        a = cell.project(inputs) + before @ cell.W_h
        o = h @ read + offset  # (T, O)
    numbers = {"a": a, "h": h, "o": o, "y": torch.sigmoid(o)}
    return {key: value.tolist() for key, value in numbers.items()}


def live() -> ipywidgets.VBox:
    """Return the controls and, below them, the numbers that follow them."""
    wide = {"width": "28rem"}
    choice = ipywidgets.Dropdown(
        options=list(PRESETS), description="Network", layout=wide
    )
    start = PRESETS[choice.value]
    reach = {"W_x": 5.0, "W_h": 3.0, "b": 2.0}
    weights = [
        ipywidgets.FloatSlider(
            value=value, min=-far, max=far, step=0.05, description=key, layout=wide
        )
        for (key, far), value in zip(reach.items(), start, strict=True)
    ]
    first = ["set", "nothing", "nothing", "reset", "nothing", "set", "nothing"]
    orders = [
        ipywidgets.Dropdown(options=list(ORDERS), value=order, description=f"x_{t}")
        for t, order in enumerate([*first, "nothing"], start=1)
    ]
    step = ipywidgets.IntSlider(value=1, min=1, max=len(orders), description="step")
    shown = ipywidgets.HTML()

    def use_preset(change: dict[str, str]) -> None:
        for slider, value in zip(weights, PRESETS[change["new"]], strict=True):
            slider.value = value

    def refresh(change: object = None) -> None:
        values = [slider.value for slider in weights]
        x = [ORDERS[order.value] for order in orders]
        shown.value = _page(x, values, step.value)

    choice.observe(use_preset, names="value")
    for control in [*weights, *orders, step]:
        control.observe(refresh, names="value")
    refresh()
    grid = ipywidgets.GridBox(
        orders, layout={"grid_template_columns": "repeat(auto-fill, 20rem)"}
    )
    return ipywidgets.VBox([choice, *weights, grid, step, shown])


def _factor(value: float, digits: int = 2) -> str:
    """Return the number as it stands in a product or sum: in brackets if negative."""
    text = f"{value:z.{digits}f}"
    return f"({text})" if text.startswith("-") else text


def _page(x: list[float], weights: list[float], t: int) -> str:
    """Return the worked step ``t`` and the table of all steps, as HTML."""
    W_x, W_h, b = weights
    run = unroll_numbers(
        [[x_t] for x_t in x], W_x=[[W_x]], W_h=[[W_h]], b=[b], V=[[GAIN]], c=[0.0]
    )
    a, h, o, y = ([row[0] for row in run[key]] for key in "ahoy")
    before = h[t - 2] if t > 1 else 0.0
    worked = (
        f"a<sub>{t}</sub> = {_factor(x[t - 1], 0)}·{_factor(W_x)} + "
        f"{_factor(before, 3)}·{_factor(W_h)} + {_factor(b)} = {a[t - 1]:z.3f}<br>"
        f"h<sub>{t}</sub> = tanh({a[t - 1]:z.3f}) = {h[t - 1]:z.3f}"
    )
    heads = "".join(f"<th scope=col>{head}</th>" for head in "txahoy")
    rows = "".join(
        f"<tr><td>{s + 1}</td><td>{x[s]:.0f}</td>"
        + "".join(f"<td>{column[s]:.4f}</td>" for column in (a, h, o, y))
        + "</tr>"
        for s in range(len(x))
    )
    airy = "border-collapse: separate; border-spacing: 1em 0; text-align: right"
    return f"<p>{worked}</p><table style='{airy}'><tr>{heads}</tr>{rows}</table>"
