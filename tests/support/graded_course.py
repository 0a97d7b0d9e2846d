"""A small graded class: five questions, one in words, and outcomes to order."""

from dataclasses import replace

from border_exercise import SECRET, SOLUTIONS, exercise
from unrolled.grading.course.records import Course, Record
from unrolled.grading.engine.outcomes import WORDS, Outcome, of_test
from unrolled.grading.exercise import Exercise, Question

__all__ = ["HOSTILE", "SECRET", "course_of", "record_of", "the_exercise"]

RUBRIC = "**Two each.** 2: says $x_1$ and `why`. 0: says <nothing> & more."

#: Texts that would break a page which trusts them.
HOSTILE = {
    "script": "<script>document.title='owned'</script>",
    "attribute": "\" onfocus=alert(1) autofocus x='",
    "closing": "</textarea></pre></style></title><img src=x onerror=alert(1)>",
    "entity": "&lt;b&gt; &amp; ]]> --> {{ 7 * 7 }} {% raw %}",
    "long": "x" * 10_000,
    "rtl": "שלום \u202e cba \u2066 مرحبا",
    "control": "a\x00b\x1b[31mc\x7f\x85\r\u2028d\ud800e\ufffe",
    "formula": "=cmd|' /C calc'!A0",
}


def the_exercise() -> Exercise:
    """Return four questions in code and, the fifth, one in words."""
    whole = exercise("q1", "q2", "q3", "q4")
    words = Question(
        id="q5",
        title="say why",
        prompt="Say why, in <two> sentences.",
        kind="words",
        points=4,
        minutes=5,
        rubric=RUBRIC,
    )
    return replace(whole, questions={**whole.questions, "q5": words})


def outcomes_of(
    answers: dict[str, str], fails: tuple[str, ...] = (), ungraded: tuple[str, ...] = ()
) -> tuple[Outcome, ...]:
    """Return what tests found: ``fails`` and ``ungraded`` name those not passed."""
    found = []
    for question in the_exercise().coded():
        for judge in question.judges:
            if not answers[question.id]:
                found.append(of_test(judge, "failed", "not answered"))
            elif judge.name in ungraded:
                note = f"{WORDS['ungraded']} (/srv/grader/room: full)"
                found.append(of_test(judge, "ungraded", note))
            elif judge in question.planted and judge.name in fails:
                found.append(of_test(judge, "failed", f"does not notice: {judge.note}"))
            elif judge.name in fails:
                found.append(of_test(judge, "failed", judge.note))
            else:
                found.append(of_test(judge, "passed"))
    return tuple(found)


def record_of(
    student: str,
    *,
    words: str = "Because.",
    empty: tuple[str, ...] = (),
    fails: tuple[str, ...] = (),
    ungraded: tuple[str, ...] = (),
    **more,
) -> Record:
    """Return a student's record; the answers are right ones unless told."""
    answers = {**SOLUTIONS, "q5": words} | dict.fromkeys(empty, "")
    given = {
        "file": f"{student}.ipynb",
        "exercise": "99-border",
        "digest": "d" * 64,
        "seal": "sealed",
        "submitted": "2026-11-16T12:00:00Z",
        "answers": answers,
        "outcomes": outcomes_of(answers, fails, ungraded),
        "tier": "A",
    }
    return Record(student=student, **(given | more))


def course_of(*records: Record, **more) -> Course:
    """Return a course of these records."""
    return Course(exercise=the_exercise(), records=records, **more)
