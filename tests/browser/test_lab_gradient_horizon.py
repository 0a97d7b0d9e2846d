"""Gradient horizon: the package's numbers, words that agree with them, and the keys.

What every lab must do is held in ``test_lab_core.py``.
"""

import math
import re
from functools import cache
from itertools import product

import ipywidgets
import labs
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from colours import contrast
from unrolled.evaluation.gradients import ACTIVATIONS, horizon
from unrolled.layers.initialise import (
    largest_singular_value,
    spectral_radius,
    two_by_two,
)
from unrolled.widgets import live
from unrolled.widgets.gradient_horizon import (
    GAMMA,
    PRESETS,
    horizon_numbers,
    three,
    verdict,
)

pytestmark = pytest.mark.browser

NAME = "gradient-horizon"
RHO = "\N{GREEK SMALL LETTER RHO}"
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
GAMMA_LETTER = "\N{GREEK SMALL LETTER GAMMA}"
SLIDERS = {
    "radius": "spectral radius",
    "stretch": "largest singular value",
    "T": "length",
    "push": "push",
}


# ---- the oracle: the package itself, in float64 ----


def by_package(state: dict) -> torch.Tensor:
    return _by_package(**state)


@cache  # several tests walk over the same grid
def _by_package(
    radius: float, stretch: float, T: int, activation: str, push: float
) -> torch.Tensor:
    pushes = torch.full((T, 2), push, dtype=torch.float64)
    return horizon(two_by_two(radius, stretch), pushes, activation)


def setting(
    radius: float, stretch: float, T: int, activation: str, push: float
) -> dict:
    return {
        "radius": radius,
        "stretch": stretch,
        "T": T,
        "activation": activation,
        "push": push,
    }


def grid() -> list[dict]:
    """Every activation, with settings from one end of each slider to the other."""
    radii = (0.55, 0.9, 1.0, 1.5)
    matrices = [(r, s) for r in radii for s in (r, 1.6, 6.0) if s >= r]
    lengths, pushes = (5, 25, 200), (0.0, 0.05, 0.3, 1.0, 2.0)
    return [
        setting(radius, stretch, T, activation, push)
        for (radius, stretch), T, activation, push in product(
            matrices, lengths, ACTIVATIONS, pushes
        )
    ]


def compute(page: Page, states: list[dict], keys: str) -> list[dict]:
    """Run the lab's own function; a log of minus infinity comes back as None."""
    return page.evaluate(
        """([states, keys]) => states.map(state => {
          const run = UnrolledLab.compute['gradient-horizon'](state);
          return Object.fromEntries(keys.map(key => [key, key === 'logs'
            ? run.logs.map(v => Number.isFinite(v) ? v : null) : run[key]]));
        })""",
        [states, keys.split()],
    )


# ---- the page ----


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def slider(page: Page, key: str) -> Locator:
    return page.get_by_role("slider", name=SLIDERS.get(key, key))


def choose(page: Page, text: str) -> None:
    page.get_by_role("combobox", name="Example").select_option(label=text)


def use(page: Page, state: dict) -> None:
    """Put every control where the setting says."""
    page.get_by_role("combobox", name="Activation").select_option(state["activation"])
    for key in SLIDERS:
        slider(page, key).fill(str(state[key]))


READ = """node => {
  const copy = node.cloneNode(true);
  const small = {'-': '⁻', '−': '⁻', k: 'ᵏ'};
  for (const sup of copy.querySelectorAll('sup')) {
    sup.textContent = [...sup.textContent]
      .map(c => small[c] || '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]).join('');
  }
  for (const sub of copy.querySelectorAll('sub')) {
    sub.textContent = sub.textContent.replace('1', '₁');
  }
  return copy.textContent;
}"""


def read(locator: Locator) -> str:
    """Return the text with its exponents and indices as characters."""
    return locator.evaluate(READ)


def fact(page: Page, name: str) -> str:
    return read(page.locator(f".lab-facts dt:text-is('{name}') + dd"))


def at_cursor(page: Page) -> list[str]:
    keys = ("logs", "byRadius", "byStretch")
    return [read(page.locator(f'.lab-legend [data-show="{key}"]')) for key in keys]


def expected_at(state: dict, lag: int) -> list[str]:
    norm = by_package(state)[lag].item()
    return [three(v) for v in (norm, state["radius"] ** lag, bound(state) ** lag)]


