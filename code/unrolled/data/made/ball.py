r"""A ball in a box: flights whose every bounce is known to the instant.

The ball is a point. Between two bounces it follows a parabola in closed form, and the
instant of the next bounce is a root of that parabola: nothing is stepped through time,
so nothing drifts. Its two axes are independent, because the walls are straight. Axes:
B flights, T frames, and in the last place x (to the right) and y (upwards).
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unrolled.shapes import at_least, check_shape

# A ball that loses speed bounces infinitely often in finite time. Once it leaves the
# floor slower than this (as a share of the speed of a fall from the ceiling) it lies
# still: by then it hops no higher than 1e-12 of the box.
STILL = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Flights:
    """Where the balls were at each frame, what was seen, and when they bounced.

    ``positions``, ``seen`` (positions with noise) and ``velocities`` are (B, T, 2);
    ``times`` (T,) are the frames' instants. ``bounces`` (B, T) counts the bounces since
    the frame before. ``bounce_times`` (B, n) are in order, infinite where a ball has
    bounced less often than n times.
    """

    times: Tensor
    positions: Tensor
    seen: Tensor
    velocities: Tensor
    bounces: Tensor
    bounce_times: Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class _Legs:
    """Flight along one axis as parabolas, (B, n) each: start, place, speed, pull."""

    start: Tensor
    place: Tensor
    speed: Tensor
    pull: Tensor


def _at_rest(place: Tensor, speed: Tensor, gravity: float, side: float) -> Tensor:
    slow = speed.abs() < STILL * (gravity * side) ** 0.5  # never so without gravity
    return slow & (place <= 0)


def _next_bounce(
    place: Tensor, speed: Tensor, pull: Tensor, side: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the wait until the next wall, which wall, and the speed on arrival."""
    to_top = side - place
    left = speed**2 - 2 * pull * to_top  # the square of the speed at the ceiling
    rises = (speed > 0) & (left >= 0)
    at_top = left.clamp(min=0).sqrt()
    at_floor = (speed**2 + 2 * pull * place).sqrt()
    # Of the two forms of a root, the one that subtracts nothing nearly equal.
    up = 2 * to_top / (speed + at_top)
    down = torch.where(
        speed < 0, 2 * place / (at_floor - speed), (speed + at_floor) / pull
    )
    lands = (speed < 0) | (pull > 0)
    wait = torch.where(rises, up, torch.where(lands, down, torch.inf))
    return wait, torch.where(rises, side, 0.0), torch.where(rises, at_top, -at_floor)


def _legs(
    place: Tensor, speed: Tensor, end: float, gravity: float, keeps: float, side: float
) -> _Legs:
    """Follow one axis from bounce to bounce until every ball is past ``end``."""
    start = torch.zeros_like(place)
    legs: list[tuple[Tensor, ...]] = []
    while True:
        still = _at_rest(place, speed, gravity, side)
        speed = torch.where(still, 0.0, speed)
        pull = torch.where(still, 0.0, gravity)
        legs.append((start, place, speed, pull))
        wait, wall, arrival = _next_bounce(place, speed, pull, side)
        start = start + wait
        if not bool((start <= end).any()):
            break
        place, speed = wall, -keeps * arrival
    columns = [torch.stack(column, dim=1) for column in zip(*legs, strict=True)]
    return _Legs(**dict(zip(("start", "place", "speed", "pull"), columns, strict=True)))


def _along(legs: _Legs, times: Tensor) -> tuple[Tensor, Tensor]:
    """Return place and speed at each of ``times``: (B, T) both."""
    asked = times.expand(len(legs.start), -1).contiguous()
    leg = torch.searchsorted(legs.start, asked, right=True) - 1  # (B, T)
    since = asked - legs.start.gather(1, leg)
    place, speed = legs.place.gather(1, leg), legs.speed.gather(1, leg)
    pull = legs.pull.gather(1, leg)
    return place + speed * since - pull * since**2 / 2, speed - pull * since


