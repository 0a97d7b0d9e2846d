"""The flip-flop against a slow loop."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unrolled.data.made.draws import stream
from unrolled.data.made.flip_flop import flip_flop, last_order
from unrolled.runtime import generator

shapes = st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(1, 3))
orders = shapes.flatmap(
    lambda shape: arrays("float32", shape, elements=st.sampled_from([-1.0, 0.0, 1.0]))
)


def by_loop(x):
    """The last order so far, one entry at a time."""
    answers = torch.zeros_like(x)
    n_rows, n_steps, n_wires = x.shape
    for row in range(n_rows):
        for wire in range(n_wires):
            last = 0.0
            for t in range(n_steps):
                last = x[row, t, wire].item() or last
                answers[row, t, wire] = last
    return answers


@given(orders)
def test_last_order_is_what_a_loop_finds(x):
    x = torch.from_numpy(x)
    assert torch.equal(last_order(x), by_loop(x))


@given(shapes, st.floats(0, 1), st.integers(0, 2**31))
def test_a_flip_flop_is_answered_right_from_its_first_step(shape, p_order, seed):
    n_rows, n_steps, n_wires = shape
    batch = flip_flop(
        n_rows, n_steps, n_wires=n_wires, p_order=p_order, generator=generator(seed)
    )
    assert batch.x.shape == batch.y.shape == shape
    assert set(batch.x.unique().tolist()) <= {-1.0, 0.0, 1.0}
    assert batch.x[:, 0].ne(0).all()
    assert torch.equal(batch.y, by_loop(batch.x))
    assert batch.y.ne(0).all()


def test_orders_come_as_often_as_asked_and_set_as_often_as_reset():
    x = flip_flop(200, 501, p_order=0.3, generator=generator(0)).x[:, 1:]
    assert x.ne(0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert x.mean().item() == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("p_order", "share"), [(0.0, 0.0), (1.0, 1.0)])
def test_never_and_always_are_probabilities_too(p_order, share):
    x = flip_flop(3, 9, p_order=p_order, generator=generator(0)).x
    assert x[:, 1:].ne(0).float().mean() == share


@pytest.mark.parametrize("p_order", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_named(p_order):
    with pytest.raises(ValueError, match=f"p_order={p_order} must be a probability"):
        flip_flop(1, 2, p_order=p_order, generator=generator(0))


@pytest.mark.parametrize("name", ["n_rows", "n_steps", "n_wires"])
@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_one_is_named(name, size):
    sizes = {"n_rows": 2, "n_steps": 3, "n_wires": 1} | {name: size}
    with pytest.raises(ValueError, match=f"^{name}={size} must be at least 1$"):
        flip_flop(**sizes, generator=generator(0))


def test_a_seed_fixes_the_draw_and_a_stream_goes_on():
    first, again = (flip_flop(2, 5, generator=generator(1)) for _ in range(2))
    assert torch.equal(first.x, again.x)
    draws = stream(flip_flop, 2, 5, generator=generator(1))
    assert torch.equal(next(draws).x, first.x)
    assert not torch.equal(next(draws).x, first.x)
