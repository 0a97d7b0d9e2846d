"""Shannon's game: ranks against a sort, bounds against his own numbers and formulas."""

import math
from itertools import product

import pytest
import torch

from unrolled.data.tokens.letters import LETTERS, to_letters
from unrolled.evaluation.guessing import (
    entropy_bounds,
    rank_bits,
    ranks_of,
    shares_of,
)
from unrolled.models.ngram import kneser_ney
from unrolled.recipes.shannon_game import GUESSES, HELD_OUT, SHANNON, game_text
from unrolled.runtime import book_folder, generator


def test_the_letters_are_shannons():
    text = "The LORD's  [is], 2 days' “one”.\nNo!"
    assert to_letters(text) == "the lords is days one no"
    assert LETTERS.encode(" ab z") == [0, 1, 2, 0, 26]
    assert set(to_letters("Ça va? Straße")) <= set(LETTERS.characters)


def test_ranks_are_places_in_a_sorted_list():
    ids = torch.randint(5, (400,), generator=generator(0))
    model = kneser_ney(ids, order=3, n_tokens=5)
    text = torch.randint(5, (40,), generator=generator(1))
    for t, rank in enumerate(ranks_of(model, text).tolist()):
        p = model.next_token(text[max(0, t - 2) : t]).tolist()
        order = sorted(range(5), key=lambda i: (-p[i], i))
        assert order[rank - 1] == text[t]


def test_the_transcript_has_the_counts_that_shannon_gives():
    """Of 102 symbols 79 at the first guess, then 8, 3, 2 and 2, and 8 beyond five."""
    assert len(SHANNON) == len(GUESSES) == 102
    counts = [GUESSES.count(n) for n in range(1, 6)]
    assert counts == [79, 8, 3, 2, 2]
    assert sum(rank > 5 for rank in GUESSES) == 8


def test_bounds_by_hand():
    lower, upper = entropy_bounds(torch.tensor([1, 1, 2, 4]), 4)
    assert upper == pytest.approx(1.5)
    # q = 1/2, 1/4, 0, 1/4: 2 (1/4) 1 + 3 (-1/4) log2 3 + 4 (1/4) 2
    assert lower == pytest.approx(0.5 - 0.75 * math.log2(3) + 2)
    assert entropy_bounds(torch.tensor([1, 1, 1]), 27) == (0.0, 0.0)


def test_bounds_hold_for_the_best_guesser_of_a_known_source():
    """Letters drawn by a table: its ranks are those of a sort, its bits are known."""
    p = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]).double()
    q, bits = torch.zeros(3).double(), 0.0
    for row, _ in product(p, range(1)):
        q += row.sort(descending=True).values / 3
        bits -= (row * row.log2()).sum().item() / 3
    ranks = torch.repeat_interleave(torch.arange(1, 4), (q * 3000).round().long())
    lower, upper = entropy_bounds(ranks, 3)
    assert lower <= bits <= upper


def test_the_mean_of_the_bits_is_the_upper_bound():
    ranks = torch.tensor(GUESSES)
    assert rank_bits(ranks, 27).mean().item() == entropy_bounds(ranks, 27)[1]
    assert shares_of(ranks, 27).sum().item() == pytest.approx(1)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (torch.tensor([0, 1]), "ranks has 0 to 1; guesses go from 1 to 27"),
        (torch.tensor([28]), "ranks has 28 to 28; guesses go from 1 to 27"),
        (torch.tensor([1.5]), "ranks must be whole numbers, got dtype torch.float32"),
    ],
)
def test_it_complains_well(ranks, message):
    with pytest.raises(ValueError, match=message):
        entropy_bounds(ranks, 27)


def test_the_page_carries_the_text_and_sentences_that_were_held_out():
    script = book_folder() / "_static" / "models" / "shannon-game.js"
    text = game_text()
    assert f'"{text}"' in script.read_text("utf-8")
    for sentence in HELD_OUT.values():
        assert set(sentence) <= set(LETTERS.characters)
        assert sentence.strip() not in text
