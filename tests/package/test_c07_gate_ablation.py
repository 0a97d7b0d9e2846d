"""The recipe of "Which gates matter?": steps by hand, stacks against the cells."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unrolled.chapters.c07_lstm import gate_ablation as recipe
from unrolled.layers.lstm import LSTMCell
from unrolled.layers.unroll import unroll
from unrolled.runtime import generator
from unrolled.training.schedules import Constant

E, D, O = 5, 3, 4  # noqa: E741
SIZES = {"n_in": E, "d_hidden": D, "n_out": O, "longest": 10}
#: What a cell of the package does, and the others do not.
AS_CELLS = ("LSTM", "peepholes", "forget bias 0", "chrono")


def sigmoid(a):
    return 1 / (1 + math.exp(-a))


def same(a):
    return a


def naive(a, c, variant, p=None):
    """One unit's step from its four numbers i, f, g, o, one formula a variant."""
    i, f, g, o = a
    p_i, p_f, p_o = p or (0.0, 0.0, 0.0)
    gate_f = 1.0 if variant == "no forget gate" else sigmoid(f + p_f * c)
    gate_i = 1.0 if variant == "no input gate" else sigmoid(i + p_i * c)
    if variant == "coupled gates":
        gate_i = 1 - gate_f
    squash_in = same if variant == "no tanh on the candidate" else math.tanh
    squash_out = same if variant == "no tanh on the output" else math.tanh
    c = gate_f * c + gate_i * squash_in(g)
    gate_o = 1.0 if variant == "no output gate" else sigmoid(o + p_o * c)
    return gate_o * squash_out(c), c


def networks(variant, seeds=(0, 1)):
    return [recipe.start(variant, seed, **SIZES) for seed in seeds]


@pytest.mark.parametrize("variant", recipe.VARIANTS)
def test_a_step_is_its_formula_unit_by_unit(variant):
    draw = generator(0)
    a = 2 * torch.randn(2, 4 * D, generator=draw, dtype=torch.float64)
    c = 2 * torch.randn(2, D, generator=draw, dtype=torch.float64)
    p = {
        name: torch.randn(D, generator=draw).double() for name in ("p_i", "p_f", "p_o")
    }
    p = p if variant == "peepholes" else {}
    h, new_c = recipe.step(a, c, variant, p)
    for row in range(2):
        for k in range(D):
            four = a[row].view(4, D)[:, k].tolist()
            three = [w[k].item() for w in p.values()] or None
            expected = naive(four, c[row, k].item(), variant, three)
            assert (h[row, k].item(), new_c[row, k].item()) == pytest.approx(expected)


def test_every_variant_but_those_of_the_start_changes_the_step():
    draw = generator(1)
    a, c = torch.randn(2, 4 * D, generator=draw), torch.randn(2, D, generator=draw)
    plain = recipe.step(a, c, recipe.PLAIN)[0]
    for variant in set(recipe.VARIANTS) - set(AS_CELLS):
        assert (recipe.step(a, c, variant)[0] - plain).abs().max() > 0.01, variant


@pytest.mark.parametrize("variant", AS_CELLS)
def test_a_stack_reads_as_the_cells_of_the_package_do(variant):
    pairs = networks(variant)
    stack = recipe.Stack.of(variant, pairs)
    ids = torch.randint(E, (2, 3, 6), generator=generator(2))
    expected = torch.stack(
        [
            read(unroll(cell, F.one_hot(one, E).float())[0])
            for (cell, read), one in zip(pairs, ids, strict=True)
        ]
    )
    torch.testing.assert_close(stack.everywhere(ids), expected)
    torch.testing.assert_close(stack.last(ids), expected[:, :, -1])


