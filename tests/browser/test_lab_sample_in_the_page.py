"""Sample in the page: torch's states and scores, and draws that are the model's.

What every lab must do is held in ``test_lab_core.py``.
"""

import gzip

import labs
import pytest
import torch
from playwright.sync_api import expect

from unrolled.models import checkpoints
from unrolled.runtime import book_folder, generator

pytestmark = pytest.mark.browser

NAME = "sample-in-the-page"
MODELS = book_folder() / "_static" / "models"
KEPT = checkpoints.load(MODELS / "character-rnn.safetensors")
TEXTS = (
    "In the beginning God created the heaven and the earth.",
    "zzzz;:[(qQ",
    "\n\n",
    "And it came to pass, " * 8,
)


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def by_torch(text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The states (T, D) and the scores (T, V) after each character."""
    model, ids = KEPT.model, torch.tensor([KEPT.tokenizer.encode(text)])
    with torch.no_grad():
        states, _ = model.layers(model.embed(ids))
        return states[0], model(ids)[0]


# ---- the numbers ----


def test_the_model_is_small_enough_to_travel():
    script = MODELS / "character-rnn.js"
    assert len(gzip.compress(script.read_bytes())) < 400_000


@pytest.mark.parametrize("text", TEXTS)
def test_states_and_scores_are_torchs(page, text):
    found = page.evaluate(f"text => UnrolledLab.compute['{NAME}']({{text}})", text)
    states, logits = by_torch(text)
    for key, right in (("h", states), ("logits", logits)):
        actual = torch.tensor([one[key] for one in found])
        torch.testing.assert_close(actual, right, rtol=0, atol=1e-5)


def test_the_temperature_is_the_packages(page):
    logits = 3 * torch.randn(68, generator=generator(0)).double()
    for tau in (0.1, 0.7, 2.0):
        found = page.evaluate(
            f"([z, t]) => UnrolledLab.labs['{NAME}'].warm(z, t)", [logits.tolist(), tau]
        )
        right = (logits / tau).softmax(dim=-1).tolist()
        assert found == pytest.approx(right, abs=1e-12)


def test_draws_have_the_probabilities(page):
    p = [0.1, 0.0, 0.6, 0.3]
    n = 4000
    found = page.evaluate(
        f"""([p, n]) => Array.from({{length: n}}, (_, i) =>
          UnrolledLab.labs['{NAME}'].pick(p, (i + 0.5) / n))""",
        [p, n],
    )
    shares = [found.count(token) / n for token in range(4)]
    assert shares == pytest.approx(p, abs=1 / n)


# ---- the page ----


def test_it_writes_and_the_units_follow(page):
    written = page.locator(".lab-written span")
    expect(written).to_have_count(len("In the beginning "))
    page.get_by_role("button", name="Write 60 characters").click()
    expect(written).to_have_count(len("In the beginning ") + 60)
    assert page.locator(".lab-units rect").count() == 256
    page.get_by_role("button", name="Back one character").click()
    page.locator('[data-at="0"]').click()
    h = by_torch("I")[0][0]
    found = page.locator(".lab-units rect").evaluate_all(
        "all => all.map(one => Number(one.getAttribute('fill-opacity')))"
    )
    assert found == pytest.approx(h.abs().tolist(), abs=6e-4)


def test_the_same_draw_twice_and_another_after_starting_again(page):
    texts = []
    for _ in range(2):
        page.get_by_role("button", name="Write 60 characters").click()
        texts.append(page.locator(".lab-written").inner_text())
        page.get_by_role("button", name="Reset this lab").click()
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("button", name="Write 60 characters").click()
    texts.append(page.locator(".lab-written").inner_text())
    assert texts[0] == texts[1] != texts[2]


def test_a_link_writes_the_text_again_at_the_temperatures_it_had(open_page, page):
    page.get_by_role("textbox", name="Beginning").fill("And God ")
    page.get_by_role("button", name="Start again").click()
    for temperature, button in (("0.4", "Write 60 characters"), ("1.5", "Write one")):
        page.get_by_role("slider", name="Temperature").fill(temperature)
        page.get_by_role("button", name=button).click()
    page.get_by_role("slider", name="Temperature").fill("0.7")
    page.wait_for_url(f"**{NAME}.draw=1&{NAME}.written=60-0.4_1-1.5&*")
    copy = open_page().page
    copy.goto(page.url)
    assert labs.looks(copy.locator(".unrolled-lab")) == labs.looks(
        page.locator(".unrolled-lab")
    )


def test_unknown_characters_are_left_out_and_said(page):
    box = page.get_by_role("textbox", name="Beginning")
    box.fill("%re @")
    box.press("Enter")
    expect(page.locator(".lab-written")).to_have_text("re ", use_inner_text=False)
    expect(
        page.get_by_text("2 characters that the model has never seen left out: % @")
    ).to_be_visible()


def test_it_ends_somewhere(page):
    for _ in range(7):
        page.get_by_role("button", name="Write 60 characters").click()
    expect(page.locator(".lab-written span")).to_have_count(400)
    button = page.get_by_role("button", name="Write one")
    expect(button).to_have_attribute("aria-disabled", "true")
