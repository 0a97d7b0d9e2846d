"""What comes next: torch's numbers, no look ahead, and forecasts fed back."""

import json
import math
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from descend import descend
from recurrent_twin import agree_with_gradients, built_as, torch_reads
from unrolled.data.made.ball import balls
from unrolled.layers.readers import CELLS
from unrolled.models.forecaster import Forecaster, ForecasterConfig
from unrolled.runtime import generator

B, T, E, D, N_OUT = 3, 5, 3, 4, 2
SMALL = ForecasterConfig(d_in=E, d_hidden=D, d_out=E)
BESIDE = replace(SMALL, d_out=N_OUT)  # of three numbers a step, the third is known


@st.composite
def problems(draw):
    n_rows, n_steps = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    some = st.lists(st.integers(1, n_steps), min_size=n_rows, max_size=n_rows)
    d_in = draw(st.integers(1, 4))
    config = ForecasterConfig(
        d_in=d_in,
        d_hidden=draw(st.integers(1, 4)),
        d_out=draw(st.integers(1, d_in)),
        n_layers=draw(st.integers(1, 2)),
        cell=draw(st.sampled_from(list(CELLS))),
    )
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    x = torch.randn(n_rows, n_steps, d_in, dtype=dtype)
    return config, x, draw(st.none() | some.map(torch.tensor))


@settings(max_examples=25)
@given(problem=problems())
def test_it_is_torchs_layers_one_after_the_other(problem, agree):
    """nn.LSTM and its kin on packed sequences, then nn.Linear, and gradients."""
    config, x, lengths = problem
    model = Forecaster(config).to(x.dtype)
    ours = model(x, lengths=lengths)
    assert built_as(model.rnn) == (CELLS[config.cell], config.n_layers, False)
    states = torch_reads(model.rnn, x, lengths)
    theirs = nn.functional.linear(states, model.read.weight, model.read.bias)
    agree_with_gradients(agree, model, ours, theirs)


@settings(max_examples=25)
@given(problem=problems(), n_steps=st.integers(1, 4))
def test_forecasts_are_those_of_reading_all_again(problem, n_steps, agree):
    """Row by row: append the forecast to what is real, and read from the beginning."""
    config, x, lengths = problem
    model = Forecaster(config).to(x.dtype)
    known = torch.randn(len(x), n_steps - 1, config.d_in - config.d_out, dtype=x.dtype)
    ours = model.forecast(x, n_steps, known=known, lengths=lengths)
    ends = [x.shape[1]] * len(x) if lengths is None else lengths.tolist()
    for row, end, beside, found in zip(x, ends, known, ours, strict=True):
        read, theirs = row[:end], []
        for step in range(n_steps):
            theirs.append(model(read[None])[0, -1])
            if step < n_steps - 1:
                new = torch.cat([theirs[-1], beside[step]])
                read = torch.cat([read, new[None]])
        agree(found, torch.stack(theirs), model=True)


def test_it_does_not_see_what_it_foretells():
    model, x = Forecaster(SMALL), torch.randn(1, T, E)
    other = x.clone()
    other[:, 3] += 1
    changed = (model(x) != model(other)).any(dim=-1)[0]
    assert changed.tolist() == [False, False, False, True, True]


def test_padding_reaches_nothing_real():
    model, x, lengths = Forecaster(SMALL), torch.randn(B, T, E), torch.tensor([2, 5, 1])
    real = torch.arange(T) < lengths[:, None]
    dirty = x.masked_fill(~real[..., None], float("nan"))
    clean = model(x, lengths=lengths)
    assert torch.equal(model(dirty, lengths=lengths), clean)
    torch.testing.assert_close(clean[0, :2], model(x[:1, :2])[0])
    ahead = model.forecast(dirty, 3, lengths=lengths)
    torch.testing.assert_close(ahead[0], model.forecast(x[:1, :2], 3)[0])


def test_a_gradient_goes_through_the_forecasts():
    """So that a model can be trained on its own forecasts, too."""
    model = Forecaster(SMALL).double()
    x = torch.randn(1, 2, E, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: model.forecast(x, 3), (x,))


def train(model, x, y, n_steps, lr=0.02):
    descend(model, lambda m: (m(x) - y).square().mean(), n_steps=n_steps, lr=lr)


