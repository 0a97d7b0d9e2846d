"""Claims: asserted when made, recorded whole, shown safely."""

import json
import re

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from unrolled.book.claims import HEADLINE, VERDICTS, claim, pretty, with_interval
from unrolled.book.drawing import draw
from unrolled.book.records import CLAIM
from unrolled.evaluation.intervals import t_interval

SENTENCE = "Two and two make four."


@pytest.fixture(autouse=True)
def in_a_notebook(monkeypatch):
    """See what a reader's notebook shows, also where the book is made."""
    monkeypatch.delenv("UNROLLED_BOOK", raising=False)


def make(**changes):
    settings = {
        "id": "two-and-two",
        "sentence": SENTENCE,
        "measured": {"sum": 4},
        "holds": lambda m: m["sum"] == 4,
    }
    settings |= changes
    return claim(settings.pop("id"), settings.pop("sentence"), **settings)


def bundle(**changes):
    return make(**changes)._repr_mimebundle_()


def card_of(stored):
    """Return the claim as the page draws it."""
    return draw(CLAIM, stored[CLAIM])


def test_a_claim_that_holds_keeps_all_it_was_given():
    made = make(source="001:117", verdict="refuted")
    assert made.id == "two-and-two"
    assert made.sentence == SENTENCE
    assert made.measured == {"sum": 4.0}
    assert (made.source, made.verdict) == ("001:117", "refuted")


@pytest.mark.parametrize("verdict", [False, 0, None, np.False_, torch.tensor(False)])
def test_a_claim_that_does_not_hold_stops_the_run_and_shows_its_numbers(verdict):
    message = r"claim 'two-and-two' does not hold: Two and two .*\{'sum': 4\.0\}"
    with pytest.raises(AssertionError, match=message):
        make(holds=lambda m: verdict)


def test_holds_is_asked_about_the_numbers_that_are_recorded():
    asked = []
    made = make(
        measured={"half": torch.tensor(0.5), "n": np.int64(3)},
        holds=lambda m: asked.append(dict(m)) is None,
    )
    assert asked == [{"half": 0.5, "n": 3.0}]
    assert made.measured == asked[0]
    assert all(type(value) is float for value in made.measured.values())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -torch.inf])
def test_a_number_that_is_not_finite_fails_even_if_holds_is_content(value):
    with pytest.raises(AssertionError, match=r"two-and-two.*: off is not a finite num"):
        make(measured={"sum": 4, "off": value}, holds=lambda m: True)


@pytest.mark.parametrize(
    "name",
    ["", "Two", "two and", "two_and", "-two", "two-", "two--and", "zwei-é", "a\n"],
)
def test_an_id_is_lower_case_words_joined_by_hyphens(name):
    with pytest.raises(ValueError, match=f"claim id {re.escape(repr(name))} must be"):
        make(id=name)


@pytest.mark.parametrize("source", ["005:1", "1:117", "001", "001:", "001:a", "001:1-"])
def test_a_source_is_a_line_of_one_of_the_five_decks(source):
    with pytest.raises(ValueError, match=rf"source='{source}' of claim 'two-and-two'"):
        make(source=source, verdict="holds")


@pytest.mark.parametrize("source", ["000:1", "004:1234", "002:142-151"])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_on_every_deck_is_taken(source, verdict):
    assert make(source=source, verdict=verdict).verdict == verdict


def test_an_unknown_verdict_is_told_which_there_are():
    with pytest.raises(ValueError, match=r"verdict='maybe' of.*'two-and-two'.*refuted"):
        make(source="000:1", verdict="maybe")


@pytest.mark.parametrize("half", [{"source": "000:1"}, {"verdict": "holds"}])
def test_source_and_verdict_come_together(half):
    with pytest.raises(ValueError, match="'two-and-two' needs both a source and a ver"):
        make(**half)


def test_a_claim_measures_something():
    with pytest.raises(ValueError, match="'two-and-two' has measured nothing"):
        make(measured={})


def test_tensors_with_gradients_are_measured_without_a_warning():
    # Warnings are errors here: float(tensor that requires grad) would warn.
    weight = torch.ones(1, requires_grad=True)
    assert make(measured={"sum": 4 * weight.sum()}).measured == {"sum": 4.0}


def test_the_record_survives_json_unchanged():
    record = bundle(source="003:26", verdict="rumour")[CLAIM]
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record == {
        "id": "two-and-two",
        "sentence": SENTENCE,
        "measured": {"sum": 4.0},
        "order": ["sum"],
        "kinds": {},
        "headline": ["sum"],
        "source": "003:26",
        "verdict": "rumour",
    }


def test_the_card_is_a_line_with_its_number_and_without_the_slide():
    html = card_of(bundle(source="003:26", verdict="rumour"))
    card = BeautifulSoup(html, "html.parser").find(id="claim-two-and-two")
    assert card["role"] == "group"
    assert card["aria-label"] == "Claim: two-and-two"
    assert (card.dt.text, card.dd.text) == ("sum", "4")
    assert card.p.text == f"✓ {SENTENCE}"
    assert "003" not in html


def test_the_book_stores_the_record_and_words_alone(monkeypatch):
    monkeypatch.setenv("UNROLLED_BOOK", "1")
    assert bundle().keys() == {CLAIM, "text/plain"}


def test_words_and_names_are_escaped_in_the_card():
    sharp = "<b>a & b</b>"
    html = bundle(sentence=sharp, measured={sharp: 1}, holds=lambda m: True)
    soup = BeautifulSoup(card_of(html), "html.parser")
    assert soup.b is None
    assert [tag.text for tag in soup.find_all(["dt", "p"])] == [f"✓ {sharp}", sharp]


def test_a_terminal_gets_words():
    text = bundle()["text/plain"]
    assert text == "Claim two-and-two: Two and two make four. Measured: sum 4."


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (0, "", "0"),
        (-0.0, "", "0"),
        (1216, "", "1,216"),
        (1216.0, "", "1,216"),
        (-1216, "", "−1,216"),
        (1e6, "", "1,000,000"),
        (0.9575, "", "0.958"),
        (0.95751, "", "0.958"),
        (-0.25, "", "−0.25"),
        (2.4e-7, "", "2.4 × 10⁻⁷"),
        (-2.4e-7, "", "−2.4 × 10⁻⁷"),
        (1e12, "", "1 × 10¹²"),
        (1234.5, "", "1,230"),
        (0.98, ".0%", "98%"),
        (0.0903, ".1%", "9.0%"),
        (1.2e-7, ".0e", "1 × 10⁻⁷"),
        (0.123, ".2f", "0.12"),
        (-0.123, ".2f", "−0.12"),
        (-0.001, ".2f", "0.00"),
        (3.0, ".2f", "3.00"),
        (12345.6, ",.0f", "12,346"),
    ],
)
def test_numbers_are_written_as_the_book_writes_them(value, spec, text):
    assert pretty(value, spec) == text


@pytest.mark.parametrize(
    "holds", [lambda m: (m["x"] < 1, m["x"] < 2), lambda m: (v < 1 for v in m.values())]
)
def test_what_is_always_true_is_no_condition(holds):
    with pytest.raises(TypeError, match=r"must be true or false, got a (tuple|gener)"):
        claim("a", "A.", measured={"x": 9.0}, holds=holds)


def numbers(n):
    return {f"number {i}": float(i) for i in range(n)}


@pytest.mark.parametrize("n", [1, 3, 4, 30])
def test_a_card_shows_the_first_three_numbers_unless_told(n):
    html = card_of(bundle(measured=numbers(n), holds=lambda m: True))
    shown = [row.text for row in BeautifulSoup(html, "html.parser")("dt")]
    assert shown == list(numbers(n))[:HEADLINE]


def test_a_card_shows_the_numbers_that_are_chosen():
    chosen = ("number 7", "number 2")
    html = bundle(measured=numbers(9), holds=lambda m: True, headline=chosen)
    shown = BeautifulSoup(card_of(html), "html.parser")("dt")
    assert [row.text for row in shown] == list(chosen)
    assert html[CLAIM]["headline"] == list(chosen)


@pytest.mark.parametrize(
    ("headline", "message"),
    [
        (("a",), "has measured no 'a': see headline"),
        (("number 0", "number 1", "number 2", "number 3"), "has 4 numbers in its head"),
    ],
)
def test_a_headline_that_cannot_be_is_named(headline, message):
    with pytest.raises(ValueError, match=message):
        make(measured=numbers(9), holds=lambda m: True, headline=headline)


def test_numbers_have_a_kind_and_the_record_those_that_are_not_close():
    made = make(measured=numbers(3), holds=lambda m: True, kinds={"number 1": "time"})
    assert made.kinds == {"number 0": "close", "number 1": "time", "number 2": "close"}
    assert made.record()["kinds"] == {"number 1": "time"}
    assert make(kinds=0.02).record()["kinds"] == {"sum": 0.02}
    assert make(kinds="bound").record()["kinds"] == {"sum": "bound"}


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("near", "kind 'near' of 'sum' in claim 'two-and-two' must be one of exact"),
        (0.0, "or a positive number"),
        (float("nan"), "or a positive number"),
        ({"total": "time"}, "has measured no 'total': see kinds"),
    ],
)
def test_a_kind_that_cannot_be_is_named(kinds, message):
    with pytest.raises(ValueError, match=message):
        make(kinds=kinds)


def test_an_interval_becomes_three_numbers():
    values = [1.0, 2.0, 4.0]
    found = t_interval(torch.tensor(values))
    expected = {
        "gain": found.estimate,
        "gain, low": found.low,
        "gain, high": found.high,
    }
    assert with_interval("gain", found) == expected
    assert with_interval("gain", values) == expected
    assert with_interval("gain", torch.tensor(values)) == expected
