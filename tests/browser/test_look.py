"""The look of the book in Chromium: its measure, its themes, keys, motion and phones.

That every page fits, is quiet and passes axe is held in test_book_pages.py; here is
what a reader does there, and how the page answers.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from axe import violations

pytestmark = [pytest.mark.browser, pytest.mark.built]

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"
FIRST, NOTATION = "book/index.html", "book/notation.html"
CHAPTER = "chapters/04-recurrent-networks.html"
WIDE, PHONE = 1300, 360
both_themes = pytest.mark.parametrize("theme", ["light", "dark"])


def open_at(
    browser: Browser, address: str, width: int = WIDE, theme: str = "", **options
) -> Page:
    """Open a page at a width, in a theme or in none, and wait for it."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    context.set_default_timeout(60_000)  # a busy machine is no fault of the page
    if theme:
        context.add_init_script(
            f"for (const key of ['mode', 'theme']) localStorage[key] ??= '{theme}'"
        )
    page = context.new_page()
    page.goto(address)
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    return page


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Callable[..., Page]]:
    """Open a page of the book for use."""
    pages = []

    def open_one(name: str, *view, **options) -> Page:
        pages.append(open_at(browser, server + name, *view, **options))
        return pages[-1]

    yield open_one
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def look_at(browser: Browser, server: str) -> Iterator[Callable[..., Page]]:
    """Show a page at a width to tests that only look: it is opened once for all."""
    pages = {}

    def turn(name: str, width: int = WIDE) -> Page:
        page = pages.get(name) or open_at(browser, server + name, width)
        pages[name] = page
        page.set_viewport_size({"width": width, "height": 800})
        for _ in range(2):  # the page's own script answers in the first frame
            page.evaluate("() => new Promise(requestAnimationFrame)")
        return page

    yield turn
    for page in pages.values():
        page.context.close()


# ---- type ----

CHARACTERS_A_LINE = """() => {
  const text = [...document.querySelectorAll('article section > p')].filter(
    p => p.textContent.length > 350 && !p.querySelector('mjx-container'));
  const lines = p => p.clientHeight / parseFloat(getComputedStyle(p).lineHeight);
  const sum = values => values.reduce((a, b) => a + b, 0);
  return sum(text.map(p => p.textContent.length)) / sum(text.map(lines));
}"""

COLUMNS = """n => [...document.querySelectorAll('article .cell_input pre')]
  .filter(pre => pre.checkVisibility()).slice(0, 3).map(pre => {
    const line = document.createElement('span');
    line.textContent = '\\n' + 'x'.repeat(n);
    pre.append(line);
    const fits = pre.scrollWidth <= pre.clientWidth;
    line.remove();
    return fits;
  })"""


def test_a_line_of_text_has_a_bookish_length(look_at):
    page = look_at(CHAPTER)
    assert 65 <= page.evaluate(CHARACTERS_A_LINE) <= 76


@pytest.mark.parametrize("width", [1024, 1199, 1200, 1240, 1280])
def test_code_of_88_columns_fits_a_desktop(look_at, width):
    page = look_at(CHAPTER, width)
    assert page.evaluate(COLUMNS, 88) == [True] * 3
    assert page.evaluate(COLUMNS, 120) == [False] * 3


# A mark after a symbol: how many there are, and those that begin a line.
MARKS = """() => {
  const marks = [...document.querySelectorAll('.bd-article span.math')].filter(symbol =>
    symbol.checkVisibility() && /^[.,;:?!)\\]]/.test(symbol.nextSibling?.data ?? ''));
  const alone = marks.filter(symbol => {
    const mark = document.createRange();
    mark.setStart(symbol.nextSibling, 0);
    mark.setEnd(symbol.nextSibling, 1);
    const end = symbol.getBoundingClientRect().right;
    return mark.getBoundingClientRect().left < end - 3;
  });
  return [marks.length, alone.map(symbol => symbol.parentNode.textContent)];
}"""


@pytest.mark.parametrize("width", [PHONE, 390, 700, WIDE])
@pytest.mark.parametrize("name", [CHAPTER, NOTATION])
def test_no_line_begins_with_the_mark_that_ends_a_formula(look_at, name, width):
    n_marks, alone = look_at(name, width).evaluate(MARKS)
    assert n_marks > 20
    assert alone == []


def test_a_milestone_has_no_stray_colon(look_at):
    page = look_at("book/timeline.html")
    before = "node => getComputedStyle(node, '::before').content"
    assert page.locator(".milestones .classifier").first.evaluate(before) == '"·"'


def test_a_work_has_no_label_that_the_text_never_uses(look_at):
    page = look_at("book/bibliography.html")
    assert page.locator(".citation").count() > 20
    expect(page.locator(".citation .label").first).to_be_hidden()


# ---- the reference ----


def test_the_reference_shows_nothing_that_only_python_could_say(look_at):
    names = ("reference-book", "reference-data", "reference-fetch")
    pages = (look_at(f"book/{name}.html").locator("article") for name in names)
    text = "".join(page.text_content() for page in pages)
    assert "Alias for field number" not in text
    assert "= {" not in text
    assert "<function" not in text
    assert "'holds with conditions', 'refuted'" in text  # a value that can be read


