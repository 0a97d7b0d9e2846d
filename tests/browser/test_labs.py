"""The labs run in the page: right numbers, by mouse and by keys, for every reader."""

import json
from pathlib import Path

import axe_playwright_python
import pytest
import torch
from playwright.sync_api import Page, expect

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.runtime import book_folder, generator
from unrolled.widgets import GAIN, PRESETS, lab, lab_files

pytestmark = pytest.mark.browser

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
START = [1, 0, 0, -1, 0, 1, 0, 0]
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"


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
    return text.replace("-", "" if float(text) == 0 else "\N{MINUS SIGN}")


# ---- pages ----


def write_page(
    folder: Path,
    *,
    model: dict | None = None,
    model_first: bool = True,
    theme: str = "",
) -> str:
    """Write a page as the book has it, loaded by file://; return its address."""
    style, core, *_, script = lab_files("unroll-it")
    scripts = [core.as_uri(), script.as_uri()]
    if model is not None:
        (folder / "model.js").write_text(
            "window.UnrolledLab = window.UnrolledLab || {};\n"
            "UnrolledLab.models = UnrolledLab.models || {};\n"
            f"UnrolledLab.models['flip-flop'] = {json.dumps(model)};\n"
        )
        scripts.insert(0 if model_first else 2, "model.js")
    tags = "".join(f'<script defer src="{address}"></script>' for address in scripts)
    page = folder / "page.html"
    page.write_text(
        f'<!doctype html><html lang="en" {theme}><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>Labs</title><link rel="stylesheet" href="{style.as_uri()}">{tags}'
        f"</head><body><main><h1>Labs</h1>{lab('unroll-it').placeholder()}</main>"
        "</body></html>"
    )
    return page.as_uri()


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


def press(page: Page, name: str, times: int = 1) -> None:
    for _ in range(times):
        # Forced: at the first or last step a button is off, and a click does nothing.
        page.get_by_role("button", name=name).click(force=True)


def give(page: Page, step: int, order: str) -> None:
    pad = page.get_by_role("group", name=f"Input at step {step}", exact=True)
    pad.get_by_role("radio", name=order).click()


def expect_states(page: Page, state: dict) -> None:
    """The chain shows the package's numbers for this state, and nothing else."""
    run = by_package(state)
    expected = {f"h-0-{j}": "0.00" for j in range(len(state["b"]))}
    for t, row in enumerate(state["x"], start=1):
        signs = {1: "+1", 0: "0", -1: "\N{MINUS SIGN}1"}
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


def test_helpers_agree_with_torch(page):
    z = torch.randn(7, generator=generator(0), dtype=torch.float64) * 300
    for name, oracle in {"softmax": torch.softmax(z, 0), "add": z + z}.items():
        call = "z, z" if name == "add" else "z"
        actual = page.evaluate(f"z => UnrolledLab.tools.{name}({call})", z.tolist())
        expected = oracle.tolist()
        assert actual == pytest.approx(expected, rel=1e-12)
    actual = page.evaluate("z => z.map(UnrolledLab.tools.sigmoid)", z.tolist())
    assert actual == pytest.approx(torch.sigmoid(z).tolist(), rel=1e-12)
    formats = page.evaluate("[-0.001, -1.5, 2].map(v => UnrolledLab.tools.fmt(v))")
    assert formats == ["0.00", "\N{MINUS SIGN}1.50", "2.00"]


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
    assert page.get_by_text("Step 1 of 8", exact=True).is_visible()
    expect(page.locator(".unrolled-lab")).not_to_contain_text("It needs JavaScript")


def factor(number: float, digits: int = 2) -> str:
    return f"({shown(number, digits)})" if number < 0 else shown(number, digits)


def worked_lines(state: dict, t: int) -> list[str]:
    """Write out step ``t``, from 1: products and sum, tanh, read-out, sigmoid."""
    run = {key: rows.tolist() for key, rows in by_package(state).items()}
    before = run["h"][t - 2] if t > 1 else [0.0] * len(state["b"])
    a, h, o, y = (run[key][t - 1] for key in "ahoy")

    def products(v: list, W: list, j: int, digits: int = 2) -> list[str]:
        return [f"{factor(n, digits)}·{factor(W[i][j])}" for i, n in enumerate(v)]

    lines = []
    for j, b_j in enumerate(state["b"]):
        terms = products(state["x"][t - 1], state["W_x"], j, 0)
        terms += [*products(before, state["W_h"], j), factor(b_j)]
        lines += [f"= {' + '.join(terms)} = {shown(a[j])}"]
        lines += [f"= tanh({shown(a[j])}) = {shown(h[j])}"]
    for k, c_k in enumerate(state["c"]):
        terms = [*products(h, state["V"], k), factor(c_k)]
        lines += [f"= {' + '.join(terms)} = {shown(o[k])}"]
        lines += [f"= {SIGMA}({shown(o[k])}) = {shown(y[k])}"]
    return lines


def expect_worked(page: Page, state: dict, t: int) -> None:
    text = " ".join(page.locator(".lab-worked").text_content().split())
    for line in worked_lines(state, t):
        assert line in text


