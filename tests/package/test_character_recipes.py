"""The recipes of chapter 6: what is exported is what was trained."""

import base64

import numpy as np
import pytest
import torch

from unrolled.models import checkpoints
from unrolled.recipes import character_rnn, exposure, tied_words
from unrolled.recipes._reading_models import JUDGES, SideBySide, build
from unrolled.recipes.runner import results
from unrolled.runtime import book_folder

MODELS = book_folder() / "_static" / "models"


def test_packed_numbers_come_back():
    numbers = torch.tensor([[0.0, -1.5], [6.1e-5, 65504.0]])
    found = character_rnn.packed(numbers)
    back = np.frombuffer(base64.b64decode(found["half"]), dtype="<f2")
    assert found["shape"] == [2, 2]
    torch.testing.assert_close(
        torch.from_numpy(back.astype(np.float32)).view(2, 2), numbers.half().float()
    )


def test_the_checkpoint_is_small_and_scores_as_recorded():
    path = MODELS / "character-rnn.safetensors"
    assert path.stat().st_size < 4_000_000
    model = checkpoints.load(path).model
    recorded = results("character_rnn")["summary"]["exported"]
    assert character_rnn.bits_per_byte(model) == pytest.approx(recorded, abs=0.005)
    for weight in character_rnn.weights(model).values():
        assert torch.equal(weight, weight.half().float())


def test_tying_saves_one_table():
    sizes = [
        sum(p.numel() for p in tied_words.build(tied=tied, n_tokens=1000).parameters())
        for tied in (True, False)
    ]
    assert sizes[1] - sizes[0] == 1000 * tied_words.D


@pytest.mark.parametrize("name", JUDGES)
def test_judges_do_not_see_padding(name):
    torch.manual_seed(0)
    judge = build(name, 20).eval()
    ids = torch.randint(20, (2, 7))
    mask = torch.arange(7) < torch.tensor([[4], [7]])
    alone = judge(ids[:1, :4], mask[:1, :4])
    torch.testing.assert_close(judge(ids, mask)[:1], alone, rtol=0, atol=1e-5)


def test_side_by_side_has_weights_for_every_place():
    judge = SideBySide(20).eval()
    ids = torch.randint(20, (1, 5))
    moved = torch.cat([ids[:, :1], ids], dim=1)
    mask = torch.ones(1, 5, dtype=torch.bool)
    assert judge.read.in_features == 60 * 48
    assert not torch.allclose(judge(ids, mask), judge(moved[:, 1:].flip(1), mask))


def test_exposure_summary_is_the_mean_of_the_curves():
    units = [
        {"p_own": 0.0, "life": [{"right": [1.0, 3.0], "own": [2.0, 6.0]}]},
        {"p_own": 0.0, "life": [{"right": [3.0, 5.0], "own": [4.0, 4.0]}]},
    ]
    assert exposure.summarise(units) == {
        "right prefixes, 0 own": 3.0,
        "own prefixes, 0 own": 4.0,
    }
