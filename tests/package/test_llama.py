"""Llama: Hugging Face's numbers, and SmolLM2's real weights."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig as TheirConfig
from transformers import LlamaForCausalLM

from descend import loss_of_counting
from twins import shake
from unrolled.data.corpora.smollm2 import smollm2
from unrolled.models.llama import Llama, LlamaConfig, load_smollm2

V, N = 11, 12
CONFIG = LlamaConfig(
    n_tokens=V,
    n_positions=N,
    d_model=24,
    n_heads=6,
    n_kv_heads=2,
    n_layers=2,
    d_inner=20,
)
PROMPT = ("The", "Ġcapital", "Ġof", "ĠFrance", "Ġis")


@st.composite
def twins(draw):
    """Draw settings of Hugging Face's Llama, odd ones too."""
    n_kv_heads = draw(st.integers(1, 3))
    n_heads = n_kv_heads * draw(st.integers(1, 3))
    return {
        "vocab_size": draw(st.integers(2, 9)),
        "max_position_embeddings": N,
        "hidden_size": n_heads * 2 * draw(st.integers(1, 3)) * 2,
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads,
        "intermediate_size": draw(st.integers(3, 9)),
        "rms_norm_eps": draw(st.sampled_from([1e-6, 1e-3])),
        "tie_word_embeddings": draw(st.booleans()),
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": draw(st.sampled_from([100.0, 100_000.0])),
        },
        "bos_token_id": None,
        "eos_token_id": None,
    }


@settings(max_examples=8)
@given(options=twins(), seed=st.integers(0, 99), n_steps=st.integers(1, N))
def test_logits_and_gradients_are_hugging_faces(agree, options, seed, n_steps):
    torch.manual_seed(seed)
    theirs = shake(LlamaForCausalLM(TheirConfig(**options))).eval()
    ours = Llama.from_hf(theirs)
    ids = torch.randint(0, options["vocab_size"], (2, n_steps))
    y, z = ours(ids), theirs(ids).logits
    agree(y, z, model=True)
    upstream = torch.randn_like(y)
    for logits in (y, z):
        logits.backward(upstream)
    again = ours.to_hf()
    for mine, parameter in zip(again.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, parameter)
    with torch.no_grad():
        for parameter in ours.parameters():  # to_hf lays gradients beside theirs too
            parameter.copy_(parameter.grad)
    pairs = zip(ours.to_hf().parameters(), theirs.parameters(), strict=True)
    for mine, parameter in pairs:
        agree(mine.detach(), parameter.grad, model=True, gradient=True)


@pytest.mark.parametrize("tied", [True, False])
def test_there_and_back_again_nothing_changes(tied):
    ours = shake(Llama(replace(CONFIG, tied=tied))).double().eval()
    again = Llama.from_hf(ours.to_hf())
    assert again.config == ours.config
    assert not again.training
    assert again.positions.cos.dtype == torch.float64
    assert ours.state_dict().keys() == again.state_dict().keys()
    for name, weight in ours.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])


def test_the_future_cannot_change_the_past():
    model, ids = shake(Llama(CONFIG)), torch.randint(0, V, (2, 8))
    before = model(ids)
    changed = ids.clone()
    changed[:, 3] = (ids[:, 3] + 1) % V
    after = model(changed)
    assert torch.equal(after[:, :3], before[:, :3])
    assert (after[:, 3:] != before[:, 3:]).any(dim=-1).all()


def test_meta_and_the_compiler_take_the_model_whole(agree):
    model, ids = Llama(CONFIG), torch.randint(0, V, (2, 8))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    agree(compiled(ids), model(ids), model=True)
    model.to("meta")
    assert model(ids.to("meta")).shape == (2, 8, V)


def test_it_learns_a_rule():
    assert loss_of_counting(Llama(CONFIG), V) < 0.1


@pytest.mark.slow  # 540 MB of weights are made of their 4 bits
@torch.inference_mode()
def test_smollm2_knows_the_capital_of_france_as_hugging_face_does(agree):
    model, tokens = load_smollm2(), smollm2().tokenizer.tokens
    assert sum(x.numel() for x in model.parameters()) == smollm2().n_parameters
    ids = torch.tensor([[tokens.index(token) for token in PROMPT]])
    logits, state = model.start(ids)
    assert tokens[logits.argmax()] == "ĠParis"
    logits, _ = model.step(logits.argmax(dim=-1), state)
    assert tokens[logits.argmax()] == "."
    text = torch.randint(17, 49_152, (2, 40))
    wanted = model.to_hf()(text).logits
    agree(model(text), wanted, model=True)
    logits, state = model.start(text[:, :30], torch.tensor([30, 30]))
    for t in range(30, 40):
        agree(logits, wanted[:, t - 1], model=True)
        logits, state = model.step(text[:, t], state)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_kv_heads": 0}, "^n_kv_heads=0 must be at least 1$"),
        ({"d_inner": 0}, "^d_inner=0 must be at least 1$"),
        ({"rope_base": 0.0}, "^rope_base=0.0 must be above 0$"),
    ],
)
def test_sizes_that_do_not_fit_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **wrong)


def test_heads_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"^n_heads=6 must be a multiple of n_kv_he"):
        Llama(replace(CONFIG, n_kv_heads=4))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"hidden_act": "gelu"}, "^hidden_act='gelu' must be 'silu'$"),
        ({"attention_bias": True}, "^attention_bias=True must be False$"),
        ({"head_dim": 8}, "^head_dim=8 must be 4$"),
        (
            {"rope_parameters": {"rope_type": "linear", "rope_theta": 1.0}},
            "^rope_type='linear' must be 'default'$",
        ),
    ],
)
def test_a_llama_that_we_have_not_is_refused(setting, message):
    theirs = Llama(CONFIG).to_hf()
    for name, value in setting.items():
        setattr(theirs.config, name, value)
    with pytest.raises(ValueError, match=message):
        Llama.from_hf(theirs)
