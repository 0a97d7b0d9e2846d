"""What ``unrolled grade`` does, and what it says. All that needs torch is here."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import typer
from tqdm.auto import tqdm

from unrolled.cli.grade_selftest import UNGRADED
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course.graders import Job
from unrolled.grading.course.grading import grade_pile, share
from unrolled.grading.course.outputs import kept_marks, read_outputs, write_outputs
from unrolled.grading.course.pile import read_pile
from unrolled.grading.course.records import Course, Record, order_of
from unrolled.grading.course.results import check_out
from unrolled.grading.course.scores import status_of
from unrolled.grading.course.secrets import (
    course_secret,
    private_tests,
    secret_file,
    with_private,
)
from unrolled.grading.exercise import Exercise
from unrolled.grading.notebooks.ticks import printable
from unrolled.grading.sandbox.house import SandboxError
from unrolled.grading.sandbox.rooms import TIERS


def _say(text: str, *, err: bool = False) -> None:
    typer.echo(printable(text), err=err)


def _source(path: Path) -> Exercise:
    if path.suffix != ".md":
        raise ValueError(
            f"{path} is a student's edition: grading needs the source {path.stem}.md, "
            "which has the tests"
        )
    return read_exercise(path)


def grade_class(
    path: Path,
    submissions: Path,
    out: Path,
    *,
    jobs: int,
    shard: tuple[int, int] | None,
    resume: bool,
    private: Path | None,
    secret: Path | None,
    marks: Path | None,
    trusted: bool,
) -> int:
    """Grade a class, or a share of it, write what comes of it; return the exit code."""
    exercise = _source(path)
    _apart(submissions, out, secret or secret_file())
    tests = private_tests(private, exercise) if private else ()
    course_exercise = with_private(exercise, tests)
    pile = read_pile(submissions, course_exercise)
    if not pile.submissions:
        for one in pile.rejected:
            _say(f"  {one.file}: {one.why}", err=True)
        raise ValueError(
            f"there is nothing of {exercise.name} to grade in {submissions}"
        )
    key, made = course_secret(file := secret or secret_file())
    check_out(out, exercise, resume=resume or shard is not None)
    if made:
        _say(f"A new secret for your course: {file}. Keep it, and give it to nobody.")
    hidden = (path, submissions, out, file, *([private] if private else []))
    job = Job(
        exercise=course_exercise,
        submissions=share(pile.submissions, *shard) if shard else pile.submissions,
        secret=key,
        out=out,
        trusted=trusted,
        hidden=hidden,
    )
    try:
        records = tuple(_watched(job, jobs))
    except SandboxError as error:
        _say(f"Nothing was graded: {error}", err=True)
        return UNGRADED
    if shard:
        n_all = len(pile.submissions)
        _say(f"Share {shard[0]} of {shard[1]}: {len(records)} of {n_all} submissions.")
        _say("When all shares are done: the same without --shard, with --resume.")
        return _faults(records)
    course = Course(
        exercise=course_exercise,
        records=records,
        rejected=pile.rejected,
        marks=kept_marks(out, records),
    )
    try:
        course = _marked(course, marks)
    finally:  # if the marks are wrong, nothing else is lost
        write_outputs(out, course, tests)
        _summary(course, out)
    return _faults(records)


def _apart(submissions: Path, out: Path, secret: Path) -> None:
    """See that results and the secret are not among what students handed in."""
    given, made = submissions.resolve(), out.resolve()
    if given == made or made.is_relative_to(given) or given.is_relative_to(made):
        raise ValueError(f"{out} and {submissions} must be apart: name another -o")
    for folder in (given, made):
        if secret.resolve().is_relative_to(folder):
            raise ValueError(f"the secret {secret} must not be in {folder}")


def _watched(job: Job, jobs: int) -> Iterator[Record]:
    """Yield the records of a job beside a bar; there is none if nobody watches."""
    with tqdm(
        total=len(job.submissions),
        desc=job.exercise.name,
        unit="submission",
        disable=None,
    ) as bar:
        for record in grade_pile(job, jobs=jobs):
            bar.update()
            yield record


def _marked(course: Course, marks: Path | None) -> Course:
    """Return the course with the marks in a file, over those that it has."""
    if marks is None:
        return course
    from unrolled.grading.course.manual import read_marks

    new = read_marks(marks, course)
    both = {
        student: {**course.marks.get(student, {}), **new.get(student, {})}
        for student in sorted({*course.marks, *new})
    }
    return replace(course, marks=both)


def _faults(records: Sequence[Record]) -> int:
    """List what the machine could not grade; return the exit code."""
    faults = [record for record in records if not record.complete]
    if faults:
        _say(f"UNGRADED by a fault of the machine, {len(faults)}:", err=True)
        for record in sorted(faults, key=lambda one: order_of(one.student)):
            notes = [one.note for one in record.outcomes if one.status == "ungraded"]
            _say(f"  {record.student}: {notes[0]}", err=True)
        _say("These are no zeros. The same again with --resume tries them.", err=True)
    return UNGRADED if faults else 0


def _summary(course: Course, out: Path) -> None:
    """Say what was graded, what was not, and where it all is."""
    n = len(course.records)
    tiers = sorted({record.tier for record in course.records})
    _say(f"{course.exercise.name}: {n} submission{'s' if n != 1 else ''} graded.")
    for tier in tiers:
        _say(f"Sandbox: tier {tier} ({TIERS[tier]}).")
    if course.rejected:
        _say(f"Not graded, {len(course.rejected)}:")
    for one in course.rejected:
        _say(f"  {one.file}: {one.why}")
    if any(not one.why.startswith("a duplicate") for one in course.rejected):
        _say("Mend what cannot be read or ask for it again, and grade with --resume:")
        _say("only what is new is run.")
    others = [record.student for record in course.records if record.other_edition]
    if others:
        _say(f"Made from another edition of the exercise: {', '.join(others)}")
    open_ = sum(status_of(course, one) == "to be marked" for one in course.records)
    if open_:
        number = course.exercise.number
        _say(f"Answers in words to be marked: {open_} students, in {out}/manual.html;")
        _say(f"then: unrolled grade report {number} {out} --marks FILE")
    _say(f"Scores: {out}/scores.csv; report: {out}/report.html; pages: {out}/feedback")


def report_again(path: Path, out: Path, marks: Path | None) -> int:
    """Merge marks and write tables and pages again; nothing of a student's runs."""
    course, private = read_outputs(out, _source(path))
    course = _marked(course, marks)
    write_outputs(out, course, private)
    _summary(course, out)
    return _faults(course.records)
