"""The recipes of chapter 6: what is exported is what was trained."""

import base64
from copy import deepcopy
from itertools import islice

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from unrolled.losses import cross_entropy
from unrolled.models import checkpoints
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.recipes import (
    _character_measures,
    character_rnn,
    exposure,
    majority,
    reading_tasks,
    tied_words,
)
from unrolled.recipes._reading_models import JUDGES, SideBySide, build
from unrolled.recipes.runner import results
from unrolled.runtime import book_folder, generator, seed_all

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


def test_strands_go_on_where_they_stopped():
    (one, first), (two, second) = islice(character_rnn.strands(0), 2)
    assert (first, second) == (True, False)
    assert torch.equal(two.x[:, 0], one.y[:, -1])
    assert torch.equal(one.x[:, 1:], one.y[:, :-1])


def test_a_carried_state_is_that_after_the_piece_before():
    (one, _), (two, _) = islice(character_rnn.strands(0), 2)
    seed_all(0)
    n = len(character_rnn.characters()[0])
    with torch.no_grad():
        before = RNNLM(RNNLMConfig(n_tokens=n, d_model=character_rnn.D, cell="rnn"))
        _, state = before.read(one.x)
    updates = character_rnn.steps(0, carried=True)
    _, _, model = next(updates)
    model = deepcopy(model)  # the next update changes it
    _, loss, _ = next(updates)
    with torch.no_grad():
        expected = cross_entropy(model.read(two.x, state)[0], two.y)
        from_zero = cross_entropy(model(two.x), two.y)
    assert loss.item() == pytest.approx(expected.item(), abs=3e-6)
    assert abs(loss.item() - from_zero.item()) > 3e-5


def test_what_is_measured_of_the_checkpoint_is_recorded():
    model = checkpoints.load(MODELS / "character-rnn.safetensors").model
    unit = results("character_rnn")["units"][0]
    for name, bits in character_rnn.bits_by_place(model).items():
        np.testing.assert_allclose(bits, unit["by place"][name], atol=0.01)
    found = character_rnn.rounds(model)
    assert [one["period"] for one in found] == [one["period"] for one in unit["rounds"]]
    assert {len(text) for text in character_rnn.people()} == {400}


def test_what_is_written_after_right_text_begins_with_another_state_alone():
    model = checkpoints.load(MODELS / "character-rnn.safetensors").model
    begins = _character_measures.ends_of_lines()
    assert len(begins) == _character_measures.N_TEXTS
    assert {len(begin) for begin in begins} == {_character_measures.SEEN + 1}
    assert all(begin[-1] == "\n" and "\n" not in begin[:-1] for begin in begins)
    assert all(begin in character_rnn.held_out() for begin in begins)
    found = character_rnn.shares(character_rnn.samples_after_lines(model))
    recorded = results("character_rnn")["units"][0]["writing after right text"]
    assert found["words"] == pytest.approx(recorded["words"], abs=0.03)


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


def test_a_convolution_reads_the_order_of_neighbours_wherever_they_stand():
    torch.manual_seed(0)
    judge = build("convolution", 20).eval()
    quiet = torch.full((1, 12), 3)
    mask = torch.ones(1, 12, dtype=torch.bool)
    early, late, turned = quiet.clone(), quiet.clone(), quiet.clone()
    early[0, 2:4] = late[0, 7:9] = torch.tensor([5, 6])
    turned[0, 2:4] = torch.tensor([6, 5])
    torch.testing.assert_close(judge(early, mask), judge(late, mask))
    assert not torch.allclose(judge(early, mask), judge(turned, mask), atol=1e-4)


def recorded_answers(model):
    """Return which of the test's tweets a judge of seed 0 got right, as recorded."""
    wanted = {"task": "tweets", "model": model, "seed": 0}
    units = results("reading_tasks")["units"]
    (unit,) = (one for one in units if wanted.items() <= one.items())
    return torch.tensor([digit == "1" for digit in unit["right"]])


