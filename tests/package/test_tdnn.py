"""The time-delay network: torch's convolution, its field of view, and no place."""

import json
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from descend import descend
from unrolled.data.made.tones import SYLLABLES, tones
from unrolled.models.tdnn import TDNN, TDNNConfig, TimeDelay, receptive_field
from unrolled.runtime import generator

B, T, E, D, N_OUT = 2, 9, 3, 4, 2
SMALL = TDNNConfig(d_in=E, n_classes=N_OUT, widths=(D, D), n_delays=(3, 3))


def torch_convolves(layer, x):
    """Return nn.Conv1d of ``x`` with the weights of ours: torch's run the other way."""
    weight = layer.W.flip(0).permute(2, 1, 0)  # (D, E, delays)
    padded = nn.functional.pad(x.mT, (layer.back, layer.ahead))
    n_delays, d_in, d_out = layer.W.shape
    theirs = nn.Conv1d(d_in, d_out, n_delays, dilation=layer.dilation, device="meta")
    weights = {"weight": weight, "bias": layer.b}
    return torch.func.functional_call(theirs, weights, (padded,)).mT


def agree_with_gradients(agree, inputs, ours, theirs, *, model=False):
    agree(ours, theirs, model=model)
    upstream = torch.randn_like(ours)
    grads = (torch.autograd.grad(y, inputs, upstream) for y in (ours, theirs))
    for a, b in zip(*grads, strict=True):
        agree(a, b, model=model, gradient=True)


