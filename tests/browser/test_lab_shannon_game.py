"""The Shannon game: the package's model in the page, and a fair count of guesses.

What every lab must do is held in ``test_lab_core.py``.
"""

import gzip

import labs
import pytest
import torch
from playwright.sync_api import Page, expect

from unrolled.data.tokens.letters import LETTERS
from unrolled.evaluation.guessing import entropy_bounds, rank_bits, ranks_of
from unrolled.recipes.shannon_game import (
    GUESSES,
    HELD_OUT,
    SHANNON,
    game_model,
    letter_ids,
)
from unrolled.runtime import book_folder, generator

pytestmark = pytest.mark.browser

NAME = "shannon-game"
STRANGE = ("", "q", "zzzz", "qxj wv", "the", "and the lo", " a ", "in the begi")


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def press(page: Page, letter: str) -> None:
    name = "space" if letter == " " else letter
    page.get_by_role("button", name=name, exact=True).dispatch_event("click")


def judged(page: Page, sentence: str) -> list[dict]:
    return page.evaluate(
        "sentence => UnrolledLab.compute['shannon-game']({sentence})", sentence
    )


# ---- the numbers ----


def test_the_model_is_small_enough_to_travel():
    script = book_folder() / "_static" / "models" / "shannon-game.js"
    assert len(gzip.compress(script.read_bytes())) < 300_000


def test_distributions_agree_with_the_package(page):
    drawn = game_model().sample(300, generator=generator(0)).tolist()
    random = torch.randint(27, (40, 6), generator=generator(1)).tolist()
    contexts = [*STRANGE, *(LETTERS.decode(drawn[i : i + 9]) for i in range(0, 290, 7))]
    contexts += [LETTERS.decode(row) for row in random]
    found = page.evaluate(
        "contexts => contexts.map(UnrolledLab.labs['shannon-game'].next)", contexts
    )
    for context, p in zip(contexts, found, strict=True):
        expected = game_model().next_token(letter_ids(context).long())
        actual = torch.tensor(p, dtype=torch.float64)
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12, msg=context)
        assert sum(p) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("sentence", [SHANNON, *HELD_OUT.values()])
def test_bits_and_guesses_agree_with_the_package(page, sentence):
    ids, model = letter_ids(sentence), game_model()
    found = judged(page, sentence)
    bits = (-model.log_probabilities(ids) / torch.log(torch.tensor(2.0))).tolist()
    assert [one["bits"] for one in found] == pytest.approx(bits, abs=1e-5)
    assert [one["rank"] for one in found] == ranks_of(model, ids).tolist()


def test_bounds_agree_with_the_package(page):
    drawn = torch.randint(1, 28, (50,), generator=generator(2)).tolist()
    for ranks in (list(GUESSES), drawn, [1, 1, 1], [27]):
        run = page.evaluate(
            "ranks => UnrolledLab.labs['shannon-game'].bounds(ranks)", ranks
        )
        lower, upper = entropy_bounds(torch.tensor(ranks), 27)
        assert (run["lower"], run["upper"]) == pytest.approx((lower, upper), abs=1e-9)
        each = rank_bits(torch.tensor(ranks), 27).tolist()
        assert run["each"] == pytest.approx(each, abs=1e-9)


# ---- the game ----


def test_guesses_are_counted_and_the_letter_is_shown(page):
    tape, says = page.locator(".lab-tape"), page.locator(".lab-says")
    press(page, "a")
    expect(says).to_contain_text("Not a. 1 wrong so far")
    press(page, "a")  # a second time it costs nothing
    press(page, " ")
    expect(says).to_contain_text("Not space. 2 wrong so far")
    press(page, "t")
    expect(says).to_contain_text("t, at guess 3. The model had it")
    expect(tape).to_have_text("t?")
    press(page, "h")
    expect(tape).to_have_text("th?")
    page.get_by_text("The numbers as a table").click()
    cells = page.locator(".lab-table tbody tr").first.locator("td")
    rank = ranks_of(game_model(), letter_ids("t"))[0].item()
    assert cells.all_inner_texts()[:2] == ["3", str(rank)]


