"""N-gram models, against slow ones written from the formulas with dictionaries."""

import math
from collections import Counter, defaultdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.characters import Characters
from unrolled.models.ngram import add_k, discount, kneser_ney
from unrolled.runtime import generator

TEXT = torch.tensor([0, 1, 2, 0, 1, 3, 0, 1, 2, 2, 4, 0, 1])


def grams(text, n):
    return [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


def slow_add_k(text, n_tokens, k, context, word):
    """Return (c(uw) + k) / (c(u) + kV), by running through the text."""
    after = [g[-1] for g in grams(text, len(context) + 1) if g[:-1] == context]
    if not after:
        return 1 / n_tokens
    return (after.count(word) + k) / (len(after) + k * n_tokens)


class SlowKneserNey:
    """Interpolated Kneser-Ney from its definition: Counters and recursion."""

    def __init__(self, text, order, n_tokens):
        self.n_tokens = n_tokens
        self.counts = {order: Counter(grams(text, order))}
        for n in range(1, order):
            before = defaultdict(set)
            for gram in grams(text, n + 1):
                before[gram[1:]].add(gram[0])
            self.counts[n] = Counter({gram: len(s) for gram, s in before.items()})

    def discount(self, n):
        n_1, n_2 = (list(self.counts[n].values()).count(c) for c in (1, 2))
        return n_1 / (n_1 + 2 * n_2) if n_1 and n_2 else 0.75

    def p(self, context, word):
        n = len(context) + 1
        below = self.p(context[1:], word) if context else 1 / self.n_tokens
        here = {g[-1]: c for g, c in self.counts[n].items() if g[:-1] == context}
        if not here:
            return below
        total, d = sum(here.values()), self.discount(n)
        return (max(here.get(word, 0) - d, 0) + d * len(here) * below) / total


@st.composite
def problems(draw):
    """Draw a text of few tokens, an order, and contexts both seen and unseen."""
    n_tokens = draw(st.integers(1, 5))
    token = st.integers(0, n_tokens - 1)
    order = draw(st.integers(1, 4))
    text = draw(st.lists(token, min_size=order, max_size=40))
    context = draw(st.lists(token, max_size=order - 1))
    return text, n_tokens + draw(st.integers(0, 2)), order, tuple(context)


@settings(max_examples=200)
@given(problems(), st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_add_k_is_the_formula(problem, k):
    text, n_tokens, order, context = problem
    model = add_k(torch.tensor(text), order=order, n_tokens=n_tokens, k=k)
    found = model.next_token(torch.tensor(context, dtype=torch.int64))
    wanted = [slow_add_k(text, n_tokens, k, context, w) for w in range(n_tokens)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-12)
    assert float(found.sum()) == pytest.approx(1, abs=1e-14)


@settings(max_examples=300)
@given(problems())
def test_kneser_ney_is_the_formula(problem):
    text, n_tokens, order, context = problem
    model = kneser_ney(torch.tensor(text), order=order, n_tokens=n_tokens)
    found = model.next_token(torch.tensor(context, dtype=torch.int64))
    slow = SlowKneserNey(text, order, n_tokens)
    wanted = [slow.p(context, w) for w in range(n_tokens)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-12)
    assert float(found.sum()) == pytest.approx(1, abs=1e-14)
    assert (found > 0).all()


@given(problems(), st.sampled_from(["add-k", "kneser-ney"]), st.data())
def test_a_text_is_scored_as_its_tokens_one_by_one(problem, kind, data):
    text, n_tokens, order, _ = problem
    fit = add_k if kind == "add-k" else kneser_ney
    model = fit(torch.tensor(text), order=order, n_tokens=n_tokens)
    ids = st.lists(st.integers(0, n_tokens - 1), max_size=9)
    new = torch.tensor(data.draw(ids), dtype=torch.int64)
    wanted = [
        float(model.next_token(new[max(0, t - order + 1) : t])[new[t]].log())
        for t in range(len(new))
    ]
    assert model.log_probabilities(new).tolist() == pytest.approx(wanted, rel=1e-12)
    longer = model.next_token(torch.cat([new, new]))  # only the last n - 1 count
    last = torch.cat([new, new])[max(0, 2 * len(new) - order + 1) :]
    assert torch.equal(longer, model.next_token(last))


def test_by_hand_add_one():
    """After 0 1 come 2, 3 and 2, and then the text ends."""
    model = add_k(TEXT, order=3, n_tokens=5)
    wanted = [1 / 8, 1 / 8, 3 / 8, 2 / 8, 1 / 8]
    assert model.next_token(torch.tensor([0, 1])).tolist() == wanted


def test_without_anything_added_the_unseen_is_impossible():
    model = add_k(TEXT, order=2, n_tokens=6, k=0)
    assert model.next_token(torch.tensor([1])).tolist() == [0, 0, 2 / 3, 1 / 3, 0, 0]
    scored = model.log_probabilities(torch.tensor([0, 1, 4]))
    assert scored.tolist() == [math.log(4 / 13), 0.0, -math.inf]
    never = model.next_token(torch.tensor([5]))  # 5 was never seen: all are alike
    assert never.tolist() == pytest.approx([1 / 6] * 6)


def test_kneser_ney_counts_company_not_frequency():
    """The end of "San Francisco": often seen, always after the same word."""
    text = torch.tensor([1, 2] * 20 + [3, 4, 5, 4, 6, 4])
    model = kneser_ney(text, order=2, n_tokens=9)
    after_the_unknown = model.next_token(torch.tensor([8]))
    assert after_the_unknown[4] > 2 * after_the_unknown[2]
    frequency = add_k(text, order=1, n_tokens=9).next_token(text[:0])
    assert frequency[2] > 4 * frequency[4]


def test_discounts():
    assert discount(torch.tensor([1.0, 1, 1, 2, 5, 0])) == 3 / 5
    assert discount(torch.tensor([2.0, 2, 3])) == 0.75
    assert discount(torch.tensor([1.0, 3])) == 0.75


def test_samples_follow_the_distribution():
    model = kneser_ney(TEXT, order=3, n_tokens=5)
    drawn = model.sample(2000, generator=generator(0))
    contexts = drawn[:-2] * 5 + drawn[1:-1]
    after = drawn[2:][contexts == 0 * 5 + 1]  # what was drawn after 0 1
    wanted = model.next_token(torch.tensor([0, 1]))
    seen = torch.bincount(after, minlength=5)
    assert len(after) > 200
    chi_square = ((seen - len(after) * wanted) ** 2 / (len(after) * wanted)).sum()
    assert chi_square < 18.5  # p = 0.001 with 4 degrees of freedom


def test_samples_can_be_had_again_and_follow_the_prompt():
    model = add_k(TEXT, order=2, n_tokens=5, k=0)
    one, two = (model.sample(40, generator=generator(1)) for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(one, model.sample(40, generator=generator(2)))
    prompt = torch.tensor([3])  # only 0 follows 3, and only 1 follows 0
    assert model.sample(2, prompt=prompt, generator=generator(0)).tolist() == [0, 1]


def test_a_vocabulary_of_any_size_and_a_high_order_do_not_overflow():
    text = torch.tensor([999_999, 5, 999_999, 7] * 3)
    model = kneser_ney(text, order=8, n_tokens=1_000_000)  # V ** 8 is 1e48
    slow = SlowKneserNey(text.tolist(), 8, 1_000_000)
    wanted = slow.p(tuple(text[:7].tolist()), int(text[7]))
    found = model.probabilities(text)[7]
    assert float(found) == pytest.approx(wanted, rel=1e-12)


def test_real_text_more_context_helps_and_kneser_ney_uses_it_best():
    texts = kjv_text()
    letters = Characters.of(texts.train + texts.validation)
    train = torch.tensor(letters.encode(texts.train[:200_000]))
    held_out = torch.tensor(letters.encode(texts.validation[:20_000]))
    bits = {}
    for order in (1, 2, 3, 5):
        for fit in (add_k, kneser_ney):
            model = fit(train, order=order, n_tokens=len(letters))
            scores = model.log_probabilities(held_out)
            bits[fit, order] = -float(scores.mean()) / math.log(2)
    assert bits[kneser_ney, 1] > bits[kneser_ney, 2] + 0.5
    assert bits[kneser_ney, 2] > bits[kneser_ney, 3] + 0.3
    assert bits[kneser_ney, 3] > bits[kneser_ney, 5] + 0.2
    assert bits[add_k, 5] > bits[kneser_ney, 5] + 0.5
    places = torch.randint(len(held_out) - 4, (20,), generator=generator(0))
    model = kneser_ney(train, order=5, n_tokens=len(letters))
    for place in places.tolist():
        total = model.next_token(held_out[place : place + 4]).sum()
        assert float(total) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 0}, "^order=0 must be at least 1$"),
        ({"n_tokens": 0}, "^n_tokens=0 must be at least 1$"),
        ({"n_tokens": 4}, "^ids has 0 to 4; ids go from 0 to 3$"),
        ({"order": 14}, "^ids has 13 tokens; order=14 needs as many$"),
        ({"ids": TEXT[None]}, r"^ids must be \(N\): expected 1 axes, got 2"),
        ({"ids": -TEXT}, "^ids has -4 to 0; ids go from 0 to 4$"),
        ({"ids": TEXT.float()}, "^ids must be whole numbers, got dtype torch.float32$"),
    ],
)
@pytest.mark.parametrize("fit", [add_k, kneser_ney])
def test_bad_texts_are_named(fit, settings, message):
    given = {"ids": TEXT, "order": 2, "n_tokens": 5} | settings
    with pytest.raises(ValueError, match=message):
        fit(given.pop("ids"), **given)


@pytest.mark.parametrize("k", [-0.1, math.inf, math.nan])
def test_what_is_added_must_be_a_number(k):
    with pytest.raises(ValueError, match=f"^k={k} must be a number that is not neg"):
        add_k(TEXT, order=2, n_tokens=5, k=k)


def test_questions_about_unknown_tokens_are_refused():
    model = kneser_ney(TEXT, order=2, n_tokens=5)
    with pytest.raises(ValueError, match=r"^context has 5 to 5; ids go from 0 to 4$"):
        model.next_token(torch.tensor([5]))
    with pytest.raises(ValueError, match=r"^ids has 0 to 7; ids go from 0 to 4$"):
        model.probabilities(torch.tensor([0, 7]))
    with pytest.raises(ValueError, match=r"^prompt has -1 to 0; ids go from 0 to 4$"):
        model.sample(1, prompt=torch.tensor([-1, 0]), generator=generator(0))
    with pytest.raises(ValueError, match=r"^n=0 must be at least 1$"):
        model.sample(0, generator=generator(0))
