"""BERT: Hugging Face's numbers, from random weights and from MiniLM's real ones."""

import json
import re
import sys
from dataclasses import asdict, replace

import pytest
import torch
import transformers as hf
from hypothesis import given, settings
from torch import nn

from hf_bert_twins import (
    N_TOKENS,
    PAD,
    agree_on_all,
    bert_like,
    problems,
    same_weights,
    texts,
    their_inputs,
)
from real_text import bible, tweets
from twins import shake
from unrolled.data.corpora.minilm import minilm
from unrolled.data.padding import pad
from unrolled.data.tokens.wordpiece import WordPiece
from unrolled.models.bert import BERT, BERTConfig
from unrolled.models.checkpoints import load, save
from unrolled.models.hf_bert import encoder_table, sizes
from unrolled.models.minilm import bert_config, load_minilm, sentence_vectors

B, T, D = 3, 5, 6
CONFIG = BERTConfig(
    n_tokens=N_TOKENS, d_model=D, n_heads=3, n_layers=2, d_inner=5, n_positions=7
)
MODELS = {"bert": "BertModel", "roberta": "RobertaModel"}


@pytest.fixture
def model():
    return shake(BERT(CONFIG)).eval()


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=12)
@given(problem=problems())
def test_bert_agrees_with_hugging_face(kind, agree, problem):
    shape, setup, padded, seed = problem
    torch.manual_seed(seed)
    theirs = bert_like(kind, MODELS[kind], **setup)
    ours = BERT.from_hf(theirs)
    n_types = setup["type_vocab_size"]
    ids, real, types, positions = texts(*shape, n_types=n_types, padded=padded)
    named = their_inputs(real, types, positions, ours.config.first_position)
    z = theirs(ids, **named).last_hidden_state
    y = ours(ids, real, types, positions)
    table = encoder_table(ours.config.n_layers)
    agree_on_all(agree, table, (ours, theirs), (y[real], z[real]))


@pytest.mark.parametrize("kind", MODELS)
def test_what_is_not_given_is_what_hugging_face_takes_for_it(kind, agree):
    theirs = bert_like(kind, MODELS[kind])
    ours = BERT.from_hf(theirs)
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    real = torch.arange(T) < torch.tensor([5, 2, 3])[:, None]
    agree(ours(ids), theirs(ids).last_hidden_state, model=True)
    ids[~real] = PAD
    z = theirs(ids, attention_mask=real.long()).last_hidden_state
    agree(ours(ids, real)[real], z[real], model=True)


@pytest.mark.parametrize("kind", MODELS)
def test_every_layer_and_head_agrees_with_hugging_face(kind, agree):
    theirs = bert_like(kind, MODELS[kind], num_hidden_layers=3)
    ours = BERT.from_hf(theirs)
    ids, real, types, positions = texts(B, T, n_types=2, padded=True)
    named = their_inputs(real, types, positions, ours.config.first_position)
    z = theirs(ids, **named, output_hidden_states=True, output_attentions=True)
    states = ours.states(ids, real, types=types, positions=positions)
    weights = ours.weights(ids, real, types=types, positions=positions)
    assert (len(states), len(weights)) == (4, 3)
    for a, b in zip(states, z.hidden_states, strict=True):
        agree(a[real], b[real], model=True)
    for a, b in zip(weights, z.attentions, strict=True):
        assert a.shape == (B, 3, T, T)
        agree(a, b, model=True)
        agree(a.sum(dim=-1), torch.ones(B, 3, T))
    assert torch.equal(states[-1], ours(ids, real, types, positions))


def test_dropout_falls_where_hugging_faces_falls(agree):
    """The same seed drops the same numbers, if the draws come in the same order."""
    rates = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.4}
    theirs = bert_like("bert", "BertModel", attn_implementation="sdpa", **rates)
    theirs.train()
    ours = BERT.from_hf(theirs)
    assert ours.training
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    results = []
    for run in (ours, theirs):
        torch.manual_seed(1)
        results.append(run(ids))
    agree(results[0], results[1].last_hidden_state, model=True)
    assert not torch.allclose(results[0], ours.eval()(ids))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", MODELS)
