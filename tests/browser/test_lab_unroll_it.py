"""Unroll it: the package's numbers, by mouse and by keys, and where things stand.

What every lab must do is held in ``test_lab_core.py``.
"""

import json
import re
from base64 import b64encode
from pathlib import Path

import labs
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from axe import violations
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.runtime import generator
from unrolled.widgets import lab_files
from unrolled.widgets.unroll_it import GAIN, PRESETS

pytestmark = pytest.mark.browser

START = [1, 0, 0, -1, 0, 1, 0, 0]
SILENCE = [1, *[0] * 15]
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
MINUS = "\N{MINUS SIGN}"


# ---- the oracle: the package itself, in float64 ----


def by_package(state: dict) -> dict[str, torch.Tensor]:
    """Run ``RNNCell`` along the inputs; a is recovered from the cell, step by step."""
    cell = RNNCell(len(state["W_x"]), len(state["b"])).double()
    with torch.no_grad():
        for name in ("W_x", "W_h", "b"):
            getattr(cell, name).copy_(torch.tensor(state[name], dtype=torch.float64))
        x = torch.tensor(state["x"], dtype=torch.float64)
        h = unroll(cell, x[None])[0][0]
        before = torch.cat([torch.zeros_like(h[:1]), h[:-1]])
        a = x @ cell.W_x + before @ cell.W_h + cell.b
        o = h @ torch.tensor(state["V"], dtype=torch.float64)
        o = o + torch.tensor(state["c"], dtype=torch.float64)
    return {"a": a, "h": h, "o": o, "y": torch.sigmoid(o)}


def one_unit(W_x: float, W_h: float, b: float, orders: list[int]) -> dict:
    x = [[order] for order in orders]
    return {"W_x": [[W_x]], "W_h": [[W_h]], "b": [b], "V": [[GAIN]], "c": [0], "x": x}


def random_state(seed: int, E: int, D: int, n_outputs: int, n_steps: int) -> dict:
    rng = generator(seed)

    def draw(*shape: int) -> list:
        return torch.randn(*shape, generator=rng, dtype=torch.float64).tolist()

    x = torch.randint(-1, 2, (n_steps, E), generator=rng).tolist()
    return {
        "W_x": draw(E, D),
        "W_h": draw(D, D),
        "b": draw(D),
        "V": draw(D, n_outputs),
        "c": draw(n_outputs),
        "x": x,
    }


def shown(value: float, digits: int = 2) -> str:
    text = f"{value:.{digits}f}"
    return text.replace("-", "" if float(text) == 0 else MINUS)


# ---- pages ----


def write_page(
    folder: Path,
    *,
    model: dict | None = None,
    model_first: bool = True,
    theme: str = "",
) -> str:
    """Write a page with this lab, with the ``model`` given or none; return its address.

    The model that the book has is left out, so that no test depends on it.
    """
    _, core, *_, script = lab_files("unroll-it")
    scripts = [core.as_uri(), script.as_uri()]
    if model is not None:
        (folder / "model.js").write_text(
            "window.UnrolledLab = window.UnrolledLab || {};\n"
            "UnrolledLab.models = UnrolledLab.models || {};\n"
            f"UnrolledLab.models['flip-flop'] = {json.dumps(model)};\n"
        )
        scripts.insert(0 if model_first else 2, "model.js")
    return labs.write_page(folder, "unroll-it", scripts=scripts, theme=theme)


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(write_page(tmp_path))
    yield blocked_page.page
    blocked_page.assert_clean()


def drawn(page: Page) -> dict[str, str]:
    """Return the numbers printed in the chain: x-3-0, h-3-0, y-3-0 and so on."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('svg [data-show]')]
          .map(node => [node.dataset.show, node.textContent]))"""
    )


def states(page: Page, n: int = 8) -> list[str]:
    numbers = drawn(page)
    return [numbers[f"h-{t}-0"] for t in range(1, n + 1)]


def choice(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name)


def expect_step(page: Page, step: int, n: int = 8) -> None:
    expect(page.get_by_text(f"Step {step} of {n}", exact=True)).to_be_visible()


def press(page: Page, name: str, times: int = 1) -> None:
    for _ in range(times):
        # Forced: at the first or last step a button is off, and a click does nothing.
        page.get_by_role("button", name=name).click(force=True)


def give(page: Page, step: int, order: str) -> None:
    pad = page.get_by_role("group", name=f"Input at step {step}", exact=True)
    pad.get_by_role("radio", name=order, exact=True).click()


