"""SmolLM2: the file's sizes and tokens, and weights that complete a sentence."""

from functools import cache

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.nn import functional as F

from unrolled.data.corpora import smollm2 as module
from unrolled.data.corpora.smollm2 import SmolLM2Config, halves_from_pairs, smollm2

PROMPT = "The capital of France is"
TEXT = PROMPT + (
    " Paris, and it lies on the river Seine. The city has about two million"
    " inhabitants, and many visitors come every year to see the Eiffel Tower, the"
    " Louvre and the cathedral of Notre-Dame."
)


def test_the_sizes_are_the_files():
    assert smollm2().config == SmolLM2Config(
        n_layers=30,
        d_model=576,
        n_heads=9,
        n_kv_heads=3,
        d_head=64,
        d_feedforward=1536,
        n_tokens=49_152,
        n_positions=8192,
        rope_base=100_000.0,
        norm_eps=pytest.approx(1e-5, rel=1e-6),
    )


def test_there_are_134_5_million_parameters_as_the_sizes_say():
    c = smollm2().config
    D, KV = c.d_model, c.n_kv_heads * c.d_head
    layer = 2 * D * D + 2 * D * KV + 3 * D * c.d_feedforward + 2 * D
    assert smollm2().n_parameters == c.n_tokens * D + c.n_layers * layer + D
    assert smollm2().n_parameters == 134_515_008


def test_tokens_merges_and_special_ids():
    t = smollm2().tokenizer
    assert len(t.tokens) == len(set(t.tokens)) == 49_152
    assert len(t.merges) == 48_900
    known = set(t.tokens)
    assert all(left + right in known for left, right in t.merges)
    assert len(t.tokens) == 17 + 235 + 48_900  # special, bytes, one a merge
    assert t.special == tuple(range(17))
    assert [t.tokens[i] for i in (t.bos, t.eos, t.unknown, t.padding)] == [
        *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_end|>"),
    ]
    assert "<|im_start|>assistant" in t.chat_template


