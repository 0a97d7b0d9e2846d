"""An exercise as a source of nbgrader's: ``nbgrader generate_assignment`` takes it.

Each test is a cell of its own with its points; hidden ones stand between nbgrader's own
marks, so that the released notebook has neither them nor a solution. A question that
asks for a test is one cell with partial credit. Words are graded by hand, with the
rubric in the source. The course's secret is *not* in the notebook: only the seeds that
come from it are, from which it cannot be found.

Marks are made in the student's kernel there, so they hold for honest work only.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from unrolled.grading.engine.loading import seed_of, trial_seeds
from unrolled.grading.exercise import YOUR_TURN, Exercise, Question, Specimen, Test
from unrolled.grading.files import write_whole
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.sheets import KEY, code_mark, entry_of, words_mark

_HOW = """\
**{points} points**, about {minutes} minutes. Write your answers into the cells that
say so; *Validate* runs the tests that you can see. Some points are given by tests that
you do not see."""
_CONFIG = f"""\
# What nbgrader needs to know about the exercises of *Unrolled*: `nbgrader
# generate_assignment NAME` in this folder.
c = get_config()
c.CourseDirectory.course_id = "unrolled"
c.ClearSolutions.code_stub = {{"python": {YOUR_TURN!r}}}
c.ExecutePreprocessor.timeout = 120
"""


def export_nbgrader(exercise: Exercise, folder: Path, *, secret: str) -> Path:
    """Write ``source/NAME/NAME.ipynb`` into a course folder of nbgrader's.

    A configuration that is there stays as it is; an earlier source is replaced.
    """
    file = folder / "source" / exercise.name / f"{exercise.name}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, nbformat.writes(nbgrader_notebook(exercise, secret)) + "\n")
    config = folder / "nbgrader_config.py"
    if not config.exists():
        write_whole(config, _CONFIG)
    return file


def nbgrader_notebook(exercise: Exercise, secret: str) -> Any:
    """Return the notebook with solutions and hidden tests, for nbgrader to split."""
    book = student_notebook(exercise)
    sources = {c.question: c.source for c in exercise.cells if c.role == "answer"}
    last = {_question(cell): n for n, cell in enumerate(book.cells) if _tried(cell)}
    minutes = sum(question.minutes for question in exercise.questions.values())
    book.cells[1].source = _HOW.format(points=exercise.points, minutes=minutes)
    cells: list[Any] = []
    for n, cell in enumerate(book.cells):
        role, id = cell.metadata[KEY]["role"], _question(cell)
        question = exercise.questions.get(id or "")
        if role == "setup":
            cell.source = _setup(exercise)
            _mark(cell, "setup", locked=True)
        elif role == "given":
            _mark(cell, f"given-{n}", locked=True)
        elif role == "answer" and question and question.kind == "words":
            rubric = f"{words_mark(question.id)}\n\n**Rubric.** {question.rubric}"
            cell.source = f"{rubric}\n"
            _mark(cell, question.id, points=question.points, solution=True)
        elif role == "answer" and question:
            cell.source = f"{code_mark(question.id)}\n{sources[question.id]}".rstrip()
            _mark(cell, question.id, solution=True)
        if role not in ("visible", "check"):
            cells.append(cell)
        if question and n == last.get(id):
            cells += _judges(exercise, question, secret)
    book.cells = cells
    for n, cell in enumerate(cells):
        cell.id = f"{cell.metadata[KEY]['role']}-{n}"
    return book


def _question(cell: Any) -> str | None:
    found: str | None = cell.metadata[KEY]["question"]
    return found


def _tried(cell: Any) -> bool:
    """Return whether a cell must come before the tests of its question."""
    role: str = cell.metadata[KEY]["role"]
    return cell.cell_type == "code" and role in ("answer", "visible", "check")


def _mark(
    cell: Any,
    id: str,
    *,
    points: int | None = None,
    solution: bool = False,
    locked: bool = False,
) -> None:
    """Say what a cell is to nbgrader."""
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": id,
        "grade": points is not None,
        "solution": solution,
        "locked": locked,
        "task": False,
        **({} if points is None else {"points": points}),
    }


def _setup(exercise: Exercise) -> str:
    entries = {}
    for question in exercise.coded():
        entry = entry_of(question, full=False)
        kept = ("forbid", "names", "name")
        entries[question.id] = {key: entry[key] for key in kept if key in entry}
    lines = "".join(f'        "{id}": {json.dumps(e)},\n' for id, e in entries.items())
    return (
        "# Run this cell first.\n"
        "from unrolled.grading.exports.kernel import open_judge\n\n"
        f"judge, judge_test = open_judge(\n    globals(),\n"
        f"    {_text(exercise.preamble)},\n    {{\n{lines}    }},\n)"
    )


def _text(source: str) -> str:
    """Return code as a literal that can still be read."""
    if "'''" in source or source.endswith(("'", "\\")):
        return repr(source)
    return f"r'''{source}'''"


def _judges(exercise: Exercise, question: Question, secret: str) -> Iterator[Any]:
    if question.kind == "test":
        yield _judge_test(exercise, question, secret)
    hidden = 0
    for test in (*question.visible, *question.hidden):
        hidden += not test.visible
        shown = f"check-{test.name[5:]}"  # no name of a hidden test gets out
        yield _judge(exercise, test, secret, shown if test.visible else f"{hidden}")


def _judge(exercise: Exercise, test: Test, secret: str, label: str) -> Any:
    seeds = tuple(
        seed_of(exercise.name, secret, name)
        for name in (test.name, f"torch {test.name}")
    )
    call = (
        f'judge(\n    "{test.question}",\n    "{test.name}",\n'
        f"    {_text(test.source)},\n    seeds={seeds},\n    note={test.note!r},\n)"
    )
    worth = "1 point" if test.points == 1 else f"{test.points} points"
    source = f"# A check that you can see: {worth}.\n{call}"
    if not test.visible:
        source = f"# A test that you do not see: {worth}.\n{_hidden(call)}"
    return _graded(f"{test.question}-{label}", test.question, test.points, source)


def _judge_test(exercise: Exercise, question: Question, secret: str) -> Any:
    every = (*question.good, *question.planted)
    shown = [_line(exercise, one, secret) for one in every if one.visible]
    others = [_line(exercise, one, secret) for one in every if not one.visible]
    source = (
        f"# Your test on implementations, right and wrong: {question.points} points.\n"
    )
    source += f"implementations = [\n{''.join(shown)}]\n"
    if others:
        source += _hidden(f"implementations += [\n{''.join(others)}]") + "\n"
    source += f'judge_test("{question.id}", implementations)'
    return _graded(f"{question.id}-test", question.id, question.points, source)


def _line(exercise: Exercise, one: Specimen, secret: str) -> str:
    seeds = trial_seeds(exercise.name, secret, one.question)
    said = f'"{one.name}", {one.points}, {one.note!r}'
    return f"    ({said}, {_text(one.source)}, {seeds}),\n"


def _hidden(code: str) -> str:
    return f"### BEGIN HIDDEN TESTS\n{code}\n### END HIDDEN TESTS"


def _graded(id: str, question: str, points: int, source: str) -> Any:
    cell = nbformat.v4.new_code_cell(source)
    cell.metadata = {KEY: {"role": "judge", "question": question}}
    _mark(cell, id, points=points, locked=True)
    return cell