def expect_states(page: Page, state: dict) -> None:
    """The chain shows the package's numbers for this state, and nothing else."""
    run = by_package(state)
    expected = {f"h-0-{j}": "0.00" for j in range(len(state["b"]))}
    for t, row in enumerate(state["x"], start=1):
        signs = {1: "+1", 0: "0", -1: f"{MINUS}1"}
        expected |= {f"x-{t}-{i}": signs[x_i] for i, x_i in enumerate(row)}
        for key in "hy":
            numbers = enumerate(run[key][t - 1].tolist())
            expected |= {f"{key}-{t}-{j}": shown(v) for j, v in numbers}
    assert drawn(page) == expected


# ---- the numbers ----


def assert_same_numbers(page: Page, state: dict) -> None:
    run = page.evaluate("s => UnrolledLab.compute['unroll-it'](s)", state)
    for key, expected in by_package(state).items():
        actual = torch.tensor(run[key], dtype=torch.float64)
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_presets_agree_with_the_package(page):
    found = page.evaluate("UnrolledLab.labs['unroll-it'].presets")
    weights = {p["text"]: (p["W_x"], p["W_h"], p["b"]) for p in found}
    assert weights == PRESETS
    assert page.evaluate("UnrolledLab.labs['unroll-it'].gain") == GAIN
    for W_x, W_h, b in weights.values():
        assert_same_numbers(page, one_unit(W_x, W_h, b, START))


@pytest.mark.parametrize("size", [(1, 1, 1), (2, 2, 2), (3, 4, 2), (1, 5, 1)])
def test_random_networks_agree_with_the_package(page, size):
    for seed in range(10):
        assert_same_numbers(page, random_state(seed, *size, n_steps=4 + seed))


def settled(W_h: torch.Tensor, b: torch.Tensor, n: int) -> torch.Tensor:
    """Leave ``RNNCell`` in silence from many states; return its last two states.

    Every unit is a network of its own (W_h is diagonal), every row another start.
    """
    cell = RNNCell(1, len(b)).double()
    with torch.no_grad():
        cell.W_h.copy_(W_h.diag())
        cell.b.copy_(b)
        h = torch.linspace(-1, 1, 42, dtype=torch.float64)[:, None].expand(-1, len(b))
        for _ in range(n):
            before, h = h, cell(torch.zeros(len(h), 1, dtype=torch.float64), h)
    return torch.stack([before, h])  # (2, starts, networks)


def test_resting_values_are_where_the_package_comes_to_rest(page):
    grid = torch.cartesian_prod(
        torch.arange(-3, 3.01, 0.15, dtype=torch.float64),
        torch.tensor([0, 0.05, 0.4, -1.1, 2], dtype=torch.float64),
    )
    W_h, b = grid.T
    before, last = settled(W_h, b, 3000)
    counts = set()
    for n, (w, bias) in enumerate(grid.tolist()):
        state = one_unit(4, w, bias, START)
        rests = page.evaluate("s => UnrolledLab.compute['unroll-it'](s).rests", state)
        counts.add(len(rests))
        still = bool((last[:, n] - before[:, n]).abs().max() < 1e-6)
        assert still == bool(rests), (w, bias)
        if rests:
            found = sorted({round(h, 6) + 0.0 for h in last[:, n].tolist()})
            assert rests == pytest.approx(found, abs=2e-6), (w, bias)
    assert counts == {0, 1, 2}
    two = random_state(0, 1, 2, 1, n_steps=3)
    run = page.evaluate("s => UnrolledLab.compute['unroll-it'](s)", two)
    assert run["rests"] is None


def test_at_the_border_the_state_rests_though_slowly(page):
    for w in (1, -1):
        state = one_unit(4, w, 0, START)
        rests = page.evaluate("s => UnrolledLab.compute['unroll-it'](s).rests", state)
        assert rests == pytest.approx([0], abs=1e-6)
        W_h = torch.tensor([w], dtype=torch.float64)
        assert settled(W_h, torch.zeros_like(W_h), 20_000).abs().max() < 0.01


