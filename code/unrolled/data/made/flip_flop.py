"""The flip-flop: remember the last order on each of a few wires.

Every wire carries *set* (+1), *reset* (-1) or *nothing* (0) at each step. The right
answer at a step is the last order given on that wire, that step's own included. Axes:
B rows, T steps, and in the last place one column per wire.
"""

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.shapes import at_least


def last_order(x: Tensor) -> Tensor:
    """Return the last non-zero entry so far along axis 1: (B, T, n) to (B, T, n).

    Where no order has been given yet, the answer is 0.
    """
    steps = torch.arange(x.shape[1], device=x.device)[:, None]  # (T, 1)
    when = (x.bool() * steps).cummax(dim=1).values  # (B, T, n)
    return x.gather(1, when)


def flip_flop(
    n_rows: int,
    n_steps: int,
    *,
    n_wires: int = 1,
    p_order: float = 0.2,
    generator: torch.Generator,
) -> Batch:
    """Draw orders ``x`` and right answers ``y``, both (B, T, n) of -1, 0 and +1.

    An order comes on each wire with probability ``p_order``, set or reset alike; the
    first step always gives one, so that every answer is known.
    """
    if not 0 <= p_order <= 1:
        raise ValueError(f"{p_order=} must be a probability between 0 and 1")
    at_least(1, n_rows=n_rows, n_steps=n_steps, n_wires=n_wires)
    shape = (n_rows, n_steps, n_wires)
    order = torch.randint(0, 2, shape, generator=generator) * 2.0 - 1.0
    given = torch.rand(shape, generator=generator) < p_order
    given[:, 0] = True
    x = order * given
    return Batch(x=x, y=last_order(x))
