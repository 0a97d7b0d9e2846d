"""Encoder-decoder: a plain loop's numbers, and a source that padding cannot change."""

from dataclasses import replace
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pairs import (
    WRONG,
    later_tokens_change_no_earlier_answer,
    padding_changes_nothing,
    rows_go_on_alone,
    runs_on_meta,
    share_written_backwards,
    steps_are_the_whole,
)
from unrolled.layers.states import LSTMState
from unrolled.models.seq2seq import Seq2Seq, Seq2SeqConfig
from unrolled.models.seq2seq_decoders import Source

B, T, S, V, E, D = 3, 4, 5, 7, 3, 4
SMALL = Seq2SeqConfig(n_source=6, n_target=V, d_embed=E, d_hidden=D)
KINDS = {
    "once": {"context": "once"},
    "everywhere": {"context": "everywhere"},
    **{
        f"{score} {asks}": {"score": score, "asks": asks}
        for score in ("additive", "dot", "bilinear")
        for asks in ("before", "after")
    },
}
ATTENTIVE = [kind for kind in KINDS if " " in kind]
BUILDS = [  # each kind of cell, one and two layers, from one end and from both
    {"cell": "gru", "bidirectional": True, "n_layers": 2},
    {"cell": "lstm", "n_layers": 2},
    {"cell": "lstm", "bidirectional": True},
    {"cell": "rnn"},
]
LENGTHS = torch.tensor([2, 5, 1])
MASK = torch.arange(S) < LENGTHS[:, None]


def build(kind, **changes):
    return Seq2Seq(replace(SMALL, **KINDS[kind], **changes))


def sentences(n_rows=B, n_source=S, n_target=T):
    source = torch.randint(0, SMALL.n_source, (n_rows, n_source))
    return source, torch.randint(0, V, (n_rows, n_target))


# The oracle: one sentence, one token and one layer at a time, with torch's cells.


def cell_step(cell, x, state, W_c=None):
    """Take a step by torch's own function; ``state`` is a tuple of rows (1, D)."""
    W_x = cell.W_x if W_c is None else torch.cat([cell.W_x, W_c])
    W_h, b, zeros = cell.W_h.T, cell.b, torch.zeros_like(cell.b)
    if len(state) == 2:
        return torch.lstm_cell(x, state, W_x.T, W_h, b, zeros)
    if not hasattr(cell, "b_h"):
        return (torch.rnn_tanh_cell(x, state[0], W_x.T, W_h, b, zeros),)
    b_h = torch.cat([zeros[: -len(cell.b_h)], cell.b_h])
    return (torch.gru_cell(x, state[0], W_x.T, W_h, b, b_h),)


def run(cell, rows, n_tensors):
    """Read the rows, (1, ...) each; return what is shown after each, and the last."""
    state = tuple(rows[0].new_zeros(1, cell.d_hidden) for _ in range(n_tensors))
    states = []
    for row in rows:
        state = cell_step(cell, row, state)
        states.append(state[0])
    return states, state


def encode(model, ids):
    n_tensors = 2 if model.config.cell == "lstm" else 1
    rows, last = [model.embed_source.weight[i][None] for i in ids], []
    layers = model.encoder.layers
    if not model.config.bidirectional:
        for cell in layers.cells:
            rows, state = run(cell, rows, n_tensors)
            last.append(state)
        return rows, last
    for ahead, back in zip(layers.ahead, layers.back, strict=True):
        right, at_end = run(ahead, rows, n_tensors)
        left, at_start = run(back, rows[::-1], n_tensors)
        rows = [torch.cat(pair, 1) for pair in zip(right, left[::-1], strict=True)]
        last.append(
            tuple(torch.cat(pair, 1) for pair in zip(at_end, at_start, strict=True))
        )
    return rows, last


def look(model, query, memory):
    """Return the context (1, D) and the weights: a score at a time, by its formula."""
    attention, scores = model.decoder.attention, []
    for key in memory:
        if model.config.score == "additive":
            hidden = torch.tanh(query @ attention.W_q + key @ attention.W_k)
            scores.append((hidden * attention.v).sum())
        elif model.config.score == "dot":
            scores.append((query * key).sum())
        else:
            scores.append((query @ attention.W_a @ key.T).squeeze())
    weights = torch.stack(scores).softmax(dim=0)
    return sum(w * key for w, key in zip(weights, memory, strict=True)), weights


