"""An answer loaded into a worker, and the seeds and functions that go with a test."""

import ast
import hashlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from unrolled.grading.engine.outcomes import WORDS, Outcome, kind_of, of_test
from unrolled.grading.exercise import TRIALS, Exercise, Question, Test
from unrolled.grading.forbid import PACKAGE, ForbiddenName
from unrolled.grading.sandbox import walls
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.link import Link
from unrolled.grading.sandbox.process import WorkerLost

WORKER_SEED = 0  # known to answers, so never that of a test
PATIENCE = 6  # how many times its worker's CPU seconds we ourselves may take
MEMORY = 1 << 30  # bytes that a test may take here; one reply has a sixteenth at most
_AGAIN = 0.1  # seconds until we are stopped once more
_LARGEST = 200_000  # characters of one answer; a long one has 5,000


class Unloadable(Exception):  # noqa: N818 (an answer is, the grader is not at fault)
    """An answer that cannot be loaded: no test of its question can pass."""

    def __init__(self, status: Any, note: str) -> None:
        super().__init__(note)
        self.status, self.note = status, note

    def outcome(self, test: Test) -> Outcome:
        """Return what becomes of a test of its question."""
        return of_test(test, self.status, self.note)


def ready(sandbox: Sandbox, exercise: Exercise, question: Question, code: str) -> Link:
    """Return the line to a new worker that has loaded an answer.

    Raises:
        Unloadable: The answer cannot be loaded.
        SandboxError: The machine is at fault.
    """
    if len(code) > _LARGEST:
        raise Unloadable("error", f"longer than {_LARGEST:,} characters")
    link = given(sandbox, exercise)
    forbid = [*question.forbid, PACKAGE]
    try:
        # nothing of the student's has run yet, so what it says now can be believed
        seen = link.ask({"op": "look"}, (code, forbid)).value
        if bad := seen.get("forbidden"):
            raise Unloadable("forbidden", f"uses {', '.join(bad)}, which is forbidden")
        with patience(PATIENCE * link.limits.cpu):  # to read what it replies
            link.ask({"op": "load"}, (f"<{question.id}>", code, forbid))
    except ForbiddenName as error:
        link.close()
        raise forbidden(question) from error
    except Unloadable:
        link.close()
        raise
    except WorkerLost as lost:
        link.close()
        if lost.status == "ungraded":
            raise SandboxError("the machine was too busy") from lost
        note = f"while it was loaded: {WORDS[lost.status]}"
        raise Unloadable(lost.status, note) from lost
    except Exception as error:
        link.close()
        note = f"the answer does not run: {kind_of(error)}"
        raise Unloadable("error", note) from error
    return link


def given(sandbox: Sandbox, exercise: Exercise) -> Link:
    """Return the line to a new worker that has loaded the given code."""
    link = spawned(sandbox, exercise)
    try:
        link.begin(WORKER_SEED)
        link.ask({"op": "load"}, ("<given>", exercise.preamble, []))
    except (Exception, WorkerLost) as error:
        link.close()
        why = f"the given code of {exercise.name} does not run in the sandbox"
        raise SandboxError(f"{why}: {kind_of(error)}: {error}") from error
    return link


def spawned(sandbox: Sandbox, exercise: Exercise) -> Link:
    """Return a new worker; one fault of the machine is forgiven."""
    modules = imported(exercise.preamble)
    try:
        return sandbox.spawn(modules)
    except SandboxError:
        return sandbox.spawn(modules)


@lru_cache(maxsize=64)
def imported(code: str) -> tuple[str, ...]:
    """Return the modules that some code of the course's imports at its top."""
    found = []
    for node in ast.parse(code).body:
        match node:
            case ast.Import(names=aliases):
                found += [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                found.append(module)
    return tuple(found)


def forbidden(question: Question) -> Unloadable:
    """Return what to say of an answer that tripped over a forbidden name."""
    names = ", ".join((*question.forbid, PACKAGE))
    return Unloadable("forbidden", f"uses what is forbidden here: {names}")


def seed_of(exercise: str, secret: str, name: str) -> int:
    """Return the seed of a test's inputs; without the secret nobody knows it."""
    digest = hashlib.sha256(f"{exercise}\0{secret}\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def trial_seeds(exercise: str, secret: str, question: str) -> list[int]:
    """Return the seeds of a student's test, the same for every implementation."""
    return [seed_of(exercise, secret, f"trial {n} {question}") for n in range(TRIALS)]


def generator_of(exercise: str, secret: str, name: str) -> np.random.Generator:
    """Return the generator that a test is given."""
    return np.random.default_rng(seed_of(exercise, secret, name))


@lru_cache(maxsize=256)
def function_of(preamble: str, source: str, name: str) -> Callable[..., Any]:
    """Return a test of the course's as a function, beside the given code."""
    names: dict[str, Any] = {"__name__": "course"}
    exec(compile(preamble, "<given>", "exec"), names)
    exec(compile(source, f"<{name}>", "exec"), names)
    found: Callable[..., Any] = names[name]
    return found


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Stop us if an answer's values make us compute for too long, or fill our memory.

    The clock counts CPU seconds of this process, and only its main thread can be
    interrupted: elsewhere there is no such guard. Memory is address space beyond what
    we have; who asks for more, as by a shape that is broadcast, gets an exception.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise WorkerLost("timeout")

    before = signal.signal(signal.SIGPROF, stop)
    # again and again: Python drops what is raised while it clears objects away
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        with walls.at_most(MEMORY):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
