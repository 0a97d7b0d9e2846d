r"""Positions: tell attention, to which a sentence is a bag of words, what came when.

Axes: B batch, T position, H heads, K head width, D model width. Positions are whole
numbers from 0, of shape (T,) for all rows alike or (B, T) for each row its own. After
a cache of S positions come ``torch.arange(S, S + T)``; :func:`count_positions` counts
in rows with padding.

Tables are computed in float64 and kept in ``dtype``: converting a module to float64
later does not bring back what was rounded off.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.shapes import at_least


def count_positions(real: Tensor) -> Tensor:
    """Count the real tokens of each row from 0: mask (B, T) to positions (B, T).

    Padding counts for nothing. On the left its position is 0; on the right it is that
    of the last real token.
    """
    return (real.long().cumsum(dim=-1) - 1).clamp(min=0)


def clock_angles(n_positions: int, d_model: int, base: float) -> Tensor:
    r"""Return the angle of each hand of a clock at each position, (T, ⌈D/2⌉).

    .. math:: \phi_{ti} = t \, \omega_i, \qquad \omega_i = \mathrm{base}^{-2i/D}

    The first hand turns by one radian a step, and each is slower than the one before.
    """
    at_least(1, n_positions=n_positions, d_model=d_model)
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    steps = torch.arange(n_positions, dtype=torch.float64)
    return steps[:, None] * base**-exponents


def sinusoids(n_positions: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    r"""Return the table of :math:`\mathbf{p}_t`, float64 (T, D).

    .. math::

        p_{t, 2i} = \sin(t \, \omega_i), \quad p_{t, 2i+1} = \cos(t \, \omega_i),
        \qquad \omega_i = \mathrm{base}^{-2i/D}

    Each pair is the tip of a clock's hand, so that a step of k turns all of them by
    an angle of their own: :math:`\mathbf{p}_{t+k} = \mathbf{p}_t \mathbf{R}_k`. An odd
    width leaves out the last cosine.
    """
    angles = clock_angles(n_positions, d_model, base)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (T, ⌈D/2⌉, 2)
    return pairs.flatten(start_dim=1)[:, :d_model]  # (T, D)


class SinusoidalPositions(nn.Module):
    """The clocks of :func:`sinusoids` as a module; nothing in it is learned."""

    table: Tensor

    def __init__(
        self, n_positions: int, d_model: int, *, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        table = sinusoids(n_positions, d_model)
        table = table.to(dtype or torch.get_default_dtype())
        self.register_buffer("table", table, persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """Look up ``positions`` (..., T): their encodings are (..., T, D)."""
        return F.embedding(positions, self.table)


class LearnedPositions(nn.Module):
    """One row of numbers for each position, found by training; small at the start."""

    def __init__(self, n_positions: int, d_model: int) -> None:
        super().__init__()
        at_least(1, n_positions=n_positions, d_model=d_model)
        self.n_positions = n_positions
        self.table = nn.Parameter(0.02 * torch.randn(n_positions, d_model))

    def forward(self, positions: Tensor) -> Tensor:
        """Look up ``positions`` (..., T): their encodings are (..., T, D)."""
        return F.embedding(positions, self.table)

    def at(self, place: int | Tensor) -> Tensor:
        """Look up one position, (D,), or one of each row, ``place`` (B,): (B, D)."""
        return self.table[place]


@dataclass(frozen=True, slots=True)
class Rotation:
    r"""Turn queries or keys by the angles of their positions, pair by pair.

    .. math::

        (a, b) \mapsto (a \cos\phi - b \sin\phi, \; b \cos\phi + a \sin\phi)

    The pair of i in the first half of the K numbers is i + K/2, in the second. So the
    numbers are multiplied by ``cos`` and their partners, half a turn of the row away,
    by ``sin``, which is negative in the first half.
    """

    cos: Tensor
    sin: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Turn ``x`` (B, T, H, K); its lengths stay as they are."""
        partners = x.roll(x.shape[-1] // 2, dims=-1)
        return torch.addcmul(x * self.cos, partners, self.sin)


class RotaryPositions(nn.Module):
    r"""Rotary positions: turned by where they are, queries and keys meet by distance.

    With :math:`\mathbf{R}_t` the rotation of position t,

    .. math:: (\mathbf{q} \mathbf{R}_t) \cdot (\mathbf{k} \mathbf{R}_s)
        = (\mathbf{q} \mathbf{R}_{t-s}) \cdot \mathbf{k}

    Which numbers make a pair is a convention. Ours pairs i with i + K/2 ("rotate
    half", as in Hugging Face's Llama). The paper and llama.cpp's files pair 2i with
    2i + 1; :func:`halves_from_pairs` converts their weights.
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        n_positions: int,
        d_head: int,
        *,
        base: float = 10_000.0,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        at_least(1, n_positions=n_positions, d_head=d_head)
        if d_head % 2:
            raise ValueError(f"{d_head=} must be even: rotations turn pairs of numbers")
        self.n_positions = n_positions
        angles = clock_angles(n_positions, d_head, base)  # (T, K / 2)
        cos, sin = angles.cos(), angles.sin()
        dtype = dtype or torch.get_default_dtype()
        for name, halves in (("cos", [cos, cos]), ("sin", [-sin, sin])):
            table = torch.cat(halves, dim=-1).to(dtype)  # (T, K)
            self.register_buffer(name, table, persistent=False)

    def forward(self, positions: Tensor) -> Rotation:
        """Return the rotation of ``positions`` (T,) or (B, T), for every layer."""
        cos, sin = F.embedding(positions, self.cos), F.embedding(positions, self.sin)
        return Rotation(cos.unsqueeze(-2), sin.unsqueeze(-2))  # all heads alike

    def at(self, place: int | Tensor) -> Rotation:
        """Return the rotation of one position, or of one of each row, ``place`` (B,).

        It turns heads (B, H, 1, K) of that one position.
        """
        cos, sin = self.cos[place], self.sin[place]  # (K,) or (B, K)
        return Rotation(cos[..., None, None, :], sin[..., None, None, :])


def halves_from_pairs(W: Tensor, n_heads: int) -> Tensor:
    """Reorder the outputs of a query or key projection made for pairs (2i, 2i + 1).

    ``W`` is its weight (H · K, D) or its bias (H · K,). The numbers of each head come
    back with the firsts of all pairs before the seconds, so that ``Rotation`` finds
    them; scores do not change, since queries and keys are reordered alike.
    """
    heads = W.unflatten(0, (n_heads, -1, 2))  # (H, K / 2, 2, D)
    return heads.transpose(1, 2).flatten(0, 2)
