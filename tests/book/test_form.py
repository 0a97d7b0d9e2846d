"""The form of a page: show the model, fold the audit, and stop in time.

The limits stand in ``book/_ext/unrolled_book/form.py``.
"""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from page_forms import OLD_FORM, has_the_form
from unrolled.chapters.pages import MINUTES, Page, all_pages
from unrolled_book.form import LIMITS, Form, measure

ROOT = Path(__file__).resolve().parents[2]
PAGES = all_pages(ROOT)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def html_of(page: Page) -> str:
    path = ROOT / "_build" / "html" / f"{page.docname}.html"
    return path.read_text(encoding="utf-8")


def verdict(faults: list[str], *, old: bool) -> list[str]:
    """Return what to say of a page: its faults, or that it has none and is listed."""
    if not old:
        return faults
    return [] if faults else ["keeps the form: take it off OLD_FORM"]


@pytest.mark.built
@every_page
def test_a_page_keeps_the_form(page):
    faults = measure(html_of(page)).faults(page.kind)
    assert verdict(faults, old=not has_the_form(page)) == []


@pytest.mark.built
@every_page
def test_the_byline_has_the_minutes_of_the_form(page):
    html = html_of(page)
    line = BeautifulSoup(html, "html.parser").select_one("h1 + .byline").text
    assert int(re.search(r"About (\d+) minutes", line)[1]) == measure(html).minutes


def test_the_old_form_only_shrinks():
    assert OLD_FORM <= {page.stem for page in PAGES}
    assert len(OLD_FORM) <= 6


# ---- the meter ----

BOX = '<div class="cell_input"><pre>%s</pre></div>'
FOLDED = f'<details class="hide"><summary>Show</summary>{BOX}</details>'
CARD = '<div class="claim"><p>We assert this.</p><dl>%s</dl></div>'
CARDS = (CARD % "<dd>1</dd><dd>2</dd><dd>3</dd>") * 6


def article(*parts: str) -> str:
    body = "".join(parts)
    return f"<p>Not the page's.</p><article class='bd-article'>{body}</article>"


def test_prose_and_code_in_sight_make_the_minutes():
    form = measure(article(f"<p>{'word ' * 700}</p>", BOX % ("x = 1\n" * 24)))
    assert (form.prose, form.code, form.longest, form.minutes) == (700, 24, 24, 6)


@pytest.mark.parametrize(
    "part",
    [
        FOLDED % ("x = 1\n" * 99),
        CARD % "",
        "<details><p>Going deeper.</p></details>",
        "<figure><p>A caption.</p></figure>",
        "<table><tr><td><p>A cell.</p></td></tr></table>",
        '<div class="quiz"><p>Why?</p></div>',
        '<div class="exercise"><p>Do it.</p></div>',
        '<div class="cell"><div class="cell_output"><p>Printed.</p></div></div>',
    ],
)
def test_what_is_folded_shown_or_asked_takes_no_minutes(part):
    form = measure(article("<p>One <b>two</b> three.</p>", part))
    assert (form.prose, form.code) == (3, 0)


def test_an_item_with_a_paragraph_is_counted_once():
    assert measure(article("<ul><li><p>One two</p></li><li>three</li></ul>")).prose == 3


def test_folded_code_is_counted_apart():
    assert measure(article(FOLDED % "a\nb\nc")).folded == 3


def test_claims_in_sight_are_audit():
    cell = 'x = 1\nfound = claim(\n    "a",\n    f(x),\n)\ny = 2\nclaim("b", "B.")'
    assert measure(article(BOX % cell)).audit == 5


def test_numbers_slides_and_odd_words_are_found():
    text = "<p>In 12 of 1,000 runs, 98 % on deck 002 (002:163), and whence?</p>"
    form = measure(article(text))
    assert (form.numbers, form.slides, form.odd) == (6, 2, 1)
    assert form.odd_words == ("whence → (plain word)",)


def test_a_card_with_many_numbers_is_found():
    form = measure(article(CARDS, CARD % ("<dd>1</dd>" * 4)))
    assert (form.claims, form.on_card) == (7, 4)
    assert form.faults("main") == ["on_card: 4, should be at most 3"]


# ---- the limits ----

GOOD = {
    "prose": 4000, "code": 250, "longest": 25, "audit": 0, "folded": 999, "claims": 6,
    "on_card": 3, "numbers": 80, "slides": 0, "odd_words": (),
}  # fmt: skip


def test_the_limits_are_those_of_the_books_form():
    assert MINUTES == {"main": 45, "core": 25, "study": 15}
    assert Form(**GOOD).minutes == 41
    assert Form(**GOOD).faults("main") == []
    for kind, minutes in MINUTES.items():
        assert LIMITS[kind]["minutes"] == minutes


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        ("main", {"prose": 4001}, "prose: 4001, should be at most 4000"),
        ("main", {"code": 251}, "code: 251, should be at most 250"),
        ("main", {"longest": 26}, "longest: 26, should be at most 25"),
        ("main", {"audit": 1}, "audit: 1, should be at most 0"),
        ("main", {"claims": 5}, "claims: 5, should be 6 to 10"),
        ("main", {"claims": 11}, "claims: 11, should be 6 to 10"),
        ("main", {"on_card": 4}, "on_card: 4, should be at most 3"),
        ("main", {"numbers": 81}, "numbers: 81, should be at most 80"),
        ("main", {"slides": 1}, "slides: 1, should be at most 0"),
        ("core", {"prose": 5100, "code": 0}, "minutes: 26, should be at most 25"),
        ("study", {"prose": 3100, "code": 0}, "minutes: 16, should be at most 15"),
        (
            "study",
            {"prose": 9, "code": 0, "slides": 2},
            "slides: 2, should be at most 0",
        ),
        (
            "core",
            {"prose": 9, "code": 0, "longest": 26},
            "longest: 26, should be at most",
        ),
    ],
)
def test_too_much_of_something_is_named(kind, change, fault):
    (found,) = Form(**GOOD | change).faults(kind)
    assert found.startswith(fault)


def test_an_odd_word_is_named_with_what_to_say():
    found = Form(**GOOD | {"odd_words": ("at birth → at initialisation",)})
    assert found.faults("study")[-1] == "say it otherwise: at birth → at initialisation"


def test_a_study_may_be_short_and_full_of_numbers():
    form = Form(**GOOD | {"prose": 2000, "code": 50, "claims": 1, "numbers": 300})
    assert form.faults("study") == []


def test_an_old_page_that_keeps_the_form_must_leave_the_list():
    assert verdict([], old=True) == ["keeps the form: take it off OLD_FORM"]
    assert verdict(["a"], old=True) == verdict([], old=False) == []
    assert verdict(["a"], old=False) == ["a"]
