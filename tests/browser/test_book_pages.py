"""The built book in Chromium: complete, quiet, drawn, narrow enough, accessible.

Each page is opened twice: over http on a dark phone, where it is then turned to every
other width and theme, and as a file on a light desktop. What is seen there is kept, and
the tests read it. So a failure names the page and one thing that is wrong with it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from axe import mark_letters, thin_out, violations
from unrolled.chapters.pages import main_pages

pytestmark = [pytest.mark.browser, pytest.mark.built]

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"
WIDTHS, THEMES = (360, 1280), ("light", "dark")
LOCAL = ("file:", "data:", "blob:", "http://127.0.0.1:")


def is_page(path: Path) -> bool:
    """Leave out the theme's own macros and the page that only leads to the first."""
    redirect = path == HTML / "index.html"
    return "_static" not in path.parts and not redirect


PAGES = [
    path.relative_to(HTML).as_posix()
    for path in sorted(HTML.rglob("*.html"))
    if is_page(path)
] or ["book/index.html"]  # not built: the tests then fail, rather than find nothing
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
MAIN = [f"chapters/{page.stem}.html" for page in main_pages(HTML.parents[1])]
VIEWS = [(width, theme) for width in WIDTHS for theme in THEMES]
PAGE_VIEWS = [(page, *view) for page in PAGES for view in VIEWS]


# ---- one visit ----


@dataclass
class View:
    """What was seen of a page at one width in one theme."""

    seen: dict
    unfolded: dict = field(default_factory=dict)
    axe: list[str] = field(default_factory=list)


@dataclass
class Visit:
    """What was asked for, said and seen while a page was open."""

    outside: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    views: dict[tuple[int, str], View] = field(default_factory=dict)


LOOK = """() => {
  const shown = node => node.checkVisibility() && node.getClientRects().length > 0;
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const page = document.scrollingElement;
  const edge = page.clientWidth;
  const scrolls = node => {
    for (let at = node.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== 'visible') return true;
    return false;
  };
  return {
    theme: document.documentElement.dataset.theme,
    headings: all('h1').filter(shown).map(node => node.textContent),
    math: all('.math').length,
    drawn: all('mjx-container').length,
    // An unknown command is no error to MathJax: it is printed in red.
    misdrawn: [...(window.MathJax?.startup?.document?.math ?? [])]
      .filter(item => item.typesetRoot?.querySelector(
        'mjx-merror, mjx-mtext[style*="color: red"]'))
      .map(item => item.math),
    images: all('img').filter(shown).filter(node => !node.naturalWidth)
      .map(node => node.getAttribute('src')),
    wide: page.scrollWidth - page.clientWidth,
    widest: all('body *').filter(node => shown(node) && !scrolls(node)
        && node.getBoundingClientRect().right > edge + 1)
      .slice(0, 3).map(node => node.tagName + '.' + node.className),
    figures: all('figure').map(figure => ({
      id: figure.id,
      images: all('img', figure).filter(shown)
        .map(node => node.classList.contains('figure-dark') ? 'dark'
          : node.classList.contains('figure-light') ? 'light' : 'both'),
      caption: all('figcaption', figure).some(shown),
    })),
  };
}"""

UNFOLD = """() => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const right of ['true', 'false'])
    document.querySelector(`.quiz-option[data-right=${right}] input`)?.click();
  for (const [i, fold] of document.querySelectorAll('.quiz-question').entries())
    fold.querySelectorAll('input')[i % 2].click();
}"""

# The reader's own switch goes from one theme to the next. Then the page's scripts have
# two frames to answer the new width, and what fades is over, lest axe see pale letters.
CHOOSE = """async theme => {
  const root = document.documentElement;
  const frame = () => new Promise(requestAnimationFrame);
  for (let i = 0; i < 3 && root.dataset.theme !== theme; i++)
    document.querySelector('.theme-switch-button').click();
  await frame();
  await frame();
  for (const fading of document.getAnimations())
    if (fading.effect.getComputedTiming().endTime < Infinity) fading.finish();
}"""


