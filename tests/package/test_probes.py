"""A read-out in closed form: finds what is there, however faint, and nothing else."""

import random

import numpy as np
import pytest
import torch

from unrolled.evaluation.probes import probe_accuracy


def letters(n_rows, *, scale=1.0, seed=0):
    """Three letters as directions in a plane of five axes, and noise in the others."""
    torch.manual_seed(seed)
    y = torch.randint(3, (n_rows,))
    h = torch.randn(n_rows, 5)
    h[:, :3] = scale * torch.eye(3)[y]
    return h, y


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_a_trace_is_found_however_faint(scale):
    train, test = letters(300, scale=scale), letters(100, scale=scale, seed=1)
    assert probe_accuracy(*train, *test) == 1.0


def test_it_finds_the_same_whatever_was_in_memory_before():
    train, test = letters(300, scale=1e-6), letters(100, scale=1e-6, seed=1)
    found, draws = set(), random.Random(0)
    for _ in range(1000):
        sizes = [draws.randint(1, 40) for _ in range(50)]
        leftovers = [torch.full((n,), 2**30, dtype=torch.int32) for n in sizes]
        leftovers += [torch.full((n,), 1e300, dtype=torch.double) for n in sizes]
        del leftovers
        found.add(probe_accuracy(*train, *test))
    assert found == {1.0}


def test_what_is_not_there_is_not_found():
    (h, _), (other, y) = letters(600), letters(400, seed=1)
    torch.manual_seed(2)
    found = probe_accuracy(h, torch.randint(3, (600,)), other, y)
    assert abs(found - 1 / 3) < 0.15


def test_it_is_numpys_least_squares_with_a_bias():
    torch.manual_seed(0)
    h, y = torch.randn(40, 4) + 3, torch.randint(3, (40,))
    test, answers = torch.randn(30, 4) + 3, torch.randint(3, (30,))
    design = np.hstack([h.double().numpy(), np.ones((40, 1))])
    weights = np.linalg.lstsq(design, np.eye(3)[y.numpy()], rcond=None)[0]
    scores = np.hstack([test.double().numpy(), np.ones((30, 1))]) @ weights
    expected = (scores.argmax(1) == answers.numpy()).mean()
    assert probe_accuracy(h, y, test, answers) == pytest.approx(expected)


def test_rows_that_do_not_fit_are_named():
    h, y = letters(10)
    with pytest.raises(ValueError, match=r"test_states must be \(B, D\)"):
        probe_accuracy(h, y, h[:, :3], y)
    with pytest.raises(ValueError, match=r"answers must be \(B\): B should be 10"):
        probe_accuracy(h, y[:5], h, y)
