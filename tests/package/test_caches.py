"""Writing with a cache: whatever is split, padded or picked, the logits stay."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from twins import shake
from unrolled.layers.blocks import PostNormBlock, PreNormBlock
from unrolled.layers.caches import DecoderState, reader
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.llama import Llama, LlamaConfig

V, N = 11, 16
SIZES = {"n_tokens": V, "n_positions": N, "d_model": 24, "n_heads": 6, "n_layers": 2}
MAKERS = {
    "gpt-2": lambda: GPT(GPTConfig(**SIZES)),
    "modern": lambda: GPT(GPTConfig.modern(**SIZES)),
    "untied": lambda: GPT(GPTConfig(**SIZES, tied=False, qk_norm=True)),
    "llama": lambda: Llama(LlamaConfig(**SIZES, n_kv_heads=2, d_inner=20)),
}


def make(kind):
    torch.manual_seed(0)
    return shake(MAKERS[kind]()).eval()


MODELS = {kind: make(kind) for kind in MAKERS}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


@st.composite
def texts(draw):
    """Draw lengths of prompts, columns of padding, how much is written, a seed."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    return lengths, *(draw(st.integers(0, n)) for n in (2, 5, 99))


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=25)
@given(text=texts())
def test_written_together_is_each_read_by_itself(agree, kind, text):
    """Cache is recompute, and a row does not see its neighbours or its padding."""
    lengths, n_padding, n_new, seed = text
    torch.manual_seed(seed)
    model = MODELS[kind]
    prompts = torch.randint(0, V, (len(lengths), max(lengths) + n_padding))
    new = torch.randint(0, V, (len(lengths), n_new))
    logits, state = model.start(prompts, torch.tensor(lengths))
    found = [logits]
    for t in range(n_new):
        logits, state = model.step(new[:, t], state)
        found.append(logits)
    for row, n in enumerate(lengths):
        alone = torch.cat([prompts[row, :n], new[row]])[None]
        wanted = model(alone)[0, n - 1 :]
        agree(torch.stack([logits[row] for logits in found]), wanted, model=True)


def test_rows_of_one_length_need_no_mask(model):
    ids = torch.randint(0, V, (2, 5))
    assert model.start(ids)[1].real is None
    assert model.start(ids, torch.tensor([5, 5]))[1].real is None
    _, state = model.start(ids, torch.tensor([5, 2]))
    assert state.real.tolist() == [[True] * 5, [True] * 2 + [False] * 3]
    _, state = model.step(ids[:, 0], state)
    assert state.real[1].tolist() == [True] * 2 + [False] * 3 + [True]


def test_padding_takes_no_room(model, agree):
    """Prompts as wide as can be, or wider, of which the most is padding."""
    ids = torch.randint(0, V, (2, N))
    wide = torch.nn.functional.pad(ids[:, :4], (0, N - 2))
    logits, state = model.start(wide, torch.tensor([4, 3]))
    assert state.n_read == 4
    for t in range(4, N):
        logits, state = model.step(ids[:, t], state)
    agree(logits[0], model(ids)[0, -1], model=True)
    with pytest.raises(ValueError, match=f"^{N + 1} tokens do not fit"):
        model.step(ids[:, 0], state)


@pytest.mark.parametrize("lengths", [None, torch.tensor([4, 2, 1])])
def test_reading_on_leaves_the_old_state_as_it_was(model, lengths):
    ids = torch.randint(0, V, (3, 5))
    _, old = model.start(ids[:, :4], lengths)
    first, newer = model.step(ids[:, 4], old)
    model.step(ids[:, 0], newer)
    model.step(ids[:, 1], old)
    again, _ = model.step(ids[:, 4], old)
    assert torch.equal(first, again)
    assert old.n_read == old.caches[0].shape[2] == 4
    assert newer.n_read == newer.caches[0].shape[2] == 5


@pytest.mark.parametrize("lengths", [None, torch.tensor([4, 2, 1])])
def test_rows_can_be_picked_and_repeated(model, agree, lengths):
    ids, index = torch.randint(0, V, (3, 5)), torch.tensor([2, 0, 0, 1])
    new = torch.randint(0, V, (4, 2))
    _, state = model.start(ids, lengths)
    _, wanted = model.start(ids[index], None if lengths is None else lengths[index])
    state = state.rows(index)
    for t in range(2):
        found, state = model.step(new[:, t], state)
        logits, wanted = model.step(new[:, t], wanted)
        agree(found, logits, model=True)


