"""Grade one submission: tests and marks here, the student's code in a sandbox.

Each answer is graded alone, in a worker of its own, so that no answer can spoil
another; a worker that dies or is stopped costs the test that ran, and a new one goes
on. An answer that does not even load costs its question. Tests run here, on plain
values; generators are seeded from the exercise, the course's secret and the test, so
that no answer can know its inputs, and every run gives the same mark.
"""

from collections.abc import Mapping, Sequence

import torch

from unrolled.grading.engine.loading import (
    PATIENCE,
    WORKER_SEED,
    Unloadable,
    forbidden,
    function_of,
    generator_of,
    patience,
    ready,
    seed_of,
)
from unrolled.grading.engine.outcomes import WORDS, Graded, Outcome, of_error, of_test
from unrolled.grading.engine.specimens import grade_test_question
from unrolled.grading.exercise import Exercise, Question, Test
from unrolled.grading.forbid import ForbiddenName
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.link import Link
from unrolled.grading.sandbox.process import WorkerLost
from unrolled.grading.sandbox.proxy import namespace

_EMPTY = "not answered"


def grade_answers(
    exercise: Exercise,
    answers: Mapping[str, str],
    *,
    secret: str,
    sandbox: Sandbox,
    extra_tests: Sequence[Test] = (),
) -> Graded:
    """Return the outcome of every test of an exercise on one student's answers.

    Args:
        exercise: The exercise.
        answers: The code that answers each question, by the question's id.
        secret: The course's secret, from which inputs are drawn.
        sandbox: Where answers run.
        extra_tests: Tests of this course only, each with the question it belongs to.
    """
    asked = {question.id for question in exercise.coded()}
    if unknown := {test.question for test in extra_tests} - asked:
        raise ValueError(
            f"extra_tests are for {', '.join(sorted(unknown))}, and {exercise.name} "
            f"asks for code in {', '.join(sorted(asked))}"
        )
    outcomes: list[Outcome] = []
    for question in exercise.coded():
        code = answers.get(question.id, "")
        extra = tuple(test for test in extra_tests if test.question == question.id)
        tests = (*question.visible, *question.hidden, *extra)
        if not code.strip():
            specimens = (*question.good, *question.planted)
            outcomes += [of_test(one, "failed", _EMPTY) for one in specimens]
            outcomes += [of_test(test, "failed", _EMPTY) for test in tests]
            continue
        if question.kind == "test":
            outcomes += grade_test_question(exercise, question, code, secret, sandbox)
        outcomes += _grade_tests(exercise, question, tests, code, secret, sandbox)
    return Graded(outcomes=tuple(outcomes), tier=sandbox.tier)


def _grade_tests(
    exercise: Exercise,
    question: Question,
    tests: tuple[Test, ...],
    code: str,
    secret: str,
    sandbox: Sandbox,
) -> list[Outcome]:
    """Return the outcomes of the course's tests on one answer."""
    outcomes: list[Outcome] = []
    link: Link | None = None
    try:
        for test in tests:
            if link is None or link.lost:
                if link is not None:
                    link.close()
                link = ready(sandbox, exercise, question, code)
            outcomes.append(_run(exercise, question, test, link, secret))
    except SandboxError as error:
        note = f"{WORDS['ungraded']} ({error})"
        rest = tests[len(outcomes) :]
        outcomes += [of_test(test, "ungraded", note) for test in rest]
    except Unloadable as unloadable:
        outcomes += [unloadable.outcome(test) for test in tests[len(outcomes) :]]
    finally:
        if link is not None:
            link.close()
    return outcomes


def _run(
    exercise: Exercise, question: Question, test: Test, link: Link, secret: str
) -> Outcome:
    """Run one test on an answer that is loaded."""
    function = function_of(exercise.preamble, test.source, test.name)
    rng = generator_of(exercise.name, secret, test.name)
    seed = seed_of(exercise.name, secret, f"torch {test.name}")
    torch.default_generator.manual_seed(seed)  # the CPU's, and quickly
    try:
        with patience(PATIENCE * link.limits.cpu):
            link.begin(WORKER_SEED)
            function(namespace(link), rng)
    except ForbiddenName:
        return forbidden(question).outcome(test)
    except WorkerLost as lost:
        link.close()  # it may still be in the middle of something
        return of_error(test, lost)
    except Exception as error:
        if isinstance(error, MemoryError):
            link.close()  # it may have been ours, in the middle of a reply
        return of_error(test, error)
    if link.lost:  # whatever the test made of it
        return of_error(test, WorkerLost(link.lost))
    return of_test(test, "passed")
