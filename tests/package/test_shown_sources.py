"""Shown sources: of the package alone, as they are now, without their docstrings."""

import pytest
from bs4 import BeautifulSoup

from unrolled.book.drawing import DRAWN, draw
from unrolled.book.records import SHOW
from unrolled.book.sources import show, source_of, without_docstrings
from unrolled.layers.recurrent import RNNCell
from unrolled.runtime import seed_all

CODE = '''@decorated
class A:
    """Words.

    More words.
    """

    x = 1

    def f(self):
        """Words."""
        return "not a docstring"

    def only_words(self):
        """Words."""

    def g(self):
        "Words."
        @inner
        def h():
            return 1
'''
PLAIN = '''@decorated
class A:
    x = 1

    def f(self):
        return "not a docstring"

    def only_words(self):
        """Words."""

    def g(self):
        @inner
        def h():
            return 1'''


def test_docstrings_go_and_code_stays():
    assert without_docstrings(CODE) == PLAIN


def test_a_source_is_stored_by_name_and_drawn_as_it_is(monkeypatch):
    monkeypatch.setenv("UNROLLED_BOOK", "1")
    stored = show(RNNCell.forward)._repr_mimebundle_()
    record = {"name": "unrolled.layers.recurrent:RNNCell.forward"}
    assert stored == {
        SHOW: record,
        "text/plain": "The source of unrolled.layers.recurrent:RNNCell.forward",
    }
    drawn = BeautifulSoup(draw(SHOW, record), "html.parser")
    assert drawn.pre.text.strip() == source_of(record["name"]).strip()
    assert '"""' not in drawn.pre.text
    assert drawn.select_one(".shown-name").text == (
        "unrolled.layers.recurrent.RNNCell.forward"
    )


@pytest.mark.parametrize("thing", [len, 3, BeautifulSoup, "RNNCell"])
def test_what_the_package_does_not_test_is_not_shown(thing):
    with pytest.raises(ValueError, match="is no class or function of unrolled"):
        show(thing)


def test_functions_are_shown_too():
    assert source_of(show(seed_all).name).startswith("def seed_all(seed: int)")


def test_an_unknown_record_is_named():
    with pytest.raises(ValueError, match="no way to draw 'text/html'; known are appl"):
        draw("text/html", {})
    assert len(DRAWN) == 4