def write(model, source, target_in):
    """Return the logits (T, V) and the weights (T, S) of one sentence, unpadded."""
    decoder, config = model.decoder, model.config
    memory, state = encode(model, source)
    context, weights, logits = memory[-1], torch.zeros(len(source)), []
    if config.bidirectional:  # the end of one direction is the beginning of the other
        context = state[-1][0]
    places = []
    for i in target_in:
        x, W_c = model.embed_target.weight[i][None], None
        if config.context == "everywhere":
            x = torch.cat([x, context], dim=1)
        elif config.context == "attention" and config.asks == "before":
            c, weights = look(model, state[0][0], memory)
            x, W_c = torch.cat([x, c], dim=1), decoder.W_c
        after = []
        for layer, cell in enumerate(decoder.stack.cells):
            after.append(cell_step(cell, x, state[layer], None if layer else W_c))
            x = after[-1][0]
        state = after
        if config.context == "attention" and config.asks == "after":
            c, weights = look(model, x, memory)
            mix = decoder.mix
            x = torch.tanh(torch.cat([x, c], 1) @ mix.weight.T + mix.bias)
        logits.append(x @ model.read.weight.T + model.read.bias)
        places.append(weights)
    return torch.cat(logits), torch.stack(places)


@st.composite
def problems(draw):
    n_rows, n_source = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    some = st.lists(st.integers(1, n_source), min_size=n_rows, max_size=n_rows)
    changes = {
        "cell": draw(st.sampled_from(["rnn", "lstm", "gru"])),
        "bidirectional": draw(st.booleans()),
        "n_layers": draw(st.integers(1, 2)),
        "d_embed": draw(st.integers(1, 4)),
        "d_hidden": 2 * draw(st.integers(1, 3)),
    }
    sizes = n_rows, n_source, draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    return changes, sizes, draw(st.none() | some.map(torch.tensor)), dtype


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(problem=problems())
def test_it_is_the_plain_loop(kind, problem, agree):
    changes, sizes, lengths, dtype = problem
    model = build(kind, **changes).to(dtype)
    source, target_in = sentences(*sizes)
    mask = None
    if lengths is not None:
        mask = torch.arange(sizes[1]) < lengths[:, None]
    ours = model(source, target_in, mask)
    rows = [slice(None)] * len(source) if mask is None else mask
    alone = [
        write(model, s[real], t)
        for s, t, real in zip(source, target_in, rows, strict=True)
    ]
    theirs = torch.stack([logits for logits, _ in alone])
    agree(ours, theirs, model=True)
    upstream, given = torch.randn_like(ours), list(model.parameters())
    kinds = {"materialize_grads": True, "allow_unused": True}
    for a, b in zip(
        torch.autograd.grad(ours, given, upstream, **kinds),
        torch.autograd.grad(theirs, given, upstream, **kinds),
        strict=True,
    ):
        agree(a, b, model=True, gradient=True)
    if kind in ATTENTIVE:
        found = model.alignment(source, target_in, mask)
        for row, (_, weights) in enumerate(alone):
            n = weights.shape[1]
            agree(found[row, :, :n], weights, model=True)
            assert not found[row, :, n:].any()


