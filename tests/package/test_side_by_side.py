"""Networks trained side by side end where each would have ended alone."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from unrolled.runtime import generator, seed_all
from unrolled.training.side_by_side import (
    errors_side_by_side,
    scores_side_by_side,
    steps_side_by_side,
)

M, N, E, N_ANSWERS = 3, 20, 5, 4
SEEDS = (3, 1, 4)


def reader(seed: int, p: float = 0.0) -> nn.Sequential:
    seed_all(seed)
    return nn.Sequential(
        nn.Linear(E, 6), nn.Tanh(), nn.Dropout(p), nn.Linear(6, N_ANSWERS)
    )


def examples() -> tuple[torch.Tensor, torch.Tensor]:
    rng = generator(0)
    x = torch.randn(M, N, E, generator=rng)
    return x, torch.randint(N_ANSWERS, (M, N), generator=rng)


def drain(nets, x, y, **settings):
    run = steps_side_by_side(nets, x, y, seeds=SEEDS, lr=0.01, n_batch=7, **settings)
    return list(run)


def alone(net, x, y, seed, *, steps, weight_decay):
    """One network by torch's own means."""
    matrices = [w for w in net.parameters() if w.ndim > 1]
    vectors = [w for w in net.parameters() if w.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": weight_decay},
         {"params": vectors, "weight_decay": 0.0}], lr=0.01,
    )  # fmt: skip
    rng = generator(seed)
    for _ in range(steps):
        chosen = torch.randint(N, (7,), generator=rng)
        optimizer.zero_grad()
        F.cross_entropy(net(x[chosen]), y[chosen]).backward()
        optimizer.step()


@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_side_by_side_is_the_same_as_alone(weight_decay):
    x, y = examples()
    together = [reader(seed) for seed in SEEDS]
    apart = copy.deepcopy(together)
    settings = {"steps": 12, "weight_decay": weight_decay}
    assert drain(together, x, y, **settings) == list(range(1, 13))
    for m, (net, seed) in enumerate(zip(apart, SEEDS, strict=True)):
        alone(net, x[m], y[m], seed, **settings)
        for found, expected in zip(
            together[m].parameters(), net.parameters(), strict=True
        ):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_scores_and_errors_are_each_networks_own():
    x, _ = examples()
    nets = [reader(seed, p=0.5).train() for seed in SEEDS]
    expected = torch.stack([net.eval()(x[0]) for net in nets])
    for net in nets:
        net.train()
    torch.testing.assert_close(scores_side_by_side(nets, x[0]), expected)
    assert all(net.training for net in nets)
    own = scores_side_by_side(nets, x)
    torch.testing.assert_close(own[1], nets[1].eval()(x[1]))
    right = expected.argmax(dim=-1)[0]
    errors = errors_side_by_side(nets, x[0], right)
    assert errors[0] == 0
    assert errors[1:].tolist() == [
        (expected[m].argmax(dim=-1) != right).double().mean().item() for m in (1, 2)
    ]


def test_dropout_draws_other_zeros_for_each_network():
    x, y = examples()
    nets = [reader(0, p=0.5) for _ in SEEDS]
    same = x[:1].expand(M, N, E)
    run = steps_side_by_side(
        nets, same, y[:1].expand(M, N), seeds=[0] * M, steps=3, lr=0.01
    )
    assert len(list(run)) == 3
    assert not torch.equal(nets[0][0].weight, nets[1][0].weight)


def test_it_learns():
    x, _ = examples()
    y = (x[..., 0] > 0).long()
    nets = [reader(seed) for seed in SEEDS]
    drain(nets, x, y, steps=300)
    errors = [errors_side_by_side(nets, x[m], y[m])[m].item() for m in range(M)]
    assert errors == [0, 0, 0]


def test_what_does_not_fit_is_refused():
    x, y = examples()
    nets = [reader(seed) for seed in SEEDS]
    with pytest.raises(ValueError, match="M should be 2, got 3"):
        drain(nets[:2], x, y, steps=1)
    with pytest.raises(ValueError, match="N should be 20, got 19"):
        drain(nets, x, y[:, 1:], steps=1)
    with pytest.raises(ValueError, match="2 seeds for 3 nets: one for each"):
        list(steps_side_by_side(nets, x, y, seeds=[0, 1], steps=1, lr=0.1))
    with pytest.raises(ValueError, match="steps=0 must be at least 1"):
        drain(nets, x, y, steps=0)