def _check_world(gravity: float, bounciness: float, box: tuple[float, float]) -> None:
    if gravity < 0:
        raise ValueError(f"{gravity=} pulls down and must be at least 0")
    if not 0 <= bounciness <= 1:
        raise ValueError(f"{bounciness=} must lie between 0 (sticks) and 1 (elastic)")
    if min(box) <= 0:
        raise ValueError(f"{box=} must have a positive width and height")


def fly(
    start: Tensor,
    velocity: Tensor,
    times: Tensor,
    *,
    gravity: float = 0.0,
    bounciness: float = 1.0,
    box: tuple[float, float] = (1.0, 1.0),
) -> Flights:
    """Throw balls from ``start`` with ``velocity``, both (B, 2), and look at ``times``.

    A bounce keeps the share ``bounciness`` of the speed across the wall and all of the
    speed along it. Computed and given back in float64; ``seen`` has no noise.
    """
    _check_world(gravity, bounciness, box)
    check_shape("start", start, "B two", two=2)
    check_shape("velocity", velocity, "B two", B=len(start), two=2)
    check_shape("times", times, "T")
    start, velocity, times = start.double(), velocity.double(), times.double()
    if bool((start < 0).any()) or bool((start > start.new_tensor(box)).any()):
        raise ValueError(f"start must lie inside {box=}, got {start.tolist()}")
    if not len(times) or bool((times < 0).any()) or bool((times.diff() < 0).any()):
        raise ValueError(f"times must rise from 0 or later, got {times.tolist()}")
    end = float(times[-1])
    legs = [
        _legs(start[:, axis], velocity[:, axis], end, pull, bounciness, box[axis])
        for axis, pull in ((0, 0.0), (1, gravity))
    ]
    places, speeds = zip(*(_along(leg, times) for leg in legs), strict=True)
    hits = torch.cat([leg.start[:, 1:] for leg in legs], dim=1).sort(dim=1).values
    hits = torch.where(hits <= end, hits, torch.inf)
    hits = hits[:, : int((hits <= end).sum(dim=1).max())].contiguous()
    asked = times.expand(len(start), -1).contiguous()
    so_far = torch.searchsorted(hits, asked, right=True)  # (B, T)
    positions = torch.stack(places, dim=-1)  # (B, T, 2)
    return Flights(
        times=times,
        positions=positions,
        seen=positions,
        velocities=torch.stack(speeds, dim=-1),
        bounces=so_far.diff(dim=1, prepend=torch.zeros_like(so_far[:, :1])),
        bounce_times=hits,
    )


def balls(
    n_rows: int,
    n_frames: int,
    *,
    interval: float = 0.1,
    speed: tuple[float, float] = (0.5, 1.5),
    gravity: float = 0.0,
    bounciness: float = 1.0,
    noise: float = 0.0,
    box: tuple[float, float] = (1.0, 1.0),
    generator: torch.Generator,
) -> Flights:
    """Throw balls from anywhere in any direction, and look every ``interval``.

    The starting speed is uniform between the two of ``speed``. ``noise`` is the
    standard deviation of what is added to each coordinate in ``seen``.
    """
    at_least(1, n_rows=n_rows, n_frames=n_frames)
    if interval <= 0:
        raise ValueError(f"{interval=} must be above 0")
    if noise < 0:
        raise ValueError(f"{noise=} is a standard deviation and must be at least 0")
    slow, fast = speed
    if not 0 <= slow <= fast:
        raise ValueError(f"{speed=} must be two speeds, the slower first, from 0 up")

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    start = uniform(n_rows, 2) * torch.tensor(box, dtype=torch.float64)
    angle = 2 * torch.pi * uniform(n_rows)
    pace = slow + (fast - slow) * uniform(n_rows)
    velocity = pace[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)
    times = interval * torch.arange(n_frames, dtype=torch.float64)
    flights = fly(
        start, velocity, times, gravity=gravity, bounciness=bounciness, box=box
    )
    shape = (n_rows, n_frames, 2)
    blur = torch.randn(shape, generator=generator, dtype=torch.float64)
    return replace(flights, seen=flights.positions + noise * blur)
