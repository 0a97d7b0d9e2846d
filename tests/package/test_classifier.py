"""Cells with other squashing functions, and one answer for a whole sequence."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.layers.variants import ReLUCell, SigmoidCell
from unrolled.models.classifier import Classifier

sizes = st.integers(1, 5)


@given(sizes, sizes, sizes, sizes, st.integers(0, 99))
def test_a_relu_cell_agrees_with_torch(B, T, E, D, seed):
    torch.manual_seed(seed)
    ours, theirs = ReLUCell(E, D).double(), nn.RNN(E, D, nonlinearity="relu").double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.W_x.T), theirs.weight_hh_l0.copy_(ours.W_h.T)
        theirs.bias_ih_l0.copy_(ours.b), theirs.bias_hh_l0.zero_()
    x = torch.randn(B, T, E, dtype=torch.float64)
    states, last = unroll(ours, x)
    expected, hn = theirs(x.transpose(0, 1))
    torch.testing.assert_close(states, expected.transpose(0, 1), rtol=0, atol=1e-10)
    torch.testing.assert_close(last, hn[0], rtol=0, atol=1e-10)
    states.square().sum().backward(), expected.square().sum().backward()
    pairs = [(ours.W_x.grad.T, theirs.weight_ih_l0.grad),
             (ours.W_h.grad.T, theirs.weight_hh_l0.grad),
             (ours.b.grad, theirs.bias_ih_l0.grad)]  # fmt: skip
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_a_sigmoid_cell_is_half_of_a_tanh_cell_that_thinks_in_doubles():
    # sigmoid(z) = (1 + tanh(z / 2)) / 2, an oracle that shares no code with ours
    cell, x, h = SigmoidCell(3, 4), torch.randn(2, 3), torch.rand(2, 4)
    a = x @ cell.W_x + h @ cell.W_h + cell.b
    torch.testing.assert_close(cell(x, h), (1 + torch.tanh(a / 2)) / 2)


def test_a_classifier_reads_the_last_real_state_and_no_padding():
    torch.manual_seed(0)
    model = Classifier(RNNCell(3, 4), n_classes=5)
    x, lengths = torch.randn(3, 6, 3), torch.tensor([6, 2, 4])
    found = model(x, lengths)
    assert found.shape == (3, 5)
    for row, n, logits in zip(x, lengths, found, strict=True):
        alone = model(row[None, :n])[0]
        torch.testing.assert_close(logits, alone)
    torch.testing.assert_close(model(x)[0], found[0])
    assert not torch.allclose(model(x)[1], found[1])


def test_a_classifier_learns_to_name_the_first_of_two_symbols():
    torch.manual_seed(0)
    model = Classifier(RNNCell(2, 8), n_classes=2)
    y = torch.arange(2)
    x = torch.stack([torch.eye(2), torch.zeros(2, 2)], dim=1)  # a symbol, then nothing
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    assert torch.equal(model(x).argmax(1), y)


def test_a_classifier_of_one_class_is_refused():
    with pytest.raises(ValueError, match="n_classes=1 must be at least 2"):
        Classifier(RNNCell(2, 2), n_classes=1)
