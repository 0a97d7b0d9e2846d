"""The page that a student gets back: what was earned, and where to look.

It shows what is the student's own, and of the tests what the engine lets
be known: outcomes, hints and misconceptions. Hidden tests and implementations
have numbers instead of names, since a name can be half the answer. Why a machine could
not grade is the course's business: such a note could name files of that machine.
"""

import re
from dataclasses import dataclass, replace

from unrolled.grading.course.pages import heading, render
from unrolled.grading.course.records import Course, Mark, Record
from unrolled.grading.engine.outcomes import WORDS, Outcome
from unrolled.grading.exercise import Question, Specimen, Test

#: How many characters of a student's own words are shown again.
OWN_WORDS = 20_000

_PATH = re.compile(r"(?<![\w/.])(?:[A-Za-z]:)?(?:[/\\][^\s/\\'\"`:;,()<>]+){2,}[/\\]?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One test as its student sees it."""

    what: str
    state: str  # passed, failed or unknown
    word: str
    earned: int
    points: int
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One question as its student sees it; ``earned`` is None while nobody knows."""

    question: Question
    n: int
    earned: float | None
    state: str  # passed, failed, unknown, empty or read
    word: str
    rows: tuple[Row, ...]
    note: str  # what holds for all tests that were not passed
    mark: Mark | None
    answer: str


def feedback_page(course: Course, record: Record) -> str:
    """Return the page for one student, whole and self-contained."""
    parts = parts_of(course, record)
    waiting = [part for part in parts if part.earned is None]
    return render(
        "feedback.html.j2",
        style="look.css feedback.css",
        heading=heading(course.exercise),
        exercise=course.exercise,
        record=record,
        parts=parts,
        so_far=course.so_far(record),
        waiting=sum(part.question.points for part in waiting),
        to_read=[part for part in waiting if part.question.kind == "words"],
        broken=[part for part in waiting if part.question.kind != "words"],
        empty=[part for part in parts if part.state == "empty"],
        segments=_segments(parts),
        most=OWN_WORDS,
    )


def parts_of(course: Course, record: Record) -> list[Part]:
    """Return what a student sees of each question, in the order of the exercise."""
    return [
        _part(course, record, question, n)
        for n, question in enumerate(course.exercise.questions.values(), start=1)
    ]


def _part(course: Course, record: Record, question: Question, n: int) -> Part:
    answer = record.answers.get(question.id, "")
    earned = course.points_of(record, question.id)
    mark = course.marks.get(record.student, {}).get(question.id)
    outcomes = [one for one in record.outcomes if one.question == question.id]
    rows, note = _gathered(_rows(question, outcomes))
    empty = not answer.strip() and mark is None and earned is not None
    state, word = _standing(question, rows, earned, empty=empty)
    return Part(
        question=question,
        n=n,
        earned=earned,
        state=state,
        word=word,
        rows=() if empty else rows,
        note=note,
        mark=mark,
        answer=answer if question.kind == "words" else "",
    )


def _standing(
    question: Question, rows: tuple[Row, ...], earned: float | None, *, empty: bool
) -> tuple[str, str]:
    """Return how a question stands: a sign, and a few words."""
    if empty:
        return "empty", "left empty"
    if earned is None:
        words = question.kind == "words"
        return "unknown", "still to be read" if words else "not graded yet"
    if question.kind == "words":
        return "read", "read by a person"
    missed = sum(row.state != "passed" for row in rows)
    if not missed:
        return "passed", "all passed"
    return "failed", f"{missed} of {len(rows)} not passed"


def _rows(question: Question, outcomes: list[Outcome]) -> list[Row]:
    judges = {judge.name: judge for judge in question.judges}
    good = {one.name for one in question.good}
    count: dict[str, int] = {}
    rows = []
    for outcome in outcomes:
        judge = judges.get(outcome.test)  # none: a test that only this course has
        kind = _kind(judge, right=outcome.test in good)
        count[kind] = count.get(kind, 0) + 1
        what = f"{kind} {count[kind]}"
        if judge is not None and judge.visible:
            name = judge.name.removeprefix("test_").replace("_", " ")
            what = f"{kind}: {name}" if isinstance(judge, Specimen) else name
        ungraded = outcome.status == "ungraded"
        rows.append(
            Row(
                what=what,
                state="unknown" if ungraded else _state(outcome),
                word="not graded" if ungraded else _word(outcome),
                earned=outcome.earned,
                points=outcome.points,
                note=WORDS["ungraded"] if ungraded else without_paths(outcome.note),
            )
        )
    return rows


def _kind(judge: Test | Specimen | None, *, right: bool) -> str:
    if isinstance(judge, Specimen):
        return "Right implementation" if right else "Planted bug"
    return "Visible test" if judge is not None and judge.visible else "Hidden test"


def _state(outcome: Outcome) -> str:
    return "passed" if outcome.status == "passed" else "failed"


def _word(outcome: Outcome) -> str:
    return "passed" if outcome.status == "passed" else "not passed"


def _gathered(rows: list[Row]) -> tuple[tuple[Row, ...], str]:
    """Return the rows, and apart from them a note that all tests have in common."""
    notes = {row.note for row in rows}
    if len(rows) < 2 or len(notes) != 1:
        return tuple(rows), ""
    (note,) = notes
    return tuple(replace(row, note="") for row in rows), note


def without_paths(note: str) -> str:
    """Return a note without the names of files, which are no business of a page's."""
    return _PATH.sub("(a file)", note)


def _segments(parts: list[Part]) -> list[dict[str, float]]:
    """Return where each question lies in the bar at the top, in thousandths."""
    whole = sum(part.question.points for part in parts) or 1
    segments, at = [], 0.0
    for part in parts:
        width = 1000 * part.question.points / whole
        share = (part.earned or 0) / (part.question.points or 1)
        segments.append(
            {
                "x": round(at, 1),
                "width": round(max(width - 6, 1), 1),
                "fill": round(max(width - 6, 1) * share, 1),
                "waits": part.earned is None,
            }
        )
        at += width
    return segments
