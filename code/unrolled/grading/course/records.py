"""What is known of a class after grading: plain values, and JSON both ways.

A record is one student's graded submission. Questions in words have no outcomes: a
person gives marks for them, which a course holds beside its records. What could not be
graded at all is listed as rejected. In a course with private tests, ``exercise`` has
them among its hidden ones, so its points are those of this course.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from typing import Any, Literal, Self, get_args, get_type_hints

from unrolled.grading.engine.outcomes import Outcome, Status
from unrolled.grading.exercise import Exercise

#: ``sealed``: the answers are those that ``submit`` saw; ``changed``: they are others.
Seal = Literal["sealed", "changed", "unsealed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One graded submission.

    Args:
        student: As the file or folder is called; any text, so never a path or markup.
        file: Where it was, relative to the folder of submissions.
        exercise: The name of the exercise.
        digest: The digest of its answers.
        seal: Whether the answers are those that ``submit`` sealed.
        submitted: When it was sealed, as its own metadata say; else "".
        answers: What the student wrote, by question; "" is no answer.
        outcomes: What each test found, in the order of the exercise.
        tier: Which sandbox ran it.
        other_edition: Whether the notebook was made from another version of the
            exercise's source than the one it was graded by.
    """

    student: str
    file: str
    exercise: str
    digest: str
    seal: Seal
    submitted: str
    answers: dict[str, str]
    outcomes: tuple[Outcome, ...]
    tier: str
    other_edition: bool = False

    @property
    def earned(self) -> int:
        """Return the points that tests gave; those of words are the course's."""
        return sum(outcome.earned for outcome in self.outcomes)

    @property
    def complete(self) -> bool:
        """Return whether every test could be run; if not, this is no mark."""
        return all(outcome.status != "ungraded" for outcome in self.outcomes)

    def of_question(self, id: str) -> tuple[int, int]:
        """Return what tests gave for a question, and what they could have given."""
        found = [outcome for outcome in self.outcomes if outcome.question == id]
        return sum(one.earned for one in found), sum(one.points for one in found)

    def plain(self) -> dict[str, Any]:
        """Return the record as plain JSON."""
        return asdict(self) | {"outcomes": [asdict(one) for one in self.outcomes]}

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        """Return the record that :meth:`plain` gave.

        Raises:
            ValueError: It is something else; says what is wrong.
        """
        entries = _checked(cls, plain)
        answers, outcomes = entries["answers"], entries["outcomes"]
        if not all(isinstance(text, str) for text in answers.values()):
            raise ValueError("answers of a Record must be texts")
        _one_of("seal", entries["seal"], get_args(Seal))
        entries["outcomes"] = tuple(_outcome(one) for one in outcomes)
        return cls(**entries)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """A file that is not graded, why, and whose it is if that can be known.

    The others go on.
    """

    file: str
    why: str
    student: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """What a person gives for an answer in words, and says about it."""

    points: float
    comment: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """A graded class: what every page and table is made from.

    Args:
        exercise: The exercise, private tests among its hidden ones.
        records: One for each student, sorted by student.
        rejected: What was not graded.
        marks: What people gave for words: by student, then by question.
    """

    exercise: Exercise
    records: tuple[Record, ...]
    rejected: tuple[Rejected, ...] = ()
    marks: Mapping[str, Mapping[str, Mark]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        records = sorted(self.records, key=lambda one: order_of(one.student))
        for one, other in pairwise(records):
            if one.student == other.student:
                raise ValueError(f"two records of the student {one.student!r}")
        rejected = sorted(self.rejected, key=lambda one: (one.file, one.why))
        object.__setattr__(self, "records", tuple(records))
        object.__setattr__(self, "rejected", tuple(rejected))

    def without_record(self) -> list[Rejected]:
        """Return, of each student of whom nothing could be graded, one file."""
        known = {record.student for record in self.records} | {""}
        found: dict[str, Rejected] = {}
        for one in self.rejected:
            if one.student not in known:
                found.setdefault(one.student, one)
        return list(found.values())

    def points_of(self, record: Record, id: str) -> float | None:
        """Return a student's points for a question; None while nobody knows them.

        Words that were never written need nobody to read them: they are 0.
        """
        if self.exercise.questions[id].kind == "words":
            mark = self.marks.get(record.student, {}).get(id)
            if mark is not None:
                return mark.points
            return None if record.answers.get(id, "").strip() else 0.0
        found = [one for one in record.outcomes if one.question == id]
        if any(one.status == "ungraded" for one in found):
            return None
        return float(sum(one.earned for one in found))

    def total(self, record: Record) -> float | None:
        """Return a student's points; None while some are not known."""
        known = [self.points_of(record, id) for id in self.exercise.questions]
        given = [points for points in known if points is not None]
        return sum(given) if len(given) == len(known) else None

    def so_far(self, record: Record) -> float:
        """Return a student's points, counting only those that are known."""
        known = (self.points_of(record, id) for id in self.exercise.questions)
        return sum(points for points in known if points is not None)


def order_of(student: str) -> tuple[str, str]:
    """Return the key by which students are sorted, the same everywhere."""
    return student.casefold(), student


def _outcome(plain: Any) -> Outcome:
    entries = _checked(Outcome, plain)
    _one_of("status", entries["status"], get_args(Status))
    return Outcome(**entries)


def _one_of(name: str, value: str, there: tuple[str, ...]) -> None:
    if value not in there:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(there)}")


_PLAIN = {str: str, int: int, bool: bool, dict[str, str]: dict}


def _checked(kind: type[Any], plain: Any) -> dict[str, Any]:
    """Return the entries of a plain value: those of a dataclass, of its types."""
    names = [one.name for one in fields(kind)]
    if not isinstance(plain, dict) or plain.keys() != set(names):
        raise ValueError(f"a {kind.__name__} has {', '.join(names)}, and this has not")
    hints = get_type_hints(kind)
    for name in names:
        wanted = list if name == "outcomes" else _PLAIN.get(hints[name], str)
        if type(plain[name]) is not wanted:
            raise ValueError(
                f"{name} of a {kind.__name__} must be a {wanted.__name__}, not "
                f"{type(plain[name]).__name__}"
            )
    return dict(plain)
