"""What a class got wrong: hidden tests by how many fell for what they catch."""

from collections import Counter
from dataclasses import dataclass

from unrolled.grading.course.records import Course, Record
from unrolled.grading.engine.outcomes import Outcome
from unrolled.grading.exercise import Question, Specimen, Test

#: What keeps an answer from its tests, by the start of an outcome's note or its status.
STOPS = {
    "does not run": "the answer does not run",
    "uses what is forbidden": "forbidden",
    "computes for too long": "timeout",
    "ends its process": "died",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Misconception:
    """What a hidden test catches, and how many it caught."""

    question: Question
    n: int
    test: str
    note: str
    caught: int
    asked: int  # answers that the test could judge

    @property
    def share(self) -> float:
        """Return the part of those answers that it caught."""
        return self.caught / self.asked if self.asked else 0.0


def misconceptions_of(course: Course) -> list[Misconception]:
    """Return what hidden tests and planted bugs caught, the most common first.

    An answer that is empty, does not run or is stopped fails a test without having
    fallen for what it catches: it does not count.
    """
    found = []
    for n, question in enumerate(course.exercise.questions.values(), start=1):
        judges: list[Test | Specimen] = [*question.hidden, *question.planted]
        for judge in judges:
            verdicts = [_verdict(record, judge) for record in course.records]
            found.append(
                Misconception(
                    question=question,
                    n=n,
                    test=judge.name,
                    note=judge.note,
                    caught=verdicts.count(True),
                    asked=sum(one is not None for one in verdicts),
                )
            )
    return sorted(found, key=lambda one: (-one.caught, -one.share))


def _verdict(record: Record, judge: Test | Specimen) -> bool | None:
    """Return whether an answer fell for what a test catches; None: it cannot tell."""
    if not record.answers.get(judge.question, "").strip():
        return None
    for outcome in record.outcomes:
        if (outcome.question, outcome.test) == (judge.question, judge.name):
            if outcome.status == "passed":
                return False
            return True if _caught(outcome, judge) else None
    return None


def _caught(outcome: Outcome, judge: Test | Specimen) -> bool:
    return outcome.status in ("failed", "error") and judge.note in outcome.note


def stops_of(course: Course) -> list[tuple[int, Question, list[tuple[str, int]]]]:
    """Return for each question in code how many answers did not get to be judged."""
    found = []
    for n, question in enumerate(course.exercise.questions.values(), start=1):
        counts: Counter[str] = Counter()
        for record in course.records:
            own = [one for one in record.outcomes if one.question == question.id]
            counts.update(
                word
                for word, sign in STOPS.items()
                if any(sign in (one.status, one.note.partition(":")[0]) for one in own)
            )
        if counts:
            found.append((n, question, [(word, counts[word]) for word in STOPS]))
    return found
