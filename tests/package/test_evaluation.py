"""Where maps come to rest, and what models cost."""

import math

import pytest
import torch
from torch import nn

from unrolled.evaluation.counting import count_parameters, sequential_depth
from unrolled.evaluation.dynamics import basins, plane, portrait
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll


def rest_of_tanh(w: float) -> float:
    """The positive solution of h = tanh(w h), by bisection."""
    low, high = 0.1, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.tanh(w * middle) > middle else (low, middle)
    return low


def test_tanh_of_twice_h_rests_at_two_points():
    starts = torch.linspace(-1, 1, 10)[:, None]  # zero, which repels, is not among them
    found = basins(lambda h: torch.tanh(2 * h), starts)
    h = rest_of_tanh(2)
    torch.testing.assert_close(found.points, torch.tensor([[-h], [h]]))
    assert found.owner.tolist() == [0] * 5 + [1] * 5


def test_tanh_of_half_h_rests_at_zero_alone():
    found = basins(lambda h: torch.tanh(0.5 * h), torch.linspace(-1, 1, 9)[:, None])
    torch.testing.assert_close(found.points, torch.zeros(1, 1))
    assert found.owner.tolist() == [0] * 9


def test_in_the_plane_the_attractors_are_the_four_corners():
    starts = plane(10)
    found = basins(lambda h: torch.tanh(2 * h), starts)
    h = rest_of_tanh(2)
    corners = torch.tensor([[-h, -h], [-h, h], [h, -h], [h, h]])
    torch.testing.assert_close(found.points, corners)
    quadrant = 2 * (starts[:, 0] > 0) + (starts[:, 1] > 0)
    assert torch.equal(found.owner, quadrant)


def test_a_start_on_the_ridge_rests_there():
    found = basins(lambda h: torch.tanh(2 * h), torch.tensor([[0.0], [0.5]]))
    assert found.points[0].item() == 0
    assert found.owner.tolist() == [0, 1]


def test_a_rotation_never_rests():
    turn = torch.tensor([[math.cos(1), math.sin(1)], [-math.sin(1), math.cos(1)]])
    found = basins(lambda h: h @ turn, torch.tensor([[1.0, 0.0], [0.0, 0.5]]))
    assert found.points.shape == (0, 2)
    assert found.owner.tolist() == [-1, -1]


@pytest.mark.parametrize("n_steps", [100, 101])  # whichever end it is seen at
def test_a_cycle_of_two_belongs_to_no_attractor(n_steps):
    # h -> −tanh(2h) swaps its two outer points for ever, and zero stands still.
    starts = torch.tensor([[0.0], [0.5]])
    found = basins(lambda h: -torch.tanh(2 * h), starts, n_steps=n_steps)
    assert found.points.tolist() == [[0.0]]
    assert found.owner.tolist() == [0, -1]


@pytest.mark.parametrize("w", [0.999, 1.0])
def test_a_slow_drift_belongs_to_no_attractor(w):
    # h -> tanh(w h) has one resting point, zero, and creeps towards it for ages.
    starts = torch.linspace(-1, 1, 9)[:, None]
    found = basins(lambda h: torch.tanh(w * h), starts)
    assert found.points.tolist() == [[0.0]]
    assert found.owner.tolist() == [-1] * 4 + [0] + [-1] * 4


def test_given_time_the_drift_arrives():
    starts = torch.linspace(-1, 1, 9)[:, None]
    found = basins(lambda h: torch.tanh(0.999 * h), starts, n_steps=6000)
    torch.testing.assert_close(found.points, torch.zeros(1, 1), rtol=0, atol=1e-4)
    assert found.owner.tolist() == [0] * 9


def test_points_that_are_close_count_as_one():
    starts = torch.tensor([[0.0], [0.004], [0.5]])
    found = basins(lambda h: h, starts, n_steps=1, apart=0.01)
    assert found.points.tolist() == [[0.0], [0.5]]
    assert found.owner.tolist() == [0, 0, 1]


def test_the_plane_is_indexed_by_x_then_y():
    grid = plane(3, limit=2.0).reshape(3, 3, 2)
    assert grid[2, 0].tolist() == [2.0, -2.0]
    assert grid[0, 1].tolist() == [-2.0, 0.0]