def bound(state: dict) -> float:
    """Return the most by which one step can lengthen a gradient."""
    return state["stretch"] * (0.25 if state["activation"] == "sigmoid" else 1)


def heights(page: Page, line: str) -> torch.Tensor:
    """Return where a line is drawn, in pixels from the top, by lag."""
    points = page.locator(f'[data-line="{line}"]').get_attribute("points")
    return torch.tensor([float(p.split(",")[1]) for p in points.split()])


# ---- the numbers ----


def test_norms_agree_with_the_package(page):
    states = grid()
    small = []
    for state, run in zip(states, compute(page, states, "norms logs"), strict=True):
        expected = by_package(state)
        actual = torch.tensor(run["norms"], dtype=torch.float64)
        # Below 1e-300 doubles have fewer digits, and the package has them no better.
        torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-300, msg=state)
        for log, norm in zip(run["logs"], expected.tolist(), strict=True):
            if norm > 1e-300:
                assert log == pytest.approx(expected_log(norm), abs=1e-9), state
            elif log is not None:
                small.append(log)
    assert min(small) < -400  # where the package has nothing left but zero


def expected_log(norm: float) -> float:
    return torch.tensor(norm, dtype=torch.float64).log10().item()


def test_a_zero_is_told_from_what_is_too_small(page):
    dead = setting(0.9, 5.2, 10, "relu", 0.0)
    tiny = setting(0.9, 0.9, 200, "tanh", 2.0)
    assert by_package(dead)[1:].tolist() == [0.0] * 10
    assert by_package(tiny)[-1] == 0
    first, second = compute(page, [dead, tiny], "logs")
    assert first["logs"] == [0, *[None] * 10]
    # Ten steps that change little, for the state rests: the log falls in a line.
    logs = torch.tensor(second["logs"][20:31], dtype=torch.float64)
    per_step = (logs[-1] - logs[0]).item() / 10
    middle = second["logs"][20] + per_step * 170
    assert second["logs"][190] == pytest.approx(middle, rel=1e-9)
    use(page, dead)
    slider(page, "lag").fill("3")
    assert at_cursor(page)[0] == "0"
    use(page, tiny)
    slider(page, "lag").fill("190")
    mantissa, power = re.fullmatch(
        r"(\d\.\d\d)\s×\s10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", at_cursor(page)[0]
    ).groups()
    exponent = int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
    log = expected_log(float(mantissa)) - exponent
    assert log == pytest.approx(second["logs"][190], abs=0.005)


def test_the_matrix_has_the_radius_and_the_stretch(page):
    states = [s for s in grid() if s["T"] == 5]
    for state, run in zip(states, compute(page, states, "W_h"), strict=True):
        W_h = torch.tensor(run["W_h"], dtype=torch.float64)
        torch.testing.assert_close(
            W_h, two_by_two(state["radius"], state["stretch"]), rtol=0, atol=1e-14
        )
        assert spectral_radius(W_h) == pytest.approx(state["radius"], rel=1e-6)
        assert largest_singular_value(W_h) == pytest.approx(state["stretch"])


def test_the_landmarks_are_those_of_the_norms(page):
    states = grid()
    keys = "peak valley end below byRadius byStretch"
    for state, run in zip(states, compute(page, states, keys), strict=True):
        norms = by_package(state)
        T = state["T"]
        top, bottom = norms.max().item(), norms.min().item()
        assert norms[run["peak"]["lag"]].item() == pytest.approx(top, rel=1e-9)
        assert norms[run["valley"]["lag"]].item() == pytest.approx(bottom, rel=1e-9)
        assert run["end"]["lag"] == T
        below = run["below"]
        if below is None:
            assert norms[-1] >= 1e-3
        else:
            assert (norms[below:] < 1e-3).all()
            assert norms[below - 1] >= 1e-3
        for key, base in (("byRadius", state["radius"]), ("byStretch", bound(state))):
            powers = [base**k for k in range(T + 1)]
            assert run[key] == pytest.approx(powers, rel=1e-12)
        assert all(n <= p * (1 + 1e-9) for n, p in zip(norms, powers, strict=True))


