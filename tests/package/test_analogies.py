"""Analogies: ranks and neighbours by brute force, and what leaning measures."""

import pytest
import torch
import torch.nn.functional as F

from unrolled.evaluation.analogies import (
    KIN,
    corner,
    effect_size,
    leaning,
    nearest,
    rank,
    share_between,
    step_cosine,
)
from unrolled.runtime import generator


@pytest.fixture
def unit():
    rows = torch.randn(40, 6, generator=generator(0), dtype=torch.float64)
    return F.normalize(rows, dim=1)


def by_hand(unit, query, leave_out=()):
    """Every word but those left out, by falling cosine."""
    cosines = [float(row @ query / (row.norm() * query.norm())) for row in unit]
    there = [i for i in range(len(unit)) if i not in leave_out]
    return sorted(there, key=lambda i: -cosines[i])


def test_ranks_and_neighbours_are_those_of_a_sort(unit):
    for a, b, c in ((0, 1, 2), (7, 3, 30), (5, 39, 5)):
        query = corner(unit, a, b, c)
        torch.testing.assert_close(query, unit[b] - unit[a] + unit[c])
        for leave_out in ((), (a, b, c)):
            order = by_hand(unit, query, leave_out)
            assert nearest(unit, query, 5, leave_out=leave_out) == order[:5]
            for answer in (10, 20):
                place = order.index(answer) + 1
                assert rank(unit, query, answer, leave_out=leave_out) == place


def test_the_length_of_the_query_does_not_matter(unit):
    query = corner(unit, 1, 2, 3)
    assert nearest(unit, 9 * query, 6) == nearest(unit, query, 6)
    assert rank(unit, 0.1 * query, 8) == rank(unit, query, 8)


def test_in_a_perfect_parallelogram_the_answer_is_first():
    table = F.normalize(
        torch.tensor([[1.0, 0, 3], [0, 1.0, 3], [1.0, 0, -3], [0, 1.0, -3], [5, 5, 5]]),
        dim=1,
    )
    query = corner(table, 0, 1, 2)
    assert nearest(table, query, 1) == [3]
    assert rank(table, query, 3) == 1


def test_steps_that_are_shifted_copies_have_cosine_one(unit):
    shifted = torch.cat([unit[:2], unit[:2] + unit[5]])
    one, two = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[2, 3], [3, 2]])
    torch.testing.assert_close(
        step_cosine(shifted, one, two), torch.tensor([1.0, -1.0]).double()
    )


def test_a_share_is_of_questions_between_different_pairs():
    right = torch.tensor([[9.0, 1, 0], [0, 9, 1], [1, 0, 9]])  # 9: never asked
    draws = torch.tensor([[0, 1, 2], [0, 0, 1], [2, 2, 0], [1, 1, 1]])
    found = share_between(right, draws)
    assert found.tolist() == [0.5, 0.5, 0.5, 0.0]
    one_way = torch.tensor([[0.0, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert share_between(one_way, draws[:2]).tolist() == pytest.approx([2 / 6, 2 / 4])
    with pytest.raises(ValueError, match="right"):
        share_between(right[:2], draws)


def test_a_word_leans_to_the_set_that_it_is_nearer_to(unit):
    one, two = torch.tensor([0, 1]), torch.tensor([2, 3])
    lean = leaning(unit, [0, 2, 9], one, two)
    right = [
        (unit[w] @ unit[0] + unit[w] @ unit[1] - unit[w] @ unit[2] - unit[w] @ unit[3])
        / 2
        for w in (0, 2, 9)
    ]
    torch.testing.assert_close(lean, torch.stack(right))
    torch.testing.assert_close(leaning(unit, [0, 2, 9], two, one), -lean)


def test_effect_size_is_the_difference_in_deviations():
    x, y = torch.tensor([3.0, 4.0, 5.0]), torch.tensor([1.0, 2.0, 3.0])
    spread = torch.tensor([3.0, 4, 5, 1, 2, 3]).std().item()
    assert effect_size(x, y) == pytest.approx(2 / spread)
    assert effect_size(y, x) == pytest.approx(-2 / spread)


def test_kin_are_pairs_of_different_words():
    words = [word for pair in KIN for word in pair]
    assert len(words) == len(set(words)) == 30


def test_it_complains_about_what_makes_no_sense(unit):
    with pytest.raises(ValueError, match="answer=3 is among the words to leave out"):
        rank(unit, unit[0], 3, leave_out=[1, 3])
    with pytest.raises(ValueError, match="n=0"):
        nearest(unit, unit[0], 0)
    with pytest.raises(ValueError, match="query"):
        rank(unit, torch.zeros(5).double(), 3)