@settings(max_examples=40)
@given(
    sizes=st.tuples(*(st.integers(1, 4) for _ in range(4))),
    n_delays=st.integers(1, 5),
    dilation=st.integers(1, 3),
    causal=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_layer_is_torchs_convolution(sizes, n_delays, dilation, causal, dtype, agree):
    n_rows, n_steps, d_in, d_out = sizes
    if not causal:
        n_delays += 1 - n_delays % 2
    layer = TimeDelay(d_in, d_out, n_delays, dilation=dilation, causal=causal).to(dtype)
    x = torch.randn(n_rows, n_steps, d_in, dtype=dtype, requires_grad=True)
    inputs = (x, *layer.parameters())
    agree_with_gradients(agree, inputs, layer(x), torch_convolves(layer, x))


def test_a_layer_is_its_sum_over_delays():
    causal = TimeDelay(E, D, 3, dilation=2, causal=True)
    centred = TimeDelay(E, D, 3, dilation=2, causal=False)
    x = torch.randn(B, T, E)
    for layer, shift in ((causal, 0), (centred, 2)):
        for t in range(T):
            wanted = layer.b.expand(B, D)
            for k in range(3):
                place = t + shift - 2 * k
                if 0 <= place < T:
                    wanted = wanted + x[:, place] @ layer.W[k]
            torch.testing.assert_close(layer(x)[:, t], wanted)


def test_a_layers_gradients_are_those_of_finite_differences():
    layer = TimeDelay(2, 3, 3, dilation=2, causal=True).double()
    x = torch.randn(2, 4, 2, dtype=torch.float64, requires_grad=True)

    def run(x, W, b):
        return torch.func.functional_call(layer, {"W": W, "b": b}, (x,))

    assert torch.autograd.gradcheck(run, (x, layer.W, layer.b))


@st.composite
def stacks(draw):
    n_layers = draw(st.integers(1, 3))

    causal = draw(st.booleans())
    return TDNNConfig(
        d_in=draw(st.integers(1, 3)),
        n_classes=draw(st.integers(2, 3)),
        widths=tuple(draw(st.integers(1, 4)) for _ in range(n_layers)),
        n_delays=tuple(
            draw(st.integers(1, 4) if causal else st.sampled_from([1, 3, 5]))
            for _ in range(n_layers)
        ),
        dilations=tuple(draw(st.integers(1, 3)) for _ in range(n_layers)),
        causal=causal,
        pooling=draw(st.sampled_from(["mean", "max"])),
    )


@settings(max_examples=25)
@given(config=stacks(), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_a_network_is_torchs_layers_one_after_the_other(config, dtype, agree):
    """nn.Conv1d and ReLU, a pool, nn.Linear, row by row without any padding."""
    model, lengths = TDNN(config).to(dtype), torch.tensor([7, 2, 4])
    x = torch.randn(3, 7, config.d_in, dtype=dtype)
    ours, theirs = model(x, lengths=lengths), []
    for row, n in zip(x, lengths, strict=True):
        states = row[None, :n]
        for layer in model.layers:
            states = torch.relu(torch_convolves(layer, states))
        pool = nn.functional.adaptive_avg_pool1d
        if config.pooling == "max":
            pool = nn.functional.adaptive_max_pool1d
        theirs.append(model.read(pool(states.mT, 1)[..., 0])[0])
    inputs = tuple(model.parameters())
    agree_with_gradients(agree, inputs, ours, torch.stack(theirs), model=True)


@settings(max_examples=25)
@given(config=stacks())
def test_the_receptive_field_is_the_one_that_a_push_at_each_step_finds(config):
    """All weights one and nothing negative: no push can be lost on the way."""
    field = receptive_field(config.n_delays, config.dilations)
    model, n_steps = TDNN(config), 2 * field + 1
    with torch.no_grad():
        for layer in model.layers:
            layer.W.fill_(1.0)
            layer.b.zero_()
    pushed = torch.eye(n_steps)[..., None].expand(-1, -1, config.d_in)  # (T, T, E)
    seen = model.features(pushed)[:, field, 0] > 0  # by the middle, at which step?
    reach = seen.nonzero()[:, 0] - field
    ahead = 0 if config.causal else (field - 1) // 2
    assert reach.max() == ahead
    assert reach.min() == ahead - (field - 1)
    if set(config.dilations) == {1}:
        assert len(reach) == field  # without a gap


@pytest.mark.parametrize("causal", [True, False])
def test_what_is_moved_in_is_moved_out(causal):
    """Away from the ends, where what lies outside comes into view."""
    model = TDNN(replace(SMALL, causal=causal, dilations=(1, 2)))
    field = receptive_field(model.config.n_delays, model.config.dilations)
    x = torch.randn(B, 20, E)
    here, there = model.features(x), model.features(x.roll(3, dims=1))
    inside = slice(field - 1, 20 - field - 3)
    torch.testing.assert_close(there.roll(-3, dims=1)[:, inside], here[:, inside])
    assert not torch.allclose(there[:, inside], here[:, inside])


def test_padding_reaches_nothing():
    lengths = torch.tensor([3, 7])
    x = torch.randn(B, T, E)
    real = torch.arange(T) < lengths[:, None]
    dirty = x.masked_fill(~real[..., None], float("nan"))
    for causal in (True, False):
        model = TDNN(replace(SMALL, causal=causal))
        found = model(x, lengths=lengths)
        assert torch.equal(model(dirty, lengths=lengths), found)
        for row, n, logits in zip(x, lengths, found, strict=True):
            torch.testing.assert_close(model(row[None, :n])[0], logits)
        assert not torch.allclose(model(x), found)


def spectra(n_rows, pair, *, seed):
    """Return frames of 20 ms as the strength of 40 pitches, and which of two it is.

    All are made equally loud, as speakers are not.
    """
    drawn = tones(n_rows, 1, generator=generator(seed))
    keep = torch.isin(drawn.syllables[:, 0], torch.tensor(pair))
    frames = drawn.waves[keep].unfold(1, 80, 80)  # (B, T, 80)
    strength = torch.fft.rfft(frames).abs()[..., 1:].log1p()  # (B, T, 40)
    strength /= strength.square().mean(dim=(1, 2), keepdim=True).sqrt()
    return strength, (drawn.syllables[keep, 0] == pair[1]).long()


def train(model, x, y, n_steps):
    cross_entropy = nn.functional.cross_entropy
    descend(model, lambda m: cross_entropy(m(x), y), n_steps=n_steps, lr=0.02)


def share_right(model, x, y):
    return (model(x).argmax(dim=1) == y).float().mean().item()


def test_it_tells_two_syllables_apart_that_start_on_one_pitch():
    """A tone or a rise from 300 Hz, from speakers it has not heard."""
    assert [SYLLABLES[k][0] for k in (0, 2)] == [0, 4]
    x, y = spectra(800, (0, 2), seed=0)
    config = TDNNConfig(d_in=40, n_classes=2, widths=(16, 16), pooling="max")
    model = TDNN(replace(config, causal=True))
    train(model, x, y, 120)
    x, y = spectra(400, (0, 2), seed=1)
    assert share_right(model, x, y) > 0.93  # of eight seeds the least had 0.98


def test_what_it_learns_at_one_place_it_knows_at_another():
    """A phrase of two steps, always at the start in training, later at the end."""
    x = torch.randint(2, (64, 3), generator=generator(0)).float() * 2 - 1
    y = (x[:, 0] > x[:, 1]).long()
    early = torch.zeros(64, 12, 1)
    early[:, 1:3, 0] = x[:, :2]
    late = early.roll(8, dims=1)
    model = TDNN(TDNNConfig(d_in=1, n_classes=2, pooling="max"))
    window = nn.Sequential(nn.Flatten(), nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2))
    for net in (model, window):
        train(net, early, y, 120)
        assert share_right(net, early, y) == 1
    assert share_right(model, late, y) == 1
    assert share_right(window, late, y) < 0.9


def test_it_runs_on_meta_and_compiles_in_one_piece():
    model, x, lengths = TDNN(SMALL), torch.randn(B, T, E), torch.tensor([3, 7])
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, lengths=lengths), model(x, lengths=lengths))
    assert model.to("meta")(x.to("meta")).shape == (B, N_OUT)


