"""Checkpoints: a run that was stopped goes on bit for bit, or is refused in words."""

import itertools
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from unrolled.data.batch import Batch
from unrolled.runtime import generator
from unrolled.training import resume
from unrolled.training.loop import TrainConfig, fit
from unrolled.training.optimizers import AdamW, MuonAdamW
from unrolled.training.schedules import WarmupCosine

CONFIG = TrainConfig(
    steps=9,
    lr=0.05,
    weight_decay=0.1,
    schedule=WarmupCosine(warmup=2, steps=9),
    validate_every=2,
    checkpoint_every=3,
)


class StopError(Exception):
    """What ends a run too early."""


def network(seed=0):
    """Dropout that draws, weights that are tied, and a buffer that counts."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 4)
    )
    model[3].bias = model[0].bias
    return model


def loss_fn(model, batch):
    noise = random.gauss(0, 0.1) + np.random.randn()
    return (model(batch.x) - batch.y).square().mean() * (1 + 0.1 * noise)


def batches(stop_at=None, seed=0):
    rng = generator(seed)
    for n in itertools.count():
        if n == stop_at:
            raise StopError
        x = torch.randn(5, 3, generator=rng)
        yield Batch(x=x, y=torch.cat([x, x[:, :1]], dim=1))


def meddling_batches(stop_at=None):
    """A stream that also draws from the generator that dropout draws from."""
    for batch in batches(stop_at):
        torch.rand(3)
        yield batch


def global_batches(stop_at=None):
    """A stream that is drawn from that generator, and so depends on the dropout."""
    for batch in batches(stop_at):
        yield replace(batch, x=torch.randn(5, 3))


def validate(model):
    return model(torch.ones(2, 3)).square().mean().item()


def run(path, config=CONFIG, stop_at=None, stream=batches, validate=validate, seed=0):
    random.seed(seed)
    np.random.seed(seed)
    model = network(seed)
    losses = fit(
        model, loss_fn, stream(stop_at), config, validate=validate, checkpoint=path
    )
    return model, losses


def same_bits(one, two):
    (model, losses), (other, others) = one, two
    assert losses == others
    assert losses.validation == others.validation
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


@pytest.mark.parametrize("stop_at", [3, 5, 8])
@pytest.mark.parametrize("stream", [batches, meddling_batches])
@pytest.mark.parametrize("optimizer", [AdamW(), AdamW(fused=False), MuonAdamW()])
def test_a_stopped_run_goes_on_bit_for_bit(tmp_path, stop_at, stream, optimizer):
    config = replace(CONFIG, optimizer=optimizer)
    whole = run(tmp_path / "whole", config, stream=stream)
    with pytest.raises(StopError):
        run(tmp_path / "part", config, stop_at, stream)
    # other draws have happened since; only the model begins as it did
    model = network()
    random.seed(99)
    np.random.seed(99)
    losses = fit(
        model,
        loss_fn,
        stream(),
        config,
        validate=validate,
        checkpoint=tmp_path / "part",
    )
    same_bits((model, losses), whole)
    ours, theirs = (load_file(tmp_path / name) for name in ("part", "whole"))
    assert ours.keys() == theirs.keys()
    assert any(name.startswith("optimizer.0.0.") for name in ours)
    for name, tensor in ours.items():
        assert torch.equal(tensor, theirs[name]), name  # the optimizers' memory too


def test_a_checkpoint_changes_nothing_in_the_run(tmp_path):
    same_bits(run(None), run(tmp_path / "a"))


def test_a_run_may_stop_again_and_again(tmp_path):
    whole = run(None)
    for stop_at in (4, 4, 7):
        with pytest.raises(StopError):
            run(tmp_path / "a", stop_at=stop_at)
    same_bits(run(tmp_path / "a"), whole)


def test_before_the_first_checkpoint_a_run_starts_over(tmp_path):
    with pytest.raises(StopError):
        run(tmp_path / "deep" / "a", stop_at=2)
    assert not list(tmp_path.iterdir())
    same_bits(run(tmp_path / "deep" / "a"), run(None))


def test_a_finished_run_is_only_read(tmp_path):
    whole = run(tmp_path / "a")
    before = (tmp_path / "a").stat().st_mtime_ns
    same_bits(run(tmp_path / "a", stop_at=9), whole)
    assert (tmp_path / "a").stat().st_mtime_ns == before


@pytest.mark.parametrize("stop_at", [4, 6, None])
def test_patience_goes_on_with_its_best_weights(tmp_path, stop_at):
    config = replace(CONFIG, validate_every=1, patience=2, checkpoint_every=1)

    def worse_after_four(model):
        rows = model(torch.ones(2, 3)).square().mean().item()
        step = int(model[1].num_batches_tracked)
        return rows + 100 * (step - 4) if step > 4 else -step

    whole = run(None, config, validate=worse_after_four)
    assert len(whole[1]) == 6
    assert whole[1].best_step == 4
    if stop_at is not None:
        with pytest.raises(StopError):
            run(tmp_path / "a", config, stop_at - 1, validate=worse_after_four)
    same_bits(run(tmp_path / "a", config, validate=worse_after_four), whole)
    same_bits(run(tmp_path / "a", config, validate=worse_after_four), whole)


def stopped(tmp_path, config=CONFIG):
    with pytest.raises(StopError):
        run(tmp_path / "a", config, stop_at=5)
    return tmp_path / "a"


def test_a_crash_while_writing_leaves_the_old_checkpoint(monkeypatch, tmp_path):
    path, whole = stopped(tmp_path), run(None)
    before = path.read_bytes()

    def crash(tensors, beside, metadata):
        save_file(tensors, beside, metadata)
        beside.write_bytes(beside.read_bytes()[:100])
        raise StopError

    with monkeypatch.context() as patch:
        patch.setattr(resume, "save_file", crash)
        with pytest.raises(StopError):
            run(path)
    assert path.read_bytes() == before
    same_bits(run(path), whole)


CHILD = """
import sys, torch
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_resume as t
t.run(Path(sys.argv[2]), t.LONG)
"""
LONG = replace(CONFIG, steps=100_000, checkpoint_every=1)


def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    path, here = tmp_path / "a", os.path.dirname(__file__)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, here, str(path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 120
    try:
        while not path.exists() and time.monotonic() < deadline:
            assert child.poll() is None
            time.sleep(0.01)
        seen = set()
        for _ in range(100):  # whoever looks, at whatever moment, finds a whole one
            seen.add(len(load_file(path)["losses"]))
    finally:
        child.kill()
        child.wait()
    assert len(seen) > 1  # the file was being written all the while
    kept = load_file(path)["losses"].tolist()
    short = replace(LONG, steps=len(kept))
    assert kept == list(run(None, short)[1])


@dataclass(frozen=True)
class Sizes:
    width: int


def of_width(width):
    model = nn.Linear(3, width)
    model.config = Sizes(width)
    return model


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    path = stopped(tmp_path)
    message = (
        "is the checkpoint of another run: lr was 0.05 and is 0.07; accumulate was 1 "
        "and is 2. Delete it, or go on with what it was made with$"
    )
    with pytest.raises(ValueError, match=message):
        run(path, replace(CONFIG, lr=0.07, accumulate=2))
    schedule = WarmupCosine(warmup=3, steps=9)
    with pytest.raises(ValueError, match=r"schedule was WarmupCosine\(warmup=2, .* is"):
        run(path, replace(CONFIG, schedule=schedule))


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    def try_one(model):
        def loss_fn(model, batch):
            return model(batch.x).square().mean()

        config = TrainConfig(steps=1)
        fit(model, loss_fn, batches(), config, checkpoint=tmp_path / "a")

    try_one(of_width(2))
    message = r"another run: model was Sizes\(width=2\) and is Sizes\(width=3\); its w"
    with pytest.raises(ValueError, match=message):
        try_one(of_width(3))
    alike = of_width(3)
    alike.config = Sizes(2)
    message = r"another run: its weights are those of another model\. Delete it"
    with pytest.raises(ValueError, match=message):
        try_one(alike)


def rewrite(path, change):
    """Write the checkpoint again with other words beside the same tensors."""
    with safe_open(path, "pt") as file:
        about = file.metadata()
    change(about)
    save_file(load_file(path), path, about)


def cut(name, *pieces):
    """Return a change that takes pieces out of a setting: it had no such field."""

    def change(about):
        for piece in pieces:
            assert about[name].count(piece) == 1
            about[name] = about[name].replace(piece, "")

    return change


MUON = replace(CONFIG, optimizer=MuonAdamW())
OLDER = {
    "a field of the config": (CONFIG, lambda about: about.pop("accumulate")),
    "a field with a factory": (CONFIG, lambda about: about.pop("optimizer")),
    "a field inside it": (CONFIG, cut("optimizer", ", fused=True")),
    "two, and the first": (CONFIG, cut("optimizer", "betas=(0.9, 0.999), eps=1e-08, ")),
    "a field inside that": (MUON, cut("optimizer", ", decay_vectors=False")),
    "a whole dataclass": (
        replace(CONFIG, optimizer=MuonAdamW()),
        lambda about: about.update(
            optimizer=about["optimizer"].split(", adamw")[0] + ")"
        ),
    ),
}


@pytest.mark.parametrize(("config", "change"), OLDER.values(), ids=OLDER)
def test_a_checkpoint_from_before_a_field_with_a_default_goes_on(
    tmp_path, config, change
):
    path = stopped(tmp_path, config)
    rewrite(path, change)
    same_bits(run(path, config), run(None, config))


def test_a_field_since_must_have_its_default(tmp_path):
    path = stopped(tmp_path)
    rewrite(path, lambda about: about.pop("accumulate"))
    with pytest.raises(ValueError, match=r"run: accumulate was 1 and is 2\. Delete"):
        run(path, replace(CONFIG, accumulate=2))
    rewrite(path, cut("optimizer", ", fused=True"))
    with pytest.raises(ValueError, match=r"optimizer was AdamW\(.*\) and is AdamW\(.*"):
        run(path, replace(CONFIG, optimizer=AdamW(fused=False)))
    rewrite(path, lambda about: about.pop("steps"))
    with pytest.raises(ValueError, match="run: steps was not set and is 9"):
        run(path)


def add(about):
    about["optimizer"] = about["optimizer"].replace("fused", "colour='red', fused")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda about: about.update(colour="'red'"),
            r"another run: colour was 'red' and is unknown to this version\. Delete",
        ),
        (add, r"optimizer was AdamW\(.*colour='red'.*\) and is AdamW\("),
        (lambda about: about.update(schedule="Constant()"), "schedule was Constant"),
        (lambda about: about.update(schedule="1 +"), r"schedule was 1 \+ and is"),
        (lambda about: about.update(schedule="f(2)"), r"schedule was f\(2\) and is"),
        (lambda about: about.pop("processes"), "processes was not set and is 1"),
    ],
)
def test_a_setting_that_is_not_known_is_refused(tmp_path, change, message):
    path = stopped(tmp_path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        run(path)


@dataclass(frozen=True)
class NewSizes:
    width: int
    depth: int = 1


NewSizes.__qualname__ = "Sizes"


@pytest.mark.parametrize("depth", [1, 2])
def test_a_model_may_get_a_field_too(tmp_path, depth):
    def go_on(model):
        def loss_fn(model, batch):
            return model(batch.x).square().mean()

        fit(model, loss_fn, batches(), TrainConfig(steps=1), checkpoint=tmp_path / "a")

    go_on(of_width(2))
    newer = of_width(2)
    newer.config = NewSizes(2, depth)
    if depth == 1:
        go_on(newer)
        return
    message = r"model was Sizes\(width=2\) and is Sizes\(width=2, depth=2\)"
    with pytest.raises(ValueError, match=message):
        go_on(newer)


def test_other_batches_are_refused(tmp_path):
    path = stopped(tmp_path)
    message = r"^batch 3 is not the one that .*a has seen: give fit the same batches"
    with pytest.raises(ValueError, match=message):
        run(path, stream=lambda stop_at: batches(seed=1))
    path.unlink()
    with pytest.raises(StopError):
        run(path, stop_at=5, stream=global_batches)
    message = r"give fit the same batches .* from a generator of their own$"
    with pytest.raises(ValueError, match=message):
        run(path, stream=global_batches)
    message = r"^batches ran out after 2, but .*a has seen 3: give fit the same batches"
    with pytest.raises(ValueError, match=message):
        run(path, stream=lambda stop_at: itertools.islice(batches(), 2))


@pytest.mark.parametrize("kind", ["text", "half", "weights"])
def test_a_file_that_is_no_checkpoint_is_named(tmp_path, kind):
    path = stopped(tmp_path)
    if kind == "weights":
        save_file({"a": torch.zeros(2)}, path)
    else:
        data = path.read_bytes()
        path.write_bytes(b"not a checkpoint" if kind == "text" else data[:-10])
    message = "a is no checkpoint of a training run, or it is damaged$"
    with pytest.raises(ValueError, match=message):
        run(path)


def test_a_schedule_that_is_a_function_goes_on_too(tmp_path):
    """Made anew, as in a new process, it lies elsewhere in memory."""

    def config():
        return replace(CONFIG, schedule=lambda step: 1 / step)

    with pytest.raises(StopError):
        run(tmp_path / "a", config(), stop_at=5)
    same_bits(run(tmp_path / "a", config()), run(None, config()))