def test_there_and_back_again(kind, dtype, agree):
    theirs = bert_like(kind, MODELS[kind])
    ours = BERT.from_hf(theirs.to(dtype))
    back = ours.to_hf()
    assert type(back) is type(theirs)
    assert not back.training
    assert same_weights(BERT.from_hf(back), ours)
    given, again = theirs.state_dict(), back.state_dict()
    assert all(torch.equal(again[name], given[name]) for name in again)
    assert all("pooler" in name for name in given.keys() - again.keys())
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    agree(ours(ids), back(ids).last_hidden_state, model=True)
    assert ours(ids).dtype == dtype
    changed = {
        k
        for k, v in theirs.config.to_dict().items()
        if back.config.to_dict()[k] != v and not k.startswith(("_", "architectures"))
    }
    assert changed <= {"pad_token_id", "dtype"}


def test_a_twin_has_weights_of_its_own_and_draws_nothing(model):
    theirs = model.to_hf()
    state = torch.get_rng_state()
    ours = BERT.from_hf(theirs)
    assert torch.equal(torch.get_rng_state(), state)
    nn.init.zeros_(theirs.embeddings.word_embeddings.weight)
    assert ours.embed.weight.abs().min() > 0
    assert all(p.requires_grad for p in ours.parameters())


def test_the_encoder_inside_another_model_is_found(agree):
    theirs = bert_like("bert", "BertForMaskedLM")
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    agree(BERT.from_hf(theirs)(ids), theirs.bert(ids).last_hidden_state, model=True)


@pytest.fixture(scope="module")
def real_texts():
    """Return 20 real sentences as MiniLM reads them: ids and which are real."""
    tokens = WordPiece(tokens=minilm().tokens)
    sentences = [s.strip() for s in (*bible()[:10], *tweets()[:10])]
    return pad([tokens.encode(s, max_length=64) for s in sentences])


def test_minilm_agrees_with_hugging_face_on_real_sentences(real_texts):
    ours = load_minilm()
    assert not ours.training
    theirs = hf.BertModel(
        hf.BertConfig(
            hidden_size=384,
            num_attention_heads=12,
            num_hidden_layers=6,
            intermediate_size=1536,
        )
    ).eval()
    theirs.load_state_dict(minilm().weights)
    ids, real = real_texts
    assert len(ids) == 20
    assert not real.all()
    for kernel in ("sdpa", "eager"):
        theirs.set_attn_implementation(kernel)
        with torch.no_grad():
            y = ours(ids, real)[real]
            z = theirs(ids, attention_mask=real.long()).last_hidden_state[real]
        assert (y - z).abs().max() <= 1e-5


def test_sentences_of_like_meaning_are_near():
    tokens = WordPiece(tokens=minilm().tokens)
    sentences = "The film was wonderful.", "A great movie!", "The soup is of onions."
    ids, real = pad([tokens.encode(s) for s in sentences])
    with torch.no_grad():
        vectors = sentence_vectors(load_minilm()(ids, real), real)
    cosines = vectors @ vectors.T
    assert torch.allclose(cosines.diagonal(), torch.ones(3))
    assert cosines[0, 1] > 0.6 > 0.3 > cosines[0, 2]


def test_a_sentences_vector_is_its_tokens_mean_of_length_1(agree):
    states = torch.randn(B, T, D, dtype=torch.float64)
    real = torch.arange(T) < torch.tensor([5, 2, 1])[:, None]
    vectors = sentence_vectors(states, real)
    for i, n in enumerate([5, 2, 1]):
        mean = states[i, :n].mean(dim=0)
        agree(vectors[i], mean / mean.norm())
    with pytest.raises(ValueError, match=r"^mask must be \(B, T\): T should be 5"):
        sentence_vectors(states, real[:, :4])
    dirty = states.masked_fill(~real[..., None], torch.nan)
    assert torch.equal(sentence_vectors(dirty, real), vectors)
    with pytest.raises(ValueError, match=r"^mask is False throughout in rows \[1\]"):
        sentence_vectors(states, real & torch.tensor([[True], [False], [True]]))


