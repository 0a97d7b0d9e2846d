"""The code that results rest on, and a digest of it that tells when it has changed."""

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def imported_modules(code: str, package: Path) -> set[Path]:
    """Return the files of ``package`` that ``code`` imports, followed to the end."""
    found: set[Path] = set()
    todo = [(code, [package.name])]
    while todo:
        for name in _imports(*todo.pop()):
            for path in _files(name, package):
                if path not in found:
                    found.add(path)
                    home = [package.name, *path.relative_to(package).parent.parts]
                    todo.append((path.read_text(encoding="utf-8"), home))
    return found


def code_of(path: Path) -> bytes:
    """Return what of the file at ``path`` can change a result.

    Of a Python module that is no docstring, comment or blank line; of any file, not
    how its lines end.
    """
    if path.suffix != ".py":
        return path.read_bytes().replace(b"\r\n", b"\n")
    text = path.read_text(encoding="utf-8")  # every line now ends in \n
    tree, lines = ast.parse(text), text.split("\n")
    prose = {row for rows in _docstrings(tree, lines) for row in rows}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start[0] - 1, token.start[1]
            lines[row] = lines[row][:column].rstrip()
            if not lines[row]:
                prose.add(row)
    kept = _inside_strings(tree)  # a blank line of a text is part of the text
    return "\n".join(
        line
        for row, line in enumerate(lines)
        if row not in prose and (line.strip() or row in kept)
    ).encode()


def digest(paths: Iterable[Path], root: Path) -> str:
    """Return a digest of the code in ``paths`` and of their places below ``root``."""
    found = hashlib.sha256()
    for name, path in sorted((p.relative_to(root).as_posix(), p) for p in paths):
        found.update(name.encode() + b"\0" + code_of(path) + b"\0")
    return found.hexdigest()


def _imports(code: str, home: list[str]) -> set[str]:
    """Return what ``code``, which lies in the package ``home``, imports from it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) + 1 - node.level] if node.level else []
            module = [*above, node.module] if node.module else above
            names |= {".".join([*module, alias.name]) for alias in node.names}
    return {n for n in names if n == home[0] or n.startswith(f"{home[0]}.")}


def _files(name: str, package: Path) -> list[Path]:
    """Return the file of the module ``name`` and of every package it lies in."""
    files, here = [package / "__init__.py"], package
    for part in name.split(".")[1:]:
        here = here / part
        files += [here / "__init__.py", here.with_suffix(".py")]
    return [path for path in files if path.is_file()]


def _docstrings(tree: ast.Module, lines: list[str]) -> Iterator[range]:
    """Yield the rows of each docstring that shares them with no code."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            rows, doc = _rows(node.body[0]), node.body[0]
            before = lines[rows[0]].encode()[: doc.col_offset]
            after = lines[rows[-1]].encode()[doc.end_col_offset :].strip()
            if not before.strip() and (not after or after.startswith(b"#")):
                yield rows


def _inside_strings(tree: ast.Module) -> set[int]:
    texts = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
    )
    return {row for node in texts for row in _rows(node)}


def _rows(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno - 1, (node.end_lineno or node.lineno))
