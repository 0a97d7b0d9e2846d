"""Roll down the loss: torch's own paths, words that agree with them, and the keys.

What every lab must do is held in ``test_lab_core.py``.
"""

import re

import labs
import pytest
import torch
from playwright.sync_api import Page, expect

from unrolled.runtime import generator
from unrolled.training.surfaces import METHODS, SURFACES
from unrolled.widgets.roll_down_the_loss import (
    METHOD_NAMES,
    PRESETS,
    REACH,
    STEPS,
    Setting,
    roll_numbers,
    verdict,
)

pytestmark = pytest.mark.browser

NAME = "roll-down-the-loss"
LAB = f"UnrolledLab.labs['{NAME}']"
KEYS = ("surface", "method", "rate", "beta", "w1", "w2")


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def settings() -> list[Setting]:
    """Every example, and every surface with every method from anywhere in reach."""
    rng, found = generator(0), [dict(preset) for preset in PRESETS.values()]
    for name, surface in SURFACES.items():
        for method in METHODS:
            for rate in (-3.0, -2.0, -1.3, -0.5, 0.5):
                u = torch.rand(3, generator=rng, dtype=torch.float64).tolist()
                places = zip(surface.corner, u, strict=False)
                w1, w2 = (low + surface.side * share for low, share in places)
                found.append(
                    {"surface": name, "method": method, "rate": rate,
                     "beta": 0.99 * u[2], "w1": w1, "w2": w2}
                )  # fmt: skip
    return found


def compute(page: Page, chosen: list[Setting]) -> list[dict]:
    return page.evaluate(
        f"""settings => settings.map(setting => {{
          const run = UnrolledLab.compute['{NAME}'](setting);
          return {{...run, says: {LAB}.verdict(run)}};
        }})""",
        chosen,
    )


def test_paths_are_those_of_torch_s_optimizers(page):
    chosen = settings()
    for setting, run in zip(chosen, compute(page, chosen), strict=True):
        expected = roll_numbers(setting)
        found = torch.tensor(run["path"], dtype=torch.float64)
        assert found.shape == expected.points.shape, setting
        for got, want in (
            (found, expected.points),
            (torch.tensor(run["losses"], dtype=torch.float64), expected.losses),
        ):
            torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6, msg=setting)
        assert run["says"] == verdict(expected), setting


def test_surfaces_examples_and_reach_are_the_packages(page):
    shown = page.evaluate(f"{LAB}.presets")
    assert {p["text"]: {k: p[k] for k in KEYS} for p in shown} == PRESETS
    reach = page.evaluate(f"{LAB}.reach")
    assert {k: tuple(v) for k, v in reach.items()} == REACH
    surfaces = page.evaluate(f"{LAB}.surfaces")
    for name, surface in SURFACES.items():
        found = surfaces[name]
        assert found["name"] == surface.name
        assert found["lowest"] == surface.lowest
        assert (tuple(found["corner"]), found["side"]) == (surface.corner, surface.side)
    assert list(surfaces) == list(SURFACES)
    for name, points in page.evaluate(f"{LAB}.lowest").items():
        at = torch.tensor(points, dtype=torch.float64)
        for height in SURFACES[name].loss(at).tolist():
            assert height == pytest.approx(SURFACES[name].lowest, abs=1e-9)


def test_a_contour_runs_where_the_loss_is_one_number(page):
    for name, surface in SURFACES.items():
        drawn = page.evaluate(f"name => {LAB}.contours({LAB}.surfaces[name])", name)
        assert len(drawn) == 11
        middle = [float(v) for v in re.findall(r"[\d.]+", drawn[6])]
        at = torch.tensor(middle, dtype=torch.float64).reshape(-1, 2)
        corner = torch.tensor(surface.corner, dtype=torch.float64)
        up = torch.stack([at[:, 0], 1 - at[:, 1]], dim=1)
        heights = surface.loss(corner + surface.side * up)
        assert heights.std() < 0.02 * heights.mean().abs() + 0.02, name


def test_the_path_drawn_is_the_path_computed(page):
    page.get_by_role("combobox", name="Example").select_option(label="Round the bend")
    surface = SURFACES["bend"]
    points = page.locator("[data-path]").get_attribute("points").split()
    found = torch.tensor([[float(v) for v in p.split(",")] for p in points])
    expected = roll_numbers(PRESETS["Round the bend"]).points
    share = (expected - torch.tensor(surface.corner)) / surface.side
    torch.testing.assert_close(found[:, 0], share[:, 0].float(), rtol=0, atol=1e-4)
    torch.testing.assert_close(found[:, 1], 1 - share[:, 1].float(), rtol=0, atol=1e-4)


