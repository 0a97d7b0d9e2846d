"""Skip-gram: its pairs by a loop, its loss by hand, and offsets that it learns."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.made.kinship import MEANINGS, analogies, kinship
from unrolled.models.skipgram import (
    SkipGram,
    SkipGramConfig,
    frequencies,
    negative_sampling_loss,
    noise_distribution,
    noisy_batches,
    skip_pairs,
    subsample,
)
from unrolled.runtime import generator

V, E, B, S = 6, 4, 5, 3


def make(n_tokens=V, d_embed=E):
    return SkipGram(SkipGramConfig(n_tokens=n_tokens, d_embed=d_embed))


def filled(model):
    """Return the model with its second table drawn too: it starts at zero."""
    with torch.no_grad():
        model.neighbour.normal_()
    return model


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=15),
    st.integers(1, 20),
    st.booleans(),
)
def test_the_pairs_are_those_of_a_loop(tokens, window, owned):
    tokens.sort(key=lambda pair: pair[1])  # sentences stand one after another
    ids, owners = ([pair[k] for pair in tokens] for k in (0, 1))
    wanted = [
        [ids[i], ids[j]]
        for i in range(len(ids))
        for j in range(len(ids))
        if 0 < abs(i - j) <= window and (not owned or owners[i] == owners[j])
    ]
    found = skip_pairs(
        torch.tensor(ids, dtype=torch.int64),
        window=window,
        owners=torch.tensor(owners) if owned else None,
    )
    assert found.shape == (len(wanted), 2)
    assert sorted(found.tolist()) == sorted(wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_loss_is_the_equation(dtype, device, agree):
    model = filled(make()).to(device, dtype)
    centres = torch.randint(V, (B,), device=device)
    neighbours = torch.randint(V, (B, S), device=device)
    loss = negative_sampling_loss(model(centres, neighbours))
    total = 0.0
    for c, (o, *noise) in zip(centres.tolist(), neighbours.tolist(), strict=True):
        v = model.centre[c]
        total = total - torch.sigmoid(v @ model.neighbour[o]).log()
        for n in noise:
            total = total - torch.sigmoid(-v @ model.neighbour[n]).log()
    agree(loss, total / B)


def test_untrained_every_score_is_zero_and_every_choice_a_coin():
    loss = negative_sampling_loss(make()(torch.arange(B), torch.zeros(B, S).long()))
    assert loss.item() == pytest.approx(S * math.log(2))


def test_the_loss_stays_finite_at_any_score():
    scores = torch.tensor([[-1e4, 1e4], [1e4, -1e4]], requires_grad=True)
    loss = negative_sampling_loss(scores)
    assert loss.item() == 1e4
    loss.backward()
    assert scores.grad.tolist() == [[-0.5, 0.5], [0.0, 0.0]]


def test_gradients_agree_with_finite_differences_where_ids_repeat():
    model = filled(make()).double()
    centres = torch.tensor([1, 1, 2, 5, 1])
    neighbours = torch.tensor([[0, 2, 2], [0, 1, 3], [2, 2, 2], [4, 5, 0], [1, 1, 0]])

    def run(centre, neighbour):
        values = {"centre": centre, "neighbour": neighbour}
        scores = torch.func.functional_call(model, values, (centres, neighbours))
        return negative_sampling_loss(scores)

    assert torch.autograd.gradcheck(run, tuple(model.parameters()))


def test_noise_is_frequency_to_the_power():
    frequency = frequencies(torch.tensor([0] * 16 + [1]), 3)
    assert frequency.tolist() == pytest.approx([16 / 17, 1 / 17, 0])
    noise = noise_distribution(frequency)
    assert noise.tolist() == pytest.approx([8 / 9, 1 / 9, 0])
    uniform = noise_distribution(frequency, power=0)  # even so, no word unheard of
    assert uniform.tolist() == pytest.approx([0.5, 0.5, 0])


def test_frequent_words_stay_as_often_as_the_rule_says():
    ids = torch.tensor([0] * 90_000 + [1] * 9_000 + [2] * 1_000)
    kept = subsample(ids, frequencies(ids, 3), threshold=0.036, generator=generator(0))
    assert kept[:90_000].double().mean() == pytest.approx(0.2, abs=0.01)
    assert kept[90_000:99_000].double().mean() == pytest.approx(0.632, abs=0.02)
    assert kept[99_000:].all()


def test_an_epoch_is_every_pair_once_with_fresh_noise():
    pairs = skip_pairs(torch.arange(V).repeat(50), window=2)
    noise = torch.tensor([0.5, 0.0, 0.25, 0.25, 0.0, 0.0])
    batches = list(
        noisy_batches(pairs, noise, n_rows=100, n_noise=4, generator=generator(0))
    )
    assert [len(c) for c, _ in batches] == [100] * 11 + [len(pairs) - 1100]
    assert all(o.shape == (len(c), 5) for c, o in batches)
    seen = torch.cat([torch.stack([c, o[:, 0]], dim=1) for c, o in batches])
    assert not torch.equal(seen, pairs)
    assert sorted(seen.tolist()) == sorted(pairs.tolist())
    drawn = torch.cat([o[:, 1:].flatten() for _, o in batches])
    share = torch.bincount(drawn, minlength=V) / len(drawn)
    torch.testing.assert_close(share, noise, atol=0.02, rtol=0)
    again = noisy_batches(pairs, noise, n_rows=100, n_noise=4, generator=generator(0))
    for one, two in zip(batches, again, strict=True):
        assert torch.equal(one[1], two[1])


def train_on_kinship(seed):
    """Return vectors (V, E) learnt from sentences, and the row of each word."""
    draw = generator(seed)
    told = kinship(2500, generator=draw)
    index = {w: n for n, w in enumerate(sorted({w for r in told for w in r.tokens}))}
    ids = torch.tensor([index[word] for row in told for word in row.tokens])
    owners = torch.tensor([n for n, row in enumerate(told) for _ in row.tokens])
    frequency = frequencies(ids, len(index))
    kept = subsample(ids, frequency, threshold=0.01, generator=draw)
    pairs = skip_pairs(ids[kept], window=5, owners=owners[kept])
    noise = noise_distribution(frequency)
    model = make(len(index), 24)
    adam = torch.optim.Adam(model.parameters(), lr=0.04)
    for _ in range(5):
        for centres, neighbours in noisy_batches(
            pairs, noise, n_rows=2048, n_noise=6, generator=draw
        ):
            loss = negative_sampling_loss(model(centres, neighbours))
            adam.zero_grad()
            loss.backward()
            adam.step()
    return model.vectors(), index


def test_it_learns_the_offsets_of_kinship():
    vectors, index = train_on_kinship(0)

    def offset_cosines(quadruples):
        a, b, c, d = torch.tensor([[index[w] for w in q] for q in quadruples]).T
        return torch.cosine_similarity(
            vectors[b] - vectors[a], vectors[d] - vectors[c], dim=1
        )

    kin = list(MEANINGS)
    places = torch.randint(len(kin), (500, 4), generator=generator(0)).tolist()
    by_chance = [[kin[p] for p in four] for four in places if len(set(four)) == 4]
    assert offset_cosines(by_chance).abs().mean() < 0.45
    for attribute, quadruples in analogies().items():
        assert offset_cosines(quadruples).mean() > 0.6, attribute


def test_the_vectors_are_a_copy():
    model = make()
    vectors = model.vectors()
    assert torch.equal(vectors, model.centre)
    vectors += 1
    assert not torch.equal(vectors, model.centre)
    assert not vectors.requires_grad


def test_the_forward_is_one_graph_and_names_no_device():
    model, c, o = filled(make()), torch.randint(V, (B,)), torch.randint(V, (B, S))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(c, o), model(c, o))
    scores = model.to("meta")(c.to("meta"), o.to("meta"))
    assert negative_sampling_loss(scores).is_meta


IDS = torch.zeros(4, dtype=torch.int64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make(0), r"^n_tokens=0 must be at least 1$"),
        (lambda: make(1, 0), r"^d_embed=0 must be at least 1$"),
        (lambda: make()(IDS, IDS), r"^neighbours must be \(B, S\): expected 2 axes"),
        (lambda: make()(IDS[None], IDS), r"^centres must be \(B\): expected 1 axes"),
        (lambda: negative_sampling_loss(IDS), r"^scores must be \(B, S\): expected 2"),
        (lambda: skip_pairs(IDS, window=0), r"^window=0 must be at least 1$"),
        (
            lambda: skip_pairs(IDS, window=1, owners=IDS[:3]),
            r"^owners must be \(N\): N should be 4, got 3",
        ),
        (
            lambda: frequencies(IDS + 7, 7),
            r"^ids has token 7; n_tokens=7 is too few$",
        ),
        (
            lambda: subsample(IDS, torch.ones(1), threshold=0, generator=generator(0)),
            r"^threshold=0 must be positive$",
        ),
        (
            lambda: next(
                noisy_batches(
                    IDS[:, None],
                    torch.ones(1),
                    n_rows=1,
                    n_noise=1,
                    generator=generator(0),
                )
            ),
            r"^pairs must be \(N, C\): C should be 2, got 1",
        ),
        (
            lambda: next(
                noisy_batches(
                    IDS.view(2, 2),
                    torch.ones(1),
                    n_rows=1,
                    n_noise=0,
                    generator=generator(0),
                )
            ),
            r"^n_noise=0 must be at least 1$",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