@pytest.fixture(params=KINDS)
def model(request):
    """Return a model of each kind, and all builds among them."""
    place = list(KINDS).index(request.param)
    return build(request.param, **BUILDS[(place + place // 4) % 4])


def test_a_later_token_cannot_change_an_earlier_answer(model):
    later_tokens_change_no_earlier_answer(model, *sentences())


def test_padding_of_the_source_changes_nothing_even_if_it_is_nan(model, agree):
    padding_changes_nothing(agree, model, model.embed_source, sentences(), MASK)


def fresh(x):
    """Return a copy of its own, since finite differences move numbers in place."""
    return x.detach().clone().requires_grad_()


@pytest.mark.parametrize("kind", ["everywhere", "additive before", "bilinear after"])
def test_gradients_of_a_decoder_are_those_of_finite_differences(kind):
    model = build(kind, d_hidden=2, d_embed=2, cell="lstm", n_layers=2).double()
    source, mask = torch.randint(0, SMALL.n_source, (2, 3)), MASK[:2, :3]
    state = model.encode(source, mask)
    x = torch.randn(2, 2, 2, dtype=torch.float64, requires_grad=True)
    before = LSTMState(*map(fresh, state.state))
    memory, context = fresh(state.source.memory), fresh(state.source.context)

    def shown(*_):
        keys = model.decoder.project(memory)
        return model.decoder(x, before, Source(context, memory, keys, mask)).shown

    weights = tuple(model.decoder.parameters())  # gradcheck moves them where they are
    given = (x, *before, memory, context, *weights)
    assert torch.autograd.gradcheck(shown, given)


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_writing_a_token_at_a_time_gives_what_training_saw(model, mask, agree):
    steps_are_the_whole(agree, model, (*sentences(), mask))


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_rows_of_a_state_go_on_as_their_own_sentences(model, mask, agree):
    rows_go_on_alone(agree, model, (*sentences(), mask))


@pytest.mark.parametrize("kind", ATTENTIVE)
def test_the_weights_are_a_share_of_the_real_source(kind):
    model = build(kind)
    weights = model.alignment(*sentences(), MASK)
    assert weights.shape == (B, T, S)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(B, T))
    assert torch.equal(weights > 0, MASK[:, None].expand(B, T, S))


@pytest.mark.parametrize("score", ["additive", "dot", "bilinear"])
def test_the_state_before_a_step_does_not_know_its_token_and_that_after_it_does(score):
    source, target_in = sentences()
    changed = target_in.clone()
    changed[:, 2] = (changed[:, 2] + 1) % V
    same = {}
    for asks in ("before", "after"):
        model = build(f"{score} {asks}")
        a, b = model.alignment(source, target_in), model.alignment(source, changed)
        same[asks] = [torch.equal(a[:, t], b[:, t]) for t in range(T)]
    assert same == {
        "before": [True, True, True, False],
        "after": [True, True, False, False],
    }


@pytest.mark.parametrize("kind", ATTENTIVE)
def test_keys_are_made_once_for_all_steps(kind):
    model = build(kind)
    attention, source_and_target = model.decoder.attention, sentences()
    with patch.object(attention, "project", wraps=attention.project) as project:
        model(*source_and_target)
        assert project.call_count == 1
        _, state = model.start(source_and_target[0], None, torch.zeros(B).long())
        model.step(torch.zeros(B).long(), state)
        assert project.call_count == 2


def test_once_and_everywhere_differ_in_what_later_steps_see():
    """A state that is emptied forgets the source; read everywhere, it is seen again."""
    source, _ = sentences()
    other = (source + 1) % SMALL.n_source
    first = torch.zeros(B).long()
    for kind, alike in (("once", True), ("everywhere", False)):
        model, found = build(kind), []
        for ids in (source, other):
            state = model.encode(ids)
            emptied = replace(state, state=torch.zeros_like(state.state))
            found.append(model.step(first, emptied)[0])
        assert torch.equal(*found) == alike


def test_dropout_is_for_training_alone():
    model, given = build("additive before", p_drop=0.5), sentences()
    assert not torch.equal(model(*given), model(*given))
    model.eval()
    assert torch.equal(model(*given), model(*given))


def test_no_device_is_named_inside(model):
    runs_on_meta(model, (*sentences(), MASK))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("everywhere", BUILDS[2]),
        ("additive before", {"n_layers": 2}),
        ("bilinear after", BUILDS[3]),
    ],
)
def test_the_compiler_takes_it_whole(kind, changes, agree):
    model, given = build(kind, **changes), (*sentences(2, 2, 2), MASK[:2, :2])
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    agree(compiled(*given), model(*given), model=True)


@pytest.mark.parametrize("kind", ["additive before", "dot after"])
def test_it_learns_to_write_a_sentence_backwards(kind):
    widths = {"d_embed": 16, "d_hidden": 32, "bidirectional": True}
    model = build(kind, n_target=6, **widths)
    assert share_written_backwards(model, n_steps=120, lr=0.01) > 0.9


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_source": 0}, "^n_source=0 must be at least 1$"),
        ({"n_target": 0}, "^n_target=0 must be at least 1$"),
        ({"d_embed": 0}, "^d_embed=0 must be at least 1$"),
        ({"d_hidden": 0}, "^d_hidden=0 must be at least 1$"),
        ({"n_layers": 0}, "^n_layers=0 must be at least 1$"),
        ({"d_hidden": 3, "bidirectional": True}, "^d_hidden=3 must be even: each"),
        ({"p_drop": 1.0}, "^p_drop=1.0 must be at least 0 and below 1$"),
        ({"cell": "gnu"}, "^cell='gnu' must be one of rnn, lstm, gru$"),
        (
            {"context": "twice"},
            "^context='twice' must be one of once, every",
        ),
        ({"score": "sum"}, "^score='sum' must be one of additive, dot, bilinear$"),
        ({"asks": "never"}, "^asks='never' must be one of before, after$"),
    ],
)
def test_a_config_that_cannot_be_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        replace(SMALL, **changes)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *WRONG,
        (
            lambda m, s, t, mask: m(s, t, mask.flip(1)),
            r"^source_mask turns from False to True in rows \[0, 2\]: pad on the right",
        ),
        (
            lambda m, s, t, _: build("once").alignment(s, t),
            "^context='once' asks nothing: there is no alignment$",
        ),
    ],
)
def test_wrong_inputs_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call(build("additive before"), *sentences(), MASK)
