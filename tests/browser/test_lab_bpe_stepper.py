"""BPE stepper: the package's merges, pieces and names of tokens, step by step.

What every lab must do is held in ``test_lab_core.py``.
"""

import labs
import pytest
from playwright.sync_api import expect

from unrolled.widgets.bpe_stepper import EXAMPLES, bpe_steps, spelt

pytestmark = pytest.mark.browser

NAME = "bpe-stepper"
HARD = (
    "",
    "aaaa aaaa aaa",
    "don't don\u2019t  two  spaces\n\n\tand tabs \u00a0\x85 x",
    "12 ½ ½ ⅷ 3.14 snake_case _x_ __",
    "naïve cafe\u0301 cafe\u0301 ☕☕☕ 👩‍👩‍👧 👩‍👩‍👧",
    "日本語の日本語 कि की कि",
)


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


@pytest.mark.parametrize("text", [*EXAMPLES.values(), *HARD])
def test_merges_and_pieces_are_the_package_s(page, text):
    run = page.evaluate("text => UnrolledLab.compute['bpe-stepper']({text})", text)
    expected = bpe_steps(text)
    assert [(m["left"], m["right"], m["count"]) for m in run["merges"]] == [
        (list(left), list(right), n) for left, right, n in expected.merges
    ]
    assert run["pieces"] == [
        [[list(token) for token in piece] for piece in step] for step in expected.pieces
    ]


def test_examples_agree_with_the_package(page):
    found = page.evaluate("UnrolledLab.labs['bpe-stepper'].examples")
    assert dict(found) == EXAMPLES


def test_tokens_are_spelt_as_in_the_package(page):
    for token in (b" the", "é".encode(), "é".encode()[:1], b"a\nb", "時".encode()[1:]):
        name = "token => UnrolledLab.labs['bpe-stepper'].spelt(token)"
        assert page.evaluate(name, list(token)) == spelt(token)


def test_stepping_shows_the_merge_and_the_tokens(page):
    run = bpe_steps(EXAMPLES["low, lower, lowest"])
    expect(page.locator(".lab-says")).to_contain_text("No merge yet")
    for step in (1, 2, 3):
        page.get_by_role("button", name="Next stage").click()
        left, right, n = run.merges[step - 1]
        expect(page.locator(".lab-says")).to_contain_text(
            f"“{spelt(left)}” and “{spelt(right)}” stood side by side {n} times"
        )
        shown = page.locator(".lab-token").all_inner_texts()
        assert shown == [spelt(t) for piece in run.pieces[step] for t in piece]
    assert page.locator(".lab-fresh").count() == run.merges[2][2]


def test_an_own_text_is_learnt_from_the_start(page):
    page.get_by_role("button", name="Next stage").click()
    page.get_by_role("textbox", name="Text").fill("banana banana")
    expect(page.get_by_role("combobox", name="Example")).to_have_value("own")
    expect(page.locator(".lab-says")).to_contain_text("No merge yet")
    expect(page.locator(".lab-where")).to_contain_text(
        f"1 of {len(bpe_steps('banana banana').merges) + 1}"
    )
    page.get_by_role("textbox", name="Text").fill("")
    expect(page.locator(".lab-says")).to_contain_text("0 bytes, 0 tokens")
