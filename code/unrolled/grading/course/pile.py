"""The submissions of a class: whose each one is, and which of several counts.

A submission is ``NAME.ipynb``, a notebook in a folder ``NAME``, or one in ``NAME.zip``;
names as Moodle and Canvas give them are understood
(:mod:`unrolled.grading.course.names`). Of several notebooks of one student one counts:
one that is sealed and unchanged before any other, then the one sealed last, then the
last by name. The others, and all that cannot be read, are listed and stop nobody. So
is a class within the class, such as Moodle's zip among other files: a student's own
archive must not say whose work it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unrolled.grading.apart import GaveUpError, apart
from unrolled.grading.course.archives import Item, items
from unrolled.grading.course.names import cleaned, student_of, system_name
from unrolled.grading.course.records import Rejected, Seal, order_of
from unrolled.grading.course.seals import edition_of, seal_of, sealed_at
from unrolled.grading.exercise import Exercise
from unrolled.grading.notebooks.sheets import NotebookError
from unrolled.grading.notebooks.submissions import (
    answers_of,
    digest_of,
    exercise_name,
    notebook_of,
)

_CLASS = (
    "holds the work of several students, as Moodle or Canvas names them: grade it by "
    "itself, or unpack it so that their files and folders stand here"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """What one student handed in; fields as in a record of it."""

    student: str
    file: str
    digest: str
    seal: Seal
    submitted: str
    answers: dict[str, str]
    other_edition: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Pile:
    """What is to be graded, sorted by student, and what is not."""

    submissions: tuple[Submission, ...]
    rejected: tuple[Rejected, ...]


def read_pile(top: Path, exercise: Exercise) -> Pile:
    """Return the submissions in a folder, or in a zip of one.

    Raises:
        ValueError: There is no such folder; what is wrong within it raises nothing.
    """
    by_student: dict[str, list[Submission]] = {}
    rejected: list[Rejected] = []
    strays: dict[str, list[Item]] = {}
    inside: dict[str, set[str]] = {}
    for item in items(top):
        if len(item.parts) > 1 and (whose := system_name(item.parts[1])):
            inside.setdefault(cleaned(item.parts[0]), set()).add(whose)
        if item.stray and len(item.parts) > 1:
            strays.setdefault(item.parts[0], []).append(item)
            continue
        why = item.trouble
        if not why:
            try:
                one = _read(item, exercise)
                by_student.setdefault(one.student, []).append(one)
            except NotebookError as error:
                why = f"{error}"
            except GaveUpError as error:  # one file, whatever is in it, stops nobody
                why = f"cannot be read: {error}"
        if why:
            whose = _whose(item, exercise)
            rejected.append(Rejected(file=item.file, why=why, student=whose))
    classes = {owner for owner, them in inside.items() if len(them) > 1}
    rejected = [one for one in rejected if _owner(one.file) not in classes]
    rejected += [Rejected(file=owner, why=_CLASS) for owner in classes]
    graded = []
    for every in by_student.values():
        several = [one for one in every if _owner(one.file) not in classes]
        if not several:
            continue
        *others, best = sorted(several, key=_worth)
        graded.append(best)
        for one in others:
            why = f"a duplicate: {best.file} of the same student is graded"
            rejected.append(Rejected(file=one.file, why=why))
    rejected += _without_notebook(strays, rejected, graded, exercise)
    return Pile(
        submissions=tuple(sorted(graded, key=lambda one: order_of(one.student))),
        rejected=tuple(sorted(rejected, key=lambda one: (one.file, one.why))),
    )


def _owner(file: str) -> str:
    """Return the first part of a path, which says whose a file is."""
    return file.partition("/")[0]


def _whose(item: Item, exercise: Exercise) -> str:
    """Return whose a file is that cannot be graded, "" if nobody can know.

    A picture or a list among the folders need not be a student's, unless a learning
    system says so.
    """
    if item.stray:
        return system_name(item.parts[0])
    return student_of(item.parts[0], exercise.name)


def _worth(one: Submission) -> tuple[bool, str, str]:
    """Return the key by which the notebook that counts comes last."""
    return one.seal == "sealed", one.submitted, one.file


def _read(item: Item, exercise: Exercise) -> Submission:
    """Return the submission in a file; NotebookError says why it is none."""
    student = student_of(item.parts[0], exercise.name)
    if not student:
        raise NotebookError(
            "does not say whose it is: call it NAME.ipynb, or put it into a folder NAME"
        )
    found = apart(lambda: _found(item.data, exercise))
    if "why" in found:
        raise NotebookError(found["why"])
    return Submission(student=student, file=item.file, **found)


def _found(data: bytes, exercise: Exercise) -> dict[str, Any]:
    """Return what a notebook says, as plain JSON, or why it is none of ours."""
    try:
        notebook = notebook_of(data, "it")
    except NotebookError as error:
        return {"why": f"{error}"}
    name = exercise_name(notebook)
    if name is not None and name != exercise.name:
        return {"why": f"is of {cleaned(name[:80])[:80]!r}, not of {exercise.name!r}"}
    answers = answers_of(notebook, exercise)
    if name is None and not any(answers.values()):
        return {
            "why": "does not say of which exercise it is, and answers nothing of "
            f"{exercise.name!r}"
        }
    other = edition_of(notebook) not in (None, exercise.digest)
    return {
        "digest": digest_of(answers),
        "seal": seal_of(notebook, answers, other=other),
        "submitted": sealed_at(notebook),
        "answers": answers,
        "other_edition": other,
    }


def _without_notebook(
    strays: Mapping[str, list[Item]],
    rejected: list[Rejected],
    graded: list[Submission],
    exercise: Exercise,
) -> list[Rejected]:
    """Return the folders that hold other files only; beside a notebook these may be."""
    files = [one.file for one in rejected] + [one.file for one in graded]
    seen = {_owner(file) for file in files}
    found = []
    for owner, its in strays.items():
        if cleaned(owner) in seen:
            continue
        there = [cleaned(item.parts[-1]) for item in its if item.parts[-1]]
        more = ", …" if len(there) > 3 else ""
        only = f": there are {', '.join(there[:3])}{more}" if there else ""
        why = f"has no notebook in it{only}"
        whose = student_of(owner, exercise.name)
        found.append(Rejected(file=cleaned(owner), why=why, student=whose))
    return found