def test_the_plot_says_where_the_state_rests(page):
    labels = page.locator(".lab-rests span")
    wanted = {
        "2": [f"rests at {MINUS}0.96", "rests at 0.96"],
        "0.7": ["rests at 0.00"],
        "-2": ["never rests"],
    }
    for weight, texts in wanted.items():
        page.get_by_role("slider", name="memory weight").fill(weight)
        expect(labels).to_have_text(texts)
        lines = page.locator(".lab-rest")
        expect(lines).to_have_count(len(texts) if weight != "-2" else 0)
        plot = page.get_by_role("img", name="The state over time")
        expect(plot).to_have_accessible_name(re.compile(r"In silence it (rests|never)"))
    page.get_by_role("slider", name="memory weight").fill("1.05")
    boxes = [label.bounding_box() for label in labels.all()]
    low, high = sorted(boxes, key=lambda box: -box["y"])
    assert high["y"] + high["height"] <= low["y"]  # two labels, apart
    page.get_by_role("checkbox", name="Hide later steps").check()
    expect(labels).to_have_count(0)
    press(page, "Next step", 7)
    expect(labels).to_have_count(2)


def test_latch_is_right_and_the_others_are_not(page):
    verdicts = {}
    for text, (W_x, W_h, b) in PRESETS.items():
        state = one_unit(W_x, W_h, b, START)
        run = page.evaluate("s => UnrolledLab.compute['unroll-it'](s)", state)
        verdicts[text.split(":")[0]] = [row[0] for row in run["verdict"]]
        assert [row[0] for row in run["truth"]] == [1, 1, 1, -1, -1, 1, 1, 1]
    assert set(verdicts["Latch"]) == {"right"}
    assert set(verdicts["Fading echo"]) == {"right", "unsure"}
    assert set(verdicts["Wobble"]) == {"right", "wrong"}
    assert set(verdicts["No memory"]) == {"right", "unsure"}


# ---- the mouse ----


def test_it_opens_with_the_latch(page):
    expect_states(page, one_unit(4, 2, 0, START))
    expect_step(page, 1)
    expect(page.locator(".unrolled-lab")).not_to_contain_text("It needs JavaScript")


def factor(number: float, digits: int) -> str:
    text = shown(number, digits)
    return f"({text})" if text.startswith(MINUS) else text


def worked_lines(state: dict, t: int, digits: int = 2) -> list[str]:
    """Write out step ``t``, from 1: products and sum, tanh, read-out, sigmoid.

    Weights have as many ``digits``, what is computed has three.
    """
    run = {key: rows.tolist() for key, rows in by_package(state).items()}
    before = run["h"][t - 2] if t > 1 else [0.0] * len(state["b"])
    a, h, o, y = (run[key][t - 1] for key in "ahoy")

    def products(v: list, W: list, j: int, own: int = 3) -> list[str]:
        return [f"{factor(n, own)}·{factor(W[i][j], digits)}" for i, n in enumerate(v)]

    lines = []
    for j, b_j in enumerate(state["b"]):
        terms = products(state["x"][t - 1], state["W_x"], j, 0)
        terms += [*products(before, state["W_h"], j), factor(b_j, digits)]
        lines += [f"= {' + '.join(terms)} = {shown(a[j], 3)}"]
        lines += [f"= tanh({shown(a[j], 3)}) = {shown(h[j], 3)}"]
    for k, c_k in enumerate(state["c"]):
        terms = [*products(h, state["V"], k), factor(c_k, digits)]
        lines += [f"= {' + '.join(terms)} = {shown(o[k], 3)}"]
        lines += [f"= {SIGMA}({shown(o[k], 3)}) = {shown(y[k], 3)}"]
    return lines


def expect_worked(page: Page, state: dict, t: int, digits: int = 2) -> None:
    text = " ".join(page.locator(".lab-worked").text_content().split())
    for line in worked_lines(state, t, digits):
        assert line in text


def test_stepping_shows_the_worked_step(page):
    choice(page, "Network").select_option("echo")
    page.get_by_role("slider", name="bias").fill("-0.25")
    state = one_unit(1, 0.7, -0.25, START)
    for t in range(1, 9):
        expect_worked(page, state, t)
        press(page, "Next step")
    press(page, "Back one step", 6)
    expect_worked(page, state, 2)
    status = page.locator('[role="status"]')
    expect(status).to_contain_text("Step 2 of 8: the network reads nothing")


def test_an_input_changes_later_states_and_no_earlier_one(page):
    before = states(page)
    give(page, 4, "nothing")
    changed = [1, 0, 0, 0, 0, 1, 0, 0]
    expect_states(page, one_unit(4, 2, 0, changed))
    after = states(page)
    assert after[:3] == before[:3]
    assert after[3] != before[3]
    assert after[4] != before[4]
    expect(page.locator(".lab-chain + .lab-note")).to_contain_text("steps 1 to 3 stay")


