"""The training loop: right numbers, the promised steps, clear complaints."""

import itertools
import json
import math
import time
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unrolled.data.batch import Batch, PairBatch
from unrolled.losses import cross_entropy
from unrolled.runtime import generator
from unrolled.training import loop
from unrolled.training.budget import at_most
from unrolled.training.loop import TrainConfig, fit, training_steps
from unrolled.training.optimizers import AdamW, MuonAdamW
from unrolled.training.schedules import Trapezoid, WarmupCosine


def squared_error(model, batch):
    return (model(batch.x) - batch.y).square().mean()


def lines(n=None, seed=0):
    """Batches of y = 2x − 1, without end or ``n`` of them."""
    rng = generator(seed)
    counter = itertools.count() if n is None else range(n)
    for _ in counter:
        x = torch.randn(16, 1, generator=rng)
        yield Batch(x=x, y=2 * x - 1)


def test_a_line_is_learned():
    model = nn.Linear(1, 1)
    losses = fit(model, squared_error, lines(), TrainConfig(steps=300, lr=0.05))
    assert len(losses) == 300
    assert losses[-1] < 1e-4 < 0.1 < losses[0]
    assert model.weight.item() == pytest.approx(2, abs=0.02)
    assert model.bias.item() == pytest.approx(-1, abs=0.02)


def test_steps_are_counted_from_one_to_the_last():
    config = TrainConfig(steps=5)
    steps = [
        n for n, _ in training_steps(nn.Linear(1, 1), squared_error, lines(), config)
    ]
    assert steps == [1, 2, 3, 4, 5]


def test_no_batch_beyond_the_last_step_is_drawn():
    batches = lines(3)
    fit(nn.Linear(1, 1), squared_error, batches, TrainConfig(steps=2))
    assert len(list(batches)) == 1


def test_the_loss_is_that_of_the_weights_before_the_step():
    model, (batch,) = nn.Linear(1, 1), lines(1)
    before = squared_error(model, batch).detach()
    ((_, loss),) = training_steps(
        model, squared_error, [batch], TrainConfig(steps=1, lr=0.1)
    )
    assert torch.equal(loss, before)
    assert not loss.requires_grad
    assert squared_error(model, batch) < before


def test_a_step_is_one_of_adamw_on_the_clipped_gradient():
    (batch,), config = (
        lines(1),
        TrainConfig(steps=1, lr=0.1, clip_norm=0.5, weight_decay=0.2),
    )
    ours, theirs = nn.Linear(1, 1), nn.Linear(1, 1)
    theirs.load_state_dict(ours.state_dict())
    fit(ours, squared_error, [batch], config)
    groups = [
        {"params": [theirs.weight], "weight_decay": 0.2},
        {"params": [theirs.bias], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.1)
    squared_error(theirs, batch).backward()
    norm = torch.stack([p.grad.norm() for p in theirs.parameters()]).norm()
    assert norm > 0.5
    for p in theirs.parameters():
        p.grad *= 0.5 / norm
    optimizer.step()
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())


def test_gradients_of_one_step_do_not_linger_in_the_next():
    (batch,) = lines(1)
    model = nn.Linear(1, 1)
    fit(model, squared_error, [batch] * 2, TrainConfig(steps=2, lr=1e-9, clip_norm=1e9))
    used = model.weight.grad.clone()
    model.zero_grad()
    squared_error(model, batch).backward()
    torch.testing.assert_close(used, model.weight.grad)


def test_every_step_is_taken_in_training_mode():
    model = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5))
    for _ in training_steps(model, squared_error, lines(), TrainConfig(steps=2)):
        assert model.training
        model.eval()  # whoever looks inside may leave it so