def test_the_committed_reader_of_tweets_answers_as_recorded():
    kept = load_file(MODELS / "reading-tasks.safetensors")
    judge = build("last", len(kept.pop("bag")))
    del kept["bag_bias"]
    judge.load_state_dict(kept)
    right, _ = reading_tasks.answers(judge, "tweets", "test")
    turned = right != recorded_answers("last")
    assert turned.sum() <= 1  # it was rounded to half precision


def test_the_committed_bag_of_tweets_answers_as_recorded():
    kept = load_file(MODELS / "reading-tasks.safetensors")
    known = recorded_answers("bag")
    batch = reading_tasks.batch_of("tweets", "test", range(len(known)))
    lengths = batch.mask.sum(dim=1)
    scores = (kept["bag"][batch.x] * batch.mask).sum(dim=1) / lengths
    turned = ((scores + kept["bag_bias"] > 0) == (batch.y == 1)) != known
    assert turned.sum() <= 1


def test_side_by_side_has_weights_for_every_place():
    judge = SideBySide(20).eval()
    ids = torch.randint(20, (1, 5))
    moved = torch.cat([ids[:, :1], ids], dim=1)
    mask = torch.ones(1, 5, dtype=torch.bool)
    assert judge.read.in_features == 60 * 48
    assert not torch.allclose(judge(ids, mask), judge(moved[:, 1:].flip(1), mask))


def test_exposure_summary_is_the_mean_of_the_curves():
    lives = [
        (1600, {"right": [1.0, 3.0], "own": [2.0, 6.0]}),
        (1600, {"right": [3.0, 5.0], "own": [4.0, 4.0]}),
        (6400, {"right": [0.0, 1.0], "own": [1.0, 1.0]}),
    ]
    units = [{"p_own": 0.0, "updates": n, "life": [end]} for n, end in lives]
    assert exposure.summarise(units) == {
        "right prefixes, 0 own, 1600 updates": 3.0,
        "own prefixes, 0 own, 1600 updates": 4.0,
        "right prefixes, 0 own, 6400 updates": 0.5,
        "own prefixes, 0 own, 6400 updates": 1.0,
    }


def test_a_longer_budget_begins_as_the_shorter_one():
    units = results("exposure")["units"]
    forced = {u["updates"]: u for u in units if u["p_own"] == 0 and u["seed"] == 0}
    brief, longer = (forced[n]["life"] for n in (exposure.BUDGET, exposure.LONGER))
    assert longer[: len(brief)] == brief
    assert [moment["update"] for moment in longer] == list(exposure.UPDATES)


def test_answers_are_kept_text_by_text():
    for unit in results("reading_tasks")["units"]:
        right = [int(digit) for digit in unit["right"]]
        assert set(right) == {0, 1}
        assert sum(right) / len(right) == pytest.approx(unit["accuracy"], abs=1e-6)


def test_one_word_is_the_cue_and_many_vote():
    x, y = majority.cue(200, 7, generator(0))
    assert ((x < 2).sum(dim=1) == 1).all()
    assert torch.equal(x[x < 2], y)
    x, y = majority.vote(200, 7, generator(0))
    ones, zeros = (x == 1).sum(dim=1), (x == 0).sum(dim=1)
    assert (ones != zeros).all()
    assert torch.equal((ones > zeros).long(), y)
    assert len(x) < 200  # ties are left out


def test_a_reader_of_a_cue_learns_it(monkeypatch):
    monkeypatch.setattr(majority, "TESTED", (5,))
    trained, raw = (majority.train("one cue", "mean", n, seed=0) for n in (150, 1))
    found = [majority.right_by_length(model, "one cue")[0] for model in (trained, raw)]
    assert found[0] > 0.9 > 0.7 > found[1]


def test_the_summary_of_majorities_is_the_mean_over_seeds():
    units = [
        {"task": "majority", "pooling": "last", "updates": 3, "right": [right, 1.0]}
        for right in (0.5, 0.75)
    ]
    assert majority.summarise(units) == {"majority, last, 3 updates": [0.625, 1.0]}
