"""Positions: clocks that turn, tables that are read, and rotations that cancel."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.layers.positions import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    count_positions,
    halves_from_pairs,
    sinusoids,
)

B, T, H, K, D = 2, 7, 3, 6, 8


@given(n_positions=st.integers(1, 40), d_model=st.integers(1, 9))
def test_a_sinusoid_is_what_the_formula_says(n_positions, d_model):
    table = sinusoids(n_positions, d_model)
    assert table.shape == (n_positions, d_model)
    for t in range(n_positions):
        for column in range(d_model):
            angle = t / 10_000 ** (2 * (column // 2) / d_model)
            wanted = math.cos(angle) if column % 2 else math.sin(angle)
            assert abs(table[t, column].item() - wanted) < 1e-12


@pytest.mark.parametrize("k", [0, 1, 5, 100])
@pytest.mark.parametrize("d_model", [2, 6, 7])
def test_a_step_of_k_is_a_rotation_that_does_not_depend_on_where(k, d_model, agree):
    table = sinusoids(120, d_model)
    n_pairs = d_model // 2  # an odd width ends in a sine that has no cosine
    R = torch.zeros(2 * n_pairs, 2 * n_pairs, dtype=torch.float64)
    for i in range(n_pairs):
        angle = k / 10_000 ** (2 * i / d_model)
        c, s = math.cos(angle), math.sin(angle)
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = R.new_tensor([[c, -s], [s, c]])
    whole = table[:, : 2 * n_pairs]
    agree(whole[: 120 - k] @ R, whole[k:])
    agree(R @ R.T, torch.eye(2 * n_pairs, dtype=torch.float64))


def test_the_base_says_how_slow_the_slowest_clock_is(agree):
    slowest = sinusoids(50, 4, base=100.0)[:, 2]
    agree(slowest, (torch.arange(50, dtype=torch.float64) / 10).sin())


@pytest.mark.parametrize("make", [SinusoidalPositions, LearnedPositions])
def test_a_table_is_read_at_the_positions(make, device):
    module = make(10, D).to(device)
    positions = torch.tensor([[0, 3, 9], [1, 1, 2]], device=device)
    found = module(positions)
    assert found.shape == (2, 3, D)
    assert torch.equal(found[0, 1], module.table[3])
    assert torch.equal(found[1, 0], found[1, 1])
    assert torch.equal(module(positions[0]), found[0])


def test_sinusoids_are_not_learned_and_not_stored():
    module = SinusoidalPositions(10, D)
    assert not list(module.parameters())
    assert not module.state_dict()
    assert module.table.dtype == torch.float32
    exact = SinusoidalPositions(10, D, dtype=torch.float64)
    assert torch.equal(exact.table, sinusoids(10, D))


def test_only_the_positions_that_were_seen_learn():
    module = LearnedPositions(5, D)
    module(torch.tensor([[1, 3], [3, 3]])).sum().backward()
    assert module.table.grad[:, 0].tolist() == [0, 1, 0, 3, 0]
    assert 0 < module.table.std() < 0.05


@pytest.mark.parametrize(
    ("real", "wanted"),
    [
        ([1, 1, 1], [0, 1, 2]),
        ([0, 0, 1, 1], [0, 0, 0, 1]),
        ([1, 1, 0, 0], [0, 1, 1, 1]),
        ([0, 0], [0, 0]),
    ],
)
def test_padding_counts_for_nothing(real, wanted):
    assert count_positions(torch.tensor([real]).bool()).tolist() == [wanted]


def turned_as_complex_numbers(x, positions, base=10_000.0):
    """Rotate by an independent road: the pair (a, b) is the number a + bi."""
    half = x.shape[-1] // 2
    numbers = torch.complex(x[..., :half].double(), x[..., half:].double())
    angles = positions[..., None] * exact_rates(half, base)
    angles = angles.unsqueeze(-2)  # all heads alike
    turned = numbers * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)


def exact_rates(half, base):
    return torch.tensor([base ** (-i / half) for i in range(half)], dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=40)
@given(
    d_head=st.integers(1, 5).map(lambda n: 2 * n),
    base=st.sampled_from([10.0, 10_000.0, 100_000.0]),
    offset=st.integers(0, 8),
    own_rows=st.booleans(),
    seed=st.integers(0, 99),
)
def test_rotations_are_products_of_complex_numbers(
    dtype, agree, d_head, base, offset, own_rows, seed
):
    torch.manual_seed(seed)
    x = torch.randn(B, T, H, d_head, dtype=dtype, requires_grad=True)
    positions = torch.arange(offset, offset + T)
    if own_rows:
        positions = torch.randint(0, 16, (B, T))
    rotary = RotaryPositions(16, d_head, base=base, dtype=dtype)
    ours = rotary(positions)(x)
    theirs = turned_as_complex_numbers(x, positions, base)
    agree(ours, theirs)
    upstream = torch.randn_like(ours)
    grads = [torch.autograd.grad(y, x, upstream)[0] for y in (ours, theirs)]
    agree(*grads, gradient=True)


def test_queries_and_keys_meet_by_distance(agree):
    rotary = RotaryPositions(64, K, dtype=torch.float64)
    q, k = torch.randn(2, 1, 1, 1, K, dtype=torch.float64)

    def score(t, s):
        here, there = rotary(torch.tensor([t])), rotary(torch.tensor([s]))
        return here(q) @ there(k).mT

    for distance in (0, 1, 7):
        for s in (0, 3, 50):
            agree(score(s + distance, s), score(distance, 0))
    assert not torch.allclose(score(3, 0), score(0, 3))  # before is not after


def test_a_rotation_keeps_lengths_and_position_0_keeps_all(agree):
    rotary = RotaryPositions(16, K, dtype=torch.float64)
    x = torch.randn(B, T, H, K, dtype=torch.float64)
    turned = rotary(torch.arange(T))(x)
    agree(turned.norm(dim=-1), x.norm(dim=-1))
    agree(turned[:, 0], x[:, 0])


def test_after_a_cache_the_angles_go_on(agree):
    rotary, x = RotaryPositions(16, K), torch.randn(B, T, H, K)
    whole = rotary(torch.arange(T))(x)
    assert torch.equal(rotary(torch.arange(4, T))(x[:, 4:]), whole[:, 4:])


def test_weights_made_for_pairs_give_the_same_scores(agree):
    W_q, W_k = torch.randn(2, H * K, D, dtype=torch.float64)
    x, positions = torch.randn(B, T, D, dtype=torch.float64), torch.arange(T)

    def heads(W):
        return (x @ W.T).unflatten(-1, (H, K))  # (B, T, H, K)

    def scores(q, k):
        return q.transpose(1, 2) @ k.transpose(1, 2).mT

    def turned_in_pairs(y):  # the convention of the paper: 2i and 2i + 1
        numbers = torch.view_as_complex(y.unflatten(-1, (-1, 2)).contiguous())
        angles = positions[:, None, None] * exact_rates(K // 2, 10_000.0)
        return torch.view_as_real(numbers * torch.polar(angles**0, angles)).flatten(-2)

    rotate = RotaryPositions(16, K, dtype=torch.float64)(positions)
    wanted = scores(*(turned_in_pairs(heads(W)) for W in (W_q, W_k)))
    q, k = (rotate(heads(halves_from_pairs(W, H))) for W in (W_q, W_k))
    agree(scores(q, k), wanted)
    wrong = scores(*(rotate(heads(W)) for W in (W_q, W_k)))
    assert not torch.allclose(wrong, wanted)
    bias = torch.arange(8)
    assert halves_from_pairs(bias, 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_no_device_is_named_inside_and_the_compiler_takes_all(agree):
    positions, x = torch.arange(T), torch.randn(B, T, H, K)
    modules = [SinusoidalPositions(T, K), LearnedPositions(T, K), RotaryPositions(T, K)]

    def run(positions, x):
        clocks, table, rotary = modules
        added = clocks(positions) + table(positions)  # (T, K)
        return rotary(positions)(x) + added[:, None]

    compiled = torch.compile(run, fullgraph=True, backend="eager")
    agree(compiled(positions, x), run(positions, x))
    for module in modules:
        module.to("meta")
    y = run(positions.to("meta"), x.to("meta"))
    assert y.is_meta
    assert y.shape == x.shape


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sinusoids(0, 4), "^n_positions=0 must be at least 1$"),
        (lambda: SinusoidalPositions(4, 0), "^d_model=0 must be at least 1$"),
        (lambda: LearnedPositions(0, 4), "^n_positions=0 must be at least 1$"),
        (
            lambda: RotaryPositions(8, 5),
            "^d_head=5 must be even: rotations turn pairs of numbers$",
        ),
        (lambda: RotaryPositions(8, 0), "^d_head=0 must be at least 1$"),
    ],
)
def test_sizes_that_do_not_fit_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "module", [SinusoidalPositions(4, D), LearnedPositions(4, D), RotaryPositions(4, D)]
)
def test_a_position_beyond_the_table_is_an_error(module):
    with pytest.raises(IndexError, match="index out of range"):
        module(torch.tensor([3, 4]))