def test_a_padded_row_is_the_row_alone(model, agree):
    lengths = [5, 2, 1]
    real = torch.arange(T) < torch.tensor(lengths)[:, None]
    ids, types = torch.randint(N_TOKENS, (B, T)), torch.randint(2, (B, T))
    y = model(ids, real, types)
    elsewhere = torch.randint(N_TOKENS, (B, T)).where(~real, ids)
    assert torch.equal(model(elsewhere, real, types)[real], y[real])
    for i, n in enumerate(lengths):
        row = slice(i, i + 1)
        agree(y[row, :n], model(ids[row, :n], types=types[row, :n]), model=True)


def test_without_positions_order_is_invisible(model, agree):
    ids, types = torch.randint(N_TOKENS, (B, T)), torch.randint(2, (B, T))
    order = torch.tensor([3, 0, 4, 1, 2])
    nowhere, moved = torch.zeros(T).long(), (ids[:, order], None, types[:, order])
    agree(
        model(*moved, nowhere), model(ids, None, types, nowhere)[:, order], model=True
    )
    agree(model(*moved, order), model(ids, None, types)[:, order], model=True)
    assert not torch.allclose(model(*moved), model(ids, None, types)[:, order])


def test_every_token_reads_both_sides(model):
    ids = torch.randint(N_TOKENS - 1, (1, T))
    for place in range(T):
        changed = ids.clone()
        changed[:, place] += 1
        assert (model(changed) != model(ids)).any(dim=-1).all()


def test_positions_may_be_given_to_each_row_or_to_all(model):
    ids = torch.randint(N_TOKENS, (B, T))
    assert torch.equal(model(ids, positions=torch.arange(T)), model(ids))
    assert torch.equal(model(ids, positions=torch.arange(T).expand(B, T)), model(ids))
    later = model(ids, positions=torch.arange(2, T + 2))
    assert not torch.allclose(later, model(ids))


def test_an_untrained_model_starts_small():
    large = {"d_model": 96, "n_heads": 4, "d_inner": 128, "n_tokens": 99}
    model = BERT(replace(CONFIG, **large))
    block = model.blocks[0]
    for part in (model.embed, model.types, block.attention.W_qkv):
        assert 0.018 < part.weight.std() < 0.022
    assert not block.attention.W_qkv.bias.any()
    assert not block.feed_forward.W_2.bias.any()
    assert {m.eps for m in model.modules() if hasattr(m, "eps")} == {1e-12}
    assert model.drop.p == block.drop.p == block.attention.p_drop == 0.1


def test_a_config_goes_through_json():
    assert BERTConfig(**json.loads(json.dumps(asdict(CONFIG)))) == CONFIG


def test_a_saved_model_is_loaded_as_it_was(model, tmp_path):
    save(tmp_path / "bert.safetensors", model)
    assert same_weights(load(tmp_path / "bert.safetensors").model, model)


def test_published_sizes_are_read():
    """Settings as the homes of BERT and RoBERTa give them, in part."""
    settings = {
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "model_type": "bert",
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": 30522,
    }
    base = {"d_model": 768, "n_heads": 12, "n_layers": 12, "d_inner": 3072}
    wanted = BERTConfig(n_tokens=30522, n_positions=512, **base)
    assert BERTConfig(**sizes(settings)) == wanted
    settings |= {"model_type": "roberta", "pad_token_id": 1, "vocab_size": 50265}
    settings |= {"max_position_embeddings": 514, "layer_norm_eps": 1e-5}
    changes = {"n_tokens": 50265, "eps": 1e-5, "first_position": 2}
    assert BERTConfig(**sizes(settings)) == replace(wanted, **changes)


