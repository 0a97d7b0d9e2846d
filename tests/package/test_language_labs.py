"""The labs on language models with Python behind them: what is counted, and scored."""

import math

import pytest
import torch

from unrolled.evaluation.guessing import entropy_bounds
from unrolled.recipes.shannon_game import HELD_OUT, game_model, letter_ids
from unrolled.widgets import live
from unrolled.widgets.perplexity_dial import PRESETS, dial_numbers
from unrolled.widgets.shannon_game import Game, score


def test_a_game_counts_guesses_and_forgives_repeats():
    game = Game(sentence="ab")
    assert [game.guess(letter) for letter in "xxba"] == [False, False, False, True]
    assert game.guess("b")
    assert (game.ranks, game.over) == ([3, 1], True)
    assert not game.guess("b")
    assert game.ranks == [3, 1]
    with pytest.raises(ValueError, match="letter='A' must be a space or one of a to z"):
        game.guess("A")


def test_a_score_is_the_packages():
    sentence = HELD_OUT["Jonah"][:12]
    game = Game(sentence=sentence, ranks=[1, 2, 1, 1, 5, 1, 1, 1, 2, 1, 1, 1])
    found = score(game)
    lower, upper = entropy_bounds(torch.tensor(game.ranks), 27)
    assert found["yours, at most"] == pytest.approx(upper)
    assert found["yours, at least about"] == pytest.approx(lower)
    log_p = game_model().log_probabilities(letter_ids(sentence))
    assert found["the model's"] == pytest.approx(-log_p.mean().item() / math.log(2))


def test_a_lower_bound_above_the_upper_one_is_left_out():
    ranks = [22, 3]
    lower, upper = entropy_bounds(torch.tensor(ranks), 27)
    assert lower > upper
    found = score(Game(sentence="the", ranks=ranks))
    assert "yours, at least about" not in found
    assert found["yours, at most"] == pytest.approx(upper)


def test_the_live_game_takes_typed_letters():
    choice, box, shown = live("shannon-game").children
    box.value = "xT"
    box.value = "h"
    assert box.value == ""
    assert "<code>th▁</code>" in shown.value
    choice.value = "Jonah"
    assert "<code>▁</code>" in shown.value


def test_the_dial_in_numbers():
    uniform = dial_numbers(list(PRESETS["Uniform: ten words, all alike"]))
    assert uniform.perplexity == pytest.approx(10)
    assert uniform.inverse == pytest.approx(0.1)
    assert dial_numbers([0.5, 0.125]).bits == pytest.approx(4)
    assert math.isinf(dial_numbers([1.0, 0.0]).perplexity)
    box = live("perplexity-dial")
    box.children[0].value = "A coin at every word"
    assert "Perplexity <b>2.00</b>" in box.children[-1].value
