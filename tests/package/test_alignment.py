"""Alignment: each score by a loop over its formula, and sources read once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unrolled.layers.alignment import (
    AdditiveAttention,
    BilinearAttention,
    DotAttention,
    look,
)

B, T, S, D, E = 3, 2, 5, 4, 6


def additive(layer, query, key):
    hidden = torch.tanh(query @ layer.W_q + key @ layer.W_k)
    return (hidden * layer.v).sum()


def bilinear(layer, query, key):
    return nn.functional.bilinear(query[None], key[None], layer.W_a[None])[0, 0]


def dot(layer, query, key):
    return torch.dot(query, key)


KINDS = {
    "additive": (lambda d, e: AdditiveAttention(d, e, 7), additive),
    "bilinear": (BilinearAttention, bilinear),
    "dot": (lambda d, e: DotAttention(), dot),
}


def by_hand(layer, score, queries, memory, mask):
    """Attend in Python's loops, to the real positions alone."""
    contexts, weights = [], []
    for b in range(len(queries)):
        seen = [s for s in range(memory.shape[1]) if mask is None or mask[b, s]]
        for query in queries[b]:
            alpha = torch.zeros(memory.shape[1], dtype=memory.dtype)
            if seen:
                scores = torch.stack([score(layer, query, memory[b, s]) for s in seen])
                alpha = alpha.index_put((torch.tensor(seen),), scores.softmax(dim=0))
            weights.append(alpha)
            contexts.append(alpha @ memory[b])
    shape = queries.shape[:2]
    return [torch.stack(x).unflatten(0, shape) for x in (contexts, weights)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(
    sizes=st.tuples(*(st.integers(1, n) for n in (3, 3, 5, 5, 5))),
    masked=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_attention_is_its_formula(dtype, kind, agree, sizes, masked, seed):
    torch.manual_seed(seed)
    n_rows, n_queries, n_keys, d_query, d_key = sizes
    make, score = KINDS[kind]
    if kind == "dot":
        d_key = d_query
    layer = make(d_query, d_key).to(dtype)
    queries = torch.randn(n_rows, n_queries, d_query, dtype=dtype, requires_grad=True)
    memory = torch.randn(n_rows, n_keys, d_key, dtype=dtype, requires_grad=True)
    mask = torch.rand(n_rows, n_keys) < 0.6 if masked else None
    ours = layer(queries, layer.project(memory), memory, mask)
    theirs = by_hand(layer, score, queries, memory, mask)
    upstream = [torch.randn_like(x) for x in ours]
    grads = []
    for results in (ours, theirs):
        total = sum((x * u).sum() for x, u in zip(results, upstream, strict=True))
        inputs = (*layer.parameters(), queries, memory)
        grads.append(
            torch.autograd.grad(
                total, inputs, allow_unused=True, materialize_grads=True
            )
        )
    for a, b in zip(ours, theirs, strict=True):
        agree(a, b)
    for a, b in zip(*grads, strict=True):
        agree(a, b, gradient=True)


@pytest.fixture(params=KINDS)
def layer(request):
    return KINDS[request.param][0](D, D)


MASK = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]]).bool()


def test_weights_sum_to_one_and_leave_out_what_is_masked(layer):
    queries, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    _, weights = layer(queries, layer.project(memory), memory, MASK)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(B, T))
    assert torch.equal(weights > 0, MASK[:, None].expand(B, T, S))


def test_a_padded_source_is_the_source_alone(layer, agree):
    queries, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    memory[~MASK] = 1e4
    contexts, _ = layer(queries, layer.project(memory), memory, MASK)
    for row in range(B):
        alone = memory[row : row + 1, MASK[row]]
        found, _ = layer(queries[row : row + 1], layer.project(alone), alone)
        agree(contexts[row : row + 1], found)


def test_the_order_of_the_source_does_not_matter(layer, agree):
    queries, memory, order = (
        torch.randn(B, T, D),
        torch.randn(B, S, D),
        torch.randperm(S),
    )
    mixed = memory[:, order]
    contexts, weights = layer(queries, layer.project(memory), memory)
    again, mixed_weights = layer(queries, layer.project(mixed), mixed)
    agree(again, contexts)
    agree(mixed_weights, weights[:, :, order])


