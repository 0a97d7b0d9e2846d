"""The RNN cell: right numbers, right gradients, helpful complaints."""

import pytest
import torch
from torch import nn

from unrolled.layers.recurrent import RNNCell

B, E, D = 2, 3, 5


def twins(dtype, device):
    """Return our cell and torch's, with the same weights."""
    ours = RNNCell(E, D).to(device, dtype)
    theirs = nn.RNNCell(E, D).to(device, dtype)
    with torch.no_grad():
        theirs.weight_ih.copy_(ours.W_x.T)
        theirs.weight_hh.copy_(ours.W_h.T)
        theirs.bias_ih.copy_(ours.b)
        theirs.bias_hh.zero_()
    return ours, theirs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("with_h", [True, False])
def test_one_step_and_its_gradients_agree_with_torch(dtype, with_h, device, agree):
    ours, theirs = twins(dtype, device)
    x = torch.randn(B, E, dtype=dtype, device=device, requires_grad=True)
    h = torch.randn(B, D, dtype=dtype, device=device, requires_grad=True)
    upstream = torch.randn(B, D, dtype=dtype, device=device)
    state = (h,) if with_h else ()
    ours_h, theirs_h = ours(x, *state), theirs(x, *state)
    agree(ours_h, theirs_h)
    a = torch.autograd.grad(ours_h, (ours.W_x, ours.W_h, ours.b, x, *state), upstream)
    p = (theirs.weight_ih, theirs.weight_hh, theirs.bias_ih, x, *state)
    b = torch.autograd.grad(theirs_h, p, upstream)
    for mine, torchs in zip(a, (b[0].T, b[1].T, *b[2:]), strict=True):
        agree(mine, torchs, gradient=True)


def test_the_equation_by_hand():
    cell = RNNCell(1, 1)
    with torch.no_grad():
        cell.W_x.fill_(0.5), cell.W_h.fill_(-2.0), cell.b.fill_(0.1)
    h = cell(torch.tensor([[3.0]]), torch.tensor([[0.25]]))
    torch.testing.assert_close(h, torch.tensor([[1.1]]).tanh())


def test_no_state_is_a_state_of_zeros():
    cell, x = RNNCell(E, D), torch.randn(B, E)
    assert torch.equal(cell(x), cell(x, torch.zeros(B, D)))


def test_a_step_is_the_projection_and_then_the_state():
    cell, x, h = RNNCell(E, D), torch.randn(B, E), torch.randn(B, D)
    assert torch.equal(cell.step(cell.project(x), h), cell(x, h))


def test_rows_do_not_see_each_other(agree):
    cell, x, h = RNNCell(E, D), torch.randn(4, E), torch.randn(4, D)
    order = torch.tensor([2, 0, 3, 1])
    agree(cell(x[order], h[order]), cell(x, h)[order])


def test_parameters_start_within_their_bound_and_not_all_alike():
    for p in RNNCell(8, 16).parameters():
        assert p.abs().max() <= 16**-0.5
        assert p.std() > 0.1


def test_gradients_agree_with_finite_differences():
    cell = RNNCell(2, 3).double()
    names = [name for name, _ in cell.named_parameters()]

    def step(x, h, *parameters):
        values = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(cell, values, (x, h))

    x = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    h = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(step, (x, h, *cell.parameters()))


def test_a_cell_learns_the_sign_of_a_running_sum():
    x = torch.randint(0, 2, (64, 5, 1)) * 2.0 - 1.0  # an odd sum is never zero
    y = (x.sum(dim=1) > 0).float()
    cell, read = RNNCell(1, 4), nn.Linear(4, 1)
    adam = torch.optim.Adam([*cell.parameters(), *read.parameters()], lr=0.03)
    for _ in range(120):
        h = None
        for x_t in x.unbind(dim=1):
            h = cell(x_t, h)
        loss = nn.functional.binary_cross_entropy_with_logits(read(h), y)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert ((read(h) > 0) == y.bool()).float().mean() == 1.0
    assert loss < 0.2


def test_wrong_input_width_is_named_in_the_error():
    with pytest.raises(
        ValueError, match=r"^x_t must be \(B, E\): E should be 3, got 4; .* \(2, 4\)$"
    ):
        RNNCell(E, D)(torch.randn(B, 4))


def test_a_whole_sequence_is_not_a_step():
    with pytest.raises(
        ValueError, match=r"x_t must be \(B, E\): expected 2 axes, got 3"
    ):
        RNNCell(E, D)(torch.randn(B, 4, E))


def test_wrong_state_is_named_in_the_error():
    message = r"h must be \(B, D\): B should be 2, got 1; D should be 5, got 3"
    with pytest.raises(ValueError, match=message):
        RNNCell(E, D)(torch.randn(B, E), torch.randn(1, 3))


@pytest.mark.parametrize("name", ["x_t", "h"])
def test_numbers_of_another_kind_than_the_weights_are_named(name):
    given = {"x_t": torch.randn(B, E), "h": torch.randn(B, D)}
    given[name] = given[name].double()
    message = f"^{name} is torch.float64 and the weights are torch.float32: convert"
    with pytest.raises(ValueError, match=message):
        RNNCell(E, D)(**given)


@pytest.mark.parametrize(
    ("sizes", "name"), [((0, 5), "d_in=0"), ((3, -1), "d_hidden=-1")]
)
def test_a_width_below_one_is_named_in_the_error(sizes, name):
    with pytest.raises(ValueError, match=f"^{name} must be at least 1$"):
        RNNCell(*sizes)
