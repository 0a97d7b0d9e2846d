"""What every lab must do: for every reader, on every screen, in book and notebook.

A new lab is held to all of it as soon as its script stands in ``book/_static/labs``.
"""

import re

import labs
import pytest
import torch
from playwright.sync_api import expect

from axe import violations
from colours import contrast
from unrolled.runtime import book_folder, generator
from unrolled.widgets import lab, lab_files, lab_names

pytestmark = pytest.mark.browser

FIRST = lab_names()[0]  # for what the core does alone
MINUS = "\N{MINUS SIGN}"
SETTLED = 2_000  # ms: by then the live region has spoken
PHONE = {"width": 360, "height": 740}


@pytest.fixture(params=lab_names())
def name(request) -> str:
    """Each lab there is, one after the other."""
    return request.param


@pytest.fixture
def page(blocked_page, tmp_path, name):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, name))
    yield blocked_page.page
    blocked_page.assert_clean()


# ---- it runs ----


def test_it_opens_in_place_of_the_sentence(page, name):
    found = page.locator(".unrolled-lab")
    expect(found).to_have_count(1)
    expect(found).not_to_contain_text("It needs JavaScript")
    expect(found).to_have_role("group")
    title = page.evaluate("name => UnrolledLab.labs[name].title", name)
    expect(found).to_have_accessible_name(title)
    expect(found.locator(".lab-lead")).not_to_be_empty()
    assert page.evaluate("name => typeof UnrolledLab.compute[name]", name) == "function"


def test_every_control_can_be_used(page):
    found = page.locator(".unrolled-lab")
    assert labs.stir(found) > 0
    expect(found).not_to_contain_text(re.compile(r"\b(NaN|undefined)\b|\[object"))


def test_helpers_agree_with_torch(blocked_page):
    page = blocked_page.page
    page.add_script_tag(path=lab_files(FIRST)[1])
    z = torch.randn(7, generator=generator(0), dtype=torch.float64) * 300
    for helper, oracle in {"softmax": torch.softmax(z, 0), "add": z + z}.items():
        call = "z, z" if helper == "add" else "z"
        actual = page.evaluate(f"z => UnrolledLab.tools.{helper}({call})", z.tolist())
        expected = oracle.tolist()
        assert actual == pytest.approx(expected, rel=1e-12)
    actual = page.evaluate("z => z.map(UnrolledLab.tools.sigmoid)", z.tolist())
    assert actual == pytest.approx(torch.sigmoid(z).tolist(), rel=1e-12)
    formats = page.evaluate("[-0.001, -1.5, 2].map(v => UnrolledLab.tools.fmt(v))")
    assert formats == ["0.00", f"{MINUS}1.50", "2.00"]
    blocked_page.assert_clean()


def test_the_labs_are_classic_scripts():
    for path in (book_folder() / "_static" / "labs").glob("*.js"):
        text = path.read_text("utf-8")
        assert "'use strict'" in text
        assert not any(word in text for word in ("fetch(", "import ", "export "))


# ---- keys, motion, width ----


def test_every_control_is_reached_by_tab_with_a_visible_focus(page):
    seen = labs.tab_through(page)
    assert sorted(html for _, html, _ in seen) == sorted(labs.stops(page))
    assert seen
    assert all(width >= 2 for *_, width in seen)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_plays_by_itself(open_page, tmp_path, name, motion):
    blocked = open_page(reduced_motion=motion)
    page = blocked.page
    page.clock.install()
    page.goto(labs.write_page(tmp_path, name))
    found = page.locator(".unrolled-lab")
    page.clock.run_for(SETTLED)
    before = found.inner_html()
    page.clock.run_for(10_000)
    assert found.inner_html() == before
    if motion == "reduce":
        expect(page.get_by_role("button", name="Play")).to_have_count(0)
        labs.stir(found)
        page.clock.run_for(SETTLED)
        before = found.inner_html()
        page.clock.run_for(10_000)
        assert found.inner_html() == before
        assert page.evaluate("document.getAnimations().length") == 0
    blocked.assert_clean()