def test_too_few_batches_are_counted():
    with pytest.raises(ValueError, match="batches ran out after 3 of 5 steps"):
        fit(nn.Linear(1, 1), squared_error, lines(3), TrainConfig(steps=5))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps=0 must be at least 1"),
        ({"lr": 0.0}, "lr=0.0 must be positive"),
        ({"lr": -1.0}, "lr=-1.0 must be positive"),
        ({"lr": math.nan}, "lr=nan must be positive"),
        ({"weight_decay": math.nan}, "weight_decay=nan must not be negative"),
        ({"clip_norm": 0.0}, "clip_norm=0.0 must be positive"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1 must not be negative"),
        ({"accumulate": 0}, "accumulate=0 must be at least 1"),
        ({"validate_every": 0}, "validate_every=0 must be at least 1"),
        ({"checkpoint_every": 0}, "checkpoint_every=0 must be at least 1"),
        ({"patience": 0}, "patience=0 must be at least 1"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TrainConfig(**({"steps": 1} | settings))


def test_a_short_run_is_quiet(capsys):
    fit(nn.Linear(1, 1), squared_error, lines(), TrainConfig(steps=2))
    assert capsys.readouterr() == ("", "")


def test_a_run_that_takes_long_shows_how_far_it_is(capsys, monkeypatch):
    slow = (time.sleep(0.6) or batch for batch in lines())
    monkeypatch.delenv("UNROLLED_BOOK", raising=False)
    for _ in training_steps(nn.Linear(1, 1), squared_error, slow, TrainConfig(steps=5)):
        pass
    assert "/5" in capsys.readouterr().err


def test_a_run_cut_short_ends_early_and_is_judged(monkeypatch):
    judged = []
    with at_most(2):
        losses = fit(
            nn.Linear(1, 1), squared_error, lines(), TrainConfig(steps=9, patience=3),
            validate=lambda model: judged.append(1) or 1.0,
        )  # fmt: skip
    assert len(losses) == 2
    assert len(judged) == 1


def tagged(n_rows=5, n_steps=4, seed=0):
    """Rows of different lengths: the counts of any two pieces differ."""
    rng = generator(seed)
    x = torch.randn(n_rows, n_steps, 3, generator=rng)
    lengths = torch.arange(n_rows) % n_steps + 1
    mask = torch.arange(n_steps) < lengths[:, None]
    y = torch.randint(6, (n_rows, n_steps), generator=rng)
    return Batch(x=x, y=y, mask=mask)


def tagging_loss(model, batch):
    return cross_entropy(model(batch.x), batch.y, batch.mask)


@given(n_rows=st.integers(1, 7), accumulate=st.integers(2, 5))
@settings(max_examples=15)
def test_a_batch_read_in_pieces_gives_the_step_of_the_whole(n_rows, accumulate):
    batches = [tagged(n_rows, seed=seed) for seed in range(3)]
    config = TrainConfig(steps=3, lr=0.1, clip_norm=0.3, weight_decay=0.1)
    whole, cut = nn.Linear(3, 6).double(), nn.Linear(3, 6).double()
    cut.load_state_dict(whole.state_dict())
    batches = [Batch(x=b.x.double(), y=b.y, mask=b.mask) for b in batches]
    losses = fit(whole, tagging_loss, batches, config)
    pieces = fit(cut, tagging_loss, batches, replace(config, accumulate=accumulate))
    assert pieces == pytest.approx(losses, abs=1e-12)
    for a, b in zip(whole.parameters(), cut.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_a_mean_of_means_would_be_another_loss():
    batch = tagged()
    model = nn.Linear(3, 6)
    whole = tagging_loss(model, batch)
    means = [tagging_loss(model, piece) for piece in batch.split(1)]
    assert abs(sum(means) / len(means) - whole) > 1e-3


def test_pairs_are_cut_too_and_rows_without_a_target_add_nothing():
    source = torch.zeros(3, 2, dtype=torch.long)
    mask = torch.tensor([[True, True], [False, False], [True, False]])
    target = torch.tensor([[1, 2], [0, 0], [3, 0]])
    batch = PairBatch(
        source=source,
        source_mask=torch.ones_like(mask),
        target_in=target,
        target_out=target,
        target_mask=mask,
    )
    sizes = []

    def loss_fn(model, batch):
        sizes.append(len(batch))
        logits = model(batch.target_in)
        return nn.functional.cross_entropy(
            logits[batch.target_mask], batch.target_out[batch.target_mask]
        )

    results = []
    for accumulate in (1, 3):
        torch.manual_seed(0)
        config = TrainConfig(steps=1, accumulate=accumulate)
        results += fit(nn.Embedding(4, 4), loss_fn, [batch], config)
    assert results[0] == pytest.approx(results[1])
    assert sizes == [3, 1, 1]


def test_what_a_loss_is_a_mean_of_can_be_told():
    """Here the loss is a mean over rows, whatever the mask says."""
    batch, results = tagged(), []

    def loss_fn(model, batch):
        return torch.stack([tagging_loss(model, row) for row in batch.split(1)]).mean()

    for accumulate in (1, 2):
        torch.manual_seed(0)
        config = TrainConfig(steps=1, accumulate=accumulate)
        results += fit(nn.Linear(3, 6), loss_fn, [batch], config, count=len)
    assert results[0] == pytest.approx(results[1])


def test_a_batch_that_counts_nothing_cannot_be_cut():
    batch = tagged()
    batch = replace(batch, mask=torch.zeros_like(batch.mask))
    with pytest.raises(ValueError, match="counts no target: its mask is False every"):
        fit(nn.Linear(3, 6), tagging_loss, [batch], TrainConfig(steps=1, accumulate=2))


@pytest.mark.parametrize("muon", [False, True])
def test_each_step_has_the_rate_of_its_number(monkeypatch, muon):
    rates, schedule = [], Trapezoid(warmup=2, cooldown=2, steps=5)
    set_rates = loop.set_rates

    def note(optimizers, factor):
        set_rates(optimizers, factor)
        rates.append([optimizers[i].param_groups[0]["lr"] for i in (0, -1)])

    monkeypatch.setattr(loop, "set_rates", note)
    optimizer = MuonAdamW(lr=0.4) if muon else AdamW()
    model = nn.Sequential(nn.Linear(1, 3), nn.Linear(3, 1))
    config = TrainConfig(steps=5, lr=0.2, schedule=schedule, optimizer=optimizer)
    fit(model, squared_error, lines(), config)
    factors = [0.5, 1, 1, 1, 0.5]
    first = 0.4 if muon else 0.2
    assert rates == [[first * factor, 0.2 * factor] for factor in factors]


def test_a_schedule_changes_the_step_that_is_taken():
    """AdamW's first step is as long as its rate."""
    model = nn.Linear(1, 1)
    before = model.weight.item()
    schedule = WarmupCosine(warmup=4, steps=8)
    config = TrainConfig(steps=1, lr=0.1, schedule=schedule)
    fit(model, squared_error, lines(), config)
    assert abs(model.weight.item() - before) == pytest.approx(0.025, rel=1e-3)


def scores_of(scores, modes=None):
    """Return a validation that finds ``scores`` one after another."""
    left = iter(scores)

    def validate(model):
        assert not model.training
        assert not torch.is_grad_enabled()
        return next(left)

    return validate


def test_validation_comes_every_so_many_steps_and_at_the_end():
    config = TrainConfig(steps=7, validate_every=3)
    losses = fit(
        nn.Linear(1, 1), squared_error, lines(), config, validate=scores_of([3, 1, 2])
    )
    assert losses.validation == {3: 3.0, 6: 1.0, 7: 2.0}
    assert losses.best_step == 6
    assert len(losses) == 7
    assert json.loads(json.dumps(losses)) == losses


def test_without_patience_the_last_weights_stay():
    model, config = nn.Linear(1, 1), TrainConfig(steps=4, lr=0.1, validate_every=1)
    seen = []

    def validate(model):
        seen.append(model.weight.item())
        return len(seen)  # ever worse

    fit(model, squared_error, lines(), config, validate=validate)
    assert model.weight.item() == seen[-1] != seen[0]


def test_patience_ends_a_run_and_goes_back_to_the_best_weights():
    model, seen, batches = nn.Linear(1, 1), [], lines()
    scores = iter([5, 4, math.nan, 4.5, 3, 9, 3, 9, 0])
    config = TrainConfig(steps=100, lr=0.1, validate_every=2, patience=3)

    def validate(model):
        seen.append(model.weight.item())
        return next(scores)

    losses = fit(model, squared_error, batches, config, validate=validate)
    assert len(losses) == 16  # the fifth was the best; three more were not better
    assert losses.best_step == 10
    assert model.weight.item() == seen[4] != seen[-1]


def test_patience_takes_the_best_weights_from_a_run_that_reached_its_end():
    model, seen = nn.Linear(1, 1), []

    def validate(model):
        seen.append(model.weight.item())
        return [2, 1, 3][len(seen) - 1]

    config = TrainConfig(steps=3, lr=0.1, validate_every=1, patience=5)
    fit(model, squared_error, lines(), config, validate=validate)
    assert model.weight.item() == seen[1] != seen[2]


def test_a_run_whose_validation_is_never_a_number_ends_too():
    config = TrainConfig(steps=9, validate_every=1, patience=2)
    losses = fit(
        nn.Linear(1, 1), squared_error, lines(), config, validate=lambda _: math.nan
    )
    assert len(losses) == 2
    assert losses.best_step is None


def test_patience_without_validation_is_refused():
    with pytest.raises(ValueError, match=r"^patience=2 needs validate=$"):
        fit(nn.Linear(1, 1), squared_error, lines(), TrainConfig(steps=1, patience=2))


def test_a_run_that_is_done_takes_no_further_step():
    config = TrainConfig(steps=2)
    steps = training_steps(nn.Linear(1, 1), squared_error, lines(), config, done=2)
    assert list(steps) == []


@pytest.mark.parametrize("validate_every", [1, 2, 9])
def test_a_run_leaves_the_model_in_training_mode(validate_every):
    model, config = nn.Linear(1, 1), TrainConfig(steps=3, validate_every=validate_every)
    fit(model, squared_error, lines(), config, validate=scores_of([1, 2, 3]))
    assert model.training
