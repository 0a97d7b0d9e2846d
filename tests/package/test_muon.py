"""Muon and AdamW: torch's steps, and every weight with the optimizer it belongs to."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unrolled.data.batch import Batch
from unrolled.layers.lstm import LSTMCell
from unrolled.runtime import generator
from unrolled.training.loop import TrainConfig, fit
from unrolled.training.muon import QUINTIC, Muon, orthogonalise
from unrolled.training.optimizers import (
    AdamW,
    MuonAdamW,
    hidden_matrices,
    set_rates,
)


class Small(nn.Module):
    """An embedding tied to the read-out of a head, hidden layers, a norm."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.hide = nn.Linear(4, 6)
        self.norm = nn.LayerNorm(6)
        self.cell = LSTMCell(6, 4)
        self.tied = nn.Linear(4, 7, bias=False)
        self.tied.weight = self.embed.weight
        self.read = nn.Linear(4, 3)
        self.frozen = nn.Linear(4, 4, bias=False).requires_grad_(False)


def names_of(model, weights):
    names = {id(w): name for name, w in model.named_parameters()}
    return {names[id(w)] for w in weights}


@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 6),
    n_rounds=st.integers(1, 5),
)
@settings(max_examples=30)
def test_singular_vectors_stay_and_values_go_through_the_polynomial(
    agree, rows, columns, n_rounds
):
    G = torch.randn(rows, columns, dtype=torch.float64, generator=generator(rows))
    U, s, Vt = torch.linalg.svd(G, full_matrices=False)
    a, b, c = QUINTIC
    s = s / s.norm()
    for _ in range(n_rounds):
        s = a * s + b * s**3 + c * s**5
    agree(orthogonalise(G, n_rounds), U @ torch.diag(s) @ Vt)


def test_five_rounds_make_a_matrix_nearly_orthogonal():
    G = torch.randn(8, 16, dtype=torch.float64)
    values = torch.linalg.svdvals(orthogonalise(G, 5))
    assert 0.6 < values.min() < values.max() < 1.3
    before = torch.linalg.svdvals(G)
    assert before.max() / before.min() > 3  # the matrix was far from it
    U, _, Vt = torch.linalg.svd(G, full_matrices=False)
    assert (orthogonalise(G, 5) - U @ Vt).norm() < 0.3 * (U @ Vt).norm()


def test_no_gradient_is_no_step():
    assert not orthogonalise(torch.zeros(3, 4), 3).any()


