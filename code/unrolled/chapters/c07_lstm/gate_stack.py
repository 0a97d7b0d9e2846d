"""An LSTM with one part taken out or changed, and several of them side by side.

Axes: M networks, B rows, T steps, E symbols read, D hidden width, O answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.lstm import LSTMCell, PeepholeLSTMCell, chrono_
from unrolled.runtime import generator, seed_all

PLAIN = "LSTM"
#: The parts that are changed; the first is the LSTM as it is, with forget bias 1.
VARIANTS = (
    PLAIN,
    "no input gate",
    "no forget gate",
    "no tanh on the candidate",
    "no tanh on the output",
    "no output gate",
    "coupled gates",
    "peepholes",
    "forget bias 0",
    "chrono",
)
#: Variants that use three of the four layers.
THREE_LAYERS = ("no input gate", "no forget gate", "no output gate", "coupled gates")


def step(
    a: Tensor, c: Tensor, variant: str, p: Mapping[str, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Take all four layers ``a`` (..., 4 D) and the memory to the next h and c."""
    i, f, g, o = a.chunk(4, dim=-1)
    if p:
        i, f = i + p["p_i"] * c, f + p["p_f"] * c
    i, f = i.sigmoid(), f.sigmoid()
    if variant == "no input gate":
        i = torch.ones_like(i)
    if variant == "no forget gate":
        f = torch.ones_like(f)
    if variant == "coupled gates":
        i = 1 - f
    c = f * c + i * (g if variant == "no tanh on the candidate" else g.tanh())
    shown = c if variant == "no tanh on the output" else c.tanh()
    if variant == "no output gate":
        return shown, c
    return (o + p["p_o"] * c if p else o).sigmoid() * shown, c


def start(
    variant: str, seed: int, *, n_in: int, d_hidden: int, n_out: int, longest: int
) -> tuple[LSTMCell, nn.Linear]:
    """Return the cell and the read-out with which one seed of ``variant`` starts.

    Of one seed all variants have the same weights, but for the biases that ``chrono``
    and ``forget bias 0`` set and the peepholes.
    """
    seed_all(seed)
    read = nn.Linear(d_hidden, n_out)
    if variant == "peepholes":
        return PeepholeLSTMCell(n_in, d_hidden), read
    bias = 0.0 if variant == "forget bias 0" else 1.0
    cell = LSTMCell(n_in, d_hidden, forget_bias=bias)
    if variant == "chrono":
        chrono_(cell, longest, generator=generator(seed))
    return cell, read


@dataclass(frozen=True, slots=True)
class Stack:
    """M networks of one variant: weights by name, each with a leading axis M."""

    variant: str
    weights: dict[str, Tensor]

    @classmethod
    def of(
        cls, variant: str, networks: Sequence[tuple[LSTMCell, nn.Linear]]
    ) -> "Stack":
        """Stack the weights of cells and their read-outs, ready to be trained."""
        parts = [
            dict(cell.named_parameters()) | {"V": read.weight.T, "v": read.bias}
            for cell, read in networks
        ]
        weights = {
            name: torch.stack([part[name].detach() for part in parts]).requires_grad_()
            for name in parts[0]
        }
        return cls(variant, weights)

    def states(self, ids: Tensor) -> Iterator[Tensor]:
        """Yield h (M, B, D) after each of the symbols ``ids`` (M, B, T)."""
        w = self.weights
        M, n_rows, _ = ids.shape
        p = {name: w[name][:, None] for name in w if name.startswith("p_")}
        # one table for all networks, a row a symbol: what it adds to all four layers
        table = (w["W_x"] + w["b"][:, None]).flatten(0, 1)  # (M E, 4 D)
        rows = ids + len(w["W_x"][0]) * torch.arange(M)[:, None, None]
        h = c = table.new_zeros(M, n_rows, w["W_h"].shape[1])
        for projected in F.embedding(rows.movedim(2, 0), table).unbind():
            a = torch.baddbmm(projected, h, w["W_h"])
            h, c = step(a, c, self.variant, p)
            yield h

    def read(self, h: Tensor) -> Tensor:
        """Return logits (M, N, O) of states (M, N, D)."""
        return torch.baddbmm(self.weights["v"][:, None], h, self.weights["V"])

    def last(self, ids: Tensor) -> Tensor:
        """Return logits (M, B, O) after the last symbol."""
        *_, h = self.states(ids)
        return self.read(h)

    def everywhere(self, ids: Tensor) -> Tensor:
        """Return logits (M, B, T, O) after every symbol."""
        M, n_rows, n_steps = ids.shape
        h = torch.stack(list(self.states(ids)), dim=2)  # (M, B, T, D)
        return self.read(h.flatten(1, 2)).view(M, n_rows, n_steps, -1)
