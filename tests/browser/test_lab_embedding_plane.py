"""The embedding plane: the package's numbers, and words that agree with them.

What every lab must do is held in ``test_lab_core.py``.
"""

import labs
import pytest
from playwright.sync_api import expect

from unrolled.recipes.embedding_plane import PICKS, PRESETS
from unrolled.widgets.embedding_plane import plane_numbers

pytestmark = pytest.mark.browser

NAME = "embedding-plane"


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


@pytest.mark.parametrize("leave_out", [True, False])
def test_numbers_agree_with_the_package(page, leave_out):
    asked = [*PRESETS, ("queen", "teacher", "tokyo"), ("better", "niece", "went")]
    for a, b, c in asked:
        run = page.evaluate(
            "one => UnrolledLab.compute['embedding-plane'](one)",
            {"a": a, "b": b, "c": c, "leaveOut": leave_out},
        )
        expected = plane_numbers(a, b, c, leave_out=leave_out)
        assert [word for word, _ in run["nearest"]] == [w for w, _ in expected.nearest]
        for (_, ours), (_, theirs) in zip(
            run["nearest"], expected.nearest, strict=True
        ):
            assert ours == pytest.approx(theirs, abs=1e-12)
        assert set(run["points"]) == set(expected.points)
        for word, (x, y) in expected.points.items():
            place = run["points"][word]
            assert (place["x"], place["y"]) == pytest.approx((x, y), abs=1e-12)
        corner = (run["corner"]["x"], run["corner"]["y"])
        assert corner == pytest.approx(expected.corner, abs=1e-12)
        assert run["corner"]["off"] == pytest.approx(0, abs=1e-7)


def test_the_three_words_and_the_corner_make_a_parallelogram(page):
    run = plane_numbers("man", "woman", "king", leave_out=True)
    (ax, ay), (bx, by), (cx, cy) = (run.points[w] for w in ("man", "woman", "king"))
    assert (ax, ay, by) == pytest.approx((0, 0, 0), abs=1e-12)
    assert run.corner == pytest.approx((bx + cx, by + cy), abs=1e-12)


def test_leaving_the_words_out_makes_the_queen(page):
    says = page.locator(".lab-says")
    expect(says).to_contain_text("man is to woman as king is to queen")
    page.get_by_role("checkbox", name="Leave the three words out").uncheck()
    expect(says).to_contain_text("as king is to king")
    expect(says).to_contain_text("Every word could be the answer")


def test_an_own_question_and_one_that_makes_no_plane(page):
    page.get_by_role("combobox", name="as", exact=True).select_option("france")
    expect(page.get_by_role("combobox", name="Example")).to_have_value("own")
    first = plane_numbers("man", "woman", "france", leave_out=True).nearest[0][0]
    expect(page.locator(".lab-says")).to_contain_text(f"as france is to {first}")
    page.get_by_role("combobox", name="as", exact=True).select_option("man")
    expect(page.locator(".lab-says")).to_contain_text("Three different words")
    page.get_by_role("combobox", name="Example").select_option("1")
    expect(page.locator(".lab-says")).to_contain_text("as uncle is to")


def test_the_picks_are_the_package_s(page):
    options = page.get_by_role("combobox", name="First word").locator("option")
    assert options.all_inner_texts() == list(PICKS)


def test_equal_words_are_refused():
    with pytest.raises(ValueError, match="three different words"):
        plane_numbers("man", "man", "king", leave_out=True)
