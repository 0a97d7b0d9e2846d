"""Run a recipe unit by unit, keep what is done, and write its results whole."""

import importlib
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from tqdm.auto import tqdm

from unrolled.runtime import book_folder


class Recipe(Protocol):
    """What a recipe module defines; see :mod:`unrolled.recipes`."""

    UNITS: list[dict[str, Any]]
    run_unit: Callable[[dict[str, Any]], dict[str, Any]]
    summarise: Callable[[list[dict[str, Any]]], dict[str, Any]]


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    here = Path(__file__).parent
    return sorted(p.stem for p in here.glob("[!_]*.py") if p.stem != "runner")


def load_recipe(name: str) -> Recipe:
    """Import the recipe called ``name``."""
    if name not in recipe_names():
        raise ValueError(f"no recipe {name!r}; there are: {', '.join(recipe_names())}")
    return cast(Recipe, importlib.import_module(f"unrolled.recipes.{name}"))


def results(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Return the committed results of the recipe ``name``."""
    path = (folder or book_folder() / "results") / f"{name}.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: run 'unrolled run {name}'")
    return cast(dict[str, Any], json.loads(path.read_text()))


def run_recipe(
    name: str, *, folder: Path | None = None, fresh: bool = False, progress: bool = True
) -> Path:
    """Run what is left of the recipe ``name`` and write ``results/NAME.json``.

    Finished units are kept in ``NAME.partial.json`` beside it until all are done, so a
    run that was interrupted goes on where it stopped; ``fresh`` throws them away.
    """
    recipe = load_recipe(name)
    folder = folder or book_folder() / "results"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{name}.partial.json"
    if fresh:
        partial.unlink(missing_ok=True)
    done: list[dict[str, Any]] = _read_partial(partial, recipe.UNITS)
    bar = tqdm(
        total=len(recipe.UNITS), initial=len(done), desc=name, disable=not progress
    )
    for unit in recipe.UNITS[len(done) :]:
        start = time.perf_counter()
        outcome = recipe.run_unit(unit)
        seconds = round(time.perf_counter() - start, 1)
        done.append({**unit, **outcome, "seconds": seconds})
        write_whole(partial, json.dumps(done))
        bar.update()
    bar.close()
    record = {
        "recipe": name,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "cores": os.cpu_count(),
        "seconds": round(sum(unit["seconds"] for unit in done), 1),
        "summary": recipe.summarise(done),
        "units": done,
    }
    path = folder / f"{name}.json"
    write_whole(path, json.dumps(record, indent=1) + "\n")
    partial.unlink(missing_ok=True)
    return path


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` so that a crash leaves the old file or the new one."""
    beside = path.with_name(path.name + ".writing")
    beside.write_text(text)
    beside.replace(path)


def _read_partial(path: Path, units: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the finished units in ``path``, or none if they are of another recipe."""
    if not path.is_file():
        return []
    done = cast(list[dict[str, Any]], json.loads(path.read_text()))
    same = len(done) <= len(units) and all(
        unit.items() <= kept.items() for unit, kept in zip(units, done, strict=False)
    )
    return done if same else []
