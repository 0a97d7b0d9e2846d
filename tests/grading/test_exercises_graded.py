"""Every exercise of the book, graded as a class is: right answers earn all there is.

``test_exercises`` shows with code in this process that tests are fair. Between a test
and an answer in the sandbox lies a wire, which carries copies and not every type: so
the same right answers are put through it here, for several courses' secrets.
"""

from pathlib import Path

import pytest

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.sandbox.breaches import choose_sandbox

SOURCES = sorted((Path(__file__).parents[2] / "exercises").glob("[0-9]*.md"))
SECRETS = ("a course", "another", "a third")


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox() as chosen:
        yield chosen


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem[:2])
def test_right_answers_earn_everything_in_the_sandbox(sandbox, source):
    exercise = read_exercise(source)
    questions = list(exercise.coded())
    sheets = [{one.id: one.solution for one in questions}]
    for i in range(max(len(one.alternatives) for one in questions)):
        sheets.append(
            {one.id: one.alternatives[i] for one in questions if one.alternatives[i:]}
        )
    for answers in sheets:
        for secret in SECRETS:
            graded = grade_answers(exercise, answers, secret=secret, sandbox=sandbox)
            lost = [
                f"{outcome.test}: {outcome.status}, {outcome.note}"
                for outcome in graded.outcomes
                if outcome.question in answers and outcome.status != "passed"
            ]
            assert lost == [], f"secret {secret!r}"
