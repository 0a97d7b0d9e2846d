"""Receptive-field explorer: the package's fields, and a picture that agrees with them.

What every lab must do is held in ``test_lab_core.py``.
"""

from itertools import product

import labs
import pytest
from playwright.sync_api import Page, expect

from unrolled.evaluation.reach import inputs_seen
from unrolled.widgets import live
from unrolled.widgets.receptive_field import field_numbers

pytestmark = pytest.mark.browser

NAME = "receptive-field"


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def call(page: Page, function: str, *args: object) -> object:
    return page.evaluate(
        "([f, args]) => UnrolledLab.labs['receptive-field'][f](...args)",
        [function, list(args)],
    )


@pytest.mark.parametrize("causal", [True, False])
def test_fields_agree_with_the_package(page, causal):
    for n, base, layers in product((2, 3, 4, 5), (1, 2, 3), (1, 2, 3)):
        if not causal and n % 2 == 0:
            continue
        dilations = [base**layer for layer in range(layers)]
        run = call(page, "compute", {"n": n, "dilations": dilations, "causal": causal})
        numbers = field_numbers(n, dilations, causal=causal)
        assert {key: run[key] for key in numbers} == numbers
        assert run["seen"] == inputs_seen([n] * layers, dilations, causal=causal)
        tree = call(page, "tree", n, dilations, causal, 0)
        assert tree[0] == run["seen"]


def lit(page: Page, layer: int) -> list[int]:
    nodes = page.locator(f'.lab-on[data-node^="{layer}-"]')
    return [int(node.get_attribute("data-node").split("-")[1]) for node in nodes.all()]


def test_the_picture_lights_what_is_seen(page):
    expected = [27 + s for s in inputs_seen([3] * 3, [1, 2, 4], causal=True)]
    assert lit(page, 0) == expected
    page.get_by_role("slider", name="place of the output").fill("5")
    assert lit(page, 0) == [0, 1, 2, 3, 4]
    page.get_by_label("causal").uncheck()
    assert lit(page, 0) == list(range(12))


def test_the_words_tell_formula_and_measurement(page):
    says = page.locator(".lab-says")
    expect(says).to_contain_text("the field is 15 steps")
    expect(says).to_contain_text("nudging every input finds a span of 15")
    expect(page.locator('[data-show="Formula"]')).to_have_text(
        "1 + 2·1 + 2·2 + 2·4 = 15"
    )
    page.get_by_role("combobox").select_option("triple")
    page.get_by_role("slider", name="delays").fill("2")
    run = field_numbers(2, [1, 3, 9], causal=True)
    assert run["holes"] > 0
    expect(says).to_contain_text(f"8 steps of it are seen and {run['holes']} are holes")


def test_far_enough_takes_as_many_layers_as_it_says(page):
    for n, pattern, base in ((3, "plain", 1), (3, "double", 2), (2, "triple", 3)):
        layers = call(page, "layersFor", n, pattern, 50)
        for count, reached in ((layers, True), (layers - 1, False)):
            dilations = [base**layer for layer in range(count)]
            field = 1 + sum((n - 1) * d for d in dilations)
            assert (field > 50) is reached


def test_an_even_window_cannot_be_centred(page):
    page.get_by_label("causal").uncheck()
    page.get_by_role("slider", name="delays").fill("4")
    expect(page.locator(".lab-note").first).to_contain_text("needs an odd number")


def test_the_live_version_follows_its_controls():
    box = live(NAME)
    before = box.children[-1].value
    assert "= 15" in before
    box.children[1].value = 2
    assert "= 7" in box.children[-1].value
