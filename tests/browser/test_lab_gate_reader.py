"""Gate reader: torch's gates, and a text that can be walked through.

What every lab must do is held in ``test_lab_core.py``.
"""

from copy import deepcopy
from dataclasses import replace

import labs
import pytest
import torch
from playwright.sync_api import expect

from unrolled.widgets import gate_reader
from unrolled.widgets.gate_reader import gate_numbers

pytestmark = pytest.mark.browser

NAME = "gate-reader"
TEXTS = (
    "And the king [was] wroth.",
    "zzzz;:[(qQ",
    "\n\n",
    "And it came to pass, " * 14,
)


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


@pytest.fixture
def in_double(monkeypatch):
    """Let torch compute as the page does: the memory grows to hundreds."""
    kept = gate_reader._kept()
    twin = replace(kept, model=deepcopy(kept.model).double())
    monkeypatch.setattr(gate_reader, "_kept", lambda: twin)


@pytest.mark.parametrize("text", TEXTS)
def test_gates_and_scores_are_torchs(page, in_double, text):
    found = page.evaluate(f"text => UnrolledLab.compute['{NAME}']({{text}})", text)
    for name, right in gate_numbers(text).items():
        actual = torch.tensor(found[name], dtype=torch.float64)
        torch.testing.assert_close(actual, right, rtol=0, atol=1e-9)


def test_the_numbers_shown_are_those_of_the_unit(page):
    text = "And the king [was] wroth."
    page.get_by_role("textbox", name="Text").fill(text)
    page.get_by_role("combobox", name="Unit").select_option("5")
    page.get_by_role("combobox", name="Quantity").select_option("c")
    page.locator('[data-at="14"]').click()
    right = gate_numbers(text)
    for name in "ifgoch":
        shown = page.locator(f'[data-show="{name}"]').inner_text()
        value = float(shown.replace("\N{MINUS SIGN}", "-"))
        assert value == pytest.approx(right[name][14, 5].item(), abs=6e-5)
    page.locator('[data-at="3"]').hover()
    expect(page.get_by_text("Character 4 of 25")).to_be_visible()
    page.get_by_role("button", name="Next character").press("ArrowRight")
    expect(page.get_by_text("Character 5 of 25")).to_be_visible()


def test_units_found_by_rule_come_first(page):
    options = page.get_by_role("combobox", name="Unit").locator("option")
    expect(options.first).to_contain_text("a space was read")
    assert options.last.inner_text().startswith("unit ")


def test_unknown_characters_are_replaced_and_said(page):
    page.get_by_role("textbox", name="Text").fill("a%b@")
    said = "2 characters that the model has never seen read as a space: % @"
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.locator(".lab-written")).to_have_text("a b ", use_inner_text=False)
