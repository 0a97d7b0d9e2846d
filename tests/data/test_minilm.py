"""MiniLM: sizes, words and weights as the files hold them, and they make sense."""

import json
import math
import struct

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import minilm as module
from unrolled.data.corpora.minilm import (
    FOLDER,
    MiniLMConfig,
    minilm,
    minilm_tokens,
    pooling_of,
)
from unrolled.data.fetch.store import open_source, unpack


def test_the_sizes_are_the_files():
    assert minilm().config == MiniLMConfig(
        n_layers=6,
        d_model=384,
        n_heads=12,
        d_feedforward=1536,
        n_tokens=30_522,
        n_positions=512,
        n_segments=2,
        activation="gelu",
        norm_eps=1e-12,
        p_dropout=0.1,
        longest=256,
        lower_case=True,
        pooling="mean",
        normalise=True,
    )


def test_there_are_22_7_million_parameters_as_the_sizes_say():
    c = minilm().config
    D, inner = c.d_model, c.d_feedforward
    tables = (c.n_tokens + c.n_positions + c.n_segments) * D + 2 * D
    layer = 4 * (D * D + D) + 2 * D * inner + inner + D + 4 * D
    assert minilm().n_parameters == tables + c.n_layers * layer + D * D + D
    assert minilm().n_parameters == 22_713_216


def test_weights_are_bit_for_bit_those_of_the_file():
    raw = unpack(find_source("minilm"), FOLDER + "model.safetensors").read_bytes()
    (n_head,) = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8 : 8 + n_head])
    head.pop("__metadata__")
    assert set(head) - set(minilm().weights) == {"embeddings.position_ids"}
    for name, tensor in minilm().weights.items():
        start, end = (8 + n_head + at for at in head[name]["data_offsets"])
        numbers = np.frombuffer(raw[start:end], dtype="<f4")
        assert tensor.dtype == torch.float32
        np.testing.assert_array_equal(tensor.numpy().ravel(), numbers)
        assert list(tensor.shape) == head[name]["shape"]


def test_words_are_those_of_the_other_file_too():
    with open_source(find_source("minilm")) as archive:
        table = json.loads(archive.read(FOLDER + "tokenizer.json"))["model"]["vocab"]
    assert len(minilm_tokens()) == len(set(minilm_tokens())) == 30_522
    assert {word: place for place, word in enumerate(minilm_tokens())} == table
    assert minilm().tokens == minilm_tokens()


def encode(sentence):
    """Return a sentence's vector by a plain BERT, one word piece a word."""
    model = minilm()
    w, c = model.weights, model.config
    ids = [model.tokens.index(x) for x in ["[CLS]", *sentence.split(), "[SEP]"]]

    def norm(x, name):
        at = f"{name}.LayerNorm."
        return F.layer_norm(x, x.shape[-1:], w[at + "weight"], w[at + "bias"], 1e-12)

    def linear(x, name):
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def heads(x):
        return x.unflatten(-1, (c.n_heads, -1)).transpose(0, 1)  # (H, T, K)

    E = "embeddings."
    x = w[E + "word_embeddings.weight"][ids]
    x = x + w[E + "position_embeddings.weight"][: len(ids)]
    x = norm(x + w[E + "token_type_embeddings.weight"][0], "embeddings")
    for n in range(c.n_layers):
        at = f"encoder.layer.{n}"
        q, k, v = (
            heads(linear(x, f"{at}.attention.self.{name}"))
            for name in ("query", "key", "value")
        )
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        mixed = (weights @ v).transpose(0, 1).flatten(1)
        x = norm(
            x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output"
        )
        hidden = F.gelu(linear(x, f"{at}.intermediate.dense"))
        x = norm(x + linear(hidden, f"{at}.output.dense"), f"{at}.output")
    return F.normalize(x.mean(0), dim=0)


def test_sentences_of_like_meaning_have_like_vectors():
    film, movie, soup = map(
        encode,
        ("the film was wonderful", "a great movie", "the soup is made of onions"),
    )
    assert film @ movie > 0.6 > 0.3 > film @ soup


def test_exactly_one_pooling_is_wanted():
    on = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    with pytest.raises(ValueError, match=r"turn on \['cls', 'mean'\]: exactly one"):
        pooling_of(on)
    with pytest.raises(ValueError, match=r"turn on \[\]: exactly one"):
        pooling_of({})


def test_words_and_weights_must_agree(monkeypatch):
    monkeypatch.setattr(module, "minilm_tokens", lambda: ("a", "b"))
    with pytest.raises(
        ValueError, match=r"\(30522, 384\) must be one row for each of 2"
    ):
        minilm()


def test_another_kind_of_model_is_refused(monkeypatch):
    class Other:
        def read(self, member):
            return b'{"model_type": "gpt2", "position_embedding_type": "absolute"}'

    with pytest.raises(ValueError, match="'minilm' must describe a BERT, not"):
        module._config(Other())


def test_whoever_tunes_the_weights_changes_only_their_own():
    name = "embeddings.LayerNorm.weight"
    mine = minilm().weights[name]
    before = mine.clone()
    mine.zero_()
    assert torch.equal(minilm().weights[name], before)