def test_every_example_says_what_becomes_of_it(page):
    for text, setting in PRESETS.items():
        page.get_by_role("combobox", name="Example").select_option(label=text)
        run = roll_numbers(setting)
        expect(page.locator(".lab-says")).to_have_text(verdict(run))
        where = f"Point {len(run.points)} of {len(run.points)}"
        expect(page.locator(".lab-where")).to_have_text(where)
        method = page.get_by_role("combobox", name="Method")
        expect(method).to_have_value(setting["method"])
        name = METHOD_NAMES[setting["method"]]
        expect(page.locator(".lab-slope")).to_have_accessible_name(
            re.compile(re.escape(f"path of {name}"))
        )


def test_the_rate_is_shown_as_a_rate(page):
    slider = page.get_by_role("slider", name="learning rate")
    slider.fill("-1.05")
    expect(slider).to_have_attribute("aria-valuetext", "0.089")
    expect(page.locator(".lab-says")).to_contain_text("Flies off")
    example = page.get_by_role("combobox", name="Example")
    expect(example).to_have_value("2")  # the valley, a little too bold
    slider.fill("-1.15")
    expect(example).to_have_value("own")


def test_the_start_can_be_dragged(page):
    grip = page.locator("[data-drag]").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    side = page.locator(".lab-wall").bounding_box()["width"]
    sliders = [
        page.get_by_role("slider", name=re.compile(f"start, w.?{i}")) for i in "12"
    ]
    before = [float(slider.input_value()) for slider in sliders]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + side / 6, y + side / 4, steps=4)
    page.mouse.up()
    after = [float(slider.input_value()) for slider in sliders]
    assert after[0] == pytest.approx(before[0] + 1.0, abs=0.06)  # the square is 6 wide
    assert after[1] == pytest.approx(before[1] - 1.5, abs=0.06)


def test_a_start_outside_a_smaller_surface_is_moved_in(page):
    page.get_by_role("combobox", name="Surface").select_option("hollows")
    first = page.get_by_role("slider", name=re.compile("start, w.?1"))
    expect(first).to_have_value("-2")
    assert first.get_attribute("min") == "-2"


def test_the_keys_step_along_the_path(page):
    page.get_by_role("button", name="Next point").focus()
    page.keyboard.press("Home")
    expect(page.locator(".lab-where")).to_have_text(f"Point 1 of {STEPS + 1}")
    page.keyboard.press("ArrowRight")
    second = roll_numbers(PRESETS["Too careful"]).points[1].tolist()
    spot = page.locator(".lab-worked .lab-note")
    expect(spot).to_contain_text(f"After 1 step: weights −{abs(second[0]):.3f} and")
    expect(page.locator("[data-path]")).to_have_attribute(
        "points", re.compile(r"^\S+ \S+$")
    )


def test_the_table_has_every_step(page):
    page.get_by_text("The numbers as a table").click()
    expect(page.locator(".lab-table tbody tr")).to_have_count(STEPS + 1)
    page.get_by_role("combobox", name="Example").select_option(
        label="A little too bold"
    )
    run = roll_numbers(PRESETS["A little too bold"])
    expect(page.locator(".lab-table tbody tr")).to_have_count(len(run.points))


def test_a_loss_that_leaves_the_plot_ends_in_an_arrow(page):
    example = page.get_by_role("combobox", name="Example")
    expect(page.locator("[data-gone]")).to_have_count(0)
    example.select_option(label="A little too bold")
    gaps = roll_numbers(PRESETS["A little too bold"]).gaps
    inside = int((gaps <= 1e6).sum())  # it only grows
    line = page.locator("[data-line=gaps]").get_attribute("points").split()
    assert len(line) == inside + 1  # and the first one beyond
    expect(page.locator("[data-gone]")).to_have_count(1)
    expect(page.locator(".lab-says")).to_contain_text("where the path ends")


def test_a_number_that_is_not_used_cannot_be_set(page):
    slider = page.get_by_role("slider", name="momentum (not used)")
    expect(slider).to_be_disabled()
    page.get_by_role("combobox", name="Method").select_option("adam")
    expect(page.get_by_role("slider", name="\u03b2\u2081 of Adam")).to_be_enabled()


def test_the_map_says_which_weights_it_shows(page):
    for surface, low, high in (("valley", "\u22123", "3"), ("bend", "\u22122", "2")):
        page.get_by_role("combobox", name="Surface").select_option(surface)
        ticks = page.locator(".lab-slope .lab-tick").all_text_contents()
        assert ticks[0] == low
        assert ticks[8] == high
        assert ticks[-2:] == ["w\u2081", "w\u2082"]
