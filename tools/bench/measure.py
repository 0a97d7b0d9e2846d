"""What a case is, and how it is measured."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROUNDS, CALLS = 31, 5
LONG = 0.2  # seconds; what takes longer is called once a round, in FEW_ROUNDS
FEW_ROUNDS = 9

Step = Callable[[], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Ours against theirs.

    ``work`` is how much a call of ours does, in calls of theirs. ``reach`` is the share
    of their time that we set out to take, where we set out for one.
    """

    what: str
    against: str
    ours: Step
    theirs: Step
    work: int = 1
    reach: float | None = None


def seconds(step: Step, n_calls: int = CALLS) -> float:
    """Return how long calls in a row, as in training, keep the processor."""
    start = time.process_time()
    for _ in range(n_calls):
        step()
    return time.process_time() - start


def shares(case: Case) -> list[float]:
    """Return the share of their time that ours takes, in each of several rounds."""
    long = max(seconds(case.ours, 1), seconds(case.theirs, 1)) > LONG  # and warm up
    rounds, calls = (FEW_ROUNDS, 1) if long else (ROUNDS, CALLS)
    return [
        seconds(case.ours, calls) / seconds(case.theirs, calls) / case.work
        for _ in range(rounds)
    ]


def row(case: Case) -> dict[str, Any]:
    """Return a case, measured: the median of its shares and their quartiles."""
    found = shares(case)
    low, share, high = statistics.quantiles(found)
    return {
        "what": case.what,
        "against": case.against,
        "rounds": len(found),
        "share": round(share, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "reach": case.reach,
    }


def growth(steps: dict[int, Step]) -> dict[str, list[float]]:
    """Return sizes and the times that their steps take, the least of several rounds.

    The least, for what else the machine does can only add.
    """
    for step in steps.values():
        step()
    rounds = [
        {size: seconds(step, 1) for size, step in steps.items()} for _ in range(5)
    ]
    least = {size: min(times[size] for times in rounds) for size in steps}
    return {
        "sizes": list(least),
        "milliseconds": [round(1e3 * t, 3) for t in least.values()],
    }
