"""Gate board, with ipywidgets: hold a bit with the gates of one LSTM unit, by hand.

Axes: T time.
"""

import ipywidgets
import torch

Gates = dict[str, dict[str, float]]

SHARP = 2.0  # the candidate is tanh(2 x), as in gate-board.js
SURE = 0.25  # an h closer to zero than this is no answer
MOMENTS = {
    "bit": "the bit arrives",
    "distractor": "a distractor arrives",
    "question": "the question comes",
}
_SIGNS = (
    "+--+-++-+--++++-+--+-+++---+-+--++-+++-+----+-++--+-+-+++-"
    "--++-+-++--+-+--+++-++---+-++-+--+-++-----+"
)
DISTRACTORS = [1 if sign == "+" else -1 for sign in _SIGNS][:100]
HALF_OPEN: Gates = {m: {"f": 0.5, "i": 0.5, "o": 0.5} for m in MOMENTS}
LATCH: Gates = {
    "bit": {"f": 0.0, "i": 1.0, "o": 0.0},
    "distractor": {"f": 1.0, "i": 0.0, "o": 0.0},
    "question": {"f": 1.0, "i": 0.0, "o": 1.0},
}


def hold(bit: int, lag: int, gates: Gates) -> dict[str, list[float]]:
    r"""Return x, g, c and h, (T,) each, in float64, with gates set by hand.

    .. math::

        g_t = \tanh(2 x_t), \qquad c_t = f c_{t-1} + i g_t,
        \qquad h_t = o \tanh(c_t)

    The bit comes first, then ``lag`` distractors, then the question, a zero.
    """
    moments = ["bit", *["distractor"] * lag, "question"]
    x = torch.tensor([bit, *DISTRACTORS[:lag], 0], dtype=torch.float64)
    g = torch.tanh(SHARP * x)
    c, h, kept = [], [], torch.zeros((), dtype=torch.float64)
    for moment, g_t in zip(moments, g, strict=True):
        gate = gates[moment]
        kept = gate["f"] * kept + gate["i"] * g_t
        c.append(kept)
        h.append(gate["o"] * torch.tanh(kept))
    numbers = {"x": x, "g": g, "c": torch.stack(c), "h": torch.stack(h)}
    return {name: values.tolist() for name, values in numbers.items()}


def verdict(h: float, bit: int) -> str:
    """Say whether ``h`` answers with the bit: "right", "wrong" or "unsure"."""
    if abs(h) < SURE:
        return "unsure"
    return "right" if h * bit > 0 else "wrong"


def live() -> ipywidgets.VBox:
    """Return the bit, the lag, nine gates and, below them, what comes out."""
    wide = {"width": "28rem"}
    bit = ipywidgets.Dropdown(options=[1, -1], description="bit")
    lag = ipywidgets.IntSlider(value=10, min=1, max=100, description="lag", layout=wide)
    gates = {
        (moment, gate): ipywidgets.FloatSlider(
            value=0.5,
            min=0.0,
            max=1.0,
            step=0.001,
            readout_format=".3f",
            description=f"{moment} {gate}",
            layout=wide,
        )
        for moment in MOMENTS
        for gate in "fio"
    }
    shown = ipywidgets.HTML()

    def refresh(_: object = None) -> None:
        now = {m: {gate: gates[m, gate].value for gate in "fio"} for m in MOMENTS}
        run = hold(bit.value, lag.value, now)
        left = now["distractor"]["f"] ** lag.value
        shown.value = (
            f"<p>The answer is {verdict(run['h'][-1], bit.value)}: "
            f"h = {run['h'][-1]:z.4f}, c = {run['c'][-1]:z.4f}. Of what was written "
            f"f<sup>lag</sup> = {left:.3g} is left after the distractors.</p>"
        )

    for control in (bit, lag, *gates.values()):
        control.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([bit, lag, *gates.values(), shown])
