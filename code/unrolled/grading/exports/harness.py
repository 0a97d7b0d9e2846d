"""Grade one submission where Gradescope keeps it: ``python -m … /autograder``.

``source/exercise`` has the exercise and the secret, ``submission`` what the student
handed in; ``results/results.json`` is what Gradescope reads. A submission that cannot
be read gets no points and words that say why. A machine on which no sandbox holds, or
that fails in the middle, gives no results at all but an exit code, which Gradescope
shows as a failed autograder: nobody gets a zero for it.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from unrolled.grading.apart import GaveUpError, apart
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course.secrets import private_tests, with_private
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.engine.outcomes import Graded, Outcome
from unrolled.grading.exercise import Exercise
from unrolled.grading.files import write_whole
from unrolled.grading.notebooks.sheets import NotebookError
from unrolled.grading.notebooks.submissions import (
    answers_of,
    exercise_name,
    read_notebook,
    submission_of,
)
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.house import SandboxError

_LATER = "after_published"  # of hidden tests: a student could try until they pass


def main(root: Path, tiers: str = "ABC") -> None:
    """Write the results of the submission below ``root``.

    Raises:
        SandboxError: The machine is at fault; there are no results.
    """
    results = root / "results" / "results.json"
    results.unlink(missing_ok=True)  # an old one would pass for ours
    home = root / "source" / "exercise"
    _close(home, root / "submission_metadata.json")
    (source,) = home.glob("[0-9][0-9]-*.md")
    exercise = read_exercise(source)
    if (private := home / "private").is_dir():
        exercise = with_private(exercise, private_tests(private, exercise))
    secret = (home / "secret").read_text(encoding="utf-8")
    try:
        answers = _submitted(root / "submission", exercise)
    except NotebookError as error:
        told: dict[str, Any] = {"score": 0, "output": _printable(str(error))}
    else:
        with choose_sandbox(hidden=(home,), tiers=tiers) as sandbox:
            graded = grade_answers(exercise, answers, secret=secret, sandbox=sandbox)
        if not graded.complete:
            why = next(o.note for o in graded.outcomes if o.status == "ungraded")
            raise SandboxError(why)
        told = results_of(exercise, graded, answers)
    results.parent.mkdir(exist_ok=True)
    write_whole(results, json.dumps(told, indent=1) + "\n")


def _close(*paths: Path) -> None:
    """Let nobody but the owner read what no answer may see."""
    for path in paths:
        for one in (path, *path.rglob("*")) if path.exists() else ():
            one.chmod(0o700 if one.is_dir() else 0o600)


def _submitted(folder: Path, exercise: Exercise) -> dict[str, str]:
    """Return the answers in the one notebook of this exercise.

    Of several, the one from ``submit`` counts.

    Raises:
        NotebookError: There is none, or several; says so in a student's words.
    """
    number = exercise.number
    how = f"hand in the one file that submit() wrote, {exercise.name}.submission.ipynb"
    found, wrong = [], []
    files = [path for path in sorted(folder.rglob("*")) if path.suffix == ".ipynb"]
    for path in files:
        try:
            one = apart(partial(_found, path, exercise))
        except GaveUpError as error:
            wrong.append(f"{path.name} cannot be read: {error}")
            continue
        if "why" in one:
            wrong.append(f"{path.name} {one['why']}")
        else:
            found.append(one)
    sealed = [one for one in found if one["sealed"]]
    for chosen in (sealed, found):
        if len(chosen) == 1:
            answers: dict[str, str] = chosen[0]["answers"]
            return answers
        if chosen:
            raise NotebookError(
                f"{len(chosen)} notebooks of exercise {number} were handed in, and "
                f"nobody can tell which one counts: {how}."
            )
    said = "; ".join(wrong) or "no notebook was handed in"
    raise NotebookError(f"Nothing to grade: {said}. Please {how}.")


def _found(path: Path, exercise: Exercise) -> dict[str, Any]:
    """Return what a notebook answers, as plain JSON, or why it is none of ours."""
    try:
        notebook = read_notebook(path)
    except (NotebookError, OSError):
        return {"why": "cannot be read as a notebook"}
    if (name := exercise_name(notebook)) not in (exercise.name, None):
        return {"why": f"is of another exercise, {name}"}
    sealed = submission_of(notebook) is not None
    return {"sealed": sealed, "answers": answers_of(notebook, exercise)}


def results_of(
    exercise: Exercise, graded: Graded, answers: dict[str, str]
) -> dict[str, Any]:
    """Return the results in Gradescope's format.

    Of hidden tests only what they catch is told, and not their names.
    """
    shown = {one.name for q in exercise.coded() for one in q.judges if one.visible}
    counts: dict[str, int] = {}
    tests = []
    for outcome in graded.outcomes:
        if visible := outcome.test in shown:
            label = outcome.test.removeprefix("test_").replace("_", " ")
        else:
            counts[outcome.question] = counts.get(outcome.question, 0) + 1
            label = f"hidden test {counts[outcome.question]}"
        tests.append(_entry(outcome, label, visible=visible))
    worth = sum(question.points for question in exercise.coded())
    lines = [f"{exercise.title}: {graded.earned} of {worth} points by tests."]
    if empty := [id for id, answer in answers.items() if not answer]:
        lines.append(f"Not answered: {', '.join(empty)}.")
    for question in exercise.questions.values():
        if question.kind == "words":
            lines.append(
                f"{question.id} ({question.points} points) is read by a person."
            )
    return {
        "score": graded.earned,
        "output": "\n".join(lines),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"tier": graded.tier, "exercise": exercise.digest},
    }


def _entry(outcome: Outcome, label: str, *, visible: bool) -> dict[str, Any]:
    return {
        "name": f"{outcome.question}: {label}",
        "score": outcome.earned,
        "max_score": outcome.points,
        "status": "passed" if outcome.status == "passed" else "failed",
        "output": _printable(outcome.note),
        "output_format": "text",
        "visibility": "visible" if visible else _LATER,
    }


def _printable(text: str) -> str:
    """Return a text without the characters that move a terminal's cursor."""
    return "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), *sys.argv[2:])
    except SandboxError as error:
        sys.exit(f"UNGRADED, and no mark was given: {error}")
