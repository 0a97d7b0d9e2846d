"""The recurrent language model: torch's numbers, and a memory that can be carried."""

import json
from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrent_twin import agree_with_gradients, torch_reads
from unrolled.decoding.loop import generate
from unrolled.layers.readers import CELLS
from unrolled.layers.states import shown
from unrolled.layers.unroll import unroll
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig

B, T, V, D, L = 3, 5, 7, 4, 2
SMALL = RNNLMConfig(n_tokens=V, d_model=D, n_layers=L)
LENGTHS = torch.tensor([2, 5, 1])
KINDS = [replace(SMALL, cell=cell) for cell in CELLS]
KINDS += [replace(SMALL, tied=False, d_embed=3)]
every_kind = pytest.mark.parametrize(
    "config", KINDS, ids=["rnn", "lstm", "gru", "untied"]
)


def any_text(n_steps=T):
    return torch.randint(V, (B, n_steps))


def make(config):
    """Return a model whose bias is not zero, as before training it is."""
    model = RNNLM(config)
    torch.nn.init.normal_(model.bias)
    return model


def twin(model, ids, lengths=None):
    """Return the logits by torch's layers, from the weights of ours."""
    table = model.embed.weight if model.config.tied else model.W_out
    h = torch_reads(model.layers, F.embedding(ids, model.embed.weight), lengths)
    return h @ table.T + model.bias


@st.composite
def problems(draw):
    tied, n_rows, n_steps = (
        draw(st.booleans()),
        *(draw(st.integers(1, 5)) for _ in "BT"),
    )
    config = RNNLMConfig(
        n_tokens=draw(st.integers(1, 9)),
        d_model=draw(st.integers(1, 6)),
        n_layers=draw(st.integers(1, 3)),
        cell=draw(st.sampled_from(list(CELLS))),
        tied=tied,
        d_embed=None if tied else draw(st.none() | st.integers(1, 6)),
    )
    some = st.lists(st.integers(1, n_steps), min_size=n_rows, max_size=n_rows)
    lengths = draw(st.none() | some.map(torch.tensor))
    return config, torch.randint(config.n_tokens, (n_rows, n_steps)), lengths


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=40)
@given(problem=problems())
def test_logits_and_gradients_are_those_of_torchs_layers(dtype, problem, agree):
    config, ids, lengths = problem
    model = make(config).to(dtype)
    theirs = twin(model, ids, lengths)
    agree_with_gradients(agree, model, model(ids, lengths=lengths), theirs)


def test_tied_weights_are_one_table_with_the_gradients_of_both_its_uses():
    tied = make(SMALL)
    names = {name for name, _ in tied.named_parameters()}
    assert {n for n in names if not n.startswith("layers.")} == {"embed.weight", "bias"}
    apart = RNNLM(replace(SMALL, tied=False))
    apart.load_state_dict(tied.state_dict() | {"W_out": tied.embed.weight})
    ids = any_text()
    assert torch.equal(tied(ids), apart(ids))
    for model in (tied, apart):
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
    both = apart.embed.weight.grad + apart.W_out.grad
    torch.testing.assert_close(tied.embed.weight.grad, both)
    assert apart.embed.weight.grad.any()


@every_kind
@pytest.mark.parametrize("cut", [1, 3])
def test_a_state_carried_is_one_long_reading(config, cut, agree):
    model, ids = make(config), any_text()
    whole, end = model.read(ids)
    agree(whole, model(ids), model=True)
    first, state = model.read(ids[:, :cut])
    second, last = model.read(ids[:, cut:], state)
    agree(torch.cat([first, second], dim=1), whole, model=True)
    agree(model(ids[:, cut:], state), second, model=True)
    agree(shown(last.layers), shown(end.layers), model=True)


def test_a_detached_state_says_the_same_and_lets_no_gradient_through():
    model, ids = make(SMALL), any_text()
    _, state = model.read(ids)
    cut = state.detach()
    assert torch.equal(model.read(ids, cut)[0], model.read(ids, state)[0])
    assert all(part.requires_grad for part in state.layers)
    assert not any(part.requires_grad for part in cut.layers)


@every_kind
def test_writing_step_by_step_is_reading_at_once(config, agree):
    model, ids = make(config), any_text(T + 3)
    whole = model(ids)
    logits, state = model.start(ids[:, :T])
    agree(logits, whole[:, T - 1], model=True)
    for t in range(T, T + 3):
        logits, state = model.step(ids[:, t], state)
        agree(logits, whole[:, t], model=True)


@every_kind
def test_prompts_of_different_lengths_go_on_as_each_would_alone(config, agree):
    model, ids, new = make(config), any_text(), torch.randint(V, (2, B))
    logits, state = model.start(ids, LENGTHS)
    after = [logits]
    for t in range(2):
        logits, state = model.step(new[t], state)
        after.append(logits)
    for row, n in enumerate(LENGTHS.tolist()):
        alone = model(torch.cat([ids[row, :n], new[:, row]])[None])[0, n - 1 :]
        agree(torch.stack(after)[:, row], alone, model=True)


