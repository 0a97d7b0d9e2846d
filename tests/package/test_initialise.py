"""Starting values: each does to lengths and eigenvalues what it says."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.layers.initialise import (
    identity_,
    largest_singular_value,
    orthogonal_,
    scale_to_radius_,
    spectral_radius,
    two_by_two,
)


def square(n=5):
    return torch.randn(n, n, dtype=torch.float64)


def test_an_orthogonal_matrix_changes_no_length():
    W, x = orthogonal_(square()), torch.randn(7, 5, dtype=torch.float64)
    torch.testing.assert_close((x @ W).norm(dim=1), x.norm(dim=1))


def test_the_identity_leaves_a_state_as_it_is():
    W, x = identity_(square()), torch.randn(7, 5, dtype=torch.float64)
    assert torch.equal(x @ W, x)


def test_a_parameter_is_changed_in_place():
    W = torch.nn.Parameter(torch.randn(4, 4))
    assert orthogonal_(W) is W
    assert W.requires_grad


@pytest.mark.parametrize("radius", [0.0, 0.9, 1.5])
def test_scaling_reaches_the_radius(radius):
    W = scale_to_radius_(square(), radius)
    assert spectral_radius(W) == pytest.approx(radius, abs=1e-12)


def test_the_radius_of_a_rotation_is_one_though_its_eigenvalues_are_complex():
    assert spectral_radius(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])) == pytest.approx(1)


@given(st.floats(0.01, 2), st.floats(1, 20))
def test_two_by_two_has_the_radius_and_the_stretch_asked_for(radius, factor):
    W = two_by_two(radius, radius * factor)
    # A double eigenvalue is found to about the root of the rounding error.
    assert spectral_radius(W) == pytest.approx(radius, rel=1e-6)
    assert largest_singular_value(W) == pytest.approx(radius * factor, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: identity_(torch.zeros(2, 3)), r"W must be square.*\(2, 3\)"),
        (lambda: scale_to_radius_(square(), -1.0), "radius=-1.0 must not be negative"),
        (lambda: scale_to_radius_(torch.zeros(2, 2), 1.0), "no eigenvalue but zero"),
        (lambda: two_by_two(2.0, 1.0), "radius=2.0 must lie between 0 and stretch=1.0"),
        (lambda: two_by_two(0.0, 0.0), "between 0 and stretch=0.0"),
    ],
)
def test_what_cannot_be_made_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
