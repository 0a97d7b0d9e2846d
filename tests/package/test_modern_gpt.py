"""The modern GPT: each part is what it says, and each can be taken out."""

from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F

from descend import loss_of_counting
from twins import shake
from unrolled.layers.feed_forward import squared_relu
from unrolled.layers.heads import NormedAttention
from unrolled.layers.norms import UnitRMSNorm, rms_norm
from unrolled.layers.positions import RotaryPositions
from unrolled.models.gpt import GPT, GPTConfig

V, N, T = 11, 12, 8
SIZES = {"n_tokens": V, "n_positions": N, "d_model": 12, "n_heads": 3, "n_layers": 2}
MODERN, GPT2 = GPTConfig.modern(**SIZES), GPTConfig(**SIZES)
PARTS = {
    name: part for name, part in asdict(GPT2).items() if part != getattr(MODERN, name)
}


def by_hand(model, ids):
    """Compute the logits of one text (T,) with the equations, a head at a time."""
    one = torch.ones(12, dtype=torch.float64)
    x = model.embed.weight[ids]
    t = torch.arange(len(ids), dtype=torch.float64)[:, None]
    angle = t * 10_000 ** -(torch.arange(2, dtype=torch.float64) * 2 / 4)
    past = torch.ones(len(ids), len(ids)).tril().bool()

    def turned(z):
        a, b = rms_norm(z, one[:4]).chunk(2, dim=-1)
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    for block in model.blocks:
        q, k, v = (rms_norm(x, one) @ block.attention.W_qkv.weight.T).chunk(3, dim=-1)
        heads = []
        for h in (slice(0, 4), slice(4, 8), slice(8, 12)):
            scores = turned(q[:, h]) @ turned(k[:, h]).T / 2
            scores = scores.masked_fill(~past, -torch.inf)
            heads.append(scores.softmax(dim=-1) @ v[:, h])
        x = x + torch.cat(heads, dim=-1) @ block.attention.W_o.weight.T
        inner = (rms_norm(x, one) @ block.feed_forward.W_1.weight.T).clamp(min=0)
        x = x + inner**2 @ block.feed_forward.W_2.weight.T
    return rms_norm(x, one) @ model.embed.weight.T


def test_the_whole_is_its_equations(agree):
    model = shake(GPT(MODERN)).double()
    model.positions = RotaryPositions(N, 4, dtype=torch.float64)
    ids = torch.randint(0, V, (T,))
    wanted, found = by_hand(model, ids), model(ids[None])[0]
    agree(found, wanted)
    upstream = torch.randn_like(found)
    for a, b in zip(
        torch.autograd.grad(found, list(model.parameters()), upstream),
        torch.autograd.grad(wanted, list(model.parameters()), upstream),
        strict=True,
    ):
        agree(a, b, gradient=True)


def test_there_are_no_biases_and_no_gains():
    names = {name.rpartition(".")[2] for name, _ in GPT(MODERN).named_parameters()}
    assert names == {"weight"}


def test_at_the_start_a_block_adds_nothing(agree):
    model, ids = GPT(MODERN), torch.randint(0, V, (2, T))
    agree(model(ids), model.logits(model.embed(ids)), model=True)
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    for block in model.blocks:
        assert block.attention.W_o.weight.grad.any()
        assert block.feed_forward.W_2.weight.grad.any()


def test_the_recipe_has_six_parts():
    assert PARTS == {
        "positions": "learned",
        "norm": "layer",
        "activation": "gelu",
        "qk_norm": False,
        "bias": True,
        "zero_init": False,
    }
    assert replace(MODERN, **PARTS) == GPT2


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_taken_out_and_put_in(part, agree):
    ids = torch.randint(0, V, (2, T))
    for whole, other in ((MODERN, GPT2), (GPT2, MODERN)):
        config = replace(whole, **{part: getattr(other, part)})
        model, base = shake(GPT(config)), shake(GPT(whole))
        base.load_state_dict(model.state_dict(), strict=False)
        y = model(ids)
        assert y.isfinite().all()
        y.sum().backward()
        assert all(weight.grad is not None for weight in model.parameters())
        if part != "zero_init":
            assert not torch.allclose(y, base(ids))
        before = model(ids)
        ids_2 = ids.clone()
        ids_2[:, -1] = (ids[:, -1] + 1) % V
        assert torch.equal(model(ids_2)[:, :-1], before[:, :-1])


def test_only_distances_count_for_rotary_positions(agree):
    model = shake(GPT(MODERN)).double()
    model.positions = RotaryPositions(64, 4, dtype=torch.float64)
    ids = torch.randint(0, V, (1, T))
    x = model.embed(ids)

    def read(first):
        y, rotate = x, model.positions(torch.arange(first, first + T))
        for block in model.blocks:
            y = block(y, causal=True, rotate=rotate)
        return model.logits(y)

    agree(read(0), model(ids))
    agree(read(40), model(ids))


def test_a_read_out_of_its_own_is_a_table_more():
    tied, own = GPT(MODERN), GPT(replace(MODERN, tied=False))
    n_tied, n_own = (sum(x.numel() for x in m.parameters()) for m in (tied, own))
    assert n_own - n_tied == V * 12
    assert own.read.weight is not own.embed.weight


def test_scores_of_normed_queries_and_keys_are_bounded():
    layer = NormedAttention(8, 2)
    with torch.no_grad():
        layer.W_qkv.weight.mul_(1e3)
    q, k, v = layer.heads(torch.randn(2, 5, 8), None)
    assert (q @ k.mT / 2).abs().max() <= 2.0 + 1e-5
    assert v.abs().max() > 10


def test_gradients_agree_with_finite_differences():
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(squared_relu, (x + 0.01 * x.detach().sign(),))
    assert torch.autograd.gradgradcheck(squared_relu, (x,))
    assert torch.autograd.gradcheck(UnitRMSNorm(4).double(), (x,))
    assert torch.equal(squared_relu(x), F.relu(x).square())


def test_meta_and_the_compiler_take_the_model_whole(agree):
    model, ids = shake(GPT(MODERN)), torch.randint(0, V, (2, T))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    agree(compiled(ids), model(ids), model=True)
    model.to("meta")
    assert model(ids.to("meta")).shape == (2, T, V)


def test_it_learns_a_rule():
    assert loss_of_counting(GPT(MODERN), V) < 0.1


def test_an_odd_head_cannot_be_turned():
    with pytest.raises(ValueError, match=r"^d_head=3 must be even"):
        GPT(replace(MODERN, d_model=9))