@every_kind
def test_rows_of_a_state_go_on_as_they_did_and_leave_it_as_it_was(config, agree):
    model, ids = make(config), any_text()
    _, state = model.start(ids)
    index, new = torch.tensor([2, 0, 2, 1]), torch.randint(V, (4,))
    picked, _ = model.step(new, state.rows(index))
    wanted = model(torch.cat([ids[index], new[:, None]], dim=1))[:, -1]
    agree(picked, wanted, model=True)
    again, _ = model.step(ids[:, 0], state)
    agree(again, model(torch.cat([ids, ids[:, :1]], dim=1))[:, -1], model=True)


@every_kind
def test_padding_and_future_change_nothing_before_them(config):
    model, ids = make(config), any_text()
    changed = (ids + 1) % V
    padding = torch.arange(T) >= LENGTHS[:, None]
    before = model(ids, lengths=LENGTHS)
    other = model(torch.where(padding, changed, ids), lengths=LENGTHS)
    assert torch.equal(before, other)
    later = model(torch.cat([ids[:, :3], changed[:, 3:]], dim=1))
    assert torch.equal(model(ids)[:, :3], later[:, :3])
    assert not torch.allclose(model(ids)[:, 3:], later[:, 3:])


class Twice(torch.nn.Module):
    """What stands for dropout where a test wants no chance."""

    def forward(self, x):
        return 2 * x


def test_dropout_falls_on_words_between_layers_and_on_what_is_read_out():
    model, ids = make(SMALL), any_text()
    model.drop = model.layers.drop = Twice()
    h = model.embed(ids)
    for cell in model.layers.cells:
        h = unroll(cell, 2 * h)[0]
    assert torch.equal(model(ids), F.linear(2 * h, model.embed.weight, model.bias))


def test_dropout_is_for_training():
    model, ids = make(replace(SMALL, p_drop=0.5)), any_text()
    assert (model.drop.p, model.layers.drop.p) == (0.5, 0.5)
    assert not torch.equal(model(ids), model(ids))
    model.eval()
    plain = RNNLM(SMALL)
    plain.load_state_dict(model.state_dict())
    assert torch.equal(model(ids), plain(ids))


def test_before_training_all_tokens_are_about_as_likely():
    model = RNNLM(RNNLMConfig(n_tokens=50, d_model=32))
    log_p = model(torch.randint(50, (4, 8))).log_softmax(dim=-1)
    assert (log_p + torch.tensor(50.0).log()).abs().max() < 0.5


@every_kind
def test_it_learns_a_round_and_writes_it(config):
    """The token after 1 is 2 or 3, depending on what came before it."""
    song = torch.tensor([0, 1, 2, 4, 1, 3]).repeat(4)
    model = RNNLM(replace(config, d_model=16, n_layers=1))
    adam = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(80):
        loss = F.cross_entropy(model(song[None, :-1])[0], song[1:])
        adam.zero_grad()
        loss.backward()
        adam.step()
    written = generate(model, song[None, :4], n_tokens=9)
    assert written.ids.tolist() == [song[4:13].tolist()]


@every_kind
def test_it_runs_on_meta_compiles_in_one_piece_and_its_config_is_plain(config):
    model, ids = make(config), any_text()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(
        compiled(ids, lengths=LENGTHS), model(ids, lengths=LENGTHS)
    )
    assert model.to("meta")(ids.to("meta")).shape == (B, T, V)
    for lengths in (None, LENGTHS.to("meta")):
        _, state = model.start(ids.to("meta"), lengths)
        logits, _ = model.step(ids[:, 0].to("meta"), state.rows(torch.arange(B)))
        assert logits.is_meta
        assert logits.shape == (B, V)
    assert RNNLMConfig(**json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_tokens": 0}, "^n_tokens=0 must be at least 1$"),
        ({"d_model": 0}, "^d_model=0 must be at least 1$"),
        ({"n_layers": 0}, "^n_layers=0 must be at least 1$"),
        ({"d_embed": 0, "tied": False}, "^d_embed=0 must be at least 1$"),
        ({"cell": "elman"}, "^cell='elman' must be one of rnn, lstm, gru$"),
        ({"p_drop": 1.0}, "^p_drop=1.0 must be at least 0 and below 1$"),
        (
            {"d_embed": 3},
            "^d_embed=3 must be d_model=4 when the weights are tied: set tied=False",
        ),
    ],
)
def test_a_config_names_what_does_not_fit(change, said):
    with pytest.raises(ValueError, match=said):
        replace(SMALL, **change)


def test_it_names_what_does_not_fit():
    model = make(SMALL)
    with pytest.raises(ValueError, match=r"^ids must be \(B, T\): expected 2 axes"):
        model(torch.zeros(T, dtype=torch.int64))
    _, state = model.start(any_text())
    with pytest.raises(ValueError, match=r"^ids must be \(B\): expected 1 axes"):
        model.step(any_text(), state)
    with pytest.raises(ValueError, match=r"^ids must be \(B\): B should be 3, got 2"):
        model.step(any_text()[:2, 0], state)
    with pytest.raises(ValueError, match=r"^h_0 must be .*: B should be 1, got 3"):
        model(any_text()[:1], state)
