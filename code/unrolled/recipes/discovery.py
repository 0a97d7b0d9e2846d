"""Find the recipes: modules with ``UNITS``, among the shared ones and in the rooms."""

import ast
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = ("recipes", "experiments", "chapters/c*")  # where recipes may stand


class Recipe(Protocol):
    """What a recipe module defines; see :mod:`unrolled.recipes`."""

    __name__: str
    UNITS: list[dict[str, Any]]
    run_unit: Callable[[dict[str, Any], Path], dict[str, Any]]
    summarise: Callable[[list[dict[str, Any]]], dict[str, Any]]


def find_recipes(package: Path = PACKAGE) -> dict[str, str]:
    """Return the dotted name of every recipe's module by the recipe's own name."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in sorted(package.glob(f"{folder}/[!_]*.py")):
            if not _defines_units(path):
                continue
            parts = path.relative_to(package.parent).with_suffix("").parts
            first = found.setdefault(path.stem, ".".join(parts))
            if first != ".".join(parts):
                raise ValueError(
                    f"two recipes are called {path.stem!r}: {first} and "
                    f"{'.'.join(parts)}; their results would share a file"
                )
    return dict(sorted(found.items()))


@cache
def _installed() -> dict[str, str]:
    return find_recipes()


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    return list(_installed())


def load_recipe(name: str) -> Recipe:
    """Import the recipe called ``name``."""
    if name not in _installed():
        raise ValueError(f"no recipe {name!r}; there are: {', '.join(recipe_names())}")
    return cast(Recipe, importlib.import_module(_installed()[name]))


def _defines_units(path: Path) -> bool:
    """Say whether the module at ``path`` assigns ``UNITS``, without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    targets = [
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return any(isinstance(t, ast.Name) and t.id == "UNITS" for t in targets)