def test_one_step_at_a_time_is_the_same_as_all_at_once(layer, agree):
    queries, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    keys = layer.project(memory)  # once
    contexts, weights = layer(queries, keys, memory, MASK)
    for t in range(T):
        context, weight = layer(queries[:, t : t + 1], keys, memory, MASK)
        agree(context, contexts[:, t : t + 1])
        agree(weight, weights[:, t : t + 1])


def test_a_query_with_nothing_to_see_gets_zeros_and_gives_no_gradient():
    scores = torch.randn(2, 1, S, requires_grad=True)
    memory = torch.randn(2, S, E, requires_grad=True)
    mask = torch.tensor([[False] * S, [True] * S])
    contexts, weights = look(scores, memory, mask)
    assert not contexts[0].any()
    assert not weights[0].any()
    of_scores, of_memory = torch.autograd.grad(contexts.sum(), (scores, memory))
    assert not of_scores[0].any()
    assert not of_memory[0].any()
    assert of_scores[1].all()


def test_gradients_agree_with_finite_differences(layer):
    layer.double()

    def run(queries, memory, *_):  # gradcheck moves the parameters in place
        return layer(queries, layer.project(memory), memory, MASK)

    like = {"dtype": torch.float64, "requires_grad": True}
    inputs = torch.randn(B, T, D, **like), torch.randn(B, S, D, **like)
    assert torch.autograd.gradcheck(run, (*inputs, *layer.parameters()))


def test_no_device_is_named_inside_and_the_compiler_takes_all(layer, agree):
    queries, memory = torch.randn(B, T, D), torch.randn(B, S, D)

    def run(queries, memory, mask):
        return layer(queries, layer.project(memory), memory, mask)

    compiled = torch.compile(run, fullgraph=True, backend="eager")
    for a, b in zip(
        compiled(queries, memory, MASK), run(queries, memory, MASK), strict=True
    ):
        agree(a, b)
    layer.to("meta")
    contexts, weights = run(*(x.to("meta") for x in (queries, memory, MASK)))
    assert (contexts.shape, weights.shape) == ((B, T, D), (B, T, S))


@pytest.mark.parametrize("kind", ["additive", "bilinear"])
def test_attention_learns_where_to_look(kind):
    """The wanted word is at the place that the query names."""
    n_rows, places = 128, torch.eye(S)
    words, asked = torch.randint(0, 3, (n_rows, S)), torch.arange(n_rows) % S
    marks = nn.functional.one_hot(words, 3).float()
    memory = torch.cat([places.expand(n_rows, S, S), marks], dim=-1)
    queries = places[asked][:, None]
    layer, read = KINDS[kind][0](S, S + 3), nn.Linear(S + 3, 3)
    adam = torch.optim.Adam([*layer.parameters(), *read.parameters()], lr=0.05)
    for _ in range(200):
        context, weights = layer(queries, layer.project(memory), memory)
        wanted = words[range(n_rows), asked]
        loss = nn.functional.cross_entropy(read(context[:, 0]), wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert loss < 0.05
    assert weights[range(n_rows), 0, asked].min() > 0.8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdditiveAttention(0, 1, 1), "^d_query=0 must be at least 1$"),
        (lambda: AdditiveAttention(1, 1, 0), "^d_hidden=0 must be at least 1$"),
        (lambda: BilinearAttention(1, 0), "^d_key=0 must be at least 1$"),
    ],
)
def test_sizes_of_nothing_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_inputs_are_named(layer):
    queries, memory = torch.zeros(B, T, D), torch.zeros(B, S, D)
    keys = layer.project(memory)
    with pytest.raises(ValueError, match=r"^queries must be \(B, T, D\): expected 3"):
        layer(queries[:, 0], keys, memory)
    with pytest.raises(
        ValueError, match=r"^queries must be \(B, T, D\): D should be 4"
    ):
        layer(queries[..., 1:], keys, memory)
    with pytest.raises(
        ValueError, match=r"^mask must be \(B, S\): S should be 5, got 4"
    ):
        layer(queries, keys, memory, MASK[:, 1:])
    with pytest.raises(ValueError, match=r"^mask is torch.int64; it must be boolean"):
        layer(queries, keys, memory, MASK.long())
    if not isinstance(layer, DotAttention):
        with pytest.raises(
            ValueError, match=r"^memory must be \(B, S, E\): E should be"
        ):
            layer.project(memory[..., 1:])