def test_a_portrait_shows_silent_steps_and_one_journey():
    cell = RNNCell(3, 2)
    x = torch.randn(5, 3)
    shown = portrait(cell, x, n_grid=4)
    assert shown.starts.shape == shown.after.shape == (16, 2)
    torch.testing.assert_close(
        shown.after, cell(torch.zeros(16, 3), shown.starts).detach()
    )
    torch.testing.assert_close(shown.path, unroll(cell, x[None])[0][0].detach())
    rest = shown.basins.points
    assert len(rest) >= 1
    torch.testing.assert_close(
        cell(torch.zeros(len(rest), 3), rest).detach(), rest, rtol=0, atol=1e-4
    )
    assert not any(t.requires_grad for t in (shown.after, shown.path, rest))


def test_a_portrait_is_of_the_cells_own_kind_of_numbers(device):
    cell = RNNCell(3, 2).to(device, torch.float64)
    shown = portrait(cell, torch.randn(5, 3, dtype=torch.float64).to(device), n_grid=4)
    for tensor in (shown.starts, shown.after, shown.path, shown.basins.points):
        assert tensor.dtype == torch.float64
        assert tensor.device.type == device.type
    assert shown.basins.owner.dtype == torch.int64
    assert shown.basins.owner.device.type == device.type


def test_where_nothing_rests_the_owners_are_still_on_the_device_of_the_starts(device):
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], device=device)
    owner = basins(lambda h: h @ turn, torch.ones(1, 2, device=device)).owner
    assert (owner.dtype, owner.device.type) == (torch.int64, device.type)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(4, 3), r"^x must be \(T, E\): E should be 2, got 3"),
        (torch.zeros(1, 4, 2), r"^x must be \(T, E\): expected 2 axes, got 3"),
        (torch.zeros(4, 2).double(), "^x is torch.float64 and the weights are"),
    ],
)
def test_a_portrait_names_what_is_wrong_with_its_journey(x, message):
    with pytest.raises(ValueError, match=message):
        portrait(RNNCell(2, 2), x)


def test_a_portrait_needs_a_plane():
    with pytest.raises(ValueError, match="a plane needs two units, and the cell has 3"):
        portrait(RNNCell(2, 3), torch.zeros(4, 2))


def test_frozen_weights_are_not_counted():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    assert count_parameters(model) == 3 * 4 + 4 + 4 * 2 + 2
    model[0].requires_grad_(False)
    assert count_parameters(model) == 4 * 2 + 2


def tanh_chain(x, n):
    for _ in range(n):
        x = torch.tanh(x)
    return x


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_chain_is_as_deep_as_it_is_long(n):
    x = torch.ones(2, requires_grad=True)
    assert sequential_depth(tanh_chain(x, n), of="Tanh") == n


def test_of_two_branches_the_longer_counts():
    x = torch.ones(2, requires_grad=True)
    y = tanh_chain(x, 5) + tanh_chain(x, 2)
    assert sequential_depth(y, of="Tanh") == 5
    assert sequential_depth(torch.tanh(y), of="Tanh") == 6


def test_without_a_name_every_operation_counts():
    x = torch.ones(2, requires_grad=True)
    # tanh and add after the leaf's own node, which gathers the gradient
    assert sequential_depth(torch.tanh(x) + 1) == 3
    assert sequential_depth(torch.tanh(x) + 1, of="Sin") == 0


def test_a_graph_that_meets_itself_again_and_again_is_walked_once():
    x = torch.ones(2, requires_grad=True)
    for _ in range(200):  # two ways at each step: 2²⁰⁰ paths
        x = x.sin() + x.tanh()
    assert sequential_depth(x, of="Tanh") == 200


def test_a_chain_longer_than_pythons_stack_is_walked():
    x = torch.ones(1, requires_grad=True)
    assert sequential_depth(tanh_chain(x, 5000), of="Tanh") == 5000


def test_without_a_graph_there_is_nothing_to_read():
    with pytest.raises(ValueError, match="y was computed without a graph"):
        sequential_depth(torch.ones(2))
