"""Run the checks that a student may see on the student's own code, in this process."""

import hashlib
import inspect
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import unrolled
from unrolled.grading.exercise import NOTE, TRIALS
from unrolled.grading.forbid import PACKAGE, look
from unrolled.grading.notebooks.ticks import Line, Status

_LIBRARIES = (
    *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")),
    str(Path(unrolled.__file__).parent),
)
_TO_DO = "not answered yet"
_STOPS = (Exception, SystemExit)  # the student's code may leave in either way


class NotDefinedError(AttributeError):
    """A check asks for something that the student has not defined."""


class Namespace:
    """What a notebook defines, by attribute: the ``S`` of a test."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        try:
            return self._names[name]
        except KeyError:
            raise NotDefinedError(
                f"{name} is not defined: run the cell of your answer first"
            ) from None


def try_test(exercise: str, name: str, test: Callable[..., Any], S: Namespace) -> Line:
    """Run one visible test on what the student has defined."""
    doc = " ".join((test.__doc__ or "").split())
    match = NOTE.fullmatch(doc)
    worth = int(match["points"]) if match and match["points"].isdecimal() else 0
    hint = match["note"] if match else ""
    try:
        test(S, _generator(exercise, name))
    except _STOPS as error:
        status, note = _told(error, hint)
        return Line(name=name, points=worth, earned=0, status=status, note=note)
    return Line(name=name, points=worth, earned=worth, status="passed")


def forbidden_names(entry: Mapping[str, Any], names: Mapping[str, Any]) -> set[str]:
    """Return the forbidden names in the code of what the student defined."""
    bad: set[str] = set()
    for name in entry.get("names", ()):
        thing: Any = names.get(name)
        if any(_taught(one) for one in getattr(thing, "__mro__", (thing,))):
            bad.add(PACKAGE)
            continue
        parts = list(vars(thing).values()) if isinstance(thing, type) else [thing]
        for part in parts:  # a class of a notebook has no text, but its methods have
            try:
                code = textwrap.dedent(inspect.getsource(part))
                bad |= set(look(code, [*entry.get("forbid", ()), PACKAGE])["forbidden"])
            except (OSError, TypeError, SyntaxError):
                continue  # in no cell: the grading looks at it again
    return bad


def _taught(thing: Any) -> bool:
    """Return whether the package of the book made it."""
    return str(getattr(thing, "__module__", "")).startswith(f"{PACKAGE}.")


def forbidden_lines(entry: Mapping[str, Any], names: Mapping[str, Any]) -> list[Line]:
    """Return a line for each of them."""
    note = "this question does not allow it: its points are lost while it is there"
    return [
        Line(
            name=f"does without {name}", points=0, earned=0, status="failed", note=note
        )
        for name in sorted(forbidden_names(entry, names))
    ]


def try_specimens(
    exercise: str,
    specimens: Sequence[tuple[str, int, str, str]],
    namespace: Mapping[str, Any],
    test: Callable[..., Any] | None,
) -> list[Line]:
    """Try a student's test on implementations, right ones and others.

    As in the grading, each is tried with several seeds, and a bug that is found counts
    only if no right one is rejected.
    """
    lines = []
    fair = True
    for name, worth, note, source in specimens:  # right ones come first
        plain = name.replace("_", " ")
        what = f"finds the bug: {plain}" if worth else f"accepts the right one: {plain}"
        if test is None:
            told = "define one function test_…(S, rng) in your answer"
            line = Line(name=what, points=worth, earned=0, status="todo", note=told)
            lines.append(line)
            continue
        for n in range(TRIALS):
            names = dict(namespace)
            exec(compile(source, f"<{name}>", "exec"), names)  # the course's own code
            try:
                test(Namespace(names), _generator(exercise, f"{n} {name}"))
            except _STOPS as error:
                status, told = _told(error, "")
                rejects = status != "todo"
            else:
                status, told, rejects = "failed", "", False
            if rejects != bool(worth):
                break  # wrong once is wrong
        if status != "todo":
            right = rejects if worth else not rejects
            fair = fair and (right or bool(worth))
            status = "passed" if right else "failed"
            if right:
                told = ""
            elif worth:
                told = f"{note}. Your test accepts it: which input would show it?"
            else:
                told = f"your test rejects it: {told}"
        earned = worth if status == "passed" and fair else 0
        lines.append(
            Line(name=what, points=worth, earned=earned, status=status, note=told)
        )
    return lines


def _told(error: BaseException, hint: str) -> tuple[Status, str]:
    """Return what to tell a student about an exception in their own code."""
    if isinstance(error, NotImplementedError) and "your turn" in str(error):
        return "todo", _TO_DO
    if isinstance(error, NotDefinedError):
        return "todo", str(error)
    try:
        text = str(error)
    except Exception:
        text = "an exception without words"
    if isinstance(error, AssertionError):
        found = text.strip().partition("\n")[0].rstrip(".!")
        if found and hint:  # what was found, then where to look
            return "failed", f"{found}. {hint}"
        wordless = f"an assertion without words{_where(error)}"
        return "failed", found or hint or wordless
    said = f"{type(error).__name__}: {text}{_where(error)}"
    return "error", f"{said}. {hint}".rstrip() if hint else said


def _where(error: BaseException) -> str:
    """Return the last line of an error that is in no library, in brackets."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(_LIBRARIES)] or frames
    return f" (line {own[-1].lineno} of {own[-1].name})" if own else ""


def _generator(exercise: str, test: str) -> np.random.Generator:
    """Return the generator of a check: no secret, so the same for everyone."""
    digest = hashlib.sha256(f"{exercise}\0\0{test}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))
