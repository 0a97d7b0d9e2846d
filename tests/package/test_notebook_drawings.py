"""Drawings for notebooks: nothing in them needs a style sheet, a script or trust."""

import base64
import re
from html import escape

import pytest
from bs4 import BeautifulSoup

from colours import contrast
from unrolled.book.claims import claim
from unrolled.book.drawing import DRAWN, IN_NOTEBOOKS, draw, draw_figure
from unrolled.book.quizzes import question, quiz
from unrolled.book.records import CLAIM, QUIZ, SHOW
from unrolled.book.sources import source_of
from unrolled.figures.diagrams import draw_unrolled
from unrolled.figures.style import BOTH, LIGHT
from unrolled.widgets import MIME as LAB

SHARP = "is `a < b` & <b>bold</b>?"
ASKED = question(SHARP, right="four", because="We count.", wrong={"3": "No.", "5": "!"})
NUMBERS = {"first": 1216.0, "second": 0.5, "third": 3.0, "fourth": 4.0}
RECORDS = {
    CLAIM: claim("a-b", SHARP, measured=NUMBERS, holds=lambda m: True).record(),
    QUIZ: quiz("q", ASKED)._repr_mimebundle_()[QUIZ],
    LAB: {"name": "unroll-it"},
    SHOW: {"name": "unrolled.layers.recurrent:RNNCell"},
}
PAPERS = ("#ffffff", "#111111")  # of JupyterLab's two themes
LEDGER, PAGE = "https://a.example/claims.html", "https://a.example/04.html"


def drawn(mime):
    html = draw(mime, RECORDS[mime], ledger=LEDGER, page=PAGE, notebook=True)
    return html, BeautifulSoup(html, "html.parser")


@pytest.mark.parametrize("mime", RECORDS)
def test_a_drawing_carries_its_style_and_nothing_that_is_taken_out(mime):
    html, soup = drawn(mime)
    assert IN_NOTEBOOKS.keys() == DRAWN.keys()
    assert soup.find_all(["style", "script", "input", "svg"]) == []
    assert soup.find_all(id=True) == [], "a notebook may hold it twice"
    assert soup.find(style=True) is not None
    for colour in re.findall(r"#[0-9a-f]{6}\b", html):
        assert min(contrast(colour, paper) for paper in PAPERS) >= 3


def test_a_card_separates_its_numbers_and_links_to_the_ledger():
    _, soup = drawn(CLAIM)
    sentence, numbers = soup("p")
    assert sentence.text == f"✓ {SHARP} in the ledger"
    assert numbers.text.split() == "first: 1,216 · second: 0.5 · third: 3".split()
    assert soup.a["href"] == f"{LEDGER}#ledger-a-b"


def test_an_answer_is_folded_until_it_is_chosen():
    _, soup = drawn(QUIZ)
    folds = {fold.summary.text: fold for fold in soup("details")}
    assert folds.keys() == {"four", "3", "5"}
    assert not any(fold.has_attr("open") for fold in folds.values())
    assert folds["four"].p.text == "Right. We count."
    assert folds["3"].p.text == "Not quite. No."
    assert all(f.summary["data-lm-suppress-shortcuts"] for f in folds.values())
    assert soup.code.text == "a < b"
    assert soup.b is None


def test_a_lab_says_where_it_can_be_used():
    _, soup = drawn(LAB)
    assert soup.a["href"] == f"{PAGE}#?unroll-it"
    assert "run this cell to use it here, or use it in the book." in soup.text
    alone = BeautifulSoup(draw(LAB, RECORDS[LAB], notebook=True), "html.parser")
    assert alone.a is None
    assert alone.text.endswith("run this cell to use it here.")


def test_a_source_is_whole_and_in_colours():
    _, soup = drawn(SHOW)
    assert soup.pre.text.strip() == source_of(RECORDS[SHOW]["name"]).strip()
    assert soup.pre.find("span", style=True) is not None


@pytest.mark.parametrize("notebook", [True, False])
def test_what_cannot_be_drawn_is_named(notebook):
    with pytest.raises(ValueError, match="no way to draw 'text/x'; known are appl"):
        draw("text/x", {}, notebook=notebook)


def image_in(html):
    source = BeautifulSoup(html, "html.parser").img["src"]
    kind, data = source.split(",")
    assert kind == "data:image/svg+xml;base64"
    return base64.b64decode(data).decode()


def test_a_figure_has_its_words_and_no_paper():
    svg = draw_unrolled(n_steps=2).light
    html = draw_figure(svg, alt='"One" & two', caption="See `x < 1`, *any* `*` b.")
    soup = BeautifulSoup(html, "html.parser")
    assert soup.img["alt"] == '"One" & two'
    assert soup.figcaption.text == "See x < 1, any * b."
    assert [em.text for em in soup("em")] == ["any"]
    assert soup.figcaption.code.text == "x < 1"
    image = image_in(html)
    assert set(re.findall(r"#[0-9a-f]{6,8}\b", image)) <= set(BOTH.colours())
    assert LIGHT.paper in svg
    assert "fill: none" in image
    assert len(image) < 0.9 * len(svg)
    assert image.count("<path") == svg.count("<path")
    assert re.findall("scale.*?[)]", image) == re.findall("scale.*?[)]", svg)


def test_words_on_a_fill_stay_white():
    white = f'style="fill: {LIGHT.paper}"'
    svg = f"<svg><g {white}/><path {white}/></svg>"
    assert image_in(draw_figure(svg, alt="x")) == (
        '<svg><g style="fill: white"/><path style="fill: none"/></svg>'
    )


def test_a_figure_without_words_is_refused():
    with pytest.raises(ValueError, match="alt is empty: say in words what"):
        draw_figure("<svg/>", alt=" ")


@pytest.mark.parametrize("colour", [BOTH.ink, BOTH.muted, *BOTH.series])
def test_the_colours_for_both_themes_are_read_on_either(colour):
    # 4.35 is the most that one grey can have on both; where a notebook is trusted, a
    # style moves it away from the page's colour.
    least = 4.0 if colour in (BOTH.ink, BOTH.muted) else 3.0
    assert min(contrast(colour, paper) for paper in PAPERS) >= least


def test_a_figure_outside_a_notebook_and_in_the_book(monkeypatch):
    figure = draw_unrolled(n_steps=2)
    monkeypatch.delenv("UNROLLED_BOOK", raising=False)
    live = figure._repr_mimebundle_()
    assert live.keys() == {"image/svg+xml", "text/html", "text/plain"}
    assert escape(live["text/plain"]) in live["text/html"]
    monkeypatch.setenv("UNROLLED_BOOK", "1")
    assert figure._repr_mimebundle_() == {
        "image/svg+xml": figure.light,
        "text/plain": "A figure, drawn in the page.",
    }
