"""Show the source of an object of the package: always the one that is tested.

The notebook stores the object's name alone; the page draws the source as it is when the
page is built, so a chapter never shows a line that no longer runs.
"""

import ast
import importlib
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from unrolled.book.records import SHOW, bundle


def source_of(name: str) -> str:
    """Return the source of ``unrolled....Object``, less its docstrings."""
    return without_docstrings(textwrap.dedent(inspect.getsource(_find(name))))


def without_docstrings(code: str) -> str:
    """Return ``code`` without the docstrings of its functions and classes."""
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node) is None or len(node.body) == 1:
            continue
        first, after = node.body[0], node.body[1]
        stop = min(
            [after.lineno, *(d.lineno for d in getattr(after, "decorator_list", ()))]
        )
        for row in range(first.lineno - 1, stop - 1):
            lines[row] = "\0"  # a line that is to go
    return "\n".join(line for line in lines if line != "\0")


@dataclass(frozen=True, slots=True)
class Source:
    """The source of an object of the package, ready to be shown."""

    name: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(SHOW, {"name": self.name}, f"The source of {self.name}")


def show(thing: Any) -> Source:
    """Show the source of a class or function of this package."""
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    if not str(module).startswith("unrolled.") or not name:
        raise ValueError(
            f"{thing!r} is no class or function of unrolled: only what the package "
            "tests is shown"
        )
    source = Source(f"{module}:{name}")
    source_of(source.name)  # that there is one is seen here, not when the page is built
    return source


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found
