"""Transformer: torch's encoder and decoder, and a cache that changes no number."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from pairs import (
    WRONG,
    later_tokens_change_no_earlier_answer,
    padding_changes_nothing,
    rows_go_on_alone,
    runs_on_meta,
    share_written_backwards,
    steps_are_the_whole,
)
from twins import DECODER, ENCODER, agree_on_gradients, give_weights, prefixed, shake
from unrolled.layers.positions import sinusoids
from unrolled.models.transformer import Transformer, TransformerConfig

B, T, S, V, D, H, L = 3, 4, 5, 7, 8, 2, 2
SMALL = TransformerConfig(
    n_source=6,
    n_target=V,
    d_model=D,
    n_heads=H,
    n_layers=L,
    d_inner=12,
    n_positions=8,
)
LENGTHS = torch.tensor([2, 5, 1])
MASK = torch.arange(S) < LENGTHS[:, None]


def build(**changes):
    return shake(Transformer(replace(SMALL, **changes)))


def sentences(n_rows=B, n_source=S, n_target=T):
    source = torch.randint(0, SMALL.n_source, (n_rows, n_source))
    return source, torch.randint(0, V, (n_rows, n_target))


class Torchs(nn.Module):
    """The same model of torch's parts, told where everybody is."""

    def __init__(self, config):
        super().__init__()
        self.config, D = config, config.d_model
        sizes = {
            "d_model": D,
            "nhead": config.n_heads,
            "dim_feedforward": config.d_inner,
            "dropout": config.p_drop,
            "batch_first": True,
            "norm_first": config.norm == "pre",
        }

        def last():
            return nn.LayerNorm(D) if config.norm == "pre" else None

        n_layers = config.n_layers
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**sizes),
            n_layers,
            last(),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**sizes), n_layers, last()
        )
        self.source = nn.Embedding(config.n_source, D)
        self.target = nn.Embedding(config.n_target, D)
        self.read = nn.Linear(D, config.n_target, bias=False)
        if config.positions == "learned":
            self.at_source, self.at_target = (
                nn.Parameter(torch.zeros(config.n_positions, D)) for _ in range(2)
            )
        else:
            table = sinusoids(config.n_positions, D).float()
            self.at_source = self.at_target = nn.Buffer(table)

    def place(self, table, positions, ids):
        return table(ids) * self.config.d_model**0.5 + positions[: ids.shape[1]]

    def forward(self, source, target_in, mask=None):
        n, hide = target_in.shape[1], None if mask is None else ~mask
        x = self.place(self.source, self.at_source, source)
        y = self.place(self.target, self.at_target, target_in)
        memory = self.encoder(x, src_key_padding_mask=hide)
        future = torch.ones(n, n, dtype=torch.bool, device=y.device).triu(1)
        written = self.decoder(y, memory, future, memory_key_padding_mask=hide)
        return self.read(written)


def table_of(config):
    """Return which of our parameters each of torch's is."""
    found = {
        "source.weight": ["embed_source.table.weight"],
        "target.weight": ["embed_target.table.weight"],
        "at_source": ["embed_source.positions.table"],
        "at_target": ["embed_target.positions.table"],
        "read.weight": ["read.weight"],
    }
    for part, rows, norm in (
        ("encoder", ENCODER, "norm_source"),
        ("decoder", DECODER, "norm_target"),
    ):
        for i in range(config.n_layers):
            found |= prefixed(rows, f"{part}.layers.{i}.", f"{part}.{i}.")
        found |= {f"{part}.norm.weight": [f"{norm}.gain"]}
        found |= {f"{part}.norm.bias": [f"{norm}.bias"]}
    return found


@st.composite
def problems(draw):
    n_rows, n_source = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    some = st.lists(st.integers(1, n_source), min_size=n_rows, max_size=n_rows)
    n_heads = draw(st.integers(1, 3))
    changes = {
        "n_heads": n_heads,
        "d_model": n_heads * draw(st.integers(2, 4)),
        "d_inner": draw(st.integers(1, 9)),
        "n_layers": draw(st.integers(1, 3)),
        "positions": draw(st.sampled_from(["sinusoidal", "learned"])),
    }
    sizes = n_rows, n_source, draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    return changes, sizes, draw(st.none() | some.map(torch.tensor)), dtype


