"""What the code cells of an exercise say: solutions between markers, and tests."""

import ast
import re

from unrolled.grading.authoring.cells import Fail
from unrolled.grading.exercise import NOTE, YOUR_TURN, Test

BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
_MARKER = re.compile(r"\s*#\s*(begin|end)\s+solution\b.*", re.IGNORECASE)
_FORMS = {True: "points: N | hint: …", False: "points: N | catches: …"}


def parse(source: str, line: int, fail: Fail) -> ast.Module:
    """Return the syntax tree of a cell that starts in ``line`` of the file."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        at = line + (error.lineno or 1) - 1
        fail(at, f"this is not Python: {error.msg}")


def names_defined(tree: ast.Module) -> dict[str, type[ast.stmt]]:
    """Return the functions and classes at the top of a cell."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: type(node) for node in tree.body if isinstance(node, kinds)}


def split_solution(source: str, line: int, fail: Fail) -> tuple[str, str]:
    """Return the scaffold and the solution of an answer cell."""
    scaffold: list[str] = []
    solution: list[str] = []
    opened = 0
    n_found = 0
    for n, text in enumerate(source.split("\n"), line):
        bare = text.strip()
        if bare == BEGIN:
            if opened:
                fail(n, f"'{BEGIN}' again, but line {opened} is not closed by '{END}'")
            opened = n
            n_found += 1
            scaffold.append(text.replace(BEGIN, YOUR_TURN).rstrip())
        elif bare == END:
            if not opened:
                fail(n, f"'{END}' closes nothing: put '{BEGIN}' before the solution")
            opened = 0
        elif _MARKER.fullmatch(text):
            fail(
                n, f"{bare!r} is no marker: write '{BEGIN}' or '{END}' alone in a line"
            )
        else:
            solution.append(text)
            if not opened:
                scaffold.append(text)
    if opened:
        fail(opened, f"the solution that begins here has no end: add '{END}'")
    if not n_found:
        fail(line, f"an answer needs its solution between '{BEGIN}' and '{END}'")
    parse("\n".join(solution), line, fail)
    _check_scaffold("\n".join(scaffold), n_found, line, fail)
    return "\n".join(scaffold) + "\n", "\n".join(solution) + "\n"


def _check_scaffold(scaffold: str, n_found: int, line: int, fail: Fail) -> None:
    """See to it that the cell runs before it is answered, and raises when called."""
    try:
        tree = ast.parse(scaffold)
    except SyntaxError as error:
        fail(line, f"without its solution this cell is not Python: {error.msg}")
    inside = {
        inner.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Raise) and ast.unparse(inner) == _TURN
    }
    if len(inside) < n_found:
        fail(
            line, "the solution must be inside a function: what is left must still run"
        )


_TURN = ast.unparse(ast.parse(YOUR_TURN))


def read_tests(
    source: str, line: int, *, question: str, visible: bool, fail: Fail
) -> list[Test]:
    """Return the tests of a cell; each takes the cell's helpers with it."""
    tree = parse(source, line, fail)
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    if not found:
        fail(line, "no test here: define test_what_it_tests(S, rng)")
    tests = []
    for node in found:
        at = line + node.lineno - 1
        arguments = [argument.arg for argument in node.args.args]
        if not node.name.startswith("test_") or arguments != ["S", "rng"]:
            fail(at, f"{node.name}({', '.join(arguments)}) should be test_…(S, rng)")
        points, note = _note(node, at, visible=visible, fail=fail)
        others = [other for other in found if other is not node]
        tests.append(
            Test(
                name=node.name,
                question=question,
                points=points,
                note=note,
                source=_without(source, others),
                visible=visible,
                line=line,
            )
        )
    return tests


def _note(
    node: ast.FunctionDef, line: int, *, visible: bool, fail: Fail
) -> tuple[int, str]:
    """Return points and hint or misconception, as the docstring of a test says."""
    form, name = _FORMS[visible], node.name
    text = " ".join((ast.get_docstring(node) or "").split())
    match = NOTE.fullmatch(text)
    if not match:
        fail(line, f'{name} needs the docstring """{form}""", not {text!r}')
    if not match["points"].isdecimal():
        fail(line, f"points: {match['points']} in {name} is not a whole number")
    key = "hint" if visible else "catches"
    if match["key"] != key:
        kind = "visible" if visible else "hidden"
        fail(line, f"{name} is {kind}, so it says '{key}:', not '{match['key']}:'")
    return int(match["points"]), match["note"]


def _without(source: str, functions: list[ast.FunctionDef]) -> str:
    """Return the cell with these functions blanked, so that lines keep their places."""
    lines = source.split("\n")
    for node in functions:
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        for i in range(first - 1, node.end_lineno or node.lineno):
            lines[i] = ""
    return "\n".join(lines) + "\n"
