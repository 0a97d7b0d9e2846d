"""A question put together from its settings in the header and its cells."""

import ast
from typing import Any

from unrolled.grading.authoring.cells import Fail, Piece
from unrolled.grading.authoring.code_cells import (
    names_defined,
    parse,
    read_tests,
    split_solution,
)
from unrolled.grading.authoring.settings import Settings
from unrolled.grading.exercise import Kind, Mutant, Question, Specimen

_USES = {
    "function": {"answer", "visible", "hidden", "mutant", "alternative"},
    "module": {"answer", "visible", "hidden", "mutant", "alternative"},
    "test": {"answer", "good", "planted", "mutant", "alternative"},
    "words": {"rubric"},
}


def build_question(
    id: str,
    title: str,
    settings: Settings,
    found: list[tuple[str, Piece]],
    fail: Fail,
) -> Question:
    """Return a question from the cells of its section."""
    kind = settings.kind
    by_role: dict[str, list[Piece]] = {}
    for role, piece in found:
        if role not in _USES[kind] | {"prose", "given"}:
            uses = ", ".join(sorted(_USES[kind]))
            fail(piece.start, f"{id} is of kind {kind}: it has no {role}, but {uses}")
        by_role.setdefault(role, []).append(piece)
    heading, *_ = by_role["prose"]
    prose = [
        heading.source.partition("\n")[2],
        *(p.source for p in by_role["prose"][1:]),
    ]
    common: dict[str, Any] = {
        "id": id,
        "title": title,
        "prompt": "\n\n".join(text.strip() for text in prose if text.strip()),
        "kind": kind,
        "minutes": settings.minutes,
    }
    if kind == "words":
        rubrics = by_role.get("rubric", [])
        if len(rubrics) != 1 or not rubrics[0].source:
            n = len(rubrics)
            at = rubrics[-1].start if rubrics else heading.line
            fail(at, f"{id} is answered in words: it needs one rubric, and has {n}")
        return Question(**common, points=settings.points, rubric=rubrics[0].source)
    answers = by_role.get("answer", [])
    if len(answers) != 1:
        at = answers[1].start if answers else heading.line
        fail(at, f"{id} has {len(answers)} cells tagged answer: it needs one")
    scaffold, solution = split_solution(answers[0].source, answers[0].line, fail)
    names = _answered(id, kind, solution, answers[0].line, fail)
    visible, hidden = (
        tuple(
            test
            for p in by_role.get(tag, [])
            for test in read_tests(
                p.source, p.line, question=id, visible=tag == "visible", fail=fail
            )
        )
        for tag in ("visible", "hidden")
    )
    good, planted = (
        tuple(_specimen(id, p, fail) for p in by_role.get(tag, []))
        for tag in ("good", "planted")
    )
    if kind == "test" and not (good and planted):
        fail(heading.line, f"{id} asks for a test: it needs cells 'good' and 'planted'")
    points = sum(t.points for t in (*visible, *hidden)) + sum(p.points for p in planted)
    if not points:
        fail(heading.line, f"{id} is worth nothing: give its tests points")
    may_fail = tuple(one.name for one in hidden or planted)
    return Question(
        **common,
        points=points,
        forbid=settings.forbid,
        scaffold=scaffold,
        solution=solution,
        visible=visible,
        hidden=hidden,
        mutants=tuple(
            _mutant(id, p, names, may_fail, fail) for p in by_role.get("mutant", [])
        ),
        alternatives=tuple(
            _same_names(p, names, fail) for p in by_role.get("alternative", [])
        ),
        good=good,
        planted=planted,
    )


def _answered(id: str, kind: Kind, solution: str, line: int, fail: Fail) -> set[str]:
    """Return what the answer defines, which must be of the kind that is asked for."""
    found = names_defined(ast.parse(solution))
    wanted = ast.ClassDef if kind == "module" else ast.FunctionDef
    names = {name for name, what in found.items() if what is wanted}
    if kind == "test" and (len(names) != 1 or not min(names).startswith("test_")):
        fail(line, f"{id} asks for a test: its answer defines one test_…(S, rng)")
    if not names:
        what = "class" if kind == "module" else "function"
        fail(line, f"{id} is of kind {kind}, but its answer defines no {what}")
    return names


def _same_names(piece: Piece, names: set[str], fail: Fail) -> str:
    """Return the code of another answer, which must define what the solution does."""
    missing = names - names_defined(parse(piece.source, piece.line, fail)).keys()
    if missing:
        fail(piece.line, f"this does not define {', '.join(sorted(missing))}")
    return piece.source + "\n"


def _mutant(
    id: str, piece: Piece, names: set[str], may_fail: tuple[str, ...], fail: Fail
) -> Mutant:
    fails = piece.options.get("fails")
    there = ", ".join(may_fail)
    if not isinstance(fails, list) or not fails:
        fail(piece.start, f"a mutant says which it fails: ':fails: [{there}]'")
    for name in fails:
        if name not in may_fail:
            fail(piece.start, f"{name!r} is not hidden: {id} hides {there or 'none'}")
    if len(set(fails)) < len(fails):
        fail(piece.start, f"fails: {fails} names a test twice")
    source = _same_names(piece, names, fail)
    return Mutant(question=id, source=source, fails=tuple(fails), line=piece.line)


def _specimen(id: str, piece: Piece, fail: Fail) -> Specimen:
    name, catches = piece.options.get("name"), piece.options.get("catches")
    bug = "planted" in piece.options["tags"]
    if not isinstance(name, str) or not name.isidentifier():
        fail(piece.start, "an implementation to be tested needs ':name: a_word'")
    if bug and not catches:
        fail(piece.start, f"{name} does not say what is wrong: ':catches: …'")
    points = str(piece.options.get("points", "1"))
    if bug and not (points.isdecimal() and int(points) > 0):
        fail(piece.start, f"{name} has points {points!r}: a whole number, as in 1")
    parse(piece.source, piece.line, fail)
    return Specimen(
        name=name,
        question=id,
        points=int(points) if bug else 0,
        note=str(catches or ""),
        source=piece.source + "\n",
        visible="visible" in piece.options["tags"],
        line=piece.line,
    )
