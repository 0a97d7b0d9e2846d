r"""How sure a number is: intervals from drawing the data again and again.

The *bootstrap* draws N of the N values with replacement, many times over, and computes
the statistic of each draw. The percentile interval at level 0.95 goes from the 2.5th to
the 97.5th per cent of these. It needs enough values to draw from: of a mean of 5 values
it covers the truth not in 95 % but in about 83 % of cases.

Values that follow one another in time are alike, and drawing them one by one makes the
interval too narrow. With ``block`` above 1 whole blocks of neighbours are drawn, from
any starting point, the series taken as a circle (Politis and Romano 1992), and cut to
length N. A block should be longer than the memory of the series.

Axes: B draws; values are (N,) or (N, ...), and the first axis is the one drawn from.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.shapes import at_least

AT_ONCE = 2**22  # numbers held in memory at a time

#: From draws (B, N, ...) to the statistic of each, (B,).
Statistic = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """The statistic of the data themselves, and the ends of its interval."""

    estimate: float
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def mean(draws: Tensor) -> Tensor:
    """Return the mean of each draw: (B, N) -> (B,)."""
    return draws.mean(dim=1)


def bootstrap(
    values: Tensor,
    statistic: Statistic = mean,
    *,
    generator: torch.Generator,
    level: float = 0.95,
    n_draws: int = 2000,
    block: int = 1,
) -> Interval:
    """Return a percentile interval of a statistic of ``values`` (N, ...)."""
    return _interval(
        lambda places: statistic(values[places]),
        _length(values=values),
        level=level,
        n_draws=n_draws,
        block=block,
        generator=generator,
    )


def paired_difference(
    one: Tensor,
    two: Tensor,
    statistic: Statistic = mean,
    *,
    generator: torch.Generator,
    level: float = 0.95,
    n_draws: int = 2000,
    block: int = 1,
) -> Interval:
    """Return an interval of statistic(one) - statistic(two), both (N, ...).

    ``one[i]`` and ``two[i]`` belong together (two models on one sentence, or from one
    seed) and are drawn together: what makes a sentence hard for both cancels out.
    """
    return _interval(
        lambda places: statistic(one[places]) - statistic(two[places]),
        _length(one=one, two=two),
        level=level,
        n_draws=n_draws,
        block=block,
        generator=generator,
    )


def draw_places(
    n: int, n_draws: int, *, block: int = 1, generator: torch.Generator
) -> Tensor:
    """Draw ``n`` of n places, (B, N), in blocks of neighbours on a circle."""
    n_blocks = -(-n // block)  # rounded up
    starts = torch.randint(n, (n_draws, n_blocks, 1), generator=generator)
    return ((starts + torch.arange(block)) % n).flatten(start_dim=1)[:, :n]


def _interval(
    of_places: Statistic,
    n: int,
    *,
    level: float,
    n_draws: int,
    block: int,
    generator: torch.Generator,
) -> Interval:
    """Return the statistic of all places in order, and its percentiles over draws."""
    at_least(1, n_draws=n_draws, block=block)
    if not 0 < level < 1:
        raise ValueError(f"{level=} must be between 0 and 1")
    if block > n:
        raise ValueError(f"{block=} must be at most the number of values, {n}")
    found, left = [], n_draws
    while left:
        now = min(left, max(1, AT_ONCE // n))
        places = draw_places(n, now, block=block, generator=generator)
        found.append(of_places(places).double())
        left -= now
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.quantile(torch.cat(found), tails).tolist()
    estimate = of_places(torch.arange(n)[None]).double().item()
    return Interval(estimate=estimate, low=low, high=high)


def _length(**series: Tensor) -> int:
    """Return how many values there are: as many in each series, and some."""
    lengths = {name: len(values) for name, values in series.items()}
    if len(set(lengths.values())) > 1 or not min(lengths.values()):
        raise ValueError(
            f"{' and '.join(f'{name} has {n} values' for name, n in lengths.items())}; "
            "there must be at least one, and as many in each"
        )
    return min(lengths.values())