def test_it_learns_a_wave_and_goes_on_by_itself():
    start = 2 * math.pi * torch.rand(32, 1, generator=generator(0))
    waves = torch.sin(start + 0.6 * torch.arange(24))[..., None]
    model = Forecaster(ForecasterConfig(d_in=1, d_hidden=16, d_out=1, cell="gru"))
    train(model, waves[:, :15], waves[:, 1:16], 150)
    with torch.no_grad():
        ahead = model.forecast(waves[:, :16], 8)
    error = (ahead - waves[:, 16:]).square().mean().item()
    stays = (waves[:, 15:16] - waves[:, 16:]).square().mean().item()
    assert error < 0.1 * stays


def test_with_two_frames_it_knows_where_a_ball_goes_and_with_one_it_does_not():
    flights = balls(
        200, 3, interval=0.05, speed=(1.0, 1.0), box=(9.0, 9.0), generator=generator(0)
    )
    x = flights.positions.float()
    x = x - x[:, :1]  # where it is tells nothing: all start from one place
    model = Forecaster(ForecasterConfig(d_in=2, d_hidden=16, d_out=2))
    train(model, 20 * x[:, :2], 20 * x[:, 1:], 200, lr=0.03)
    with torch.no_grad():
        errors = (model(20 * x[:, :2]) - 20 * x[:, 1:]).square().mean(dim=(0, 2))
    assert errors[0] > 0.4  # a unit step in an unknown direction: 0.5
    assert errors[1] < 0.05


def test_what_is_known_beforehand_is_read():
    """A switch that is known turns the sign of the next number."""
    draw = generator(0)
    switch = torch.randint(2, (64, 9), generator=draw).float() * 2 - 1
    x = torch.stack([switch.cumprod(dim=1), switch.roll(-1, dims=1)], dim=-1)
    model = Forecaster(ForecasterConfig(d_in=2, d_hidden=16, d_out=1, cell="gru"))
    train(model, x[:, :5], x[:, 1:6, :1], 150)
    with torch.no_grad():
        ahead = model.forecast(x[:, :5], 3, known=x[:, 5:7, 1:])
    assert torch.equal(ahead.sign(), x[:, 5:8, :1])


def test_it_runs_on_meta_and_compiles_in_one_piece():
    model, x, lengths = Forecaster(SMALL), torch.randn(B, T, E), torch.tensor([2, 5, 1])
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, lengths=lengths), model(x, lengths=lengths))
    model = model.to("meta")
    assert model(x.to("meta")).shape == (B, T, E)
    assert model.forecast(x.to("meta"), 7).shape == (B, 7, E)


def test_a_config_goes_to_json_and_back():
    assert ForecasterConfig(**json.loads(json.dumps(asdict(BESIDE)))) == BESIDE


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        *(
            ({name: 0}, f"^{name}=0 must be at least 1$")
            for name in ("d_in", "d_hidden", "d_out", "n_layers")
        ),
        ({"cell": "elman"}, "^cell='elman' must be one of rnn, lstm, gru$"),
        ({"d_out": 4}, "^d_out=4 must be at most d_in=3: what is foretold is read at"),
    ],
)
def test_a_wrong_setting_is_named(settings, said):
    with pytest.raises(ValueError, match=said):
        replace(SMALL, **settings)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: Forecaster(SMALL)(torch.zeros(B, T, E + 1)),
            r"^x must be \(B, T, E\): E should be 3, got 4",
        ),
        (
            lambda: Forecaster(SMALL).forecast(torch.zeros(B, T, E), 0),
            r"^n_steps=0 must be at least 1$",
        ),
        (
            lambda: Forecaster(BESIDE).forecast(torch.zeros(B, T, E), 3),
            r"^known=None must be \(3, 2, 1\): the model reads 3 numbers a step and fo",
        ),
        (
            lambda: Forecaster(BESIDE).forecast(
                torch.zeros(B, T, E), 3, known=torch.zeros(B, 3, 1)
            ),
            r"^known must be \(B, T, E\): T should be 2, got 3",
        ),
    ],
)
def test_what_does_not_fit_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_one_step_ahead_needs_nothing_known():
    x = torch.randn(B, T, E)
    model = Forecaster(BESIDE)
    torch.testing.assert_close(model.forecast(x, 1)[:, 0], model(x)[:, -1])