def test_all_variants_of_a_seed_start_alike():
    cell, read = recipe.start("LSTM", 3, **SIZES)
    for variant in recipe.VARIANTS:
        other, other_read = recipe.start(variant, 3, **SIZES)
        assert torch.equal(cell.W_x, other.W_x)
        assert torch.equal(cell.W_h, other.W_h)
        assert torch.equal(read.weight, other_read.weight)
    zero = recipe.start("forget bias 0", 3, **SIZES)[0]
    torch.testing.assert_close(cell.b[D : 2 * D] - zero.b[D : 2 * D], torch.ones(D))
    assert isinstance(zero, LSTMCell)


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_stack_trains_as_each_network_alone_would(everywhere):
    pairs, rates = networks("LSTM"), (1e-2, 3e-3)
    stack = recipe.Stack.of("LSTM", pairs)
    draw = generator(4)
    shape = (4, 2, 3, 6) if everywhere else (4, 2, 3)
    xs = torch.randint(E, (4, 2, 3, 6), generator=draw)
    ys = torch.randint(O, shape, generator=draw)
    plan = recipe.Task(
        d_hidden=D, updates=4, rates=rates, schedule=Constant(), longest=10
    )
    log = recipe.train(stack, iter(zip(xs, ys, strict=True)), plan, rates)
    assert log.shape == (4, 2, 2)
    for m, (cell, read) in enumerate(pairs):
        model = nn.ModuleList([cell, read])
        optimizer = torch.optim.Adam(model.parameters(), lr=rates[m])
        for k in range(4):
            states = unroll(cell, F.one_hot(xs[k, m], E).float())[0]
            logits = read(states if everywhere else states[:, -1])
            loss = F.cross_entropy(logits.flatten(0, -2), ys[k, m].flatten())
            assert log[k, 0, m].item() == pytest.approx(loss.item(), rel=1e-4)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), recipe.CLIP)
            optimizer.step()
        for name, weight in cell.named_parameters():
            torch.testing.assert_close(
                stack.weights[name][m], weight, atol=1e-4, rtol=1e-3
            )


def test_bits_of_a_network_that_knows_nothing(monkeypatch):
    monkeypatch.setattr(recipe, "PIECE", 4)
    stack = recipe.Stack.of("LSTM", networks("LSTM"))
    for name in ("V", "v"):
        stack.weights[name].detach().zero_()
    ids = torch.randint(O, (3, 9), generator=generator(5))
    torch.testing.assert_close(recipe.bits(stack, ids), torch.full((2, 3, 8), 2.0))
    assert recipe.bits_in_pieces(stack, ids).tolist() == [[2.0] * 3] * 2


def test_pieces_begin_with_an_empty_memory(monkeypatch):
    monkeypatch.setattr(recipe, "PIECE", 4)
    stack = recipe.Stack.of("LSTM", networks("LSTM"))
    ids = torch.randint(O, (1, 9), generator=generator(6))
    halves = [recipe.bits(stack, ids[:, a : a + 5]).mean(dim=2) for a in (0, 4)]
    found = recipe.bits_in_pieces(stack, ids)
    torch.testing.assert_close(found, (halves[0] + halves[1]) / 2)


def test_places_are_gathered_by_powers_of_two():
    found = torch.arange(1.0, 8.0).expand(2, 3, 7)
    assert recipe.by_place(found) == [1.0, 2.5, 5.5]
    assert recipe.by_place(found[:, :, :6]) == [1.0, 2.5]


def test_solved_when_the_recent_batches_are_right(monkeypatch):
    monkeypatch.setattr(recipe, "RECENT", 2)
    assert recipe.solved_at([0.1, 1.0, 0.8, 1.0, 0.9, 1.0]) == 5
    assert recipe.solved_at([0.1, 0.2, 0.9]) is None


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.01, 0.01, "no difference"),
        (0.06, 0.08, "worse"),
        (-0.08, -0.06, "better"),
        (0.01, 0.07, "worse"),
        (-0.01, 0.07, "open"),
    ],
)
def test_the_margin_decides(low, high, said):
    assert recipe.verdict(low, high) == said


def test_weights_in_use_are_counted():
    n_in, width = 10, 32
    layer = width * (n_in + width + 1)
    assert recipe.n_weights("recall", "LSTM") == 4 * layer
    assert recipe.n_weights("recall", "no output gate") == 3 * layer
    assert recipe.n_weights("recall", "coupled gates") == 3 * layer
    assert recipe.n_weights("recall", "no tanh on the output") == 4 * layer
    assert recipe.n_weights("recall", "peepholes") == 4 * layer + 3 * width