def test_no_device_is_named_inside(model):
    ids = torch.zeros(B, T, dtype=torch.long, device="meta")
    real = torch.ones(B, T, dtype=torch.bool, device="meta")
    y = model.to("meta")(ids, real, ids)
    assert y.is_meta
    assert y.shape == (B, T, D)


def test_the_compiler_takes_it_whole(model, agree):
    ids, real, types, positions = texts(B, T, n_types=2, padded=True)
    run = torch.compile(model, fullgraph=True, backend="eager")
    agree(run(ids, real, types, positions), model(ids, real, types, positions))
    agree(run(ids), model(ids))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 0}, "n_layers=0 must be at least 1"),
        ({"n_positions": 0}, "n_positions=0 must be at least 1"),
        ({"first_position": -1}, "first_position=-1 must be at least 0"),
        ({"p_drop": 1.0}, "p_drop=1.0 must be at least 0 and below 1"),
        ({"p_drop_attention": -0.1}, "p_drop_attention=-0.1 must be at least 0 and"),
        ({"n_heads": 4}, "d_model=6 must be a multiple of n_heads=4"),
    ],
)
def test_impossible_sizes_are_named(change, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        BERT(replace(CONFIG, **change))


def test_wrong_inputs_are_named(model):
    ids = torch.zeros(B, T, dtype=torch.long)
    with pytest.raises(ValueError, match=r"^ids must be \(B, T\): expected 2 axes, go"):
        model(ids[0])
    with pytest.raises(ValueError, match=r"^ids has T=8, above longest=7: cut the te"):
        model(torch.zeros(B, 8, dtype=torch.long))
    with pytest.raises(
        ValueError, match=r"^mask is torch.int64 of shape \(3, 5\); it mu"
    ):
        model(ids, ids)
    with pytest.raises(ValueError, match=r"one value for each step of ids: \(3, 5\)$"):
        model(ids, ids[:1].bool())
    with pytest.raises(
        ValueError, match=r"^types must be \(B, T\): B should be 3, got"
    ):
        model(ids, types=ids[:1])
    with pytest.raises(
        ValueError, match=r"^positions must be \(T,\) or \(B, T\), for i"
    ):
        model(ids, positions=torch.arange(T + 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act='relu' must be 'gelu'"),
        ({"is_decoder": True}, "is_decoder=True must be False"),
    ],
)
def test_another_kind_of_model_is_refused(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        BERT.from_hf(bert_like("bert", "BertModel", **settings))


def test_a_model_of_no_such_kind_is_refused(model):
    theirs = hf.GPT2Model(hf.GPT2Config(n_embd=4, n_head=2, n_layer=1, vocab_size=5))
    with pytest.raises(ValueError, match=r"^model_type='gpt2' must be 'bert' or 'robe"):
        BERT.from_hf(theirs)
    with pytest.raises(ValueError, match=r"^module is a BERT without Hugging Face's c"):
        BERT.from_hf(model)
    odd = replace(minilm().config, activation="relu")
    with pytest.raises(ValueError, match=r"^activation='relu' must be 'gelu'$"):
        bert_config(odd)


def test_weights_must_be_there_and_fit(model):
    weights = model.to_hf().state_dict()
    name = "encoder.layer.1.attention.self.key.weight"
    wrong = weights | {name: torch.zeros(6, 5)}
    says = rf"'{name}': \(6, 5\).* must make our '.*W_qkv.weight' of shape \(18, 6\)$"
    with pytest.raises(ValueError, match=says):
        BERT.from_weights(CONFIG, wrong)
    del weights[name]
    says = rf"^weights must have '{name}', for our '.*W_qkv.weight' of shape \(18, 6\)$"
    with pytest.raises(ValueError, match=says):
        BERT.from_weights(CONFIG, weights)


def test_without_transformers_the_message_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"not installed: pip install transformers$"):
        model.to_hf()
