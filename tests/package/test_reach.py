"""What a stack of convolutions sees, by nudging its inputs."""

import pytest
import torch

from unrolled.evaluation.reach import inputs_seen, moves, stack
from unrolled.models.tdnn import receptive_field


def by_paths(n_delays, dilations):
    """The places that some choice of a delay in each layer adds up to."""
    places = {0}
    for n, d in zip(n_delays, dilations, strict=True):
        places = {p - k * d for p in places for k in range(n)}
    return sorted(places)


@pytest.mark.parametrize(
    ("n_delays", "dilations"),
    [
        ([1], [1]),
        ([3], [4]),
        ([2, 2], [1, 3]),
        ([3, 3, 3], [1, 2, 4]),
        ([4, 2], [2, 5]),
    ],
)
def test_what_is_seen_is_what_paths_lead_to(n_delays, dilations):
    seen = inputs_seen(n_delays, dilations, causal=True)
    assert seen == by_paths(n_delays, dilations)
    assert seen[-1] - seen[0] + 1 == receptive_field(n_delays, dilations)


def test_a_centred_stack_sees_as_far_ahead_as_back():
    assert inputs_seen([3, 3], [1, 2], causal=False) == list(range(-3, 4))


def test_moves_are_zero_beyond_the_field_and_nowhere_within():
    model = stack([3, 3], [1, 1], causal=True)
    moved = moves(model, torch.randn(9, 4, dtype=torch.float64), t=6)
    assert (moved > 0).tolist() == [False] * 2 + [True] * 5 + [False] * 2
