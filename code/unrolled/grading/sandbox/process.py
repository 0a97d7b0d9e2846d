"""A worker as its grader sees it: a process, its clock, and bytes to and fro.

CPU seconds decide, and the kernel counts them. A worker that waits for nothing is cut
off as idle; one that only got too little of the machine is no fault of the student's.
"""

import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import Literal, NoReturn

from unrolled.grading.sandbox.limits import Limits

_SLICE = 0.02  # seconds between two looks at the clock
_LONGEST = 0.2  # a longer time without a look at it was the grader's own


Lost = Literal["died", "timeout", "error", "ungraded"]


class WorkerLost(BaseException):
    """The worker is gone or was ended; no test of a course's may swallow that.

    Args:
        status: "died", "timeout", "error" (it sent nonsense) or "ungraded".
    """

    def __init__(self, status: Lost) -> None:
        super().__init__(status)
        self.status = status


class Process:
    """A worker's process, by a handle that no other process can inherit."""

    def __init__(self, handle: int | None, number: int) -> None:
        self._handle, self.number = handle, number
        if handle is not None:  # the number is that of another namespace: translate
            for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines():
                if line.startswith("Pid:"):
                    self.number = int(line.split()[1])

    def cpu(self) -> float:
        """Return the CPU seconds of all its threads so far; 0 where nobody says."""
        try:
            return time.clock_gettime((~self.number << 3) | 2)
        except (OSError, AttributeError):
            return 0.0

    def waiting(self) -> bool:
        """Return whether all its threads wait for something of their own accord."""
        tasks = Path(f"/proc/{self.number}/task")
        try:
            stats = [(task / "stat").read_text() for task in tasks.iterdir()]
        except OSError:
            return not tasks.exists()  # else a thread has come to its end just now
        return all(stat.rpartition(")")[2].split()[0] not in "RD" for stat in stats)

    def end(self) -> None:
        """Kill it, and return when it is gone; what it started goes with it."""
        if not self.number:
            return  # gone already; to the kernel, 0 would be our own process group
        if self._handle is None:
            try:
                os.kill(self.number, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.number = 0
            return
        try:
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        select.select([self._handle], [], [])
        os.close(self._handle)
        self._handle, self.number = None, 0


class Line:
    """A socket to a worker, watched: whoever waits on it looks at the clock."""

    def __init__(
        self, connection: socket.socket, process: Process, limits: Limits
    ) -> None:
        connection.setblocking(False)
        self._socket, self._process, self._limits = connection, process, limits
        self.lost: Lost | None = None
        self.restart()

    def restart(self) -> None:
        """Start the clock of a test."""
        self._cpu_from = self._cpu_seen = self._process.cpu()
        self._from = self._seen = time.monotonic()
        self._idle = 0.0

    def resume(self) -> None:
        """Go on after a time that the grader took for itself."""
        now = time.monotonic()
        self._from += now - self._seen
        self._seen, self._cpu_seen = now, self._process.cpu()

    def close(self) -> None:
        """End the worker."""
        if self._socket.fileno() >= 0:
            self._socket.close()
            self._process.end()

    def lose(self, status: Lost) -> NoReturn:
        """Give the worker up, for good."""
        self.lost = self.lost or status
        self.close()
        raise WorkerLost(self.lost)

    def _look(self) -> None:
        """Give the worker up if it has used what it may."""
        now, cpu = time.monotonic(), self._process.cpu()
        if cpu - self._cpu_from > self._limits.cpu:
            self.lose("timeout")
        span = now - self._seen
        if span >= _SLICE:
            if self._process.waiting():  # a little work now and then is no excuse
                self._idle += max(min(span, _LONGEST) - (cpu - self._cpu_seen), 0.0)
            self._seen, self._cpu_seen = now, cpu
        if self._idle > self._limits.idle:
            self.lose("timeout")
        if now - self._from > self._limits.wall:
            self.lose("ungraded")

    def _wait(self, *, writing: bool) -> None:
        """Wait until bytes can go one way, or a little."""
        one = [self._socket]
        select.select([] if writing else one, one if writing else [], [], _SLICE)
        self._look()

    def send(self, frame: bytes) -> None:
        """Send all of some bytes."""
        view = memoryview(frame)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                self._wait(writing=True)
            except OSError:
                self.lose("died")

    def receive(self, n: int) -> bytes:
        """Return the next n bytes."""
        parts, left = [], n
        while left:
            try:
                part = self._socket.recv(min(left, 1 << 20))
            except BlockingIOError:
                self._wait(writing=False)
                continue
            except OSError:
                part = b""
            if not part:
                self.lose("died")
            parts.append(part)
            left -= len(part)
        self._look()
        return b"".join(parts)