def test_dragging_a_slider_changes_every_number(page):
    slider = page.get_by_role("slider", name="memory weight")
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 5 / 6, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
    page.mouse.up()
    W_h = float(slider.input_value())
    assert 0 < W_h < 1.5
    expect_states(page, one_unit(4, W_h, 0, START))
    assert choice(page, "Network").input_value() == "own"
    page.get_by_role("slider", name="bias").fill("-0.35")
    page.get_by_role("slider", name="input weight").fill("1.2")
    expect_states(page, one_unit(1.2, W_h, -0.35, START))


def test_presets_and_length(page):
    choice(page, "Network").select_option("alternate")
    expect_states(page, one_unit(4, -2, 0, START))
    press(page, "Add a step", 20)
    expect_states(page, one_unit(4, -2, 0, START + [0] * 8))
    give(page, 16, "reset")
    expect_states(page, one_unit(4, -2, 0, [*START, *[0] * 7, -1]))
    press(page, "Remove a step", 20)
    expect_states(page, one_unit(4, -2, 0, START[:2]))
    press(page, "Next step")
    press(page, "Start over")
    expect_states(page, one_unit(4, -2, 0, START))  # the network stays as it was
    assert choice(page, "Network").input_value() == "alternate"
    expect_step(page, 1)


def test_orders_can_be_chosen(page):
    orders = choice(page, "Orders")
    texts = orders.locator("option").all_inner_texts()
    assert texts[:2] == [
        "set, -, -, reset, -, set, -, -".replace("-", "\N{EN DASH}"),
        "set, then fifteen silent steps",
    ]
    press(page, "Next step", 5)
    orders.select_option("silence")
    expect_states(page, one_unit(4, 2, 0, SILENCE))
    expect_step(page, 1, 16)
    page.get_by_role("slider", name="memory weight").fill("0.9")
    expect_states(page, one_unit(4, 0.9, 0, SILENCE))
    give(page, 3, "reset")
    assert orders.input_value() == "own"
    press(page, "Start over")  # as they were last chosen
    expect_states(page, one_unit(4, 0.9, 0, SILENCE))
    assert orders.input_value() == "silence"
    press(page, "Remove a step")
    orders.select_option("own")
    expect_states(page, one_unit(4, 0.9, 0, SILENCE[:15]))
    orders.select_option("mixed")
    expect_states(page, one_unit(4, 0.9, 0, START))
    give(page, 2, "set")
    give(page, 2, "nothing")
    assert orders.input_value() == "mixed"


def test_a_click_on_a_column_selects_its_step(page):
    for step, part in [(4, "h-4-0"), (7, "y-7-0"), (2, "x-2-0")]:
        box = page.locator(f'svg [data-show="{part}"]').bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect_step(page, step)
    page.keyboard.press("ArrowRight")
    expect_step(page, 3)
    page.get_by_role("img", name="The state over time").locator(
        '[data-step="7"]'
    ).click()
    expect_step(page, 8)
    start = page.locator('svg [data-show="h-0-0"]').bounding_box()
    page.mouse.click(start["x"], start["y"])  # no step: nothing happens
    expect_step(page, 8)


def test_later_steps_can_be_hidden(page):
    page.get_by_role("checkbox", name="Hide later steps").check()
    press(page, "Next step")
    assert [text == "?" for text in states(page)] == [False] * 2 + [True] * 6
    page.get_by_text("The numbers as a table").click()
    rows = page.locator("table tbody tr")
    assert "?" not in rows.nth(1).inner_text()
    assert "?" in rows.nth(2).inner_text()


def test_what_is_hidden_is_not_announced(page):
    note = page.locator(".lab-chain + .lab-note")
    status = page.locator('[role="status"]')
    hide = page.get_by_role("checkbox", name="Hide later steps")
    give(page, 1, "reset")
    expect(note).to_contain_text(
        "From step 1 on the states move, by up to 2.00 at step 1"
    )
    hide.check()  # and what was said before is taken back
    expect(note).to_contain_text("Change an order below any step")
    press(page, "Next step")
    give(page, 4, "set")
    for said in (note, status):
        expect(said).to_contain_text("The states of steps 1 to 3 stay as they were.")
        expect(said).to_contain_text("From step 4 on the states can move")
        expect(said).not_to_contain_text(re.compile(r"\d\.\d"))
    press(page, "Next step", 6)
    give(page, 8, "reset")
    expect(note).to_contain_text("the states move, by up to")


