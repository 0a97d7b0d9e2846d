"""The ledger in Chromium: filters, addresses, keys, narrow pages, no script."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from axe import violations

pytestmark = [pytest.mark.browser, pytest.mark.built]

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"
LEDGER = (HTML / "book" / "claims.html").as_uri()
PAGES = ("claims", "errata", "decks")
PHONE, DESK = {"width": 390, "height": 800}, {"width": 1280, "height": 900}
ROW = ".ledger tbody tr"


@pytest.fixture
def visit(open_page):
    """Open an address in a theme and at a width; at the end it must have been quiet."""
    opened = []

    def go(address, *, viewport=DESK, theme="light", **options):
        blocked = open_page(viewport=viewport, **options)
        if options.get("java_script_enabled", True):
            blocked.page.add_init_script(
                f"localStorage.setItem('mode', '{theme}');"
                f"localStorage.setItem('theme', '{theme}');"
            )
        blocked.page.goto(address)
        opened.append(blocked)
        return blocked.page

    yield go
    for blocked in opened:
        blocked.assert_clean()


def shown(page):
    """Return what the visible rows know of themselves."""
    return page.eval_on_selector_all(
        ROW,
        "rows => rows.filter(r => r.checkVisibility())"
        ".map(r => ({...r.dataset, id: r.id, text: r.textContent}))",
    )


def hidden_by_style(page):
    """Return the rows that are marked hidden and can be seen all the same."""
    return page.eval_on_selector_all(
        f"{ROW}[hidden]",
        "rows => rows.filter(r => r.checkVisibility()).map(r => r.id)",
    )


def address_of(page):
    return page.evaluate("location.href")  # page.url may lag behind the script


def count(page):
    said = page.locator(".ledger-filters").get_by_role("status").text_content()
    n_shown, n_all = re.fullmatch(r"Shown (\d+) of (\d+)\.", said).groups()
    return int(n_shown), int(n_all)


def values(page, name):
    """Return the choices that a filter offers, but the first, which is none."""
    options = page.locator(f"select[name={name}] option")
    return [option.get_attribute("value") for option in options.all()][1:]


# ---- without a script ----


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_without_a_script_it_is_the_whole_table(visit, viewport):
    page = visit(LEDGER, viewport=viewport, java_script_enabled=False)
    expect(page.locator(".ledger-filters")).to_be_hidden()
    n_rows = page.locator(ROW).count()
    assert n_rows > 50
    for row in (page.locator(ROW).first, page.locator(ROW).last):
        expect(row).to_be_visible()


# ---- filters ----


@pytest.mark.parametrize("name", ["chapter", "deck", "verdict"])
def test_a_filter_shows_the_rows_that_fit_and_no_other(visit, name):
    page = visit(LEDGER)
    everything = shown(page)
    assert count(page) == (len(everything), len(everything))
    choices = values(page, name)
    assert len(choices) > 1
    for value in choices:
        page.get_by_label(name.capitalize(), exact=True).select_option(value)
        known = (
            (lambda row: row[name].split())
            if name == "deck"
            else (lambda row: [row[name]])
        )
        expected = [row["id"] for row in everything if value in known(row)]
        assert expected
        assert [row["id"] for row in shown(page)] == expected
        assert count(page) == (len(expected), len(everything))


def test_words_must_all_occur_in_any_case_and_order(visit):
    page = visit(LEDGER)
    everything = shown(page)
    page.get_by_label("Words").fill("TORCH.NN  states")
    expected = [
        row["id"]
        for row in everything
        if "torch.nn" in row["text"].lower() and "states" in row["text"].lower()
    ]
    assert 0 < len(expected) < len(everything)
    assert [row["id"] for row in shown(page)] == expected
    page.get_by_label("Words").fill("no such words anywhere")
    assert shown(page) == []
    assert count(page) == (0, len(everything))


def test_filters_combine_and_are_undone_together(visit):
    page = visit(LEDGER)
    everything = shown(page)
    page.get_by_label("Deck").select_option("002")
    page.get_by_label("Verdict").select_option("refuted")
    found = shown(page)
    assert 0 < len(found) < len(everything)
    for row in found:
        assert "002" in row["deck"].split()
        assert row["verdict"] == "refuted"
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("status")).to_have_text(
        f"Shown {len(everything)} of {len(everything)}."
    )
    assert shown(page) == everything
    assert "#" not in address_of(page)


def test_it_is_used_by_keys_alone_and_the_count_is_said_politely(visit):
    page = visit(LEDGER)
    page.get_by_label("Chapter").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Deck")).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.get_by_label("Deck").input_value()
    assert all(chosen in row["deck"].split() for row in shown(page))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Words")).to_be_focused()
    page.keyboard.type("state")
    page.keyboard.press("Enter")  # sends nothing anywhere
    assert address_of(page) == f"{LEDGER}#deck={chosen}&words=state"
    assert 0 < count(page)[0] < count(page)[1]
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Show all")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Words")).to_have_value("")
    status = page.locator(".ledger-filters [role=status]")  # polite by its role
    assert status.get_attribute("aria-live") in (None, "polite")


# ---- addresses ----


def test_a_view_is_kept_in_the_address_and_comes_back_from_it(visit):
    page = visit(LEDGER)
    page.get_by_label("Deck").select_option("003")
    page.get_by_label("Verdict").select_option("holds with conditions")
    page.get_by_label("Words").fill("the & of?")
    page.get_by_label("Words").fill("embedding")
    address, found = address_of(page), shown(page)
    assert address.startswith(f"{LEDGER}#deck=")
    assert found
    again = visit(address)
    assert shown(again) == found
    expect(again.get_by_label("Deck")).to_have_value("003")
    expect(again.get_by_label("Words")).to_have_value("embedding")
    expect(again.locator(".ledger-filters")).to_be_in_viewport()


def test_odd_characters_survive_the_way_through_the_address(visit):
    page = visit(LEDGER)
    page.get_by_label("Words").fill("a=b&c# 50%")
    again = visit(address_of(page))
    expect(again.get_by_label("Words")).to_have_value("a=b&c# 50%")


def test_an_address_with_no_such_choice_shows_everything(visit):
    page = visit(f"{LEDGER}#deck=009")
    assert count(page)[0] == count(page)[1]
    expect(page.get_by_label("Deck")).to_have_value("")


def test_a_new_address_on_the_open_page_is_followed(visit):
    page = visit(LEDGER)
    n_all = count(page)[1]
    page.evaluate("location.hash = '#deck=002'")
    expect(page.get_by_label("Deck")).to_have_value("002")
    assert count(page)[0] < n_all
    page.evaluate("location.hash = '#claims-ledger'")  # a heading: the view stays
    expect(page.get_by_label("Deck")).to_have_value("002")
    page.evaluate("location.hash = ''")
    expect(page.get_by_label("Deck")).to_have_value("")
    assert count(page) == (n_all, n_all)


def test_the_address_of_a_row_shows_it_whatever_is_filtered(visit):
    name = "ledger-star-is-not-a-matrix-product"
    page = visit(f"{LEDGER}#{name}")
    row = page.locator(f"#{name}")
    expect(row).to_be_in_viewport()
    page.get_by_label("Deck").select_option("004")
    expect(row).to_be_hidden()
    page.evaluate(f"location.hash = '#{name}'")
    expect(row).to_be_in_viewport()
    expect(page.get_by_label("Deck")).to_have_value("")
    assert address_of(page).endswith(f"#{name}")


def test_the_address_of_a_row_in_view_leaves_the_filter_alone(visit):
    name = "ledger-star-is-not-a-matrix-product"
    page = visit(f"{LEDGER}#deck=002")
    page.evaluate(f"location.hash = '#{name}'")
    expect(page.locator(f"#{name}")).to_be_in_viewport()
    expect(page.get_by_label("Deck")).to_have_value("002")


# ---- links ----


def test_from_a_line_to_the_map_to_the_chapter_and_back_to_the_ledger(visit):
    page = visit(LEDGER)
    row = page.locator("#ledger-star-is-not-a-matrix-product")
    row.get_by_role("link", name="002:253-256").click()
    page.wait_for_url("**/book/decks.html#deck-002-236-268")
    place = page.locator("#deck-002-236-268")
    expect(place).to_be_in_viewport()
    place.get_by_role("link").click()
    page.wait_for_url("**/chapters/04-recurrent-networks.html#ten-steps-no-error")
    expect(page.locator("#ten-steps-no-error h2")).to_be_in_viewport()
    page.locator("#claim-star-is-not-a-matrix-product .claim-link").click()
    page.wait_for_url("**/book/claims.html#ledger-star-is-not-a-matrix-product")
    row.get_by_role("link", name="erratum").click()
    page.wait_for_url("**/book/errata.html#erratum-002-253-256")
    box = page.locator("#erratum-002-253-256")
    expect(box).to_be_in_viewport()
    box.get_by_role("link", name="the numbers").click()
    page.wait_for_url("**/book/claims.html#ledger-star-is-not-a-matrix-product")
    expect(row).to_be_in_viewport()


# ---- layout ----

SHAPE = """row => {
  const style = node => getComputedStyle(node).display;
  const cells = [...row.children];
  const label = getComputedStyle(row.querySelector('td'), '::before').content;
  return {
    row: style(row),
    tops: new Set(cells.map(cell => cell.getBoundingClientRect().top)).size,
    label,
    overflow: row.closest('.ledger').scrollWidth - row.closest('.ledger').clientWidth,
  };
}"""


def test_on_a_phone_a_row_is_a_card_and_its_cells_say_what_they_are(visit):
    page = visit(LEDGER, viewport=PHONE)
    shape = page.locator("#ledger-star-is-not-a-matrix-product").evaluate(SHAPE)
    assert shape["row"] == "block"
    assert shape["tops"] == 5
    assert shape["label"].replace('" "', "") == '"Measured: "'
    assert shape["overflow"] <= 0
    table = page.get_by_role("table", name="Claims ledger")  # still one by its roles
    assert table.get_by_role("row").count() == page.locator(ROW).count() + 1
    assert table.get_by_role("rowheader").count() == page.locator(ROW).count()


def test_on_a_wide_page_it_is_a_table(visit):
    page = visit(LEDGER)
    shape = page.locator("#ledger-star-is-not-a-matrix-product").evaluate(SHAPE)
    assert shape["row"] == "table-row"
    assert shape["tops"] == 1
    assert shape["label"] == "none"


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_a_row_that_is_filtered_out_is_out_of_sight(visit, viewport):
    page = visit(f"{LEDGER}#verdict=rumour", viewport=viewport)
    assert {row["verdict"] for row in shown(page)} == {"rumour"}
    assert page.locator(f"{ROW}[hidden]").count() > 50
    assert hidden_by_style(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_no_table_scrolls_sideways(visit, name):
    page = visit((HTML / "book" / f"{name}.html").as_uri(), viewport=PHONE)
    wide = page.eval_on_selector_all(
        ".ledger, .erratum, .ledger-filters",
        "boxes => boxes.filter(b => b.scrollWidth > b.clientWidth + 1)"
        ".map(b => b.className + ' ' + b.id)",
    )
    assert wide == []


# ---- accessibility ----


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_axe_finds_nothing_among_the_rows_that_a_filter_shows(visit, viewport, theme):
    """What the pages look like without one is held in test_book_pages.py."""
    page = visit(f"{LEDGER}#deck=002&words=state", viewport=viewport, theme=theme)
    page.evaluate("() => window.MathJax?.startup?.promise")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert violations(page) == []
