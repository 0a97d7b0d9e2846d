"""Blocks: torch's numbers with every norm, mask and dropout in its place."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from twins import DECODER, ENCODER, agree_on_gradients, give_weights, shake
from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PostNormBlock, PreNormBlock
from unrolled.layers.decoder_blocks import PostNormDecoderBlock, PreNormDecoderBlock
from unrolled.layers.feed_forward import FeedForward, SwiGLU, gelu_tanh, squared_relu
from unrolled.layers.heads import CrossAttention, GroupedQueryAttention
from unrolled.layers.norms import LayerNorm, RMSNorm
from unrolled.layers.positions import RotaryPositions, count_positions

B, T, S, D, H = 3, 5, 4, 8, 2
DTYPES = [torch.float32, torch.float64]
BLOCKS = {True: PreNormBlock, False: PostNormBlock}  # by torch's norm_first
DECODERS = {True: PreNormDecoderBlock, False: PostNormDecoderBlock}


def encoder(norm_first, *, d_model=D, n_heads=H, activation=F.relu, p_drop=0.0):
    return BLOCKS[norm_first](
        MultiHeadAttention(d_model, n_heads, p_drop=p_drop),
        FeedForward(d_model, 6, activation, p_drop=p_drop),
        p_drop=p_drop,
    )


def decoder(norm_first, *, d_model=D, n_heads=H, activation=F.relu, p_drop=0.0):
    return DECODERS[norm_first](
        MultiHeadAttention(d_model, n_heads, p_drop=p_drop),
        CrossAttention(d_model, n_heads, p_drop=p_drop),
        FeedForward(d_model, 6, activation, p_drop=p_drop),
        p_drop=p_drop,
    )


def torchs(kind, norm_first, *, d_model=D, n_heads=H, activation=F.relu, p_drop=0.0):
    return kind(
        d_model,
        n_heads,
        6,
        p_drop,
        activation,
        batch_first=True,
        norm_first=norm_first,
    )


@st.composite
def problems(draw):
    """Draw sizes of inputs, those of the layer, whether to pad, and a seed."""
    sizes = [draw(st.integers(1, n)) for n in (3, 5, 5)]
    n_heads = draw(st.integers(1, 3))
    layer = {
        "d_model": n_heads * draw(st.integers(2, 4)),
        "n_heads": n_heads,
        "activation": draw(st.sampled_from([F.relu, F.gelu, gelu_tanh])),
    }
    return sizes, layer, draw(st.booleans()), draw(st.integers(0, 99))


def some_real(n_rows, n_steps, device):
    """Return a mask (B, T) of real steps; the first of each row is real."""
    real = torch.rand(n_rows, n_steps, device=device) < 0.6
    real[:, 0] = True
    return real


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("norm_first", [True, False])
@settings(max_examples=25)
@given(problem=problems())
def test_encoder_blocks_agree_with_torch(
    dtype, causal, norm_first, device, agree, problem
):
    (n_rows, n_steps, _), sizes, padded, seed = problem
    torch.manual_seed(seed)
    ours = shake(encoder(norm_first, **sizes)).to(device, dtype)
    theirs = torchs(nn.TransformerEncoderLayer, norm_first, **sizes)
    give_weights(theirs, ours, ENCODER)
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    x = torch.randn(n_rows, n_steps, sizes["d_model"], **like)
    real = some_real(n_rows, n_steps, device) if padded else None
    future = torch.ones(n_steps, n_steps, device=device).triu(1).bool()
    z = theirs(x, future if causal else None, None if real is None else ~real)
    mask = None if real is None else real[:, None, None]
    y = ours(x, mask, causal=causal)
    agree(y, z)
    agree_on_gradients(agree, ENCODER, (ours, theirs), (y, z), [x])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm_first", [True, False])
@settings(max_examples=25)
@given(problem=problems())
def test_decoder_blocks_agree_with_torch(dtype, norm_first, device, agree, problem):
    (n_rows, n_steps, n_keys), sizes, padded, seed = problem
    torch.manual_seed(seed)
    ours = shake(decoder(norm_first, **sizes)).to(device, dtype)
    theirs = torchs(nn.TransformerDecoderLayer, norm_first, **sizes)
    give_weights(theirs, ours, DECODER)
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    x = torch.randn(n_rows, n_steps, sizes["d_model"], **like)
    memory = torch.randn(n_rows, n_keys, sizes["d_model"], **like)
    future = torch.ones(n_steps, n_steps, device=device).triu(1).bool()
    if padded:
        reals = [some_real(n_rows, n, device) for n in (n_steps, n_keys)]
        y = ours(x, memory, *(real[:, None, None] for real in reals))
        z = theirs(
            x, memory, future, None, *(~real for real in reals)
        )  # target, then memory
    else:
        y, z = ours(x, memory), theirs(x, memory, future)
    agree(y, z)
    agree_on_gradients(agree, DECODER, (ours, theirs), (y, z), [x, memory])


@pytest.mark.parametrize("norm_first", [True, False])
def test_dropout_falls_where_torchs_falls(norm_first, agree):
    """The same seed drops the same numbers, if the draws come in the same order.

    With one row only: of several, torch keeps the time first in memory.
    """
    x, memory = torch.randn(1, T, D), torch.randn(1, S, D)
    future = torch.ones(T, T).triu(1).bool()
    ours = encoder(norm_first, p_drop=0.4)
    theirs = torchs(nn.TransformerEncoderLayer, norm_first, p_drop=0.4)
    give_weights(theirs, ours, ENCODER)
    both = decoder(norm_first, p_drop=0.4)
    torchs_both = torchs(nn.TransformerDecoderLayer, norm_first, p_drop=0.4)
    give_weights(torchs_both, both, DECODER)
    results = []
    for run in (
        lambda: ours(x),
        lambda: theirs(x),
        lambda: both(x, memory),
        lambda: torchs_both(x, memory, future),
    ):
        torch.manual_seed(1)
        results.append(run())
    agree(results[0], results[1])
    agree(results[2], results[3])
    assert not torch.allclose(results[0], ours.eval()(x))
    assert not torch.allclose(results[2], both.eval()(x, memory))


def test_the_feed_forward_networks_are_their_formulas(agree):
    x = torch.randn(B, T, D, dtype=torch.float64)
    cubic = x + 0.044715 * x**3
    agree(gelu_tanh(x), 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * cubic)))
    agree(squared_relu(x), torch.where(x > 0, x * x, 0.0))
    for bias in (True, False):
        net = FeedForward(D, 6, squared_relu, bias=bias).double()
        assert (net.W_1.bias is not None, net.W_2.bias is not None) == (bias, bias)
        agree(net(x), net.W_2(squared_relu(net.W_1(x))))
    net = SwiGLU(D, 6).double()
    W_g, W_u = net.W_gu.weight.T[:, :6], net.W_gu.weight.T[:, 6:]
    gate = x @ W_g
    agree(net(x), (gate * torch.sigmoid(gate) * (x @ W_u)) @ net.W_d.weight.T)


def test_squared_relu_and_swiglu_agree_with_finite_differences():
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    for net in (FeedForward(3, 4, squared_relu).double(), SwiGLU(3, 4).double()):
        assert torch.autograd.gradcheck(
            lambda x, *_, net=net: net(x), (x, *net.parameters())
        )


MAKERS = {
    "pre": lambda: encoder(True),
    "post": lambda: encoder(False),
    "llama": lambda: PreNormBlock(
        GroupedQueryAttention(D, H, 1), SwiGLU(D, 6), norm=RMSNorm
    ),
}
ROTARY = RotaryPositions(32, D // H)


@pytest.fixture(params=MAKERS)
def block(request):
    return shake(MAKERS[request.param]())


@pytest.fixture(params=[True, False], ids=["pre", "post"])
def writer(request):
    return shake(decoder(request.param))


def test_the_future_cannot_change_the_past(block, writer):
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    changed = x.clone()
    changed[:, 3:] += torch.randn(D)
    for run in (partial(block, causal=True), partial(writer, memory=memory)):
        before, after = run(x), run(changed)
        assert torch.equal(before[:, :3], after[:, :3])
        assert (before[:, 3:] != after[:, 3:]).any(dim=-1).all()


def test_without_positions_order_is_invisible(block, writer, agree):
    x, memory, order = torch.randn(B, T, D), torch.randn(B, S, D), torch.randperm(T)
    agree(block(x[:, order]), block(x)[:, order])
    agree(writer(x, memory.flip(1)), writer(x, memory))
    rotate = ROTARY(torch.arange(T))
    turned = block(x[:, order], rotate=rotate)
    assert not torch.allclose(turned, block(x, rotate=rotate)[:, order])


def test_a_padded_row_is_the_row_alone(block, writer, agree):
    lengths, of_memory = [2, 5, 1], [4, 1, 3]
    real, seen = (
        torch.arange(n) < torch.tensor(ns)[:, None]
        for n, ns in ((T, lengths), (S, of_memory))
    )
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    x[~real], memory[~seen] = 50.0, -50.0
    y = block(x, real[:, None, None])
    z = writer(x, memory, real[:, None, None], seen[:, None, None])
    for i, (n, m) in enumerate(zip(lengths, of_memory, strict=True)):
        row = slice(i, i + 1)
        agree(y[row, :n], block(x[row, :n]))
        agree(z[row, :n], writer(x[row, :n], memory[row, :m]))


@pytest.mark.parametrize("cuts", [[5], [1, 1, 1, 1, 1], [3, 1, 1], [2, 3]])
def test_reading_on_with_a_cache_is_reading_all_again(block, writer, agree, cuts):
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    seen = some_real(B, S, x.device)[:, None, None]
    source = writer.cross.read(memory)
    wanted = block(x, causal=True, rotate=ROTARY(torch.arange(T)))
    cache, written, start, pieces, others = None, None, 0, [], []
    for n in cuts:
        part, positions = x[:, start : start + n], torch.arange(start, start + n)
        y, cache = block.step(part, cache, rotate=ROTARY(positions))
        z, written = writer.step(part, written, source, memory_mask=seen)
        pieces.append(y)
        others.append(z)
        start += n
    agree(torch.cat(pieces, dim=1), wanted)
    agree(torch.cat(others, dim=1), writer(x, memory, memory_mask=seen))


def test_a_decoder_block_tells_where_it_looks(writer, agree):
    """Whatever it gives its attention to the source, the weights are for that."""
    x, asked, seen = torch.randn(B, T, D), [], some_real(B, S, "cpu")[:, None, None]
    source = writer.cross.read(torch.randn(B, S, D))
    writer.cross.register_forward_pre_hook(lambda _, given: asked.append(given))
    writer.step(x, None, source, memory_mask=seen)
    weights = writer.weights(x, source, memory_mask=seen)
    agree(weights, writer.cross.weights(*asked[0]))
    future = torch.ones(B, 1, 1, T).bool()
    future[..., 0] = False
    masked = writer.weights(x, source, future, seen)
    assert not torch.allclose(masked, weights)


def test_prompts_of_different_lengths_are_read_together(block, agree):
    lengths = [2, 5, 1]
    real = torch.arange(T) >= T - torch.tensor(lengths)[:, None]  # padded on the left
    x, new = torch.randn(B, T, D), torch.randn(B, 1, D)
    _, cache = block.step(
        x, None, real[:, None, None], rotate=ROTARY(count_positions(real))
    )
    real = torch.cat([real, torch.ones(B, 1).bool()], dim=1)
    rotate = ROTARY(count_positions(real)[:, -1:])
    y, _ = block.step(new, cache, real[:, None, None], rotate=rotate)
    for i, n in enumerate(lengths):
        alone = torch.cat([x[i : i + 1, T - n :], new[i : i + 1]], dim=1)
        wanted = block(alone, causal=True, rotate=ROTARY(torch.arange(n + 1)))
        agree(y[i : i + 1], wanted[:, -1:])


def test_a_block_has_norms_of_the_kind_it_is_given():
    parts = MultiHeadAttention(D, H), FeedForward(D, 6)
    for kind in (PreNormBlock, PostNormBlock):
        block = kind(*parts, norm=partial(LayerNorm, eps=1e-12))
        assert block.norm_1.eps == block.norm_2.eps == 1e-12
        assert block.norm_1 is not block.norm_2
    for kind in (PreNormDecoderBlock, PostNormDecoderBlock):
        block = kind(parts[0], CrossAttention(D, H), parts[1], norm=RMSNorm)
        assert isinstance(block.norm_3, RMSNorm)
        assert len(set(map(id, (block.norm_1, block.norm_2, block.norm_3)))) == 3


def test_no_device_is_named_inside(block, writer):
    x = torch.empty(B, T, D, device="meta")
    block.to("meta")
    writer.to("meta")
    y, cache = block.step(x, None)
    source = writer.cross.read(x)
    z, written = writer.step(x, None, source)
    for result in (
        y,
        block.step(x, cache)[0],
        z,
        writer.step(x, written, source)[0],
    ):
        assert result.is_meta
        assert result.shape == (B, T, D)


def test_the_compiler_takes_a_block_whole(block, agree):
    def run(x, positions):
        rotate = ROTARY(positions)
        y, cache = block.step(block(x, causal=True, rotate=rotate), None)
        return block.step(y, cache)[0]

    given = torch.randn(B, T, D), torch.arange(T)
    agree(torch.compile(run, fullgraph=True, backend="eager")(*given), run(*given))


def test_the_compiler_takes_a_decoder_block_whole(writer, agree):
    def run(x, memory):
        _, cache = writer.step(x, None, writer.cross.read(memory))
        y, _ = writer.step(x, cache, writer.cross.read(memory))
        return y + writer(x, memory)

    given = torch.randn(B, T, D), torch.randn(B, S, D)
    agree(torch.compile(run, fullgraph=True, backend="eager")(*given), run(*given))


@pytest.mark.parametrize("make", [FeedForward, SwiGLU])
def test_widths_of_nothing_are_named(make):
    with pytest.raises(ValueError, match=r"^d_model=0 must be at least 1$"):
        make(0, 1)
    with pytest.raises(ValueError, match=r"^d_inner=0 must be at least 1$"):
        make(1, 0)
