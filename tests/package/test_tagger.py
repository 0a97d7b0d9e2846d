"""An answer at every step, for numbers and for words: torch's, from what is seen."""

import json
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from descend import descend
from recurrent_twin import agree_with_gradients, built_as, torch_reads
from unrolled.layers.readers import CELLS
from unrolled.layers.recurrent import RNNCell
from unrolled.models.tagger import Tagger, TaggerConfig
from unrolled.models.token_tagger import TokenTagger, TokenTaggerConfig

B, T, V, E, D, N_OUT = 3, 5, 7, 3, 4, 2
NUMBERS = TaggerConfig(d_in=E, d_hidden=D, d_out=N_OUT)
WORDS = TokenTaggerConfig(n_tokens=V, d_embed=E, d_hidden=D, n_tags=N_OUT)
LENGTHS = torch.tensor([2, 5, 1])
MASK = torch.arange(T) < LENGTHS[:, None]


@st.composite
def problems(draw):
    n_rows, n_steps = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    some = st.lists(st.integers(1, n_steps), min_size=n_rows, max_size=n_rows)
    sizes = {
        name: draw(st.integers(1, 4)) for name in ("d_in", "d_hidden", "d_out")
    } | {"n_layers": draw(st.integers(1, 2))}
    return (
        sizes,
        (n_rows, n_steps),
        torch.tensor(draw(some)),
        draw(st.sampled_from([torch.float32, torch.float64])),
    )


@settings(max_examples=15)
@given(problem=problems())
def test_a_tagger_of_numbers_is_torchs(problem, agree):
    """nn.RNN on packed sequences, then nn.Linear; all steps, padding too."""
    sizes, shape, lengths, dtype = problem
    model = Tagger(TaggerConfig(**sizes)).to(dtype)
    x = torch.randn(*shape, sizes["d_in"], dtype=dtype)
    assert built_as(model.rnn) == (RNNCell, sizes["n_layers"], False)
    states = torch_reads(model.rnn, x, lengths)
    theirs = nn.functional.linear(states, model.read.weight, model.read.bias)
    agree_with_gradients(agree, model, model(x, lengths=lengths), theirs)


@pytest.mark.parametrize("bidirectional", [False, True])
@settings(max_examples=20)
@given(
    problem=problems(),
    cell=st.sampled_from(list(CELLS)),
    p_drop=st.sampled_from([0.0, 0.5]),
)
def test_a_tagger_of_words_is_torchs(bidirectional, problem, cell, p_drop, agree):
    """nn.Embedding, nn.LSTM and its kin on packed sequences, then nn.Linear."""
    sizes, shape, lengths, dtype = problem
    config = TokenTaggerConfig(
        n_tokens=V,
        d_embed=sizes["d_in"],
        d_hidden=sizes["d_hidden"],
        n_tags=sizes["d_out"],
        cell=cell,
        bidirectional=bidirectional,
        n_layers=sizes["n_layers"],
        p_drop=p_drop,
    )
    model, drop = TokenTagger(config).to(dtype), nn.Dropout(p_drop)
    ids, mask = torch.randint(V, shape), torch.arange(shape[1]) < lengths[:, None]
    torch.manual_seed(1)
    ours = model(ids, mask)
    torch.manual_seed(1)  # so that both drop the same
    wanted = CELLS[cell], config.n_layers, bidirectional
    assert built_as(model.reader.layers) == wanted
    x = nn.functional.embedding(ids.masked_fill(~mask, 0), model.reader.embed.weight)
    states = drop(torch_reads(model.reader.layers, drop(x), lengths))
    theirs = nn.functional.linear(states, model.read.weight, model.read.bias)
    agree_with_gradients(agree, model, ours, theirs)


