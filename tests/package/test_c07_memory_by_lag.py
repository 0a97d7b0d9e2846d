"""The recipe of chapter 7's signature: stacked networks equal the package's cells."""

from itertools import islice

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unrolled.chapters.c07_lstm import memory_by_lag as recipe
from unrolled.data.made.recall import recall
from unrolled.layers.unroll import unroll
from unrolled.runtime import generator

NETWORKS = list(recipe.NETWORKS)


def two_networks(network):
    return [recipe.start(network, seed, d_hidden=4) for seed in (0, 1)]


def answer(cell, read, x):
    return read(unroll(cell, x)[0][:, -1])


@pytest.mark.parametrize("network", NETWORKS)
def test_a_stack_answers_as_the_cells_of_the_package_do(network):
    networks = two_networks(network)
    stack = recipe.Stack.of(networks)
    batches = [recall(3, 5, generator=generator(seed)) for seed in (7, 8)]
    expected = torch.stack(
        [answer(*net, batch.x) for net, batch in zip(networks, batches, strict=True)]
    )
    found = stack.logits(torch.stack([batch.x for batch in batches]))
    torch.testing.assert_close(found, expected)
    ids = batches[0].x.argmax(dim=-1)
    alike = torch.stack([answer(*net, batches[0].x) for net in networks])
    torch.testing.assert_close(stack.answers(ids), alike)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("regime", recipe.REGIMES)
def test_a_stack_trains_as_each_network_alone_would(network, regime, monkeypatch):
    monkeypatch.setattr(recipe, "UPDATES", 4)
    monkeypatch.setattr(recipe, "CLIP", 0.1)  # so that it is felt
    networks = two_networks(network)
    stack = recipe.Stack.of(networks)
    recipe.train(stack, regime, 1e-2, seeds=(5, 6))
    for m, (cell, read) in enumerate(networks):
        model, draw = nn.ModuleList([cell, read]), generator(5 + m)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for lag in islice(recipe.train_lags(regime), 4):
            batch = recall(recipe.ROWS, lag, generator=draw)
            optimizer.zero_grad()
            F.cross_entropy(answer(cell, read, batch.x), batch.y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        for name, weight in cell.named_parameters():
            torch.testing.assert_close(
                stack.weights[name][m], weight, atol=1e-3, rtol=1e-3
            )
        torch.testing.assert_close(
            stack.weights["V"][m], read.weight.T, atol=1e-3, rtol=1e-3
        )


def test_lags_are_one_or_many_and_the_same_each_time():
    assert set(islice(recipe.train_lags("fixed"), 50)) == {recipe.LAG}
    lags = list(islice(recipe.train_lags("varied"), 2000))
    assert set(lags) == set(range(1, recipe.LAG + 1))
    assert lags == list(islice(recipe.train_lags("varied"), 2000))


def test_each_network_is_clipped_by_its_own_norm():
    weights = [torch.zeros(2, 3, requires_grad=True) for _ in range(2)]
    weights[0].grad = torch.tensor([[3.0, 0, 0], [0.3, 0, 0]])
    weights[1].grad = torch.tensor([[0, 4.0, 0], [0, 0.4, 0]])
    recipe.clip_each(weights, 1.0)
    both = torch.stack([w.grad for w in weights])
    expected = torch.tensor([1.0, 0.5])
    torch.testing.assert_close(both.square().sum(dim=(0, 2)).sqrt(), expected)


@pytest.mark.parametrize("longest", [40, 160])
def test_a_chrono_gru_keeps_over_the_lags_that_it_is_told(longest):
    cell = recipe.chrono_gru(3, 400, longest, seed=0)
    keep = cell.b[400:800]
    assert keep.min() >= 0
    assert keep.exp().max() <= longest - 1
    assert keep.exp().mean().item() == pytest.approx(longest / 2, rel=0.1)
    assert cell.b[:400].abs().max() == cell.b[800:].abs().max() == 0
    assert cell.b_h.abs().max() == 0


def test_validation_is_right_about_a_network_that_knows_nothing():
    stack = recipe.Stack.of(two_networks("GRU"))
    for name in ("V", "c"):
        stack.weights[name].detach().zero_()
    for regime in recipe.REGIMES:
        losses = recipe.validation_loss(stack, regime, 80)
        assert losses == pytest.approx([torch.tensor(8.0).log().item()] * 2)


def test_reach_ends_at_the_first_lag_that_is_not_held():
    n = len(recipe.TEST_LAGS)
    assert recipe.reach([1.0] * n) == recipe.TEST_LAGS[-1]
    assert recipe.reach([1.0, 1.0, 0.5] + [1.0] * (n - 3)) == 2
    assert recipe.reach([0.5] + [1.0] * (n - 1)) == 0


def test_the_choosing_seeds_choose_and_the_others_are_reported():
    def outcome(unit):
        good = unit["lr"] == 3e-3
        losses = [0.1 if good else 1.0] * recipe.CHOOSING + [5.0] * recipe.REPORTED
        shares = [0.0] * recipe.CHOOSING + [0.5, 1.0, 1.0, 1.0, 1.0]
        by_lag = {str(lag): shares for lag in recipe.TEST_LAGS}
        return unit | {"validation loss": losses, "accuracy": by_lag}

    found = recipe.summarise([outcome(unit) for unit in recipe.UNITS])
    row = found["networks"]["GRU"]["varied"]
    assert row["rate"] == 3e-3
    assert row["mean"] == pytest.approx([0.9] * len(recipe.TEST_LAGS))
    assert (row["min"][0], row["max"][0]) == (0.5, 1.0)
    assert row["reach"] == [0, 160, 160, 160, 160]
    assert row["validation loss by rate"] == pytest.approx([1.0, 0.1, 1.0])
