"""The gradient's horizon: equal to autograd's, and to the powers of a matrix."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.evaluation.gradients import ACTIVATIONS, horizon, jacobian_norms
from unrolled.layers.initialise import two_by_two
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.variants import ReLUCell, SigmoidCell


def by_autograd(step, start, pushes):
    """Norms of d h_T / d h_t, latest first, each from a Jacobian that torch takes."""
    states = [start]
    for push in pushes:
        states.append(step(states[-1], push))

    def rest(h, t):
        for push in pushes[t:]:
            h = step(h, push)
        return h

    jacobian = torch.autograd.functional.jacobian
    return torch.stack(
        [
            torch.linalg.matrix_norm(jacobian(lambda h, t=t: rest(h, t), states[t]), 2)
            for t in reversed(range(len(states)))
        ]
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))
def test_the_horizon_agrees_with_autograd(activation, D, T, seed):
    torch.manual_seed(seed)
    W = torch.randn(D, D, dtype=torch.float64)
    pushes = torch.randn(T, D, dtype=torch.float64)
    phi, _ = ACTIVATIONS[activation]
    start = torch.zeros(D, dtype=torch.float64)
    expected = by_autograd(lambda h, push: phi(push + h @ W), start, pushes)
    torch.testing.assert_close(
        horizon(W, pushes, activation), expected, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("kind", [RNNCell, ReLUCell, SigmoidCell])
def test_a_cell_agrees_with_autograd_row_by_row(kind):
    torch.manual_seed(0)
    cell = kind(3, 4).double()
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    found = jacobian_norms(cell, x)
    for row, norms in zip(x, found, strict=True):
        start = torch.zeros(4, dtype=torch.float64)
        expected = by_autograd(lambda h, x_t: cell(x_t[None], h[None])[0], start, row)
        torch.testing.assert_close(norms, expected.detach())


def test_a_linear_network_gives_the_powers_of_its_matrix():
    W = two_by_two(0.9, 5.2)
    norms = horizon(W, torch.zeros(30, 2, dtype=torch.float64), "linear")
    powers = [torch.linalg.matrix_norm(torch.matrix_power(W, k), 2) for k in range(31)]
    torch.testing.assert_close(norms, torch.stack(powers), rtol=1e-10, atol=1e-10)
    assert norms.max() > 10 * norms[0] > 0  # it grows before it falls
    assert norms[-1] < norms.max()


def test_unknown_activations_and_wrong_shapes_are_named():
    W, pushes = torch.eye(2), torch.zeros(3, 2)
    with pytest.raises(ValueError, match="activation='cube' must be one of linear"):
        horizon(W, pushes, "cube")
    with pytest.raises(ValueError, match=r"W_h must be \(D, D\)"):
        horizon(torch.zeros(2, 3), pushes)
    with pytest.raises(ValueError, match=r"pushes must be \(T, D\): D should be 2"):
        horizon(W, torch.zeros(3, 4))


def test_a_cell_whose_slope_is_not_known_is_refused():
    class CubeCell(RNNCell):
        def step(self, projected, h):
            return (projected + h @ self.W_h) ** 3

    with pytest.raises(ValueError, match="cell is a CubeCell; it must be one of RNN"):
        jacobian_norms(CubeCell(2, 2), torch.zeros(1, 3, 2))


@given(st.integers(1, 6), st.integers(2, 9), st.integers(0, 99))
def test_the_jacobian_of_a_linear_network_is_a_power_of_its_matrix(D, T, seed):
    torch.manual_seed(seed)
    W = torch.randn(D, D, dtype=torch.float64) / D**0.5

    def last(h):
        for _ in range(T - 1):
            h = h @ W
        return h

    start = torch.zeros(D, dtype=torch.float64)
    found = torch.autograd.functional.jacobian(last, start).T  # rows: nudge of h_1
    power = torch.linalg.matrix_power(W, T - 1)
    torch.testing.assert_close(found, power, rtol=1e-10, atol=1e-10)
    # and a gradient that autograd carries back is the same product, transposed
    h = torch.randn(D, dtype=torch.float64, requires_grad=True)
    error = torch.randn(D, dtype=torch.float64)
    last(h).backward(error)
    torch.testing.assert_close(h.grad, error @ power.T, rtol=1e-10, atol=1e-10)
