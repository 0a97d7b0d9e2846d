"""GPT: Hugging Face's numbers, GPT-2's first weights, and no look ahead."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model

from twins import shake
from unrolled.models.gpt import GPT, GPT2_SMALL, GPTConfig

V, N = 11, 12
SIZES = {"n_tokens": V, "n_positions": N, "d_model": 12, "n_heads": 3, "n_layers": 2}
GPT2 = GPTConfig(**SIZES)


@st.composite
def twins(draw):
    """Draw settings of Hugging Face's GPT-2, odd ones too, and a seed."""
    n_head = draw(st.integers(1, 5))
    return {
        "vocab_size": draw(st.integers(2, 9)),
        "n_positions": N,
        "n_embd": n_head * draw(st.integers(3, 5)),
        "n_layer": draw(st.integers(1, 4)),
        "n_head": n_head,
        "n_inner": draw(st.sampled_from([None, 5])),
        "layer_norm_epsilon": draw(st.sampled_from([1e-5, 1e-3])),
        "tie_word_embeddings": draw(st.booleans()),
        "activation_function": draw(st.sampled_from(["gelu_new", "gelu_pytorch_tanh"])),
        "bos_token_id": None,
        "eos_token_id": None,
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=8)
@given(options=twins(), seed=st.integers(0, 99), n_steps=st.integers(1, N))
def test_logits_and_gradients_are_hugging_faces(dtype, agree, options, seed, n_steps):
    torch.manual_seed(seed)
    theirs = shake(GPT2LMHeadModel(GPT2Config(**options))).eval().to(dtype)
    ours = GPT.from_hf(theirs)
    ids = torch.randint(0, options["vocab_size"], (2, n_steps))
    y, z = ours(ids), theirs(ids).logits
    agree(y, z, model=True)
    upstream = torch.randn_like(y)
    for logits in (y, z):
        logits.backward(upstream)
    with torch.no_grad():
        for parameter in ours.parameters():  # to_hf lays gradients beside theirs too
            parameter.copy_(parameter.grad)
    pairs = zip(ours.to_hf().parameters(), theirs.parameters(), strict=True)
    for mine, parameter in pairs:
        agree(mine.detach(), parameter.grad, model=True, gradient=True)


def test_padding_on_the_right_needs_no_mask_and_on_the_left_becomes_lengths(agree):
    theirs = shake(GPT2LMHeadModel(GPT(GPT2).to_hf().config)).eval()
    ours, ids = GPT.from_hf(theirs), torch.randint(0, V, (3, 7))
    lengths = torch.tensor([3, 7, 1])
    real = torch.arange(7) < lengths[:, None]
    wanted = theirs(ids, attention_mask=real.long()).logits
    agree(ours(ids)[real], wanted[real], model=True)
    left = torch.stack([ids[0].roll(4), ids[1], ids[2].roll(6)])
    real = torch.arange(7) >= 7 - lengths[:, None]
    places = (real.long().cumsum(dim=1) - 1).clamp(min=0)
    logits = theirs(left, attention_mask=real.long(), position_ids=places).logits
    agree(ours.start(ids, lengths)[0], logits[:, -1], model=True)


def test_a_model_without_read_out_reads_out_by_its_embeddings(agree):
    config = GPT(GPT2).to_hf().config
    bare = shake(GPT2Model(config)).eval()
    ours, ids = GPT.from_hf(bare), torch.randint(0, V, (2, 5))
    wanted = bare(ids).last_hidden_state @ bare.wte.weight.T
    agree(ours(ids), wanted, model=True)


def test_there_and_back_again_nothing_changes():
    for tied in (True, False):
        ours = shake(GPT(GPTConfig(**SIZES, tied=tied, p_drop=0.25))).double()
        again = GPT.from_hf(ours.to_hf())
        assert again.config == GPTConfig(**SIZES, tied=tied, p_drop=0.25, d_inner=None)
        assert again.training
        assert ours.state_dict().keys() == again.state_dict().keys()
        for name, weight in ours.state_dict().items():
            assert torch.equal(weight, again.state_dict()[name])
    assert not GPT.from_hf(ours.eval().to_hf()).training


def test_gpt2_has_124_439_808_parameters():
    with torch.device("meta"):
        model = GPT(GPT2_SMALL)
    assert sum(x.numel() for x in model.parameters()) == 124_439_808
    V, N, D, L = 50_257, 1024, 768, 12
    layer = 4 * D * D + 4 * D + 8 * D * D + 5 * D + 4 * D
    assert V * D + N * D + L * layer + 2 * D == 124_439_808
    logits = model(torch.zeros(2, 5, dtype=torch.long, device="meta"))
    assert logits.is_meta
    assert logits.shape == (2, 5, V)


