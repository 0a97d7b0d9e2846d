"""A class that answers q1 of the border exercise, and a run over it to be killed.

``python border_class.py SUBMISSIONS OUT JOBS`` grades what is missing, and says how
many it graded.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from border_exercise import SECRET, exercise
from unrolled.grading.course.graders import Job
from unrolled.grading.course.grading import grade_pile
from unrolled.grading.course.pile import read_pile
from unrolled.grading.course.records import Record
from unrolled.grading.course.results import check_out
from unrolled.grading.engine.outcomes import Outcome
from unrolled.grading.exercise import Question
from unrolled.grading.notebooks.submissions import answers_of, digest_of
from unrolled.grading.sandbox.limits import Limits

QUICK = Limits(cpu=0.5, idle=0.5, wall=60.0, memory=256 << 20)


WORDS = Question(
    id="q5", title="why", prompt="", kind="words", points=3, minutes=5, rubric="r"
)


def notebook(answers, *, of=None, seal="", digest="", name=""):
    """Return a notebook of answers, by question; sealed at a time, if one is given."""
    of = of or exercise()
    cells = [
        {
            "cell_type": "code",
            "metadata": {"unrolled": {"role": "answer", "question": id}},
            "source": code,
        }
        for id, code in answers.items()
    ]
    sheet = {"exercise": name or of.name, "digest": digest or of.digest}
    book = {"cells": cells, "metadata": {"unrolled": sheet}, "nbformat": 4}
    if seal:
        sealed = digest_of(answers_of(book, of))
        sheet["submission"] = {"exercise": of.name, "digest": sealed, "time": seal}
    return book


def hand_in(path: Path, book) -> None:
    """Write a notebook where a student would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(book), encoding="utf-8")


def outcome(test, points, status="passed", question="q1"):
    """Return what a test found; it earns its points if it passed."""
    earned = points if status == "passed" else 0
    return Outcome(
        question=question,
        test=test,
        points=points,
        earned=earned,
        status=status,
        note="a note",
    )


def record(student="anna", outcomes=(), **more):
    """Return a record of q1, and of q5 in words: 1 of 4 points, and unmarked."""
    entries = {
        "student": student,
        "file": f"{student}.ipynb",
        "exercise": "99-border",
        "digest": "d" * 64,
        "seal": "sealed",
        "submitted": "2026-11-16T12:00:00+00:00",
        "answers": {"q1": "def double(x): ...", "q5": "since"},
        "outcomes": outcomes
        or (outcome("test_two", 1), outcome("test_random", 3, "failed")),
        "tier": "A",
    }
    return Record(**entries | more)


def with_words():
    """Return an exercise of q1 and a question in words, q5, of 3 points."""
    border = exercise("q1")
    return replace(border, questions={**border.questions, "q5": WORDS})


def main(submissions: Path, out: Path, jobs: int) -> None:
    """Grade the class into a folder."""
    only = exercise("q1")
    pile = read_pile(submissions, only)
    check_out(out, only, resume=True)
    before = set((out / "results").glob("*.json"))
    job = Job(
        exercise=only,
        submissions=pile.submissions,
        secret=SECRET,
        out=out,
        limits=QUICK,
    )
    records = list(grade_pile(job, jobs=jobs))
    after = set((out / "results").glob("*.json"))
    print(json.dumps([len(records), len(after - before)]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
