"""The experiment on two recipes: what is compared is what it says."""

from dataclasses import fields

import pytest
import torch

from unrolled.models.checkpoints import load
from unrolled.models.gpt import GPT
from unrolled.recipes import gpt_recipes as recipe
from unrolled.recipes.results import results
from unrolled.runtime import book_folder
from unrolled.training.optimizers import AdamW, MuonAdamW


def differing(one, two) -> set[str]:
    return {
        field.name
        for field in fields(one)
        if getattr(one, field.name) != getattr(two, field.name)
    }


@pytest.mark.parametrize("part", recipe.PARTS)
def test_each_part_of_the_model_is_exchanged_alone(part):
    whole, training = recipe.settings("modern", 350)
    model, same = recipe.settings(part, 350)
    assert differing(whole, model) == set(recipe.PARTS[part])
    assert training == same
    plain, _ = recipe.settings("plain", 350)
    for name in recipe.PARTS[part]:
        assert getattr(model, name) == getattr(plain, name)


def test_all_parts_together_make_the_plain_model():
    plain, _ = recipe.settings("plain", 350)
    whole, _ = recipe.settings("modern", 350)
    assert differing(plain, whole) == {n for p in recipe.PARTS.values() for n in p}


def test_the_parts_of_training_are_exchanged_alone():
    whole, training = recipe.settings("modern", 350)
    by_adamw, by_cosine = (recipe.settings(p, 350) for p in recipe.OPTIMIZERS)
    assert by_adamw[0] == by_cosine[0] == whole
    assert differing(training, by_adamw[1]) == {"lr", "optimizer"}
    assert differing(training, by_cosine[1]) == {"schedule"}
    assert isinstance(training.optimizer, MuonAdamW)
    assert isinstance(by_adamw[1].optimizer, AdamW)


def test_no_work_is_both_trained_on_and_validated_on():
    characters, train, validation = recipe.texts()
    assert len(train) == recipe.N_CHARACTERS
    for ids in (train, validation):
        assert ids.max() < len(characters)
    start = characters.decode(validation[:2000].tolist())
    assert start not in characters.decode(train.tolist())


def test_a_uniform_model_has_the_loss_of_its_alphabet():
    model = GPT(recipe.settings("modern", 350)[0])
    with torch.no_grad():
        model.read.weight.zero_()
    loss = recipe.validation_loss(model)
    assert loss == pytest.approx(torch.tensor(len(recipe.texts()[0])).log().item())


def test_a_unit_trains_and_the_first_long_one_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "LONG", 4)
    unit = {"recipe": "modern", "seed": recipe.SEEDS[0], "steps": 4}
    monkeypatch.setattr(recipe, "validation_loss", lambda model: 1.5)
    outcome = recipe.run_unit(unit, tmp_path)
    assert outcome["loss"] == 1.5
    assert outcome["cpu seconds"] > 0
    kept = load(tmp_path / "shakespeare.safetensors")
    assert kept.tokenizer == recipe.texts()[0]
    assert isinstance(kept.model, GPT)


@pytest.mark.slow
def test_the_committed_model_scores_as_recorded():
    kept = load(book_folder() / "_static" / "models" / "shakespeare.safetensors")
    unit = {"recipe": "modern", "seed": recipe.SEEDS[0], "steps": recipe.LONG}
    (known,) = (u for u in results("gpt_recipes")["units"] if unit.items() <= u.items())
    assert kept.tokenizer == recipe.texts()[0]
    assert recipe.validation_loss(kept.model) == pytest.approx(known["loss"], abs=2e-4)


def test_runs_are_set_against_those_of_the_same_seed():
    losses = {"plain": (2.0, 2.2), "modern": (1.9, 2.0), "other": (2.0, 2.1)}
    units = [
        {"recipe": name, "steps": 2000 if name == "plain" else 350, "seed": seed}
        | {"loss": loss, "cpu seconds": 10.0 if name == "plain" else 2.0 + seed}
        for name, both in losses.items()
        for seed, loss in reversed(list(enumerate(both)))
    ] + [{"recipe": "plain", "steps": 2000, "seed": 2, "loss": 9, "cpu seconds": 9}]
    plain, whole = recipe.Runs(units, "plain", 2000), recipe.Runs(units, "modern", 350)
    found = whole.against(plain)
    assert found["above"] == pytest.approx(-0.15)
    assert found["above, low"] < -0.15 < found["above, high"]
    assert found["share of time"] == pytest.approx(0.25)
