"""One file for each graded submission, from which an interrupted run goes on.

A result stands for the submission it was made from, and for what it was graded by: its
key is a hash of the answers, the exercise and its tests, the secret, and the versions
that computed it. Where a key differs, the submission is graded again. What could not be
graded is not stored, so the next run tries it again.
"""

import hashlib
import json
import platform
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import unrolled
from unrolled import grading
from unrolled.grading.course.names import unique_name
from unrolled.grading.course.pile import Submission
from unrolled.grading.course.records import Record
from unrolled.grading.engine.outcomes import Outcome
from unrolled.grading.exercise import Exercise
from unrolled.grading.files import write_whole
from unrolled.grading.sandbox.limits import Limits

FOLDER = "results"
SUMMARY = "results.json"


def environment() -> dict[str, str]:
    """Return the versions that a mark depends on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "unrolled": unrolled.__version__,
        "grader": _source_digest(),
    }


@cache
def _source_digest() -> str:
    """Return the digest of the code that grades: a mended grader grades again."""
    digest, root = hashlib.sha256(), Path(grading.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def ground_of(exercise: Exercise, secret: str, limits: Limits) -> str:
    """Return the hash of all that a mark depends on but the answers."""
    tests = [
        [question.id, question.kind, question.forbid, question.solution]
        + [[one.name, one.points, one.note, one.source] for one in question.judges]
        for question in exercise.coded()
    ]
    hidden = hashlib.sha256(secret.encode()).hexdigest()
    every: list[Any] = [exercise.name, exercise.digest, exercise.preamble, tests]
    every += [hidden, asdict(limits), environment()]
    return hashlib.sha256(json.dumps(every).encode()).hexdigest()


def key_of(submission: Submission, ground: str) -> str:
    """Return the key of a submission's result."""
    return hashlib.sha256(f"{ground} {submission.digest}".encode()).hexdigest()


def record_of(
    submission: Submission, exercise: Exercise, outcomes: tuple[Outcome, ...], tier: str
) -> Record:
    """Return the record of a submission that was graded."""
    return Record(
        student=submission.student,
        file=submission.file,
        exercise=exercise.name,
        digest=submission.digest,
        seal=submission.seal,
        submitted=submission.submitted,
        answers=submission.answers,
        outcomes=outcomes,
        tier=tier,
        other_edition=submission.other_edition,
    )


def write_result(out: Path, key: str, record: Record) -> None:
    """Store a record, if it is complete: whole, or not at all."""
    if record.complete:
        path = out / FOLDER / f"{unique_name(record.student)}.json"
        plain = {"key": key, "record": record.plain()}
        write_whole(path, json.dumps(plain, indent=1) + "\n")


def read_result(out: Path, key: str, submission: Submission) -> Record | None:
    """Return the stored record of a submission; None if it has to be graded."""
    path = out / FOLDER / f"{unique_name(submission.student)}.json"
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["key"] != key:
            return None
        record = Record.of_plain(plain["record"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, cut off, or something else: it is made again
    if not record.complete:
        return None
    return replace(  # a file may have been moved, or handed in again, since
        record,
        student=submission.student,
        file=submission.file,
        seal=submission.seal,
        submitted=submission.submitted,
        answers=submission.answers,
        other_edition=submission.other_edition,
    )


def check_out(out: Path, exercise: Exercise, *, resume: bool) -> None:
    """See that a folder may be written into, and make it.

    Raises:
        ValueError: It holds other things, or results of another exercise.
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: name a folder for the results")
    there = sorted(path.name for path in out.iterdir()) if out.exists() else []
    if there == [FOLDER] and not any((out / FOLDER).iterdir()):
        there = []  # a run that came to nothing
    if there and not resume:
        raise ValueError(
            f"{out} is not empty: name a new folder, or add --resume to go on with "
            "what is graded there"
        )
    if there and FOLDER not in there and SUMMARY not in there:
        raise ValueError(f"{out} holds no results of a grading: name a folder that has")
    for name in {_exercise_of(path) for path in _stored(out)} - {None, exercise.name}:
        raise ValueError(
            f"{out} holds results of {name}, not of {exercise.name}: name another "
            "folder"
        )
    (out / FOLDER).mkdir(parents=True, exist_ok=True)


def _stored(out: Path) -> list[Path]:
    return [out / SUMMARY, *sorted((out / FOLDER).glob("*.json"))]


def _exercise_of(path: Path) -> str | None:
    """Return the exercise that a stored result says it is of, if it says so."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        name = plain.get("record", plain)["exercise"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return name if isinstance(name, str) else None
