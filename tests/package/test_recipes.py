"""Recipes: resumed where they stopped, never of two codes, and written whole."""

import dataclasses
import io
import json
import re
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from unrolled.data.made.flip_flop import flip_flop
from unrolled.data.made.recall import recall
from unrolled.layers.initialise import spectral_radius
from unrolled.layers.variants import ReLUCell
from unrolled.models.tagger import Tagger
from unrolled.recipes import descents, horizons, remedies, runner
from unrolled.recipes import flip_flop as recipe
from unrolled.recipes._sources import code_of, digest, imported_modules
from unrolled.recipes.discovery import load_recipe, recipe_names
from unrolled.recipes.freshness import rests_on
from unrolled.recipes.results import results, write_whole
from unrolled.recipes.runner import recipe_key, run_recipe
from unrolled.runtime import book_folder, generator, seed_all
from unrolled.training.loop import TrainConfig

MODELS = book_folder() / "_static" / "models"


class Fake(SimpleNamespace):
    """A recipe of three units that notes what it runs, and may be interrupted."""

    def __init__(self, units=({"seed": 0}, {"seed": 1}, {"seed": 2}), stop_at=None):
        name = "unrolled.recipes.fake"
        super().__init__(__name__=name, UNITS=list(units), stop_at=stop_at, ran=[])

    def run_unit(self, unit, folder):
        (folder / f"{unit['seed']}.txt").write_text(f"saved {unit['seed']}")
        if unit["seed"] == self.stop_at:
            raise KeyboardInterrupt
        self.ran.append(unit["seed"])
        return {"square": unit["seed"] ** 2}

    def replay_unit(self, unit, folder):
        return {"square": unit["seed"] ** 2}

    def summarise(self, units):
        return {"sum": sum(unit["square"] for unit in units)}


class Exporting(Fake):
    """A recipe that makes models of what its units saved, and may fail half-way."""

    def __init__(self, fails=False, **options):
        super().__init__(**options)
        self.fails = fails

    def export(self, folder, target):
        (target / "a.txt").write_text(f"new {len(list(folder.iterdir()))}")
        if self.fails:
            raise OSError("no more room")
        (target / "b.txt").write_text((folder / "0.txt").read_text())


@pytest.fixture
def use(monkeypatch):
    def use_recipe(fake):
        monkeypatch.setattr(runner, "load_recipe", lambda name: fake)
        return fake

    return use_recipe


def run(folder, **options):
    options = {"models": folder / "models", "progress": False} | options
    return run_recipe("fake", folder=folder, **options)[0]


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
    assert record["rests on"] == rests_on(Fake())
    assert len(record["replay"]["units"]) == 1
    assert results("fake", folder) == record


def test_an_interrupted_run_goes_on_where_it_stopped(use, tmp_path):
    assert interrupted(use, tmp_path, stop_at=2).ran == [0, 1]
    second = use(Fake())
    run(tmp_path)
    assert second.ran == [2]
    assert results("fake", tmp_path)["summary"] == {"sum": 5}
    assert [path.name for path in tmp_path.iterdir()] == ["fake.json"]


def test_what_an_unfinished_first_unit_saved_is_still_there(use, tmp_path):
    """It may be the checkpoint of a training run of many hours."""
    interrupted(use, tmp_path, stop_at=0)
    second, seen = use(Fake()), []
    run_unit = second.run_unit

    def look(unit, folder):
        seen.append((folder / "0.txt").exists())
        return run_unit(unit, folder)

    second.run_unit = look
    run(tmp_path)
    assert seen == [True] * 3


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


def test_what_other_code_did_is_run_again_and_said(use, tmp_path, monkeypatch, capsys):
    interrupted(use, tmp_path, stop_at=2)
    monkeypatch.setattr(runner, "recipe_key", lambda recipe: "another")
    second = use(Exporting())
    (tmp_path / "fake.partial" / "old.txt").write_text("of the old code")
    run(tmp_path, progress=True)
    assert second.ran == [0, 1, 2]
    assert (tmp_path / "models" / "a.txt").read_text() == "new 3"  # not the old file
    said = "fake: code or settings have changed: all units run anew"
    assert said in capsys.readouterr().out


