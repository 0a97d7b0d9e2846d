"""Grade an answer that is a test: can it tell right implementations from wrong ones?

The student's function runs in one worker and the implementation in another; the grader
passes questions on. A test sees what an implementation gives out, and nothing that
lies behind it; since its own worker is new each time, it cannot count or compare what
it has seen. The order is the course's secret too, and the generator is the same for
all: else its numbers would say which one is being tried. Each is tried with several
seeds, since a test may be right by luck.
"""

import ast
from typing import Self

from unrolled.grading.engine.loading import (
    PATIENCE,
    WORKER_SEED,
    Unloadable,
    forbidden,
    patience,
    ready,
    seed_of,
    spawned,
    trial_seeds,
)
from unrolled.grading.engine.outcomes import WORDS, Outcome, Status, kind_of, of_test
from unrolled.grading.exercise import Exercise, Question, Specimen
from unrolled.grading.forbid import ForbiddenName
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.link import Link
from unrolled.grading.sandbox.process import WorkerLost

_ACCEPTED = "accepted"


def grade_test_question(
    exercise: Exercise, question: Question, code: str, secret: str, sandbox: Sandbox
) -> list[Outcome]:
    """Return an outcome for each implementation, right ones first.

    A planted bug that is rejected with every seed earns its points, if every right one
    is accepted with every seed.
    """
    every = (*question.good, *question.planted)
    order = sorted(every, key=lambda one: seed_of(exercise.name, secret, one.name))
    with _Stand(exercise, sandbox) as stand:
        found = {
            one.name: _verdict(exercise, question, one, code, secret, sandbox, stand)
            for one in order
        }
    fair = all(found[one.name][0] == _ACCEPTED for one in question.good)
    known = all(found[one.name][0] != "ungraded" for one in question.good)
    good = [_of_good(one, *found[one.name]) for one in question.good]
    return good + [
        _of_planted(one, *found[one.name], fair=fair, known=known)
        for one in question.planted
    ]


def _of_good(one: Specimen, verdict: str, note: str) -> Outcome:
    if verdict == _ACCEPTED:
        return of_test(one, "passed")
    if verdict == "rejected":
        return of_test(one, "failed", f"rejects a right implementation ({note})")
    return of_test(one, _status(verdict), note)


def _of_planted(
    one: Specimen, verdict: str, note: str, *, fair: bool, known: bool
) -> Outcome:
    if verdict == "rejected" and not known:
        return of_test(one, "ungraded", WORDS["ungraded"])
    if verdict == "rejected" and not fair:
        return of_test(one, "failed", "rejects right implementations as well")
    if verdict == "rejected":
        return of_test(one, "passed")
    if verdict == _ACCEPTED:
        return of_test(one, "failed", f"does not notice: {one.note}")
    return of_test(one, _status(verdict), note)


def _status(verdict: str) -> Status:
    known: dict[str, Status] = {
        "error": "error",
        "timeout": "timeout",
        "died": "died",
        "forbidden": "forbidden",
    }
    return known.get(verdict, "ungraded")


class _Stand:
    """A worker where implementations are put up, one in place of another.

    They are the course's own, and a test reaches nothing else of that worker: so one
    is enough for all, until it is lost.
    """

    def __init__(self, exercise: Exercise, sandbox: Sandbox) -> None:
        self._exercise, self._sandbox = exercise, sandbox
        self._link: Link | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._link is not None:
            self._link.close()

    def put(self, one: Specimen) -> Link:
        """Return the line to an implementation."""
        try:
            return self._put(one)
        except (Exception, WorkerLost):
            if self._link is not None:  # the test before may have filled its memory
                self._link.close()
        try:
            return self._put(one)
        except (Exception, WorkerLost) as error:
            why = f"{one.name} of {self._exercise.name} does not run"
            raise SandboxError(f"{why}: {kind_of(error)}: {error}") from error

    def _put(self, one: Specimen) -> Link:
        if self._link is None or self._link.lost:
            self._link = spawned(self._sandbox, self._exercise)
        self._link.begin(WORKER_SEED)
        code = (self._exercise.preamble, one.source)
        self._link.ask({"op": "implement"}, code)
        self._link.begin(WORKER_SEED)
        return self._link


def _verdict(
    exercise: Exercise,
    question: Question,
    one: Specimen,
    code: str,
    secret: str,
    sandbox: Sandbox,
    stand: _Stand,
) -> tuple[str, str]:
    """Return what the student's test says of one implementation, and words on it."""
    tester: Link | None = None
    try:
        tester = ready(sandbox, exercise, question, code)
        tester.begin(WORKER_SEED)  # one clock for all trials
        with patience(PATIENCE * tester.limits.cpu):
            for seed in trial_seeds(exercise.name, secret, question.id):
                tester.other = stand.put(one)
                kind = _rejection(tester, _function_name(question), seed)
                if bool(kind) != (one in question.planted):
                    break  # wrong once is wrong
    except Unloadable as unloadable:
        return unloadable.status, unloadable.note
    except SandboxError as error:
        return "ungraded", f"{WORDS['ungraded']} ({error})"
    except WorkerLost as lost:
        return lost.status, WORDS[lost.status]
    except ForbiddenName:
        return "forbidden", forbidden(question).note
    finally:
        if tester is not None:
            tester.close()
    return ("rejected", kind) if kind else (_ACCEPTED, "")


def _rejection(tester: Link, name: str, seed: int) -> str:
    """Return the kind of error by which a student's test rejects, "" if it accepts."""
    try:
        tester.ask({"op": "trial"}, (name, seed))
    except ForbiddenName:
        raise
    except Exception as error:
        return kind_of(error)
    return ""


def _function_name(question: Question) -> str:
    """Return the name of the test that the student was asked to write."""
    return next(
        node.name
        for node in ast.parse(question.solution).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )
