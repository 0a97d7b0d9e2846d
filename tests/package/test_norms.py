"""Norms: torch's numbers, by hand and by kernel, and what they do not see."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from twins import agree_on_gradients, give_weights, shake
from unrolled.layers.norms import LayerNorm, RMSNorm, layer_norm, rms_norm

KINDS = {
    "layer": (LayerNorm, nn.LayerNorm, {"weight": ["gain"], "bias": ["bias"]}),
    "rms": (RMSNorm, nn.RMSNorm, {"weight": ["gain"]}),
}


class ByHand(nn.Module):
    """The function of a norm, with the parameters of the module."""

    def __init__(self, norm):
        super().__init__()
        self.eps = norm.eps
        self.function = layer_norm if isinstance(norm, LayerNorm) else rms_norm
        for name, parameter in norm.named_parameters():
            self.register_parameter(name, nn.Parameter(parameter.detach().clone()))

    def forward(self, x):
        return self.function(x, *self.parameters(), eps=self.eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    d_model=st.integers(2, 9),
    eps=st.sampled_from([1e-5, 1e-12, 1e-2]),
    seed=st.integers(0, 99),
)
def test_any_norm_agrees_with_torch(
    dtype, by_hand, kind, device, agree, shape, d_model, eps, seed
):
    torch.manual_seed(seed)
    make, torchs, table = KINDS[kind]
    ours = shake(make(d_model, eps=eps)).to(device, dtype)
    theirs = give_weights(torchs(d_model, eps=eps), ours, table)
    if by_hand:
        ours = ByHand(ours)
    x = torch.randn(*shape, d_model, dtype=dtype, device=device)
    x = (x + 3.0 * torch.arange(d_model)).requires_grad_()  # no row is nearly constant
    y, z = ours(x), theirs(x)
    agree(y, z)
    agree_on_gradients(agree, table, (ours, theirs), (y, z), [x])


@pytest.mark.parametrize("norm", [LayerNorm(6), RMSNorm(6)])
def test_a_norm_does_not_see_the_scale(norm, agree):
    x = 1.0 + torch.randn(4, 6)
    agree(norm(100 * x), norm(1000 * x))


def test_only_layer_norm_does_not_see_the_mean(agree):
    x = torch.randn(4, 6, dtype=torch.float64)
    agree(LayerNorm(6).double()(x), LayerNorm(6).double()(x + 7))
    assert not torch.allclose(RMSNorm(6).double()(x), RMSNorm(6).double()(x + 7))


def test_what_a_fresh_norm_returns_is_of_the_size_it_says():
    x = 5 + 3 * torch.randn(4, 64, dtype=torch.float64)
    y = LayerNorm(64).double()(x)
    assert y.mean(dim=-1).abs().max() < 1e-12
    assert (y.var(dim=-1, correction=0) - 1).abs().max() < 1e-5
    assert (RMSNorm(64).double()(x).square().mean(dim=-1) - 1).abs().max() < 1e-5


@pytest.mark.parametrize("norm", [LayerNorm(6), RMSNorm(6)])
def test_positions_are_normalised_by_themselves(norm):
    x = torch.randn(2, 3, 6)
    changed = x.clone()
    changed[:, 1] += torch.arange(6)
    before, after = norm(x), norm(changed)
    assert torch.equal(before[:, ::2], after[:, ::2])
    assert not torch.equal(before[:, 1], after[:, 1])


@pytest.mark.parametrize("norm", [LayerNorm(3), RMSNorm(3)])
def test_gradients_agree_with_finite_differences(norm):
    by_hand = ByHand(shake(norm)).double()
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, *parameters: by_hand.function(x, *parameters, eps=1e-5),
        (x, *by_hand.parameters()),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_device_is_named_inside_and_the_compiler_takes_all(kind, agree):
    norm, x = KINDS[kind][0](6), torch.randn(2, 6)
    agree(torch.compile(norm, fullgraph=True, backend="eager")(x), norm(x))
    norm.to("meta")
    for module in (norm, ByHand(norm)):
        assert module(x.to("meta")).shape == (2, 6)


@pytest.mark.parametrize("make", [LayerNorm, RMSNorm])
def test_a_norm_of_nothing_is_named_in_the_error(make):
    with pytest.raises(ValueError, match=r"^d_model=0 must be at least 1$"):
        make(0)