def watch(page: Page, visit: Visit) -> None:
    """Note what goes out, what fails and what is complained about."""

    def refuse(route) -> None:
        visit.outside.append(route.request.url)
        route.abort()

    def on_response(response) -> None:
        if response.status >= 400:
            visit.failed.append(f"{response.status} {response.url}")

    def on_failure(request) -> None:
        if request.url.startswith(LOCAL):
            visit.failed.append(f"{request.failure} {request.url}")

    def on_console(message) -> None:
        if message.type in ("error", "warning"):
            visit.errors.append(message.text)

    page.route(lambda url: not url.startswith(LOCAL), refuse)
    page.on("response", on_response)
    page.on("requestfailed", on_failure)
    page.on("console", on_console)
    page.on("pageerror", lambda error: visit.errors.append(str(error)))


def open_at(
    browser: Browser, address: str, width: int, theme: str, visit: Visit
) -> Page:
    """Open ``address`` as a reader who chose ``theme``; wait until it is drawn."""
    context = browser.new_context(viewport={"width": width, "height": 800})
    context.set_default_timeout(60_000)  # a busy machine is no fault of the page
    context.add_init_script(
        f"localStorage.setItem('mode', '{theme}');"
        f"localStorage.setItem('theme', '{theme}');"
    )
    page = context.new_page()
    watch(page, visit)
    page.goto(address)
    page.evaluate("() => window.MathJax?.startup?.promise")
    return page


def turn(page: Page, width: int, theme: str) -> None:
    """Turn an open page to another width and theme."""
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(CHOOSE, theme)


def look(browser: Browser, address: str, width: int, theme: str) -> Visit:
    """Open a page and look at it as it opens, and unfolded."""
    visit = Visit()
    page = open_at(browser, address, width, theme, visit)
    view = visit.views[width, theme] = View(page.evaluate(LOOK))
    page.evaluate(UNFOLD)  # what is folded away must fit and be readable too
    turn(page, width, theme)
    view.unfolded = page.evaluate(LOOK)
    page.context.close()
    return visit


def look_around(browser: Browser, address: str) -> Visit:
    """Open a page on a dark phone and turn it to every view, axe in hand."""
    visit = Visit()
    page = open_at(browser, address, min(WIDTHS), "dark", visit)
    visit.views[min(WIDTHS), "dark"] = View(page.evaluate(LOOK))
    for view in VIEWS:
        if view not in visit.views:
            turn(page, *view)
            visit.views[view] = View(page.evaluate(LOOK))
    page.evaluate(UNFOLD)
    for view in VIEWS:
        turn(page, *view)
        visit.views[view].unfolded = page.evaluate(LOOK)
        mark_letters(page)
    thin_out(page)
    for view in VIEWS:
        turn(page, *view)
        visit.views[view].axe = violations(page, marked=True)
    page.context.close()
    return visit


@pytest.fixture(scope="module")
def visit(browser: Browser, server: str) -> Callable[[str], Visit]:
    """Visit a page over http, once."""
    return cache(lambda page: look_around(browser, server + page))


@pytest.fixture(scope="module")
def visit_file(browser: Browser) -> Callable[[str], Visit]:
    """Visit a page as a file, once."""
    return cache(lambda page: look(browser, (HTML / page).as_uri(), 1280, "light"))


# ---- what a visit must show ----


def network_faults(visit: Visit) -> list[str]:
    return [f"outside: {url}" for url in visit.outside] + visit.failed


def drawing_faults(view: View) -> list[str]:
    seen = view.seen
    faults = [f"not understood: {what}" for what in seen["misdrawn"]]
    faults += [f"no picture at {src}" for src in seen["images"]]
    if seen["math"] != seen["drawn"]:
        faults.append(f"{seen['math']} equations, {seen['drawn']} drawn")
    return faults


def width_faults(view: View) -> list[str]:
    return [
        f"{state}: {seen['wide']} px too wide, see {seen['widest']}"
        for state, seen in (("as it opens", view.seen), ("unfolded", view.unfolded))
        if seen["wide"] > 0
    ]


