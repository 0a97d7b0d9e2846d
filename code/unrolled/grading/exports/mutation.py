"""How well the hidden tests of an exercise tell wrong answers from right ones.

For instructors: every mutant, a plausible wrong answer, with the tests that reject it
and what it would earn, and every right answer with all points. What the source promises
of a mutant is compared with what happens, so a report without faults is a proof.
"""

from dataclasses import dataclass, replace

from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.exercise import Exercise, Question
from unrolled.grading.sandbox.house import Sandbox


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One answer, right or wrong, and what the tests made of it."""

    question: str
    label: str
    code: str
    earned: int
    points: int
    hidden: tuple[str, ...]  # tests, or planted bugs that a student's test overlooks
    others: tuple[str, ...]  # visible checks, and right code that is taken for wrong
    expected: tuple[str, ...]  # what the source says of ``hidden``

    @property
    def fault(self) -> str:
        """Return what is wrong with the exercise, if this trial shows it."""
        if set(self.hidden) != set(self.expected):
            return f"the source names {', '.join(self.expected) or 'none'}"
        if not self.expected and self.earned != self.points:
            return "a right answer must earn everything"
        return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class MutationReport:
    """All trials of an exercise, in its order."""

    exercise: Exercise
    trials: tuple[Trial, ...]

    @property
    def faults(self) -> list[str]:
        """Return what is wrong, one line each."""
        bad = [trial for trial in self.trials if trial.fault]
        return [f"{t.question}, {t.label}: {t.fault}" for t in bad]

    @property
    def summary(self) -> str:
        """Return the outcome in a sentence or two."""
        wrong = sum(bool(trial.expected) for trial in self.trials)
        right = len(self.trials) - wrong
        said = f"{wrong} wrong answers and {right} right ones were tried."
        if self.faults:
            return f"{said} {len(self.faults)} are not judged as the source says."
        return (
            f"{said} Each wrong one is rejected by the tests that its source names, "
            "and by no others; each right one earns every point."
        )

    def markdown(self) -> str:
        """Return the report as Markdown, a table for each question."""
        lines = [f"# Mutation report: {self.exercise.title}", "", self.summary]
        for question in self.exercise.coded():
            heading = f"## {question.id}: {question.title} ({question.points} points)"
            lines += [
                "",
                heading,
                "",
                "| answer | earns | rejected by | also |",
            ]
            lines += ["|---|---|---|---|"]
            for trial in self.trials:
                if trial.question == question.id:
                    lines.append(_row(trial))
        return "\n".join(lines) + "\n"


def _row(trial: Trial) -> str:
    fault = f" **FAULT: {trial.fault}**" if trial.fault else ""
    hidden = ", ".join(f"`{name}`" for name in trial.hidden) or "none"
    others = ", ".join(f"`{name}`" for name in trial.others) or "none"
    label = trial.label.replace("|", "\\|")
    earns = f"{trial.earned} of {trial.points}"
    return f"| {label} | {earns} | {hidden}{fault} | {others} |"


def mutation_report(
    exercise: Exercise, *, secret: str, sandbox: Sandbox
) -> MutationReport:
    """Grade every answer that the source of an exercise has, right or wrong."""
    trials = []
    for question in exercise.coded():
        right = [("the solution", question.solution)]
        right += [
            (f"alternative {n}", code)
            for n, code in enumerate(question.alternatives, start=1)
        ]
        cases: list[tuple[str, str, tuple[str, ...]]]
        cases = [(label, code, ()) for label, code in right]
        cases += [
            (_label(n, mutant.source), mutant.source, mutant.fails)
            for n, mutant in enumerate(question.mutants, start=1)
        ]
        for label, code, fails in cases:
            alone = replace(exercise, questions={question.id: question})
            trials.append(_trial(alone, question, label, code, fails, secret, sandbox))
    return MutationReport(exercise=exercise, trials=tuple(trials))


def _label(n: int, code: str) -> str:
    """Return what to call a mutant: its first comment says what is wrong with it."""
    said = next(
        (line.partition("# ")[2] for line in code.splitlines() if "# " in line), ""
    )
    return f"mutant {n}: {said}" if said else f"mutant {n}"


def _trial(
    exercise: Exercise,
    question: Question,
    label: str,
    code: str,
    fails: tuple[str, ...],
    secret: str,
    sandbox: Sandbox,
) -> Trial:
    graded = grade_answers(
        exercise, {question.id: code}, secret=secret, sandbox=sandbox
    )
    if not graded.complete:
        raise RuntimeError(f"{exercise.name} {question.id}, {label}: UNGRADED")
    meant = {test.name for test in question.hidden}
    meant |= {one.name for one in question.planted}
    failed = [outcome.test for outcome in graded.outcomes if outcome.status != "passed"]
    return Trial(
        question=question.id,
        label=label,
        code=code,
        earned=graded.earned,
        points=question.points,
        hidden=tuple(name for name in failed if name in meant),
        others=tuple(name for name in failed if name not in meant),
        expected=fails,
    )
