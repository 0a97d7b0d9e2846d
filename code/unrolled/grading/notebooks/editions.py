"""The editions of an exercise as notebooks: the student's and the instructor's."""

import json
from collections.abc import Iterator
from typing import Any

import nbformat

from unrolled.grading.exercise import Cell, Exercise, Question
from unrolled.grading.notebooks.leaks import Leak, scan
from unrolled.grading.notebooks.sheets import (
    KEY,
    WORDS_HERE,
    code_mark,
    entry_of,
    sheet_of,
    words_mark,
)

__all__ = ["Leak", "scan", "solution_notebook", "student_notebook"]

_HOW = """\
**{points} points**, about {minutes} minutes. Write your answers into the cells that
say so, in Python, NumPy and PyTorch: what the book's own package has ready is not to be
imported. `check("{first}")` tells you how a question stands, `check()` how all do; some
points are given by tests that you do not see. When you are done, save the notebook and
run `submit()`."""


def student_notebook(exercise: Exercise) -> Any:
    """Return the notebook a student starts from: no solution, hidden test or rubric."""
    return _notebook(exercise, _cells(exercise, full=False))


def solution_notebook(exercise: Exercise) -> Any:
    """Return the instructor's notebook: solutions, hidden tests, rubrics, mutants.

    It runs from top to bottom, and its checks include the hidden tests.
    """
    return _notebook(exercise, _cells(exercise, full=True))


def _notebook(exercise: Exercise, cells: Iterator[Any]) -> Any:
    book = nbformat.v4.new_notebook()
    book.metadata = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        },
        "language_info": {"name": "python"},
        KEY: sheet_of(exercise),
    }
    book.cells = list(cells)
    for n, cell in enumerate(book.cells):
        cell.id = f"{cell.metadata[KEY]['role']}-{n}"  # the same in every copy we make
    return book


def _new(kind: str, role: str, source: str, question: str | None = None) -> Any:
    make = (
        nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    )
    cell = make(source.rstrip())
    cell.metadata = {KEY: {"role": role, "question": question}}
    if role == "answer":
        cell.metadata["deletable"] = False
    return cell


def _cells(exercise: Exercise, *, full: bool) -> Iterator[Any]:
    minutes = sum(question.minutes for question in exercise.questions.values())
    first = next(iter(exercise.questions))
    how = _HOW.format(points=exercise.points, minutes=minutes, first=first)
    title, rest = f"# Exercise {exercise.number}: {exercise.title}", exercise.cells
    if rest[0].role == "prose" and not rest[0].question:
        title, rest = rest[0].source, rest[1:]
    yield _new("markdown", "prose", title)
    yield _new("markdown", "prose", how)
    yield _new("code", "setup", _setup(exercise, full=full))
    checks = {_place_of_check(exercise, q, full=full) for q in exercise.coded()}
    for cell in rest:
        question = exercise.questions.get(cell.question or "")
        yield from _of_cell(cell, question, checked=id(cell) in checks, full=full)


def _place_of_check(exercise: Exercise, question: Question, *, full: bool) -> int:
    """Return after which cell a question is checked: all that it needs is there."""
    roles = ("answer", "visible", "hidden") if full else ("answer", "visible")
    cells = [cell for cell in exercise.cells if cell.question == question.id]
    return id([cell for cell in cells if cell.role in roles][-1])


def _of_cell(
    cell: Cell, question: Question | None, *, checked: bool, full: bool
) -> Iterator[Any]:
    """Yield the cells of an edition that stand for one of the source."""
    role, source = cell.role, cell.source
    if role == "given" or (role == "prose" and question is None):
        kind = "code" if role == "given" else "markdown"
        yield _new(kind, role, source, cell.question)
    if question is None:
        return
    check = f'check("{question.id}")'
    if role == "prose":
        yield _new("markdown", role, _with_points(source, question), question.id)
    elif role == "answer":
        code = question.solution if full else question.scaffold
        marked = f"{code_mark(question.id)}\n{code}"
        yield _new("code", role, marked, question.id)
        if checked:
            yield _new("code", "check", check, question.id)
    elif role == "visible" or (role == "hidden" and full):
        source += f"\n\n\n{check}" if checked else ""
        yield _new("code", role, source, question.id)
    elif role == "rubric":
        words = f"{words_mark(question.id)}\n\n{WORDS_HERE}"
        yield _new("markdown", "answer", words, question.id)
        if full:
            yield _new("markdown", role, f"**Rubric.** {source}", question.id)
    else:
        yield from _shown_code(cell, question, full=full)


def _shown_code(cell: Cell, question: Question, *, full: bool) -> Iterator[Any]:
    """Yield code to be read, not run: it would stand in the place of an answer."""
    words = ""
    for one in (*question.good, *question.planted):
        if one.line == cell.line and (one.visible or full):
            what = f"holds a bug: {one.note}" if one.points else "is right"
            words = f"An implementation that {what}."
    if full and cell.role == "alternative":
        words = "Another right answer."
    for mutant in question.mutants if full else ():
        if mutant.line == cell.line:
            words = f"A wrong answer, rejected by {', '.join(mutant.fails)}."
    if words:
        text = f"{words}\n\n```python\n{cell.source}\n```"
        yield _new("markdown", cell.role, text, question.id)


def _with_points(source: str, question: Question) -> str:
    """Return a question's prose with its points under the heading."""
    heading, _, rest = source.partition("\n")
    if not heading.startswith("## Question"):
        return source
    points = "1 point" if question.points == 1 else f"{question.points} points"
    if question.kind == "words":
        points += ", given by a person"
    elif question.shown_points:
        points += f", of which you can check {question.shown_points} here"
    line = f"*{points}; about {question.minutes} minutes."
    if question.forbid:
        line += f" Not allowed: {', '.join(question.forbid)}."
    return f"{heading}\n\n{line}*\n{rest}"


def _setup(exercise: Exercise, *, full: bool) -> str:
    """Return the cell that gives ``check`` and ``submit`` to the notebook."""
    lines = []
    for q in exercise.questions.values():
        # JSON of texts, numbers and lists is Python as well.
        written = json.dumps(entry_of(q, full=full), ensure_ascii=False)
        lines.append(f'        "{q.id}": {written},\n')
    return (
        "# Run this cell first: it gives you check and submit.\n"
        "from unrolled.grading.student import open_exercise\n\n"
        f'check, submit = open_exercise(\n    "{exercise.name}",\n    globals(),\n'
        f"    {{\n{''.join(lines)}    }},\n)"
    )
