"""What became of each test, and the words that a student reads about it.

On a hidden test these are the misconception and the *type* of an exception, one that
Python itself has: a text, or the name of a class of the student's, could carry the
hidden input out.
"""

import builtins
from dataclasses import dataclass
from typing import Literal

from unrolled.grading.exercise import Specimen, Test
from unrolled.grading.sandbox.process import WorkerLost

Status = Literal[
    "passed", "failed", "error", "timeout", "died", "forbidden", "ungraded"
]
WORDS = {
    "timeout": "stopped: it computed, or waited, for too long",
    "died": "its process came to an end: an exit, a crash, or no memory left",
    "error": "its reply was no value that a test could read",
    "ungraded": "could not be graded: ask for it to be run again",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one test found; ``ungraded`` is no fault of the student's, and no zero."""

    question: str
    test: str
    points: int
    earned: int
    status: Status
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Graded:
    """The outcomes of one submission, in the order of the exercise."""

    outcomes: tuple[Outcome, ...]
    tier: str

    @property
    def earned(self) -> int:
        """Return the points of all tests that passed."""
        return sum(outcome.earned for outcome in self.outcomes)

    @property
    def complete(self) -> bool:
        """Return whether every test could be run."""
        return all(outcome.status != "ungraded" for outcome in self.outcomes)


def kind_of(error: BaseException) -> str:
    """Return the name of an exception's type, if it is one of Python's own."""
    for kind in type(error).__mro__:
        if getattr(builtins, kind.__name__, None) is kind:
            return kind.__name__
    return "Exception"


def of_test(test: Test | Specimen, status: Status, note: str = "") -> Outcome:
    """Return an outcome; a test that passed earns its points."""
    return Outcome(
        question=test.question,
        test=test.name,
        points=test.points,
        earned=test.points if status == "passed" else 0,
        status=status,
        note=note,
    )


def _readable(text: str) -> str:
    """Return a text of the student's on one line, without what steers a terminal."""
    line = " ".join(text.split())[:200]
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def of_error(test: Test, error: BaseException) -> Outcome:
    """Return the outcome of a test that was not passed, with words for the student."""
    if isinstance(error, WorkerLost):
        return of_test(test, error.status, WORDS[error.status])
    text = _readable(f"{error}") if test.visible else ""
    if isinstance(error, AssertionError):
        note = f"{text}: {test.note}" if text else test.note
        return of_test(test, "failed", note)
    said = f"{kind_of(error)}: {text}" if text else kind_of(error)
    return of_test(test, "error", f"{test.note} ({said})" if test.note else said)
