"""The ball: every bounce at its instant, nothing lost at elastic walls."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.made.ball import balls, fly
from unrolled.runtime import generator

worlds = st.fixed_dictionaries(
    {
        "gravity": st.sampled_from([0.0, 0.5, 3.0]),
        "bounciness": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "box": st.sampled_from([(1.0, 1.0), (2.0, 0.5)]),
    }
)


def stepped(start, velocity, end, gravity, bounciness, box, n_steps=20_000):
    """Fly in tiny steps, reflecting what has passed a wall: the slow, crude way."""
    place, speed, dt = start.numpy(), velocity.numpy(), end / n_steps
    pull = np.array([0.0, gravity])
    for _ in range(n_steps):
        place = place + dt * speed - pull * dt**2 / 2
        speed = speed - dt * pull
        for wall, out in ((np.zeros(2), place < 0), (np.array(box), place > box)):
            place = np.where(out, wall - bounciness * (place - wall), place)
            speed = np.where(out, -bounciness * speed, speed)
    return torch.from_numpy(place)


@pytest.mark.parametrize("gravity", [0.0, 2.0])
@pytest.mark.parametrize("bounciness", [1.0, 0.7])
def test_it_agrees_with_a_simulator_of_tiny_steps(gravity, bounciness):
    world = {"gravity": gravity, "bounciness": bounciness, "box": (1.0, 1.5)}
    drawn = balls(20, 1, speed=(1.0, 2.0), **world, generator=generator(0))
    start, velocity = drawn.positions[:, 0], drawn.velocities[:, 0]
    flights = fly(start, velocity, torch.tensor([0.0, 3.0]), **world)
    assert flights.bounces[:, 1].min() >= 1
    crude = stepped(start, velocity, 3.0, **world)
    assert (flights.positions[:, 1] - crude).abs().max() < 5e-3


@settings(max_examples=40)
@given(st.integers(0, 999))
def test_without_gravity_it_is_a_straight_line_folded(seed):
    flights = balls(8, 40, interval=0.3, speed=(0.0, 5.0), generator=generator(seed))
    straight = (
        flights.positions[:, :1] + flights.velocities[:, :1] * (flights.times[:, None])
    )
    folded = 1 - (straight % 2 - 1).abs()
    assert (flights.positions - folded).abs().max() < 1e-11
    passed = (straight.floor() - straight[:, :1].floor()).abs().sum(-1)  # walls crossed
    assert torch.equal(flights.bounces.cumsum(1).double(), passed)


@settings(max_examples=40)
@given(worlds, st.integers(0, 999))
def test_it_stays_inside_and_never_gains_energy(world, seed):
    flights = balls(8, 60, speed=(0.0, 3.0), **world, generator=generator(seed))
    x, y = flights.positions.unbind(-1)
    width, height = world["box"]
    assert x.min() > -1e-9
    assert x.max() < width + 1e-9
    assert y.min() > -1e-9
    assert y.max() < height + 1e-9
    energy = flights.velocities.square().sum(-1) / 2 + world["gravity"] * y
    gain = energy.diff(dim=1)
    assert gain.max() < 1e-9
    if world["bounciness"] == 1:
        assert (energy - energy[:, :1]).abs().max() < 1e-9
    else:
        quiet = flights.bounces[:, 1:] == 0
        assert gain[quiet].abs().max() < 1e-9


@settings(max_examples=40)
@given(st.sampled_from([0.0, 2.0]), st.integers(0, 999))
def test_an_elastic_flight_runs_backwards_to_where_it_began(gravity, seed):
    there = balls(8, 21, gravity=gravity, speed=(0.5, 2.0), generator=generator(seed))
    turned = -there.velocities[:, -1]
    back = fly(there.positions[:, -1], turned, there.times, gravity=gravity)
    assert (back.positions.flip(1) - there.positions).abs().max() < 1e-6


def test_bounce_times_by_hand():
    start = torch.tensor([[0.5, 1.0], [0.25, 0.5]])
    velocity = torch.tensor([[0.0, 0.0], [0.5, 0.0]])
    times = torch.tensor([0.0, 0.5, 1.5, 3.5])
    flights = fly(start, velocity, times, gravity=2.0, bounciness=0.5)
    # Dropped from height 1 it lands after 1 at speed 2; leaving at 1 it is back in 1,
    # then after 1/2, then 1/4, …: it lies still from 3 on.
    falls = flights.bounce_times[0]
    expected = [1.0, 2.0, 2.5, 2.75, 2.875]
    torch.testing.assert_close(falls[:5].tolist(), expected)
    assert falls[falls < math.inf].max() == pytest.approx(3.0, abs=1e-5)
    torch.testing.assert_close(
        flights.positions[0, :, 1].tolist(), [1.0, 0.75, 0.25, 0.0]
    )
    assert flights.velocities[0, 3].tolist() == [0.0, 0.0]
    assert flights.bounces[0, :3].tolist() == [0, 0, 1]
    # The other one meets the wall x = 1 after 1.5, at the frame, and comes back slower.
    assert 1.5 in flights.bounce_times[1].tolist()
    torch.testing.assert_close(flights.positions[1, 3, 0].item(), 0.5)
    assert flights.velocities[1, 2, 0].item() == -0.25
    assert torch.equal(flights.bounces.sum(1), (flights.bounce_times < 9).sum(1))
    assert (flights.bounce_times.diff(dim=1).nan_to_num() >= 0).all()


def test_a_ball_on_the_floor_lies_still_and_one_without_bounce_sticks():
    start = torch.tensor([[0.5, 0.0], [0.5, 0.5]])
    velocity = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    times = torch.tensor([0.0, 1.0, 9.0])
    flights = fly(start, velocity, times, gravity=1.0, bounciness=0.0)
    assert flights.positions[0].tolist() == [[0.5, 0.0]] * 3
    assert flights.positions[1, -1].tolist() == [1.0, 0.0]
    assert flights.velocities[1, -1].tolist() == [0.0, 0.0]


def test_noise_has_its_spread_and_blurs_only_what_is_seen():
    clean = balls(200, 50, generator=generator(1))
    noisy = balls(200, 50, noise=0.1, generator=generator(1))
    assert torch.equal(clean.seen, clean.positions)
    assert torch.equal(noisy.positions, clean.positions)
    blur = noisy.seen - noisy.positions
    assert blur.std().item() == pytest.approx(0.1, rel=0.05)
    assert blur.mean().abs() < 0.005


def test_starts_and_directions_are_even_and_the_seed_decides():
    flights = balls(4000, 1, speed=(0.5, 1.5), generator=generator(2))
    assert (flights.positions.mean((0, 1)) - 0.5).abs().max() < 0.02
    pace = flights.velocities.norm(dim=-1)
    assert pace.min() >= 0.5
    assert pace.max() <= 1.5
    assert flights.velocities.mean((0, 1)).abs().max() < 0.05
    again = balls(4000, 1, generator=generator(2))
    assert torch.equal(again.positions, flights.positions)
    other = balls(4000, 1, generator=generator(3))
    assert not torch.equal(other.positions, flights.positions)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_frames": 0}, "n_frames=0 must be at least 1"),
        ({"interval": 0.0}, r"interval=0.0 must be above 0"),
        ({"noise": -1.0}, r"noise=-1.0 is a standard deviation and must be at least 0"),
        ({"speed": (2.0, 1.0)}, r"speed=\(2.0, 1.0\) must be two speeds, the slower"),
        ({"gravity": -1.0}, r"gravity=-1.0 pulls down and must be at least 0"),
        ({"bounciness": 1.5}, r"bounciness=1.5 must lie between 0 \(sticks\) and 1"),
        (
            {"box": (1.0, 0.0)},
            r"box=\(1.0, 0.0\) must have a positive width and height",
        ),
    ],
)
def test_settings_that_make_no_flight_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        balls(**({"n_rows": 2, "n_frames": 3} | wrong), generator=generator(0))


@pytest.mark.parametrize(
    ("start", "times", "message"),
    [
        ([[2.0, 0.5]], [0.0], r"start must lie inside box=\(1.0, 1.0\), got \[\[2.0"),
        (
            [[0.5, 0.5]],
            [1.0, 0.0],
            r"times must rise from 0 or later, got \[1.0, 0.0\]",
        ),
        ([[0.5, 0.5]], [-1.0], r"times must rise from 0 or later, got \[-1.0\]"),
        ([[0.5, 0.5]], [], r"times must rise from 0 or later, got \[\]"),
        ([0.5, 0.5], [0.0], r"start must be \(B, two\)"),
    ],
)
def test_throws_that_make_no_flight_are_named(start, times, message):
    with pytest.raises(ValueError, match=message):
        fly(torch.tensor(start), torch.zeros(1, 2), torch.tensor(times))