@pytest.fixture
def exact(monkeypatch):
    """Let torch's Muon, which rounds to bfloat16 inside, be as precise as ours."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (1, 5)])
def test_steps_are_those_of_torchs_muon(agree, shape, dtype):
    start = torch.randn(shape, dtype=dtype)
    ours, theirs = (nn.Parameter(start.clone()) for _ in range(2))
    mine = Muon([ours], lr=0.1, momentum=0.9, weight_decay=0.3, n_rounds=3)
    other = torch.optim.Muon(
        [theirs], lr=0.1, momentum=0.9, weight_decay=0.3, ns_steps=3
    )
    for seed in range(4):
        G = torch.randn(shape, dtype=dtype, generator=generator(seed))
        ours.grad, theirs.grad = G.clone(), G.clone()
        mine.step()
        other.step()
    agree(ours.detach(), theirs.detach(), model=True)
    assert not torch.equal(ours, start)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6)])
def test_a_matrix_kept_the_other_way_round_takes_the_same_step(agree, shape):
    W = torch.randn(shape, dtype=torch.float64)
    G = torch.randn(shape, dtype=torch.float64)
    linear, ours = nn.Parameter(W.clone()), nn.Parameter(W.T.clone())
    linear.grad, ours.grad = G, G.T.clone()
    Muon([linear], lr=0.1).step()
    Muon([{"params": [ours], "out_axis": 1}], lr=0.1).step()
    agree(ours.detach().T, linear.detach())


def test_muon_takes_matrices_only():
    with pytest.raises(ValueError, match=r"trains matrices; a parameter has shape \(3"):
        Muon([nn.Parameter(torch.zeros(3))])


def test_hidden_matrices_are_found_with_the_axis_they_write_to():
    model = Small()
    found = hidden_matrices(model, ("embed", "read"))
    axes = {next(iter(names_of(model, [w]))): axis for w, axis in found.items()}
    assert axes == {"hide.weight": 0, "cell.W_x": 1, "cell.W_h": 1}


def test_every_trainable_weight_is_in_one_optimizer():
    model = Small()
    muon, adamw = MuonAdamW(lr=0.3).build(model, lr=0.1, weight_decay=0.2)
    parts = [
        names_of(model, (w for g in o.param_groups for w in g["params"]))
        for o in (muon, adamw)
    ]
    assert parts[0] == {"hide.weight", "cell.W_x", "cell.W_h"}
    everything = {n for n, w in model.named_parameters() if w.requires_grad}
    assert parts[0] | parts[1] == everything
    assert not parts[0] & parts[1]
    assert {g["lr"] for g in muon.param_groups} == {0.3}
    assert {g["lr"] for g in adamw.param_groups} == {0.1}
    assert {g["weight_decay"] for g in muon.param_groups} == {0.2}


@pytest.mark.parametrize(
    "theirs",
    [nn.Linear(2, 3), nn.GRU(2, 3), nn.LSTMCell(2, 3), nn.MultiheadAttention(4, 2)],
    ids=lambda module: type(module).__name__,
)
def test_the_matrices_of_pytorch_write_to_their_first_axis(theirs):
    found = hidden_matrices(theirs, ())
    assert found
    assert set(found.values()) == {0}


def test_a_model_without_hidden_matrices_is_refused():
    with pytest.raises(ValueError, match="has no hidden matrix for Muon: train it by"):
        MuonAdamW().build(nn.Embedding(3, 2), lr=0.1, weight_decay=0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr": 0.0}, "lr=0.0 must be positive"),
        ({"momentum": 1.0}, "momentum=1.0 must be at least 0 and below 1"),
        ({"n_rounds": 0}, "n_rounds=0 must be at least 1"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        MuonAdamW(**settings)


@pytest.mark.parametrize("decay_vectors", [False, True])
def test_decay_takes_matrices_and_vectors_only_if_asked(decay_vectors):
    model = Small()
    (adamw,) = AdamW(decay_vectors=decay_vectors).build(model, lr=0.1, weight_decay=0.5)
    decay = {
        name: group["weight_decay"]
        for group in adamw.param_groups
        for name in names_of(model, group["params"])
    }
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            assert decay[name] == (0.5 if weight.ndim > 1 or decay_vectors else 0.0)
    assert len(decay) == sum(w.requires_grad for w in model.parameters())


def test_fused_and_plain_steps_are_equal_to_rounding(agree):
    plain, fused = Small(), Small()
    fused.load_state_dict(plain.state_dict())
    for model, flag in ((plain, False), (fused, True)):
        (optimizer,) = AdamW(fused=flag).build(model, lr=0.01, weight_decay=0.1)
        assert optimizer.defaults["fused"] is flag
        for seed in range(5):
            for w in model.parameters():
                w.grad = torch.randn(w.shape, generator=generator(seed))
            optimizer.step()
    for ours, theirs in zip(fused.parameters(), plain.parameters(), strict=True):
        agree(ours.detach(), theirs.detach())


def test_rates_follow_their_factor_from_where_they_began():
    optimizers = MuonAdamW(lr=0.3).build(Small(), lr=0.1, weight_decay=0.0)
    for factor in (0.5, 0.25, 1.0):
        set_rates(optimizers, factor)
        rates = [{g["lr"] for g in o.param_groups} for o in optimizers]
        assert rates == [{factor * 0.3}, {factor * 0.1}]


def xor(n):
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([0, 1, 1, 0])
    return [Batch(x=x, y=y)] * n


def loss_fn(model, batch):
    return nn.functional.cross_entropy(model(batch.x), batch.y)


def test_exclusive_or_is_learned_and_muon_moves_the_middle():
    torch.manual_seed(1)
    model = nn.Sequential()
    model.add_module("enter", nn.Linear(2, 8))
    model.add_module("bend", nn.Tanh())
    model.add_module("mix", nn.Linear(8, 8))
    model.add_module("bend2", nn.Tanh())
    model.add_module("read", nn.Linear(8, 2))
    before = copy.deepcopy(model)
    config = TrainConfig(steps=60, lr=0.01, optimizer=MuonAdamW(lr=0.05))
    losses = fit(model, loss_fn, xor(60), config)
    assert losses[-1] < 0.05 < 0.5 < losses[0]
    moved = (model.mix.weight - before.mix.weight).detach()
    values = torch.linalg.svdvals(moved)
    assert values[-1] > 0.01  # all directions were used
