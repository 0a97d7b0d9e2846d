"""The training loop: right numbers, the promised steps, clear complaints."""

import itertools

import pytest
import torch
from torch import nn

from unrolled.data.batch import Batch
from unrolled.runtime import generator
from unrolled.training.loop import TrainConfig, fit, training_steps


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
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=0.1, weight_decay=0.2)
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
        ({"clip_norm": 0.0}, "clip_norm=0.0 must be positive"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1 must not be negative"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TrainConfig(**({"steps": 1} | settings))


@pytest.mark.parametrize("progress", [False, True])
def test_fit_is_quiet_unless_asked(capsys, progress):
    options = {"progress": True} if progress else {}
    fit(nn.Linear(1, 1), squared_error, lines(), TrainConfig(steps=2), **options)
    out, err = capsys.readouterr()
    assert out == ""
    assert bool(err) is progress
