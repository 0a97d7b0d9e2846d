"""BLEU by hand against sacrebleu, chrF, exact match, accuracy by place and length."""

import math

import pytest
import sacrebleu
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.evaluation.translation import (
    accuracy_by_length,
    accuracy_by_position,
    bleu,
    chrf,
    exact_match,
    plain_bleu,
)

sentences = st.lists(st.sampled_from("abc"), max_size=9)
corpora = st.lists(
    st.tuples(sentences, st.lists(sentences, min_size=1, max_size=3)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=300)
@given(corpora)
def test_ours_is_sacrebleus_without_smoothing(corpus):
    hypotheses, references = zip(*corpus, strict=True)
    most = max(map(len, references))
    streams = [
        [" ".join(r[k]) if k < len(r) else None for r in references]
        for k in range(most)
    ]
    theirs = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    wanted = theirs.corpus_score([" ".join(h) for h in hypotheses], streams).score
    assert plain_bleu(hypotheses, references) == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=100)
@given(st.integers(0, 999))
def test_ours_is_sacrebleus_where_scores_are_high(seed):
    """Corpora of changed copies: all four precisions are above zero."""
    draw = torch.Generator().manual_seed(seed)
    references = torch.randint(6, (4, 12), generator=draw)
    changed = torch.rand(4, 12, generator=draw) < 0.15
    hypotheses = torch.where(changed, torch.full_like(references, 9), references)
    kept = torch.randint(8, 13, (4,), generator=draw).tolist()
    ids = [row[:n] for row, n in zip(hypotheses.tolist(), kept, strict=True)]
    ours = plain_bleu(ids, [[row] for row in references.tolist()])
    texts = [" ".join(map(str, row)) for row in ids]
    wholes = [[" ".join(map(str, row))] for row in references.tolist()]
    assert ours == pytest.approx(bleu(texts, wholes, tokenize="none"))
    assert ours > 0


def test_bleu_worked_by_hand():
    """Papineni's "the the the": clipped to the two that the reference has."""
    found, wanted = ["the"] * 7, ["the", "cat", "is", "on", "the", "mat"]
    assert plain_bleu([found], [[wanted]], max_n=1) == pytest.approx(100 * 2 / 7)
    short = plain_bleu([wanted[:3]], [[wanted]], max_n=1)
    assert short == pytest.approx(100 * math.exp(1 - 6 / 3))  # all right, but brief
    assert plain_bleu([wanted], [[wanted]]) == 100.0
    assert plain_bleu([wanted[:3]], [[wanted[:3]]]) == 0.0  # it has no 4-gram


def test_of_two_references_as_near_the_shorter_one_counts():
    found, short, long = ["a"] * 5, ["a"] * 4, ["a"] * 6
    assert plain_bleu([found], [[long, short]], max_n=1) == pytest.approx(80 / 0.8 * 1)
    wanted = 100 * math.exp(1 - 6 / 5)
    assert plain_bleu([found], [[long, long]], max_n=1) == pytest.approx(wanted)


def test_the_tokenizer_of_bleu_is_that_of_wmt_unless_told():
    hypotheses, references = ["A b, c d e."], [["A b , c d e ."]]
    assert bleu(hypotheses, references) == pytest.approx(100)
    assert bleu(hypotheses, references, tokenize="none") < 50
    assert bleu(["a b , c d e ."], references) < 90  # case counts


def test_several_references_may_be_of_different_number():
    assert bleu(["a b c d", "e f g h"], [["x", "a b c d"], ["e f g h"]]) == (
        pytest.approx(100)
    )


def test_chrf_worked_by_hand():
    """Of "ab" against "abc": 1-grams 2/2 and 2/3, 2-grams 1/1 and 1/2; no 3-grams."""
    precision, recall = 1.0, (2 / 3 + 1 / 2) / 2
    wanted = 5 * precision * recall / (4 * precision + recall)
    assert chrf(["ab"], [["abc"]]) == pytest.approx(100 * wanted)
    assert chrf(["a b c"], [["abc"]]) == pytest.approx(100)  # spaces do not count
    assert chrf(["xyz"], [["abc"]]) == 0.0


def test_exact_match():
    assert exact_match(["a b", "c", "d"], ["a b", "c ", "d"]) == pytest.approx(2 / 3)
    assert exact_match([[1, 2], [3]], [[1, 2], [4]]) == 0.5


@given(st.integers(0, 999))
def test_accuracy_by_position_is_that_of_a_loop(seed):
    draw = torch.Generator().manual_seed(seed)
    found, wanted = (torch.randint(2, (4, 5), generator=draw) for _ in range(2))
    mask = torch.rand(4, 5, generator=draw) < 0.5
    result = accuracy_by_position(found, wanted, mask).tolist()
    for t, accuracy in enumerate(result):
        right = [
            bool(found[b, t] == wanted[b, t]) for b in range(4) if bool(mask[b, t])
        ]
        if right:
            assert accuracy == pytest.approx(sum(right) / len(right))
        else:
            assert math.isnan(accuracy)


def test_accuracy_by_length():
    right = torch.tensor([True, False, True, True, False])
    lengths = torch.tensor([7, 2, 7, 2, 7])
    found = accuracy_by_length(right, lengths)
    assert list(found) == [2, 7]
    assert found == pytest.approx({2: 1 / 2, 7: 2 / 3})
    shares = accuracy_by_length(torch.tensor([0.25, 0.75]), torch.tensor([3, 3]))
    assert shares == {3: 0.5}


X = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bleu(["a", "b"], [["a"]]),
            r"^there are 2 hypotheses and 1 references; there must be as many, and at",
        ),
        (lambda: exact_match([], []), r"^there are 0 hypotheses and 0 references"),
        (lambda: bleu(["a"], ["a"]), r"^references has 'a' for a sentence; it must be"),
        (lambda: chrf(["a"], ["a"]), r"^references has 'a' for a sentence; it must be"),
        (lambda: plain_bleu(["a"], [[]]), r"^references has \[\] for a sentence"),
        (
            lambda: accuracy_by_position(X, X[:1], X > 0),
            r"^wanted must be \(B, T\): B should be 2, got 1",
        ),
        (
            lambda: accuracy_by_position(X, X, X[:, :1] > 0),
            r"^mask must be \(B, T\): T should be 3, got 1",
        ),
        (
            lambda: accuracy_by_length(X[0], torch.tensor([1])),
            r"^lengths must be \(B\): B should be 3, got 1",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