def test_the_bound_has_the_steepest_slope_there_is(page):
    steps = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    for activation, (phi, slope) in ACTIVATIONS.items():
        steepest = slope(phi(steps)).max().item()
        assert GAMMA.get(activation, 1) == pytest.approx(steepest)
        page.get_by_role("combobox", name="Activation").select_option(activation)
        shown = page.locator('[data-show="gamma"]').text_content()
        assert {"1": 1, "¼": 0.25}[shown] == GAMMA.get(activation, 1)


def test_the_rate_is_what_long_sequences_come_to(page):
    states = [
        setting(radius, stretch, 5, activation, push)
        for (radius, stretch), activation, push in product(
            [(0.9, 0.9), (0.9, 3.0), (1.2, 2.0)], ACTIVATIONS, (0.0, 0.05, 0.3)
        )
    ]
    for state, run in zip(states, compute(page, states, "rate slope"), strict=True):
        long = by_package(state | {"T": 1_000})
        steep = torch.nonzero(long > 1e-250).flatten()
        if len(steep) == 1:  # ReLU without a push
            assert run["rate"] == 0
            continue
        k = min(400, steep[-1].item())
        measured = (long[k] / long[k - 1]).item()
        assert run["rate"] == pytest.approx(measured, rel=3e-3), state
        assert run["rate"] == pytest.approx(run["slope"] * state["radius"])


def test_the_headline(page):
    """Peak 19.55 at lag 9, 7.9e-7 at lag 200: the chapter quotes these."""
    state = setting(*PRESETS[f"Grows, then vanishes ({RHO} = 0.9, {SIGMA}₁ = 5.2)"])
    norms = by_package(state)
    assert read(page.locator(".lab-says")).startswith("Vanishes")  # no answer yet
    slider(page, "stretch").fill("5.2")  # the chapter's first task
    assert norms.argmax() == 9
    assert norms.max().item() == pytest.approx(19.55, abs=0.005)
    assert norms[200].item() == pytest.approx(7.9e-7, abs=0.05e-7)
    says = read(page.locator(".lab-says"))
    assert says.startswith("Grows 19.6-fold by lag 9 before it vanishes")
    assert at_cursor(page) == expected_at(state, 9)
    assert fact(page, "Peak") == "19.6 at lag 9"
    assert fact(page, "At lag 200") == three(norms[200].item())


# ---- the words ----


def test_every_verdict_agrees_with_the_package(page):
    states = grid()
    states += [setting(1.0, 1.6, T, "tanh", 0.05) for T in range(5, 40, 5)]
    states += [setting(1.3, 1.3, T, "tanh", 0.01) for T in range(5, 40, 5)]
    states += [setting(1.5, 2.0, T, "tanh", 0.001) for T in range(15, 40, 5)]
    found = page.evaluate(
        """states => states.map(state => {
          const {compute, verdict} = UnrolledLab.labs['gradient-horizon'];
          return verdict(compute(state));
        })""",
        states,
    )
    for state, actual in zip(states, found, strict=True):
        assert actual == verdict(horizon_numbers(**state)), state
    starts = {re.split(r"[\d:]", text)[0] for text in found}
    ends = {re.sub(r"[\d.]+|\s×\s10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", "", text) for text in found}
    kinds = {"Nothing comes through", "Holds", "Explodes", "Vanishes", "Grows "}
    assert starts == {*kinds, "Shrinks to "}
    assert len(ends) == 11, ends  # every sentence there is was met, and checked


def test_a_verdict_says_what_the_norms_do():
    """The words themselves, against norms that were made for them."""
    cases = {
        "Holds": (1.0, 1.0, 50, "linear", 0.0),
        "Explodes: grows 117-fold by lag 50": (1.1, 1.1, 50, "linear", 0.0),
        "Vanishes: below 1/1000 from lag 66 on": (0.9, 0.9, 100, "linear", 0.0),
        "Shrinks to 0.349 at lag 10": (0.9, 0.9, 10, "linear", 0.0),
        "Nothing comes through": (0.9, 0.9, 10, "relu", 0.0),
        "Grows 16.6-fold by lag 5; in a longer": (0.9, 5.2, 5, "linear", 0.0),
        "Grows 19.6-fold by lag 9, then shrinks": (0.9, 5.2, 50, "linear", 0.0),
        "Grows 15.1-fold by lag 10: by the same": (1.0, 2.0, 10, "linear", 0.0),
    }
    for text, case in cases.items():
        assert verdict(horizon_numbers(*case)).startswith(text)