@pytest.mark.parametrize("norm", ["pre", "post"])
@settings(max_examples=20)
@given(problem=problems())
def test_it_is_torchs(norm, problem, device, agree):
    changes, sizes, lengths, dtype = problem
    ours = build(norm=norm, **changes).to(device, dtype)
    table = table_of(ours.config)
    theirs = give_weights(Torchs(ours.config), ours, table)
    given = [x.to(device) for x in sentences(*sizes)]
    if lengths is not None:
        given.append((torch.arange(sizes[1]) < lengths[:, None]).to(device))
    y, z = ours(*given), theirs(*given)
    agree(y, z, model=True)
    agree_on_gradients(agree, table, (ours, theirs), (y, z), [])
    weights = ours.alignment(*given)
    agree(weights, torchs_weights(theirs, given), model=True)


def torchs_weights(theirs, given):
    """Ask torch's cross-attention, in each layer, for its weights: (L, B, H, T, S)."""
    found = []

    def keep(layer, args, kwargs, result):
        hide = kwargs["key_padding_mask"]
        weights = layer(*args, key_padding_mask=hide, average_attn_weights=False)[1]
        found.append(weights)

    hooks = []
    for layer in theirs.decoder.layers:
        attention = layer.multihead_attn
        asked = Once(keep)
        hooks.append(attention.register_forward_hook(asked, with_kwargs=True))
    theirs(*given)
    for hook in hooks:
        hook.remove()
    return torch.stack(found)


class Once:
    """A hook that is not called again by what it calls."""

    def __init__(self, hook):
        self.hook, self.busy = hook, False

    def __call__(self, *args):
        if not self.busy:
            self.busy = True
            self.hook(*args)
            self.busy = False


def test_dropout_falls_where_torchs_falls(agree):
    """But for the embeddings, of which torch's parts know nothing.

    With one row only: of several, torch keeps the time first in memory.
    """
    ours = build(p_drop=0.4)
    theirs = give_weights(Torchs(ours.config), ours, table_of(ours.config))
    ours.embed_source.drop.p = ours.embed_target.drop.p = 0.0
    given, found = sentences(n_rows=1), []
    for model in (ours, theirs):
        torch.manual_seed(1)
        found.append(model(*given))
    agree(*found, model=True)
    ours.embed_source.drop.p = 0.4
    torch.manual_seed(1)
    assert not torch.allclose(ours(*given), found[0])
    ours.eval()
    agree(ours(*given), theirs.eval()(*given), model=True)


MAKES = {
    "pre": {},
    "post": {"norm": "post"},
    "learned": {"positions": "learned"},
    "tied": {"tie": "all", "n_source": V, "norm": "post"},
}


@pytest.fixture(params=MAKES)
def model(request):
    return build(**MAKES[request.param])


def test_a_later_token_cannot_change_an_earlier_answer(model):
    later_tokens_change_no_earlier_answer(model, *sentences())


@pytest.mark.parametrize("mask", [MASK, MASK.flip(1)], ids=["right", "left"])
@pytest.mark.parametrize("make", ["pre", "post", "learned"])
def test_padding_of_the_source_changes_nothing_even_if_it_is_nan(make, mask, agree):
    model = build(**MAKES[make])
    table = model.embed_source.table
    padding_changes_nothing(agree, model, table, sentences(), mask)


def test_padding_of_the_target_changes_no_real_answer(model):
    source, target_in = sentences()
    padded = nn.functional.pad(target_in, (0, 2))
    torch.testing.assert_close(model(source, padded)[:, :T], model(source, target_in))


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_writing_a_token_at_a_time_gives_what_training_saw(model, mask, agree):
    steps_are_the_whole(agree, model, (*sentences(), mask))


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_rows_of_a_state_go_on_as_their_own_sentences(model, mask, agree):
    rows_go_on_alone(agree, model, (*sentences(), mask))