def figure_faults(view: View, theme: str) -> list[str]:
    faults = []
    for figure in view.unfolded["figures"]:
        if figure["images"] not in ([theme], ["both"]):
            faults.append(f"{figure['id']}: shows {figure['images']} on a {theme} page")
        if not figure["caption"]:
            faults.append(f"{figure['id']}: its caption cannot be seen")
    return faults


# ---- over http, every page at both widths in both themes ----


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_nobody_else_and_misses_nothing(visit, page):
    assert network_faults(visit(page)) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_reports_no_errors(visit, page):
    assert visit(page).errors == []


@pytest.mark.parametrize(("page", "width", "theme"), PAGE_VIEWS)
def test_equations_and_pictures_are_drawn(visit, page, width, theme):
    assert drawing_faults(visit(page).views[width, theme]) == []


@pytest.mark.parametrize(("page", "width", "theme"), PAGE_VIEWS)
def test_a_page_does_not_scroll_sideways(visit, page, width, theme):
    assert width_faults(visit(page).views[width, theme]) == []


@pytest.mark.parametrize(("page", "width", "theme"), PAGE_VIEWS)
def test_a_page_shows_one_title_in_the_theme_that_was_chosen(visit, page, width, theme):
    seen = visit(page).views[width, theme].seen
    assert seen["theme"] == theme
    assert len(seen["headings"]) == 1


@pytest.mark.parametrize(("page", "width", "theme"), PAGE_VIEWS)
def test_axe_finds_nothing(visit, page, width, theme):
    assert visit(page).views[width, theme].axe == []


@pytest.mark.parametrize("page", CHAPTERS)
@pytest.mark.parametrize("theme", THEMES)
def test_each_theme_shows_its_own_drawings_and_all_captions(visit, page, theme):
    found = visit(page).views[1280, theme]
    assert found.seen["figures"], f"{page} has no figures"
    assert figure_faults(found, theme) == []


# ---- as files ----


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opened_as_a_file_is_just_as_complete(visit_file, page):
    found = visit_file(page)
    (view,) = found.views.values()
    assert view.seen["theme"] == "light"
    assert network_faults(found) + found.errors == []
    assert drawing_faults(view) + width_faults(view) == []


# ---- what the reader does ----


@pytest.fixture
def chapter(browser: Browser, server: str) -> Iterator[Callable[[str], Page]]:
    """Open a chapter for use; at the end it must not have complained."""
    noted, pages = Visit(), []

    def open_chapter(name: str) -> Page:
        pages.append(open_at(browser, server + name, 1280, "light", noted))
        return pages[-1]

    yield open_chapter
    for page in pages:
        page.context.close()
    assert network_faults(noted) + noted.errors == []


def first_question(page: Page) -> tuple[Locator, Locator, Locator]:
    """Return the first question, its first wrong option and its right one."""
    one = page.locator(".quiz-question").first
    return (
        one,
        one.locator("[data-right=false]").first,
        one.locator("[data-right=true]"),
    )


@pytest.mark.parametrize("page", MAIN)
def test_a_wrong_answer_is_explained_and_a_right_one_counts(chapter, page):
    page = chapter(page)
    question, wrong, right = first_question(page)
    status = page.locator(".quiz").first.get_by_role("status")
    n = page.locator(".quiz").first.locator(".quiz-question").count()
    expect(question.locator(".quiz-why:visible")).to_have_count(0)
    expect(status).to_have_text(f"0 of {n} right.")
    wrong.locator("label").click()
    expect(question.locator(".quiz-why:visible")).to_have_count(1)
    expect(wrong.locator(".quiz-why")).to_be_visible()
    expect(wrong.locator(".quiz-why")).to_contain_text("Not quite.")
    expect(status).to_contain_text(wrong.locator(".quiz-why").text_content())
    expect(status).to_contain_text(f"0 of {n} right.")
    right.locator("label").click()
    expect(wrong.locator(".quiz-why")).to_be_hidden()
    expect(right.locator(".quiz-why")).to_be_visible()
    expect(status).to_contain_text(f"1 of {n} right.")


