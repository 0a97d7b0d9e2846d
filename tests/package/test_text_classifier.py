"""One answer for a text: torch's numbers, every way to pool, and what order tells."""

import json
from dataclasses import asdict, replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from descend import descend
from recurrent_twin import agree_with_gradients, built_as, torch_reads
from unrolled.data.padding import pad
from unrolled.layers.readers import CELLS, WordReader, lengths_of
from unrolled.models.bag_classifier import BagClassifier, BagClassifierConfig
from unrolled.models.text_classifier import (
    POOLINGS,
    TextClassifier,
    TextClassifierConfig,
)

B, T, V, E, D, N_OUT = 3, 5, 7, 3, 4, 2
SMALL = TextClassifierConfig(n_tokens=V, d_embed=E, d_hidden=D, n_classes=N_OUT)
BAG = BagClassifierConfig(n_tokens=V, d_embed=E, n_classes=N_OUT)
MASK = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]).bool()


KINDS = [
    BAG,
    *(
        replace(SMALL, pooling=pooling, bidirectional=both)
        for pooling, both in product(POOLINGS, (False, True))
    ),
]


def make(config):
    return (BagClassifier if type(config) is type(BAG) else TextClassifier)(config)


def any_text():
    return torch.randint(V, (B, T))


def torch_pools(model, states, lengths):
    """Pool row by row, with torch's own functions, what is real and nothing else."""
    width, pooled = model.config.d_hidden, []
    for row, n in zip(states, lengths, strict=True):
        row = row[:n]
        if model.config.pooling == "last":
            pooled.append(torch.cat([row[-1, :width], row[0, width:]]))
        elif model.config.pooling == "attention":
            scores = model.pool.v(torch.tanh(model.pool.W(row)))
            pooled.append(scores.softmax(dim=0)[:, 0] @ row)
        else:
            name = f"adaptive_{ {'mean': 'avg', 'max': 'max'}[model.config.pooling] }"
            pooled.append(getattr(nn.functional, f"{name}_pool1d")(row.T, 1)[:, 0])
    return torch.stack(pooled)


def torch_last(model, states, lengths):
    """One direction has no first half and second: the last state is the last."""
    rows = zip(states, lengths, strict=True)
    return torch.stack([row[n - 1] for row, n in rows])


@st.composite
def problems(draw):
    n_rows, n_steps = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    some = st.lists(st.integers(1, n_steps), min_size=n_rows, max_size=n_rows)
    config = TextClassifierConfig(
        n_tokens=V,
        d_embed=draw(st.integers(1, 4)),
        d_hidden=draw(st.integers(1, 4)),
        n_classes=draw(st.integers(2, 4)),
        cell=draw(st.sampled_from(list(CELLS))),
        bidirectional=draw(st.booleans()),
        n_layers=draw(st.integers(1, 2)),
        p_drop=draw(st.sampled_from([0.0, 0.5])),
    )
    lengths = torch.tensor(draw(some))
    return config, (n_rows, n_steps), lengths, draw(st.integers(0, 99))


