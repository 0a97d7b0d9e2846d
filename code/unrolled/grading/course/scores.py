"""The scores of a class as a table, and all that is known of it as JSON.

Both depend on what was handed in and on nothing else: no time, no order, no folder.
Names are students' own, and a spreadsheet runs a cell that begins like a formula: such
a cell gets an apostrophe before it.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from unrolled.grading.course.records import Course, Mark, Record, Rejected, order_of
from unrolled.grading.course.results import environment
from unrolled.grading.course.secrets import with_private
from unrolled.grading.exercise import Exercise, Test

# what begins a formula, also in the wide forms that some spreadsheets take for it
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
UNGRADED = "UNGRADED"
NOTHING = "nothing to grade"
Marks = Mapping[str, Mapping[str, Mark]]


def number(points: float) -> str:
    """Return points as one writes them: 3, or 2.5."""
    return f"{points:g}"


def defused(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def status_of(course: Course, record: Record) -> str:
    """Return how far a student's mark is: ``graded``, or what is missing."""
    if not record.complete:
        return UNGRADED
    return "graded" if course.total(record) is not None else "to be marked"


def scores_csv(course: Course) -> str:
    """Return the scores: a line for each student, a column for each question.

    A cell is empty while nobody has marked the words, and ``UNGRADED`` if the machine
    failed; then there is no total either. A student of whom no file could be graded has
    a line without points, which is no zero either: that is for a person to say.
    """
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    ids = list(course.exercise.questions)
    marked = ["student", "total", "of", "status", *ids]
    table.writerow([*marked, "seal", "submitted", "edition", "file"])
    every: list[Record | Rejected] = [*course.records, *course.without_record()]
    for one in sorted(every, key=lambda one: order_of(one.student)):
        row = _row(course, one) if isinstance(one, Record) else _empty_row(course)
        table.writerow([defused(one.student), *row, defused(one.file)])
    return file.getvalue()


def _row(course: Course, record: Record) -> list[str]:
    total = course.total(record)
    return [
        "" if total is None else number(total),
        number(course.exercise.points),
        status_of(course, record),
        *(_cell(course, record, id) for id in course.exercise.questions),
        record.seal,
        record.submitted,
        "other" if record.other_edition else "same",
    ]


def _empty_row(course: Course) -> list[str]:
    blank = [""] * len(course.exercise.questions)
    return ["", number(course.exercise.points), NOTHING, *blank, "", "", ""]


def _cell(course: Course, record: Record, id: str) -> str:
    points = course.points_of(record, id)
    if points is not None:
        return number(points)
    words = course.exercise.questions[id].kind == "words"
    return "" if words else UNGRADED


def results_json(course: Course, private: Sequence[Test] = ()) -> str:
    """Return all that is known of a class; ``private`` says which tests are."""
    exercise = course.exercise
    students = [
        {
            "status": status_of(course, record),
            "total": course.total(record),
            "questions": {
                id: course.points_of(record, id) for id in exercise.questions
            },
            "record": record.plain(),
        }
        for record in course.records
    ]
    marks = {
        student: {id: asdict(mark) for id, mark in sorted(its.items())}
        for student, its in sorted(course.marks.items())
    }
    plain = {
        "exercise": exercise.name,
        "title": exercise.title,
        "digest": exercise.digest,
        "points": exercise.points,
        "environment": environment(),
        "private": [
            {"name": t.name, "question": t.question, "points": t.points, "note": t.note}
            for t in private
        ],
        "students": students,
        "rejected": [asdict(one) for one in course.rejected],
        "marks": marks,
    }
    return json.dumps(plain, indent=1) + "\n"


def read_results(text: str, exercise: Exercise) -> tuple[Course, tuple[Test, ...]]:
    """Return the class of :func:`results_json`, and its private tests sans source.

    Raises:
        ValueError: It is no such text, or of another exercise.
    """
    try:
        plain = json.loads(text)
        name = plain["exercise"]
        if name != exercise.name:
            raise ValueError(f"it is of {name}, not of {exercise.name}")
        if plain["digest"] != exercise.digest:
            raise ValueError(
                f"the source of {name} has changed since: grade again, with --resume"
            )
        private = tuple(
            Test(**entry, source="", visible=False) for entry in plain["private"]
        )
        records = [Record.of_plain(one["record"]) for one in plain["students"]]
        course = Course(
            exercise=with_private(exercise, private),
            records=tuple(records),
            rejected=tuple(Rejected(**one) for one in plain["rejected"]),
            marks=_marks(plain["marks"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("these are no results of a grading") from error
    return course, private


def marks_of_words(text: str, records: Sequence[Record]) -> Marks:
    """Return the marks in earlier results, for words that are still the same."""
    try:
        plain = json.loads(text)
        before = {
            one["record"]["student"]: one["record"]["answers"]
            for one in plain["students"]
        }
        marks = _marks(plain["marks"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    kept = {
        record.student: {
            id: mark
            for id, mark in marks.get(record.student, {}).items()
            if id in record.answers
            and record.answers[id] == before.get(record.student, {}).get(id)
        }
        for record in records
    }
    return {student: its for student, its in kept.items() if its}


def _marks(plain: dict[str, Any]) -> Marks:
    return {
        student: {id: Mark(**mark) for id, mark in its.items()}
        for student, its in plain.items()
    }