@cache
def tokenizer():
    """Return another library's byte-pair encoder, made of our tables."""
    t = smollm2().tokenizer
    vocabulary = {token: place for place, token in enumerate(t.tokens)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=list(t.merges)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


@cache
def weights():
    """Return all weights as tensors, in the order of rotate-half."""
    model = smollm2()
    return {name: model.weight(name) for name in model.names}


def rotate_halves(x, angle):
    """Turn feature i with i + K/2 of x (H, T, K)."""
    a, b = x.chunk(2, dim=-1)
    turned = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
    return torch.cat(turned, dim=-1)


def rotate_pairs(x, angle):
    """Turn feature 2i with 2i + 1 of x (H, T, K)."""
    a, b = x[..., ::2], x[..., 1::2]
    turned = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
    return torch.stack(turned, dim=-1).flatten(-2)


def forward(text, *, raw, rotate):
    """Return ids (T,) of ``text`` and log-probabilities (T, V) of what comes next."""
    c, model, ids = smollm2().config, smollm2(), tokenizer().encode(text).ids
    x = weights()["token_embd.weight"][ids]
    steps = torch.arange(c.d_head // 2) * 2 / c.d_head
    angle = torch.arange(len(ids))[:, None] / c.rope_base**steps  # (T, K / 2)
    causal = torch.ones(len(ids), len(ids)).tril().bool()

    def norm(x, name):
        return F.rms_norm(x, x.shape[-1:], weights()[name + ".weight"], c.norm_eps)

    for n in range(c.n_layers):

        def linear(x, name, n=n):
            full = f"blk.{n}.{name}.weight"
            moved = raw and name in ("attn_q", "attn_k")
            w = model.raw_weight(full) if moved else weights()[full]
            return x @ w.T

        def heads(x):
            return x.unflatten(-1, (-1, c.d_head)).transpose(0, 1)  # (H, T, K)

        h = norm(x, f"blk.{n}.attn_norm")
        q, k, v = (heads(linear(h, f"attn_{name}")) for name in "qkv")
        q, k = rotate(q, angle), rotate(k, angle)
        k, v = (
            part.repeat_interleave(c.n_heads // c.n_kv_heads, dim=0) for part in (k, v)
        )
        score = (q @ k.mT / c.d_head**0.5).masked_fill(~causal, -torch.inf)
        mixed = (score.softmax(-1) @ v).transpose(0, 1).flatten(1)
        x = x + linear(mixed, "attn_output")
        h = norm(x, f"blk.{n}.ffn_norm")
        x = x + linear(F.silu(linear(h, "ffn_gate")) * linear(h, "ffn_up"), "ffn_down")
    logits = norm(x, "output_norm") @ weights()["token_embd.weight"].T
    return torch.tensor(ids), logits.log_softmax(-1)


def cost(text, **how):
    """Return the mean of -log p over the tokens of ``text`` but the first, in nats."""
    ids, after = forward(text, **how)
    return -after[:-1].gather(1, ids[1:, None]).mean()


def test_the_capital_of_france_is_paris():
    _, after = forward(PROMPT, raw=False, rotate=rotate_halves)
    assert smollm2().tokenizer.tokens[after[-1].argmax()] == "ĠParis"
    # the file's own order with the rotation it was made for is the same model
    _, same = forward(PROMPT, raw=True, rotate=rotate_pairs)
    torch.testing.assert_close(same, after, atol=1e-3, rtol=1e-3)


def test_rows_in_the_order_of_the_file_do_not_suit_rotate_half():
    right = cost(TEXT, raw=False, rotate=rotate_halves)
    wrong = cost(TEXT, raw=True, rotate=rotate_halves)
    assert right < 2.3
    assert wrong > right + 0.7
    # a short prompt does not show it
    _, after = forward(PROMPT, raw=True, rotate=rotate_halves)
    assert smollm2().tokenizer.tokens[after[-1].argmax()] == "ĠParis"


def test_matrices_are_out_by_in_and_vectors_are_vectors():
    model = smollm2()
    shapes = {name: weights()[name].shape for name in model.names}
    assert shapes["token_embd.weight"] == (49_152, 576)
    assert shapes["blk.0.attn_k.weight"] == (192, 576)
    assert shapes["blk.29.ffn_down.weight"] == (576, 1536)
    assert shapes["output_norm.weight"] == (576,)
    assert len(shapes) == 30 * 9 + 2
    assert sum(w.numel() for w in weights().values()) == model.n_parameters
    assert all(
        w.dtype == torch.float32 and w.isfinite().all() for w in weights().values()
    )


def test_four_bits_are_unpacked_as_the_format_says():
    # Q4_1: a scale and a least value in float16, then 32 numbers of 4 bits
    stored = smollm2().stored["blk.3.ffn_up.weight"]
    blocks = stored.data.reshape(-1, 20)[:50]
    scale = blocks[:, 0:2].copy().view(np.float16).astype(np.float32)
    least = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
    nibbles = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    numbers = smollm2().weight("blk.3.ffn_up.weight").ravel()[: 50 * 32]
    np.testing.assert_array_equal(numbers, (nibbles * scale + least).ravel())


def test_rows_are_put_in_order_head_by_head():
    W = torch.arange(8.0)[:, None]
    moved = halves_from_pairs(W, d_head=4)
    assert moved.ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    for wrong in (3, 5):
        with pytest.raises(ValueError, match=f"d_head={wrong} must be even and divide"):
            halves_from_pairs(W, d_head=wrong)


def test_only_queries_and_keys_are_moved():
    model = smollm2()
    for name in ("attn_v", "ffn_gate", "attn_norm", "attn_output"):
        full = f"blk.1.{name}.weight"
        np.testing.assert_array_equal(model.weight(full), model.raw_weight(full))
    mine = model.weight("output_norm.weight")
    mine[:] = 0  # a copy: the file and the next caller see nothing of it
    assert model.weight("output_norm.weight").any()


def test_an_unknown_weight_is_named():
    with pytest.raises(ValueError, match=r"name='blk\.30' is no weight of SmolLM2"):
        smollm2().weight("blk.30")


class FakeReader:
    def __init__(self, fields):
        self.fields = fields

    def get_field(self, name):
        return self.fields.get(name)


class FakeField:
    def contents(self):
        return "mamba"


def test_another_file_is_refused():
    with pytest.raises(
        ValueError, match=r"has no general\.architecture: fetch it anew"
    ):
        module._config(FakeReader({}))
    with pytest.raises(ValueError, match="architecture='mamba' must be 'llama'"):
        module._config(FakeReader({"general.architecture": FakeField()}))