def test_the_page_says_the_verdict_and_the_facts(page):
    cases = [
        setting(0.9, 0.9, 40, "linear", 0.0),
        setting(1.2, 2.0, 30, "relu", 0.5),
        setting(0.8, 4.0, 60, "tanh", 0.1),
        setting(0.8, 4.0, 60, "relu", 0.0),
        setting(0.8, 4.0, 60, "linear", 0.0),
    ]
    for state in cases:
        use(page, state)
        run = horizon_numbers(**state)
        T = state["T"]
        assert read(page.locator(".lab-says")) == verdict(run)
        peak = fact(page, "Peak")
        if run.peak == 0:
            assert peak.startswith("none: it is largest at lag 0")
        elif run.peak == T:
            assert peak == f"none yet: it is largest at lag {T}, the last"
        else:
            assert peak == f"{three(max(run.norms))} at lag {run.peak}"
        gone = f"from lag {run.below} on" if run.below else f"not within {T} steps"
        assert fact(page, "Below 1/1000") == gone
        assert fact(page, f"At lag {T}") == three(run.norms[-1])
        rate = fact(page, "In the long run").replace("\N{NO-BREAK SPACE}", " ")
        assert rate.startswith(f"× {three(run.rate)} a step")
        plot = page.get_by_role("img", name="reach by lag")
        expect(plot).to_have_accessible_name(re.compile(re.escape(verdict(run))))
    status = page.locator('[role="status"]')
    expect(status).to_contain_text(verdict(run))


# ---- the controls ----


def test_presets_agree_with_the_package(page):
    found = page.evaluate("UnrolledLab.labs['gradient-horizon'].presets")
    keys = ("radius", "stretch", "T", "activation", "push")
    assert {p["text"]: tuple(p[key] for key in keys) for p in found} == PRESETS
    words = ("Vanishes", "Explodes", "Holds", "Grows", "Vanishes", "Vanishes")
    for (text, values), word in zip(PRESETS.items(), words, strict=True):
        choose(page, text)
        state = setting(*values)
        for key in SLIDERS:
            assert float(slider(page, key).input_value()) == state[key]
        activation = page.get_by_role("combobox", name="Activation")
        expect(activation).to_have_value(state["activation"])
        assert read(page.locator(".lab-says")).startswith(word)
        assert at_cursor(page) == expected_at(state, 9)


def test_sliders_go_as_far_as_in_python(page):
    box = live(NAME)
    names = {RHO: "radius", f"{SIGMA}₁": "stretch", "T": "T", "u": "push"}
    found = {}
    for control in box.children:
        if control.description in names:
            numbers = (control.min, control.max, control.step)
            found[names[control.description]] = list(numbers)
    assert page.evaluate("UnrolledLab.labs['gradient-horizon'].ranges") == found
    for key, (low, high, step) in found.items():
        node = slider(page, key)
        actual = [float(node.get_attribute(name)) for name in ("min", "max", "step")]
        assert actual == [low, high, step]


def test_a_change_leaves_the_preset(page):
    example = page.get_by_role("combobox", name="Example")
    slider(page, "stretch").fill("5.3")
    expect(example).to_have_value("own")
    assert at_cursor(page) == expected_at(setting(0.9, 5.3, 200, "linear", 0), 9)
    slider(page, "stretch").fill("5.2")
    expect(example).to_have_value("hump")
    page.get_by_role("combobox", name="Activation").select_option("tanh")
    expect(example).to_have_value("own")
    assert at_cursor(page) == expected_at(setting(0.9, 5.2, 200, "tanh", 0), 9)
    slider(page, "push").fill("0.25")
    assert at_cursor(page) == expected_at(setting(0.9, 5.2, 200, "tanh", 0.25), 9)