def test_padding_reaches_no_real_tag():
    x = torch.randn(B, T, E)
    dirty = x.masked_fill(~MASK[..., None], float("nan"))
    model = Tagger(NUMBERS)
    found = model(x, lengths=LENGTHS)
    assert torch.equal(model(dirty, lengths=LENGTHS), found)
    torch.testing.assert_close(found[0, :2], model(x[:1, :2])[0])
    ids = torch.randint(V, (B, T))
    for both in (False, True):
        model = TokenTagger(replace(WORDS, bidirectional=both))
        found = model(ids, MASK)
        assert torch.equal(model(ids.masked_fill(~MASK, -100), MASK), found)
        torch.testing.assert_close(found[0, :2], model(ids[:1, :2])[0])
        assert torch.equal(model(ids, MASK | True), model(ids))


def test_one_direction_sees_no_later_word_and_both_see_all():
    ids = torch.randint(V - 1, (1, T))
    other = ids.clone()
    other[:, 3] = V - 1
    one, both = (TokenTagger(replace(WORDS, bidirectional=b)) for b in (False, True))
    changed = (one(ids) != one(other)).any(dim=-1)[0]
    assert changed.tolist() == [False, False, False, True, True]
    assert (both(ids) != both(other)).any(dim=-1).all()


def share_right(config, ids, y):
    """Train a tagger on ``ids`` and return the share of its tags that are right."""
    model = TokenTagger(config)
    cross_entropy = nn.functional.cross_entropy  # wants the classes second
    descend(model, lambda m: cross_entropy(m(ids).mT, y), n_steps=60, lr=0.03)
    return (model(ids).argmax(dim=-1) == y).float().mean().item()


def test_a_tag_that_the_next_word_decides_needs_both_directions():
    ids = torch.randint(2, (32, 8))
    y = ids.roll(-1, dims=1)
    y[:, -1] = 0
    config = replace(WORDS, d_hidden=8)
    assert share_right(replace(config, bidirectional=True), ids, y) > 0.99
    assert share_right(config, ids, y) < 0.8
    before = ids.roll(1, dims=1)
    before[:, 0] = 0
    assert share_right(config, ids, before) > 0.99


def test_it_runs_on_meta_and_compiles_in_one_piece():
    ids, x = torch.randint(V, (B, T)), torch.randn(B, T, E)
    words, numbers = TokenTagger(replace(WORDS, bidirectional=True)), Tagger(NUMBERS)
    compiled = torch.compile(words, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(ids, MASK), words(ids, MASK))
    compiled = torch.compile(numbers, fullgraph=True, backend="eager")
    torch.testing.assert_close(
        compiled(x, lengths=LENGTHS), numbers(x, lengths=LENGTHS)
    )
    assert words.to("meta")(ids.to("meta"), MASK.to("meta")).shape == (B, T, N_OUT)
    assert numbers.to("meta")(x.to("meta")).shape == (B, T, N_OUT)


@pytest.mark.parametrize("config", [NUMBERS, WORDS])
def test_a_config_goes_to_json_and_back(config):
    assert type(config)(**json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(
    ("config", "settings", "said"),
    [
        *(
            (config, {name: 0}, f"^{name}=0 must be at least 1$")
            for config, names in (
                (NUMBERS, ("d_in", "d_hidden", "d_out", "n_layers")),
                (WORDS, ("n_tokens", "d_embed", "d_hidden", "n_tags", "n_layers")),
            )
            for name in names
        ),
        (WORDS, {"cell": "LSTM"}, "^cell='LSTM' must be one of rnn, lstm, gru$"),
        (WORDS, {"p_drop": 1.5}, "^p_drop=1.5 must be at least 0 and below 1$"),
    ],
)
def test_a_wrong_setting_is_named(config, settings, said):
    with pytest.raises(ValueError, match=said):
        replace(config, **settings)


def test_what_does_not_fit_is_named():
    with pytest.raises(
        ValueError, match=r"^ids must be \(B, T\): expected 2 axes, got"
    ):
        TokenTagger(WORDS)(torch.zeros(B, T, E).long())
    with pytest.raises(ValueError, match=r"^mask must be \(B, T\): T should be 5, got"):
        TokenTagger(WORDS)(torch.zeros(B, T).long(), MASK[:, :2])
    with pytest.raises(ValueError, match=r"^x must be \(B, T, E\): E should be 3, got"):
        Tagger(NUMBERS)(torch.zeros(B, T, E + 1))
