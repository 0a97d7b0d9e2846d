"""Run a recipe unit by unit, keep what is done, and write its results whole."""

import importlib
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from tqdm.auto import tqdm

from unrolled.recipes._sources import digest, imported_modules
from unrolled.runtime import book_folder
from unrolled.training.distributed import agreed, leads, wait_for_all

PACKAGE = Path(__file__).resolve().parents[1]


class Recipe(Protocol):
    """What a recipe module defines; see :mod:`unrolled.recipes`."""

    UNITS: list[dict[str, Any]]
    run_unit: Callable[[dict[str, Any], Path], dict[str, Any]]
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


def recipe_key(name: str, package: Path = PACKAGE) -> str:
    """Return a digest of the recipe ``name`` and of every module that it imports."""
    code = f"import {package.name}.recipes.{name}"
    return digest(imported_modules(code, package), package)


def results(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Return the committed results of the recipe ``name``."""
    path = (folder or book_folder() / "results") / f"{name}.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: run 'unrolled run {name}'")
    return cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))


def run_recipe(
    name: str,
    *,
    folder: Path | None = None,
    models: Path | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> list[Path]:
    """Run what is left of the recipe ``name``; return its results and its models.

    The results are ``NAME.json`` in ``folder``, ``book/results`` unless told; what the
    recipe exports goes to ``models``, ``book/_static/models`` unless told.

    Until all is done, finished units are kept in ``NAME.partial.json`` beside the
    results, and what they saved in ``NAME.partial/``, so a run that was interrupted
    goes on where it stopped. Units of other code or settings are not taken over;
    ``fresh`` throws them all away.

    Of several processes (:mod:`unrolled.training.distributed`) all run every unit, and
    training shares its batches among them; the first alone writes.
    """
    recipe, key = load_recipe(name), recipe_key(name)
    folder = folder or book_folder() / "results"
    partial, saved = folder / f"{name}.partial.json", folder / f"{name}.partial"
    progress, done = progress and leads(), list[dict[str, Any]]()
    if leads():
        done = _take_over(partial, saved, key, recipe.UNITS, fresh=fresh, say=progress)
    n_done = int(agreed(len(done)))
    bar = tqdm(total=len(recipe.UNITS), initial=n_done, desc=name, disable=not progress)
    with _own_folder(saved) as place:
        wait_for_all()  # until then the first changes nothing in what the others copy
        for unit in recipe.UNITS[n_done:]:
            start = time.perf_counter()
            outcome = recipe.run_unit(unit, place)
            seconds = round(time.perf_counter() - start, 1)
            done.append(_as_json({**unit, **outcome, "seconds": seconds}))
            if leads():
                write_whole(partial, json.dumps({"key": key, "units": done}))
            bar.update()
    bar.close()
    if not leads():
        return []
    record = {
        "recipe": name,
        "key": key,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "cores": os.cpu_count(),
        "seconds": round(sum(unit["seconds"] for unit in done), 1),
        "summary": recipe.summarise(done),
        "units": done,
    }
    exported = _export(name, recipe, saved, models)
    path = folder / f"{name}.json"
    write_whole(path, json.dumps(record, indent=1) + "\n")
    _forget(partial, saved)
    return [path, *exported]


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` so that a crash leaves the old file or the new one."""
    beside = path.with_name(path.name + ".writing")
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(path)


def _as_json(value: Any) -> Any:
    """Return ``value`` as it comes back from a file: tuples are lists, for one."""
    return json.loads(json.dumps(value))


def _take_over(
    partial: Path,
    saved: Path,
    key: str,
    units: list[dict[str, Any]],
    *,
    fresh: bool,
    say: bool,
) -> list[dict[str, Any]]:
    """Return the units of an earlier run that count, and clear away what does not."""
    if fresh:
        _forget(partial, saved)
    done = _read_partial(partial, saved, key, units)
    if done is None:
        if partial.exists() and say:
            name = partial.name.removesuffix(".partial.json")
            tqdm.write(f"{name}: code or settings have changed: all units run anew")
        _forget(partial, saved)
        saved.mkdir(parents=True)
        done = []
        # from now on what the first unit saves is known to be of this code
        write_whole(partial, json.dumps({"key": key, "units": done}))
    return done


@contextmanager
def _own_folder(saved: Path) -> Iterator[Path]:
    """Yield where this process saves: all but the first in a copy that is dropped."""
    if leads():
        yield saved
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(shutil.copytree(saved, scratch, dirs_exist_ok=True))


def _read_partial(
    partial: Path, saved: Path, key: str, units: list[dict[str, Any]]
) -> list[dict[str, Any]] | None:
    """Return the finished units, or None if other code or settings made them."""
    if not (partial.is_file() and saved.is_dir()):
        return None
    kept = json.loads(partial.read_text(encoding="utf-8"))
    if not isinstance(kept, dict) or kept.get("key") != key:
        return None
    done = cast(list[dict[str, Any]], kept["units"])
    same = len(done) <= len(units) and all(
        unit.items() <= known.items()
        for unit, known in zip(_as_json(units), done, strict=False)
    )
    return done if same else None


def _forget(partial: Path, saved: Path) -> None:
    partial.unlink(missing_ok=True)
    shutil.rmtree(saved, ignore_errors=True)


def _export(name: str, recipe: Recipe, saved: Path, models: Path | None) -> list[Path]:
    """Let ``recipe`` write its models beside their place; move them when all are."""
    export = getattr(recipe, "export", None)
    if export is None:
        return []
    models = models or book_folder() / "_static" / "models"
    beside = models / f"{name}.writing"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    export(saved, beside)
    written = [path.replace(models / path.name) for path in sorted(beside.iterdir())]
    beside.rmdir()
    return written
