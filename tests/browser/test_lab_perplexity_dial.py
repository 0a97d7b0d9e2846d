"""Perplexity dial: the package's numbers, words that agree with them, and a needle.

What every lab must do is held in ``test_lab_core.py``.
"""

import math

import labs
import pytest
import torch
from playwright.sync_api import expect

from unrolled.runtime import generator
from unrolled.widgets.perplexity_dial import PRESETS, WORDS, dial_numbers

pytestmark = pytest.mark.browser

NAME = "perplexity-dial"


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def test_numbers_agree_with_the_package(page):
    drawn = torch.rand(20, 6, generator=generator(0), dtype=torch.float64).tolist()
    rows = [*drawn, *map(list, PRESETS.values())]
    keys = {"bits": "bits", "mean": "bits_per_word", "perplexity": "perplexity"}
    for p in rows:
        run = page.evaluate("p => UnrolledLab.compute['perplexity-dial']({p})", list(p))
        expected = dial_numbers(list(p))
        for ours, theirs in (keys | {"inverse": "inverse"}).items():
            value = getattr(expected, theirs)
            assert run[ours] == pytest.approx(value, rel=1e-12), (p, ours)


def test_presets_and_words_agree_with_the_package(page):
    lab = "UnrolledLab.labs['perplexity-dial']"
    found = {one["text"]: tuple(one["p"]) for one in page.evaluate(f"{lab}.presets")}
    assert found == PRESETS
    assert page.evaluate(f"{lab}.words") == list(WORDS)


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_says_what_the_numbers_are(page, name):
    page.get_by_role("combobox", name="Example").select_option(label=name)
    run = dial_numbers(list(PRESETS[name]))
    says, facts = page.locator(".lab-says"), page.locator(".lab-facts dd")
    if math.isinf(run.perplexity):
        expect(says).to_contain_text("Perplexity is infinite")
        assert facts.all_inner_texts() == ["∞", "∞", "∞", "0.0000"]
    else:
        shown = f"{run.perplexity:.2f}"
        expect(says).to_contain_text(f"Perplexity {'1:' if shown == '1.00' else shown}")
        assert facts.all_inner_texts() == [
            f"{run.bits:z.2f}",
            f"{run.bits_per_word:z.2f}",
            shown,
            f"{run.inverse:.4f}",
        ]


def test_the_needle_stands_at_the_perplexity(page):
    for name, share in (("Always right", 0), ("One word held impossible", 1)):
        page.get_by_role("combobox", name="Example").select_option(label=name)
        x = float(page.locator("[data-needle]").get_attribute("x2"))
        assert x == pytest.approx(-70 + 140 * share, abs=1e-6)
    page.get_by_role("combobox", name="Example").select_option(
        label="Uniform: ten words, all alike"
    )
    x = float(page.locator("[data-needle]").get_attribute("x2"))
    assert x == pytest.approx(-70 * math.cos(math.pi / 3), abs=1e-6)  # log 10 of 1000


def test_a_slider_leaves_the_preset_and_comes_back(page):
    example = page.get_by_role("combobox", name="Example")
    books = page.get_by_role("slider", name="books")
    books.fill("0.5")
    expect(example).to_have_value("own")
    p = [*PRESETS["Unsure here, sure there"]]
    p[4] = 0.5
    expect(page.locator(".lab-says")).to_contain_text(
        f"{dial_numbers(p).perplexity:.2f}"
    )
    books.fill("0.125")
    expect(example).to_have_value("mixed")


def test_words_of_ones_own_have_their_sliders(page):
    box = page.get_by_role("textbox", name="Words")
    box.fill("to be or")
    sliders = page.get_by_role("slider")
    expect(sliders).to_have_count(3)
    page.get_by_role("slider", name="be").fill("0.5")
    run = dial_numbers([0.25, 0.5, 0.05])
    expect(page.locator(".lab-says")).to_contain_text(f"{run.perplexity:.2f}")
    box.fill("to be or not to be that is the question")
    expect(sliders).to_have_count(8)
    expect(page.get_by_text("Only the first 8 words count.")).to_be_visible()
    page.get_by_role("combobox", name="Example").select_option("coin")
    expect(page.locator(".lab-says")).to_contain_text("Perplexity 2.00")
    box.fill(" ")
    expect(sliders).to_have_count(len(WORDS))
    expect(page.get_by_text("Nothing is typed")).to_be_visible()


def test_no_number_leaves_its_panel_on_a_phone(open_page, tmp_path):
    column = {"width": 300, "height": 740}  # what the book leaves of 360
    blocked = open_page(viewport=column)
    page = blocked.page
    page.goto(labs.write_page(tmp_path, NAME))
    edge = page.evaluate(
        "document.querySelector('.lab-worked').getBoundingClientRect().right"
    )
    ends = page.evaluate(
        """[...document.querySelectorAll('.lab-facts dd')].map((dd) => {
            const range = document.createRange();
            range.selectNodeContents(dd);
            return range.getBoundingClientRect().right;
        })"""
    )
    assert len(ends) == 4
    assert max(ends) <= edge
    blocked.assert_clean()
