r"""A time-delay neural network: the same small window, moved along the time axis.

Waibel, Hanazawa, Hinton, Shikano and Lang (1989) told /b/, /d/ and /g/ apart with it.
A layer sees each step with some of the steps before it (and, if centred, after it);
the same weights serve everywhere, so what is learnt at one place is known at all. In
the end what was found is pooled over time. They used sigmoids and a sum over time; we
use rectifiers, and the mean or the maximum.

Axes: B batch, T time, E input width, D width of a layer, O classes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.pooling import max_state, mean_state
from unrolled.shapes import (
    at_least,
    check_choice,
    check_dtype,
    check_lengths,
    check_shape,
)

POOLS = {"mean": mean_state, "max": max_state}


class TimeDelay(nn.Module):
    r"""A layer that sees ``n_delays`` steps, ``dilation`` apart, and knows no place.

    .. math:: \mathbf{h}_t = \sum_{k=0}^{n-1} \mathbf{x}_{t-kd} \mathbf{W}_k
        + \mathbf{b}

    That is the causal layer. A centred one sees as far ahead as it sees back,
    :math:`\mathbf{x}_{t+(m-k)d}` with :math:`m = (n - 1)/2`, so that n must be odd.
    What lies outside the sequence is zero. ``W`` has one matrix (E, D) for each delay.
    """

    def __init__(
        self, d_in: int, d_out: int, n_delays: int, *, dilation: int, causal: bool
    ) -> None:
        super().__init__()
        self.d_in, self.dilation = d_in, dilation
        reach = (n_delays - 1) * dilation
        self.ahead = 0 if causal else reach // 2
        self.back = reach - self.ahead
        bound = (d_in * n_delays) ** -0.5
        self.W = nn.Parameter(
            torch.empty(n_delays, d_in, d_out).uniform_(-bound, bound)
        )
        self.b = nn.Parameter(torch.empty(d_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Return what is found at each step: (B, T, E) to (B, T, D)."""
        check_shape("x", x, "B T E", E=self.d_in)
        check_dtype("x", x, self.W)
        n_steps, reach = x.shape[1], self.back + self.ahead
        x = F.pad(x, (0, 0, self.back, self.ahead))  # zeros before and after
        starts = range(reach, -1, -self.dilation)  # from the least delay to the most
        # Side by side, all delays take one product.
        seen = torch.cat([x[:, start : start + n_steps] for start in starts], dim=-1)
        return seen @ self.W.flatten(end_dim=1) + self.b


@dataclass(frozen=True, kw_only=True, slots=True)
class TDNNConfig:
    """The layers of a :class:`TDNN`: how wide, how many delays, how far apart each.

    ``pooling`` is "mean" or "max". Lists, as JSON has them, become tuples.
    """

    d_in: int
    n_classes: int
    widths: tuple[int, ...] = (8, 8)
    n_delays: tuple[int, ...] = (3, 5)
    dilations: tuple[int, ...] = (1, 1)
    causal: bool = False
    pooling: str = "mean"

    def __post_init__(self) -> None:
        at_least(1, d_in=self.d_in)
        at_least(2, n_classes=self.n_classes)
        for name in ("widths", "n_delays", "dilations"):
            sizes = tuple(getattr(self, name))
            object.__setattr__(self, name, sizes)
            if not sizes or min(sizes) < 1 or len(sizes) != len(self.widths):
                raise ValueError(
                    f"{name}={sizes} must be sizes of at least 1, one for each of the "
                    f"layers of widths={self.widths}"
                )
        if not self.causal and not all(n % 2 for n in self.n_delays):
            raise ValueError(
                f"n_delays={self.n_delays} must be odd in layers that are centred"
            )
        check_choice("pooling", self.pooling, POOLS)


class TDNN(nn.Module):
    """Time-delay layers, a pool over time, and a score for each class."""

    def __init__(self, config: TDNNConfig) -> None:
        super().__init__()
        self.config = config
        d_ins = (config.d_in, *config.widths[:-1])
        sizes = zip(
            d_ins, config.widths, config.n_delays, config.dilations, strict=True
        )
        self.layers = nn.ModuleList(
            TimeDelay(d_in, d_out, n, dilation=dilation, causal=config.causal)
            for d_in, d_out, n, dilation in sizes
        )
        self.read = nn.Linear(config.widths[-1], config.n_classes)

    def forward(self, x: Tensor, *, lengths: Tensor | None = None) -> Tensor:
        """Return logits (B, O) for ``x`` (B, T, E), of ``lengths`` (B,) if given."""
        found = self.features(x, lengths=lengths)  # (B, T, D)
        return self.read(POOLS[self.config.pooling](found, _mask(x, lengths)))

    def features(self, x: Tensor, *, lengths: Tensor | None = None) -> Tensor:
        """Return what the top layer finds at each step, (B, T, D), before pooling.

        What lies beyond a row's length is zero at every layer, as what lies outside
        the sequence is.
        """
        check_shape("x", x, "B T E", E=self.config.d_in)
        mask = _mask(x, lengths)
        x = _silence(x, mask)
        for layer in self.layers:
            x = _silence(torch.relu(layer(x)), mask)
        return x


def receptive_field(n_delays: Iterable[int], dilations: Iterable[int]) -> int:
    r"""Return how many steps of the input one step of the top layer depends on.

    .. math:: 1 + \sum_{\ell} (n_\ell - 1) \, d_\ell
    """
    pairs = zip(n_delays, dilations, strict=True)
    return 1 + sum((n - 1) * dilation for n, dilation in pairs)


def _mask(x: Tensor, lengths: Tensor | None) -> Tensor | None:
    """Return which steps of ``x`` (B, T, E) are real, (B, T): None means all."""
    if lengths is None:
        return None
    n_rows, n_steps, _ = x.shape
    check_lengths(lengths, n_rows, n_steps)
    return torch.arange(n_steps, device=x.device) < lengths.to(x.device)[:, None]


def _silence(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return ``x`` (B, T, D) with zeros where nothing is real."""
    return x if mask is None else x.masked_fill(~mask[..., None], 0.0)