def test_stepping_shows_the_worked_step(page):
    page.get_by_role("combobox").select_option("echo")
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
    expect(page.locator(".lab-note").first).to_contain_text("steps 1 to 3 stay")


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
    assert page.get_by_role("combobox").input_value() == "own"
    page.get_by_role("slider", name="bias").fill("-0.35")
    page.get_by_role("slider", name="input weight").fill("1.2")
    expect_states(page, one_unit(1.2, W_h, -0.35, START))


def test_presets_and_length(page):
    page.get_by_role("combobox").select_option("alternate")
    expect_states(page, one_unit(4, -2, 0, START))
    press(page, "Add a step", 20)
    expect_states(page, one_unit(4, -2, 0, START + [0] * 8))
    give(page, 16, "reset")
    expect_states(page, one_unit(4, -2, 0, [*START, *[0] * 7, -1]))
    press(page, "Remove a step", 20)
    expect_states(page, one_unit(4, -2, 0, START[:2]))
    press(page, "Start over")
    expect_states(page, one_unit(4, 2, 0, START))


def test_later_steps_can_be_hidden(page):
    page.get_by_role("checkbox", name="Hide later steps").check()
    press(page, "Next step")
    assert [text == "?" for text in states(page)] == [False] * 2 + [True] * 6
    page.get_by_text("The numbers as a table").click()
    rows = page.locator("table tbody tr")
    assert "?" not in rows.nth(1).inner_text()
    assert "?" in rows.nth(2).inner_text()


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
    expect(page.locator(".lab-matrices")).to_be_hidden()
    page.get_by_role("combobox").select_option("trained")
    expect(page.get_by_role("slider")).to_have_count(0)  # trained weights stay
    expect(page.locator(".lab-matrices")).to_contain_text(shown(model["W_h"][0][1]))
    x = [[START[t], START[(t + 3) % 8]] for t in range(8)]
    assert_same_numbers(page, {**model, "x": x})
    expect_states(page, {**model, "x": x})
    pad = page.get_by_role("group", name="Input at step 5, switch 2")
    pad.get_by_role("radio", name="reset").click()
    x[4][1] = -1
    expect_states(page, {**model, "x": x})
    press(page, "Next step", 4)
    expect_worked(page, {**model, "x": x}, 5)
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


def test_every_control_is_reached_by_tab_with_a_visible_focus(page):
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
              const at = document.activeElement;
              if (!at.closest('.unrolled-lab')) return null;
              const ring = at.type === 'radio' ? at.closest('fieldset') : at;
              return [at.type || at.getAttribute('role') || at.tagName,
                      parseFloat(getComputedStyle(ring).outlineWidth)];
            }"""
        )
        if found is None:
            break
        seen.append(found)
    assert all(width >= 2 for _, width in seen)
    kinds = [kind for kind, _ in seen]
    expected = {
        "select-one": 1,
        "checkbox": 1,
        "range": 3,
        "button": 6,
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
        assert page.get_by_text(f"Step {step} of 8", exact=True).is_visible()
    pad = page.get_by_role("group", name="Input at step 2", exact=True)
    pad.get_by_role("radio", name="nothing").focus()
    page.keyboard.press("ArrowDown")
    expect_states(page, one_unit(4, 2, 0, [1, -1, *START[2:]]))
    assert page.get_by_text("Step 1 of 8", exact=True).is_visible()
    page.get_by_role("slider", name="bias").focus()
    page.keyboard.press("ArrowRight")
    expect_states(page, one_unit(4, 2, 0.05, [1, -1, *START[2:]]))


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_plays_by_itself(open_page, tmp_path, motion):
    blocked = open_page(reduced_motion=motion)
    page = blocked.page
    page.clock.install()
    page.goto(write_page(tmp_path))
    page.clock.run_for(10_000)
    assert page.get_by_text("Step 1 of 8", exact=True).is_visible()
    play = page.get_by_role("button", name="Play")
    if motion == "reduce":
        expect(play).to_have_count(0)
        press(page, "Next step")
        page.clock.run_for(10_000)
        assert page.get_by_text("Step 2 of 8", exact=True).is_visible()
    else:
        play.click()
        page.clock.run_for(2_500)
        assert page.get_by_text("Step 4 of 8", exact=True).is_visible()
        page.clock.run_for(10_000)
        assert page.get_by_text("Step 8 of 8", exact=True).is_visible()
        expect(play).to_have_count(1)  # and not "Pause"
    blocked.assert_clean()


def test_a_narrow_screen_does_not_scroll_sideways(open_page, tmp_path):
    model = random_state(3, 2, 2, 2, n_steps=1)
    blocked = open_page(viewport={"width": 360, "height": 740})
    page = blocked.page
    page.goto(write_page(tmp_path, model=model))
    page.get_by_text("The numbers as a table").click()
    press(page, "Add a step", 8)
    root = "document.documentElement"
    for network in ("latch", "trained"):
        page.get_by_role("combobox").select_option(network)
        page.get_by_role("region", name="the unrolled network").focus()
        page.keyboard.press("End")
        assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
        last = page.locator('svg [data-show="h-16-0"]').bounding_box()
        assert 0 <= last["x"] <= 360  # the present step was brought into view
    blocked.assert_clean()


def test_targets_are_large_enough(page):
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(
          '.lab-button, select, summary, .lab-radio, .lab-check, input[type=range]')]
          .map(node => node.getBoundingClientRect().height)"""
    )
    assert len(sizes) > 30
    assert min(sizes) >= 24


