"""Filters against Hugging Face's, draws against their odds, the loop against itself."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from table_writer import TableWriter
from unrolled.decoding.loop import evaluating, generate, stream, until
from unrolled.decoding.sampling import draw, greedy, sampler, top_k, top_p, warm
from unrolled.runtime import generator

seeds = st.integers(0, 1000)


def random_logits(seed, n_rows=3, n_tokens=7, **kind):
    return 3 * torch.randn(n_rows, n_tokens, generator=generator(seed), **kind)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(seeds, st.floats(0.05, 5.0), st.integers(1, 9), st.floats(0.01, 1.0))
@settings(max_examples=40)
def test_filters_are_those_of_hugging_face(dtype, seed, temperature, k, p):
    logits = random_logits(seed, dtype=dtype)
    assert torch.equal(
        warm(logits, temperature), TemperatureLogitsWarper(temperature)(None, logits)
    )
    assert torch.equal(top_k(logits, k), TopKLogitsWarper(k)(None, logits))
    assert torch.equal(top_p(logits, p), TopPLogitsWarper(p)(None, logits))


@given(seeds, st.floats(0.05, 0.999))
@settings(max_examples=40)
def test_the_nucleus_is_the_smallest_set_with_its_share(seed, p):
    logits = random_logits(seed, dtype=torch.float64)
    kept = top_p(logits, p) > -torch.inf
    for row, shares in zip(kept, logits.softmax(dim=-1), strict=True):
        assert shares[row].sum() >= p - 1e-12
        assert row.sum() == 1 or shares[row].sum() - shares[row].min() < p
        assert not row.all() or shares.sum() - shares.min() < p


def test_filters_treat_equal_logits_alike_and_rows_apart():
    logits = torch.tensor([[2.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    kept = [[True, True, False, False], [False, False, False, True]]
    assert (top_k(logits, 1) > -torch.inf).tolist() == kept
    assert (top_p(logits, 0.3) > -torch.inf).tolist() == kept


def test_filters_change_nothing_that_they_need_not():
    logits = random_logits(0)
    before = logits.clone()
    assert torch.equal(top_k(logits, 99), logits)
    assert torch.equal(top_p(logits, 1.0), logits)
    warm(logits, 0.1), top_k(logits, 1), top_p(logits, 0.1)
    assert torch.equal(logits, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_tokens_are_drawn_by_their_probabilities(dtype):
    n = 20_000
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0]).log().to(dtype)
    ids = draw(logits.expand(n, -1), generator=generator(0))
    shares = torch.bincount(ids, minlength=5) / n
    p = logits.float().softmax(dim=-1)
    error = (shares - p).abs() / (p * (1 - p) / n).sqrt().clamp(min=1e-9)
    assert (error < 4).all()
    assert shares[4] == 0


def test_rows_draw_independently():
    ids = draw(torch.zeros(2000, 2), generator=generator(0))
    assert 0.4 < (ids[::2] == ids[1::2]).float().mean() < 0.6


@pytest.mark.parametrize(
    ("setting", "filtered"),
    [
        ({}, lambda x: x),
        ({"temperature": 0.5}, lambda x: x / 0.5),
        ({"k": 3}, partial(top_k, k=3)),
        ({"p": 0.7}, partial(top_p, p=0.7)),
        (
            {"temperature": 2.0, "k": 5, "p": 0.7},
            lambda x: top_p(top_k(x / 2, 5), 0.7),
        ),
    ],
)
def test_a_sampler_filters_in_this_order_and_draws(setting, filtered):
    logits = random_logits(0, n_rows=200)
    drawn = sampler(generator=generator(1), **setting)(logits)
    assert torch.equal(drawn, draw(filtered(logits), generator=generator(1)))


def test_a_sampler_goes_on_drawing():
    choose = sampler(generator=generator(0))
    assert not torch.equal(choose(torch.zeros(50, 9)), choose(torch.zeros(50, 9)))


@pytest.mark.parametrize("choose", [greedy, lambda x: top_k(x, 1).argmax(dim=-1)])
def test_greedy_writes_the_likeliest(choose):
    model = TableWriter(5)
    read = [3, 1]
    for _ in range(6):
        read.append(model.table[read[-2], read[-1]].argmax().item())
    written = generate(model, torch.tensor([[3, 1]]), n_tokens=6, choose=choose)
    assert written.lists() == [read[2:]]


PROMPTS = torch.tensor([[0, 1, 2], [3, 3, 3], [2, 4, 0], [1, 0, 4]])


def test_rows_do_not_see_each_other_and_prompts_may_differ_in_length():
    model, lengths = TableWriter(5), torch.tensor([3, 2, 3, 2])
    together = generate(model, PROMPTS, lengths, n_tokens=5)
    for row, (prompt, n) in enumerate(zip(PROMPTS, lengths, strict=True)):
        alone = generate(model, prompt[None, :n], n_tokens=5)
        assert torch.equal(alone.ids[0], together.ids[row])


@pytest.mark.parametrize("stop", [None, 0, 2])
def test_streaming_writes_what_the_batch_does(stop):
    model = TableWriter(5, scale=0.1)
    for seed in range(5):
        options = {"n_tokens": 6, "stop": stop}
        draws = (sampler(generator=generator(seed)) for _ in range(2))
        steps = stream(model, PROMPTS, choose=next(draws), **options)
        written = generate(model, PROMPTS, choose=next(draws), **options)
        assert torch.equal(torch.stack(list(steps), dim=1), written.ids)


def test_a_row_that_stopped_stays_stopped_and_changes_no_other():
    model = TableWriter(4, scale=0.3)
    for seed in range(10):
        free = generate(
            model,
            PROMPTS[:3] % 4,
            n_tokens=9,
            choose=sampler(generator=generator(seed)),
        )
        held = generate(
            model,
            PROMPTS[:3] % 4,
            n_tokens=9,
            choose=sampler(generator=generator(seed)),
            stop=2,
        )
        n = held.ids.shape[1]
        assert n == max(held.lengths)
        for one, other, length in zip(free.ids, held.ids, held.lengths, strict=True):
            one, other = one.tolist(), other.tolist()
            assert one[:length] == other[:length]
            assert 2 not in one[: length - 1]
            assert length == 9 or one[length - 1] == 2
            assert other[length:] == [2] * (n - length)


def test_lengths_mask_and_lists_say_what_counts():
    ids = torch.tensor([[1, 0, 0], [0, 0, 0], [1, 2, 0], [1, 2, 3]])
    assert until(ids, 0).tolist() == [2, 1, 3, 3]
    assert until(ids, None).tolist() == [3, 3, 3, 3]
    model = TableWriter(3)
    with torch.no_grad():
        model.table[:] = torch.tensor([0.0, 1.0, 2.0])  # always 2
    written = generate(model, PROMPTS[:2] % 3, n_tokens=4, stop=2)
    assert written.lists() == [[2], [2]]
    written = generate(model, PROMPTS[:2] % 3, n_tokens=4, stop=0)
    assert written.mask.tolist() == [[True] * 4] * 2
    assert written.ids.dtype == torch.int64


@pytest.mark.parametrize(("stop", "n_read"), [(None, 5), (2, 1)])
def test_the_model_reads_no_more_than_it_must(stop, n_read):
    model = TableWriter(3)
    with torch.no_grad():
        model.table[:] = torch.tensor([0.0, 1.0, 2.0])
    generate(model, PROMPTS[:2] % 3, n_tokens=5, stop=stop)
    assert model.n_steps == n_read


def test_a_token_is_shown_before_the_next_is_thought_of():
    model = TableWriter(3)
    steps = stream(model, PROMPTS[:1] % 3, n_tokens=5)
    assert model.n_steps == 0
    for n in range(1, 4):
        next(steps)
        assert model.n_steps == n


def test_the_model_comes_back_as_it_was_part_by_part():
    model = TableWriter(3)
    for training in (True, False):
        model.train(training)
        model.drop.train(not training)  # as one who freezes a part would
        generate(model, PROMPTS % 3, n_tokens=2)
        assert (model.training, model.drop.training) == (training, not training)
    with pytest.raises(IndexError):
        generate(model.train(), PROMPTS, n_tokens=2)
    assert model.training
    assert model.drop.training
    steps = stream(model, PROMPTS % 3, n_tokens=5)
    next(steps)
    assert not model.drop.training
    steps.close()
    assert model.training
    assert model.drop.training
    with evaluating(model):
        assert not model.drop.training


def test_what_is_written_can_be_learnt_from():
    model = TableWriter(5)
    for ids in stream(model, PROMPTS, n_tokens=2):
        assert not torch.is_inference_mode_enabled()
        assert not ids.requires_grad
    written = generate(model, PROMPTS, n_tokens=3)
    model(written.ids).sum().backward()
    assert model.table.grad is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: warm(x, 0.0), r"temperature=0.0 must be positive.*greedy"),
        (lambda x: sampler(generator=generator(0), temperature=-1.0), "temperature=-1"),
        (lambda x: top_k(x, 0), "k=0 must be at least 1"),
        (lambda x: sampler(generator=generator(0), k=-3), "k=-3 must be at least 1"),
        (lambda x: top_p(x, 0.0), "p=0.0 must be above 0 and at most 1"),
        (lambda x: sampler(generator=generator(0), p=1.5), "p=1.5 must be above 0"),
        (lambda x: draw(x[0], generator=generator(0)), r"logits must be \(B, V\)"),
        (
            lambda x: stream(TableWriter(3), x, n_tokens=0),
            "n_tokens=0 must be at least",
        ),
    ],
)
def test_complaints(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.zeros(2, 5))
