"""Recipes: resumed where they stopped, written whole, and the flip-flop's own model."""

import json
import re
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from unrolled.data.flip_flop import flip_flop
from unrolled.models.tagger import Tagger
from unrolled.recipes import flip_flop as recipe
from unrolled.recipes import runner
from unrolled.recipes.runner import load_recipe, recipe_names, results, run_recipe
from unrolled.runtime import book_folder, generator

MODELS = book_folder() / "_static" / "models"


class Fake(SimpleNamespace):
    """A recipe of three units that notes what it runs, and may be interrupted."""

    def __init__(self, units=({"seed": 0}, {"seed": 1}, {"seed": 2}), stop_at=None):
        super().__init__(UNITS=list(units), stop_at=stop_at, ran=[])

    def run_unit(self, unit):
        if unit["seed"] == self.stop_at:
            raise KeyboardInterrupt
        self.ran.append(unit["seed"])
        return {"square": unit["seed"] ** 2}

    def summarise(self, units):
        return {"sum": sum(unit["square"] for unit in units)}


@pytest.fixture
def use(monkeypatch):
    def use_recipe(fake):
        monkeypatch.setattr(runner, "load_recipe", lambda name: fake)
        return fake

    return use_recipe


def run(folder, **options):
    return run_recipe("fake", folder=folder, progress=False, **options)


def interrupted(use, folder, stop_at):
    fake = use(Fake(stop_at=stop_at))
    with pytest.raises(KeyboardInterrupt):
        run(folder)
    assert not (folder / "fake.json").exists()
    return fake


def test_a_run_records_every_unit_and_their_summary(use, tmp_path):
    use(Fake())
    folder = tmp_path / "not" / "there" / "yet"
    path = run(folder)
    record = json.loads(path.read_text())
    assert path == folder / "fake.json"
    assert [(u["seed"], u["square"]) for u in record["units"]] == [
        (0, 0),
        (1, 1),
        (2, 4),
    ]
    assert record["summary"] == {"sum": 5}
    assert record["recipe"] == "fake"
    assert record["versions"]["torch"] == torch.__version__
    assert record["cores"] >= 1
    assert [p.name for p in folder.iterdir()] == ["fake.json"]
    assert results("fake", folder) == record


def test_an_interrupted_run_goes_on_where_it_stopped(use, tmp_path):
    assert interrupted(use, tmp_path, stop_at=2).ran == [0, 1]
    second = use(Fake())
    run(tmp_path)
    assert second.ran == [2]
    assert results("fake", tmp_path)["summary"] == {"sum": 5}
    assert not (tmp_path / "fake.partial.json").exists()


def test_a_fresh_run_forgets_the_finished_part(use, tmp_path):
    interrupted(use, tmp_path, stop_at=2)
    second = use(Fake())
    run(tmp_path, fresh=True)
    assert second.ran == [0, 1, 2]


@pytest.mark.parametrize("units", [[{"seed": 5}, {"seed": 6}], [{"seed": 0}]])
def test_what_was_done_for_other_settings_is_not_taken_over(use, tmp_path, units):
    interrupted(use, tmp_path, stop_at=2)
    second = use(Fake(units))
    run(tmp_path)
    assert second.ran == [unit["seed"] for unit in units]
    assert len(results("fake", tmp_path)["units"]) == len(units)


def test_a_run_that_fails_leaves_the_old_results(use, tmp_path):
    use(Fake())
    path = run(tmp_path)
    before = path.read_bytes()
    use(Fake([{"seed": 3}, {"seed": 4}], stop_at=4))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert path.read_bytes() == before


def test_a_crash_while_writing_leaves_the_old_file(monkeypatch, tmp_path):
    path = tmp_path / "results.json"
    runner.write_whole(path, "old")

    def crash(self, target):
        raise OSError("no more power")

    monkeypatch.setattr(type(path), "replace", crash)
    with pytest.raises(OSError, match="no more power"):
        runner.write_whole(path, "new")
    assert path.read_text() == "old"


def test_an_unknown_recipe_is_told_which_there_are():
    assert "flip_flop" in recipe_names()
    assert "runner" not in recipe_names()
    with pytest.raises(ValueError, match=r"no recipe 'flop'; there are: .*flip_flop"):
        load_recipe("flop")


def test_missing_results_say_how_to_make_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="is missing: run 'unrolled run fake'"):
        results("fake", tmp_path)


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_its_parts_its_words_and_its_committed_results(name):
    module = load_recipe(name)
    record = results(name)
    assert module.__doc__.strip()
    assert [
        {k: u[k] for k in unit}
        for unit, u in zip(module.UNITS, record["units"], strict=True)
    ] == module.UNITS
    assert module.summarise(record["units"]) == record["summary"]


def committed_model():
    tensors = load_file(MODELS / "flip-flop.safetensors")
    model = Tagger(recipe.MODEL)
    cell = model.rnn.cells[0]
    with torch.no_grad():
        for name in ("W_x", "W_h", "b"):
            getattr(cell, name).copy_(tensors[name])
        model.read.weight.copy_(tensors["V"].T)
        model.read.bias.copy_(tensors["c"])
    return model


def test_the_committed_flip_flop_is_right_on_orders_it_never_saw():
    fresh = flip_flop(64, 500, n_wires=2, generator=generator(987_654))
    assert recipe.accuracy(committed_model(), fresh) > 0.999


def test_a_network_that_was_not_trained_would_not_be():
    fresh = flip_flop(64, 500, n_wires=2, generator=generator(987_654))
    assert recipe.accuracy(Tagger(recipe.MODEL), fresh) < 0.9


def test_the_labs_script_holds_the_numbers_of_the_checkpoint():
    script = (MODELS / "flip-flop.js").read_text()
    found = re.search(r'models\["flip-flop"\] = (\{.*\});', script)
    tensors = load_file(MODELS / "flip-flop.safetensors")
    assert json.loads(found[1]) == {name: t.tolist() for name, t in tensors.items()}