@pytest.mark.parametrize("page", MAIN)
def test_a_quiz_is_answered_by_keys_alone(chapter, page):
    page = chapter(page)
    question, _, right = first_question(page)
    options = question.locator(".quiz-option")
    options.first.locator("input").focus()
    page.keyboard.press("Space")
    expect(options.first.locator(".quiz-why")).to_be_visible()
    for _ in range(options.count()):
        if right.locator("input").is_checked():
            break
        page.keyboard.press("ArrowDown")
    expect(right.locator(".quiz-why")).to_be_visible()
    expect(page.locator(".quiz-score").first).to_contain_text("1 of")
    focused = page.evaluate(
        "document.activeElement.closest('.quiz-option').dataset.right"
    )
    assert focused == "true"


@pytest.mark.parametrize("page", MAIN)
def test_every_lab_of_a_chapter_has_come_to_life(chapter, page):
    page = chapter(page)
    labs = page.locator("[data-lab]")
    assert labs.count() > 0
    for n in range(labs.count()):
        expect(labs.nth(n).locator("button, input, select").first).to_be_visible()
        expect(labs.nth(n).get_by_text("It needs JavaScript")).to_have_count(0)


def test_unroll_it_steps_by_button_and_by_keys_in_its_chapter(chapter):
    page = chapter("chapters/04-recurrent-networks.html")
    lab = page.locator("[data-lab=unroll-it]")
    step = lab.get_by_text(re.compile(r"^Step \d of 8$"))
    expect(step).to_have_text("Step 1 of 8")
    lab.get_by_role("button", name="Next step").click()
    expect(step).to_have_text("Step 2 of 8")
    lab.get_by_role("region", name="the unrolled network").focus()
    page.keyboard.press("ArrowRight")
    expect(step).to_have_text("Step 3 of 8")
    page.keyboard.press("ArrowLeft")
    expect(step).to_have_text("Step 2 of 8")


def test_an_address_opens_its_lab_as_it_was_left_in_the_chapter(chapter):
    page = chapter("chapters/04-recurrent-networks.html#?unroll-it.W_h=1.5")
    lab = page.locator("[data-lab=unroll-it]")
    expect(lab).to_be_in_viewport()
    weight = lab.get_by_role("slider", name="memory weight")
    expect(weight).to_have_value("1.5")
    weight.fill("1.6")
    page.wait_for_url("**#?unroll-it.W_h=1.6*")


def test_unroll_it_in_its_chapter_knows_the_trained_network(chapter):
    page = chapter("chapters/04-recurrent-networks.html")
    assert page.locator("[data-lab=unroll-it] option[value=trained]").count() == 1


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_card_leads_to_its_line_in_the_ledger_and_back(chapter, page):
    page = chapter(page)
    name = page.locator(".claim").first.get_attribute("id").removeprefix("claim-")
    page.locator(".claim-link").first.click()
    page.wait_for_url(f"**/book/claims.html#ledger-{name}")
    row = page.locator(f"[id='ledger-{name}']")
    expect(row).to_be_in_viewport()
    row.locator("[data-label=Where] a").first.click()
    page.wait_for_url(f"**/chapters/*#claim-{name}")
    expect(page.locator(f"[id='claim-{name}']")).to_be_in_viewport()


# ---- the checks themselves can fail ----

SWITCH = """<button class="theme-switch-button" onclick="const {dataset} =
document.documentElement; dataset.theme = {dark: 'light'}[dataset.theme] ?? 'dark'">
Theme</button>"""
BAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bad</title>
<meta name="viewport" content="width=device-width"><style>%(style)s</style>
<script>window.MathJax = {}; document.documentElement.dataset.theme = 'dark';</script>
<script defer src="%(mathjax)s"></script></head><body><main><h1>One</h1>%(body)s
</main></body></html>"""
FAULTS = """<h1>Two</h1><script>console.error("oh");</script>
<img src="https://example.org/x.png" alt="x"><img src="missing.png">
<p class="math">\\(\\oops x\\)</p><p class="math">\\(\\frac\\)</p>
<p class="math">not drawn</p>
<div style="width: 3000px">wide</div><p style="color: #ccc">pale</p>
<figure id="f"><img class="figure-light" src="data:," alt="a">
<img class="figure-dark" src="data:," alt="a"><figcaption hidden>c</figcaption></figure>
<script>throw new Error("ah");</script>"""


@pytest.fixture
def bad_page(tmp_path) -> Callable[..., str]:
    """Write a page with the theme's switch and what is wrong; return its address."""

    def write(body: str, style: str = "") -> str:
        mathjax = (HTML / "_static" / "mathjax" / "tex-chtml.js").as_uri()
        parts = {"style": style, "mathjax": mathjax, "body": SWITCH + body}
        (tmp_path / "bad.html").write_text(BAD % parts, encoding="utf-8")
        return (tmp_path / "bad.html").as_uri()

    return write


