"""Several processes: the losses of one, one writer, and no process left waiting."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from unrolled import cli
from unrolled.data.batch import Batch
from unrolled.losses import cross_entropy, n_counted
from unrolled.recipes import discovery, runner
from unrolled.runtime import generator
from unrolled.training import distributed
from unrolled.training.distributed import shares
from unrolled.training.loop import TrainConfig, fit

CONFIG = TrainConfig(steps=6, lr=0.1, clip_norm=0.5, weight_decay=0.1, validate_every=2)
ROWS = (5, 2, 1, 4)  # odd, even, fewer than processes: the last is one row alone


class Network(nn.Module):
    """A read-out, and weights that no row uses, or only rows that begin with 1."""

    def __init__(self, p_drop):
        super().__init__()
        self.hide = nn.Linear(3, 6)
        self.read = nn.Linear(6, 4)
        self.never = nn.Linear(2, 2)
        self.rare = nn.Linear(3, 6)
        self.drop = nn.Dropout(p_drop)

    def forward(self, x):
        h = self.hide(x)
        if (x[:, 0, 0] == 1).any():
            h = h + self.rare(x) * (x[:, :1, :1] == 1)
        return self.read(self.drop(torch.tanh(h)))


def loss_fn(model, batch):
    return cross_entropy(model(batch.x), batch.y, batch.mask)


def batches(stop_at=None):
    rng = generator(5)
    for n in itertools.count():
        if n == stop_at:
            return
        n_rows = ROWS[n % len(ROWS)]
        x = torch.randn(n_rows, 5, 3, generator=rng, dtype=torch.float64)
        if n == 3:
            x[-1, 0, 0] = 1  # of the second process alone
        y = torch.randint(4, (n_rows, 5), generator=rng)
        lengths = torch.randint(1, 6, (n_rows, 1), generator=rng)
        yield Batch(x=x, y=y, mask=torch.arange(5) < lengths)


def validate(model):
    return loss_fn(model, next(batches())).item()


def train(path=None, config=CONFIG, *, p_drop=0.0, seed=0, stop_at=None):
    torch.manual_seed(seed)
    model = Network(p_drop).double()
    losses = fit(
        model,
        loss_fn,
        batches(stop_at),
        config,
        validate=validate,
        checkpoint=path,
    )
    weights = {name: w.tolist() for name, w in model.state_dict().items()}
    return {"losses": losses, "validation": losses.validation, "weights": weights}


def run_unit(unit, folder):
    """Train in a unit of a recipe; it must find what an earlier one has saved."""
    if unit["seed"]:
        assert (folder / "0.txt").read_text() == "saved"
    (folder / f"{unit['seed']}.txt").write_text("saved")
    return {"losses": train(seed=unit["seed"])["losses"]}


RECIPE = SimpleNamespace(
    __name__="unrolled.recipes.fake",
    __doc__="A recipe of two units.",
    UNITS=[{"seed": 0}, {"seed": 1}],
    run_unit=run_unit,
    summarise=lambda units: {"units": len(units)},
)


def in_each_process(folder):
    """What every process of the launch below does: its findings go to a file."""
    with distributed.together():
        me = distributed.this_process()
        found = {"n": distributed.n_processes(), "leads": distributed.leads()}
        found["one start"] = train(seed=me)  # the second's own weights are not used
        found["pieces"] = train(config=replace(CONFIG, accumulate=2))
        found["drawn"] = torch.rand(3).tolist()
        own = folder / str(me)  # the second process never sees the first one's file
        every = replace(CONFIG, checkpoint_every=2)
        found["whole"] = train(config=every, p_drop=0.5)
        with pytest.raises(ValueError, match="ran out after 5 of 6"):
            train(own / "a", every, p_drop=0.5, stop_at=5)
        found["resumed"] = train(own / "a", every, p_drop=0.5)
        found["files"] = [path.name for path in own.glob("*")]
        apart = Batch(x=torch.full((2, 1), me), y=torch.zeros(2))
        with pytest.raises(ValueError, match="have drawn different batches"):
            fit(nn.Linear(1, 1), loss_fn, [apart], CONFIG)
        (folder / f"{me}.json").write_text(json.dumps(found))
        runner.load_recipe = discovery.load_recipe = lambda name: RECIPE
        runner.recipe_key = lambda recipe: "key"
        runner.book_folder = lambda: folder
        cli.app(["run", "fake"], standalone_mode=False)


def fail_in_the_second(folder):
    with distributed.together():
        if distributed.this_process() == 1:
            raise RuntimeError("the second process fails")
        train()


def launch(folder, what):
    """Run a function of this file in two processes, as torchrun does."""
    code = (
        "import sys; from pathlib import Path; import torch; torch.set_num_threads(1); "
        f"sys.path.insert(0, {str(Path(__file__).parent)!r}); "
        f"import {Path(__file__).stem} as t; t.{what}(Path({str(folder)!r}))"
    )
    script = folder / "script.py"
    script.write_text(code)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [sys.executable, *torchrun, str(script)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    done = launch(folder, "in_each_process")
    assert done.returncode == 0, done.stderr
    found = [json.loads((folder / f"{me}.json").read_text()) for me in (0, 1)]
    return folder, found, done


def close(ours, theirs):
    assert ours["losses"] == pytest.approx(theirs["losses"], abs=1e-10)
    assert list(ours["validation"].values()) == pytest.approx(
        list(theirs["validation"].values()), abs=1e-10
    )
    for name, weight in theirs["weights"].items():
        ours_now = torch.tensor(ours["weights"][name], dtype=torch.float64)
        gap = (ours_now - torch.tensor(weight, dtype=torch.float64)).abs().max()
        assert gap <= 1e-9, name


@pytest.mark.slow
def test_two_processes_give_the_losses_and_weights_of_one(launched):
    _, found, _ = launched
    alone = json.loads(json.dumps(train()))
    assert [(f["n"], f["leads"]) for f in found] == [(2, True), (2, False)]
    for one in found:
        close(one["one start"], alone)
        close(one["pieces"], alone)
    assert found[0]["one start"] == found[1]["one start"]  # to the last bit
    never = alone["weights"]["never.weight"]
    torch.manual_seed(0)
    assert never == Network(0.0).double().never.weight.tolist()  # no decay either


@pytest.mark.slow
def test_two_processes_draw_their_own_dropout(launched):
    _, found, _ = launched
    assert found[0]["drawn"] != found[1]["drawn"]
    assert found[0]["whole"] == found[1]["whole"]


@pytest.mark.slow
def test_two_processes_go_on_bit_for_bit_from_the_firsts_checkpoint(launched):
    _, found, _ = launched
    for one in found:
        assert one["resumed"] == one["whole"]
    assert [one["files"] for one in found] == [["a"], []]


@pytest.mark.slow
def test_a_recipe_is_trained_by_both_and_written_by_the_first(launched):
    folder, _, done = launched
    record = runner.results("fake", folder / "results")
    assert [u["seed"] for u in record["units"]] == [0, 1]
    for unit in record["units"]:
        alone = train(seed=unit["seed"])["losses"]
        assert unit["losses"] == pytest.approx(alone, abs=1e-10)
    assert [path.name for path in (folder / "results").iterdir()] == ["fake.json"]
    assert done.stdout.count("results in") == 1


@pytest.mark.slow
def test_an_error_in_one_process_ends_both(tmp_path):
    done = launch(tmp_path, "fail_in_the_second")
    assert done.returncode != 0
    assert "the second process fails" in done.stderr


def pretend(monkeypatch, me, n):
    monkeypatch.setattr(distributed, "n_processes", lambda: n)
    monkeypatch.setattr(distributed, "this_process", lambda: me)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("n_pieces", [1, 2])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 8])
def test_the_shares_of_all_processes_are_the_batch(monkeypatch, n, n_pieces, n_rows):
    lengths = torch.arange(n_rows)[:, None] % 4 + 1
    batch = Batch(
        x=torch.arange(n_rows * 4).view(n_rows, 4),
        y=torch.zeros(n_rows, 4),
        mask=torch.arange(4) < lengths,
    )
    found = []
    for me in range(n):
        pretend(monkeypatch, me, n)
        mine = shares(batch, n_pieces, n_counted)
        assert len(mine) <= n_pieces
        found += mine
    assert torch.equal(torch.cat([piece.x for piece, _ in found]), batch.x)
    assert sum(weight for _, weight in found) == pytest.approx(1)
    for piece, weight in found:
        assert weight == pytest.approx(int(piece.mask.sum()) / int(batch.mask.sum()))
    sizes = [len(piece) for piece, _ in found]
    assert max(sizes) - min(sizes) <= 1  # nobody waits for a longer share


def test_alone_nothing_is_sent_or_changed(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with distributed.together():
        assert not torch.distributed.is_initialized()
        assert (distributed.n_processes(), distributed.this_process()) == (1, 0)
        assert distributed.agreed(0.1) == 0.1
        assert distributed.sent(b"ab") == b"ab"
    model, state = nn.Linear(2, 2), torch.get_rng_state()
    distributed.start_alike(model)
    assert torch.equal(torch.get_rng_state(), state)
    loss, held = torch.ones(()), torch.ones(3)
    assert distributed.add_up(model, loss) is loss
    assert distributed.gathered(held) == [held]
    assert model.weight.grad is None


def test_an_error_leaves_the_group_at_once(monkeypatch):
    """Taking leave would wait for the others."""
    called = []
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setattr(torch.distributed, "init_process_group", called.append)
    leave = "destroy_process_group"
    monkeypatch.setattr(torch.distributed, leave, lambda: called.append("left"))
    with pytest.raises(KeyError), distributed.together():
        raise KeyError
    assert called == ["gloo"]
    with distributed.together():
        pass
    assert called == ["gloo", "gloo", "left"]


def test_a_process_that_does_not_lead_writes_nothing(monkeypatch, tmp_path, capsys):
    units, places = [{"seed": 0}, {"seed": 1}], []

    def run_unit(unit, folder):
        places.append(folder)
        assert (folder / "old.txt").exists()  # what finished units have saved
        (folder / "new.txt").touch()
        return {}

    name = "unrolled.recipes.fake"
    fake = SimpleNamespace(__name__=name, UNITS=units, run_unit=run_unit, summarise=len)
    monkeypatch.setattr(runner, "load_recipe", lambda name: fake)
    monkeypatch.setattr(runner, "leads", lambda: False)
    monkeypatch.setattr(runner, "agreed", lambda n_done: 1.0)
    (tmp_path / "fake.partial").mkdir()
    (tmp_path / "fake.partial" / "old.txt").touch()
    assert runner.run_recipe("fake", folder=tmp_path) == []
    assert len(places) == 1
    assert not places[0].exists()
    names = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    assert sorted(names) == ["fake.partial", "fake.partial/old.txt"]
    assert capsys.readouterr() == ("", "")


def test_processes_that_have_not_joined_do_not_train(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    message = "^torchrun has started 2 processes, .*: train inside 'with together"
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "a")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert len(train()["losses"]) == CONFIG.steps
