"""Pooling: each way by a loop over the real states, and what padding cannot do."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from descend import descend
from unrolled.layers.pooling import (
    AttentionPool,
    check_mask,
    end_states,
    last_state,
    max_state,
    mean_state,
)

B, T, D = 3, 5, 4


def attention(row, pool):
    scores = torch.stack(
        [torch.tanh(pool.W.weight @ h + pool.W.bias) @ pool.v.weight[0] for h in row]
    )
    weights = scores.exp() / scores.exp().sum()
    return sum(a * h for a, h in zip(weights, row, strict=True))


#: What each makes of the real states of one row, in their order.
BY_HAND = {
    last_state: lambda row: row[-1],
    end_states: lambda row: torch.cat([row[-1].chunk(2)[0], row[0].chunk(2)[1]]),
    mean_state: lambda row: sum(row) / len(row),
    max_state: lambda row: torch.stack([max(column) for column in row.T]),
    AttentionPool: None,
}


def make(kind, d_model=D, dtype=torch.float32):
    """Return a pool, and what it makes of one row."""
    if kind is not AttentionPool:
        return kind, BY_HAND[kind]
    pool = AttentionPool(d_model).to(dtype)
    return pool, lambda row: attention(row, pool)


@st.composite
def problems(draw):
    n_rows, n_steps = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    row = st.lists(st.booleans(), min_size=n_steps, max_size=n_steps).filter(any)
    mask = st.lists(row, min_size=n_rows, max_size=n_rows).map(torch.tensor)
    return (
        (n_rows, n_steps, 2 * draw(st.integers(1, 3))),
        draw(st.none() | mask),
        draw(st.sampled_from([torch.float32, torch.float64])),
        draw(st.integers(0, 99)),
    )


@pytest.mark.parametrize("kind", BY_HAND)
@settings(max_examples=20)
@given(problem=problems())
def test_each_is_its_formula_over_what_is_real(kind, problem, agree):
    """Any mask will do, one with holes too; values and gradients."""
    shape, mask, dtype, seed = problem
    torch.manual_seed(seed)
    pool, by_hand = make(kind, shape[-1], dtype)
    states = torch.randn(shape, dtype=dtype, requires_grad=True)
    real = torch.ones(shape[:2], dtype=torch.bool) if mask is None else mask
    ours = pool(states, mask)
    theirs = torch.stack(
        [by_hand(row[on]) for row, on in zip(states, real, strict=True)]
    )
    agree(ours, theirs)
    inputs = [states]
    if kind is AttentionPool:
        inputs += pool.parameters()
    upstream = torch.randn_like(ours)
    grads = [torch.autograd.grad(y, inputs, upstream) for y in (ours, theirs)]
    for a, b in zip(*grads, strict=True):
        agree(a, b, gradient=True)


@pytest.mark.parametrize("kind", BY_HAND)
@pytest.mark.parametrize("junk", [float("nan"), float("inf"), 1e30])
def test_padding_reaches_nothing_not_even_a_gradient(kind, junk):
    pool, _ = make(kind)
    states, mask = torch.randn(B, T, D), torch.tensor([[1, 1, 0, 0, 0]] * B).bool()
    dirty = states.clone().masked_fill(~mask[..., None], junk).requires_grad_()
    found = pool(dirty, mask)
    torch.testing.assert_close(found, pool(states[:, :2], None), rtol=1e-6, atol=1e-6)
    found.sum().backward()
    assert dirty.grad.isfinite().all()
    assert not dirty.grad[:, 2:].any()


def test_the_weights_say_how_the_attention_pools():
    pool, states = AttentionPool(D), torch.randn(B, T, D)
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]]).bool()
    weights = pool.weights(states, mask)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(B))
    assert torch.equal(weights > 0, mask)
    torch.testing.assert_close(
        (weights[..., None] * states).sum(dim=1), pool(states, mask)
    )


def test_an_attention_without_preference_is_the_mean():
    pool, states = AttentionPool(D), torch.randn(B, T, D)
    torch.nn.init.zeros_(pool.v.weight)
    torch.testing.assert_close(pool(states), mean_state(states))


def test_the_gradient_of_an_attention_is_that_of_finite_differences():
    pool = AttentionPool(3).double()
    states = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, True, False], [False, True, True, True]])
    names, values = zip(*pool.named_parameters(), strict=True)

    def run(states, *weights):
        new = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(pool, new, (states, mask))

    assert torch.autograd.gradcheck(run, (states, *values))


def test_an_attention_learns_where_to_look():
    """One state of seven, at any place, is marked, and it holds the answer."""
    draw = torch.Generator().manual_seed(0)
    states = torch.randn(200, 7, D, generator=draw)
    marked = torch.randint(7, (200,), generator=draw)
    states[..., 0] = 0
    states[torch.arange(200), marked, 0] = 1
    pool = AttentionPool(D)
    wanted = states[torch.arange(200), marked]
    descend(pool, lambda m: (m(states) - wanted).square().mean(), n_steps=80, lr=0.1)
    assert (pool.weights(states).argmax(dim=1) == marked).all()


@pytest.mark.parametrize("kind", BY_HAND)
def test_it_runs_on_meta_and_compiles_in_one_piece(kind):
    pool, _ = make(kind)
    states, mask = torch.randn(B, T, D), torch.rand(B, T) < 0.5
    mask[:, 1] = True
    compiled = torch.compile(pool, fullgraph=True, backend="eager")
    assert torch.equal(compiled(states, mask), pool(states, mask))
    if kind is AttentionPool:
        pool = pool.to("meta")
    assert pool(states.to("meta"), mask.to("meta")).shape == (B, D)


@pytest.mark.parametrize("kind", BY_HAND)
@pytest.mark.parametrize(
    ("shape", "mask", "said"),
    [
        ((B, D), None, r"^states must be \(B, T, D\): expected 3 axes, got 2"),
        ((B, 0, D), None, r"^states has no time steps: its shape is \(3, 0, 4\)$"),
        ((B, T, D), torch.ones(B, T), r"^mask is torch.float32; it must be boolean, T"),
        ((B, T, D), torch.ones(B, 2).bool(), r"^mask must be \(B, T\): T should be 5"),
        (
            (B, T, D),
            torch.tensor([[False] * T, [True] * T, [False] * T]),
            r"^mask is False throughout in rows \[0, 2\]: nothing is real$",
        ),
    ],
)
def test_what_does_not_fit_is_named(kind, shape, mask, said):
    pool, _ = make(kind)
    with pytest.raises(ValueError, match=said):
        pool(torch.zeros(shape), mask)


def test_an_attention_has_a_width():
    with pytest.raises(ValueError, match=r"^d_model=0 must be at least 1$"):
        AttentionPool(0)
    with pytest.raises(ValueError, match=r"^states must be \(B, T, D\): D should be 4"):
        AttentionPool(D)(torch.zeros(B, T, D + 1))


def test_two_directions_are_of_one_width():
    with pytest.raises(ValueError, match=r"^states has D=3; two directions have an ev"):
        end_states(torch.zeros(B, T, 3))


def test_a_mask_is_called_by_its_name():
    with pytest.raises(ValueError, match=r"^source_mask is False throughout in rows"):
        check_mask("source_mask", torch.zeros(1, 2).bool(), 1, 2)
