"""What an exercise is: its questions, tests and wrong answers, as plain values.

A question of kind ``function`` or ``module`` is graded by tests ``test_x(S, rng)``:
``S`` holds what the answer defines, ``rng`` is a seeded numpy generator. Its points are
the sum of its tests' points.

A question of kind ``test`` asks for a test: its answer defines one function
``test_x(S, rng)``, the same form as ours. It has no tests of its own but *specimens*:
cells tagged ``good`` are right implementations, cells tagged ``planted`` hold one bug
each. For each specimen the given code and the specimen run in a fresh namespace ``S``
and the student's function is called with it; returning accepts the specimen, raising
any exception rejects it. That is done several times, with another seed each time; what
counts is a verdict that is right every time. A planted specimen has points (its option
``points``, else 1), and the points of the question are their sum. They are earned for
each planted specimen that is rejected, and only if *every* good one is accepted: a test
that rejects all things is worth nothing. Where a mutant (a poor test) names what it
``fails``, it names planted specimens.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["function", "module", "test", "words"]

#: How many seeds a student's test is tried with, on each specimen.
TRIALS = 8
#: What stands in a scaffold where the answer belongs.
YOUR_TURN = 'raise NotImplementedError("your turn")'
#: What the docstring of a test says, its blanks made single.
NOTE = re.compile(r"points:\s*(?P<points>\S+)\s*\|\s*(?P<key>\w+):\s*(?P<note>.+)")


class ExerciseError(ValueError):
    """A source is malformed: ``file:line: what, and what would be right``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A piece of the source; ``line`` is where its text starts in the file."""

    role: str  # prose, rubric, or the tag of a code cell
    source: str
    line: int
    question: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """A test of the course's; ``source`` has the helpers of its cell too.

    Line n of ``source`` is line ``line + n - 1`` of the file.
    """

    __test__ = False  # no matter to pytest

    name: str
    question: str
    points: int
    note: str  # visible: the hint; hidden: the misconception it catches
    source: str
    visible: bool
    line: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Specimen:
    """An implementation that a student's test must accept, or reject."""

    name: str
    question: str
    points: int  # of a planted bug; a good one has none
    note: str  # what is wrong with it; of a good one, nothing
    source: str
    visible: bool
    line: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """A plausible wrong answer, and the hidden tests that must reject it."""

    question: str
    source: str
    fails: tuple[str, ...]
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question; ``points`` are computed, except those of words."""

    id: str
    title: str
    prompt: str
    kind: Kind
    points: int
    minutes: int
    forbid: tuple[str, ...] = ()
    scaffold: str = ""
    solution: str = ""
    visible: tuple[Test, ...] = ()
    hidden: tuple[Test, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    alternatives: tuple[str, ...] = ()
    rubric: str | None = None
    good: tuple[Specimen, ...] = ()
    planted: tuple[Specimen, ...] = ()

    @property
    def judges(self) -> list[Test | Specimen]:
        """Return all that an answer meets: tests, or specimens of a kind ``test``."""
        return [*self.visible, *self.hidden, *self.good, *self.planted]

    @property
    def shown_points(self) -> int:
        """Return the points that a student can check alone."""
        return sum(one.points for one in self.judges if one.visible)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exercise:
    """An exercise, as its source says it or as a student may see it."""

    number: str
    name: str
    title: str
    preamble: str
    questions: dict[str, Question]
    digest: str
    cells: tuple[Cell, ...] = ()

    @property
    def points(self) -> int:
        """Return the points of all questions."""
        return sum(question.points for question in self.questions.values())

    def coded(self) -> Iterator[Question]:
        """Yield the questions that are not answered in words."""
        yield from (q for q in self.questions.values() if q.kind != "words")
