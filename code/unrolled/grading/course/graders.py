"""A grader: a process with a sandbox of its own that grades what it is given.

It hears the number of a submission and says its record, as JSON over a line to the run
that started it. It stores each record itself, before it says so.
"""

import contextlib
import json
import signal
import sys
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from unrolled.grading.course.pile import Submission
from unrolled.grading.course.records import Record
from unrolled.grading.course.results import record_of, write_result
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.engine.outcomes import WORDS, kind_of, of_test
from unrolled.grading.exercise import Exercise, Specimen, Test
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.limits import Limits


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What all graders of a run know.

    Args:
        exercise: The exercise, private tests among its hidden ones.
        submissions: What is to be graded, in the order of students.
        secret: The course's secret.
        out: Where results go.
        limits: What each answer may use.
        trusted: Whether a sandbox that isolates nothing may be used.
        hidden: Files that no answer may read.
    """

    exercise: Exercise
    submissions: tuple[Submission, ...]
    secret: str
    out: Path
    limits: Limits = field(default_factory=Limits)
    trusted: bool = False
    hidden: tuple[Path, ...] = ()


def ungraded(job: Job, index: int, tier: str, why: str) -> Record:
    """Return the record of a submission that nobody could grade."""
    note = f"{WORDS['ungraded']} ({why})"
    outcomes = tuple(of_test(one, "ungraded", note) for one in _judges(job.exercise))
    return record_of(job.submissions[index], job.exercise, outcomes, tier)


def longest(job: Job) -> float:
    """Return the seconds after which a grader hangs in code of our own.

    No answer can take as long: its CPU seconds and its idle ones are counted, and are
    far fewer than those of the backstop, of which there is one for each test here.
    """
    return job.limits.wall * (1 + len(_judges(job.exercise)))


def _judges(exercise: Exercise) -> list[Test | Specimen]:
    """Return all that gives an outcome, in the order of the exercise."""
    judges: list[Test | Specimen] = []
    for question in exercise.coded():
        judges += [*question.good, *question.planted]
        judges += [*question.visible, *question.hidden]
    return judges


def serve(
    job: Job, keys: list[str], tier: str, line: Connection, ours: list[Connection]
) -> None:
    """Be a grader: grade what is asked for, until the line is closed."""
    for end in ours:  # else a run that was killed would seem to be there still
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run is told, and ends us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    torch.set_num_threads(1)
    try:
        with _sandbox(job, tier) as sandbox:
            if not tier:
                line.send_bytes(json.dumps({"tier": sandbox.tier}).encode())
            with contextlib.suppress(EOFError):
                while True:
                    i = json.loads(line.recv_bytes())
                    record = _record(job, i, sandbox)
                    write_result(job.out, keys[i], record)
                    line.send_bytes(json.dumps(record.plain()).encode())
    except SandboxError as error:
        line.send_bytes(json.dumps({"refused": f"{error}"}).encode())
    except BrokenPipeError:  # the run is gone; what is graded is stored
        pass


def _sandbox(job: Job, tier: str) -> Sandbox:
    """Return a sandbox of a tier, or of the best one that holds here."""
    known: dict[str, Any] = {"limits": job.limits, "trusted": job.trusted}
    if tier:
        return Sandbox(tier, **known, hidden=job.hidden)
    return choose_sandbox(**known, hidden=job.hidden)


def _record(job: Job, index: int, sandbox: Sandbox) -> Record:
    submission = job.submissions[index]
    try:
        graded = grade_answers(
            job.exercise, submission.answers, secret=job.secret, sandbox=sandbox
        )
    except Exception as error:  # a fault of ours is nobody's zero
        return ungraded(job, index, sandbox.tier, kind_of(error))
    return record_of(submission, job.exercise, graded.outcomes, graded.tier)
