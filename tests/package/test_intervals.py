"""Bootstrap intervals: how often they cover a truth that is known."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.evaluation.intervals import (
    Interval,
    bootstrap,
    draw_places,
    paired_difference,
)
from unrolled.runtime import generator


def coverage(series, truth, **settings):
    """Return how often the interval of a row's mean holds the truth."""
    draws = generator(1)
    hits = [truth in bootstrap(row, generator=draws, **settings) for row in series]
    return sum(hits) / len(hits)


def autoregressive(n_rows, n, memory, *, generator):
    """Return rows of x_t = memory * x_(t-1) + noise, from their long-run law."""
    noise = torch.randn(n_rows, n, generator=generator)
    x = [noise[:, 0] / math.sqrt(1 - memory**2)]
    for t in range(1, n):
        x.append(memory * x[-1] + noise[:, t])
    return torch.stack(x, dim=1)


@pytest.mark.parametrize(
    ("kind", "truth", "level", "wanted"),
    [
        ("normal", 3.0, 0.8, 0.796),
        ("normal", 3.0, 0.95, 0.943),
        ("uniform", 0.5, 0.8, 0.792),
        ("uniform", 0.5, 0.95, 0.941),
        ("coin", 0.3, 0.8, 0.844),  # shares of 60 are coarse: the ends lie on a grid
        ("coin", 0.3, 0.95, 0.958),
    ],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(kind, truth, level, wanted):
    """``wanted`` was measured over 4,000 samples; here are 400, within 3.3 errors."""
    draw = generator(0)
    if kind == "normal":
        samples = torch.randn(400, 60, generator=draw) + truth
    else:
        samples = torch.rand(400, 60, generator=draw)
    if kind == "coin":
        samples = (samples < truth).float()
    found = coverage(samples, truth, level=level, n_draws=400)
    assert found == pytest.approx(
        wanted, abs=3.3 * math.sqrt(wanted * (1 - wanted) / 400)
    )


def test_of_five_values_it_covers_less_than_it_says():
    found = coverage(torch.randn(600, 5, generator=generator(0)), 0.0, n_draws=400)
    assert found == pytest.approx(0.83, abs=0.04)


def test_of_a_mean_it_is_the_textbooks_interval():
    values = torch.randn(400, generator=generator(0))
    found = bootstrap(values, generator=generator(1), n_draws=20_000)
    half = 1.96 * values.std(correction=0).item() / 20
    assert found.estimate == pytest.approx(values.mean().item(), abs=1e-6)
    assert found.low == pytest.approx(found.estimate - half, abs=0.005)
    assert found.high == pytest.approx(found.estimate + half, abs=0.005)


def test_blocks_cover_a_series_with_a_memory_and_single_values_do_not():
    series = autoregressive(300, 400, 0.8, generator=generator(0))
    alone = coverage(series, 0.0, n_draws=300)
    blocks = coverage(series, 0.0, n_draws=300, block=25)
    assert alone < 0.65
    assert blocks > 0.84


def test_pairs_are_far_surer_than_two_samples():
    draw = generator(0)
    hard = 10 * torch.randn(100, generator=draw)  # some sentences are hard for both
    one = hard + 0.5 + 0.1 * torch.randn(100, generator=draw)
    two = hard + 0.1 * torch.randn(100, generator=draw)
    found = paired_difference(one, two, generator=generator(1))
    assert 0.5 in found
    assert found.high - found.low < 0.1
    alone = bootstrap(one, generator=generator(1))
    assert alone.high - alone.low > 3


@given(st.integers(0, 99))
def test_a_paired_difference_of_means_is_the_bootstrap_of_differences(seed):
    one, two = torch.randn(2, 20, generator=generator(seed)).double()
    paired = paired_difference(one, two, generator=generator(seed), n_draws=50)
    single = bootstrap(one - two, generator=generator(seed), n_draws=50)
    for name in ("estimate", "low", "high"):
        assert getattr(paired, name) == pytest.approx(getattr(single, name), abs=1e-12)


def test_paired_differences_come_in_blocks_too():
    one, two = autoregressive(2, 300, 0.9, generator=generator(0))
    narrow = paired_difference(one, two, generator=generator(0))
    wide = paired_difference(one, two, generator=generator(0), block=30)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_any_statistic_of_any_rows():
    """F1 of a corpus: a ratio of sums, from (right, found, wanted) of each row."""
    rows = torch.tensor([[2.0, 3.0, 4.0], [1.0, 1.0, 1.0], [0.0, 2.0, 1.0]] * 20)

    def f1(draws):
        right, found, wanted = draws.sum(dim=1).T
        return 2 * right / (found + wanted)

    interval = bootstrap(rows, f1, generator=generator(0))
    assert interval.estimate == pytest.approx(0.5)
    assert 0.3 < interval.low < 0.5 < interval.high < 0.7
    median = bootstrap(
        torch.arange(101.0), lambda d: d.median(dim=1).values, generator=generator(0)
    )
    assert median.estimate == 50
    assert 20 < median.low < 50 < median.high < 80


@given(st.integers(1, 12), st.data())
def test_blocks_are_runs_on_a_circle(n, data):
    block = data.draw(st.integers(1, n))
    places = draw_places(n, 30, block=block, generator=generator(0))
    assert places.shape == (30, n)
    for row in places.tolist():
        for start in range(0, n, block):
            run = row[start : start + block]
            assert run == [(run[0] + k) % n for k in range(len(run))]


def test_every_place_is_drawn_alike_even_at_the_ends():
    places = draw_places(12, 5000, block=5, generator=generator(0))
    share = torch.bincount(places.flatten()) / 5000
    torch.testing.assert_close(share, torch.ones(12), atol=0.06, rtol=0)


def test_many_values_are_drawn_in_parts():
    values = torch.ones(3_000_000)
    values[::2] = 0
    found = bootstrap(values, generator=generator(0), n_draws=3)
    assert found.low <= found.high
    assert found.estimate == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5, abs=0.002)


def test_the_same_seed_gives_the_same_interval():
    values = torch.randn(30)
    one, two, other = (
        bootstrap(values, generator=generator(seed)) for seed in (0, 0, 1)
    )
    assert one == two
    assert one != other


def test_an_interval_holds_its_ends():
    interval = Interval(estimate=1.0, low=0.0, high=2.0)
    assert 0.0 in interval
    assert 2.0 in interval
    assert 2.1 not in interval


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 1.0}, r"^level=1.0 must be between 0 and 1$"),
        ({"level": 95}, r"^level=95 must be between 0 and 1$"),
        ({"n_draws": 0}, r"^n_draws=0 must be at least 1$"),
        ({"block": 0}, r"^block=0 must be at least 1$"),
        ({"block": 5}, r"^block=5 must be at most the number of values, 4$"),
        ({"values": torch.ones(0)}, r"^values has 0 values; there must be at least on"),
    ],
)
def test_mistakes_are_named(settings, message):
    given = {"values": torch.ones(4), "generator": generator(0)} | settings
    with pytest.raises(ValueError, match=message):
        bootstrap(**given)


def test_pairs_must_pair_off():
    message = r"^one has 3 values and two has 2 values; there must be at least one, and"
    with pytest.raises(ValueError, match=message):
        paired_difference(torch.ones(3), torch.ones(2), generator=generator(0))
