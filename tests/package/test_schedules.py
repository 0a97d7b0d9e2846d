"""Schedules: the closed forms, and those of torch and Hugging Face."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim.lr_scheduler import CosineAnnealingLR
from transformers import optimization as theirs

from unrolled.training.schedules import (
    Constant,
    InverseRoot,
    Trapezoid,
    WarmupCosine,
)

SCHEDULES = [
    Constant(),
    WarmupCosine(warmup=3, steps=10),
    Trapezoid(warmup=3, cooldown=4, steps=10),
    InverseRoot(warmup=3),
]


def plain(lr=1.0):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)


def lambda_of(scheduler):
    (factor,) = scheduler.lr_lambdas
    return factor


def follows(ours, factor, steps):
    assert [ours(n) for n in steps] == pytest.approx(
        [factor(n) for n in steps], abs=1e-12
    )


@given(warmup=st.integers(0, 5), more=st.integers(1, 9), floor=st.floats(0, 1))
@settings(max_examples=20)
def test_warmup_and_cosine_are_hugging_faces(warmup, more, floor):
    steps = warmup + more
    factor = lambda_of(
        theirs.get_cosine_with_min_lr_schedule_with_warmup(
            plain(), warmup, steps, min_lr_rate=floor
        )
    )
    ours = WarmupCosine(warmup=warmup, steps=steps, floor=floor)
    follows(ours, factor, range(1, steps + 1))


def test_the_cosine_is_torchs():
    optimizer = plain(lr=1e-3)
    scheduler = CosineAnnealingLR(optimizer, T_max=20, eta_min=1e-4)
    ours = WarmupCosine(warmup=0, steps=20, floor=0.1)
    for step in range(1, 21):
        optimizer.step()
        scheduler.step()
        assert 1e-3 * ours(step) == pytest.approx(scheduler.get_last_lr()[0])


def test_the_cosine_has_its_closed_form():
    ours = WarmupCosine(warmup=4, steps=12, floor=0.2)
    assert [ours(n) for n in (1, 2, 3, 4)] == [0.25, 0.5, 0.75, 1.0]
    assert ours(8) == pytest.approx(0.6)  # half-way
    assert ours(6) == pytest.approx(0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2)
    assert ours(12) == pytest.approx(0.2)
    assert ours(40) == pytest.approx(0.2)


@given(warmup=st.integers(0, 4), flat=st.integers(1, 5), cooldown=st.integers(1, 5))
@settings(max_examples=20)
def test_the_trapezoid_is_hugging_faces_whose_way_down_begins_one_later(
    warmup, flat, cooldown
):
    factor = lambda_of(
        theirs.get_wsd_schedule(
            plain(),
            num_warmup_steps=warmup,
            num_stable_steps=flat,
            num_decay_steps=cooldown,
            decay_type="linear",
        )
    )
    steps = warmup + flat + cooldown
    ours = Trapezoid(warmup=warmup, cooldown=cooldown, steps=steps)
    rising = range(1, warmup + 1)
    follows(ours, factor, rising)
    after = range(warmup + 1, steps + 1)
    follows(ours, lambda n: factor(n - 1), after)


def test_the_trapezoid_goes_up_is_flat_and_goes_down():
    ours = Trapezoid(warmup=2, cooldown=4, steps=8)
    found = [ours(n) for n in range(1, 11)]
    assert found == [0.5, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0, 0]
    assert {Trapezoid(warmup=0, cooldown=0, steps=3)(n) for n in (1, 2, 3)} == {1.0}


@given(warmup=st.integers(1, 9), step=st.integers(1, 50), D=st.integers(1, 512))
@settings(max_examples=40)
def test_the_inverse_root_is_vaswanis_and_hugging_faces(warmup, step, D):
    factor = lambda_of(theirs.get_inverse_sqrt_schedule(plain(), warmup))
    ours = InverseRoot(warmup=warmup)(step)
    assert ours == pytest.approx(factor(step))
    rate = D**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert ours * (D * warmup) ** -0.5 == pytest.approx(rate)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_no_step_is_wasted_and_none_is_above_the_full_rate(schedule):
    factors = [schedule(n) for n in range(1, 11)]
    assert min(factors) > 0
    assert max(factors) == 1


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_a_schedule_is_a_value(schedule):
    names = {type(s).__name__: type(s) for s in SCHEDULES}
    assert eval(repr(schedule), names) == schedule
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        schedule.warmup = 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: WarmupCosine(warmup=5, steps=5),
            "warmup=5 must be below 5: the run has no more",
        ),
        (lambda: WarmupCosine(warmup=-1, steps=5), "warmup=-1 must be at least 0"),
        (
            lambda: WarmupCosine(warmup=1, steps=5, floor=2),
            "floor=2 must lie between 0 and 1",
        ),
        (
            lambda: Trapezoid(warmup=3, cooldown=3, steps=5),
            "warmup plus cooldown is 6 and must be at most 5: the run has no more",
        ),
        (
            lambda: Trapezoid(warmup=0, cooldown=-1, steps=5),
            "cooldown=-1 must be at least 0",
        ),
        (lambda: InverseRoot(warmup=0), "warmup=0 must be at least 1"),
    ],
)
def test_a_schedule_that_cannot_be_is_named(make, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()


@pytest.mark.parametrize("cooldown", [0, 1, 3])
def test_after_the_last_step_of_a_trapezoid_the_rate_is_zero(cooldown):
    schedule = Trapezoid(warmup=1, cooldown=cooldown, steps=5)
    assert schedule(5) > 0
    assert [schedule(step) for step in (6, 7, 9)] == [0, 0, 0]
