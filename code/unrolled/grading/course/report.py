"""The page about a class, for those who teach it: what went well, what did not."""

from dataclasses import dataclass
from statistics import mean, median

from unrolled.grading.course.misconceptions import misconceptions_of, stops_of
from unrolled.grading.course.pages import heading, render
from unrolled.grading.course.records import Course, Record
from unrolled.grading.course.similarity import ALIKE, Pair, many, pairs
from unrolled.grading.exercise import Question
from unrolled.grading.sandbox.rooms import TIERS

#: How many pairs of students are shown; in an honest class there are few.
MOST_PAIRS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How the class did on one question."""

    question: Question
    n: int
    share: float | None  # of the points known; None if only empty answers have any
    mean: float
    known: int
    full: int
    empty: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Alike:
    """Two students, and the questions on which their answers are alike."""

    a: str
    b: str
    pairs: tuple[Pair, ...]


def report_page(course: Course) -> str:
    """Return the page about the class, whole and self-contained."""
    exercise = course.exercise
    graded = [record for record in course.records if record.complete]
    scores = [course.so_far(record) for record in graded]
    standings = standings_of(course)
    together = alike_of(pairs(course))
    tiers = sorted({record.tier for record in course.records})
    return render(
        "report.html.j2",
        style="look.css report.css",
        heading=heading(exercise),
        exercise=exercise,
        course=course,
        numbers={q.id: n for n, q in enumerate(exercise.questions.values(), start=1)},
        n=len(course.records),
        graded=graded,
        mean=mean(scores) if scores else None,
        median=median(scores) if scores else None,
        bins=bins_of(course, graded),
        open=[record for record in graded if course.total(record) is None],
        standings=standings,
        misconceptions=misconceptions_of(course),
        stops=stops_of(course),
        alike=together[:MOST_PAIRS],
        n_alike=len(together),
        threshold=ALIKE,
        natural=many(len(course.records)),
        ungraded=[record for record in course.records if not record.complete],
        changed=_with_seal(course, "changed"),
        unsealed=_with_seal(course, "unsealed"),
        others=[record for record in course.records if record.other_edition],
        tiers=[(tier, TIERS.get(tier[:1], "")) for tier in tiers],
    )


def bins_of(course: Course, records: list[Record]) -> list[tuple[str, int, float]]:
    """Return ten equal ranges of points: words, how many, and the height of a bar."""
    counts, most = [0] * 10, course.exercise.points or 1
    for record in records:
        share = course.so_far(record) / most
        counts[min(max(int(10 * share), 0), 9)] += 1
    highest = max(1, *counts)
    words = [f"{10 * n} to under {10 * n + 10}\u00a0%" for n in range(9)]
    return [
        (word, count, count / highest)
        for word, count in zip([*words, "90 to 100\u00a0%"], counts, strict=True)
    ]


def standings_of(course: Course) -> list[Standing]:
    """Return how the class did on each question, the hardest first."""
    found = []
    for n, question in enumerate(course.exercise.questions.values(), start=1):
        every = [course.points_of(record, question.id) for record in course.records]
        known = [points for points in every if points is not None]
        average = mean(known) if known else 0.0
        worth = question.points or 1
        answers = [record.answers.get(question.id, "") for record in course.records]
        empty = sum(not answer.strip() for answer in answers)
        judged = len(known) > empty or len(known) == len(every) > 0
        found.append(
            Standing(
                question=question,
                n=n,
                share=average / worth if judged else None,
                mean=average,
                known=len(known),
                full=sum(points >= question.points for points in known),
                empty=empty,
            )
        )
    return sorted(found, key=lambda one: 2.0 if one.share is None else one.share)


def alike_of(found: tuple[Pair, ...]) -> list[Alike]:
    """Return pairs of students, those alike in most questions first."""
    by_students: dict[tuple[str, str], list[Pair]] = {}
    for pair in found:
        by_students.setdefault((pair.a, pair.b), []).append(pair)
    together = [
        Alike(a=a, b=b, pairs=tuple(sorted(group, key=lambda pair: pair.question)))
        for (a, b), group in by_students.items()
    ]
    return sorted(together, key=lambda one: -sum(pair.share for pair in one.pairs))


def _with_seal(course: Course, seal: str) -> list[Record]:
    return [record for record in course.records if record.seal == seal]
