"""The recipe "ball": what its networks see, and that they learn."""

import dataclasses
import json
import re

import pytest
import torch

from unrolled.evaluation.extrapolation import fit_error
from unrolled.recipes import ball
from unrolled.recipes.runner import results
from unrolled.runtime import book_folder, generator


def test_throws_in_the_open_meet_no_wall_and_share_their_noise():
    open_, box = (ball.throw(50, w, generator=generator(0)) for w in ("open", "box"))
    assert not open_.bounces.any()
    assert box.bounces.any()
    noise = [flights.seen - flights.positions for flights in (open_, box)]
    torch.testing.assert_close(noise[0], noise[1], rtol=0, atol=1e-12)
    assert noise[0].std().item() == pytest.approx(1, abs=0.1)


def test_a_network_sees_its_frames_and_no_others():
    nets = ball.BallNets([1, 3], place=False)
    for p in nets.parameters():
        p.data.normal_()
    seen = torch.randn(2, 4, ball.MOST, 2)
    for frame in range(ball.MOST):
        other = seen.clone()
        other[:, :, frame] += 1
        moved = (nets(other) - nets(seen)).abs().amax(dim=(1, 2)) > 1e-6
        assert moved.tolist() == [frame == 7, frame >= 5]


def test_only_in_the_box_does_the_place_matter():
    for place in (False, True):
        nets = ball.BallNets([4], place=place)
        for p in nets.parameters():
            p.data.normal_()
        seen = torch.randn(1, 3, ball.MOST, 2)
        same = torch.allclose(nets(seen + 1), nets(seen) + 1, atol=1e-4)
        assert same is not place


def test_a_short_training_finds_the_line():
    config = dataclasses.replace(ball.TRAIN, steps=400)
    nets = ball.train("open", 0, [(2, 0.0)], config)
    assert ball.errors(nets, "open", [(2, 0.0)])[0] < 0.02  # one frame has 0.1


def test_the_record_is_whole_and_no_network_beats_what_is_possible():
    record = results("ball")
    assert len(record["units"]) == len(ball.UNITS)
    for unit in record["units"]:
        assert set(unit["errors"]) == {f"{noise:g}" for noise in ball.NOISES}
    line = fit_error(8, 0.01)
    for unit in record["units"][:3]:
        assert unit["errors"]["0.01"][7] > 0.95 * line


def test_the_exported_network_has_the_frames_it_was_trained_on():
    text = (book_folder() / "_static" / "models" / "ball.js").read_text("utf-8")
    weights = json.loads(re.search(r"= (\{.*\});", text)[1])
    assert len(weights["A"]) == len(weights["W_1"]) == 2 * ball.SHOWN[0] + 2
    assert len(weights["V"]) == ball.WIDTH
