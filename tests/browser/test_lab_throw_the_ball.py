"""Throw the ball: the package's flight and guesses, and a throw by hand and by keys.

What every lab must do is held in ``test_lab_core.py``.
"""

import math

import labs
import pytest
import torch
from playwright.sync_api import Page, expect

from unrolled.recipes import ball
from unrolled.runtime import generator
from unrolled.widgets import live
from unrolled.widgets.throw_the_ball import COUNT, PRESETS, REACH, throw_numbers

pytestmark = pytest.mark.browser

NAME = "throw-the-ball"


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def compute(page: Page, throw: dict, blur: torch.Tensor) -> dict:
    return page.evaluate(
        "([throw_, blur]) => UnrolledLab.compute['throw-the-ball']({...throw_, blur})",
        [throw, blur.tolist()],
    )


def throws() -> list[dict]:
    """Every example, and throws from everywhere in reach."""
    rng = generator(0)
    found = [dict(preset) for preset in PRESETS.values()]
    for _ in range(40):
        share = torch.rand(len(REACH), generator=rng).tolist()
        one = {
            key: low + s * (high - low)
            for s, (key, (low, high, _)) in zip(share, REACH.items(), strict=True)
        }
        found.append(one | {"frames": 1 + int(8 * share[0])})
    return found


def test_flight_and_guesses_agree_with_the_package(page):
    blur = torch.randn(COUNT, 2, generator=generator(1), dtype=torch.float64)
    for throw in throws():
        run, expected = compute(page, throw, blur), throw_numbers(throw, blur)
        for key in ("positions", "seen"):
            found = torch.tensor(run[key], dtype=torch.float64)
            torch.testing.assert_close(
                found, getattr(expected, key), rtol=0, atol=1e-9, msg=f"{key}: {throw}"
            )
        for key in ("line", "curve"):
            found = [math.nan if v is None else v for v in run["errors"][key]]
            torch.testing.assert_close(
                torch.tensor(found, dtype=torch.float64),
                getattr(expected, key),
                rtol=0,
                atol=1e-8,
                equal_nan=True,
                msg=f"{key}: {throw}",
            )


def test_the_network_is_the_recipes(page):
    weights = page.evaluate("UnrolledLab.models.ball")
    nets = ball.BallNets([ball.SHOWN[0]], place=True).double()
    for name, value in weights.items():
        tensor = torch.tensor(value, dtype=torch.float64)
        getattr(nets, name).data[0, -len(tensor) :] = tensor
    throw = PRESETS["Off the walls"]
    blur = torch.randn(COUNT, 2, generator=generator(2), dtype=torch.float64)
    run = compute(page, throw, blur)
    seen = torch.tensor(run["seen"], dtype=torch.float64)
    for i in range(ball.MOST, COUNT):
        expected = nets(seen[None, None, i - ball.MOST : i])[0, 0]
        found = torch.tensor(run["guesses"]["network"][i], dtype=torch.float64)
        torch.testing.assert_close(found, expected.detach(), rtol=0, atol=1e-9)
    off = [v for v in run["errors"]["network"] if v is not None]
    assert sum(off) / len(off) < 0.1  # it was trained for this


def test_the_noise_is_normal_and_stays_the_same(page):
    draw = "seed => UnrolledLab.labs['throw-the-ball'].drawBlur(seed, 4000)"
    blur = torch.tensor(page.evaluate(draw, 3))
    assert blur.mean().abs() < 0.05
    assert blur.std().item() == pytest.approx(1, abs=0.03)
    assert blur.tolist() == torch.tensor(page.evaluate(draw, 3)).tolist()
    assert blur.tolist() != torch.tensor(page.evaluate(draw, 4)).tolist()


def test_the_examples_are_those_of_the_notebook(page):
    shown = page.evaluate("UnrolledLab.labs['throw-the-ball'].presets")
    assert {p["text"]: {k: p[k] for k in REACH} for p in shown} == PRESETS
    reach = page.evaluate("UnrolledLab.labs['throw-the-ball'].reach")
    assert {k: tuple(v) for k, v in reach.items()} == REACH


def test_two_exact_frames_are_enough_for_a_straight_flight(page):
    page.get_by_role("combobox", name="Example").select_option(label="Straight on")
    expect(page.locator(".lab-says")).to_contain_text("waits for 2 frames")
    page.get_by_role("button", name="Next frame").click()
    expect(page.locator(".lab-says")).to_contain_text("the straight line by 0.000")
    expect(page.locator('[data-guess="curve"]')).to_have_count(0)
    page.get_by_role("slider", name="frames for line and parabola").fill("1")
    expect(page.locator(".lab-says")).to_contain_text("may go anywhere")


def test_it_can_be_thrown_by_hand(page):
    grip = page.locator('[data-drag="tip"]').bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    side = page.locator(".lab-wall").bounding_box()["width"]
    right = page.get_by_role("slider", name="speed to the right")
    before = float(right.input_value())
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 0.15 * side, y, steps=4)
    page.mouse.up()
    assert float(right.input_value()) == pytest.approx(before - 0.5, abs=0.06)
    example = page.get_by_role("combobox", name="Example")
    expect(example).to_have_value("own")


def test_the_arrow_keys_step_through_the_film(page):
    page.get_by_role("button", name="Next frame").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lab-where")).to_have_text("Frame 2 of 24")
    page.keyboard.press("End")
    expect(page.locator(".lab-where")).to_have_text("Frame 24 of 24")


def test_the_live_version_follows_its_controls():
    box = live(NAME)
    frames = next(w for w in box.children if w.description == "frames")
    before = box.children[-1].value
    frames.value = 5
    assert box.children[-1].value != before
