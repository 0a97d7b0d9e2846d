"""Attention: torch's numbers, both ways, and nothing seen that should be hidden."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from twins import CROSS, SELF, agree_on_gradients, give_weights, shake
from unrolled.layers.attention import (
    Cache,
    MultiHeadAttention,
    attend,
    attention_weights,
)
from unrolled.layers.heads import CrossAttention, GroupedQueryAttention
from unrolled.layers.positions import RotaryPositions, count_positions

B, T, S, D, H = 3, 5, 4, 8, 2
DTYPES = [torch.float32, torch.float64]


@st.composite
def problems(draw):
    """Draw sizes, whether there are biases, which masks, and a seed."""
    sizes = [draw(st.integers(1, n)) for n in (3, 6, 6, 3, 4)]
    masks = draw(st.sampled_from(["none", "causal", "padding", "both", "any"]))
    return *sizes, draw(st.booleans()), masks, draw(st.integers(0, 99))


def some_mask(kind, n_rows, n_heads, n_queries, n_keys, device):
    """Return a mask (B, H, T, S) that leaves every query its first key, or None."""
    shape = {"padding": (n_rows, 1, 1, n_keys), "both": (n_rows, 1, 1, n_keys)}
    if kind in ("none", "causal"):
        return None
    full = (n_rows, n_heads, n_queries, n_keys)
    mask = torch.rand(shape.get(kind, full), device=device) < 0.6
    mask[..., 0] = True
    return mask


def for_torch(mask, causal, shape):
    """Return our mask as nn.MultiheadAttention wants it: True hides, (B · H, T, S)."""
    visible = torch.ones(shape, dtype=torch.bool)
    if mask is not None:
        visible = visible & mask.cpu()
    if causal:
        visible = visible.tril()
    return ~visible.flatten(0, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60)
@given(problem=problems())
def test_self_attention_agrees_with_torch(dtype, device, agree, problem):
    n_rows, n_steps, _, n_heads, d_head, bias, kind, seed = problem
    torch.manual_seed(seed)
    ours = shake(MultiHeadAttention(n_heads * d_head, n_heads, bias=bias))
    ours.to(device, dtype)
    theirs = nn.MultiheadAttention(ours.d_model, n_heads, bias=bias, batch_first=True)
    give_weights(theirs, ours, SELF)
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    x = torch.randn(n_rows, n_steps, ours.d_model, **like)
    causal = kind in ("causal", "both")
    mask = some_mask(kind, n_rows, n_heads, n_steps, n_steps, device)
    hidden = for_torch(mask, causal, (n_rows, n_heads, n_steps, n_steps)).to(device)
    y, weights = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
    mine = ours(x, mask, causal=causal)
    agree(mine, y)
    agree(ours.weights(x, mask, causal=causal), weights)
    agree_on_gradients(agree, SELF, (ours, theirs), (mine, y), [x])


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60)
@given(problem=problems())
def test_cross_attention_agrees_with_torch(dtype, device, agree, problem):
    n_rows, n_steps, n_keys, n_heads, d_head, bias, kind, seed = problem
    torch.manual_seed(seed)
    ours = shake(CrossAttention(n_heads * d_head, n_heads, bias=bias))
    ours.to(device, dtype)
    theirs = nn.MultiheadAttention(ours.d_model, n_heads, bias=bias, batch_first=True)
    give_weights(theirs, ours, CROSS)
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    x, memory = (
        torch.randn(n_rows, n, ours.d_model, **like) for n in (n_steps, n_keys)
    )
    mask = some_mask(kind, n_rows, n_heads, n_steps, n_keys, device)
    hidden = for_torch(mask, False, (n_rows, n_heads, n_steps, n_keys)).to(device)
    y, weights = theirs(x, memory, memory, attn_mask=hidden, average_attn_weights=False)
    mine = ours(x, ours.read(memory), mask)
    agree(mine, y)
    agree(ours.weights(x, ours.read(memory), mask), weights)
    agree_on_gradients(agree, CROSS, (ours, theirs), (mine, y), [x, memory])


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_shared_keys_are_keys_written_several_times(n_kv_heads, agree):
    grouped = GroupedQueryAttention(12, 6, n_kv_heads, bias=True).double()
    plain = MultiHeadAttention(12, 6).double()
    with torch.no_grad():
        for of_plain, of_grouped in zip(
            plain.W_qkv.parameters(), grouped.W_qkv.parameters(), strict=True
        ):
            q, k, v = of_grouped.split([12, 2 * n_kv_heads, 2 * n_kv_heads])
            again = [
                part.unflatten(0, (n_kv_heads, 2)).repeat_interleave(
                    6 // n_kv_heads, dim=0
                )
                for part in (k, v)
            ]
            of_plain.copy_(torch.cat([q, *(part.flatten(0, 1) for part in again)]))
    plain.W_o = grouped.W_o
    x = torch.randn(B, T, 12, dtype=torch.float64)
    agree(grouped(x, causal=True), plain(x, causal=True))
    agree(grouped.weights(x, causal=True), plain.weights(x, causal=True))
    cache = grouped.step(x, None)[1]
    assert cache.k.shape == cache.v.shape == (B, n_kv_heads, T, 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_kv_heads", [1, 2])
@settings(max_examples=40)
@given(problem=problems())
def test_the_fused_kernel_and_the_explicit_weights_agree(
    dtype, device, agree, n_kv_heads, problem
):
    """Any mask will do here: some queries may see nothing."""
    n_rows, n_queries, n_keys, _, d_head, causal, kind, seed = problem
    torch.manual_seed(seed)
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    q = torch.randn(n_rows, 2, n_queries, d_head, **like)
    k, v = (torch.randn(n_rows, n_kv_heads, n_keys, d_head, **like) for _ in range(2))
    mask = None
    if kind == "any":
        mask = torch.rand(n_rows, 2, n_queries, n_keys, device=device) < 0.5
    explicit = attention_weights(q, k, mask, causal=causal)
    explicit = explicit @ v.repeat_interleave(2 // n_kv_heads, dim=1)
    fused = attend(q, k, v, mask, causal=causal)
    agree(fused, explicit)
    upstream = torch.randn_like(fused)
    grads = [torch.autograd.grad(y, (q, k, v), upstream) for y in (fused, explicit)]
    for a, b in zip(*grads, strict=True):
        agree(a, b, gradient=True)


def test_a_query_with_nothing_to_see_gets_zeros_and_gives_no_gradient():
    q, k, v = (torch.randn(1, 1, 2, 4, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, True], [False, False]])[None, None]
    weights = attention_weights(q, k, mask)
    assert torch.allclose(weights.sum(dim=-1), torch.tensor([1.0, 0.0]))
    for y in (attend(q, k, v, mask), weights @ v):
        assert not y[0, 0, 1].any()
        assert y[0, 0, 0].all()
        of_q, of_k, of_v = torch.autograd.grad(y.square().sum(), (q, k, v))
        assert not of_q[0, 0, 1].any()
        assert of_q[0, 0, 0].all()
        assert of_k.isfinite().all()
        assert of_v.isfinite().all()


def test_gradients_agree_with_finite_differences():
    like = {"dtype": torch.float64, "requires_grad": True}
    q, k = torch.randn(1, 2, 3, 2, **like), torch.randn(1, 1, 4, 2, **like)
    mask = torch.rand(1, 2, 3, 4) < 0.6
    mask[..., 0, :] = False
    assert torch.autograd.gradcheck(lambda *x: attention_weights(*x, mask), (q, k))


def test_one_head_needs_no_axis_for_heads(agree):
    q, k, v = torch.randn(T, D), torch.randn(S, D), torch.randn(S, D)
    by_hand = (q @ k.T / D**0.5).softmax(dim=-1)
    agree(attention_weights(q, k), by_hand)
    agree(attend(q[None], k[None], v[None])[0], by_hand @ v)


MAKERS = [
    lambda: MultiHeadAttention(D, H),
    lambda: GroupedQueryAttention(D, 4, 2),
]


@pytest.fixture(params=MAKERS, ids=["multi-head", "grouped"])
def layer(request):
    return request.param()


def test_the_future_cannot_change_the_past(layer, device):
    layer.to(device)
    x = torch.randn(B, T, D, device=device)
    changed = x.clone()
    changed[:, 3:] += 1.0
    before, after = layer(x, causal=True), layer(changed, causal=True)
    assert torch.equal(before[:, :3], after[:, :3])
    assert (before[:, 3:] != after[:, 3:]).any(dim=-1).all()


def test_without_a_mask_order_is_invisible(layer, agree):
    x, order = torch.randn(B, T, D), torch.randperm(T)
    agree(layer(x[:, order]), layer(x)[:, order])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("garbage", [0.0, 1e4, -1e4])
def test_a_padded_row_is_the_row_alone(layer, agree, causal, garbage):
    lengths = [2, 5, 1]
    real = torch.arange(T) < torch.tensor(lengths)[:, None]
    x = torch.randn(B, T, D)
    x[~real] = garbage
    y = layer(x, real[:, None, None], causal=causal)
    for row, n in enumerate(lengths):
        agree(y[row : row + 1, :n], layer(x[row : row + 1, :n], causal=causal))


def test_under_a_causal_mask_padding_on_the_right_needs_no_mask(layer, agree):
    x = torch.randn(B, T, D)
    agree(layer(x, causal=True)[:, :2], layer(x[:, :2], causal=True))


ROTARY = RotaryPositions(32, 4)
ROTARY_GROUPED = RotaryPositions(32, 2)


def rotary_of(layer, positions):
    return (ROTARY if layer.n_heads == H else ROTARY_GROUPED)(positions)


def test_queries_and_keys_are_turned_and_values_are_not(layer, agree):
    x, rotate = torch.randn(B, T, D), rotary_of(layer, torch.arange(T))
    weights = layer.weights(x, causal=True, rotate=rotate)
    assert not torch.allclose(weights, layer.weights(x, causal=True))
    _, _, v = layer.heads(x, None)
    v = v.repeat_interleave(layer.n_heads // v.shape[1], dim=1)
    wanted = layer.W_o((weights @ v).transpose(1, 2).flatten(start_dim=2))
    agree(layer(x, causal=True, rotate=rotate), wanted)
    agree(layer.step(x, None, rotate=rotate)[0], wanted)
    q, k, _ = layer.heads(x, None)
    q, k = (rotate(x.transpose(1, 2)).transpose(1, 2) for x in (q, k))
    agree(weights, attention_weights(q, k, causal=True))


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4), rotated=st.booleans())
def test_reading_on_with_a_cache_is_reading_all_again(agree, sizes, rotated):
    for make in MAKERS:
        layer, n_steps = make(), sum(sizes)
        x = torch.randn(2, n_steps, D)
        rotate = rotary_of(layer, torch.arange(n_steps)) if rotated else None
        wanted = layer(x, causal=True, rotate=rotate)
        cache, start, pieces = None, 0, []
        for n in sizes:
            rotate = None
            if rotated:
                rotate = rotary_of(layer, torch.arange(start, start + n))
            piece, cache = layer.step(x[:, start : start + n], cache, rotate=rotate)
            pieces.append(piece)
            start += n
        agree(torch.cat(pieces, dim=1), wanted)
        assert cache.k.shape[2] == n_steps


def test_prompts_of_different_lengths_are_read_together(layer, agree):
    lengths, n_new = [2, 5, 1], 3
    rows = [torch.randn(1, n + n_new, D) for n in lengths]
    real = torch.arange(T) >= T - torch.tensor(lengths)[:, None]  # padded on the left
    x = torch.full((B, T + n_new, D), 9.0)
    for i, row in enumerate(rows):
        x[i, T - lengths[i] :] = row
    real = torch.cat([real, torch.ones(B, n_new, dtype=torch.bool)], dim=1)
    positions = count_positions(real)
    cache, pieces = None, []
    for start, stop in [(0, T), *((t, t + 1) for t in range(T, T + n_new))]:
        y, cache = layer.step(
            x[:, start:stop],
            cache,
            real[:, None, None, :stop],
            rotate=rotary_of(layer, positions[:, start:stop]),
        )
        pieces.append(y)
    y = torch.cat(pieces, dim=1)
    assert y.isfinite().all()
    for i, row in enumerate(rows):
        rotate = rotary_of(layer, torch.arange(row.shape[1]))
        wanted = layer(row, causal=True, rotate=rotate)
        agree(y[i : i + 1, T - lengths[i] :], wanted)


def test_reading_on_leaves_the_old_cache_as_it_was(layer, agree):
    x, other = torch.randn(B, T, D), torch.randn(B, 1, D)
    _, cache = layer.step(x, None)
    before = cache.k.clone()
    first, longer = layer.step(other, cache)
    assert cache.k.shape[2] == T
    assert longer.k.shape[2] == T + 1
    assert torch.equal(cache.k, before)
    again, _ = layer.step(other, cache)
    assert torch.equal(first, again)


def test_a_beam_can_pick_rows_of_a_cache(layer, agree):
    x, new, index = (
        torch.randn(B, T, D),
        torch.randn(4, 1, D),
        torch.tensor([2, 0, 0, 1]),
    )
    _, cache = layer.step(x, None)
    picked, _ = layer.step(new, cache.rows(index))
    wanted, _ = layer.step(new, layer.step(x[index], None)[1])
    agree(picked, wanted)


def test_a_caches_own_keys_come_before_the_new_ones():
    old, new = Cache(torch.zeros(1, 1, 2, 1), torch.ones(1, 1, 2, 1)), torch.full
    longer = old.append(new((1, 1, 1, 1), 2.0), new((1, 1, 1, 1), 3.0))
    assert longer.k.flatten().tolist() == [0, 0, 2]
    assert longer.v.flatten().tolist() == [1, 1, 3]


def held_for_backward(run):
    """Return how many numbers autograd keeps of what ``run`` computes."""
    held = {}

    def keep(x):
        held[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        result = run()
    assert result.requires_grad
    return sum(held.values())


def test_memory_grows_with_the_length_not_with_its_square(layer):
    short, long = (torch.randn(1, n, D, requires_grad=True) for n in (256, 1024))
    fused = [
        held_for_backward(lambda x=x: layer(x, causal=True)) for x in (short, long)
    ]
    explicit = [
        held_for_backward(lambda x=x: layer.weights(x, causal=True))
        for x in (short, long)
    ]
    assert fused[1] < 4.1 * fused[0]
    assert explicit[1] > 12 * explicit[0]


def test_dropout_is_for_training_only(agree):
    layer, x = MultiHeadAttention(D, H, p_drop=0.5), torch.randn(B, T, D)
    theirs = nn.MultiheadAttention(D, H, dropout=0.5, batch_first=True)
    give_weights(theirs, layer, SELF)
    torch.manual_seed(1)
    y = layer(x)
    torch.manual_seed(1)
    agree(y, theirs(x, x, x, need_weights=False)[0])
    layer.eval()
    theirs.eval()
    assert not torch.allclose(y, layer(x))
    agree(layer(x), theirs(x, x, x)[0])
    cross = CrossAttention(D, H, p_drop=0.5)
    source = cross.read(x)
    assert not torch.allclose(cross(x, source), cross.eval()(x, source))


def test_no_device_is_named_inside(layer):
    x = torch.empty(B, T, D, device="meta")
    y, cache = layer.to("meta").step(x, None)
    y, cache = layer.step(
        x, cache, torch.ones_like(x[:, 0, 0]).bool()[:, None, None, None]
    )
    cross = CrossAttention(D, H).to("meta")
    for z in (y, layer(x, causal=True), cross(x, cross.read(x))):
        assert z.is_meta
        assert z.shape == (B, T, D)
    assert layer.weights(x, causal=True).shape == (B, layer.n_heads, T, T)


def test_the_compiler_takes_a_layer_whole(layer, agree):
    real = torch.arange(T) < torch.tensor([[2], [5], [1]])

    def read(x):
        rotate = rotary_of(layer, torch.arange(T))
        y = layer(x, real[:, None, None], causal=True, rotate=rotate)
        first, cache = layer.step(x[:, :3], None)
        return y, first, *layer.step(x[:, 3:], cache)

    x = torch.randn(B, T, D)
    compiled = torch.compile(read, fullgraph=True, backend="eager")
    *wanted, cache = read(x)
    *found, cache_found = compiled(x)
    for a, b in zip(found, wanted, strict=True):
        agree(a, b)
    agree(cache_found.k, cache.k)


def test_a_head_learns_to_look_one_step_back():
    heard = torch.randint(0, 3, (16, 6))
    places = torch.eye(6).expand(16, 6, 6)
    x = torch.cat([nn.functional.one_hot(heard, 3).float(), places], dim=-1)
    layer, read = MultiHeadAttention(9, 1), nn.Linear(9, 3)
    adam = torch.optim.Adam([*layer.parameters(), *read.parameters()], lr=0.03)
    for _ in range(150):
        logits = read(layer(x, causal=True))[:, 1:]
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), heard[:, :-1].flatten()
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert loss < 0.1
    looked = layer.weights(x, causal=True)[:, 0].mean(dim=0)  # (T, S)
    assert (looked.diagonal(-1) > 0.8).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MultiHeadAttention(8, 3),
            "^d_model=8 must be a multiple of n_heads=3$",
        ),
        (lambda: CrossAttention(8, 3), "^d_model=8 must be a multiple of n_heads=3$"),
        (lambda: MultiHeadAttention(8, 0), "^n_heads=0 must be at least 1$"),
        (lambda: CrossAttention(0, 1), "^d_model=0 must be at least 1$"),
        (
            lambda: GroupedQueryAttention(8, 4, 3),
            "^n_heads=4 must be a multiple of n_kv_heads=3$",
        ),
        (lambda: GroupedQueryAttention(8, 4, 0), "^n_kv_heads=0 must be at least 1$"),
    ],
)
def test_heads_that_do_not_fit_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


X = torch.zeros(B, T, D)


@pytest.mark.parametrize("wrong", [X[..., 1:], X[0]])
def test_wrong_inputs_are_named(layer, wrong):
    with pytest.raises(ValueError, match=r"^x must be \(B, T, D\)"):
        layer(wrong)
    cross = CrossAttention(D, H)
    with pytest.raises(ValueError, match=r"^memory must be \(B, S, D\)"):
        cross.read(wrong)
    with pytest.raises(ValueError, match=r"^x must be \(B, T, D\)"):
        cross(wrong, cross.read(X))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(B, T).bool(), r"^mask is torch.bool of shape \(3, 5\); it must be"),
        (torch.zeros(B, 1, 1, T), r"^mask is torch.float32 of shape \(3, 1, 1, 5\)"),
    ],
)
def test_a_mask_that_could_be_misread_is_refused(layer, mask, message):
    for run in (layer, layer.weights):
        with pytest.raises(ValueError, match=message):
            run(X, mask)


# ---- memory ----


def held_for_the_way_back(run) -> int:
    """Return the bytes that autograd keeps of a forward pass, each tensor once."""
    kept = {}

    def keep(tensor):
        kept[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return sum(kept.values())


def test_memory_grows_with_the_length_and_only_held_weights_with_its_square():
    layer = MultiHeadAttention(8, 2)

    def fused(x):
        layer(x, causal=True)

    def explicit(x):
        q, k, v = layer.heads(x, None)
        attention_weights(q, k, causal=True) @ v

    def growth(run):
        short, long = (
            held_for_the_way_back(lambda n=n: run(torch.randn(1, n, 8)))
            for n in (512, 1024)
        )
        return long / short

    assert growth(fused) < 2.05
    assert growth(explicit) > 3.5