@pytest.mark.parametrize("pooling", POOLINGS)
@settings(max_examples=15)
@given(problem=problems(), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_it_is_torchs_layers_one_after_the_other(pooling, problem, dtype, agree):
    """nn.Embedding, packed nn.LSTM and its kin, a pool, nn.Linear, and gradients."""
    config, shape, lengths, seed = problem
    torch.manual_seed(seed)
    model = TextClassifier(replace(config, pooling=pooling)).to(dtype)
    ids, drop = torch.randint(V, shape), nn.Dropout(config.p_drop)
    mask = torch.arange(shape[1]) < lengths[:, None]
    torch.manual_seed(seed)
    ours = model(ids, mask)
    torch.manual_seed(seed)  # so that both drop the same
    reader, one_way = model.reader, pooling == "last" and not config.bidirectional
    wanted = CELLS[config.cell], config.n_layers, config.bidirectional
    assert built_as(reader.layers) == wanted
    x = nn.functional.embedding(ids.masked_fill(~mask, 0), reader.embed.weight)
    states = torch_reads(reader.layers, drop(x), lengths)
    pooled = (torch_last if one_way else torch_pools)(model, states, lengths)
    theirs = nn.functional.linear(drop(pooled), model.read.weight, model.read.bias)
    agree_with_gradients(agree, model, ours, theirs)


@settings(max_examples=20)
@given(
    rows=st.lists(st.lists(st.integers(0, V - 1), min_size=1), min_size=1, max_size=4),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_bag_is_torchs_embedding_bag(rows, dtype, agree):
    model = BagClassifier(BAG).to(dtype)
    ids, mask = pad(rows)
    starts = torch.tensor([0, *map(len, rows)]).cumsum(dim=0)[:-1]
    bags = nn.functional.embedding_bag(ids[mask], model.embed.weight, starts)
    ours, theirs = model(ids, mask), model.read(bags)
    agree_with_gradients(agree, model, ours, theirs)


@pytest.mark.parametrize("config", KINDS)
def test_padding_changes_nothing(config):
    model, ids = make(config), any_text()
    found = model(ids, MASK)
    for other in (ids.masked_fill(~MASK, 5), ids.masked_fill(~MASK, -100)):
        assert torch.equal(model(other, MASK), found)
    for row, on, logits in zip(ids, MASK, found, strict=True):
        torch.testing.assert_close(model(row[on][None])[0], logits)
    assert torch.equal(model(ids, torch.ones(B, T).bool()), model(ids))


def test_order_is_invisible_to_a_bag_alone():
    ids, order = any_text(), torch.randperm(T)
    for config in KINDS:
        model = make(config).double()
        same = torch.allclose(model(ids[:, order]), model(ids))
        assert same == (config == BAG), config


@pytest.mark.parametrize("config", [BAG, KINDS[-1]])  # pools have a test of their own
def test_it_runs_on_meta_and_compiles_in_one_piece(config):
    model, ids = make(config), any_text()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(ids, MASK), model(ids, MASK))
    assert model.to("meta")(ids.to("meta"), MASK.to("meta")).shape == (B, N_OUT)


def test_numbers_are_dropped_in_training_only():
    for config in (SMALL, BAG):
        model, ids = make(replace(config, p_drop=0.5)), any_text()
        assert not torch.equal(model(ids), model(ids))
        model.eval()
        assert torch.equal(model(ids), model(ids))


def learn(model, ids, y):
    cross_entropy = nn.functional.cross_entropy
    descend(model, lambda m: cross_entropy(m(ids), y), n_steps=60, lr=0.03)
    return (model(ids).argmax(dim=1) == y).float().mean().item()


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_it_hears_in_which_order_words_come_and_a_bag_does_not(cell, pooling):
    """Good, not bad at all / bad, not good at all: the same words."""
    good, bad, not_ = 0, 1, 2
    ids = torch.tensor([[good, not_, bad], [bad, not_, good]])
    model = TextClassifier(replace(SMALL, cell=cell, pooling=pooling, d_hidden=8))
    assert learn(model, ids, torch.tensor([0, 1])) == 1
    one, two = BagClassifier(BAG)(ids)
    torch.testing.assert_close(one, two, rtol=0, atol=1e-6)


def test_a_bag_learns_from_words():
    ids = torch.tensor([[0, 2, 3], [3, 2, 0], [1, 2, 3], [2, 3, 1]])
    assert learn(BagClassifier(BAG), ids, torch.tensor([0, 0, 1, 1])) == 1


def test_from_both_ends_the_last_states_have_read_everything():
    """At the last step, the direction that reads back has read one word."""
    model = TextClassifier(replace(SMALL, pooling="last", bidirectional=True))
    ids, other = torch.zeros(1, T).long(), torch.zeros(1, T).long()
    other[0, 0] = 1
    back = model.read.weight[:, D:]
    with torch.no_grad():
        model.read.weight.copy_(torch.cat([torch.zeros(N_OUT, D), back], dim=1))
    assert not torch.allclose(model(ids), model(other))


@pytest.mark.parametrize("config", KINDS)
def test_a_config_goes_to_json_and_back(config):
    assert type(config)(**json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(
    ("config", "settings", "said"),
    [
        *(
            (SMALL, {name: 0}, f"^{name}=0 must be at least 1$")
            for name in ("n_tokens", "d_embed", "d_hidden", "n_layers")
        ),
        *(
            (BAG, {n: 0}, f"^{n}=0 must be at least 1$")
            for n in ("n_tokens", "d_embed")
        ),
        *(
            (c, {"n_classes": 1}, "^n_classes=1 must be at least 2$")
            for c in (SMALL, BAG)
        ),
        *((c, {"p_drop": 1.0}, "^p_drop=1.0 must be at le") for c in (SMALL, BAG)),
        (SMALL, {"p_drop": -0.1}, "^p_drop=-0.1 must be at least 0 and below 1$"),
        (SMALL, {"cell": "elman"}, "^cell='elman' must be one of rnn, lstm, gru$"),
        (
            SMALL,
            {"pooling": "sum"},
            "^pooling='sum' must be one of last, mean, max, attention$",
        ),
    ],
)
def test_a_wrong_setting_is_named(config, settings, said):
    with pytest.raises(ValueError, match=said):
        replace(config, **settings)


@pytest.mark.parametrize(
    ("ids", "mask", "said"),
    [
        (torch.zeros(T).long(), None, r"^ids must be \(B, T\): expected 2 axes, got 1"),
        (
            any_text(),
            MASK.long(),
            r"^mask is torch.int64; it must be boolean, True whe",
        ),
        (any_text(), MASK[:2], r"^mask must be \(B, T\): B should be 3, got 2"),
        (any_text(), MASK & False, r"^mask is False throughout in rows \[0, 1, 2\]: n"),
    ],
)
def test_what_does_not_fit_is_named(ids, mask, said):
    for config in (SMALL, BAG):
        with pytest.raises(ValueError, match=said):
            make(config)(ids, mask)


def test_a_reader_wants_padding_on_the_right():
    with pytest.raises(
        ValueError, match=r"^mask turns from False to True in rows \[0, 2\]: pad on the"
    ):
        WordReader(V, E, D, cell="gru")(any_text(), MASK.flip(1))
    assert lengths_of("mask", MASK, B, T).tolist() == [2, 5, 1]