def test_nothing_is_said_when_nothing_has_changed(use, tmp_path, capsys):
    interrupted(use, tmp_path, stop_at=2)
    use(Fake())
    run(tmp_path, progress=True)
    assert capsys.readouterr().out == ""


def test_what_was_saved_must_still_be_there(use, tmp_path):
    interrupted(use, tmp_path, stop_at=2)
    for path in (tmp_path / "fake.partial").iterdir():
        path.unlink()
    (tmp_path / "fake.partial").rmdir()
    second = use(Fake())
    run(tmp_path)
    assert second.ran == [0, 1, 2]


def test_a_partial_file_without_a_key_is_not_taken_over(use, tmp_path):
    interrupted(use, tmp_path, stop_at=2)
    partial = tmp_path / "fake.partial.json"
    partial.write_text(json.dumps(json.loads(partial.read_text())["units"]))
    second = use(Fake())
    run(tmp_path)
    assert second.ran == [0, 1, 2]


def test_settings_that_json_spells_otherwise_are_still_the_same(use, tmp_path):
    units = [{"seed": seed, "widths": (2, seed)} for seed in range(3)]
    use(Fake(units, stop_at=2))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    second = use(Fake(units))
    run(tmp_path)
    assert second.ran == [2]


def test_a_summary_sees_units_as_they_will_be_read(use, tmp_path):
    fake = use(Fake([{"seed": 1, "widths": (2, 3)}]))
    fake.summarise = lambda units: {"widths are": type(units[0]["widths"]).__name__}
    run(tmp_path)
    assert results("fake", tmp_path)["summary"] == {"widths are": "list"}


def test_models_are_made_of_what_units_saved_before_and_after_a_break(use, tmp_path):
    use(Exporting(stop_at=2))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert not (tmp_path / "models").exists()
    second = use(Exporting())
    written = run_recipe(
        "fake", folder=tmp_path, models=tmp_path / "models", progress=False
    )
    assert second.ran == [2]
    models = [tmp_path / "models" / name for name in ("a.txt", "b.txt")]
    assert written == [tmp_path / "fake.json", *models]
    assert [path.read_text() for path in models] == ["new 3", "saved 0"]
    assert sorted((tmp_path / "models").iterdir()) == models
    assert {path.name for path in tmp_path.iterdir()} == {"fake.json", "models"}


def test_an_export_that_fails_leaves_the_old_models_and_runs_no_unit_again(
    use, tmp_path
):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.txt").write_text("old")
    use(Exporting(fails=True))
    with pytest.raises(OSError, match="no more room"):
        run(tmp_path)
    assert (tmp_path / "models" / "a.txt").read_text() == "old"
    assert not (tmp_path / "fake.json").exists()
    second = use(Exporting())
    run(tmp_path)
    assert second.ran == []
    assert (tmp_path / "models" / "a.txt").read_text() == "new 3"


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
    write_whole(path, "old")

    def crash(self, target):
        raise OSError("no more power")

    monkeypatch.setattr(type(path), "replace", crash)
    with pytest.raises(OSError, match="no more power"):
        write_whole(path, "new")
    assert path.read_text() == "old"


MODULES = {
    "__init__": '"""A package."""\n',
    "recipes/__init__": "",
    "recipes/mine": "from unrolled.layers.cell import f\nUNITS = [1]\n",
    "recipes/other": "",
    "layers/__init__": "from .near import g\nfrom ..above import h\nfrom . import too",
    "layers/cell": "def f():\n    from unrolled.late import y\n",
    "layers/near": "",
    "layers/too": "",
    "layers/unused": "",
    "above": "",
    "late": "",
    "unused": "",
}
UNUSED = {"recipes/other", "layers/unused", "unused"}


@pytest.fixture
def package(tmp_path):
    for name, text in MODULES.items():
        path = tmp_path / "unrolled" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "unrolled"


def key_of(package):
    return recipe_key(SimpleNamespace(__name__="unrolled.recipes.mine"), package)


