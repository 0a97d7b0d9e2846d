"""Code of a student's notebook made to stand alone: what an answer uses elsewhere.

Whoever writes a notebook may wish us to read it for ever, so all of this takes time in
proportion to its length: each cell is parsed once, and each of its statements is looked
at once.
"""

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

#: What only a notebook has; a call of it at the top of an answer is left out.
NOTEBOOK_ONLY = {"check", "submit", "display", "get_ipython"}
#: A longer cell is not looked into; the longest answers have 5,000 characters.
LONGEST = 50_000
# possessive: what was matched is not tried again, shorter and shorter
_MAGIC = re.compile(r"\s*+(%|!|\?|\w[\w.]*+\?|[\w, ]++=\s*+[%!])")
# what other statements stand in, for which names are the same as outside
_TRIALS = (ast.For, ast.AsyncFor, ast.While, ast.AsyncWith, ast.TryStar, ast.Match)
_BLOCKS = (
    *(ast.If, ast.With, ast.Try, ast.ExceptHandler, ast.match_case),
    *_TRIALS,
)


def parsed(code: str) -> ast.Module | None:
    """Return the syntax tree of a cell, of which magics are no part; None if broken.

    A tree too deep to be walked counts as broken: it is somebody's trap.
    """
    return _understood(code)[1]


@lru_cache(maxsize=128)
def _understood(code: str) -> tuple[str, ast.Module | None]:
    """Return a cell without its magics, if it has any, and its syntax tree."""
    plain = without_magics(code)
    if len(code) > LONGEST:
        return plain, None
    for text in dict.fromkeys((code, plain)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an odd escape in a string, say
                tree = ast.parse(text)
            ast.dump(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return text, tree
    return plain, None


def without_magics(code: str) -> str:
    """Return a cell with the lines blanked that only a notebook understands."""
    lines = code.split("\n")
    return "\n".join("" if _MAGIC.match(line) else line for line in lines)


def without_calls(code: str) -> str:
    """Return an answer as plain Python: no magics, no ``check("q1")`` at its top."""
    plain, tree = _understood(code)
    if tree is None:
        return code
    lines = plain.split("\n")
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Name) and function.id in NOTEBOOK_ONLY:
                for i in range(node.lineno - 1, node.end_lineno or node.lineno):
                    lines[i] = ""
    return "\n".join(lines) + "\n"


@dataclass
class _Offer:
    """Some lines of another cell, and the names that they define."""

    text: str
    names: set[str]

    @cached_property
    def needs(self) -> set[str]:
        """Return the names that the lines use in turn."""
        return _free(self.text)


class Elsewhere:
    """What the cells of a notebook define for the answers in its other cells.

    Args:
        others: The sources of those cells, in their order.
        preamble: The given code; what it defines stays as given.
    """

    def __init__(self, others: Iterable[str], preamble: str) -> None:
        self._given = set(_defined(_body(preamble)))
        self._offers = [one for source in others for one in _offers(source)]
        self._by_name: dict[str, list[int]] = {}
        for i, offer in enumerate(self._offers):
            for name in offer.names - self._given:
                self._by_name.setdefault(name, []).append(i)

    def borrowed(self, code: str) -> str:
        """Return the definitions that an answer needs, in their order.

        Only imports, functions, classes and assignments whose names the answer uses
        are taken, and what those use in turn. A name that a function has for itself
        (``x``, ``states``) is none that it needs: a cell in which the answer was tried
        out may well have kept its result under it.
        """
        plain, tree = _understood(code)
        own = set(_defined(tree.body if tree else []))
        known = self._given | own | self._by_name.keys() | vars(builtins).keys()
        taken: set[int] = set()
        needed, seen = list(_free(plain)), set(own)
        while needed:  # each name is looked up once, so that no chain takes long
            name = needed.pop()
            if name not in known:  # from somewhere: a star, if there is one
                name = "*"
            if name in seen:
                continue
            seen.add(name)
            for i in self._by_name.get(name, ()):
                if i not in taken:
                    taken.add(i)
                    needed += self._offers[i].needs
        return "".join(f"{self._offers[i].text}\n" for i in sorted(taken))


def _offers(source: str) -> Iterator[_Offer]:
    """Yield the definitions of a cell as they were written, decorators and all.

    What stands on one line, with semicolons, is one.
    """
    plain, tree = _understood(source)
    lines = plain.split("\n")
    groups: list[tuple[int, int, list[ast.stmt]]] = []  # from line, to line, statements
    for node in tree.body if tree else []:
        above = [one.lineno for one in getattr(node, "decorator_list", [])]
        first, last, nodes = min([node.lineno, *above]), node.end_lineno or 0, [node]
        if groups and first <= groups[-1][1]:
            first, _, before = groups.pop()
            before.append(node)
            nodes = before
        groups.append((first, last, nodes))
    for first, last, nodes in groups:
        if names := set(_defined(nodes)):
            yield _Offer("\n".join(lines[first - 1 : last]), names)


def _body(code: str) -> list[ast.stmt]:
    tree = parsed(code)
    return tree.body if tree else []


def _free(code: str) -> set[str]:
    """Return the names that some code looks up outside its own functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables = [symtable.symtable(code, "<cell>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = set()
    for table in tables:  # grows as it is read
        top = table.get_type() == "module"
        for one in table.get_symbols():
            if one.is_referenced() and (top or one.is_global()):
                found.add(one.get_name())
        tables += table.get_children()
    return found


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that the statements at the top of a cell define.

    A loop at the top defines nothing to borrow: it is there to try something out.
    """
    inside: list[ast.AST] = [node for node in body if not isinstance(node, _TRIALS)]
    while inside:
        node = inside.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                parts = ast.walk(target)
                yield from (part.id for part in parts if isinstance(part, ast.Name))
        elif isinstance(node, _BLOCKS):
            inside += ast.iter_child_nodes(node)