def test_the_first_weights_are_as_gpt2_says():
    model = GPT(GPTConfig(**SIZES | {"d_model": 96, "n_layers": 8}))
    for name, weight in model.named_parameters():
        if name.endswith((".W_o.weight", ".W_2.weight")):
            assert abs(weight.std() / (0.02 / 4) - 1) < 0.05
        elif name.endswith((".weight", ".table")):
            assert abs(weight.std() / 0.02 - 1) < 0.1
        elif name.endswith(".bias"):
            assert not weight.any()
        else:
            assert (weight == 1).all()


def test_the_future_cannot_change_the_past():
    model, ids = shake(GPT(GPT2)), torch.randint(0, V, (2, 8))
    before = model(ids)
    for t in range(8):
        changed = ids.clone()
        changed[:, t] = (ids[:, t] + 1) % V
        after = model(changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] != before[:, t:]).any(dim=-1).all()


def test_dropout_is_for_training_only():
    model = GPT(GPTConfig(**SIZES, p_drop=0.5))
    ids = torch.randint(0, V, (2, 8))
    assert not torch.equal(model(ids), model(ids))
    model.eval()
    assert torch.equal(model(ids), model(ids))


def test_the_compiler_takes_the_model_whole(agree):
    model, ids = GPT(GPT2), torch.randint(0, V, (2, 8))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    agree(compiled(ids), model(ids), model=True)


def test_it_learns_to_say_what_it_heard_a_moment_ago():
    torch.manual_seed(1)
    half = torch.randint(0, V, (32, 6))
    ids = torch.cat([half, half], dim=1)
    model = GPT(GPTConfig(**SIZES | {"d_model": 24}))
    adamw = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(120):
        logits = model(ids[:, :-1])[:, 5:]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 6:].flatten())
        adamw.zero_grad()
        loss.backward()
        adamw.step()
    assert loss < 0.2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_tokens": 0}, "^n_tokens=0 must be at least 1$"),
        ({"n_layers": 0}, "^n_layers=0 must be at least 1$"),
        ({"d_inner": 0}, "^d_inner=0 must be at least 1$"),
        ({"p_drop": 1.0}, "^p_drop=1.0 must be at least 0 and below 1$"),
        ({"p_drop": -0.1}, "^p_drop=-0.1 must be at least 0 and below 1$"),
        ({"norm": "batch"}, "^norm='batch' must be one of layer, rms$"),
        ({"positions": "none"}, "^positions='none' must be one of learned, rotary$"),
        ({"activation": "relu"}, "^activation='relu' must be one of gelu, relu2$"),
    ],
)
def test_sizes_that_do_not_fit_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**SIZES | wrong)


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match=r"^d_model=12 must be a multiple of n_head"):
        GPT(GPTConfig(**SIZES | {"n_heads": 5}))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (torch.zeros(5, dtype=torch.long), r"^ids must be \(B, T\): expected 2 axes"),
        (torch.zeros(2, 0, dtype=torch.long), "^ids has no tokens: each row needs one"),
        (
            torch.zeros(1, N + 1, dtype=torch.long),
            "^13 tokens do not fit into n_positions=12$",
        ),
    ],
)
def test_wrong_ids_are_named(ids, message):
    with pytest.raises(ValueError, match=message):
        GPT(GPT2)(ids)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"activation_function": "relu"}, "^activation_function='relu' must be 'gelu_"),
        ({"attn_pdrop": 0.3}, "must be alike: our p_drop is one number$"),
        (
            {"scale_attn_by_inverse_layer_idx": True},
            "^scale_attn_by_inverse_layer_idx=True must be False$",
        ),
        ({"add_cross_attention": True}, "^add_cross_attention=True must be False$"),
    ],
)
def test_a_gpt2_that_we_have_not_is_refused(setting, message):
    config = GPT(GPT2).to_hf().config
    theirs = GPT2LMHeadModel(config)
    for name, value in setting.items():
        setattr(config, name, value)
    with pytest.raises(ValueError, match=message):
        GPT.from_hf(theirs)


def test_what_gpt2_cannot_say_is_refused():
    with pytest.raises(ValueError, match=r"^positions='rotary' must be 'learned'$"):
        GPT(GPTConfig.modern(**SIZES)).to_hf()
    with pytest.raises(ValueError, match="without Hugging Face's config"):
        GPT.from_hf(torch.nn.Linear(1, 1))


def test_a_weight_that_is_missing_or_does_not_fit_is_named():
    theirs = GPT(GPT2).to_hf()
    mlp = theirs.transformer.h[1].mlp
    mlp.c_fc.weight.data = mlp.c_fc.weight.data.T
    with pytest.raises(ValueError, match=r"c_fc.weight': .* must make our 'blocks.1"):
        GPT.from_hf(theirs)
    del theirs.transformer.h[1].mlp
    with pytest.raises(ValueError, match=r"^weights must have 'transformer.h.1.mlp"):
        GPT.from_hf(theirs)