@pytest.mark.parametrize("width", [1200, WIDE])
def test_the_list_of_contents_stays_in_its_column(look_at, width):
    page = look_at("book/reference-data.html", width)
    side = page.locator(".bd-sidebar-secondary")
    assert side.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
    name = side.locator("code", has_text="unrolled.data.batch").first
    assert name.text_content() == "unrolled.data.batch"
    assert name.locator("wbr").count() == 2


# ---- the table of notations ----


def test_a_row_that_names_a_group_spans_the_table(look_at):
    page = look_at(NOTATION)
    groups = page.locator(".full-width tr.group")
    assert groups.count() == 5
    for group in groups.all():
        assert group.locator("td").count() == 1
        assert group.bounding_box()["height"] < 60  # one line


@pytest.mark.parametrize("width", [992, 1024, 1199, 1200, 1240, 1279, WIDE, 1600])
def test_the_widest_table_stays_in_the_window(look_at, width):
    page = look_at(NOTATION, width)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    table = page.locator(".full-width").bounding_box()
    assert table["x"] + table["width"] <= width
    if width >= 1200:
        inside = page.locator(".full-width .pst-scrollable-table-container")
        assert inside.evaluate("node => node.scrollWidth - node.clientWidth") <= 0


# ---- themes ----


@both_themes
def test_a_reader_who_chose_no_theme_gets_the_systems(visit, theme):
    page = visit(FIRST, color_scheme=theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme


def test_the_theme_is_there_before_the_page_is_drawn(visit):
    page = visit(FIRST, color_scheme="dark")
    page.route("**/scripts/pydata-sphinx-theme.js*", lambda route: route.abort())
    page.evaluate("localStorage.clear()")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_switch_changes_the_theme_and_the_next_page_knows(visit):
    page = visit(FIRST, color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    switch = page.get_by_role("button", name="Color mode")
    for _ in range(3):  # system, light and dark follow one another
        switch.click()
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    assert page.evaluate(paper) != light
    page.goto(page.url.replace(FIRST, CHAPTER))
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(paper) != light


# ---- keys ----

FOCUSED = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const style = getComputedStyle(node);
  const channels = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255);
  const light = colour => {
    const [r, g, b] = channels(colour).map(
      c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = at => {
    for (; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const [a, b] = [light(style.outlineColor), light(ground(node.parentElement))];
  return {
    what: node.outerHTML.slice(0, 90),
    lab: Boolean(node.closest('.unrolled-lab')),  // draws its own, see its tests
    ring: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
    seen: node.checkVisibility({visibilityProperty: true, opacityProperty: true}),
  };
}"""


def walk(page: Page) -> list[dict]:
    """Press Tab from the top to the end; return what had the focus on the way."""
    met = []
    for _ in range(400):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            return met
        met.append(focused)
    raise AssertionError("the focus never leaves the page")


@pytest.mark.parametrize(("name", "theme"), [(FIRST, "light"), (CHAPTER, "dark")])
def test_whatever_has_the_focus_is_seen_to_have_it(visit, name, theme):
    met = [stop for stop in walk(visit(name, theme=theme)) if not stop["lab"]]
    assert len(met) > 20
    faults = [
        stop
        for stop in met
        if stop["ring"] < 2 or stop["contrast"] < 3 or not stop["seen"]
    ]
    assert faults == []


def test_symbols_do_not_stop_the_tab_key(look_at):
    page = look_at(CHAPTER)
    assert page.locator("mjx-container").count() > 50
    assert page.locator("mjx-container[tabindex='0']").count() == 0


def test_the_first_tab_offers_to_skip_to_the_text(visit):
    page = visit(CHAPTER)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to main content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    inside = "document.activeElement.closest('main') !== null"
    assert page.evaluate(inside)


@pytest.mark.parametrize("side", ["primary", "secondary"])
def test_a_phones_sidebar_opens_and_closes_by_keys(visit, side):
    page = visit(NOTATION, PHONE)
    toggle = page.locator(f"button.{side}-toggle").first
    sidebar = page.locator(f"#pst-{side}-sidebar-modal")
    expect(sidebar).to_be_hidden()
    toggle.focus()
    page.keyboard.press("Enter")
    expect(sidebar.get_by_role("link").first).to_be_in_viewport()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")
    expect(sidebar).to_be_hidden()
    expect(toggle).to_be_focused()


def test_the_search_is_a_key_away_and_finds_pages(visit):
    page = visit(FIRST)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox").first).to_be_focused()
    page.keyboard.type("flip-flop")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=flip-flop*")
    found = page.locator("#search-results li a[href*='chapters/']").first
    expect(found).to_contain_text("A neuron with a memory")


def test_the_menus_of_the_header_open_by_keys_and_pass_axe(visit):
    page = visit(CHAPTER, PHONE, "dark")
    for menu in page.locator(".article-header-buttons .dropdown").all():
        menu.get_by_role("button").first.focus()
        page.keyboard.press("Enter")
        item = menu.locator(".dropdown-item").first
        expect(item).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(item).to_be_focused()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE
    assert violations(page, ".bd-header-article") == []


def test_folds_are_called_what_is_written_on_them(look_at):
    page = look_at(CHAPTER)
    fold = page.locator("details.hide > summary").first
    assert fold.get_attribute("aria-label") is None
    expect(fold).to_contain_text("Show code cell source")


def test_code_is_copied_as_it_stands(visit):
    page = visit(CHAPTER, permissions=["clipboard-read", "clipboard-write"])
    code = page.locator(".cell_input .highlight:visible").first
    code.locator("button.copybtn").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("navigator.clipboard.readText().then(text => text.length)")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == code.locator("pre").text_content().strip()


# ---- motion ----

MOVES = """() => [...document.querySelectorAll('*')].flatMap(node =>
  [null, '::before', '::after'].map(part => getComputedStyle(node, part)).flatMap(s =>
    [...s.transitionDuration.split(','), ...s.animationDuration.split(','),
     s.scrollBehavior === 'smooth' ? '1s' : '0s'])
  .map(time => parseFloat(time) * (time.includes('ms') ? 1 : 1000)))
  .filter(ms => ms > 1).length"""


def test_nothing_moves_for_those_who_want_it_still(visit):
    assert visit(FIRST, reduced_motion="reduce").evaluate(MOVES) == 0
    assert visit(FIRST, reduced_motion="no-preference").evaluate(MOVES) > 0


# ---- phones ----

SMALL = """() => [...document.querySelectorAll(
    'button, summary, nav a, .start a, .claim-link, .prev-next-area a, label, input')]
  .filter(node => !node.closest('.unrolled-lab')
    && node.checkVisibility({visibilityProperty: true, opacityProperty: true}))
  .map(node => node.labels?.length ? node.labels[0] : node)  // either can be pressed
  .map(node => [node.outerHTML.slice(0, 90), node.getBoundingClientRect()])
  .filter(([, box]) => box.width < 24 || box.height < 24).map(([what]) => what)"""

UNREACHABLE = """() => [...document.querySelectorAll('.bd-article *')].filter(node =>
    node.checkVisibility() && /auto|scroll/.test(getComputedStyle(node).overflowX)
    && node.scrollWidth > node.clientWidth + 1
    && !(node.tabIndex === 0 && node.getAttribute('aria-label')
      && ['group', 'region'].includes(node.getAttribute('role'))))
  .map(node => node.outerHTML.slice(0, 90))"""

STOPS = "document.querySelectorAll('.bd-article [data-scrolls=yes]').length"


@pytest.mark.parametrize("name", [FIRST, CHAPTER, NOTATION])
def test_what_is_pressed_is_large_enough_for_a_finger(look_at, name):
    assert look_at(name, PHONE).evaluate(SMALL) == []


@pytest.mark.parametrize("name", [CHAPTER, NOTATION, "book/reference-layers.html"])
def test_what_scrolls_inside_itself_can_be_reached_by_keys(visit, name):
    page = visit(name, PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_timeout(100)
    assert page.evaluate(UNREACHABLE) == []


def test_what_fits_after_all_is_no_stop_for_the_tab_key(visit):
    page = visit(CHAPTER, PHONE)
    assert page.evaluate(STOPS) > 3
    page.set_viewport_size({"width": WIDE, "height": 800})
    page.wait_for_function(f"{STOPS} === 0")
    assert page.locator(".bd-article pre[tabindex='0']").count() == 0


def test_the_search_opened_as_a_file_finds_pages_and_is_quiet(open_page):
    opened = open_page()
    opened.page.add_init_script("localStorage.setItem('mode', 'light')")
    opened.page.goto(f"{(HTML / 'search.html').as_uri()}?q=state")
    expect(opened.page.locator("#search-results li").first).to_be_visible()
    opened.page.wait_for_timeout(300)
    opened.assert_clean()


def test_the_search_on_a_server_shows_what_it_found(visit):
    page = visit("search.html?q=state")
    expect(page.locator("#search-results p.context").first).to_be_visible()


def test_the_ledger_says_when_nothing_matches_and_offers_a_way_back(visit):
    page = visit("book/claims.html", PHONE)
    nothing = page.locator(".ledger-nothing")
    expect(nothing).to_be_hidden()
    page.get_by_label("Words").fill("no such words anywhere")
    expect(nothing).to_contain_text("Nothing matches.")
    nothing.get_by_role("button", name="Show all").click()
    expect(nothing).to_be_hidden()
    expect(page.get_by_label("Words")).to_be_focused()
    expect(page.get_by_label("Words")).to_have_value("")


@pytest.mark.parametrize(
    "name", [FIRST, CHAPTER, "search.html?q=state", "genindex.html"]
)
def test_a_phone_shows_no_sideways_scroll(visit, name):
    page = visit(name, PHONE)
    page.wait_for_timeout(200)  # the search has answered
    wide = (
        "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
    )
    assert page.evaluate(wide) == 0
