"""What a recipe's results rest on, and whether they still stand on it.

The results are keyed on the recipe's settings, its own modules, the pins of its data,
torch, and a version that its author raises when its code has come to mean something
else. For the rest of the package a replay speaks (:mod:`unrolled.recipes.replay`): it
has to give what it gave.
"""

import hashlib
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from unrolled.recipes._sources import digest, imported_modules
from unrolled.recipes.discovery import PACKAGE, Recipe

NOT_OWN = {"__init__.py", "_sources.py"}  # what every recipe's folder may have


def own_modules(module: str, package: Path = PACKAGE) -> list[Path]:
    """Return a recipe's file and those that it imports from its own folder."""
    home = package.parent.joinpath(*module.split(".")[:-1])
    found = imported_modules(f"import {module}", package)
    return sorted(p for p in found if p.parent == home and p.name not in NOT_OWN)


def data_pins(module: str, package: Path = PACKAGE) -> dict[str, str]:
    """Return the sha256 of each archive whose reader a recipe imports, however."""
    corpora = package / "data" / "corpora"
    found = imported_modules(f"import {module}", package)
    readers = sorted(p.stem for p in found if p.parent == corpora)
    return {
        archive.filename: archive.sha256
        for reader in readers
        for archive in _archives(f"unrolled.data.corpora.{reader}")
    }


def _archives(reader: str) -> tuple[Any, ...]:
    source = getattr(import_module(reader), "SOURCE", None)
    return source.archives if source else ()


def rests_on(recipe: Recipe) -> dict[str, Any]:
    """Return what the results of ``recipe`` are keyed on."""
    settings = json.dumps(recipe.UNITS, sort_keys=True)
    return {
        "version": int(getattr(recipe, "VERSION", 1)),
        "settings": hashlib.sha256(settings.encode()).hexdigest(),
        "code": digest(own_modules(recipe.__name__), PACKAGE),
        "data": data_pins(recipe.__name__),
        "torch": _release(torch.__version__),
    }


def _release(version: str) -> str:
    """Return a version without its build: 2.13.0+cpu and 2.13.0+cu126 are one."""
    return version.partition("+")[0]


def why_stale(recipe: Recipe, record: dict[str, Any]) -> str:
    """Return why the results on ``record`` cannot stand, or "" if they can."""
    now, then = rests_on(recipe), dict(record.get("rests on", {}))
    then["torch"] = _release(then.get("torch", ""))  # older records name the build
    changed = [part for part in now if now[part] != then.get(part)]
    name = recipe.__name__.rpartition(".")[2]
    if changed == ["code"]:
        return (
            f"{name}: its own code has changed and its VERSION has not. If it gives "
            f"the same results, say 'unrolled run {name} --restamp', which runs one "
            f"unit to see; else raise VERSION and say 'unrolled run {name}'"
        )
    if changed:
        return f"{name}: {', '.join(changed)} changed: say 'unrolled run {name}'"
    return ""
