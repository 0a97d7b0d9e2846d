"""Alignment error: by its definition, and links read off attention."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.evaluation.alignment_error import alignment_scores, hard_links

links = st.frozensets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6)
corpora = st.lists(st.tuples(links, links, links), min_size=1, max_size=4)


@settings(max_examples=50)
@given(corpora)
def test_the_scores_are_those_of_the_definition(corpus):
    A, S, P = (
        {(n, *link) for n, sentence in enumerate(corpus) for link in sentence[k]}
        for k in range(3)
    )
    P |= S
    if not A | S:
        return
    found = alignment_scores(*zip(*corpus, strict=True))
    assert found.error_rate == pytest.approx(
        1 - (len(A & S) + len(A & P)) / (len(A) + len(S))
    )
    assert (
        math.isnan(found.precision)
        if not A
        else (found.precision == pytest.approx(len(A & P) / len(A)))
    )
    assert (
        math.isnan(found.recall)
        if not S
        else (found.recall == pytest.approx(len(A & S) / len(S)))
    )
    assert 0 <= found.error_rate <= 1


@settings(max_examples=50)
@given(corpora)
def test_between_the_sure_and_the_possible_nothing_is_wrong(corpus):
    """Any A with S in A and A in P has no error: that is what possible means."""
    sure = [s for s, _, _ in corpus]
    found = [s | p for s, p, _ in corpus]
    possible = [s | p | q for s, p, q in corpus]
    if any(found):
        assert alignment_scores(found, sure, possible).error_rate == pytest.approx(0)


def test_worked_by_hand():
    found = [{(0, 0), (1, 2), (2, 2), (3, 1)}]
    sure, possible = [{(0, 0), (1, 1)}], [{(1, 2), (2, 2)}]
    scores = alignment_scores(found, sure, possible)
    assert scores.precision == 3 / 4  # (3, 1) is not even possible
    assert scores.recall == 1 / 2
    assert scores.error_rate == pytest.approx(1 - (1 + 3) / (4 + 2))
    only_sure = alignment_scores(found, sure)
    assert only_sure.precision == 1 / 4
    assert only_sure.error_rate == pytest.approx(1 - 2 / 6)


def test_with_sure_links_alone_it_is_one_minus_f1():
    found, sure = [{(0, 0), (1, 1), (2, 0)}], [{(0, 0), (1, 1), (2, 2), (3, 3)}]
    scores = alignment_scores(found, sure)
    p, r = scores.precision, scores.recall
    assert scores.error_rate == pytest.approx(1 - 2 * p * r / (p + r))


@given(st.integers(0, 999))
def test_each_target_is_linked_to_where_it_looks_most(seed):
    draw = torch.Generator().manual_seed(seed)
    weights = torch.rand(3, 4, 5, generator=draw).softmax(dim=-1)
    n_target, n_source = [4, 1, 0], [5, 2, 1]
    found = hard_links(
        weights,
        target_mask=torch.arange(4) < torch.tensor(n_target)[:, None],
        source_mask=torch.arange(5) < torch.tensor(n_source)[:, None],
    )
    for row in range(3):
        wanted = set()
        for t in range(n_target[row]):
            looks = weights[row, t, : n_source[row]].tolist()
            wanted.add((t, looks.index(max(looks))))
        assert found[row] == wanted


def test_the_alignment_of_a_reversal():
    weights = torch.eye(4).flip(0)[None]
    assert hard_links(weights) == [{(0, 3), (1, 2), (2, 1), (3, 0)}]
    scores = alignment_scores(hard_links(weights), [{(t, 3 - t) for t in range(4)}])
    assert scores.error_rate == 0
    assert hard_links(torch.ones(1, 2, 3)) == [{(0, 0), (1, 0)}]  # the first of equals


W = torch.ones(2, 3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: alignment_scores([set()], [], []),
            r"^found has 1 sentences, sure 0 and possible 0: all must have as many$",
        ),
        (
            lambda: alignment_scores([set()], [set()], [{(0, 0)}]),
            r"^neither found nor sure has a link: there is nothing to score$",
        ),
        (lambda: hard_links(W[0]), r"^weights must be \(B, T, S\): expected 3 axes"),
        (
            lambda: hard_links(W, source_mask=W[:, 0, :3] > 0),
            r"^source_mask must be \(B, S\): S should be 4, got 3",
        ),
        (
            lambda: hard_links(W, target_mask=W[:, 0] > 0),
            r"^target_mask must be \(B, T\): T should be 3, got 4",
        ),
        (
            lambda: hard_links(W, source_mask=W[:, 0] < 0),
            r"^source_mask has a row without a real token to link to$",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