def test_blocks_are_compared_in_pairs_and_the_margin_is_applied():
    hard = [2.0, 3.0, 2.5, 1.5] * 10  # blocks differ far more than variants do

    def outcome(unit):
        if unit["task"] == "recall":
            shares = {str(lag): [1.0, 0.5] for lag in recipe.TEST_LAGS}
            told = {"rates": [1e-2], "validation": [[1.0]], "rate": 1e-2}
            return unit | told | {"accuracy": shares, "solved at": [90, None]}
        off = {"no forget gate": 0.1, "peepholes": 0.001}.get(unit["variant"], 0.0)
        return unit | {
            "rates": [3e-2, 1e-1],
            "validation": [[2.0, 2.2], [3.0, 3.0]],
            "rate": 3e-2,
            "bits by seed": [2.299 + off, 2.301 + off],
            "bits by block": [one + off for one in hard],
            "bits by place": [3.0, 2.0],
            "bits in training": [4.0],
        }

    found = recipe.summarise([outcome(unit) for unit in recipe.UNITS])
    rows = found["variants"]
    assert list(rows) == list(recipe.VARIANTS)
    assert rows["no forget gate"]["gap"] == pytest.approx(0.1, abs=1e-5)
    assert rows["no forget gate"]["verdict"] == "worse"
    assert rows["peepholes"]["verdict"] == "no difference"
    assert "gap" not in rows["LSTM"]
    assert rows["LSTM"]["bits"] == pytest.approx(2.3)
    assert rows["LSTM"]["validation bits by rate"] == pytest.approx([2.1, 3.0])
    assert rows["LSTM"]["recall"] == [0.75] * len(recipe.TEST_LAGS)
    assert rows["LSTM"]["recall, worst seed"] == [0.5] * len(recipe.TEST_LAGS)
    assert (found["blocks"], found["places"]) == (40, [1, 2])


def test_an_interval_of_a_gap_knows_of_text_and_of_seeds():
    blocks = torch.tensor([2.0, 3.0, 4.0, 5.0])
    moved = blocks + torch.tensor([0.1, 0.3, 0.1, 0.3])  # variance 0.04 / 3
    quiet, noisy = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([1.0, 1.2, 1.4])
    text = recipe.gap_interval(moved, blocks, one_seeds=quiet, two_seeds=quiet)
    both = recipe.gap_interval(moved, blocks, one_seeds=quiet, two_seeds=noisy)
    t = 2.776  # Student's, four degrees of freedom
    assert text.estimate == both.estimate == pytest.approx(0.2)
    assert text.high - 0.2 == pytest.approx(t * math.sqrt(0.04 / 3 / 4), rel=1e-3)
    assert both.high - 0.2 == pytest.approx(
        t * math.sqrt(0.04 / 3 / 4 + 0.04 / 3), rel=1e-3
    )
    assert both.low == pytest.approx(0.4 - both.high)


def test_the_rate_with_the_least_mean_loss_is_chosen():
    assert recipe.best([[1.0, 3.0], [1.5, 1.7], [1.6, 1.8]]) == 1


@pytest.mark.parametrize(
    ("best_rate", "tried"),
    [
        (3e-2, [1e-2, 3e-2, 1e-1]),  # between two that are worse
        (3e-3, [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]),
        (1.0, [1e-2, 3e-2, 1e-1, 3e-1, 1.0]),  # there is none beyond
    ],
)
def test_rates_are_tried_until_the_best_has_neighbours(monkeypatch, best_rate, tried):
    def losses(task, variant, rates, **_):
        return [[abs(math.log(rate / best_rate))] * 2 for rate in rates]

    def trained(task, variant, rates, seeds):
        assert rates == [best_rate] * len(recipe.REPORTED)
        return None, torch.ones(60, 2, len(seeds))

    monkeypatch.setattr(recipe, "_losses", losses)
    monkeypatch.setattr(recipe, "trained", trained)
    monkeypatch.setattr(recipe, "accuracy", lambda *_: [1.0])
    found = recipe.run_unit({"task": "recall", "variant": "LSTM"}, None)
    assert (found["rate"], found["rates"]) == (best_rate, tried)
    assert found["solved at"] == [recipe.RECENT] * len(recipe.REPORTED)
