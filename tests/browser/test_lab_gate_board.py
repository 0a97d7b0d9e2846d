"""Gate board: the package's numbers, and a bit that a reader can hold.

What every lab must do is held in ``test_lab_core.py``.
"""

import labs
import pytest
from playwright.sync_api import expect

from unrolled.widgets.gate_board import DISTRACTORS, HALF_OPEN, LATCH, hold, verdict

pytestmark = pytest.mark.browser

NAME = "gate-board"
LEAKY = {
    "bit": {"f": 0.2, "i": 0.9, "o": 0.4},
    "distractor": {"f": 0.97, "i": 0.05, "o": 0.1},
    "question": {"f": 0.8, "i": 0.3, "o": 1.0},
}


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


@pytest.mark.parametrize("gates", [HALF_OPEN, LATCH, LEAKY])
@pytest.mark.parametrize("lag", [1, 10, 100])
def test_numbers_are_the_packages(page, gates, lag):
    for bit in (1, -1):
        found = page.evaluate(
            f"state => UnrolledLab.compute['{NAME}'](state)",
            {"bit": bit, "lag": lag, "gates": gates},
        )
        right = hold(bit, lag, gates)
        for name, values in right.items():
            assert found[name] == pytest.approx(values, abs=1e-5)
        said = page.evaluate(
            f"([run, bit]) => UnrolledLab.labs['{NAME}'].verdict(run, bit)",
            [found, bit],
        )
        assert said == verdict(right["h"][-1], bit)
        assert found["own"] + found["other"] == pytest.approx(right["c"][-1], abs=1e-9)


def test_both_have_the_same_distractors(page):
    assert page.evaluate(f"UnrolledLab.labs['{NAME}'].distractors") == DISTRACTORS


def test_it_opens_without_an_answer_and_a_solution_is_shown_when_asked(page):
    says = page.locator(".lab-says").last
    expect(says).to_contain_text("No answer")
    page.get_by_role("button", name="Show a solution").click()
    expect(says).to_contain_text("comes out right")
    page.get_by_role("slider", name="distractors before the question").fill("100")
    page.get_by_role("combobox", name="The bit").select_option("-1")
    expect(says).to_contain_text("comes out right")
    page.get_by_role("button", name="Everything half open").click()
    expect(says).not_to_contain_text("comes out right")


def test_what_is_left_is_the_power_of_f(page):
    page.get_by_role("button", name="Show a solution").click()
    page.get_by_role("slider", name="distractors before the question").fill("100")
    page.get_by_role("slider", name="A distractor arrives: forget gate f").fill("0.993")
    expect(page.get_by_text("f^lag = 0.993^100 = 0.495")).to_be_visible()
