"""Preferences: the judge follows Bradley and Terry, and the reward is what it says."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from unrolled.data.made.draws import stream
from unrolled.data.made.preferences import (
    Features,
    Taste,
    features,
    preferences,
    probability,
    prompts,
    right_answer,
    wrong_answer,
)
from unrolled.data.splits import PARTS
from unrolled.runtime import generator

SIGNS = {"plus": "+", "minus": "-", "times": "*"}
Q = tuple("what is 3 plus 4 ?".split())


def table(row) -> np.ndarray:
    """Return the features of both answers as numbers, first less second."""
    rows = [(f.right, min(f.n_polite, 2), f.n_tokens) for f in row.features]
    return np.subtract(*np.array(rows, dtype=float))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 3.0])
def test_wins_come_as_often_as_the_probability_says(temperature):
    rows = preferences(9000, temperature=temperature, generator=generator(0))
    p = np.array([row.p_first for row in rows])
    won = np.array([row.first_preferred for row in rows])
    for low in np.arange(0, 1, 0.2):
        here = (p >= low) & (p < low + 0.2)
        error = 4 * math.sqrt((p * (1 - p))[here].sum()) / here.sum()
        assert abs(won[here].mean() - p[here].mean()) < error


def test_the_hidden_weights_are_recovered_from_the_choices():
    taste = Taste(right=1.5, polite=0.5, length=-0.2)
    rows = preferences(8000, taste=taste, temperature=0.5, generator=generator(1))
    x = np.array([table(row) for row in rows])
    y = [row.first_preferred for row in rows]
    model = LogisticRegression(C=1e6, fit_intercept=False).fit(x, y)
    # the temperature divides the weights
    assert np.allclose(model.coef_[0], [3.0, 1.0, -0.4], atol=0.3)


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.05, 20))
def test_the_probability_is_the_logistic_of_the_difference(a, b, temperature):
    p = probability(a, b, temperature)
    assert 0 <= p <= 1
    assert p + probability(b, a, temperature) == pytest.approx(1)
    z = (a - b) / temperature
    if abs(z) < 30:
        assert p == pytest.approx(1 / (1 + math.exp(-z)), rel=1e-6, abs=1e-12)


@given(st.integers(0, 99), st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2))
def test_rewards_are_the_weighted_features(seed, right, polite, length):
    taste = Taste(right=right, polite=polite, length=length)
    for row in preferences(10, taste=taste, generator=generator(seed)):
        for words, seen, reward in zip(
            row.responses, row.features, row.rewards, strict=True
        ):
            assert seen == features(row.prompt, words)
            assert seen.n_tokens == len(words)
            hand = right * seen.right + polite * min(seen.n_polite, 2)
            assert reward == pytest.approx(hand + length * len(words))
        assert {row.chosen, row.rejected} == set(row.responses)
        assert (row.chosen == row.responses[0]) or not row.first_preferred
        assert row.p_first == probability(*row.rewards, 1.0)


def test_every_prompt_is_worked_out_and_half_of_the_answers_are_right():
    for part in PARTS:
        for prompt in prompts(part):
            a, sign, b = prompt[2:5]
            by_hand = {"+": int(a) + int(b), "-": int(a) - int(b), "*": int(a) * int(b)}
            assert right_answer(prompt) == by_hand[SIGNS[sign]] >= 0
    rows = preferences(4000, generator=generator(2))
    right = [seen.right for row in rows for seen in row.features]
    assert abs(sum(right) / len(right) - 0.5) < 0.03
    for row in rows:
        for words, seen in zip(row.responses, row.features, strict=True):
            numbers = [int(word) for word in words if word.isdigit()]
            assert len(numbers) == 1
            assert seen.right == (numbers[0] == right_answer(row.prompt))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("7", Features(right=True, n_polite=0, n_tokens=1)),
        ("thank you : 7 .", Features(right=True, n_polite=1, n_tokens=5)),
        ("6 or 7 .", Features(right=False, n_polite=0, n_tokens=4)),
        ("please please please", Features(right=False, n_polite=3, n_tokens=3)),
        ("", Features(right=False, n_polite=0, n_tokens=0)),
    ],
)
def test_any_tokens_can_be_scored(text, seen):
    assert features(Q, tuple(text.split())) == seen
    hand = 2.0 * seen.right + 1.0 * min(seen.n_polite, 2) - 0.1 * len(text.split())
    assert Taste().reward(seen) == pytest.approx(hand)


def test_no_prompt_is_in_two_parts_and_seeds_repeat():
    every = [prompt for part in PARTS for prompt in prompts(part)]
    assert len(every) == len(set(every)) == 13 * 13 * 2 + 13 * 14 // 2
    assert len(prompts("test")) == 41  # as the module says
    for part in PARTS:
        rows = preferences(50, part=part, generator=generator(3))
        assert {row.prompt for row in rows} <= set(prompts(part))
    first = preferences(5, generator=generator(4))
    drawn = stream(preferences, 5, generator=generator(4))
    assert next(drawn) == first
    assert next(drawn) != first


def test_a_prompt_and_its_mirror_image_are_of_one_part():
    where = {prompt: part for part in PARTS for prompt in prompts(part)}
    for (what, is_, a, sign, b, mark), part in where.items():
        if sign in ("plus", "times"):
            assert where[what, is_, b, sign, a, mark] == part
    for part in PARTS:
        assert {prompt[3] for prompt in prompts(part)} == set(SIGNS)


@pytest.mark.parametrize(
    ("part", "stated"), [("train", 0.55), ("validation", 0.54), ("test", 0.56)]
)
def test_the_size_of_a_number_hardly_tells_whether_it_is_right(part, stated):
    smaller, of_zero, pairs = 0, 0, 0
    for row in preferences(20_000, part=part, generator=generator(6)):
        said = [next(int(w) for w in words if w.isdigit()) for words in row.responses]
        if row.features[0].right != row.features[1].right:
            right = right_answer(row.prompt)
            of_zero += right == 0
            smaller += right == min(said)
            pairs += 1
    assert abs(smaller / pairs - stated) < 0.02
    # all that is more than half comes from the prompts whose answer is 0
    assert abs((smaller - of_zero) / (pairs - of_zero) - 0.5) < 0.02


@pytest.mark.parametrize("number", [*range(13), 144])
def test_a_wrong_answer_is_near_on_either_side_and_never_below_0(number):
    draw = Random(0)
    steps = {wrong_answer(number, draw) - number for _ in range(300)}
    both = {sign * far for far in (1, 2, 10) if far <= number for sign in (-1, 1)}
    assert steps == (both or {1})


def test_fillers_control_the_length():
    short = preferences(500, n_fillers=0, generator=generator(5))
    long = preferences(500, n_fillers=4, generator=generator(5))
    assert max(f.n_tokens for row in short for f in row.features) <= 16
    lengths = [f.n_tokens for row in long for f in row.features]
    assert max(lengths) <= 16 + 4 + 5 + 7 + 4
    assert sum(lengths) / 1000 > 12


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_fillers": 5}, "n_fillers=5 must be from 0 to 4"),
        ({"temperature": 0.0}, "temperature=0.0 must be positive and finite"),
        ({"temperature": math.inf}, "temperature=inf must be positive and finite"),
        ({"part": "dev"}, "part='dev' must be one of train, validation, test"),
    ],
)
def test_what_cannot_be_drawn_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        preferences(**({"n_rows": 2} | wrong), generator=generator(0))


def test_a_prompt_that_is_no_sum_is_named():
    with pytest.raises(ValueError, match="must be like 'what is 3 plus 4 \\?'"):
        right_answer(("who", "are", "you", "?"))