def test_the_two_sliders_push_each_other_and_say_so(page):
    note = page.locator(".lab-pairs + .lab-note")
    choose(page, f"Vanishes ({RHO} = {SIGMA}₁ = 0.9)")
    assert read(note).startswith(f"Move {SIGMA}₁ and leave {RHO} alone")
    slider(page, "radius").fill("1.23")
    expect(slider(page, "stretch")).to_have_value("1.23")
    assert read(note).startswith(f"{SIGMA}₁ went up with {RHO}, to 1.23: no matrix")
    status = page.locator('[role="status"]')
    expect(status).to_contain_text(f"{SIGMA}₁ went up with {RHO}, to 1.23")
    assert at_cursor(page) == expected_at(setting(1.23, 1.23, 200, "linear", 0), 9)
    slider(page, "stretch").fill("0.7")
    expect(slider(page, "radius")).to_have_value("0.7")
    assert read(note).startswith(f"{RHO} went down with {SIGMA}₁, to 0.70: no matrix")
    assert at_cursor(page) == expected_at(setting(0.7, 0.7, 200, "linear", 0), 9)
    slider(page, "stretch").fill("2")
    expect(slider(page, "radius")).to_have_value("0.7")  # there is room between them
    assert "went" not in read(note)


def test_keys_move_the_cursor(page):
    state = setting(0.9, 5.2, 200, "linear", 0)
    use(page, state)
    cursor = slider(page, "lag")
    cursor.focus()
    for key, lag in {"ArrowRight": 10, "End": 200, "ArrowLeft": 199, "Home": 0}.items():
        page.keyboard.press(key)
        expect(cursor).to_have_value(str(lag))
        expect(cursor).to_be_focused()
        assert at_cursor(page) == expected_at(state, lag)
        value = cursor.get_attribute("aria-valuetext")
        assert value == f"{lag}: {expected_at(state, lag)[0]}"
        spot = page.locator(".lab-spot")
        assert float(spot.get_attribute("cy")) == pytest.approx(
            heights(page, "logs")[lag].item(), abs=0.01
        )
    page.keyboard.press("ArrowRight")
    expect(page.locator('[role="status"]')).to_contain_text(
        f"reach is 5.20; {RHO} to the power 1 is 0.900"
    )


def test_the_cursor_stays_within_the_sequence(page):
    slider(page, "stretch").fill("5.2")
    cursor = slider(page, "lag")
    cursor.fill("150")
    slider(page, "T").fill("40")
    expect(cursor).to_have_value("40")
    expect(cursor).to_have_attribute("max", "40")
    state = setting(0.9, 5.2, 40, "linear", 0)
    assert at_cursor(page) == expected_at(state, 40)
    slider(page, "T").fill("200")
    expect(cursor).to_have_value("40")
    assert at_cursor(page) == expected_at(state, 40)


@pytest.mark.parametrize("width", [360, 1300])
def test_the_plot_takes_a_click_and_a_drag(open_page, tmp_path, width):
    blocked = open_page(viewport={"width": width, "height": 900})
    page = blocked.page
    page.goto(labs.write_page(tmp_path, NAME))
    points = page.locator('[data-line="logs"]').get_attribute("points").split()
    page.locator(".lab-frame").scroll_into_view_if_needed()
    box = page.locator(".lab-plot").bounding_box()

    def at(lag: int) -> tuple[float, float]:
        return box["x"] + float(points[lag].split(",")[0]), box["y"] + 60

    page.mouse.move(*at(50))
    page.mouse.down()
    cursor = slider(page, "lag")
    expect(cursor).to_have_value("50")
    page.mouse.move(*at(120))
    expect(cursor).to_have_value("120")
    page.mouse.up()
    page.mouse.move(*at(10))
    expect(cursor).to_have_value("120")
    thumb = cursor.bounding_box()  # its thumb of 16 px stands below the drawn cursor
    under = thumb["x"] + 8 + (thumb["width"] - 16) * 120 / 200
    assert under == pytest.approx(at(120)[0], abs=2)
    blocked.assert_clean()


# ---- the drawing ----


def test_lines_are_drawn_to_scale(page):
    state = setting(0.9, 1.5, 30, "linear", 0)
    use(page, state)
    lines = {
        "logs": by_package(state),
        "byRadius": 0.9 ** torch.arange(31, dtype=torch.float64),
        "byStretch": 1.5 ** torch.arange(31, dtype=torch.float64),
    }
    ticks = page.locator(".lab-plot .lab-end").evaluate_all(
        "all => all.map(n => [n.textContent, Number(n.getAttribute('y'))])"
    )
    ruler = {text.replace("\N{MINUS SIGN}", "-"): y for text, y in ticks}
    one, ten = ruler["1"], ruler["101"]
    for line, numbers in lines.items():
        expected = one - (one - ten) * numbers.log10()
        actual = heights(page, line).double()
        torch.testing.assert_close(actual, expected, rtol=0, atol=0.02)