def test_a_narrow_screen_does_not_scroll_sideways(open_page, tmp_path, name):
    blocked = open_page(viewport=PHONE, reduced_motion="reduce")
    page = blocked.page
    page.goto(labs.write_page(tmp_path, name))
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    labs.stir(page.locator(".unrolled-lab"))
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    blocked.assert_clean()


def test_targets_are_large_enough(page):
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('.unrolled-lab :is(button, select,'
              + 'summary, .lab-radio, .lab-check, input[type=range])')]
          .filter(node => node.checkVisibility())
          .map(node => [node.getBoundingClientRect().height, node.outerHTML])"""
    )
    assert sizes
    assert [html for height, html in sizes if height < 24] == []


# ---- colours ----


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_page, tmp_path, name, theme):
    blocked = open_page(reduced_motion="reduce")  # so that nothing moves meanwhile
    page = blocked.page
    page.goto(labs.write_page(tmp_path, name, theme=f'data-theme="{theme}"'))
    assert violations(page) == []
    labs.stir(page.locator(".unrolled-lab"))
    assert violations(page) == []
    blocked.assert_clean()


def test_numbers_in_the_drawing_keep_their_contrast(open_page, tmp_path):
    # axe does not measure text in SVG: the printed number against the strongest fills.
    for theme in ("light", "dark"):
        page = open_page().page
        page.goto(labs.write_page(tmp_path, FIRST, theme=f'data-theme="{theme}"'))
        named = labs.colours(page)
        grounds = ("card", "well", "band", "pos", "neg")
        ratios = {g: contrast(named["ink"], named[g]) for g in grounds}
        quiet = {g: contrast(named["soft"], named[g]) for g in grounds[:3]}
        lines = {c: contrast(named[c], named["card"]) for c in ("edge", "accent")}
        assert min([*ratios.values(), *quiet.values()]) >= 4.5, (theme, ratios, quiet)
        assert min(lines.values()) >= 3, (theme, lines)


def test_the_theme_follows_the_book_or_else_the_system(open_page, tmp_path):
    def colours(scheme: str, theme: str) -> dict[str, str]:
        page = open_page(color_scheme=scheme).page
        page.goto(labs.write_page(tmp_path, FIRST, theme=theme))
        return labs.colours(page)

    light, dark = colours("light", ""), colours("dark", "")
    assert all(light.values())
    assert light != dark
    assert colours("light", 'data-theme="dark"') == dark
    assert colours("dark", 'data-theme="light"') == light


def test_every_colour_is_given_once():
    css = lab_files(FIRST)[0].read_text("utf-8")
    names = re.findall(r"^\s*(--lab-[\w-]+):", css, re.MULTILINE)
    twice = {name for name in names if names.count(name) > 1}
    assert twice == {"--lab-light", "--lab-dark"}


# ---- without a script, and in a live notebook ----


def test_without_javascript_a_sentence_stands_there(open_page, tmp_path, name):
    page = open_page(java_script_enabled=False).page
    page.goto(labs.write_page(tmp_path, name))
    assert page.get_by_text("It needs JavaScript").is_visible()


def test_live_html_works_by_itself_and_twice(open_page, tmp_path, name):
    blocked = open_page(reduced_motion="reduce")
    page = blocked.page
    page.clock.install()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    address = labs.write_live(tmp_path, name, name)
    page.goto(address)
    one, other = page.locator(".unrolled-lab").all()
    page.clock.run_for(SETTLED)
    before = one.inner_text(), other.inner_text()
    labs.stir(other)
    page.clock.run_for(SETTLED)
    assert one.inner_text() == before[0]
    assert other.inner_text() != before[1]
    assert page.evaluate("location.href") == address  # JupyterLab's, and not ours
    expect(page.get_by_role("button", name="Copy link")).to_have_count(0)
    page.clock.resume()
    assert violations(page) == []
    assert labs.repeated_ids(page) == []
    assert asked == [address]
    blocked.assert_clean()


def test_live_html_put_into_a_finished_page_as_jupyterlab_does(page, name):
    page.evaluate(
        """html => {
          const host = document.createElement('div');
          host.innerHTML = html;
          for (const old of host.querySelectorAll('script')) {
            const script = document.createElement('script');
            script.textContent = old.textContent;
            old.replaceWith(script);
          }
          document.querySelector('main').append(host);
        }""",
        lab(name).complete(),
    )
    expect(page.locator(".unrolled-lab")).to_have_count(2)


def test_all_labs_stand_on_one_page(blocked_page, tmp_path):
    page = blocked_page.page
    page.goto(labs.write_live(tmp_path, *lab_names()))
    expect(page.locator(".unrolled-lab")).to_have_count(len(lab_names()))
    assert labs.repeated_ids(page) == []
    blocked_page.assert_clean()


# ---- the state in the address ----


@pytest.fixture
def opened(open_page):
    """Open addresses in pages with a clock; all are to be clean in the end."""
    blocked = open_page(reduced_motion="reduce", viewport={"width": 800, "height": 600})
    pages = []

    def open_one(address: str):
        page = blocked.page if not pages else blocked.page.context.new_page()
        page.on("pageerror", lambda error: blocked.errors.append(str(error)))
        page.clock.install()
        pages.append(page)
        page.goto(address)
        page.clock.run_for(SETTLED)
        return page

    yield open_one
    blocked.assert_clean()


def address_of(page) -> str:
    page.clock.run_for(SETTLED)
    return page.evaluate("location.href")


def go_to(page, fragment: str) -> None:
    """Follow a link within the page."""
    page.evaluate("hash => { location.hash = hash; }", fragment)
    page.clock.run_for(SETTLED)


def test_the_address_keeps_what_the_reader_set(opened, tmp_path, name):
    plain = labs.write_page(tmp_path, name)
    page = opened(plain)
    root = page.locator(".unrolled-lab")
    first = labs.looks(root)
    assert page.evaluate("location.href") == plain
    length = page.evaluate("history.length")
    for buttons in (False, True):
        labs.stir(root, buttons=buttons)
        address = address_of(page)
        assert address.startswith(f"{plain}#?{name}.")
        other = opened(address)
        copy = other.locator(".unrolled-lab")
        assert labs.looks(copy) == labs.looks(root)
        assert address_of(other) == address
        expect(copy).to_be_in_viewport()
    assert page.evaluate("history.length") == length  # Back leads where it led
    other.get_by_role("button", name="Reset this lab").click()
    assert address_of(other) == plain
    assert labs.looks(copy) == first
    expect(other.locator(".lab-share")).to_contain_text("as it opens")


TAG = "<img src=x onerror=alert(1)>"
HOSTILE = (TAG, "%E0%A4%A&=?#", "-1e999", "constructor", "a" * 1500, "a" * 25_000, "")


def test_hostile_states_are_ignored(opened, tmp_path, name):
    page = opened(labs.write_page(tmp_path, name))
    root = page.locator(".unrolled-lab")
    alerts = []
    page.on("dialog", lambda dialog: (alerts.append(1), dialog.dismiss()))
    first = labs.looks(root)
    keys = page.evaluate("Object.keys(UnrolledLab.kept[0].state)")
    texts = page.evaluate(
        """value => Object.entries(UnrolledLab.kept[0].state)
          .filter(([key, control]) => control.put(value)).map(([key]) => key)""",
        TAG,  # which a text may be, and nothing else
    )
    assert root.locator("img").count() == 0
    assert [key for key in texts if key not in ("text", "words")] == []

    def follow(value: str, *to: str) -> None:
        pairs = [[f"{name}.{key}", value] for key in to]
        query = page.evaluate("pairs => String(new URLSearchParams(pairs))", pairs)
        go_to(page, f"?{query}")

    for value in HOSTILE:
        follow(value, *(key for key in keys if key not in texts), "none", "__proto__")
        assert labs.looks(root) == first
    follow("a" * 1500, *texts, "none")
    assert labs.looks(root) == first
    follow("999999999", *keys)
    sliders = root.locator("input[type=range]").evaluate_all(
        "all => all.map(({min, value, max}) => [min, value, max].map(Number))"
    )
    assert all(low <= value <= high for low, value, high in sliders)
    unreadable = re.compile(r"\b(NaN|undefined)\b|\[object")
    expect(root).not_to_contain_text(unreadable)
    go_to(page, f"?{name}")
    assert labs.looks(root) == first
    assert alerts == []


def test_labs_of_one_page_keep_their_states_apart(opened, tmp_path):
    one, other = "receptive-field", "perplexity-dial"
    plain = labs.write_page(tmp_path, one, other, one)
    page = opened(plain)
    sliders = page.locator("input[type=range]:visible")
    expect(sliders).to_have_count(3 + 6 + 3)
    for index, value in enumerate(["2", "5", "7", *["0.5"] * 6, "4", "2", "9"]):
        sliders.nth(index).fill(value)
    page.get_by_role("button", name="Reset this lab").nth(1).click()
    address = address_of(page)
    assert f"{one}.layers=2" in address
    assert f"{one}-2.layers=4" in address
    assert other not in address
    again = opened(address)
    for index in range(3):
        lab_at = [p.locator(".unrolled-lab").nth(index) for p in (page, again)]
        assert labs.looks(lab_at[0]) == labs.looks(lab_at[1])
    link = opened(f"{plain}#?{other}.p1=0.5")
    expect(link.locator(".unrolled-lab").nth(1)).to_be_in_viewport()
    assert link.evaluate("scrollY") > 0


def test_anchors_of_the_page_work_as_ever(opened, tmp_path):
    plain = labs.write_page(tmp_path, "perplexity-dial")
    page = opened(f"{plain}#some-section")
    page.locator("main").evaluate(
        """main => main.insertAdjacentHTML('beforeend',
          '<div style="height: 3000px"></div><h2 id="far">Far</h2>'
          + '<div style="height: 3000px"></div>')"""
    )
    page.locator("input[type=range]").first.fill("0.5")
    assert address_of(page) == f"{plain}#some-section?perplexity-dial.p1=0.5"
    go_to(page, "far")
    expect(page.get_by_role("heading", name="Far")).to_be_in_viewport()
    assert page.evaluate("location.hash") == "#far?perplexity-dial.p1=0.5"
    page.go_back()
    expect(page.locator("input[type=range]").first).to_have_value("0.5")
    assert address_of(page) == f"{plain}#some-section?perplexity-dial.p1=0.5"
    page.go_forward()
    page.get_by_role("button", name="Reset this lab").click()
    assert address_of(page) == f"{plain}#far"


@pytest.mark.parametrize("clipboard", [True, False])
def test_a_link_to_the_lab_can_be_copied(opened, tmp_path, clipboard):
    page = opened(labs.write_page(tmp_path, "perplexity-dial", "receptive-field"))
    page.evaluate(
        """works => Object.defineProperty(navigator, 'clipboard', {value: works
          ? {writeText: async text => { window.copied = text; }} : undefined})""",
        clipboard,
    )
    root = page.locator(".unrolled-lab").first
    page.get_by_role("slider", name="layers").fill("2")
    field = root.get_by_label("Link to this lab")
    link = root.get_by_role("button", name="Copy link")
    here = page.evaluate("location.href.split('#')[0]")
    for value in ("", ".p1=0.5"):  # as it opens, and as the reader has it
        if value:
            root.locator("input[type=range]").first.fill("0.5")
        link.click()
        told = root.locator(".lab-share [aria-live]")
        expect(told).to_contain_text("opens the lab")
        address = f"{here}#?perplexity-dial{value}"
        if clipboard:
            assert page.evaluate("copied") == address
            expect(field).to_be_hidden()
        else:
            expect(field).to_have_value(address)
            expect(field).to_be_focused()
            assert page.evaluate("String(getSelection())") == address
    root.locator("input[type=range]").first.fill("0.25")
    address_of(page)
    expect(field).to_be_hidden()  # it was a link to what the lab no longer is
