"""What a student's notebook carries with it: the exercise without its secrets.

The sheet is plain JSON in the notebook's metadata, so that a notebook can be checked
and submitted on a machine that has neither the source nor a network.
"""

import ast
from collections.abc import Mapping
from typing import Any

from unrolled.grading.exercise import Exercise, Question, Specimen, Test

#: The entry in the metadata of notebooks and cells under which all of ours stands.
KEY = "unrolled"
#: What stands where an answer in words belongs, below the line that marks the place.
WORDS_HERE = "*Write your answer here.*"


def code_mark(id: str) -> str:
    """Return the first line of an answer in code, by which it is found if all fails."""
    return f"# {id}: your answer goes into this cell"


def words_mark(id: str) -> str:
    """Return the first line of an answer in words; a reader does not see it."""
    return f"<!-- {id}: your answer goes into this cell -->"


class NotebookError(ValueError):
    """A notebook cannot be used; says which and what to do."""


def sheet_of(exercise: Exercise) -> dict[str, Any]:
    """Return what a student may know about an exercise, as plain JSON."""
    return {
        "exercise": exercise.name,
        "title": exercise.title,
        "digest": exercise.digest,
        "preamble": exercise.preamble,
        "questions": {id: _entry(q) for id, q in exercise.questions.items()},
    }


def _entry(question: Question) -> dict[str, Any]:
    return {
        "title": question.title,
        "kind": question.kind,
        "points": question.points,
        "minutes": question.minutes,
        "forbid": list(question.forbid),
        "scaffold": question.scaffold,
        "visible": [_plain(test) for test in question.visible],
        "good": [_plain(one) for one in question.good if one.visible],
        "planted": [_plain(one) for one in question.planted if one.visible],
    }


def _plain(one: Test | Specimen) -> dict[str, Any]:
    fields = ("name", "points", "note", "source")
    return {name: getattr(one, name) for name in fields}


def exercise_of(notebook: Mapping[str, Any]) -> Exercise:
    """Return the exercise as its student sees it, from the sheet of their notebook.

    Raises:
        NotebookError: It has no sheet, or one that somebody has changed.
    """
    try:
        sheet = notebook["metadata"][KEY]
        questions = {
            id: Question(
                id=id,
                title=str(entry["title"]),
                prompt="",
                kind=entry["kind"],
                points=int(entry["points"]),
                minutes=int(entry["minutes"]),
                forbid=tuple(map(str, entry["forbid"])),
                scaffold=str(entry["scaffold"]),
                visible=tuple(Test(**one) for one in _shown(id, entry["visible"])),
                good=tuple(Specimen(**one) for one in _shown(id, entry["good"])),
                planted=tuple(Specimen(**one) for one in _shown(id, entry["planted"])),
            )
            for id, entry in sheet["questions"].items()
        }
        return Exercise(
            number=str(sheet["exercise"]).partition("-")[0],
            name=str(sheet["exercise"]),
            title=str(sheet["title"]),
            preamble=str(sheet["preamble"]),
            questions=questions,
            digest=str(sheet["digest"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotebookError(
            "this notebook does not say which exercise it is, or its metadata was "
            "changed: 'unrolled exercise start' writes a new one, and your answers can "
            "be copied into it"
        ) from error


def _shown(id: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**entry, "question": id, "visible": True} for entry in entries]


def entry_of(question: Question, *, full: bool) -> dict[str, Any]:
    """Return what the first cell of a notebook says about a question."""
    tests = (*question.visible, *(question.hidden if full else ()))
    entry: dict[str, Any] = {
        "kind": question.kind,
        "points": question.points,
        "tests": [test.name for test in tests],
    }
    entry["names"] = _names(question)
    if question.forbid:
        entry["forbid"] = list(question.forbid)
    if question.kind == "test":
        (entry["name"],) = _names(question)
        entry["specimens"] = [
            [one.name, one.points, one.note, one.source]
            for one in (*question.good, *question.planted)
            if one.visible or full
        ]
    return entry


def _names(question: Question) -> list[str]:
    """Return the functions and classes that an answer is to define."""
    nodes = ast.parse(question.scaffold).body
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in nodes if isinstance(node, kinds)]