def test_lines_differ_by_dash_and_name(page):
    dashes = {
        line: page.locator(f'[data-line="{line}"]').get_attribute("stroke-dasharray")
        for line in ("logs", "byRadius", "byStretch")
    }
    assert dashes["logs"] is None
    assert len(set(dashes.values())) == 3
    samples = page.locator(".lab-legend line").evaluate_all(
        "all => all.map(node => node.getAttribute('stroke-dasharray'))"
    )
    assert samples == list(dashes.values())
    expect(page.locator(".lab-legend dt")).to_have_count(3)
    for text in PRESETS:
        choose(page, text)
        names = page.locator(".lab-name")
        assert sorted(names.all_text_contents()) == [
            f"({GAMMA_LETTER}{SIGMA}1)k",
            f"{RHO}k",
        ]
        boxes = [name.bounding_box() for name in names.all()]
        apart = [
            abs(boxes[0][side] - boxes[1][side]) >= boxes[0][size] - 3
            for side, size in (("x", "width"), ("y", "height"))
        ]
        assert any(apart), text


def test_what_leaves_the_axis_is_said(page):
    note = page.locator(".lab-legend + .lab-note")
    stretch = f"({GAMMA_LETTER}{SIGMA}₁)ᵏ"
    slider(page, "stretch").fill("5.2")
    assert (
        read(note)
        == f"The axis goes from 10⁻¹⁰ to 10³: {stretch} is above it from lag 5 on."
    )
    state = setting(1.0, 1.0, 200, "sigmoid", 0)
    use(page, state)
    first = int(torch.nonzero(by_package(state) < 1e-12)[0])
    assert f"the curve is below it from lag {first} on" in read(note)
    assert read(note).startswith("The axis goes from 10⁻¹² to")
    use(page, setting(1.5, 6.0, 200, "linear", 0))
    assert "to 10¹²" in read(note)
    assert read(note).count("is above it from lag") == 3
    use(page, setting(0.9, 0.9, 20, "relu", 0))
    assert "the curve is at 0 from lag 1 on" in read(note)
    state = setting(1.4, 1.4, 25, "tanh", 0.2)  # comes back at the first steps
    use(page, state)
    out = torch.nonzero(by_package(state) < 1e-12).flatten().tolist()
    assert out[-1] < 25
    assert f"the curve is below it from lag {out[0]} to {out[-1]}" in read(note)
    use(page, setting(0.9, 0.9, 20, "linear", 0))
    assert read(note) == ""


def test_nothing_is_drawn_outside_the_frame(page):
    use(page, setting(1.5, 6.0, 200, "linear", 0))
    clip = page.locator(".lab-plot clipPath rect").evaluate(
        "n => ['y', 'height'].map(name => Number(n.getAttribute(name)))"
    )
    assert heights(page, "logs").min() < 0  # without the clip it would be
    name = page.locator(".lab-plot g").get_attribute("clip-path")
    assert name == f"url(#{page.locator('.lab-plot clipPath').get_attribute('id')})"
    height = float(page.locator(".lab-plot").get_attribute("height"))
    assert 0 < clip[0] < clip[0] + clip[1] < height
    expect(page.locator(".lab-spot")).to_have_count(1)
    slider(page, "lag").fill("150")
    expect(page.locator(".lab-spot")).to_have_count(0)


