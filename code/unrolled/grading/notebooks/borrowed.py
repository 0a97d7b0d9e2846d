"""Code of a student's notebook made to stand alone: what an answer uses elsewhere."""

import ast
import builtins
import re
import symtable
import warnings
from functools import lru_cache

#: What only a notebook has; a call of it at the top of an answer is left out.
NOTEBOOK_ONLY = {"check", "submit", "display", "get_ipython"}
#: A longer cell is not looked into; the longest answers have 5,000 characters.
LONGEST = 50_000
_MAGIC = re.compile(r"\s*(%|!|\?|\w[\w.]*\?|[\w, ]+=\s*[%!])")


@lru_cache(maxsize=128)
def parsed(code: str) -> ast.Module | None:
    """Return the syntax tree of a cell, of which magics are no part; None if broken.

    A tree too deep to be walked counts as broken: it is somebody's trap.
    """
    if len(code) > LONGEST:
        return None
    for text in dict.fromkeys((code, without_magics(code))):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an odd escape in a string, say
                tree = ast.parse(text)
            ast.dump(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return tree
    return None


def without_magics(code: str) -> str:
    """Return a cell with the lines blanked that only a notebook understands."""
    lines = code.split("\n")
    return "\n".join("" if _MAGIC.match(line) else line for line in lines)


def without_calls(code: str) -> str:
    """Return an answer as plain Python: no magics, no ``check("q1")`` at its top."""
    tree = parsed(code)
    if tree is None:
        return code
    lines = _python(code).split("\n")
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Name) and function.id in NOTEBOOK_ONLY:
                for i in range(node.lineno - 1, node.end_lineno or node.lineno):
                    lines[i] = ""
    return "\n".join(lines) + "\n"


def _python(code: str) -> str:
    """Return a cell that :func:`parsed` understands without its magics, if any."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return without_magics(code)
    return code


def borrowed(code: str, others: list[str], preamble: str) -> str:
    """Return the definitions in other cells that an answer needs, in their order.

    Only imports, functions, classes and assignments whose names the answer uses are
    taken, and what those use in turn. What the given code defines stays as given. A
    name that a function has for itself (``x``, ``states``) is none that it needs: a
    cell in which the answer was tried out may well have kept its result under it.
    """
    given = {name for node in _body(preamble) for name in _defined(node)}
    own = {name for node in _body(code) for name in _defined(node)}
    offers = [
        (names, node, lines)
        for source in others
        for lines in [_python(source).split("\n")]
        for node in _body(source)
        if (names := _defined(node) - given - own)
    ]
    by_name: dict[str, list[int]] = {}
    for i, (names, *_) in enumerate(offers):
        for name in names:
            by_name.setdefault(name, []).append(i)
    taken: set[int] = set()
    needed = list(_free(_python(code)))
    known = given | own | by_name.keys() | vars(builtins).keys()
    while needed:  # each name is looked up once, so that no chain of them takes long
        name = needed.pop()
        if name not in known:  # from somewhere: a star, if there is one
            name = "*"
        for i in by_name.pop(name, ()):
            if i not in taken:
                taken.add(i)
                needed += _free(_text(*offers[i][1:]))
    return "".join(f"{_text(*offers[i][1:])}\n" for i in sorted(taken))


def _text(node: ast.stmt, lines: list[str]) -> str:
    """Return the lines of a statement as they were written, decorators and all."""
    above = [d.lineno for d in getattr(node, "decorator_list", [])]
    first = min([node.lineno, *above]) - 1
    return "\n".join(lines[first : node.end_lineno])


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


def _defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a cell defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = (name for target in targets for name in ast.walk(target))
        return {name.id for name in inner if isinstance(name, ast.Name)}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, ast.Try | ast.If | ast.With):
        parts = [one for one in ast.walk(node) if isinstance(one, ast.stmt)]
        return {name for one in parts if one is not node for name in _defined(one)}
    return set()
