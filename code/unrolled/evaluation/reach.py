"""Which inputs a stack of convolutions along time depends on: nudge each, and look."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unrolled.models.tdnn import TimeDelay, receptive_field


def stack(
    n_delays: Sequence[int], dilations: Sequence[int], *, causal: bool, width: int = 4
) -> nn.Sequential:
    """Return time-delay layers with tanh between them, untrained, in float64."""
    layers: list[nn.Module] = []
    for n, dilation in zip(n_delays, dilations, strict=True):
        layers += [
            TimeDelay(width, width, n, dilation=dilation, causal=causal),
            nn.Tanh(),
        ]
    return nn.Sequential(*layers).double()


def moves(model: nn.Module, x: Tensor, t: int) -> Tensor:
    """Return how far the output at ``t`` moves if each input is nudged, (T,).

    ``x`` is (T, E) and the model takes (B, T, E) to (B, T, D). The T nudged copies are
    the rows of one batch.
    """
    n_steps = len(x)
    copies = x.repeat(n_steps, 1, 1)  # (T, T, E)
    places = torch.arange(n_steps)
    copies[places, places] += 1.0
    with torch.no_grad():
        still, moved = model(x[None])[:, t], model(copies)[:, t]
    return (moved - still).abs().amax(dim=-1)


def inputs_seen(
    n_delays: Sequence[int], dilations: Sequence[int], *, causal: bool
) -> list[int]:
    """Return the inputs that an output depends on, 0 its own place, -1 one before.

    The sequence is long enough that no end of it is felt.
    """
    field = receptive_field(n_delays, dilations)
    model = stack(n_delays, dilations, causal=causal)
    x = torch.randn(2 * field + 1, 4, dtype=torch.float64)
    moved = moves(model, x, field)
    return (moved.nonzero().flatten() - field).tolist()
