"""The book's own models write: by Hugging Face's search, and by counting out."""

import math
from itertools import product

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from unrolled.decoding.beam import beam_search
from unrolled.decoding.loop import generate, stream
from unrolled.decoding.sampling import sampler
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.llama import Llama, LlamaConfig
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.models.seq2seq import Seq2Seq, Seq2SeqConfig
from unrolled.models.transformer import Transformer, TransformerConfig
from unrolled.runtime import generator

V = 5
SIZES = {"d_model": 8, "n_heads": 2, "n_layers": 2, "n_positions": 16}


def make(name):
    """Return a model that is sure of something, in training mode, with dropout."""
    sides = {"n_source": 7, "n_target": V}
    model = {
        "gpt": lambda: GPT(GPTConfig(n_tokens=V, p_drop=0.5, **SIZES)),
        "modern": lambda: GPT(GPTConfig.modern(n_tokens=V, **SIZES)),
        "llama": lambda: Llama(
            LlamaConfig(n_tokens=V, n_kv_heads=1, d_inner=8, **SIZES)
        ),
        "lstm": lambda: RNNLM(RNNLMConfig(n_tokens=V, d_model=6, p_drop=0.5)),
        "gru": lambda: RNNLM(RNNLMConfig(n_tokens=V, d_model=6, cell="gru")),
        "seq2seq": lambda: Seq2Seq(Seq2SeqConfig(d_embed=4, d_hidden=6, **sides)),
        "transformer": lambda: Transformer(
            TransformerConfig(d_inner=8, p_drop=0.5, **sides, **SIZES)
        ),
    }[name]().double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.4 * torch.randn_like(weight))
    return model.train()


SPEAKERS = ["gpt", "modern", "llama", "lstm", "gru"]
TRANSLATORS = ["seq2seq", "transformer"]
PROMPTS = torch.tensor([[1, 2, 3], [4, 0, 0], [2, 2, 0]])
LENGTHS = torch.tensor([3, 1, 2])
SOURCES = torch.tensor([[1, 2, 3, 6], [4, 5, 0, 0], [2, 2, 1, 0]])
FIRST = torch.tensor([0, 0, 0])


def given(name):
    """Return what all rows start from, and what each of them does by itself."""
    if name in SPEAKERS:
        rows = zip(PROMPTS, LENGTHS, strict=True)
        return (PROMPTS, LENGTHS), [(row[None, :n],) for row, n in rows]
    mask = torch.arange(4) < torch.tensor([4, 2, 3])[:, None]
    alone = [
        (row[real][None], None, FIRST[:1])
        for row, real in zip(SOURCES, mask, strict=True)
    ]
    return (SOURCES, mask, FIRST), alone


def logits_after(model, start, texts):
    """Return the logits (N, T, V) of the tokens of texts (N, T), without a cache."""
    first, *_ = start
    copies = [
        one if one is None else one.expand(len(texts), *one.shape[1:]) for one in start
    ]
    if len(start) == 1:
        read = torch.cat([copies[0], texts], dim=1)
        return model(read)[:, first.shape[1] - 1 : -1]
    source, mask, bos = copies
    return model(source, torch.cat([bos[:, None], texts], dim=1), mask)[:, :-1]


@pytest.mark.parametrize("name", SPEAKERS + TRANSLATORS)
def test_rows_of_different_lengths_write_as_if_alone(name):
    model = make(name)
    together, alone = given(name)
    for stop in (None, 3):
        written = generate(model, *together, n_tokens=6, stop=stop).lists()
        assert written == [
            generate(model, *start, n_tokens=6, stop=stop).lists()[0] for start in alone
        ]


@pytest.mark.parametrize("name", SPEAKERS + TRANSLATORS)
def test_what_is_greedy_is_greedy_without_a_cache(name):
    model = make(name)
    _, alone = given(name)
    for start in alone:
        texts = generate(model, *start, n_tokens=6).ids
        assert model.training
        logits = logits_after(model.eval(), start, texts)
        assert torch.equal(logits.argmax(dim=-1), texts)
        model.train()


