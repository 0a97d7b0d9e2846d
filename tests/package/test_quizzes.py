"""Quizzes: every wrong answer explained, the right one checked, the page accessible."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from unrolled.book.drawing import draw
from unrolled.book.quizzes import question, quiz
from unrolled.book.records import QUIZ

WRONG = {"three": "One too few.", "five": "One too many.", "six": "Two too many."}


@pytest.fixture(autouse=True)
def in_a_notebook(monkeypatch):
    """See what a reader's notebook shows, also where the book is made."""
    monkeypatch.delenv("UNROLLED_BOOK", raising=False)


def ask(prompt="How much is two and two?", **changes):
    settings = {"right": "four", "because": "We count.", "wrong": WRONG, "holds": True}
    return question(prompt, **(settings | changes))


def page(*questions, name="sums"):
    html = draw(QUIZ, quiz(name, *questions)._repr_mimebundle_()[QUIZ])
    return BeautifulSoup(html, "html.parser")


def test_a_right_answer_that_code_refutes_stops_the_run():
    with pytest.raises(
        AssertionError, match=r"answer 'four' to 'How much.*is not right"
    ):
        ask(holds=False)


def test_an_answer_that_code_cannot_check_is_taken():
    assert ask(holds=None).prompt == "How much is two and two?"


@pytest.mark.parametrize("why", ["", "  \n"])
def test_a_wrong_answer_without_an_explanation_is_named(why):
    with pytest.raises(ValueError, match=r"How much.*: 'five' has no explanation"):
        ask(wrong=WRONG | {"five": why})


@pytest.mark.parametrize("wrong", [{}, {"three": "No."}, WRONG | {"four": "No."}])
def test_there_are_two_wrong_answers_and_the_right_one_is_not_among_them(wrong):
    with pytest.raises(ValueError, match="needs two or more wrong answers beside the"):
        ask(wrong=wrong)


def test_a_quiz_has_questions():
    with pytest.raises(ValueError, match="quiz 'sums' has no questions"):
        quiz("sums")


def test_exactly_one_option_is_marked_right_and_all_are_explained():
    options = page(ask()).find_all(class_="quiz-option")
    marks = {o.label.text: o["data-right"] for o in options}
    assert marks == {"four": "true", "three": "false", "five": "false", "six": "false"}
    reasons = {o.label.text: o.find(class_="quiz-why").text for o in options}
    assert reasons["four"] == "Right. We count."
    assert reasons["five"] == "Not quite. One too many."


def test_every_id_is_used_once_even_across_quizzes():
    prompts = [ask("One?"), ask("Two?")]
    soups = [page(*prompts, name="sums"), page(*prompts, name="more")]
    ids = [tag["id"] for soup in soups for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids)) == 2 * (1 + 2 * 4)


def test_every_input_has_its_label_and_every_question_its_group():
    soup = page(ask("One?"), ask("Two?"))
    for box in soup.find_all("input"):
        assert box["type"] == "radio"
        assert len(soup.find_all("label", attrs={"for": box["id"]})) == 1
    groups = [{i["name"] for i in f.find_all("input")} for f in soup("fieldset")]
    assert [len(names) for names in groups] == [1, 1]
    assert groups[0] != groups[1]
    assert [f.legend.text for f in soup("fieldset")] == ["One?", "Two?"]


def test_words_are_escaped_and_backticks_set_as_code():
    sharp = "is `a < b` & <b>bold</b>?"
    soup = page(
        ask(sharp, right=sharp, because=sharp, wrong={sharp + "!": "x", "y": "z"})
    )
    assert soup.b is None
    assert soup.legend.text == "is a < b & <b>bold</b>?"
    assert soup.legend.code.text == "a < b"
    right = soup.find(attrs={"data-right": "true"})
    assert right.label.code.text == right.p.code.text == "a < b"


def test_the_order_is_the_same_in_another_process():
    program = (
        "from unrolled.book.quizzes import question; "
        f"print([o[0] for o in question('How much is two and two?', right='four', "
        f"because='We count.', wrong={WRONG!r}).options])"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str([text for text, _, _ in ask().options])


def test_the_right_answer_is_not_always_in_the_same_place():
    places = [
        [right for _, _, right in ask(f"Question {n}?").options].index(True)
        for n in range(100)
    ]
    assert all(places.count(place) > 10 for place in range(4))


def test_a_terminal_gets_the_prompts():
    text = quiz("sums", ask("One?"), ask("Two?"))._repr_mimebundle_()["text/plain"]
    assert text == "1. One?\n2. Two?"


@pytest.mark.parametrize("false", [False, 0, [], np.False_, torch.tensor(False)])
def test_whatever_is_false_is_not_right(false):
    with pytest.raises(AssertionError, match="is not right"):
        question("?", right="a", because="b", wrong={"c": "d", "e": "f"}, holds=false)


def test_the_book_stores_the_questions_and_no_drawing(monkeypatch):
    monkeypatch.setenv("UNROLLED_BOOK", "1")
    stored = quiz("sums", ask())._repr_mimebundle_()
    assert stored.keys() == {QUIZ, "text/plain"}
    assert stored["text/plain"] == "1. How much is two and two?"


def test_a_named_question_is_checked_by_the_chapter():
    named = ask(name="sum", holds=None)
    assert quiz("sums", named, holds={"sum": 2 + 2 == 4}).questions == (named,)
    with pytest.raises(AssertionError, match=r"answer 'four' to .*is not right"):
        quiz("sums", named, holds={"sum": 2 + 2 == 5})
    with pytest.raises(ValueError, match="quiz 'sums' has no question 'product': sum"):
        quiz("sums", named, holds={"product": True})
