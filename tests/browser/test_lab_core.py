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
