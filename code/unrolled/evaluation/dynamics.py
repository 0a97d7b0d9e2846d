"""Where a recurrent network comes to rest when nothing more is said to it."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.shapes import check_dtype, check_shape


class Basins(NamedTuple):
    """The resting points of a map and which start leads to which."""

    points: Tensor  # (N, D), the attractors found, in the order of their coordinates
    owner: Tensor  # (G,) long, the attractor that each start ends in, -1 for none


def basins(
    step: Callable[[Tensor], Tensor],
    starts: Tensor,
    *,
    n_steps: int = 2000,
    tolerance: float = 1e-5,
    apart: float = 1e-2,
) -> Basins:
    """Run ``step`` from every row of ``starts`` (G, D) and gather where it rests.

    A start rests if after ``n_steps`` a step moves it by less than ``tolerance`` (a
    cycle does not), and as many steps again by less than a tenth of ``apart`` (a slow
    drift does not); else it belongs to no attractor. Points closer than ``apart`` count
    as one.
    """
    h = starts
    for _ in range(n_steps):
        h = step(h)
    later = step(h)
    still = (later - h).norm(dim=-1) < tolerance  # (G,), no cycle
    for _ in range(n_steps):
        later = step(later)
    resting = still & ((later - h).norm(dim=-1) < apart / 10)  # (G,), and no drift
    h = later
    points: list[Tensor] = []
    for candidate in h[resting]:
        if all((candidate - point).norm() > apart for point in points):
            points.append(candidate)
    points.sort(key=lambda point: [round(v, 2) for v in point.tolist()])
    if not points:
        none = torch.full_like(resting, -1, dtype=torch.long)
        return Basins(h.new_zeros(0, h.shape[-1]), none)
    found = torch.stack(points)
    owner = torch.cdist(h, found).argmin(dim=-1)
    return Basins(found, torch.where(resting, owner, -1))


def plane(n: int, *, limit: float = 1.0) -> Tensor:
    """Return an n × n grid over the square ±limit as rows (n·n, 2), y changing first.

    Reshaped to (n, n, 2) it is indexed [x, y].
    """
    axis = torch.linspace(-limit, limit, n)
    return torch.cartesian_prod(axis, axis)


class Portrait(NamedTuple):
    """The silent dynamics of a two-unit cell, and one journey through them."""

    starts: Tensor  # (G, 2), a square grid of states
    after: Tensor  # (G, 2), where one silent step takes each
    basins: Basins
    path: Tensor  # (T, 2), the states along one sequence of inputs


def portrait(cell: RNNCell, x: Tensor, *, n_grid: int = 101) -> Portrait:
    """Look at a cell of two units: where it rests, and where ``x`` (T, E) takes it."""
    if cell.d_hidden != 2:
        raise ValueError(f"a plane needs two units, and the cell has {cell.d_hidden}")
    check_shape("x", x, "T E", E=cell.d_in)
    check_dtype("x", x, cell.W_x)
    with torch.no_grad():
        silent = cell.project(x.new_zeros(1, cell.d_in))  # (1, D)
        starts = plane(n_grid).to(x)
        after = cell.step(silent, starts)
        rest = basins(lambda h: cell.step(silent, h), starts)
        path, _ = unroll(cell, x[None])
    return Portrait(starts, after, rest, path[0])
