r"""How sure a number is: intervals of a few values, and of many.

Of a few seeds take **Student's t**: at level 0.95 it covers the true mean in 95 % of
cases even of 2 values, if these are independent and normally distributed. With a few
values nobody can check that. Where most seeds end alike and one in ten far off, five
seeds rarely tell, and the bootstrap knows no better: show the seeds beside it.

Of many values, or of a statistic that is no mean, take the **bootstrap**: it draws N of
the N values with replacement, many times over, and computes the statistic of each draw.
The percentile interval at level 0.95 goes from the 2.5th to the 97.5th per cent of
these. It assumes no distribution, and needs enough values to draw from: of a mean of 5
values it covers the truth not in 95 % but in about 83 % of cases, of 3 in about 73 %.

Values that follow one another in time are alike, and drawing them one by one makes the
interval too narrow. With ``block`` above 1 whole blocks of neighbours are drawn, from
any starting point, the series taken as a circle (Politis and Romano 1992), and cut to
length N. A block should be longer than the memory of the series.

Axes: B draws; values are (N,) or (N, ...), and the first axis is the one drawn from.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from unrolled.shapes import at_least, check_shape

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


def t_interval(values: Tensor, *, level: float = 0.95) -> Interval:
    r"""Return Student's interval of the mean of a few independent ``values`` (N,).

    .. math:: \bar{x} \pm t_{N-1} \, s / \sqrt{N}, \qquad
        s^2 = \frac{1}{N-1} \sum_i (x_i - \bar{x})^2
    """
    check_shape("values", values, "N")
    at_least(2, n_values=len(values))  # one value does not say how far others lie
    values = values.double()
    estimate, spread = values.mean().item(), values.std().item()
    half = student_quantile(len(values) - 1, level) * spread / math.sqrt(len(values))
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half)


def paired_t_interval(one: Tensor, two: Tensor, *, level: float = 0.95) -> Interval:
    """Return Student's interval of the mean of one - two, from pairs: both (N,).

    ``one[i]`` and ``two[i]`` belong together, as from one seed. The differences must be
    independent of one another and normally distributed; the values need not be.
    """
    _length(one=one, two=two)
    return t_interval(one.double() - two.double(), level=level)


def unpaired_t_interval(one: Tensor, two: Tensor, *, level: float = 0.95) -> Interval:
    r"""Return Welch's interval of mean(one) - mean(two), of two groups: (N,) and (M,).

    For runs that share nothing but the number of their seed, as those of two
    architectures. The groups may have different spreads:

    .. math:: n = \frac{(v_1 + v_2)^2}{v_1^2 / (N - 1) + v_2^2 / (M - 1)}, \qquad
        v_i = s_i^2 / N_i

    degrees of freedom, here rounded down, which makes it no narrower.
    """
    for name, values in (("one", one), ("two", two)):
        check_shape(name, values, "N")
        at_least(2, **{f"n_{name}": len(values)})
    parts = [v.double().var().item() / len(v) for v in (one, two)]
    estimate = one.double().mean().item() - two.double().mean().item()
    if not sum(parts):
        return Interval(estimate=estimate, low=estimate, high=estimate)
    frees = (len(one) - 1, len(two) - 1)
    weights = sum(part**2 / free for part, free in zip(parts, frees, strict=True))
    # never below the smaller of the two; a little more, or rounding may take one away
    n_free = max(min(frees), math.floor(sum(parts) ** 2 / weights + 1e-9))
    half = student_quantile(n_free, level) * math.sqrt(sum(parts))
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half)


@cache
def student_quantile(n_free: int, level: float) -> float:
    r"""Return the t with :math:`p(|T| < t)` = ``level``, of Student's distribution.

    T has n = ``n_free`` degrees of freedom. With :math:`t = \sqrt{n} \tan \theta` that
    probability is a finite sum over powers of :math:`\cos \theta`, even ones if n is
    even and else odd ones, here solved for :math:`\theta` by halving.
    """
    at_least(1, n_free=n_free)
    _check_level(level)
    odd, steps = n_free % 2, torch.arange(n_free // 2, dtype=torch.float64)
    ratios = (2 * steps - 1 + odd) / (2 * steps + odd)
    ratios[:1] = 1.0
    factors, powers = ratios.cumprod(dim=0), 2 * steps + odd

    def probability(theta: float) -> float:
        series = math.sin(theta) * (factors * math.cos(theta) ** powers).sum().item()
        return 2 / math.pi * (theta + series) if odd else series

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) < level else (low, middle)
    return math.sqrt(n_free) * math.tan(low)


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
    _check_level(level)
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


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"{level=} must be between 0 and 1")


def _length(**series: Tensor) -> int:
    """Return how many values there are: as many in each series, and some."""
    lengths = {name: len(values) for name, values in series.items()}
    if len(set(lengths.values())) > 1 or not min(lengths.values()):
        raise ValueError(
            f"{' and '.join(f'{name} has {n} values' for name, n in lengths.items())}; "
            "there must be at least one, and as many in each"
        )
    return min(lengths.values())