def test_a_config_goes_to_json_and_back():
    found = TDNNConfig(**json.loads(json.dumps(asdict(SMALL))))
    assert found == SMALL
    assert hash(found) == hash(SMALL)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"d_in": 0}, r"^d_in=0 must be at least 1$"),
        ({"n_classes": 1}, r"^n_classes=1 must be at least 2$"),
        ({"widths": ()}, r"^widths=\(\) must be sizes of at least 1, one for each of"),
        ({"widths": (4, 0)}, r"^widths=\(4, 0\) must be sizes of at least 1, one for"),
        (
            {"n_delays": (3, 0)},
            r"^n_delays=\(3, 0\) must be sizes of at least 1, one for each of the "
            r"layers of widths=\(4, 4\)$",
        ),
        ({"dilations": (1,)}, r"^dilations=\(1,\) must be sizes of at least 1, one"),
        ({"n_delays": (3, 2)}, r"^n_delays=\(3, 2\) must be odd in layers that are ce"),
        ({"pooling": "last"}, r"^pooling='last' must be one of mean, max$"),
    ],
)
def test_a_wrong_setting_is_named(settings, said):
    with pytest.raises(ValueError, match=said):
        replace(SMALL, **settings)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"^x must be \(B, T, E\): E should be 3, got"):
        TDNN(SMALL)(torch.zeros(B, T, E + 1))
    with pytest.raises(ValueError, match=r"^x must be \(B, T, E\): expected 3 axes"):
        TDNN(SMALL)(torch.zeros(B, T), lengths=torch.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"^x is torch.float64 and the weights are"):
        TDNN(SMALL)(torch.zeros(B, T, E).double())
    with pytest.raises(ValueError, match=r"^lengths must lie between 1 and T=9, got"):
        TDNN(SMALL)(torch.zeros(B, T, E), lengths=torch.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"^states has no time steps: its shape is"):
        TDNN(SMALL)(torch.zeros(B, 0, E))