def test_one_prompt_may_be_written_from_one_token(model, agree):
    ids = torch.randint(0, V, (1, N))
    logits, state = model.start(ids[:, :1])
    found = [logits]
    for t in range(1, N):
        logits, state = model.step(ids[:, t], state)
        found.append(logits)
    agree(torch.stack(found, dim=1), model(ids), model=True)


def test_the_future_cannot_change_the_past(model):
    ids = torch.randint(0, V, (2, 6))
    before = model(ids)
    for t in range(6):
        changed = ids.clone()
        changed[:, t] = (ids[:, t] + 1) % V
        after = model(changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] != before[:, t:]).any(dim=-1).all()


def test_inference_mode_is_welcome(model, agree):
    ids = torch.randint(0, V, (2, 5))
    with torch.inference_mode():
        _, state = model.start(ids[:, :4])
        logits, _ = model.step(ids[:, 4], state)
    agree(logits.clone(), model(ids)[:, -1].detach(), model=True)


def test_gradients_flow_through_the_caches(model, agree):
    ids, upstream = torch.randint(0, V, (2, 5)), torch.randn(2, V)
    weights = list(model.parameters())
    wanted = torch.autograd.grad(model(ids)[:, -1], weights, upstream)
    _, state = model.start(ids[:, :3])
    _, state = model.step(ids[:, 3], state)
    logits, _ = model.step(ids[:, 4], state)
    found = torch.autograd.grad(logits, weights, upstream)
    for a, b in zip(found, wanted, strict=True):
        agree(a, b, model=True, gradient=True)


def test_a_model_in_training_drops_while_it_reads_on():
    model = GPT(GPTConfig(**SIZES, p_drop=0.5))
    ids = torch.randint(0, V, (2, 5))
    _, state = model.eval().start(ids)
    assert torch.equal(model.step(ids[:, 0], state)[0], model.step(ids[:, 0], state)[0])
    _, state = model.train().start(ids)
    first, again = (model.step(ids[:, 0], state)[0] for _ in range(2))
    assert not torch.equal(first, again)


def test_a_block_of_another_kind_is_read_by_its_own_step(agree):
    block = MODELS["gpt-2"].blocks[0]
    other = PostNormBlock(block.attention, block.feed_forward).eval()
    x = torch.randn(2, 4, 24)
    for one in (block, other):
        _, cache = one.step(x[:, :3], None)
        wanted, longer = one.step(x[:, 3:], cache)
        kept = torch.cat([cache.k, cache.v], dim=1)
        found, also = reader(one)(x[:, 3], kept, None, None)
        agree(found, wanted[:, 0])
        agree(also, torch.cat([longer.k, longer.v], dim=1))
    assert isinstance(other, PreNormBlock)  # so that its kind must be looked at


@pytest.mark.parametrize("kind", MAKERS)
def test_meta_writes_too(kind):
    model = MAKERS[kind]().to("meta").eval()
    ids = torch.zeros(3, 4, dtype=torch.long, device="meta")
    lengths = torch.ones(3, dtype=torch.long, device="meta")
    for some in (None, lengths):
        logits, state = model.start(ids, some)
        logits, state = model.step(ids[:, 0], state)
        assert logits.is_meta
        assert logits.shape == (3, V)
    assert state.real.shape == (3, 5)


IDS = torch.zeros(2, 3, dtype=torch.long)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda m: m.start(IDS[0]), r"^prompts must be \(B, T\): expected 2 axes"),
        (lambda m: m.start(IDS[:, :0]), "^prompts has no tokens: each row needs one"),
        (
            lambda m: m.start(IDS, torch.tensor([3])),
            r"^lengths must be \(B\): B sh",
        ),
        (
            lambda m: m.start(IDS, torch.tensor([0, 3])),
            r"^lengths must lie between 1 and T=3, got \[0, 3\]$",
        ),
        (
            lambda m: m.start(IDS.repeat(1, 6)),
            "^18 tokens do not fit into n_positions=16$",
        ),
        (
            lambda m: m.step(IDS, m.start(IDS)[1]),
            r"^ids must be \(B\): expected 1 axes, got 2",
        ),
        (
            lambda m: m.step(IDS[0], m.start(IDS)[1]),
            r"^ids must be \(B\): B should be 2, got 3",
        ),
        (
            lambda m: m.step(IDS[:, 0], replace(m.start(IDS)[1], n_read=16)),
            "^17 tokens do not fit into n_positions=16$",
        ),
    ],
)
def test_wrong_inputs_are_named(model, run, message):
    with pytest.raises(ValueError, match=message):
        run(model)
    assert isinstance(model.start(IDS)[1], DecoderState)
