r"""Where it goes next: the best answers there are for a ball that flies straight.

A ball is seen at ``n_frames`` instants, ``interval`` apart, each coordinate with noise
of a known standard deviation. Two answers need no training. **Least squares** lays the
best line (or parabola) through the frames and reads it on, one frame or more. **Bayes**
knows besides how fast balls are thrown: no function of the frames has a smaller mean
squared error, if a ball may be anywhere. Axes: B flights, T frames, and x and y in the
last.
"""

import math

import torch
from torch import Tensor

from unrolled.shapes import at_least, check_shape

POINTS = 201  # of the speeds that are averaged over


def fit_weights(n_frames: int, *, degree: int = 1, ahead: int = 1) -> Tensor:
    r"""Return the weight (T,) of each frame in one further on, by least squares.

    With :math:`\mathbf{A}` of rows :math:`(1, t, \dots, t^{d})` they are
    :math:`\mathbf{a}_{T+k} (\mathbf{A}^\top \mathbf{A})^{-1} \mathbf{A}^\top`, k frames
    ``ahead``. They sum to one. A line through two frames has the weights -1 and 2.
    """
    at_least(0, degree=degree)
    at_least(1, ahead=ahead)
    if n_frames <= degree:
        raise ValueError(
            f"{n_frames=} leave a curve of {degree=} undetermined: it needs "
            f"{degree + 1} or more"
        )
    times = torch.arange(1 - n_frames, 2, dtype=torch.float64)  # the last frame is 0
    times[-1] = ahead
    powers = times[:, None] ** torch.arange(degree + 1)
    return powers[-1] @ torch.linalg.pinv(powers[:-1])


def extrapolate(seen: Tensor, *, degree: int = 1, ahead: int = 1) -> Tensor:
    """Return a position (B, 2) to come, by least squares on ``seen`` (B, T, 2)."""
    check_shape("seen", seen, "B T two", two=2)
    weights = fit_weights(seen.shape[1], degree=degree, ahead=ahead)
    return torch.einsum("t,btc->bc", weights.to(seen), seen)


def fit_error(n_frames: int, noise: float, *, degree: int = 1, ahead: int = 1) -> float:
    """Return the root mean squared distance of :func:`extrapolate` from the truth.

    It holds for a path that is a curve of this degree; it comes from noise alone. For
    a line it is :eq:`seq-ahead-error`.
    """
    weights = fit_weights(n_frames, degree=degree, ahead=ahead)
    return noise * math.sqrt(2 * float(weights.square().sum()))


def best_guess(
    seen: Tensor, *, noise: float, interval: float, speed: tuple[float, float]
) -> Tensor:
    r"""Return the mean (B, 2) of where the ball is next, given the frames ``seen``.

    Speeds are uniform between the two of ``speed``, directions and places uniform. With
    the line's slope :math:`\hat{\mathbf{v}}` the mean velocity has its direction and
    the length

    .. math:: \frac{\int s\, I_1(\hat v s / \tau^2)\, e^{-s^2/2\tau^2} \,ds}
        {\int I_0(\hat v s / \tau^2)\, e^{-s^2/2\tau^2} \,ds},

    where :math:`\tau` is the standard deviation of the slope's noise.
    """
    check_shape("seen", seen, "B T two", two=2)
    n_frames, seen = seen.shape[1], seen.double()
    if n_frames == 1:
        return seen[:, 0]  # all directions are alike: it stays where it is, on average
    times = torch.arange(n_frames, dtype=torch.float64) * interval
    times = times - times.mean()
    spread = times.square().sum()
    slope = torch.einsum("t,btc->bc", times, seen) / spread
    if noise > 0:
        length = slope.norm(dim=1, keepdim=True)
        variance = noise**2 / spread
        slope = slope * _mean_speed(length, variance, speed) / length
    return seen.mean(dim=1) + slope * interval * (n_frames + 1) / 2


def _mean_speed(length: Tensor, variance: Tensor, speed: tuple[float, float]) -> Tensor:
    """Return the mean speed along the slope, (B, 1), given the slope's length."""
    low, high = speed
    middles = (torch.arange(POINTS, dtype=torch.float64) + 0.5) / POINTS
    s = low + (high - low) * middles  # (POINTS,)
    logs = -((length - s) ** 2) / (2 * variance)
    weights = torch.exp(logs - logs.amax(dim=1, keepdim=True))
    inner = length * s / variance  # the functions are scaled by exp(-inner)
    above = (s * torch.special.i1e(inner) * weights).sum(dim=1, keepdim=True)
    return above / (torch.special.i0e(inner) * weights).sum(dim=1, keepdim=True)
