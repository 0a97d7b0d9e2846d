"""What no cache knows is read anew: whatever a part does, writing is ``forward``."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from twins import shake
from unrolled.decoding.beam import beam_search
from unrolled.decoding.loop import generate
from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PostNormBlock, PreNormBlock
from unrolled.layers.caches import DecoderState, reader
from unrolled.layers.feed_forward import FeedForward, SwiGLU
from unrolled.layers.heads import GroupedQueryAttention, NormedAttention
from unrolled.layers.norms import LayerNorm, RMSNorm, UnitRMSNorm
from unrolled.layers.positions import LearnedPositions, RotaryPositions
from unrolled.layers.rereading import TextState, known
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.llama import Llama, LlamaConfig

V, N = 11, 12
SIZES = {"n_tokens": V, "n_positions": N, "d_model": 8, "n_heads": 4, "n_layers": 2}
MAKERS = {
    "gpt-2": lambda: GPT(GPTConfig(**SIZES)),
    "modern": lambda: GPT(GPTConfig.modern(**SIZES, tied=False)),
    "llama": lambda: Llama(LlamaConfig(**SIZES, n_kv_heads=2, d_inner=20)),
}
IDS = torch.tensor([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 0, 1], [3, 1, 4, 1, 5, 9]])


def make(kind):
    torch.manual_seed(0)
    return shake(MAKERS[kind]()).eval()


def override(part, **methods):
    """Make a part one of a subclass of its own."""
    part.__class__ = type(f"Other{type(part).__name__}", (type(part),), methods)


def scaled(base, name, factor=1.5):
    """Return a method that answers as that of ``base``, but more."""
    return lambda self, *args, **kw: factor * getattr(base, name)(self, *args, **kw)


def scale(part, name):
    override(part, **{name: scaled(type(part), name)})


def by_the_number_of_queries(self, q, k, v, mask, *, causal):
    mixed = type(self).__mro__[1].mix(self, q, k, v, mask, causal=causal)
    return mixed * q.shape[-2]


def shift_tokens(self, x):
    before = torch.cat([torch.zeros_like(x[..., :1, :]), x[..., :-1, :]], dim=-2)
    return type(self).__mro__[1].forward(self, x + before)


class Doubled(nn.Module):
    def forward(self, W):
        return 2 * W


def patch(model):
    attention = model.blocks[0].attention
    attention.mix = lambda *args, **kw: (
        1.5 * type(attention).mix(attention, *args, **kw)
    )


CHANGES = {
    "mix": lambda m: scale(m.blocks[1].attention, "mix"),
    "mix by the number of queries": lambda m: override(
        m.blocks[0].attention, mix=by_the_number_of_queries
    ),
    "attention": lambda m: scale(m.blocks[0].attention, "forward"),
    "turn": lambda m: scale(m.blocks[0].attention, "turn"),
    "block": lambda m: scale(m.blocks[0], "forward"),
    "end of block": lambda m: scale(m.blocks[0], "_finish"),
    "norm": lambda m: scale(m.blocks[0].norm_2, "forward"),
    "last norm": lambda m: scale(m.norm, "forward"),
    "feed-forward": lambda m: scale(m.blocks[1].feed_forward, "forward"),
    "feed-forward of two": lambda m: override(
        m.blocks[0].feed_forward, forward=shift_tokens
    ),
    "product": lambda m: scale(m.blocks[0].attention.W_qkv, "forward"),
    "other product": lambda m: scale(m.blocks[0].attention.W_o, "forward"),
    "dropout": lambda m: scale(m.blocks[0].drop, "forward"),
    "embeddings": lambda m: scale(m.embed, "forward"),
    "positions": lambda m: override(
        m.positions, forward=lambda s, at: type(s).__mro__[1].forward(s, at // 2)
    ),
    "model": lambda m: scale(m, "forward"),
    "logits": lambda m: scale(m, "logits"),
    "what the model embeds": lambda m: override(
        m, _embed=lambda s, ids, at: type(s).__mro__[1]._embed(s, ids.flip(-1), at)
    ),
    "hook on attention": lambda m: m.blocks[0].attention.register_forward_hook(
        lambda part, given, found: 1.5 * found
    ),
    "hook on a block": lambda m: m.blocks[0].register_forward_pre_hook(
        lambda part, given: (1.5 * given[0],)
    ),
    "hook on a product": lambda m: m.blocks[1].attention.W_qkv.register_forward_hook(
        lambda part, given, found: 1.5 * found
    ),
    "hook on the model": lambda m: m.register_forward_hook(
        lambda part, given, found: 1.5 * found
    ),
    "patched mix": patch,
    "parametrization": lambda m: parametrize.register_parametrization(
        m.blocks[0].attention.W_qkv, "weight", Doubled()
    ),
}


@pytest.fixture(params=MAKERS)
def kind(request):
    return request.param


@pytest.mark.parametrize("lengths", [None, [3, 1, 2]])
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_part_does_writing_is_forward(agree, kind, change, lengths):
    model = make(kind)
    before = model(IDS)
    CHANGES[change](model)
    assert not torch.allclose(model(IDS), before, atol=1e-3)  # so it can be seen
    logits, state = model.start(IDS[:, :3], lengths and torch.tensor(lengths))
    found = [logits]
    for t in range(3, 6):
        logits, state = model.step(IDS[:, t], state)
        found.append(logits)
    for row, n in enumerate(lengths or [3] * 3):
        text = torch.cat([IDS[row, :n], IDS[row, 3:]])
        wanted = [model(text[None, :end])[0, -1] for end in range(n, n + 4)]
        together = torch.stack([each[row] for each in found])
        agree(together, torch.stack(wanted), model=True)


@pytest.mark.parametrize("part", ["mix", "block", "hook on a product"])
def test_greedy_and_beams_too(kind, part):
    model = make(kind)
    CHANGES[part](model)
    text = IDS[:, :2]
    for _ in range(5):
        text = torch.cat([text, model(text)[:, -1:].argmax(dim=-1)], dim=1)
    assert torch.equal(generate(model, IDS[:, :2], n_tokens=5).ids, text[:, 2:])
    found = beam_search(model, IDS[:, :3], n_beams=3, n_tokens=4)
    for row, texts in enumerate(found.ids):
        read = torch.cat([IDS[row, :3].expand(3, 3), texts], dim=1)
        log_p = model(read).log_softmax(dim=-1)[:, 2:-1]
        totals = log_p.gather(-1, texts[..., None]).sum(dim=(1, 2))
        assert totals.tolist() == pytest.approx(found.scores[row].tolist(), abs=1e-4)


class Counter:
    """Count how often a method is called, and of how many positions."""

    def __init__(self, monkeypatch, owner, name):
        self.n_positions, kept = [], getattr(owner, name)

        def method(part, x, *args, **kw):
            self.n_positions.append(x.shape[1])
            return kept(part, x, *args, **kw)

        monkeypatch.setattr(owner, name, method)


@pytest.mark.parametrize("lengths", [None, torch.tensor([3, 1, 2])])
def test_known_parts_are_never_read_twice(monkeypatch, kind, lengths):
    model = make(kind)
    forward = Counter(monkeypatch, PreNormBlock, "forward")
    step = Counter(monkeypatch, PreNormBlock, "step")
    _, state = model.start(IDS[:, :3], lengths)
    assert isinstance(state, DecoderState)
    assert step.n_positions == [3, 3]  # the prompt, once by each of two blocks
    for t in range(3, 6):
        _, state = model.step(IDS[:, t], state)
    assert step.n_positions == [3, 3]  # and then kernels only
    assert forward.n_positions == []


def test_other_parts_are_read_anew(monkeypatch, kind):
    model = make(kind)
    scale(model.blocks[0].attention, "mix")
    forward = Counter(monkeypatch, PreNormBlock, "forward")
    _, state = model.start(IDS[:, :3])
    _, state = model.step(IDS[:, 3], state)
    assert isinstance(state, TextState)
    assert forward.n_positions == [3, 3, 4, 4]
    assert torch.equal(state.ids, IDS[:, :4])


def test_a_hook_that_is_taken_away_again_leaves_the_cache(kind):
    model = make(kind)
    hook = model.blocks[0].norm_1.register_forward_hook(lambda *_: None)
    assert isinstance(model.start(IDS)[1], TextState)
    hook.remove()
    assert isinstance(model.start(IDS)[1], DecoderState)


def test_a_hook_that_looks_on_sees_every_position(kind):
    model, seen = make(kind), []
    model.blocks[1].register_forward_hook(lambda *args: seen.append(args[2].shape[1]))
    _, state = model.start(IDS[:, :3])
    model.step(IDS[:, 3], state)
    assert seen == [3, 4]


def test_a_model_that_is_only_made_otherwise_keeps_its_cache():
    class Small(GPT):
        def __init__(self):
            super().__init__(GPTConfig(**SIZES))

        def n_words(self):
            return V

    assert isinstance(Small().eval().start(IDS)[1], DecoderState)


@pytest.mark.parametrize(
    "part",
    [
        MultiHeadAttention(8, 2),
        GroupedQueryAttention(8, 4, 2),
        NormedAttention(8, 2),
        FeedForward(8, 16),
        SwiGLU(8, 16),
        LayerNorm(8),
        RMSNorm(8),
        UnitRMSNorm(8),
        LearnedPositions(4, 8),
        RotaryPositions(4, 8),
        PreNormBlock(MultiHeadAttention(8, 2), SwiGLU(8, 16), norm=RMSNorm),
        PostNormBlock(NormedAttention(8, 2), FeedForward(8, 16)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_the_parts_of_the_book_are_known_and_their_subclasses_are_not(part):
    assert known(part)
    assert known(part.train())
    override(part)
    assert not known(part)


def test_a_block_that_is_not_known_is_read_by_its_own_step(agree):
    block = make("gpt-2").blocks[0]
    for change in ("mix", "turn"):
        scale(block.attention, change)
        x = torch.randn(2, 4, 8)
        _, cache = block.step(x[:, :3], None)
        kept = torch.cat([cache.k, cache.v], dim=1)
        found, _ = reader(block)(x[:, 3], kept, None, None)
        agree(found, block(x, causal=True)[:, -1])


@pytest.mark.parametrize("lengths", [None, torch.tensor([3, 1, 2])])
def test_rows_can_be_picked_and_repeated_and_the_old_state_stays(agree, lengths):
    model, index = make("llama"), torch.tensor([2, 0, 0, 1])
    scale(model.blocks[0].attention, "mix")
    _, state = model.start(IDS[:, :3], lengths)
    _, wanted = model.start(
        IDS[index, :3], lengths if lengths is None else lengths[index]
    )
    new = torch.tensor([4, 5, 6, 7])
    for _ in range(2):
        found, _ = model.step(new, state.rows(index))
        agree(found, model.step(new, wanted)[0], model=True)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda m: m.start(IDS[:, :0]), "^prompts has no tokens: each row needs one"),
        (
            lambda m: m.start(IDS.repeat(1, 3)),
            "^18 tokens do not fit into n_positions=12$",
        ),
        (
            lambda m: m.step(IDS[:, 0], m.start(IDS.repeat(1, 2))[1]),
            "^13 tokens do not fit into n_positions=12$",
        ),
        (
            lambda m: m.step(IDS, m.start(IDS)[1]),
            r"^ids must be \(B\): expected 1 axes, got 2",
        ),
        (
            lambda m: m.step(IDS[0], m.start(IDS)[1]),
            r"^ids must be \(B\): B should be 3, got 6",
        ),
    ],
)
def test_wrong_inputs_are_named(run, message):
    model = make("gpt-2")
    scale(model.blocks[0].attention, "mix")
    with pytest.raises(ValueError, match=message):
        run(model)