def run_axe(page: Page) -> list[str]:
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run({preload: false})")["violations"]
    return [f"{v['id']}: {node['html'][:120]}" for v in found for node in v["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(blocked_page, tmp_path, theme):
    model = random_state(3, 2, 2, 2, n_steps=1)
    page = blocked_page.page
    theme_attribute = f'data-theme="{theme}"'
    page.goto(write_page(tmp_path, model=model, theme=theme_attribute))
    page.add_style_tag(
        content="body { background: %s }"
        % ("#14181e; color: #ddd" if theme == "dark" else "#fff")
    )
    page.get_by_text("The numbers as a table").click()
    assert run_axe(page) == []
    page.get_by_role("combobox").select_option("trained")
    press(page, "Back one step")
    assert run_axe(page) == []
    blocked_page.assert_clean()


def test_numbers_in_the_drawing_keep_their_contrast(open_page, tmp_path):
    # axe does not measure text in SVG: the printed number against the strongest fills.
    for theme in ("light", "dark"):
        page = open_page().page
        page.goto(write_page(tmp_path, theme=f'data-theme="{theme}"'))
        colours = custom_properties(page)
        grounds = ("card", "well", "band", "pos", "neg")
        ratios = {g: contrast(colours["ink"], colours[g]) for g in grounds}
        quiet = {g: contrast(colours["soft"], colours[g]) for g in grounds[:3]}
        lines = {c: contrast(colours[c], colours["card"]) for c in ("edge", "accent")}
        assert min([*ratios.values(), *quiet.values()]) >= 4.5, (theme, ratios, quiet)
        assert min(lines.values()) >= 3, (theme, lines)


def custom_properties(page: Page) -> dict[str, str]:
    names = (
        "card well ink soft line edge accent on-accent band pos neg good bad".split()
    )
    names += [f"series-{n}" for n in range(1, 5)]
    return page.evaluate(
        """names => Object.fromEntries(names.map(name => [name, getComputedStyle(
          document.querySelector('.unrolled-lab'))
          .getPropertyValue('--lab-' + name)]))""",
        names,
    )


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one.strip()), luminance(other.strip())])
    return (high + 0.05) / (low + 0.05)


def test_the_theme_follows_the_book_or_else_the_system(open_page, tmp_path):
    def colours(scheme: str, theme: str) -> dict[str, str]:
        page = open_page(color_scheme=scheme).page
        page.goto(write_page(tmp_path, theme=theme))
        return custom_properties(page)

    light, dark = colours("light", ""), colours("dark", "")
    assert all(light.values())
    assert light != dark
    assert colours("light", 'data-theme="dark"') == dark
    assert colours("dark", 'data-theme="light"') == light


# ---- without a script, and in a live notebook ----


def test_without_javascript_a_sentence_stands_there(open_page, tmp_path):
    page = open_page(java_script_enabled=False).page
    page.goto(write_page(tmp_path))
    assert page.get_by_text("It needs JavaScript").is_visible()


def test_live_html_works_by_itself_and_twice(blocked_page, tmp_path):
    html = lab("unroll-it").complete()
    copies = tmp_path / "live.html"
    copies.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Live</title>'
        f"</head><body><main><h1>Live</h1>{html}{html}</main></body></html>"
    )
    page = blocked_page.page
    page.goto(copies.as_uri())
    labs = page.locator(".unrolled-lab")
    expect(labs).to_have_count(2)
    labs.nth(1).get_by_role("slider", name="bias").fill("1")
    state = labs.nth(1).locator('svg [data-show="h-3-0"]')
    run = by_package(one_unit(4, 2, 1, START))
    assert state.text_content() == shown(float(run["h"][2]))
    run = by_package(one_unit(4, 2, 0, START))
    other = labs.nth(0).locator('svg [data-show="h-3-0"]')
    assert other.text_content() == shown(float(run["h"][2]))
    assert run_axe(page) == []
    blocked_page.assert_clean()


def test_live_html_put_into_a_finished_page_as_jupyterlab_does(blocked_page, tmp_path):
    page = blocked_page.page
    page.goto(write_page(tmp_path))
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
        lab("unroll-it").complete(),
    )
    expect(page.locator(".unrolled-lab")).to_have_count(2)
    blocked_page.assert_clean()


def test_the_labs_are_classic_scripts():
    for path in (book_folder() / "_static" / "labs").glob("*.js"):
        text = path.read_text("utf-8")
        assert "'use strict'" in text
        assert not any(word in text for word in ("fetch(", "import ", "export "))