def test_the_small_print_explains_the_read_out(page):
    small = page.locator(".lab-worked .lab-note")
    expect(small).to_contain_text("V is fixed at 3 and c at 0.")
    expect(small).to_contain_text("With two answers one score is enough:")
    expect(small).to_contain_text(f"{SIGMA}(o) = 1/(1 + e{MINUS}o)")
    expect(small).to_contain_text("softmax of (o, 0)")
    assert GAIN == 3
    z = page.evaluate("UnrolledLab.tools.softmax([1.7, 0])[0]")
    assert z == pytest.approx(page.evaluate("UnrolledLab.tools.sigmoid(1.7)"))


def test_no_brackets_around_a_negative_zero(blocked_page, tmp_path):
    model = random_state(3, 2, 2, 2, n_steps=1)
    model |= {"b": [-0.0004, 0.3], "c": [-0.0001, -0.25]}
    page = blocked_page.page
    page.goto(write_page(tmp_path, model=model))
    choice(page, "Network").select_option("trained")
    x = [[START[t], START[(t + 3) % 8]] for t in range(8)]
    expect_worked(page, {**model, "x": x}, 1, digits=3)
    text = page.locator(".lab-worked").text_content()
    assert "(0.000)" not in text
    assert f"({MINUS}0.250)" in text
    blocked_page.assert_clean()


def test_the_table_holds_the_numbers(page):
    page.get_by_text("The numbers as a table").click()
    run = by_package(one_unit(4, 2, 0, START))
    for t in range(len(START)):
        cells = page.locator("table tbody tr").nth(t).locator("td").all_inner_texts()
        numbers = [shown(float(run[key][t]), 4) for key in "ahoy"]
        assert cells[1:5] == numbers


# ---- a trained network ----


@pytest.mark.parametrize("model_first", [True, False])
def test_a_model_with_two_units(blocked_page, tmp_path, model_first):
    model = random_state(3, 2, 2, 2, n_steps=1)
    model.pop("x")
    page = blocked_page.page
    page.goto(write_page(tmp_path, model=model, model_first=model_first))
    expect(page.get_by_role("slider")).to_have_count(3)
    expect(page.locator(".lab-trained")).to_be_hidden()
    choice(page, "Network").select_option("trained")
    expect(page.get_by_role("slider")).to_have_count(0)  # trained weights stay
    expect(page.locator(".lab-matrices")).to_contain_text(shown(model["W_h"][0][1]))
    x = [[START[t], START[(t + 3) % 8]] for t in range(8)]
    assert_same_numbers(page, {**model, "x": x})
    expect_states(page, {**model, "x": x})
    pad = page.get_by_role("group", name="Input at step 5, wire 2")
    pad.get_by_role("radio", name="reset").click()
    x[4][1] = -1
    expect_states(page, {**model, "x": x})
    press(page, "Next step", 4)
    expect_worked(page, {**model, "x": x}, 5, digits=3)
    lab_text = page.locator(".unrolled-lab")
    expect(lab_text).to_contain_text("No unit belongs to one wire by design; V sorts")
    expect(lab_text).to_contain_text("nothing on wire 1 and reset on wire 2")
    expect(lab_text).not_to_contain_text(re.compile("switch|fixed at"))
    blocked_page.assert_clean()


def test_without_the_model_the_option_is_absent(page):
    assert page.locator("option[value=trained]").count() == 0


def test_the_exported_model_if_there_is_one(blocked_page, tmp_path):
    files = [path for path in lab_files("unroll-it") if path.parent.name == "models"]
    page = blocked_page.page
    page.goto(write_page(tmp_path))
    for path in files:
        page.add_script_tag(path=path)
        model = page.evaluate(f"UnrolledLab.models['{path.stem}']")
        E = len(model["W_x"])
        x = torch.randint(-1, 2, (12, E), generator=generator(0)).tolist()
        assert_same_numbers(page, {**model, "x": x})
    blocked_page.assert_clean()


# ---- keys, motion, width, contrast ----


