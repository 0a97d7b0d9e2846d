"""What a student's notebook can do: ``check("q1")`` and ``submit()``, in any kernel.

All of it is plain Python in the kernel: no server, no network. A check runs in the
student's own namespace and is for their own use; marks come from another process that
trusts nothing of this one. Untested on Colab itself.
"""

import linecache
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unrolled.grading.exercise import Exercise, Question
from unrolled.grading.notebooks.handing_in import Found, find_notebook, submit_notebook
from unrolled.grading.notebooks.progress import Progress
from unrolled.grading.notebooks.sheets import code_mark, entry_of, exercise_of
from unrolled.grading.notebooks.submissions import answers_of, cells_of
from unrolled.grading.notebooks.ticks import Line, Report, show
from unrolled.grading.notebooks.trials import (
    Namespace,
    forbidden_lines,
    try_specimens,
    try_test,
)


def check_question(
    exercise: str, id: str, entry: Mapping[str, Any], namespace: Mapping[str, Any]
) -> Report:
    """Run the checks of one question on what ``namespace`` defines.

    ``entry`` is what the first cell of the notebook says about the question: its kind,
    its points, the names of its tests and the specimens for a student's test.
    """
    bad = forbidden_lines(entry, namespace)
    lines = []
    for name in entry["tests"]:
        test = namespace.get(name)
        if callable(test):
            lines.append(try_test(exercise, name, test, Namespace(namespace)))
        else:
            why = "run the cell that defines this check first"
            lines.append(Line(name=name, points=0, earned=0, status="todo", note=why))
    if specimens := entry.get("specimens"):
        own = namespace.get(entry["name"])
        lines += try_specimens(exercise, specimens, namespace, own)
    if bad:
        lines = [*bad, *(replace(line, earned=0) for line in lines)]
    return Report(id=id, kind=entry["kind"], points=entry["points"], lines=tuple(lines))


def open_exercise(
    name: str, namespace: dict[str, Any], questions: Mapping[str, Mapping[str, Any]]
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return ``check`` and ``submit`` for the notebook of an exercise.

    Args:
        name: The exercise, as in ``12-self-attention``.
        namespace: ``globals()`` of the notebook.
        questions: Kind, points and tests of each question.
    """

    def check(question: str | None = None) -> None:
        """Check one question, or all; progress is kept beside the notebook."""
        if question is not None and question not in questions:
            print(
                f"There is no question {question!r}: there are {', '.join(questions)}."
            )
            return
        progress = Progress.load(Path.cwd(), name)
        for id in [question] if question else questions:
            report = check_question(name, id, questions[id], namespace)
            progress = progress.noting(report)
            show(report)
        print(progress.line({id: entry["points"] for id, entry in questions.items()}))
        if trouble := progress.save():
            print(trouble)

    def submit(notebook: str | Path | None = None) -> None:
        """Write the file to hand in; save the notebook first."""
        try:
            found = find_notebook(name, notebook, namespace)
            ran = [] if notebook or "get_ipython" not in namespace else _ran(namespace)
            if unsaved := unsaved_answers(found, list(questions), ran):
                print(
                    f"Save first: {', '.join(unsaved)} is not in {found.source} as you "
                    "last ran it. Nothing was written. Save the notebook (Ctrl+S, on a "
                    "Mac Cmd+S), or run the cell as it is now, and submit() again."
                )
                return
            print(submit_notebook(found))
        except (ValueError, OSError) as error:
            print(error)

    return check, submit


def unsaved_answers(found: Found, ids: list[str], ran: list[str]) -> list[str]:
    """Return the questions whose answer was last run otherwise than it is in the file.

    ``ran`` is the source of all the cells that the kernel has run. Words are never run:
    whether these are saved cannot be seen from here.
    """
    saved = {source.strip() for _, source in cells_of(found.notebook)}
    unsaved = []
    for id in ids:
        last = [source for source in ran if source.startswith(code_mark(id))][-1:]
        if last and last[0].strip() not in saved:
            unsaved.append(id)
    return unsaved


def _ran(namespace: Mapping[str, Any]) -> list[str]:
    """Return what this kernel has run, cell by cell, as it was typed."""
    return list(namespace["get_ipython"]().history_manager.input_hist_raw)


def check_notebook(found: Found, ids: list[str] | None = None) -> list[Report]:
    """Check a notebook from its file: each answer alone, as the grading does it.

    Raises:
        NotebookError: The notebook does not say which exercise it is.
    """
    exercise = exercise_of(found.notebook)
    answers = answers_of(found.notebook, exercise)
    return [
        _check_alone(exercise, question, answers[id])
        for id, question in exercise.questions.items()
        if ids is None or id in ids
    ]


def _check_alone(exercise: Exercise, question: Question, answer: str) -> Report:
    names: dict[str, Any] = {"__name__": "answer"}
    exec(compile(exercise.preamble, "<given>", "exec"), names)
    for test in question.visible:
        exec(compile(test.source, f"<{test.name}>", "exec"), names)
    entry = entry_of(question, full=False)
    trouble = []
    if question.kind != "words":
        code = answer or question.scaffold
        trouble = _run(code, question.id, names)
    report = check_question(exercise.name, question.id, entry, names)
    return replace(report, lines=(*trouble, *report.lines))


def _run(code: str, id: str, names: dict[str, Any]) -> list[Line]:
    """Run an answer; return a line about it if it does not get to its end."""
    file = f"<answer to {id}>"
    # Where tracebacks and inspect look for the text of code that is in no file.
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    try:
        exec(compile(code, file, "exec"), names)
    except (Exception, SystemExit) as error:
        note = f"{type(error).__name__}: {error}"
        line = Line(
            name="the answer runs", points=0, earned=0, status="error", note=note
        )
        return [line]
    return []
