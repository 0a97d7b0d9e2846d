"""Run a recipe unit by unit, keep what is done, and write its results whole."""

import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from tqdm.auto import tqdm

from unrolled.recipes._sources import digest, imported_modules
from unrolled.recipes.discovery import PACKAGE, Recipe, load_recipe
from unrolled.recipes.freshness import rests_on, why_stale
from unrolled.recipes.replay import ELSEWHERE, as_json, differences, run_replay
from unrolled.recipes.results import results as results
from unrolled.recipes.results import write_whole
from unrolled.runtime import book_folder, fingerprint, one_thread
from unrolled.training.distributed import agreed, leads, n_processes, wait_for_all


def recipe_key(recipe: Recipe, package: Path = PACKAGE) -> str:
    """Return a digest of ``recipe`` and of every module that it imports.

    Units of one run are never of two codes: those of an interrupted one are taken over
    only while this is the same.
    """
    return digest(imported_modules(f"import {recipe.__name__}", package), package)


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
    recipe = load_recipe(name)
    key = recipe_key(recipe)
    folder = folder or book_folder() / "results"
    partial, saved = folder / f"{name}.partial.json", folder / f"{name}.partial"
    progress, done = progress and leads(), list[dict[str, Any]]()
    if leads():
        done = _take_over(partial, saved, key, recipe.UNITS, fresh=fresh, say=progress)
    n_done = int(agreed(len(done)))
    bar = tqdm(total=len(recipe.UNITS), initial=n_done, desc=name, disable=not progress)
    with _own_folder(saved) as place, one_thread():
        wait_for_all()  # until then the first changes nothing in what the others copy
        for unit in recipe.UNITS[n_done:]:
            start = time.perf_counter()
            outcome = recipe.run_unit(unit, place)
            seconds = round(time.perf_counter() - start, 1)
            done.append(as_json({**unit, **outcome, "seconds": seconds}))
            if leads():
                write_whole(partial, json.dumps({"key": key, "units": done}))
            bar.update()
    bar.close()
    if not leads():
        return []
    record = {
        "recipe": name,
        "rests on": rests_on(recipe),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "cores": os.cpu_count(),
        "fingerprint": fingerprint(),
        "seconds": round(sum(unit["seconds"] for unit in done), 1),
        "summary": recipe.summarise(done),
        "units": done,
    }
    if n_processes() == 1:  # several would add up in another order
        record["replay"] = run_replay(recipe)
    exported = _export(name, recipe, saved, models)
    path = folder / f"{name}.json"
    write_whole(path, json.dumps(record, indent=1) + "\n")
    _forget(partial, saved)
    return [path, *exported]


def restamp(name: str, *, folder: Path | None = None) -> Path:
    """Say that the results of ``name`` stand although its own code has changed.

    To see that they do, the unit that took least is run whole, and must come out as it
    did; ``ValueError`` says where it does not. The summary is made anew of all units:
    it may be what has changed.
    """
    recipe, record = load_recipe(name), results(name, folder)
    if (stale := why_stale(recipe, record)) and "--restamp" not in stale:
        raise ValueError(stale)
    unit, known = min(
        zip(recipe.UNITS, record["units"], strict=True), key=lambda u: u[1]["seconds"]
    )
    with tempfile.TemporaryDirectory() as scratch, one_thread():
        outcome = as_json({**unit, **recipe.run_unit(unit, Path(scratch))})
    times = {"seconds", *getattr(recipe, "TIMES", ())}
    same = record.get("fingerprint") == fingerprint()
    faults = list(
        differences(
            {key: value for key, value in outcome.items() if key not in times},
            {key: value for key, value in known.items() if key not in times},
            0 if same else ELSEWHERE["trained"],
        )
    )
    if faults:
        shown = "\n  ".join(faults[:10])
        raise ValueError(
            f"{name}: the unit {unit} comes out otherwise than on record:\n  {shown}\n"
            f"raise VERSION and say 'unrolled run {name}'"
        )
    record |= {
        "rests on": rests_on(recipe),
        "summary": as_json(recipe.summarise(record["units"])),
        "replay": run_replay(recipe),
    }
    path = (folder or book_folder() / "results") / f"{name}.json"
    write_whole(path, json.dumps(record, indent=1) + "\n")
    return path


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
        for unit, known in zip(as_json(units), done, strict=False)
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