def test_so_many_controls_are_reached_by_tab(page):
    kinds = [kind for kind, *_ in labs.tab_through(page)]
    expected = {
        "select-one": 2,
        "checkbox": 1,
        "range": 3,
        "button": 8,
        "region": 1,
        "radio": 8,
        "SUMMARY": 1,
    }
    assert {kind: kinds.count(kind) for kind in kinds} == expected


def test_keys_step_and_set(page):
    chain = page.get_by_role("region", name="the unrolled network")
    chain.focus()
    steps = {"ArrowRight": 2, "End": 8, "ArrowLeft": 7, "Home": 1}
    for key, step in steps.items():
        page.keyboard.press(key)
        expect_step(page, step)
    press(page, "Next step")
    page.keyboard.press("ArrowRight")  # the focus is on the button
    expect_step(page, 3)
    page.get_by_role("checkbox", name="Hide later steps").focus()
    page.keyboard.press("Home")
    expect_step(page, 1)
    pad = page.get_by_role("group", name="Input at step 2", exact=True)
    pad.get_by_role("radio", name="nothing").focus()
    page.keyboard.press("ArrowDown")
    expect_states(page, one_unit(4, 2, 0, [1, -1, *START[2:]]))
    expect_step(page, 1)
    page.get_by_role("slider", name="bias").focus()
    page.keyboard.press("ArrowRight")
    expect_states(page, one_unit(4, 2, 0.05, [1, -1, *START[2:]]))
    choice(page, "Network").focus()
    page.keyboard.press("End")
    page.get_by_text("The numbers as a table").click()
    page.keyboard.press("ArrowRight")
    page.get_by_role("region", name="every number of the run").focus()
    page.keyboard.press("ArrowRight")  # scrolls the table
    expect_step(page, 1)


def test_keys_in_the_lab_do_not_turn_the_page(page):
    page.evaluate(
        "() => { document.onkeydown = e => { document.title += ' ' + e.key; }; }"
    )
    press(page, "Next step")
    page.keyboard.press("ArrowLeft")
    expect_step(page, 1)
    page.keyboard.press("Shift+ArrowRight")
    expect_step(page, 1)
    assert page.title() == "Labs Shift ArrowRight"  # only what is not for the lab


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_it_plays_when_told_to_and_not_with_less_motion(open_page, tmp_path, motion):
    blocked = open_page(reduced_motion=motion)
    page = blocked.page
    page.clock.install()
    page.goto(write_page(tmp_path))
    page.clock.run_for(10_000)
    expect_step(page, 1)
    play = page.get_by_role("button", name="Play")
    if motion == "reduce":
        expect(play).to_have_count(0)
        press(page, "Next step")
        page.clock.run_for(10_000)
        expect_step(page, 2)
    else:
        play.click()
        page.clock.run_for(2_500)
        expect_step(page, 4)
        page.clock.run_for(10_000)
        expect_step(page, 8)
        expect(play).to_have_count(1)  # and not "Pause"
    blocked.assert_clean()


def test_a_narrow_screen_shows_the_present_step(open_page, tmp_path):
    model = random_state(3, 2, 2, 2, n_steps=1)
    blocked = open_page(viewport={"width": 360, "height": 740})
    page = blocked.page
    page.goto(write_page(tmp_path, model=model))
    page.get_by_text("The numbers as a table").click()
    press(page, "Add a step", 8)
    root = "document.documentElement"
    for network in ("latch", "trained"):
        choice(page, "Network").select_option(network)
        page.get_by_role("region", name="the unrolled network").focus()
        page.keyboard.press("End")
        assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
        last = page.locator('svg [data-show="h-16-0"]').bounding_box()
        assert 0 <= last["x"] <= 360  # the present step was brought into view
    blocked.assert_clean()


def in_column(page: Page, width: int) -> Locator:
    """Give the lab so much room inside its card; return the chain."""
    page.locator("main").evaluate(
        """(main, width) => {
          const style = getComputedStyle(main.querySelector('.unrolled-lab'));
          const sides = ['paddingLeft', 'paddingRight', 'borderLeftWidth',
            'borderRightWidth'].map(side => parseFloat(style[side]));
          main.style.width = width + sides.reduce((a, b) => a + b) + 'px';
        }""",
        width,
    )
    chain = page.get_by_role("region", name="the unrolled network")
    expect(chain).to_have_js_property("clientWidth", width)
    return chain