def test_the_ellipse_is_the_image_of_the_circle(page):
    for radius, stretch in [(0.9, 5.2), (1.0, 1.0), (0.6, 0.9), (1.4, 3.0)]:
        use(page, setting(radius, stretch, 20, "linear", 0))
        disc = page.locator(".lab-disc svg")
        unit = float(disc.locator(".lab-unit").get_attribute("r"))
        points = disc.locator(".lab-image").get_attribute("points").split()
        drawn = torch.tensor([[float(v) for v in p.split(",")] for p in points])
        sizes = (drawn / unit).norm(dim=1)
        shortest = radius**2 / stretch
        assert sizes.max().item() == pytest.approx(stretch, rel=2e-3)
        assert sizes.min().item() == pytest.approx(shortest, abs=0.02 * stretch)
        for key, size in (("stretch", stretch), ("radius", radius)):
            tip = disc.locator(f'[data-arrow="{key}"]').evaluate(
                "n => ['x2', 'y2'].map(name => Number(n.getAttribute(name)))"
            )
            assert math.hypot(*tip) / unit == pytest.approx(size)
            gap = (drawn - torch.tensor(tip)).norm(dim=1).min().item()
            assert gap < 2  # both arrows end on the ellipse
        half_axes = f"half-axes {stretch:.2f} and {shortest:.2f}"
        expect(disc).to_have_accessible_name(re.compile(re.escape(half_axes)))
        eigenvector = torch.tensor([0.0, 1.0], dtype=torch.float64)
        image = eigenvector @ two_by_two(radius, stretch)
        torch.testing.assert_close(image, radius * eigenvector)


def test_the_table_has_every_lag(page):
    state = setting(0.9, 5.2, 30, "tanh", 0.1)
    page.get_by_text("The numbers as a table").click()
    expect(page.locator(".lab-table tbody tr")).to_have_count(201)  # as it opens
    use(page, state)
    expect(page.locator(".lab-table tbody tr")).to_have_count(31)
    rows = [
        [read(cell) for cell in row.locator("th, td").all()]
        for row in page.locator(".lab-table tbody tr").all()
    ]
    assert rows == [[str(k), *expected_at(state, k)] for k in range(31)]
    heads = [read(head) for head in page.locator(".lab-table thead th").all()]
    assert heads == ["lag k", "‖∂hT/∂ht‖", f"{RHO}ᵏ", f"({GAMMA_LETTER}{SIGMA}₁)ᵏ"]
    frame = page.locator(".lab-tall .lab-scroll").bounding_box()
    assert frame["height"] < 400  # long tables scroll in themselves


# ---- themes, and a notebook ----


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_keep_their_contrast(open_page, tmp_path, theme):
    page = open_page().page
    page.goto(labs.write_page(tmp_path, NAME, theme=f'data-theme="{theme}"'))
    named = labs.colours(page)
    # As text for the names on the lines, as lines on the card and in the picture.
    for n in (1, 2, 3):
        assert contrast(named[f"series-{n}"], named["card"]) >= 4.5
        assert contrast(named[f"series-{n}"], named["well"]) >= 3


def find(box: ipywidgets.VBox, description: str):
    return next(w for w in box.children if w.description == description)


def shown(box: ipywidgets.VBox) -> str:
    return box.children[-1].value


def test_live_follows_its_controls():
    box = live(NAME)
    texts = list(PRESETS)
    for text in (*texts[1:], texts[0]):
        find(box, "Example").value = text
        state = setting(*PRESETS[text])
        assert f"<b>{verdict(horizon_numbers(**state))}</b>" in shown(box)
    find(box, "lag").value = 7
    cells = "".join(f"<td>{text}</td>" for text in expected_at(state, 7))
    assert f"<td>7</td>{cells}" in shown(box)
    find(box, "activation").value = "tanh"
    find(box, "u").value = 0.3
    find(box, "T").value = 40
    state |= {"activation": "tanh", "push": 0.3, "T": 40}
    cells = "".join(f"<td>{text}</td>" for text in expected_at(state, 40))
    assert f"<td>40</td>{cells}" in shown(box)
    assert find(box, "lag").max == 40


def test_live_sliders_push_each_other():
    box = live(NAME)
    radius, stretch = find(box, RHO), find(box, f"{SIGMA}₁")
    stretch.value = 0.7
    assert radius.value == 0.7
    radius.value = 1.2
    assert stretch.value == 1.2
    assert "Explodes" in shown(box)


def test_live_draws_the_three_lines():
    box = live(NAME)
    lines = re.findall(r"points='(.*?)' stroke-dasharray='(.*?)'", shown(box))
    assert len({dash for _, dash in lines}) == 3
    curve = [[float(v) for v in p.split(",")] for p in lines[0][0].split()]
    norms = by_package(setting(*next(iter(PRESETS.values()))))
    heights = (96 - 8 * norms.log10()).tolist()
    assert [y for _, y in curve] == pytest.approx(heights, abs=0.06)
    assert [curve[0][0], curve[-1][0]] == [0, 400]
