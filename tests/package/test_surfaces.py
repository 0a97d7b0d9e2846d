"""Surfaces of two weights: lowest where they say, with paths as in the equations."""

import pytest
import torch

from unrolled.training.surfaces import FAR, METHODS, SURFACES, Surface, roll
from unrolled.widgets import live
from unrolled.widgets.roll_down_the_loss import (
    METHOD_NAMES,
    PRESETS,
    roll_numbers,
    verdict,
)

every_surface = pytest.mark.parametrize("name", SURFACES)


def grid(surface: Surface, n: int = 401) -> torch.Tensor:
    """Points all over the square that the surface is drawn in, (n, n, 2)."""
    lines = [
        torch.linspace(low, low + surface.side, n, dtype=torch.float64)
        for low in surface.corner
    ]
    return torch.stack(torch.meshgrid(*lines, indexing="ij"), dim=-1)


@every_surface
def test_the_lowest_value_is_the_lowest_in_sight(name):
    surface = SURFACES[name]
    heights = surface.loss(grid(surface))
    assert heights.shape == (401, 401)
    assert surface.lowest <= heights.min().item() < surface.lowest + 2e-4


def by_hand(surface, start, method, lr, beta, steps):
    """The three methods as the primer writes them, gradients by finite differences."""
    w = torch.tensor(start, dtype=torch.float64)
    m, v, eye = torch.zeros(2).double(), torch.zeros(2).double(), torch.eye(2).double()
    for t in range(1, steps + 1):
        up, down = surface.loss(w + 1e-6 * eye), surface.loss(w - 1e-6 * eye)
        g = (up - down) / 2e-6
        if method == "descent":
            w = w - lr * g
        elif method == "momentum":
            m = beta * m + g
            w = w - lr * m
        else:
            m, v = beta * m + (1 - beta) * g, 0.999 * v + 0.001 * g**2
            m_hat, v_hat = m / (1 - beta**t), v / (1 - 0.999**t)
            w = w - lr * m_hat / (v_hat.sqrt() + 1e-8)
    return w


@every_surface
@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_that_of_the_equations(name, method):
    surface, start = SURFACES[name], (-1.4, 0.7)
    path, losses = roll(surface, start, method, lr=0.01, beta=0.7, steps=20)
    assert path.shape == (21, 2)
    torch.testing.assert_close(losses, surface.loss(path))
    expected = by_hand(surface, start, method, 0.01, 0.7, 20)
    torch.testing.assert_close(path[-1], expected, rtol=0, atol=1e-6)


def test_beyond_two_over_the_curvature_descent_flies_off():
    valley = SURFACES["valley"]
    path, _ = roll(valley, (0.0, 1.0), "descent", lr=1.99 / 25, steps=50)
    assert path[-1].abs().max() < 1
    path, _ = roll(valley, (0.0, 1.0), "descent", lr=0.5, steps=50)
    assert len(path) < 51
    assert path[-1].abs().max() > FAR
    assert path[-2].abs().max() <= FAR


def test_a_wrong_method_or_start_is_refused():
    with pytest.raises(ValueError, match="method='Adam' must be one of descent, mom"):
        roll(SURFACES["bowl"], (0.0, 0.0), "Adam", lr=0.1)
    with pytest.raises(ValueError, match="N should be 2, got 1"):
        roll(SURFACES["bowl"], (0.0,), "adam", lr=0.1)
    with pytest.raises(ValueError, match="steps=-1 must be at least 0"):
        roll(SURFACES["bowl"], (0.0, 0.0), "adam", lr=0.1, steps=-1)


# ---- the lab's counterpart ----


def test_the_examples_show_what_their_names_say():
    said = {text: verdict(roll_numbers(setting)) for text, setting in PRESETS.items()}
    assert said["Too careful"].startswith("Under way")
    assert said["As bold as the valley allows"].startswith("Under way")
    assert said["A little too bold"].startswith("Flies off")
    assert said["The careful one, with momentum"].startswith("Arrives")
    assert said["On the ridge of a saddle"].startswith("Rests 0.250 above")
    assert said["Into the wrong hollow"].startswith("Rests 0.600 above")
    assert said["Through the wrong hollow, with momentum"].startswith("Arrives")
    assert said["Round the bend"].startswith("Arrives")
    assert list(METHOD_NAMES) == list(METHODS)


def test_arriving_means_staying_there():
    valley = {"surface": "valley", "method": "descent", "rate": -1.05, "beta": 0.9}
    passing = roll_numbers(valley | {"w1": 0.0, "w2": 0.0005})  # begins near, flies off
    assert passing.gaps[0] < 1e-3
    assert passing.arrived is None
    assert verdict(passing).startswith("Flies off")
    resting = roll_numbers(valley | {"w1": 0.0, "w2": 0.0})
    assert verdict(resting) == "Starts at the lowest point, and stays there."


def test_live_follows_its_controls():
    box = live("roll-down-the-loss")
    find = {w.description: w for w in box.children[:-1]}
    for text, setting in PRESETS.items():
        find["Example"].value = text
        assert f"<b>{verdict(roll_numbers(setting))}</b>" in box.children[-1].value
    find["method"].value = "descent"
    find["rate"].value = -2
    setting = PRESETS["Round the bend"] | {"method": "descent", "rate": -2}
    assert f"<b>{verdict(roll_numbers(setting))}</b>" in box.children[-1].value
