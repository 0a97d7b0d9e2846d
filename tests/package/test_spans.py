"""Spans, tags and answers, against sets of spans and bags of words."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.evaluation.spans import (
    AnswerScores,
    SpanScores,
    answer_f1,
    answer_scores,
    normalise_answer,
    span_scores,
    tag_accuracy,
)

tag_pairs = st.lists(
    st.lists(
        st.tuples(*[st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])] * 2),
        min_size=1,
        max_size=8,
    ),
    min_size=1,
    max_size=4,
)


def spans_of(tags):
    """Return the set of (start, end, kind) that a row marks, by a plain reading."""
    spans, open_at, kind = set(), None, None
    for place, tag in enumerate([*tags, "O"]):
        goes_on = tag.startswith("I-") and open_at is not None and tag[2:] == kind
        if goes_on:
            continue
        if open_at is not None:
            spans.add((open_at, place, kind))
        open_at, kind = (None, None) if tag == "O" else (place, tag[2:])
    return spans


@settings(max_examples=200)
@given(tag_pairs)
def test_span_scores_are_those_of_sets_of_spans(rows):
    found, wanted = ([[pair[k] for pair in row] for row in rows] for k in (0, 1))
    right = n_found = n_wanted = 0
    for f, w in zip(found, wanted, strict=True):
        one, two = spans_of(f), spans_of(w)
        right += len(one & two)
        n_found, n_wanted = n_found + len(one), n_wanted + len(two)
    scores = span_scores(found, wanted)
    assert scores.precision == pytest.approx(right / n_found if n_found else 0)
    assert scores.recall == pytest.approx(right / n_wanted if n_wanted else 0)
    both = n_found + n_wanted
    assert scores.f1 == pytest.approx(2 * right / both if both else 0)


def test_a_span_is_right_only_as_a_whole():
    wanted = [["B-PER", "I-PER", "O", "B-LOC"]]
    found = [["B-PER", "O", "O", "B-LOC"]]
    scores = span_scores(found, wanted)
    assert scores == SpanScores(precision=0.5, recall=0.5, f1=0.5)
    assert tag_accuracy(found, wanted) == 0.75
    kinds = span_scores([["B-LOC", "I-LOC"]], [["B-PER", "I-PER"]])
    assert kinds == SpanScores(precision=0, recall=0, f1=0)


def test_precision_and_recall_are_not_swapped():
    scores = span_scores([["B-X", "B-X", "O"]], [["B-X", "O", "O"]])
    assert scores == SpanScores(precision=0.5, recall=1.0, f1=pytest.approx(2 / 3))


def test_tag_accuracy_takes_any_labels_and_counts_tags_not_rows():
    found, wanted = [["NOUN"], ["VERB"] * 3], [["VERB"], ["VERB"] * 3]
    assert tag_accuracy(found, wanted) == 0.75


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("an apple, a pear", "apple pear"),
        ("theatre", "theatre"),
        ("don't", "dont"),
        ("the", ""),
        ("U.S.A.", "usa"),
        ("a-b", "ab"),
        ("Café « Zürich »", "café « zürich »"),
    ],
)
def test_answers_are_compared_without_case_punctuation_and_articles(text, wanted):
    assert normalise_answer(text) == wanted


words = st.lists(st.sampled_from(["the", "red", "Red", "fox", "fox.", "!"]), max_size=6)


@given(words, words)
def test_answer_f1_is_that_of_bags_of_words(one, two):
    bags = [
        Counter(
            word
            for word in re.findall(r"[a-z]+", " ".join(text).lower())
            if word != "the"
        )
        for text in (one, two)
    ]
    shared = sum(min(bags[0][word], bags[1][word]) for word in bags[0])
    sizes = [sum(bag.values()) for bag in bags]
    if not all(sizes):
        wanted = float(sizes == [0, 0])
    elif not shared:
        wanted = 0.0
    else:
        precision, recall = shared / sizes[0], shared / sizes[1]
        wanted = 2 * precision * recall / (precision + recall)
    assert answer_f1(" ".join(one), " ".join(two)) == pytest.approx(wanted)
    assert answer_f1(" ".join(one), " ".join(two)) == answer_f1(
        " ".join(two), " ".join(one)
    )


def test_the_best_of_several_right_answers_counts():
    scores = answer_scores(
        ["the Normans", "tenth century"],
        [["Vikings", "Normans"], ["10th century", "in the tenth century there"]],
    )
    assert scores == AnswerScores(exact_match=0.5, f1=pytest.approx((1 + 4 / 6) / 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: span_scores([["X"]], [["O"]]),
            r"^found has tag='X'; it must be O, B-kind or I-kind$",
        ),
        (lambda: span_scores([["O"]], [["B-"]]), r"^wanted has tag='B-'; it must be O"),
        (
            lambda: tag_accuracy([["O"]], [["O", "O"]]),
            r"^found has rows of \[1\] tags and wanted of \[2\] .* the same, and at",
        ),
        (lambda: span_scores([], []), r"^found has rows of \[\] tags and wanted of"),
        (lambda: tag_accuracy([[]], [[]]), r"^found has no tags: there is nothing to"),
        (
            lambda: answer_scores(["a"], []),
            r"^there are 1 answers found and 0 wanted; there must be as many, and at",
        ),
        (
            lambda: answer_scores(["a"], ["a"]),
            r"^wanted has 'a' for a question; it must be a list of one or more",
        ),
        (lambda: answer_scores(["a"], [[]]), r"^wanted has \[\] for a question; it"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