def rules(view: View) -> set[str]:
    return {line.split(" at ")[0] for line in view.axe}


def test_every_fault_of_a_bad_page_is_found(browser, bad_page):
    found = look_around(browser, bad_page(FAULTS))
    network = " ".join(network_faults(found))
    assert "outside: https://example.org/x.png" in network
    assert "missing.png" in network
    assert any("oh" in error for error in found.errors)
    assert any("ah" in error for error in found.errors)
    assert set(found.views) == set(VIEWS)
    for (_, theme), view in found.views.items():
        assert view.seen["theme"] == theme
        drawing = " ".join(drawing_faults(view))
        assert r"not understood: \oops" in drawing
        assert drawing.count("not understood") == 2
        assert "3 equations, 2 drawn" in drawing
        assert "no picture at missing.png" in drawing
        assert "too wide" in width_faults(view)[0]
        assert len(view.seen["headings"]) == 2
        assert len(figure_faults(view, "dark")) == 2
        assert {"image-alt", "color-contrast"} <= rules(view)


ONLY_THERE = {
    "pale in the dark": (
        "<pre>x = <span class='n'>value</span></pre>",
        "[data-theme=dark] .n { color: #eee }",
        lambda view: "color-contrast" in rules(view),
        {(360, "dark"), (1280, "dark")},
    ),
    "pale on a light phone": (
        "<p class='note'>words</p>",
        "@media (max-width: 400px) { [data-theme=light] .note { color: #ddd } }",
        lambda view: "color-contrast" in rules(view),
        {(360, "light")},
    ),
    "nameless on a phone": (
        "<button class='menu'></button>",
        "@media (min-width: 400px) { .menu { display: none } }",
        lambda view: "button-name" in rules(view),
        {(360, "light"), (360, "dark")},
    ),
    "without words in the dark": (
        "<img class='dark' src='data:image/svg+xml,<svg xmlns=%22http://www.w3.org/"
        "2000/svg%22/>'>",
        "[data-theme=light] .dark { display: none }",
        lambda view: "image-alt" in rules(view),
        {(360, "dark"), (1280, "dark")},
    ),
    "too wide for a phone": (
        "<div style='width: 500px'>wide</div>",
        "",
        width_faults,
        {(360, "light"), (360, "dark")},
    ),
    "too wide for a phone when unfolded": (
        "<details><summary>+</summary><div style='width: 500px'>wide</div></details>",
        "",
        lambda view: [fault[:8] for fault in width_faults(view)] == ["unfolded"],
        {(360, "light"), (360, "dark")},
    ),
    "scrolls on a phone, out of reach of the keys": (
        "<pre style='overflow: auto'>" + "x" * 100 + "</pre>",
        "",
        lambda view: "scrollable-region-focusable" in rules(view),
        {(360, "light"), (360, "dark")},
    ),
}


@pytest.mark.parametrize(
    ("body", "style", "is_found", "where"), ONLY_THERE.values(), ids=ONLY_THERE
)
def test_what_is_wrong_in_some_views_is_found_in_those(
    browser, bad_page, body, style, is_found, where
):
    found = look_around(browser, bad_page(body, style))
    assert {key for key, view in found.views.items() if is_found(view)} == where


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_first_visit_is_silent_and_follows_the_system(open_page, server, scheme):
    """Nothing is stored yet: no mode, no theme."""
    first = open_page(color_scheme=scheme)
    first.page.goto(f"{server}chapters/00-primer.html")
    root = first.page.locator("html")
    expect(root).to_have_attribute("data-theme", scheme)
    expect(root).to_have_attribute("data-mode", "auto")
    first.assert_clean()