@pytest.mark.parametrize("name", SPEAKERS + TRANSLATORS)
def test_streams_are_batches(name):
    model = make(name)
    together, _ = given(name)
    draws = (sampler(generator=generator(0), p=0.9) for _ in range(2))
    steps = list(stream(model, *together, n_tokens=7, choose=next(draws), stop=1))
    written = generate(model, *together, n_tokens=7, choose=next(draws), stop=1)
    assert torch.equal(torch.stack(steps, dim=1), written.ids)


@pytest.mark.parametrize("name", SPEAKERS + TRANSLATORS)
def test_a_wide_beam_finds_the_best_of_all_texts(name):
    model, n, stop, alpha = make(name), 3, 0, 0.8
    together, alone = given(name)
    found = beam_search(
        model, *together, n_beams=25, n_tokens=n, stop=stop, length_penalty=alpha
    )
    texts = torch.tensor(list(product(range(V), repeat=n)))
    for row, start in enumerate(alone):
        log_p = logits_after(model.eval(), start, texts).log_softmax(dim=-1)
        log_p = log_p.gather(-1, texts[..., None])[..., 0].tolist()
        scores = {}
        for text, each in zip(texts.tolist(), log_p, strict=True):
            length = text.index(stop) + 1 if stop in text else n
            total = sum(each[:length]) / ((5 + length) / 6) ** alpha
            scores[tuple(text[:length])] = total
        best = sorted(scores.items(), key=lambda item: -item[1])[:4]
        assert [tuple(t) for t in found.lists()[row][:4]] == [text for text, _ in best]
        assert found.scores[row, :4].tolist() == pytest.approx([s for _, s in best])


@pytest.mark.parametrize("name", SPEAKERS + TRANSLATORS)
def test_a_model_that_has_written_can_be_trained(name):
    model = make(name)
    together, alone = given(name)
    text = generate(model, *together, n_tokens=3).ids
    beam_search(model, *together, n_beams=2, n_tokens=3)
    logits_after(model, alone[0], text[:1]).sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


def pair(seed):
    """Return Hugging Face's GPT-2 and ours with its weights, sure of something."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=11,
        n_positions=24,
        n_embd=16,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    theirs = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return theirs, GPT.from_hf(theirs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_beams", [1, 2, 4])
def test_texts_and_scores_are_those_of_hugging_face(agree, seed, n_beams):
    theirs, ours = pair(seed)
    prompts = torch.randint(1, 11, (3, 4))
    options = {"max_new_tokens": 12, "do_sample": False, "length_penalty": 0.0}
    for stop in (None, 5):
        theirs.generation_config.eos_token_id = stop
        wanted = theirs.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            num_beams=n_beams,
            num_return_sequences=n_beams,
            pad_token_id=5,
            output_scores=True,
            return_dict_in_generate=True,
            **options,
        )
        found = beam_search(ours, prompts, n_beams=n_beams, n_tokens=12, stop=stop)
        texts = wanted.sequences[:, 4:].view(3, n_beams, -1)
        n = min(texts.shape[-1], found.ids.shape[-1])
        assert torch.equal(found.ids[..., :n], texts[..., :n])
        assert (texts[..., n:] == 5).all()
        assert (found.ids[..., n:] == 5).all()
        if n_beams > 1:
            agree(found.scores, wanted.sequences_scores.view(3, n_beams), model=True)
        else:
            written = generate(ours, prompts, n_tokens=12, stop=stop)
            assert torch.equal(written.ids[:, :n], texts[:, 0, :n])


def test_no_text_has_a_probability_above_one():
    found = beam_search(make("gpt"), PROMPTS, LENGTHS, n_beams=25, n_tokens=2)
    total = found.scores.exp().sum(dim=1)
    assert total.tolist() == pytest.approx([1.0] * 3)
    assert found.scores.max() < math.log(1.0 + 1e-9)
