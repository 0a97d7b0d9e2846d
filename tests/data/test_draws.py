"""The few things every generator of made data needs."""

from collections import Counter
from itertools import islice, pairwise

import pytest
import torch

from unrolled.data.made.draws import AHEAD, choose, stream, stream_batches
from unrolled.data.made.recall import recall
from unrolled.runtime import generator


def test_a_stream_draws_afresh_each_time_with_the_same_settings():
    calls = []

    def draw(n: int, *, scale: float) -> float:
        calls.append((n, scale))
        return len(calls) * scale

    assert list(islice(stream(draw, 3, scale=0.5), 4)) == [0.5, 1.0, 1.5, 2.0]
    assert calls == [(3, 0.5)] * 4  # and none before it was asked for


def test_a_stream_moves_its_generator_on():
    drawn = stream(torch.rand, 3, generator=generator(0))
    first, second = next(drawn), next(drawn)
    assert not torch.equal(first, second)
    both = torch.rand(6, generator=generator(0))
    assert torch.equal(torch.cat([first, second]), both)


def test_choose_draws_every_option_alike_and_with_replacement():
    drawn = choose("abcd", 8000, generator=generator(1))
    counts = Counter(drawn)
    assert set(counts) == set("abcd")
    assert all(abs(n / 8000 - 1 / 4) < 0.02 for n in counts.values())
    followers = Counter(pairwise(drawn))
    assert all(abs(n / 7999 - 1 / 16) < 0.02 for n in followers.values())
    assert len(followers) == 16
    assert choose("abcd", 8000, generator=generator(1)) == drawn
    assert choose([7], 3, generator=generator(0)) == [7, 7, 7]
    assert choose("abcd", 0, generator=generator(0)) == []


def test_nothing_to_choose_from_is_named():
    with pytest.raises(
        ValueError, match="options is empty: there is nothing to choose"
    ):
        choose([], 2, generator=generator(0))


def test_batches_drawn_many_at_once_are_all_there_and_in_order():
    drawn = stream_batches(recall, 3, 5, generator=generator(0))
    found = list(islice(drawn, AHEAD + 1))
    assert all(batch.x.shape == (3, 6, 10) for batch in found)
    again = generator(0)
    at_once = recall(3 * AHEAD, 5, generator=again)
    assert torch.equal(torch.cat([batch.x for batch in found[:-1]]), at_once.x)
    assert torch.equal(torch.cat([batch.y for batch in found[:-1]]), at_once.y)
    assert torch.equal(found[-1].x, recall(3 * AHEAD, 5, generator=again).x[:3])
