"""Names that a question forbids: looked for in the code, and tripped over at run time.

A dotted name (``nn.LSTMCell``) is one thing: found as an attribute, an import or a
text of that name. A plain one (``softmax``) is that name wherever torch, its functions,
its tensors, numpy or Python itself have it. The code is read within the walls, before
any of it runs: a parser, too, can be attacked.

The second net catches what is spelt in no code (``getattr(nn, "LS" + "TM")``): the
class or function itself is exchanged for one that raises. The third lies under all
names of torch's (:mod:`unrolled.grading.operators`). Whoever copies the source of torch
instead has written an answer.

One name is forbidden in every answer: the package of the book, which has most of what
is asked for. It is no variable, so only imports of it count.
"""

import ast
import builtins
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

import numpy as np
import torch

from unrolled.grading.operators import close_operator, close_ways_back
from unrolled.grading.whereabouts import whereabouts

#: The package of the book, which no answer may import.
PACKAGE = "unrolled"
_OURS = f"{PACKAGE}.grading"  # what the grader itself may still need
_KNOWN = {
    "torch": torch,
    "nn": torch.nn,
    "F": torch.nn.functional,
    "Tensor": torch.Tensor,
    "np": np,
    "numpy": np,
    "builtins": builtins,
}
_PLACES: tuple[Any, ...] = (
    *(torch, torch.nn, torch.nn.functional, torch.Tensor, torch.special),
    *(torch.linalg, torch.autograd, np, np.linalg),
)
_BACK = ("backward", "autograd.grad")  # the ends of names that stand for autograd


class ForbiddenName(Exception):  # noqa: N818 (what it says to the student)
    """An answer used what its question forbids."""


def look(code: str, forbidden: list[str]) -> dict[str, Any]:
    """Return what an answer defines, uses, and uses although it is forbidden."""
    tree = ast.parse(code)
    defined = {name for node in tree.body for name in _defined(node)}
    used = set(_used(tree, defined))
    names = {name for kind, name in used if kind == "name"}
    bad = {name for name in forbidden if used & set(_spellings(name, "." not in name))}
    return {
        "defines": sorted(defined),
        "uses": sorted(names),
        "forbidden": sorted(bad),
    }


def _spellings(name: str, plain: bool) -> Iterator[tuple[str, str]]:
    yield "import", name
    if name == PACKAGE:
        return
    last = name.rpartition(".")[2]
    yield from ((kind, last) for kind in ("attribute", "import", "text"))
    if plain:
        yield "name", last


def _defined(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of an answer binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]


def _used(tree: ast.AST, defined: set[str]) -> Iterator[tuple[str, str]]:
    """Yield every name that the code spells, with the way in which it does."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                yield "name", name
            case ast.Attribute(value=ast.Name(id="self")):
                pass  # the answer's own, or the next net's
            case ast.Attribute(attr=name):
                yield "attribute", name
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield "text", text
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield "import", alias.name
                    yield from (("import", part) for part in alias.name.split("."))
            case ast.ImportFrom(module=module, names=aliases):
                for alias in aliases:
                    yield "import", alias.name
                    yield "import", f"{module}.{alias.name}"
                yield from (("import", part) for part in (module or "").split("."))


def arm(forbidden: list[str], module: ModuleType) -> None:
    """Exchange what is forbidden, for all code of this process but Python's own."""
    for name in forbidden:
        if name == PACKAGE:
            sys.meta_path.insert(0, _ClosedPackage())
            continue
        head, _, last = name.rpartition(".")
        close_operator(last, _trip(name))
        if head:
            homes = [home] if (home := _found(head, module)) is not None else []
        else:
            homes = list(_PLACES)
            _guard_builtin(last, module)
        for home in homes:
            if (thing := getattr(home, last, None)) is not None:
                _exchange(home, last, thing, name)
    if any(name.endswith(_BACK) for name in forbidden):
        close_ways_back(_trip("autograd"))


class _ClosedPackage(MetaPathFinder):
    """Let an import of what the book teaches raise, however it is spelt."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name.startswith(f"{PACKAGE}.") and not name.startswith(_OURS):
            raise ForbiddenName(f"{PACKAGE} is forbidden in every question")


def _found(dotted: str, module: ModuleType) -> Any:
    """Return what a dotted name stands for in the given code, in torch, or anywhere."""
    first, _, rest = dotted.partition(".")
    thing = vars(module).get(first, _KNOWN.get(first))
    for part in rest.split(".") if rest else ():
        thing = getattr(thing, part, None)
    if thing is None:
        try:
            thing = importlib.import_module(dotted)
        except ImportError:
            return None
    return thing


def _trip(name: str) -> Callable[..., Any]:
    def tripped(*args: object, **kwargs: object) -> Any:
        raise ForbiddenName(f"{name} is forbidden in this question")

    return tripped


def _exchange(home: Any, last: str, thing: Any, name: str) -> None:
    """Make a thing raise, in its home and wherever else a module has it."""
    trip = _trip(name)
    if isinstance(thing, type) and not isinstance(home, type):
        for part in ("__init__", "__new__", "forward", "__call__"):
            if part in vars(thing) or part == "__init__":
                setattr(thing, part, trip)
        return
    setattr(home, last, trip)
    if isinstance(home, type):
        return
    for other, key in whereabouts(thing):
        setattr(other, key, trip)


def _guard_builtin(name: str, module: ModuleType) -> None:
    """Let a function of Python's raise for the answer's code, and serve all other."""
    real = getattr(builtins, name, None)
    if not callable(real):
        return

    def guarded(*args: Any, **kwargs: Any) -> Any:
        if sys._getframe(1).f_globals is vars(module):
            raise ForbiddenName(f"{name} is forbidden in this question")
        return real(*args, **kwargs)

    vars(module)[name] = guarded
    if not isinstance(real, type):  # a type is asked for by isinstance all over
        setattr(builtins, name, guarded)
