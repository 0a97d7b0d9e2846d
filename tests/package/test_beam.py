"""Beam search against all texts there are, one by one."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table_writer import TableWriter, every_text, log_probabilities
from unrolled.decoding.beam import beam_search, penalty
from unrolled.decoding.loop import generate

PROMPTS = torch.tensor([[0, 1], [2, 2], [1, 0]])
penalties = st.sampled_from([0.0, 0.6, 1.0, 2.5, -1.0])
chances = st.sampled_from([0.0, 0.3, 0.7])


def deaden(model, p_dead):
    """Forbid some tokens after any two, and all of them after some."""
    table = model.table.data
    table[torch.rand(table.shape) < p_dead / 2] = -math.inf
    table[torch.rand(table.shape[:2]) < p_dead] = -math.inf
    return model


def ranked(model, prompt, n_tokens, stop, alpha):
    """Return every text that is possible and its score, best first."""
    texts = every_text(model, prompt, n_tokens, stop)
    scores = {t: p / ((5 + len(t)) / 6) ** alpha for t, p in texts.items()}
    possible = [item for item in scores.items() if item[1] > -math.inf]
    return sorted(possible, key=lambda item: -item[1])


@given(
    st.integers(0, 1000),
    st.integers(1, 4),
    st.sampled_from([None, 0, 2]),
    penalties,
    st.sampled_from([0.1, 1.0, 4.0]),
    chances,
)
@settings(max_examples=80)
def test_a_beam_that_is_wide_enough_finds_all_in_order(
    seed, n, stop, alpha, scale, p_dead
):
    torch.manual_seed(seed)
    model = deaden(TableWriter(3, scale=scale), p_dead)
    found = beam_search(
        model, PROMPTS, n_beams=3**n, n_tokens=n, stop=stop, length_penalty=alpha
    )
    texts, scores = found.lists(), found.scores.tolist()
    for row, prompt in enumerate(PROMPTS.tolist()):
        every = ranked(model, prompt, n, stop, alpha)
        n_all = len(every)
        assert {tuple(t) for t in texts[row][:n_all]} == {text for text, _ in every}
        assert scores[row][:n_all] == pytest.approx([s for _, s in every], abs=1e-10)
        assert scores[row][n_all:] == [-math.inf] * (3**n - n_all)
        assert texts[row][n_all:] == [[]] * (3**n - n_all)


def literal_search(model, prompt, n_beams, n_tokens, stop, alpha):
    """Search as the words of the module say, text by text, and to the last token."""
    log_p = log_probabilities(model).tolist()

    def after(a, b):
        return log_p[a][b]

    beam, ended = [((), 0.0)], []
    for n in range(1, n_tokens + 1):
        tried = [
            ((*text, token), score + more)
            for text, score in beam
            for token, more in enumerate(after(*[*prompt, *text][-2:]))
        ]
        tried.sort(key=lambda item: -item[1])
        ended += [
            (text, score / ((5 + n) / 6) ** alpha)
            for text, score in tried[:n_beams]
            if text[-1] == stop
        ]
        ended = sorted(ended, key=lambda item: -item[1])[:n_beams]
        beam = [item for item in tried if item[0][-1] != stop][:n_beams]
    ended += [(text, score / ((5 + n) / 6) ** alpha) for text, score in beam]
    return sorted(ended, key=lambda item: -item[1])[:n_beams]


@given(
    st.integers(0, 1000),
    st.integers(1, 4),
    st.integers(1, 9),
    st.sampled_from([None, 1, 3]),
    penalties,
    chances,
)
@settings(max_examples=120)
def test_a_narrow_beam_searches_by_the_book(seed, n_beams, n, stop, alpha, p_dead):
    torch.manual_seed(seed)
    model = deaden(TableWriter(5, scale=2.0), p_dead)
    found = beam_search(
        model, PROMPTS, n_beams=n_beams, n_tokens=n, stop=stop, length_penalty=alpha
    )
    for row, prompt in enumerate(PROMPTS.tolist()):
        wanted = literal_search(model, prompt, n_beams, n, stop, alpha)
        real = [(tuple(t), s) for t, s in wanted if s > -math.inf]
        texts = found.lists()[row][: len(real)]
        assert [tuple(text) for text in texts] == [text for text, _ in real]
        scores = found.scores[row, : len(real)].tolist()
        assert scores == pytest.approx([score for _, score in real], abs=1e-10)
        assert (found.scores[row, len(real) :] == -math.inf).all()
        assert found.lists()[row][len(real) :] == [[]] * (n_beams - len(real))


@pytest.mark.parametrize("stop", [None, 0, 1, 2])
def test_a_beam_of_one_is_greedy(stop):
    for _ in range(20):
        model = TableWriter(4)
        found = beam_search(model, PROMPTS, n_beams=1, n_tokens=6, stop=stop)
        written = generate(model, PROMPTS, n_tokens=6, stop=stop)
        assert [texts[0] for texts in found.lists()] == written.lists()


def test_it_finds_what_greedy_misses():
    model = TableWriter(3)
    with torch.no_grad():  # 1 looks better at first, but what follows 2 is certain
        model.table[:] = torch.tensor([0.2, 0.45, 0.35]).log()
        model.table[:, 2] = torch.tensor([0.98, 0.01, 0.01]).log()
    prompt = torch.tensor([[0, 0]])
    assert generate(model, prompt, n_tokens=2, stop=0).lists() == [[1, 1]]
    found = beam_search(model, prompt, n_beams=2, n_tokens=2, stop=0)
    assert found.lists()[0][0] == [2, 0]
    assert found.scores[0, 0].exp().item() == pytest.approx(0.35 * 0.98)


def only(n_tokens, follows):
    """Return a writer of ``follows``, probabilities by the last token; no others."""
    model = TableWriter(n_tokens)
    model.table.data[:] = -math.inf
    for last, odds in follows.items():
        for token, p in odds.items():
            model.table.data[:, last, token] = math.log(p)
    return model


@pytest.mark.parametrize("alpha", [0.0, 0.6, -1.0])
@pytest.mark.parametrize("n_tokens", [2, 5])
def test_texts_that_have_ended_outlive_those_that_cannot_go_on(alpha, n_tokens):
    model = only(4, {2: {0: 0.1, 1: 0.3, 3: 0.6}, 1: {0: 0.5, 3: 0.5}})  # 3: dead
    found = beam_search(
        model,
        torch.tensor([[2, 2]]),
        n_beams=3,
        n_tokens=n_tokens,
        stop=0,
        length_penalty=alpha,
    )
    possible = {(0,): 0.1, (1, 0): 0.15}
    if n_tokens == 2:
        possible |= {(1, 3): 0.15}  # as long as may be, so it need not go on
    for text, score in zip(found.lists()[0], found.scores[0].tolist(), strict=True):
        p = possible.pop(tuple(text), 0.0)
        wanted = math.log(p) / penalty(len(text), alpha) if p else -math.inf
        assert score == pytest.approx(wanted)
    assert not possible


def test_a_row_that_is_dead_from_the_first_has_no_texts():
    model = only(3, {1: {0: 0.5, 1: 0.5}})  # nothing follows 2
    settings = {"n_beams": 2, "n_tokens": 4, "stop": 0, "length_penalty": 0.6}
    prompts = torch.tensor([[2, 2], [1, 1], [1, 2]])
    found = beam_search(model, prompts, **settings)
    alone = beam_search(model, prompts[1:2], **settings)
    assert found.lists() == [[[], []], alone.lists()[0], [[], []]]
    assert torch.equal(found.scores[1], alone.scores[0])
    assert (found.scores[::2] == -math.inf).all()
    assert (found.lengths[::2] == 0).all()
    beam_search(model, prompts[::2], **settings | {"n_tokens": 50})
    assert model.n_steps < 10  # all are dead: there is no reason to go on


def test_what_a_model_says_after_no_text_at_all_does_not_matter():
    model = only(3, {1: {0: 0.4, 1: 0.6}})
    model.table.data[:, 2] = math.nan  # no text has a 2: it only fills up the beam
    found = beam_search(model, torch.tensor([[1, 1]]), n_beams=4, n_tokens=3, stop=0)
    assert found.lists()[0] == [[0], [1, 0], [1, 1, 1], [1, 1, 0]]
    odds = [0.4, 0.24, 0.216, 0.144]
    assert found.scores[0].exp().tolist() == pytest.approx(odds)


def test_a_nan_in_a_text_is_not_hushed_up():
    model = only(3, {1: {0: 0.4, 1: 0.6}})
    model.table.data[:, 1, 2] = math.nan
    found = beam_search(model, torch.tensor([[1, 1]]), n_beams=2, n_tokens=3)
    assert found.scores.isnan().all()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_rows_do_not_see_each_other(alpha):
    model = TableWriter(5, scale=2.0)
    settings = {"n_beams": 3, "n_tokens": 7, "stop": 0, "length_penalty": alpha}
    together = beam_search(model, PROMPTS, **settings)
    for row, prompt in enumerate(PROMPTS):
        alone = beam_search(model, prompt[None], **settings)
        assert alone.lists()[0] == together.lists()[row]
        assert torch.allclose(alone.scores[0], together.scores[row])


def test_scores_are_those_of_the_texts_read_back():
    model = TableWriter(5).eval()
    found = beam_search(
        model, PROMPTS, n_beams=4, n_tokens=6, stop=0, length_penalty=0.7
    )
    for row, texts in enumerate(found.lists()):
        for text, score in zip(texts, found.scores[row].tolist(), strict=True):
            read = torch.tensor([[*PROMPTS[row].tolist(), *text]])
            log_p = model(read).log_softmax(dim=-1)[0, 1:-1]
            total = log_p.gather(-1, read[0, 2:, None]).sum().item()
            assert score == pytest.approx(total / penalty(len(text), 0.7), abs=1e-12)


def test_a_higher_penalty_never_makes_the_best_text_shorter():
    model, lengths = TableWriter(3), []
    for alpha in (-2.0, 0.0, 1.0, 4.0):
        found = beam_search(
            model, PROMPTS, n_beams=81, n_tokens=4, stop=0, length_penalty=alpha
        )
        lengths.append(found.lengths[:, 0].tolist())
    assert all(a <= b for row in zip(*lengths, strict=True) for a, b in pairwise(row))
    assert sum(lengths[0]) < sum(lengths[-1])


def test_the_penalty_is_that_of_the_paper():
    assert penalty(1, 0.6) == 1.0
    assert penalty(7, 1.0) == pytest.approx(2.0)
    assert penalty(19, 0.5) == pytest.approx(2.0)
    assert penalty(30, 0.0) == 1.0


def test_the_search_ends_when_nothing_can_change():
    model = TableWriter(4)
    with torch.no_grad():
        model.table[:] = torch.tensor([0.97, 0.01, 0.01, 0.01]).log()
    beam_search(model, PROMPTS, n_beams=2, n_tokens=50, stop=0)
    assert model.n_steps < 5


def test_the_search_goes_on_while_a_longer_text_could_win():
    model = TableWriter(3)
    with torch.no_grad():  # ends at once, or goes on for ever with 1
        model.table[:] = torch.tensor([0.6, 0.4, 1e-9]).log()
        model.table[:, 1] = torch.tensor([1e-9, 1.0, 1e-9]).log()
    prompt = torch.tensor([[2, 2]])
    for alpha, wanted in ((0.0, [0]), (1.0, [1] * 20)):
        found = beam_search(
            model, prompt, n_beams=1, n_tokens=20, stop=0, length_penalty=alpha
        )
        assert found.lists() == [[wanted]]


def test_a_model_that_forbids_tokens_is_obeyed():
    model = TableWriter(4)
    with torch.no_grad():
        model.table[..., 2:] = -math.inf
    found = beam_search(model, PROMPTS, n_beams=9, n_tokens=2, stop=0)
    assert found.lists()[0][3:] == [[]] * 6
    assert {tuple(text) for text in found.lists()[0][:3]} == {(0,), (1, 0), (1, 1)}
    assert not found.scores.isnan().any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_scores_are_added_in_single_precision_at_least(dtype):
    model = TableWriter(5, dtype=dtype)
    found = beam_search(model, PROMPTS, n_beams=2, n_tokens=6)
    assert found.scores.dtype == torch.promote_types(dtype, torch.float32)


def test_it_does_not_train_and_its_results_can_be_learnt_from():
    model = TableWriter(5)
    found = beam_search(model, PROMPTS, n_beams=2, n_tokens=3)
    assert model.training
    assert model.drop.training
    assert not found.scores.requires_grad
    model(found.ids[:, 0]).sum().backward()
    (model.table.sum() * found.scores.sum()).backward()
    assert found.ids.shape == (3, 2, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_beams": 0}, "n_beams=0 must be at least 1"),
        ({"n_tokens": 0}, "n_tokens=0 must be at least 1"),
        ({"length_penalty": math.nan}, "length_penalty=nan must be finite"),
    ],
)
def test_complaints(settings, message):
    with pytest.raises(ValueError, match=message):
        beam_search(
            TableWriter(3), PROMPTS, **({"n_beams": 1, "n_tokens": 1} | settings)
        )
