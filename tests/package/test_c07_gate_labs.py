"""The labs of chapter 7 with Python behind them: a bit held, and gates read."""

import pytest
import torch

from unrolled.chapters.c07_lstm import character_lstm
from unrolled.layers.lstm import LSTMCell
from unrolled.models import checkpoints
from unrolled.recipes.runner import results
from unrolled.runtime import book_folder
from unrolled.widgets import live
from unrolled.widgets.gate_board import HALF_OPEN, LATCH, hold, verdict
from unrolled.widgets.gate_reader import gate_numbers, known

MODELS = book_folder() / "_static" / "models"


def test_a_latch_holds_either_bit_and_half_open_gates_hold_none():
    for lag in (1, 10, 100):
        for bit in (1, -1):
            assert verdict(hold(bit, lag, LATCH)["h"][-1], bit) == "right"
    for lag in (10, 100):
        answers = [verdict(hold(b, lag, HALF_OPEN)["h"][-1], b) for b in (1, -1)]
        assert "right" not in answers


def test_with_the_input_shut_the_power_of_f_is_left():
    gates = {**LATCH, "distractor": {"f": 0.993, "i": 0.0, "o": 0.0}}
    c = hold(1, 100, gates)["c"]
    assert c[100] / c[0] == pytest.approx(0.993**100, rel=1e-12)


def test_an_lstm_cell_with_such_biases_holds_the_same():
    gates = {"f": 0.9, "i": 0.3, "o": 0.7}
    run = hold(-1, 6, {"bit": gates, "distractor": gates, "question": gates})
    cell = LSTMCell(1, 1).double()
    with torch.no_grad():
        cell.W_x.copy_(torch.tensor([[0.0, 0.0, 2.0, 0.0]]))
        cell.W_h.zero_()
        cell.b.zero_()
        for place, gate in ((0, "i"), (1, "f"), (3, "o")):
            cell.b[place] = torch.logit(torch.tensor(gates[gate]).double())
        state = None
        for t, x_t in enumerate(run["x"]):
            state = cell(torch.tensor([[x_t]], dtype=torch.float64), state)
            assert run["c"][t] == pytest.approx(state.c.item(), abs=1e-7)
            assert run["h"][t] == pytest.approx(state.h.item(), abs=1e-7)


def test_an_answer_near_zero_is_none():
    assert [verdict(h, 1) for h in (0.5, 0.1, -0.5)] == ["right", "unsure", "wrong"]


def test_gates_read_one_by_one_give_the_model():
    text = "And the king [was] wroth."
    found = gate_numbers(text)
    kept = checkpoints.load(MODELS / "character-lstm.safetensors")
    ids = torch.tensor([kept.tokenizer.encode(text)])
    with torch.no_grad():
        logits = kept.model(ids)[0]
    torch.testing.assert_close(found["logits"], logits, rtol=0, atol=1e-5)
    for name, values in character_lstm.gates(kept.model, ids).items():
        torch.testing.assert_close(found[name], values[0], rtol=0, atol=1e-6)
    assert known("a%b") == "a b"


def test_the_exported_model_scores_and_reads_as_recorded():
    model = checkpoints.load(MODELS / "character-lstm.safetensors").model
    summary = results("character_lstm")["summary"]
    found = character_lstm.bits_per_byte(model)
    assert found == pytest.approx(summary["exported"], abs=0.005)
    assert (MODELS / "character-lstm.safetensors").stat().st_size <= 1_000_000
    assert (MODELS / "character-lstm.js").stat().st_size <= 600_000
    best = character_lstm.readable_units(model)["a space was read"][0]
    recorded = summary["readable"]["a space was read"][0]
    assert best["measured"] == pytest.approx(recorded["measured"], abs=0.01)


def test_the_width_is_that_of_as_many_weights():
    n_weights = character_lstm.n_parameters("rnn", character_lstm.WIDTHS["rnn"])
    assert character_lstm.width_with(n_weights) == character_lstm.WIDTHS["lstm"]


def test_the_rate_is_the_one_that_did_best_where_none_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no rnn-0\.002\.json"):
        character_lstm.chosen_rate("rnn", tmp_path)
    for k, lr in enumerate(character_lstm.RATES):
        (tmp_path / f"rnn-{lr}.json").write_text(str(abs(k - 2)))
    assert character_lstm.chosen_rate("rnn", tmp_path) == character_lstm.RATES[2]
    assert character_lstm.held_out()[:500] not in character_lstm.choosing_text()


def test_features_by_hand():
    found = character_lstm.features("A [b] c.\n")
    assert found["inside square brackets"].tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert found["letters since the last space"].tolist() == [1, 0, 1, 2, 3, 0, 1, 2, 0]
    assert found["a capital was read"].tolist() == [1] + [0] * 8


def test_correlations_are_pearsons():
    draws = torch.Generator().manual_seed(0)
    x, y = (torch.randn(50, n, generator=draws) for n in (3, 2))
    both = torch.corrcoef(torch.cat([x, y], dim=1).T.double())
    found = character_lstm.correlations(x, y)
    torch.testing.assert_close(found, both[:3, 3:], rtol=0, atol=1e-12)


def test_the_live_labs_follow_their_controls():
    bit, *_, shown = live("gate-board").children
    before = shown.value
    bit.value = -1
    assert shown.value != before
    _, unit, _, marks = live("gate-reader").children
    before = marks.value
    unit.value = 7
    assert marks.value != before
