r"""Losses of two weights, to look at, and the path that an optimizer takes on them.

A surface is the loss of weights :math:`\mathbf{w} = (w_1, w_2)` on the last axis, so
that ``loss`` of a grid (..., 2) is the height at each of its points, (...).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from unrolled.shapes import at_least, check_choice, check_shape

FAR = 1e6  # a weight beyond this will not come back: the path ends there


@dataclass(frozen=True, kw_only=True, slots=True)
class Surface:
    """A loss of two weights, its lowest value, and the square that it is drawn in."""

    name: str
    loss: Callable[[Tensor], Tensor]
    lowest: float
    corner: tuple[float, float]  # the least w_1 and w_2 of the square
    side: float


def _bowl(w: Tensor) -> Tensor:
    return w.square().sum(dim=-1) / 2


def _valley(w: Tensor) -> Tensor:
    return (w[..., 0] ** 2 + 25 * w[..., 1] ** 2) / 2


def _saddle(w: Tensor) -> Tensor:
    return (w[..., 0] ** 2 - w[..., 1] ** 2) / 2 + w[..., 1] ** 4 / 4


def _hollows(w: Tensor) -> Tensor:
    return (w[..., 0] ** 2 - 1) ** 2 + 0.3 * w[..., 0] + w[..., 1] ** 2 / 2


def _bend(w: Tensor) -> Tensor:
    return (1 - w[..., 0]) ** 2 + 10 * (w[..., 1] - w[..., 0] ** 2) ** 2


DEEP = -0.305428483743916  # the lowest value of the two hollows, at w_1 = -1.0356
SURFACES = {
    "bowl": Surface(
        name="a round bowl", loss=_bowl, lowest=0.0, corner=(-3.0, -3.0), side=6.0
    ),
    "valley": Surface(
        name="a valley, 25 times as steep across as along",
        loss=_valley, lowest=0.0, corner=(-3.0, -3.0), side=6.0,
    ),
    "saddle": Surface(
        name="a saddle between two hollows",
        loss=_saddle, lowest=-0.25, corner=(-2.0, -2.0), side=4.0,
    ),
    "hollows": Surface(
        name="two hollows, the left one deeper",
        loss=_hollows, lowest=DEEP, corner=(-2.0, -2.0), side=4.0,
    ),
    "bend": Surface(
        name="a bent valley", loss=_bend, lowest=0.0, corner=(-2.0, -1.0), side=4.0
    ),
}  # fmt: skip

#: How to make each optimizer, of weights, a learning rate and a share of momentum.
METHODS: dict[str, Callable[[list[Tensor], float, float], Optimizer]] = {
    "descent": lambda ws, lr, beta: torch.optim.SGD(ws, lr=lr),
    "momentum": lambda ws, lr, beta: torch.optim.SGD(ws, lr=lr, momentum=beta),
    "adam": lambda ws, lr, beta: torch.optim.Adam(ws, lr=lr, betas=(beta, 0.999)),
}


def roll(
    surface: Surface,
    start: tuple[float, float],
    method: str,
    *,
    lr: float,
    beta: float = 0.9,
    steps: int = 100,
) -> tuple[Tensor, Tensor]:
    """Take ``steps`` with torch's optimizer; return the path and its losses.

    The path (N + 1, 2) begins at ``start``; with it come the losses (N + 1,). ``beta``
    is the momentum, and of Adam its ``beta_1``. Where a weight goes beyond ``FAR``
    the path ends.
    """
    check_choice("method", method, METHODS)
    at_least(0, steps=steps)
    w: Any = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    check_shape("start", w, "N", N=2)
    optimizer = METHODS[method]([w], lr, beta)
    path = [w.detach().clone()]
    for _ in range(steps):
        optimizer.zero_grad()
        surface.loss(w).backward()
        optimizer.step()
        path.append(w.detach().clone())
        if not bool((path[-1].abs() <= FAR).all()):
            break
    walked = torch.stack(path)
    return walked, surface.loss(walked)
