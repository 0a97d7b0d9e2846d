"""Message sentiment: both judges as torch has them, words cut as the package does.

What every lab must do is held in ``test_lab_core.py``.
"""

import labs
import pytest
import torch
from playwright.sync_api import expect
from safetensors.torch import load_file

from unrolled.data.tokens.words import split_words
from unrolled.recipes._reading_data import judged
from unrolled.recipes._reading_models import build
from unrolled.runtime import book_folder

pytestmark = pytest.mark.browser

NAME = "tweet-sentiment"
WEIGHTS = load_file(book_folder() / "_static" / "models" / "reading-tasks.safetensors")
TEXTS = (
    "good not bad at all",
    "BAD, not good at all!!! :(",
    "I wouldn't mind a bit of snow... it's 3.5 or 1,461 l'amour",
    "Zyxwv qu'il ❤️ #nofilter @anonymous http://url_removed",
    "so " * 80,
)


@pytest.fixture
def page(blocked_page, tmp_path):
    """The lab as it opens, checked at the end for errors and outside requests."""
    blocked_page.page.goto(labs.write_page(tmp_path, NAME))
    yield blocked_page.page
    blocked_page.assert_clean()


def by_torch(text: str) -> tuple[list[float], float]:
    """The reader's p of praise after each word, and the bag's for the whole text."""
    words = judged("tweets")[0]
    reader = build("last", len(words)).eval()
    own = {k: w for k, w in WEIGHTS.items() if not k.startswith("bag")}
    reader.load_state_dict(own)
    ids = torch.tensor([words.encode(text.casefold())[:60]])
    with torch.no_grad():
        p = [
            reader(ids[:, : t + 1]).softmax(-1)[0, 1].item()
            for t in range(ids.shape[1])
        ]
    score = WEIGHTS["bag"][ids[0]].mean() + WEIGHTS["bag_bias"][0]
    return p, torch.sigmoid(score).item()


@pytest.mark.parametrize("text", TEXTS)
def test_both_judges_are_torchs(page, text):
    found = page.evaluate(f"text => UnrolledLab.compute['{NAME}']({{text}})", text)
    readers, bag = by_torch(text)
    assert [one["reader"] for one in found["each"]] == pytest.approx(readers, abs=1e-5)
    assert (found["reader"], found["bag"]) == pytest.approx(
        (readers[-1], bag), abs=1e-5
    )


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_cut_as_in_the_package(page, text):
    found = page.evaluate(f"text => UnrolledLab.labs['{NAME}'].split(text)", text)
    assert found == split_words(text.casefold())


def test_a_bag_cannot_tell_order(page):
    one, two = (
        page.evaluate(f"text => UnrolledLab.compute['{NAME}']({{text}})", text)
        for text in ("good not bad at all", "bad not good at all")
    )
    assert one["bag"] == pytest.approx(two["bag"], abs=1e-12)
    assert abs(one["reader"] - two["reader"]) > 1e-3


def test_the_page_says_what_the_judges_say(page):
    box = page.get_by_role("textbox", name="A short text")
    box.fill("what a lovely morning, thank you zyxwv")
    readers, bag = by_torch("what a lovely morning, thank you zyxwv")
    says = page.locator(".lab-says")
    for p in (readers[-1], bag):
        word = "praise" if p >= 0.5 else "blame"
        expect(says).to_contain_text(f"{word} ({max(p, 1 - p):.2f})")
    expect(page.get_by_text("all alike to them: zyxwv")).to_be_visible()
    expect(page.get_by_role("combobox", name="Example")).to_have_value("own")
    assert page.locator('[data-bar="reader"]').count() == len(readers)
    box.fill("")
    expect(says).to_have_text("Type a text for the judges.")
