"""Marks that people give: the page to enter them on, and the file that comes back.

The page works offline from a file. It keeps what is entered in the browser, under a
name that depends on the exercise, its rubrics and where the page is, and exports it as
JSON: a list of marks, each with the digest of the answer that was read. A mark for an
answer that has changed since is refused.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unrolled.grading.course.pages import clip, heading, render
from unrolled.grading.course.records import Course, Mark
from unrolled.grading.exercise import Question

FORMAT = "unrolled-marks-1"
#: How many characters of an answer are shown; the file has the rest.
SHOWN = 20_000
#: How long a comment may be.
COMMENT = 10_000


class MarksError(ValueError):
    """A file of marks cannot be used: ``file: place: what would be right``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer to be marked; ``place`` is its number when names are hidden."""

    id: str
    student: str
    name: str  # the student as JSON in ASCII: whatever it holds, it comes back the same
    text: str
    cut: int  # characters that are not shown
    digest: str
    place: int
    mark: Mark | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pile:
    """All answers to one question in words."""

    question: Question
    n: int
    answers: tuple[Answer, ...]
    empty: int


def manual_page(course: Course) -> str:
    """Return the page on which a person gives points for answers in words."""
    return render(
        "manual.html.j2",
        style="look.css manual.css",
        script="manual.js",
        heading=heading(course.exercise),
        exercise=course.exercise,
        piles=piles_of(course),
        key=f"{FORMAT}:{course.exercise.name}:{_asked(course)}",
        format=FORMAT,
        longest=COMMENT,
    )


def piles_of(course: Course) -> list[Pile]:
    """Return the answers to each question in words; those left empty are counted."""
    piles = []
    for n, question in enumerate(course.exercise.questions.values(), start=1):
        if question.kind != "words":
            continue
        texts = {
            record.student: text
            for record in course.records
            if (text := record.answers.get(question.id, "")).strip()
        }
        order = sorted(texts, key=lambda who: _digest(f"{question.id}\0{who}"))
        place = {student: at for at, student in enumerate(order, start=1)}
        answers = tuple(
            Answer(
                id=f"{question.id}-{at}",
                student=student,
                name=json.dumps(student),
                text=clip(text, SHOWN),
                cut=max(0, len(text) - SHOWN),
                digest=answer_digest(text),
                place=place[student],
                mark=course.marks.get(student, {}).get(question.id),
            )
            for at, (student, text) in enumerate(texts.items(), start=1)
        )
        empty = len(course.records) - len(texts)
        piles.append(Pile(question=question, n=n, answers=answers, empty=empty))
    return piles


def answer_digest(answer: str) -> str:
    """Return by what an answer is known to be the one that was read."""
    return _digest(answer)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _asked(course: Course) -> str:
    """Return the digest of all that is marked by a person: other rubrics, other marks.

    Not that of the exercise: a slip mended in a test must not hide a day's work.
    """
    words = [q for q in course.exercise.questions.values() if q.kind == "words"]
    return _digest(json.dumps([[q.id, q.points, q.prompt, q.rubric] for q in words]))


def read_marks(path: Path, course: Course) -> dict[str, dict[str, Mark]]:
    """Return the marks in a file that the page exported: by student, then question.

    Raises:
        MarksError: The file is none, or a mark in it cannot be right; says which.
    """
    try:
        written = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        kind = type(error).__name__
        raise MarksError(
            f"{path.name}: cannot be read as JSON ({kind}): give the file that the "
            "page manual.html exported"
        ) from error
    if not isinstance(written, dict) or written.get("format") != FORMAT:
        raise MarksError(
            f"{path.name}: is no file of marks: its format is not {FORMAT}"
        )
    if written.get("exercise") != course.exercise.name:
        raise MarksError(
            f"{path.name}: has marks for {clip(repr(written.get('exercise')), 80)}, "
            f"and this is {course.exercise.name}"
        )
    entries = written.get("marks")
    if not isinstance(entries, list):
        raise MarksError(f"{path.name}: its marks are no list")
    marks: dict[str, dict[str, Mark]] = {}
    for at, entry in enumerate(entries, start=1):
        try:
            student, id, mark = _mark(entry, course)
            if id in marks.get(student, {}):
                raise ValueError("there are two marks for this answer")
        except ValueError as error:
            raise MarksError(f"{path.name}: {_place(at, entry)}: {error}") from None
        marks.setdefault(student, {})[id] = mark
    return marks


def _place(at: int, entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return f"mark {at}"
    student, question = entry.get("student"), entry.get("question")
    return f"mark {at} ({clip(ascii(student), 80)}, {clip(ascii(question), 20)})"


def _mark(entry: Any, course: Course) -> tuple[str, str, Mark]:
    """Return the student, question and mark of one entry; say what is wrong with it."""
    if not isinstance(entry, Mapping):
        raise ValueError("is not made of student, question, answer, points and comment")
    student, id, points = (entry.get(key) for key in ("student", "question", "points"))
    records = {record.student: record for record in course.records}
    if not isinstance(student, str) or student not in records:
        raise ValueError("there is no submission of this student")
    words = {q.id: q for q in course.exercise.questions.values() if q.kind == "words"}
    if not isinstance(id, str) or id not in words:
        there = ", ".join(words) or "none"
        raise ValueError(f"this is no question in words; there are: {there}")
    most = words[id].points
    if isinstance(points, bool) or not isinstance(points, int | float):
        raise ValueError(f"points must be a number, not {clip(ascii(points), 40)}")
    if not 0 <= points <= most:  # nor is NaN
        raise ValueError(f"points must be 0 to {most}, not {clip(str(points), 40)}")
    if entry.get("answer") != answer_digest(records[student].answers.get(id, "")):
        raise ValueError(
            "the answer has changed since it was marked: make manual.html again and "
            "read it once more"
        )
    comment = entry.get("comment", "")
    if not isinstance(comment, str) or len(comment) > COMMENT:
        raise ValueError(
            f"the comment must be a text of at most {COMMENT:,} characters"
        )
    return student, id, Mark(points=float(points), comment=comment)