def test_without_positions_the_order_of_the_source_is_invisible(agree):
    model, (source, target_in) = build(positions="learned"), sentences()
    order = torch.tensor([3, 0, 4, 1, 2])
    mixed = source[:, order]
    assert not torch.allclose(model.encode(mixed), model.encode(source)[:, order])
    nn.init.zeros_(model.embed_source.positions.table)
    agree(model.encode(mixed), model.encode(source)[:, order], model=True)
    agree(model(mixed, target_in), model(source, target_in), model=True)


def test_the_weights_are_a_share_of_the_real_source(model):
    weights = model.alignment(*sentences(), MASK)
    assert weights.shape == (L, B, H, T, S)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(L, B, H, T))
    assert torch.equal(weights > 0, MASK[:, None, None].expand(L, B, H, T, S))


def test_tables_are_shared_as_the_config_says():
    shared = {}
    for tie in ("none", "target", "all"):
        model = build(tie=tie, n_source=V)
        source, target = model.embed_source.table, model.embed_target.table
        shared[tie] = [
            target.weight is model.read.weight,
            source.weight is target.weight,
        ]
    assert shared == {
        "none": [False, False],
        "target": [True, False],
        "all": [True, True],
    }


def test_tokens_start_at_the_size_of_their_positions():
    """The root of D that the paper multiplies by undoes the table's small start."""
    config = replace(SMALL, n_source=1000, d_model=64, n_heads=1)
    embed = Transformer(config).embed_source
    places = embed.positions(torch.arange(8))
    tokens = embed(torch.arange(800).view(100, 8)) - places
    assert tokens.square().mean().item() == pytest.approx(1.0, abs=0.05)
    assert places.square().mean().item() == pytest.approx(0.5, abs=1e-6)


def test_no_device_is_named_inside(model):
    runs_on_meta(model, (*sentences(), MASK))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_compiler_takes_it_whole(norm, agree):
    model, given = build(norm=norm), (*sentences(), MASK)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    agree(compiled(*given), model(*given), model=True)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_learns_to_write_a_sentence_backwards(norm):
    widths = {"d_model": 32, "d_inner": 64, "n_layers": 1}
    model = Transformer(replace(SMALL, n_target=6, tie="all", norm=norm, **widths))
    assert share_written_backwards(model, n_steps=250, lr=0.005) > 0.9


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_source": 0}, "^n_source=0 must be at least 1$"),
        ({"n_target": 0}, "^n_target=0 must be at least 1$"),
        ({"d_model": 0}, "^d_model=0 must be at least 1$"),
        ({"n_heads": 0}, "^n_heads=0 must be at least 1$"),
        ({"d_inner": 0}, "^d_inner=0 must be at least 1$"),
        ({"n_layers": 0}, "^n_layers=0 must be at least 1$"),
        ({"n_positions": 0}, "^n_positions=0 must be at least 1$"),
        ({"n_heads": 3}, "^d_model=8 must be a multiple of n_heads=3$"),
        ({"p_drop": 1.0}, "^p_drop=1.0 must be at least 0 and below 1$"),
        ({"norm": "mid"}, "^norm='mid' must be one of pre, post$"),
        ({"positions": "none"}, "^positions='none' must be one of sinusoidal, learned"),
        ({"tie": "both"}, "^tie='both' must be one of none, target, all$"),
        ({"tie": "all"}, "^tie='all' is for one vocabulary: n_source=6 must be n_t"),
    ],
)
def test_a_config_that_cannot_be_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        replace(SMALL, **changes)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *WRONG,
        (lambda m, s, t, _: m(s.repeat(1, 2), t), "^10 tokens are too many: n_posit"),
        (lambda m, s, t, _: m(s, t.repeat(1, 3)), "^12 tokens are too many: n_posit"),
    ],
)
def test_wrong_inputs_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call(build(), *sentences(), MASK)


def test_writing_beyond_the_last_position_is_refused():
    model, (source, target_in) = build(n_positions=5), sentences()
    _, state = model.start(source, None, target_in[:, 0])
    for _ in range(4):
        _, state = model.step(target_in[:, 0], state)
    with pytest.raises(ValueError, match=r"^6 tokens are too many: n_positions=5 are"):
        model.step(target_in[:, 0], state)