def test_eight_steps_fit_in_the_column_of_the_book(page):
    chain = in_column(page, 640)
    page.wait_for_function(
        """() => { const chain = document.querySelector('.lab-chain');
                   return chain.scrollWidth <= chain.clientWidth; }"""
    )
    words = chain.locator(".lab-radio span").evaluate_all(
        "all => all.map(n => [n.offsetWidth, n.parentElement.clientWidth])"
    )
    assert all(word <= room for word, room in words)


def test_an_edge_with_more_behind_it_is_shaded(page):
    chain = in_column(page, 400)
    ground = chain.evaluate("node => getComputedStyle(node).backgroundAttachment")
    assert ground == "local, local, scroll, scroll"

    def edges() -> list[bool]:
        """Is there shade at the left, and at the right, near the foot of the chain?"""
        box = chain.bounding_box()
        y = box["y"] + box["height"] - 3
        card = page.locator(".unrolled-lab").evaluate(
            "node => getComputedStyle(node).backgroundColor"
        )
        clip = {"y": y, "width": 1, "height": 1}
        spots = [box["x"], box["x"] + box["width"] - 1]
        shots = [page.screenshot(clip={"x": x, **clip}) for x in spots]
        return [pixel(page, shot) != card for shot in shots]

    page.evaluate("document.querySelector('.lab-chain').scrollIntoView()")
    assert edges() == [False, True]
    chain.evaluate("node => { node.scrollLeft = 100; }")
    assert edges() == [True, True]
    chain.evaluate("node => { node.scrollLeft = 9999; }")
    assert edges() == [True, False]
    label = page.locator(".lab-rests span").first.bounding_box()
    box = chain.bounding_box()
    beside = box["x"] + box["width"] - (label["x"] + label["width"])
    assert 0 <= beside < 12  # the label has stayed at the right


def pixel(page: Page, png: bytes) -> str:
    return page.evaluate(
        """async data => {
          const image = new Image();
          image.src = 'data:image/png;base64,' + data;
          await image.decode();
          const canvas = new OffscreenCanvas(1, 1).getContext('2d');
          canvas.drawImage(image, 0, 0);
          const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
          return `rgb(${r}, ${g}, ${b})`;
        }""",
        b64encode(png).decode(),
    )


@pytest.mark.parametrize("width", [360, 390, 1300])
def test_the_stepper_stands_between_the_chain_and_the_arithmetic(
    open_page, tmp_path, width
):
    page = open_page(viewport={"width": width, "height": 844}).page
    page.goto(write_page(tmp_path))
    chain, stepper, worked = (
        page.locator(name).bounding_box()
        for name in (".lab-chain", ".lab-stepper", ".lab-worked")
    )
    assert chain["y"] + chain["height"] <= stepper["y"]
    assert 0 <= worked["y"] - (stepper["y"] + stepper["height"]) <= 16
    assert stepper["height"] < 60  # one row, also on a phone
    press(page, "Next step")
    before = page.get_by_role("button", name="Next step").bounding_box()["y"]
    press(page, "Next step", 3)
    after = page.get_by_role("button", name="Next step").bounding_box()["y"]
    assert after == before  # it stays under the finger


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_wherever_it_is_led(blocked_page, tmp_path, theme):
    model = random_state(3, 2, 2, 2, n_steps=1)
    page = blocked_page.page
    page.goto(write_page(tmp_path, model=model, theme=f'data-theme="{theme}"'))
    page.get_by_text("The numbers as a table").click()
    assert violations(page) == []
    choice(page, "Orders").select_option("silence")  # scrolls
    assert violations(page) == []
    choice(page, "Network").select_option("trained")
    press(page, "Back one step")
    assert violations(page) == []
    blocked_page.assert_clean()


# ---- in a live notebook ----


def test_two_copies_have_numbers_of_their_own(blocked_page, tmp_path):
    page = blocked_page.page
    page.goto(labs.write_live(tmp_path, "unroll-it", "unroll-it"))
    copies = page.locator(".unrolled-lab")
    expect(copies).to_have_count(2)
    copies.nth(1).get_by_role("slider", name="bias").fill("1")
    state = copies.nth(1).locator('svg [data-show="h-3-0"]')
    run = by_package(one_unit(4, 2, 1, START))
    assert state.text_content() == shown(float(run["h"][2]))
    run = by_package(one_unit(4, 2, 0, START))
    other = copies.nth(0).locator('svg [data-show="h-3-0"]')
    assert other.text_content() == shown(float(run["h"][2]))
    blocked_page.assert_clean()
