"""Intervals of few values and of many: how often they cover a truth that is known."""

import math

import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.evaluation.intervals import (
    Interval,
    bootstrap,
    draw_places,
    paired_difference,
    paired_t_interval,
    student_quantile,
    t_interval,
    unpaired_t_interval,
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


def test_of_three_values_it_covers_less_still():
    found = coverage(torch.randn(600, 3, generator=generator(0)), 0.0, n_draws=400)
    assert found == pytest.approx(0.73, abs=0.05)


@settings(max_examples=60)
@given(
    st.integers(1, 40) | st.sampled_from([99, 100, 1001, 20_000]),
    st.floats(0.01, 0.999),
)
def test_students_quantile_is_scipys(n_free, level):
    wanted = scipy.stats.t.ppf((1 + level) / 2, n_free)
    assert student_quantile(n_free, level) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=40)
@given(st.integers(2, 30), st.floats(0.1, 0.999), st.integers(0, 99))
def test_students_interval_is_scipys(dtype, n, level, seed):
    values = torch.randn(n, generator=generator(seed)).to(dtype) * 3 + 7
    found = t_interval(values, level=level)
    middle, error = values.double().mean().item(), scipy.stats.sem(values.double())
    low, high = scipy.stats.t.interval(level, n - 1, loc=middle, scale=error)
    assert found.estimate == pytest.approx(middle, abs=1e-10)
    assert found.low == pytest.approx(low, abs=1e-10)
    assert found.high == pytest.approx(high, abs=1e-10)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_students_interval_covers_the_truth_of_few_values_as_often_as_it_says(n, level):
    samples = torch.randn(2000, n, generator=generator(n)) * 2 + 3
    share = sum(3.0 in t_interval(row, level=level) for row in samples) / 2000
    error = math.sqrt(level * (1 - level) / 2000)
    assert share == pytest.approx(level, abs=3.3 * error)


def test_no_interval_knows_of_a_seed_that_rarely_fails():
    """One in ten fails by a lot: of five seeds, most draws have seen no failure."""
    draw = generator(0)
    fails = (torch.rand(600, 5, generator=draw) < 0.1).float()
    samples = torch.randn(600, 5, generator=draw) * 0.01 - fails
    share = sum(-0.1 in t_interval(row) for row in samples) / 600
    assert share == pytest.approx(1 - 0.9**5, abs=0.06)  # not 0.95
    assert coverage(samples, -0.1, n_draws=200) < 0.5


@given(st.integers(0, 99))
def test_a_paired_t_is_that_of_the_differences(seed):
    one, two = torch.randn(2, 5, generator=generator(seed))
    found = paired_t_interval(one, two, level=0.9)
    test = scipy.stats.ttest_rel(one.double(), two.double())
    low, high = test.confidence_interval(0.9)
    assert found.low == pytest.approx(low, abs=1e-10)
    assert found.high == pytest.approx(high, abs=1e-10)
    assert (0.0 in found) == (test.pvalue >= 0.1)


def test_pairs_from_the_same_seeds_are_surer_than_two_samples():
    draw = generator(0)
    luck = torch.randn(400, 5, generator=draw)  # a seed's luck befalls both
    one = luck + 0.5 + 0.1 * torch.randn(400, 5, generator=draw)
    two = luck + 0.1 * torch.randn(400, 5, generator=draw)
    pairs = [paired_t_interval(a, b) for a, b in zip(one, two, strict=True)]
    share = sum(0.5 in found for found in pairs) / 400
    assert share == pytest.approx(0.95, abs=0.04)
    assert max(found.high - found.low for found in pairs) < 1
    widths = [found.high - found.low for found in map(t_interval, one)]
    assert sum(widths) / 400 > 2


def test_equal_values_leave_no_doubt():
    found = t_interval(torch.full((4,), 0.25))
    assert (found.estimate, found.low, found.high) == (0.25, 0.25, 0.25)


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


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [
        (torch.ones(1), 0.95, r"^n_values=1 must be at least 2$"),
        (torch.ones(3), 1.0, r"^level=1.0 must be between 0 and 1$"),
        (torch.ones(3), 95, r"^level=95 must be between 0 and 1$"),
        (torch.ones(3, 2), 0.95, r"^values must be \(N\): expected 1 axes, got 2"),
    ],
)
def test_mistakes_with_few_values_are_named(values, level, message):
    with pytest.raises(ValueError, match=message):
        t_interval(values, level=level)


def test_few_pairs_must_pair_off_too():
    message = r"^one has 3 values and two has 1 values; there must be at least one, and"
    with pytest.raises(ValueError, match=message):
        paired_t_interval(torch.ones(3), torch.ones(1))


def test_a_quantile_needs_a_degree_of_freedom():
    with pytest.raises(ValueError, match=r"^n_free=0 must be at least 1$"):
        student_quantile(0, 0.95)


def test_two_groups_of_one_size_and_spread_are_as_scipy_says():
    one = torch.tensor([1.0, 2.0, 3.0, 4.0]).double()
    two = one + 1.5  # 6 degrees of freedom, nothing to round
    right = scipy.stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
    found = unpaired_t_interval(one, two)
    assert found.estimate == pytest.approx(-1.5)
    assert (found.low, found.high) == pytest.approx((right.low, right.high))


def test_degrees_of_freedom_are_rounded_down_and_so_it_is_a_little_wider():
    draws = generator(0)
    one, two = torch.randn(5, generator=draws), 3 * torch.randn(4, generator=draws)
    test = scipy.stats.ttest_ind(one, two, equal_var=False)
    right, found = (
        test.confidence_interval(0.9),
        unpaired_t_interval(one, two, level=0.9),
    )
    assert not float(test.df).is_integer()
    ratio = student_quantile(math.floor(test.df), 0.9) / scipy.stats.t.ppf(
        0.95, test.df
    )
    wide = (right.high - right.low) * ratio
    assert ratio > 1
    assert found.high - found.low == pytest.approx(wide, rel=1e-5)


def test_groups_without_spread_have_an_interval_of_no_width():
    found = unpaired_t_interval(torch.ones(3), torch.zeros(2))
    assert (found.low, found.estimate, found.high) == (1, 1, 1)
    with pytest.raises(ValueError, match="n_two"):
        unpaired_t_interval(torch.ones(3), torch.ones(1))
