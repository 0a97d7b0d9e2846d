"""Truncated backpropagation: the same states, and no gradient across a border."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.layers.stacks import RNN
from unrolled.layers.windows import unroll_in_windows

sizes = st.integers(1, 4)


@given(sizes, st.integers(1, 9), sizes, st.integers(1, 10), st.integers(0, 99))
def test_states_are_those_of_reading_at_once_and_blame_stops_at_the_border(
    B, T, n_layers, window, seed
):
    torch.manual_seed(seed)
    rnn = RNN(2, 3, n_layers=n_layers).double()
    x = torch.randn(B, T, 2, dtype=torch.float64, requires_grad=True)
    h_0 = torch.randn(n_layers, B, 3, dtype=torch.float64)
    whole, last = rnn(x, h_0)
    cut, cut_last = unroll_in_windows(rnn, x, h_0, window=window)
    torch.testing.assert_close(cut, whole, rtol=0, atol=1e-10)
    torch.testing.assert_close(cut_last, last, rtol=0, atol=1e-10)
    assert not cut_last.requires_grad

    border = (T - 1) // window * window  # where the last window begins
    seen = torch.autograd.grad(cut[:, -1].square().sum(), x)[0]
    assert not seen[:, :border].any()
    start = rnn(x[:, :border], h_0)[1].detach() if border else h_0
    alone = rnn(x[:, border:], start)[0][:, -1].square().sum()
    expected = torch.autograd.grad(alone, x)[0]
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-10)
    assert seen[:, border:].any()


def test_a_window_as_long_as_the_sequence_cuts_nothing():
    torch.manual_seed(0)
    rnn, x = RNN(2, 3), torch.randn(2, 6, 2)
    pairs = [rnn(x)[0], unroll_in_windows(rnn, x, window=6)[0]]
    gradients = [
        torch.autograd.grad(states.square().sum(), list(rnn.parameters()))
        for states in pairs
    ]
    for full, cut in zip(*gradients, strict=True):
        torch.testing.assert_close(cut, full)


def test_a_shorter_window_gives_another_gradient():
    torch.manual_seed(0)
    rnn, x = RNN(2, 3), torch.randn(2, 6, 2)
    loss = [
        s.square().sum() for s in (rnn(x)[0], unroll_in_windows(rnn, x, window=2)[0])
    ]
    full, cut = (torch.autograd.grad(value, rnn.cells[0].W_h)[0] for value in loss)
    assert not torch.allclose(full, cut, rtol=1e-3)


def test_windows_without_steps_are_refused():
    rnn = RNN(2, 3)
    with pytest.raises(ValueError, match="window=0 must be at least 1"):
        unroll_in_windows(rnn, torch.zeros(1, 4, 2), window=0)
    with pytest.raises(ValueError, match="x has no time steps"):
        unroll_in_windows(rnn, torch.zeros(1, 0, 2), window=2)