def test_imports_are_followed_to_the_end_however_they_are_spelt(package):
    found = imported_modules("import unrolled.recipes.mine", package)
    assert found == {package / f"{name}.py" for name in set(MODULES) - UNUSED}
    assert imported_modules("import torch, unrolledly\nx = 1", package) == set()


@pytest.mark.parametrize("name", MODULES)
def test_the_key_changes_with_the_code_a_recipe_rests_on_and_no_other(package, name):
    before, path = key_of(package), package / f"{name}.py"
    words = path.read_text() + "\n\n# a comment\n"
    path.write_bytes(words.replace("\n", "\r\n").encode())
    assert key_of(package) == before
    path.write_text(words + "x = 1\n")
    assert (key_of(package) == before) == (name in UNUSED)


def test_a_module_that_moves_changes_the_digest(tmp_path):
    before = tmp_path / "a.py"
    before.write_text("x = 1\n")
    old = digest([before], tmp_path)
    assert digest([before.rename(tmp_path / "b.py")], tmp_path) != old
    assert re.fullmatch("[0-9a-f]{64}", old)


def test_the_order_in_which_modules_are_found_does_not_matter(package):
    paths = sorted(package.rglob("*.py"))
    assert digest(paths, package) == digest(reversed(paths), package)


WORDY = '''"""What this is.

A second paragraph."""  # and a comment

import torch  # why
# a line of its own


class A:
    """What A is."""

    text = """kept

    # kept too"""  # not kept

    async def f(self, x="#"):
        "One line of — words."
        return [
            # inside brackets
            1,
        ]
'''
CODE = '''import torch
class A:
    text = """kept

    # kept too"""
    async def f(self, x="#"):
        return [
            1,
        ]'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_code_of_a_module_is_what_is_no_prose(tmp_path, end):
    path = tmp_path / "a.py"
    path.write_bytes(WORDY.replace("\n", end).encode())
    assert code_of(path).decode() == CODE


@pytest.mark.parametrize(
    "code",
    [
        'def f(x=1): "words"',  # words on a line of code
        '"words"; x = 1',
        'def f():\n    "words"; return 1',
        'x = "a" "b"',
        'def f():\n    return f"""{1}\n\n"""',
        "x = '\x0c'\n\"no docstring\"",
    ],
)
def test_no_code_is_taken_for_prose(tmp_path, code):
    path = tmp_path / "a.py"
    path.write_text(code)
    assert code_of(path).decode() == code


def test_of_other_files_only_line_ends_do_not_matter(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"# {\r\n\r\n}\xff")
    assert code_of(path) == b"# {\n\n}\xff"


@pytest.fixture
def no_encoding_of_the_machine(monkeypatch):
    """Let files be opened as text only by those who say how it is encoded."""

    def text_encoding(encoding, stacklevel=2):
        assert encoding is not None, "say encoding="
        return encoding

    monkeypatch.setattr(io, "text_encoding", text_encoding)


def test_an_unknown_recipe_is_told_which_there_are():
    assert "flip_flop" in recipe_names()
    assert "runner" not in recipe_names()
    with pytest.raises(ValueError, match=r"no recipe 'flop'; there are: .*flip_flop"):
        load_recipe("flop")


def test_missing_results_say_how_to_make_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="is missing: run 'unrolled run fake'"):
        results("fake", tmp_path)


def test_no_results_are_left_of_a_recipe_that_is_gone():
    there = {path.stem for path in (book_folder() / "results").glob("*.json")}
    assert there == set(recipe_names())


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_its_parts_its_words_and_its_committed_results(name):
    module = load_recipe(name)
    record = results(name)
    assert module.__doc__.strip()
    assert [
        {k: u[k] for k in unit}
        for unit, u in zip(module.UNITS, record["units"], strict=True)
    ] == json.loads(json.dumps(module.UNITS))
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


def test_the_committed_flip_flop_scores_as_recorded():
    (unit,) = (u for u in results("flip_flop")["units"] if u["seed"] == 0)
    found = recipe.accuracy(committed_model(), recipe.far_test())
    assert found == pytest.approx(unit["far accuracy"], abs=1e-4)


def test_a_network_that_was_not_trained_would_not_be():
    fresh = flip_flop(64, 500, n_wires=2, generator=generator(987_654))
    assert recipe.accuracy(Tagger(recipe.MODEL), fresh) < 0.9


def test_the_labs_script_holds_the_numbers_of_the_checkpoint():
    assert numbers_of(MODELS / "flip-flop.js") == {
        name: tensor.tolist()
        for name, tensor in load_file(MODELS / "flip-flop.safetensors").items()
    }


def numbers_of(script):
    text = script.read_text(encoding="utf-8")
    return json.loads(re.search(r'models\["flip-flop"\] = (\{.*\});', text)[1])


def test_the_flip_flop_exports_what_it_trained_without_training_again(
    no_encoding_of_the_machine, monkeypatch, tmp_path
):
    trained, train = [], recipe.train

    def train_and_note(seed):
        model, life = train(seed)
        trained.append(model)
        return model, life

    monkeypatch.setattr(recipe, "train", train_and_note)
    monkeypatch.setattr(runner, "run_replay", lambda recipe: {})
    monkeypatch.setattr(recipe, "TRAIN", dataclasses.replace(recipe.TRAIN, steps=1))
    monkeypatch.setattr(recipe, "UNITS", recipe.UNITS[:1])
    near = flip_flop(2, 5, n_wires=2, generator=generator(0))
    monkeypatch.setattr(recipe, "far_test", lambda: near)
    _, script, checkpoint = run_recipe(
        "flip_flop", folder=tmp_path, models=tmp_path / "models", progress=False
    )
    assert len(trained) == len(results("flip_flop", tmp_path)["units"]) == 1
    tensors = load_file(checkpoint)
    assert torch.equal(tensors["V"], trained[0].read.weight.detach().T)
    assert torch.equal(tensors["W_h"], trained[0].rnn.cells[0].W_h.detach())
    assert numbers_of(script) == {name: t.tolist() for name, t in tensors.items()}
    (tmp_path / "plain").touch()  # models can be read by whoever can read the rest
    modes = {p.stat().st_mode for p in (script, checkpoint, tmp_path / "plain")}
    assert len(modes) == 1


# ---- recall: who learns it, and how far the gradient reaches meanwhile ----


def test_a_network_that_can_solve_recall_says_after_how_many_updates(monkeypatch):
    monkeypatch.setattr(remedies, "UPDATES", 100)
    found = remedies.updates_to_solve("tanh, orthogonal", lag=2, lr=0.01, seed=0)
    assert remedies.IN_A_ROW <= found <= 100
    assert found == remedies.updates_to_solve("tanh, orthogonal", 2, 0.01, 0)
    monkeypatch.setattr(remedies, "UPDATES", found - 1)
    assert remedies.updates_to_solve("tanh, orthogonal", 2, 0.01, 0) is None


@pytest.mark.parametrize("name", remedies.NETWORKS)
def test_every_network_of_the_remedies_answers_and_can_be_trained(name):
    seed_all(0)
    model, batch = remedies.NETWORKS[name](), recall(4, 3, generator=generator(0))
    logits = model(batch.x)
    assert logits.shape == (4, remedies.N_SYMBOLS)
    logits.sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_the_remedies_start_as_they_are_called():
    seed_all(0)
    W = remedies.orthogonal().W_h
    torch.testing.assert_close(W @ W.T, torch.eye(remedies.D_HIDDEN), rtol=0, atol=1e-5)
    assert spectral_radius(remedies.scaled().W_h) == pytest.approx(1, abs=1e-5)
    cell = remedies.identity_relu()
    assert isinstance(cell, ReLUCell)
    assert torch.equal(cell.W_h, torch.eye(remedies.D_HIDDEN))
    gates = remedies.LSTMClassifier().lstm.bias_ih_l0.reshape(4, -1)
    assert gates.mean(dim=1).tolist() == [0, 1, 0, 0]  # torch's order: i, f, g, o


def test_the_summary_of_the_remedies_counts_each_cell():
    solved = [
        {"updates": 7 if unit["network"] == "tanh" and unit["lr"] == 1e-2 else None}
        for unit in remedies.UNITS
    ]
    table = remedies.summarise(solved)["solved"]
    assert table["tanh"] == {"10": [0, 0, 5], "20": [0, 0, 5], "40": [0, 0, 5]}
    assert table["LSTM"] == {"10": [0, 0, 0], "20": [0, 0, 0], "40": [0, 0, 0]}


@pytest.mark.parametrize(
    ("name", "first", "second"),  # how far a weight has moved by a gradient of 3
    [("plain", 0.3, 0.6), ("momentum", 0.3, 0.87), ("divided", 0.1, 0.2)],
)
def test_descents_move_as_they_are_called(name, first, second):
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = descents.DESCENTS[name][0](iter([weight]), 0.1)
    for expected in (first, second):
        weight.grad = torch.full_like(weight, 3.0)
        optimizer.step()
        assert weight.item() == pytest.approx(-expected, rel=1e-6)


def test_both_halves_of_adamw_divide_and_average():
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = descents.DESCENTS["both"][0](iter([weight]), 0.1)
    moved = []
    for gradient in (3.0, -3.0):
        before = weight.item()
        weight.grad = torch.full_like(weight, gradient)
        optimizer.step()
        moved.append(weight.item() - before)
    assert moved[0] == pytest.approx(-0.1, rel=1e-6)  # divided by its own size
    assert -0.01 < moved[1] < 0.01  # the mean of the two gradients is near zero


def test_gradients_of_one_length_are_and_plain_ones_are_not():
    lengths = {
        unit["unit"]["descent"]: [update["gradient"] for update in unit["updates"]]
        for unit in runner.results("descents")["replay"]["units"]
    }
    assert lengths["one length"] == pytest.approx([1.0, 1.0], rel=1e-5)
    assert max(lengths["plain"]) < 0.99


def test_a_descent_that_solves_recall_says_when(monkeypatch):
    monkeypatch.setattr(descents, "LAG", 1)
    found = descents.updates_to_solve("both", 0.01, seed=0)
    assert remedies.IN_A_ROW <= found <= 200
    monkeypatch.setattr(descents, "UPDATES", found - 1)
    assert descents.updates_to_solve("both", 0.01, seed=0) is None
    units = [{"descent": "both", "updates": n} for n in (found, None)]
    assert descents.summarise(units)["solved"]["both"] == 1


def test_a_life_is_measured_before_and_through_training(monkeypatch):
    short = TrainConfig(steps=20, lr=1e-3)
    monkeypatch.setattr(horizons, "TRAIN", {"orthogonal": short, "default": short})
    model, life = horizons.train("orthogonal", seed=0)
    assert horizons.accuracy(model, horizons.game(20, 256)) < 0.9
    assert (
        horizons.refit(model, 3) > 0.9 > horizons.accuracy(model, horizons.game(3, 256))
    )
    assert 0 < horizons.far_gradient(model) < life[-1]["stretch"] ** horizons.FAR
    assert 0 <= horizons.degrees_a_step(model) <= 180
    assert 1 / 8 <= horizons.same_answer(model, 3) <= 1
    assert [moment["update"] for moment in life] == [0, 20]
    birth, later = life
    assert birth["radius"] == pytest.approx(1, abs=1e-5)
    assert birth["stretch"] == pytest.approx(1, abs=1e-5)
    for moment in life:
        k = torch.arange(horizons.LAG + 1)
        norms = torch.tensor(moment["norms"])
        assert norms[0] == 1
        assert (norms <= moment["stretch"] ** k * (1 + 1e-3)).all()  # the bound
    assert later["radius"] != birth["radius"]
    assert horizons.train("default", seed=0)[1][0]["radius"] < 0.8


def test_the_summary_of_the_horizons_counts_what_was_solved():
    lives = [
        {**unit, "life": [{"accuracy": 1.0 if unit["seed"] < 5 else 0.9}]}
        for unit in horizons.UNITS
    ]
    found = horizons.summarise(lives)
    assert found == {"networks": 12, "solved": {"default": 5, "orthogonal": 5}}
