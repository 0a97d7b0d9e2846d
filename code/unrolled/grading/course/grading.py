"""Grade a class: a few graders at once, each a process with a sandbox of its own.

Submissions are independent, so nothing depends on how many graders there are or in
which order they finish. A grader that comes to an end, or to none, leaves the
submission it had ungraded; another takes its place. What is ungraded is tried once more
at the end.
"""

import contextlib
import json
import multiprocessing
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any

from unrolled.grading.course.graders import Job, longest, serve, ungraded
from unrolled.grading.course.pile import Submission
from unrolled.grading.course.records import Record
from unrolled.grading.course.results import ground_of, key_of, read_result
from unrolled.grading.sandbox.house import SandboxError

_TRIES = 2
_PATIENCE = 10.0  # seconds for a grader to end by itself
_LOOK = 5.0  # seconds between two looks at graders that say nothing
_PROCESSES = multiprocessing.get_context(
    "fork" if "fork" in multiprocessing.get_all_start_methods() else None
)


def share(submissions: Sequence[Submission], k: int, n: int) -> tuple[Submission, ...]:
    """Return the k-th of n shares of a class, k from 1 on: every n-th submission."""
    if not 1 <= k <= n:
        raise ValueError(f"shard {k}/{n} must be one of 1/{n} to {n}/{n}")
    return tuple(submissions[k - 1 :: n])


def grade_pile(job: Job, *, jobs: int = 1) -> Iterator[Record]:
    """Yield the record of every submission, those stored before first.

    Raises:
        SandboxError: No sandbox of this machine holds; nothing was run.
    """
    if jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    ground = ground_of(job.exercise, job.secret, job.limits)
    keys = [key_of(one, ground) for one in job.submissions]
    missing = []
    for i, one in enumerate(job.submissions):
        record = read_result(job.out, keys[i], one)
        if record is None:
            missing.append(i)
        else:
            yield record
    if missing:
        yield from _graded(job, keys, missing, jobs)


class _Grader:
    """A grader as the run sees it: its process, the line to it, and what it has.

    Lines carry JSON. A grader that is given no tier chooses one, and says which.
    """

    def __init__(
        self, job: Job, keys: list[str], tier: str, others: "list[_Grader]"
    ) -> None:
        self.line, theirs = _PROCESSES.Pipe()
        ours = [self.line, *(other.line for other in others)]
        arguments = (job, keys, tier, theirs, ours)
        self.process = _PROCESSES.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.index: int | None = None
        self.since = time.monotonic()

    def give(self, index: int) -> None:
        """Give it a submission to grade."""
        self.index, self.since = index, time.monotonic()
        with contextlib.suppress(OSError):  # it is gone: its end will be heard
            self.line.send_bytes(json.dumps(index).encode())

    def heard(self) -> Any:
        """Return what it says; None if it is gone."""
        try:
            return json.loads(self.line.recv_bytes())
        except (EOFError, OSError):
            return None

    def close(self) -> None:
        """End it, and with it its sandbox."""
        self.line.close()
        if self.index is not None:
            self.process.terminate()
        self.process.join(_PATIENCE)
        self.process.kill()
        self.process.join()


def _graded(
    job: Job, keys: list[str], missing: list[int], jobs: int
) -> Iterator[Record]:
    """Grade what is missing, and yield each record as it comes."""
    waiting, tries = deque(missing), dict.fromkeys(missing, _TRIES)
    graders = [_Grader(job, keys, "", [])]
    try:
        tier = _chosen(graders[0])
        while tries:
            while len(graders) < min(jobs, len(tries)):
                graders.append(_Grader(job, keys, tier, graders))
            for grader in graders:
                if grader.index is None and waiting:
                    grader.give(waiting.popleft())
            busy = [one for one in graders if one.index is not None]
            ready = wait([one.line for one in busy], _LOOK)
            late = time.monotonic() - longest(job)
            for grader in busy:
                if grader.line in ready:
                    i, said = grader.index, grader.heard()
                elif grader.since < late:
                    i, said = grader.index, {"refused": "the grader hung"}
                else:
                    continue
                assert i is not None
                if said is None or "refused" in said:
                    graders.remove(grader)
                    grader.close()
                    why = said["refused"] if said else "the grader came to an end"
                    record = ungraded(job, i, tier, why)
                else:
                    record, grader.index = Record.of_plain(said), None
                tries[i] -= 1
                if not record.complete and tries[i]:
                    waiting.append(i)
                else:
                    del tries[i]
                    yield record
    finally:
        for grader in graders:
            grader.close()


def _chosen(first: _Grader) -> str:
    """Return the tier that the first grader has chosen."""
    said = first.heard()
    if said is None:
        raise SandboxError("the grader came to an end before it had a sandbox")
    if "refused" in said:
        raise SandboxError(said["refused"])
    return str(said["tier"])
