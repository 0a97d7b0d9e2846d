"""What it costs to grade a class: processor seconds for each submission, all told.

Thirty ordinary submissions of exercise 04: right answers, others as right, each
mistake that students make, and work that was never begun. Counted are the grader and
all workers, with the kernel's work for their walls, after the start. The graders that
schools run were measured once, on an exercise of the same kind, and are not run here:
both need environments of their own.
"""

import os
import statistics
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.exercise import Exercise, Question
from unrolled.grading.sandbox.breaches import choose_sandbox

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
N = 30
AT_MOST = 0.5
OTHERS = {"nbgrader 0.9.6": 4.3, "otter-grader 7.0.0": 7.1}


def ordinary(exercise: Exercise) -> list[dict[str, str]]:
    """Return the answers of a class: each question's in turn, out of step."""
    found: list[dict[str, str]] = [{} for _ in range(N)]
    for shift, question in enumerate(exercise.coded()):
        every = islice(cycle(answers(question)), shift, shift + N)
        for submission, code in zip(found, every, strict=True):
            submission[question.id] = code
    return found


def answers(question: Question) -> list[str]:
    """Return answers as students give them: two in three right, as a rule."""
    right = [question.solution, *question.alternatives]
    wrong = [*(mutant.source for mutant in question.mutants), question.scaffold]
    return [
        code
        for n, bad in enumerate(wrong)
        for code in (right[n % len(right)], bad, right[(n + 1) % len(right)])
    ]


def spent() -> float:
    """Return the processor seconds of this process and all below it, so far."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents[int(path.parent.name)] = int(fields[1])
        used[int(path.parent.name)] = sum(map(int, fields[11:15]))
    ours, grown = {os.getpid()}, 0
    while len(ours) > grown:
        grown = len(ours)
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    return sum(used[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def grading_cost() -> dict[str, Any]:
    """Grade the class; return the seconds of a submission and what others need."""
    [path] = EXERCISES.glob("04-*.md")
    exercise = read_exercise(path)
    costs = []
    with choose_sandbox() as sandbox:
        first, *_ = work = ordinary(exercise)
        grade_answers(exercise, first, secret="first", sandbox=sandbox)
        start = spent()
        for one in tqdm(work, desc="grading", leave=False):
            before = spent()
            graded = grade_answers(exercise, one, secret="a course", sandbox=sandbox)
            if not graded.complete:
                raise RuntimeError(f"not graded: {graded.outcomes}")
            time.sleep(0.05)  # the last worker's end is counted when it is noticed
            costs.append(spent() - before)
        # our own looks at the clock are not the grader's: they are taken off
        look = _look()
        whole = spent() - start - len(costs) * 2 * look
        tier = sandbox.tier
    low, middle, high = (round(one, 3) for one in statistics.quantiles(costs))
    return {
        "what": f"a submission of exercise {exercise.number}, in tier {tier}",
        "submissions": N,
        "seconds": round(whole / N, 3),
        "low": low,
        "median": middle,
        "high": high,
        "at most": AT_MOST,
        "others": OTHERS,
    }


def _look() -> float:
    """Return what one look at the clock costs."""
    start = time.process_time()
    for _ in range(20):
        spent()
    return (time.process_time() - start) / 20


def report(found: dict[str, Any]) -> str:
    """Return what grading cost, in words."""
    others = ", ".join(f"{name} {n}" for name, n in found["others"].items())
    return (
        f"\ngrading: processor seconds for {found['what']}\n"
        f"  {found['seconds']:6.2f}  ({found['low']:.2f} to {found['high']:.2f})\n"
        f"  set out for at most {found['at most']}; on the like: {others}"
    )


if __name__ == "__main__":
    print(report(grading_cost()))
