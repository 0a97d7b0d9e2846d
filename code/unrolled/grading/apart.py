"""Code of ours run apart, in a process that may die: it reads what a stranger wrote.

Nothing of a student's file is run here, but a parser too can be made to compute for
ever, to fill the memory or to crash. So files are read in a child of this process,
which has limits of its own and hands back plain JSON. CPU seconds decide, and what is
read takes far fewer; the clock on the wall is for a machine that hangs.
"""

import gc
import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

from unrolled.grading.sandbox import walls

#: What one file may take: CPU seconds, bytes of memory, seconds on the wall.
CPU, MEMORY, WALL = 5, 1 << 30, 150.0
_REPLY = 200_000_000  # bytes; a file has at most a tenth of it
_SLOW = f"it takes more than {CPU} CPU seconds to read"
_LARGE = f"it takes more than {MEMORY >> 20:,} MiB of memory to read"
_WORDS = {
    "MemoryError": _LARGE,
    "RecursionError": "it is nested too deeply",
}
_TICK = 0.1  # seconds within which the kernel notices


class GaveUpError(RuntimeError):
    """Something could not be done within the limits, or at all; says why."""


def apart(work: Callable[[], Any]) -> Any:
    """Return what some work of ours returns, a plain JSON value, done by a child.

    Windows, where nothing can be graded, has no such children: there we do it.

    Raises:
        GaveUpError: It took too much, crashed, or raised an exception.
    """
    if not hasattr(os, "fork"):
        return work()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        _be_child(work, theirs)
    os.close(theirs)
    try:
        said = _heard(ours)
    finally:
        os.close(ours)
        os.kill(child, signal.SIGKILL)  # it has said all, or too much
        _, status, used = os.wait4(child, 0)
    match said[:1]:
        case b"+":
            return json.loads(said[1:])
        case b"-":
            kind = said[1:].decode()
            raise GaveUpError(_WORDS.get(kind, kind))
    if used.ru_utime + used.ru_stime > CPU - _TICK:
        raise GaveUpError(_SLOW)
    raise GaveUpError(f"reading it ends the reader ({_end(status)})")


def _end(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _be_child(work: Callable[[], Any], line: int) -> NoReturn:
    """Do the work within limits, say what came of it, and end."""
    try:
        gc.disable()  # to look at what is not ours is to copy it
        walls.die_first()
        used = walls.address_space()
        walls.set_limits({"CPU": CPU, "AS": used + MEMORY, "CORE": 0})
        try:
            said = b"+" + json.dumps(work()).encode()
        except BaseException as error:
            said = b"-" + type(error).__name__.encode()
        with os.fdopen(line, "wb") as file:
            file.write(said)
    finally:
        os._exit(0)


def _heard(line: int) -> bytes:
    """Return all that a child says until it hangs up."""
    end, parts, size = time.monotonic() + WALL, list[bytes](), 0
    while True:
        left = max(end - time.monotonic(), 0.0)
        if not select.select([line], [], [], left)[0]:
            raise GaveUpError("the machine was too busy to read it: grade again")
        if not (part := os.read(line, 1 << 20)):
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > _REPLY:
            raise GaveUpError(_LARGE)
