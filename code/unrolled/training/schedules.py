r"""How the learning rate changes: a schedule tells each step its factor.

Steps count from 1, so no schedule wastes the first update on a rate of zero. The
factor multiplies the rate of the optimizer, which is thus the highest one.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from unrolled.shapes import at_least


class Schedule(Protocol):
    """What a schedule is: a function of the step. Ours are frozen dataclasses."""

    def __call__(self, step: int, /) -> float:
        """Return by what to multiply the learning rate at ``step``, from 1."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The same rate at every step."""

    def __call__(self, step: int, /) -> float:
        """Return 1."""
        return 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WarmupCosine:
    r"""Up in a line, then down along half a cosine to ``floor`` at step ``steps``.

    After w steps of warm-up, step t of n has the factor
    :math:`f + (1 - f)\,(1 + \cos \pi \frac{t - w}{n - w}) / 2`.
    """

    warmup: int
    steps: int
    floor: float = 0.1

    def __post_init__(self) -> None:
        at_least(0, warmup=self.warmup)
        if self.warmup >= self.steps:
            raise ValueError(
                f"warmup={self.warmup} must be below {self.steps}: the run has no more"
            )
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor={self.floor} must lie between 0 and 1")

    def __call__(self, step: int, /) -> float:
        """Return the factor of ``step``; after the last one it stays at ``floor``."""
        if step < self.warmup:
            return step / self.warmup
        passed = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * passed)) / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Trapezoid:
    r"""Up in a line, flat, and down in a line: warm-up, full rate, cool-down.

    The last of n steps, c of them of cool-down, still has the factor 1 / c.
    """

    warmup: int
    cooldown: int
    steps: int

    def __post_init__(self) -> None:
        at_least(0, warmup=self.warmup, cooldown=self.cooldown)
        if (part := self.warmup + self.cooldown) > self.steps:
            raise ValueError(
                f"warmup plus cooldown is {part} and must be at most {self.steps}: "
                "the run has no more"
            )

    def __call__(self, step: int, /) -> float:
        """Return the factor of ``step``; after the last one it is 0."""
        if step < self.warmup:
            return step / self.warmup
        left = max(0, self.steps + 1 - step)
        return min(1.0, left / max(1, self.cooldown))


@dataclass(frozen=True, kw_only=True, slots=True)
class InverseRoot:
    r"""Up in a line for w steps, then down as one over the square root of the step.

    The Transformer's: :math:`\min(t / w, \sqrt{w / t})`. Its authors' rate,
    :math:`D^{-1/2} \min(t^{-1/2}, t\, w^{-3/2})`, is this one times
    :math:`(D w)^{-1/2}`.
    """

    warmup: int

    def __post_init__(self) -> None:
        at_least(1, warmup=self.warmup)

    def __call__(self, step: int, /) -> float:
        """Return the factor of ``step``."""
        return min(step / self.warmup, math.sqrt(self.warmup / step))
