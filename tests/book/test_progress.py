"""Cells that train show how far they are: what calls an optimizer goes by a bar.

How long a cell takes is not stored, so each that trains is asked for a bar, which waits
for two seconds by itself; those that are over by then on any machine are listed.
"""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

import chapters

TRAINERS = {"baum_welch"}  # by other means than an optimizer
QUICK = {  # statements that take less than two seconds, by how they begin
    "00-primer": (
        "for ours, theirs, more in (",  # three times 100 steps of one vector
        "for share in (1.98, 2.02):",  # a ball that rolls, as in the next and the quiz
        "walks = [roll(",
        "claim(",  # 200 steps of one vector
        "quiz(",
        "for _ in range(600):",  # one small network
    ),
    "02-language-models": (
        "first_try = [two_states(",  # three short starts after twenty long ones
        "_, course = recipe.train(",  # four steps
    ),
    "06-character-rnn": (
        "update, small = next(exposure.train(",  # a hundred updates
        "reader = majority.train(",  # one of the recipe's short runs
    ),
}


class Calls(ast.NodeVisitor):
    """What a piece of code calls: names, names of modules' functions, and updates."""

    def __init__(self, node: ast.AST) -> None:
        self.names: set[str] = set()
        self.of_modules: set[tuple[str, str]] = set()
        self.updates = False
        self.visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Name(id=name):
                self.names.add(name)
            case ast.Attribute(attr="step") if not node.args and not node.keywords:
                self.updates = True
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                self.of_modules.add((module, name))
        self.generic_visit(node)


def bars_and_updates(
    node: ast.AST, names: dict[str, Any], seen: set[int]
) -> tuple[bool, bool]:
    """Say whether code shows a bar, and whether it trains, itself or by what it calls.

    ``names`` are what it can call: functions of the package, or trees of the page's.
    """
    calls = Calls(node)
    shows = "progress" in calls.names
    trains = calls.updates or bool(TRAINERS & calls.names)
    called = [names[name] for name in calls.names if name in names]
    for module, name in calls.of_modules:
        if isinstance(names.get(module), ModuleType):
            called.append(getattr(names[module], name, None))
    for one in called:
        if id(one) in seen:
            continue
        seen.add(id(one))
        inner: tuple[bool, bool] = (False, False)
        if isinstance(one, ast.FunctionDef):
            inner = bars_and_updates(one, names, seen)
        elif isinstance(one, FunctionType) and one.__module__.startswith("unrolled."):
            inner = _of_package(inspect.unwrap(one), seen)
        shows, trains = shows or inner[0], trains or inner[1]
    return shows, trains


def _of_package(function: Callable[..., Any], seen: set[int]) -> tuple[bool, bool]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return bars_and_updates(tree, function.__globals__, seen)


def imported(tree: ast.Module) -> dict[str, Any]:
    """Return what a cell imports from the package, by the name it has there."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("unrolled"):
            home = importlib.import_module(str(node.module))
            for alias in node.names:
                if not hasattr(home, alias.name):  # a module that nobody has imported
                    importlib.import_module(f"{node.module}.{alias.name}")
                found[alias.asname or alias.name] = getattr(home, alias.name)
    return found


def without_bar(cells: list[str]) -> list[str]:
    """Return the first line of each statement of a page that trains without a bar."""
    names: dict[str, Any] = {}
    found = []
    for cell in cells:
        tree = ast.parse(cell)
        names |= imported(tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                names[node.name] = node
            elif not isinstance(node, ast.ClassDef):
                shows, trains = bars_and_updates(node, names, set())
                if trains and not shows:
                    found.append(cell.splitlines()[node.lineno - 1])
    return found


@pytest.mark.parametrize("path", chapters.sources(), ids=lambda path: path.stem)
def test_a_cell_that_trains_shows_how_far_it_is(path):
    code = chapters.code_of(chapters.read_source(path))
    found = without_bar([chapters._plain(cell) for cell in code])
    quick = QUICK.get(path.stem, ())
    assert [line for line in found if not line.startswith(quick)] == []
    assert all(any(line.startswith(one) for line in found) for one in quick)


LOOP = "def train(seed):\n    for _ in {}:\n        optimizer.step()\n"


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([LOOP.format("range(9)"), "train(0)"], ["train(0)"]),
        ([LOOP.format("range(9)")], []),
        ([LOOP.format("progress(range(9))"), "train(0)"], []),
        ([LOOP.format("range(9)"), "x = [train(i) for i in progress(range(9))]"], []),
        ([LOOP.format("range(9)"), "def f():\n    train(0)", "f()"], ["f()"]),
        (["for _ in range(9):\n    optimizer.step()"], ["for _ in range(9):"]),
        (["state = cell.step(x, h)"], []),
        (["baum_welch(model, rows)"], ["baum_welch(model, rows)"]),
        (["from unrolled.training.loop import fit", "fit(m, f, b, c)"], []),
        (["from unrolled.recipes import company", "company.train('whole', 0, 1)"], []),
        (
            ["from unrolled.recipes import exposure as e", "e.train(0, 1)"],
            ["e.train(0, 1)"],
        ),
    ],
)
def test_a_bar_is_missed_where_there_is_none(cells, found):
    assert without_bar(cells) == found