def test_a_guess_can_be_typed(page):
    box = page.get_by_role("textbox", name="Type your guess")
    for letter in "TxH":
        box.press_sequentially(letter)
    expect(page.locator(".lab-tape")).to_have_text("th?")
    expect(page.locator(".lab-facts")).to_contain_text("you 1 of 2")


def test_a_whole_sentence_is_scored_as_the_package_does(page):
    page.get_by_role("combobox", name="Sentence").select_option("3")
    sentence = HELD_OUT["Jonah"]
    box = page.get_by_role("textbox", name="Type your guess")
    ranks = []
    for t, letter in enumerate(sentence):
        wrong = [one for one in "etaoin" if one != letter][: t % 4]
        ranks.append(len(wrong) + 1)
        for one in [*wrong, letter]:
            box.press_sequentially(one)
    lower, upper = entropy_bounds(torch.tensor(ranks), 27)
    model = game_model()
    log_p = model.log_probabilities(letter_ids(sentence))
    bits = -log_p.mean().item() / torch.tensor(2.0).log().item()
    facts = page.locator(".lab-facts")
    expect(facts).to_contain_text(f"at most {upper:.2f}, at least about {lower:.2f}")
    expect(facts).to_contain_text(f"{bits:.2f}")
    expect(page.locator(".lab-says")).to_contain_text("That was the last one")
    assert page.locator('[data-bar="you"]').count() == len(sentence)
    expect(page.locator('[data-show="model"]')).to_have_text(f"{bits:.2f} bits")
    press(page, "e")  # nothing is left to guess
    assert page.locator('[data-bar="you"]').count() == len(sentence)


def test_a_lower_bound_above_the_upper_one_is_not_shown(page):
    box = page.get_by_role("textbox", name="Type your guess")
    for letter in "xyzt" + "h":  # four guesses, then one
        box.press_sequentially(letter)
    lower, upper = entropy_bounds(torch.tensor([4, 1]), 27)
    assert lower > upper == 1
    facts = page.locator(".lab-facts")
    expect(facts).to_contain_text("at most 1.00; of so few letters a rough guess")


def test_shannons_reader_stands_beside_you(page):
    for _ in range(15):
        page.get_by_role("button", name="Show the letter").click()
    expect(page.locator(".lab-tape")).to_have_text("there is no rev?")
    expect(page.locator(".lab-facts")).to_contain_text("you 0 of 0 (15 shown)")
    q = rank_bits(torch.tensor(GUESSES), 27)[:15].mean().item()
    expect(page.locator('[data-show="then"]')).to_have_text(f"{q:.2f} bits")
    expect(page.locator('[data-show="you"]')).to_have_text("\N{EN DASH}")
    page.get_by_role("combobox", name="Sentence").select_option("1")
    expect(page.locator(".lab-tape")).to_have_text("?")
    page.get_by_role("button", name="Show the letter").click()
    assert page.locator('[data-show="then"]').count() == 0


# ---- a sentence of one's own ----


def test_a_sentence_of_ones_own_is_judged_in_the_models_letters(page):
    page.get_by_role("combobox", name="Sentence").select_option("own")
    expect(page.locator(".lab-says")).to_contain_text("Type a sentence")
    box = page.get_by_role("textbox", name="Your own sentence")
    box.fill("Caf\u00e9, 42 times")
    expect(page.get_by_text("A space stands for , 4 2")).to_be_visible()
    for _ in range(len("cafe times")):
        page.get_by_role("button", name="Show the letter").click()
    expect(page.locator(".lab-tape")).to_have_text("cafe times")
    log_p = game_model().log_probabilities(letter_ids("cafe times"))
    bits = -log_p.mean().item() / torch.tensor(2.0).log().item()
    expect(page.locator('[data-show="model"]')).to_have_text(f"{bits:.2f} bits")
    page.get_by_role("combobox", name="Sentence").select_option("1")
    expect(box).to_be_hidden()
