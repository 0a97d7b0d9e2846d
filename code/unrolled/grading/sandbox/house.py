"""The sandbox: one preloaded process behind walls, and a worker for each answer.

The tier is chosen by trying: a tier runs if its preloaded process starts, forks a
worker, and the worker's own probes (:mod:`unrolled.grading.sandbox.breaches`) find no
way out. Tier D isolates nothing and is refused unless it is asked for.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.link import Link
from unrolled.grading.sandbox.process import Line, Process
from unrolled.grading.sandbox.rooms import missing_tools, room
from unrolled.grading.sandbox.syscalls import known_machine

_START, _FORK = 120.0, 30.0  # seconds; what is slower is a fault of the machine
_MODULES = 50  # more would not fit into an order


class SandboxError(RuntimeError):
    """The sandbox does not work: a fault of the machine, and no mark for anybody."""


class Sandbox:
    """A preloaded process of one tier, and its workers.

    Args:
        tier: "A", "B", "C" or "D", as in :mod:`unrolled.grading.sandbox.rooms`.
        limits: What each worker may use.
        trusted: Whether tier D, which isolates nothing, may run.
        hidden: Files that no answer may read: tests and submissions. Tiers A and B do
            not show them to it; tier C insists that they belong to root alone.
    """

    def __init__(
        self,
        tier: str,
        *,
        limits: Limits | None = None,
        trusted: bool = False,
        hidden: tuple[Path, ...] = (),
    ) -> None:
        self.tier, self.limits = tier, limits or Limits()
        self._refuse(trusted, hidden)
        self._stage = Path(tempfile.mkdtemp(prefix="unrolled-room-"))
        self._stage.chmod(0o755)
        self._nursery: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def _refuse(self, trusted: bool, hidden: tuple[Path, ...]) -> None:
        if self.tier not in ("A", "B", "C", "D"):
            raise ValueError(f"tier={self.tier!r} must be A, B, C or D")
        if self.tier == "D" and not trusted:
            raise SandboxError(
                "tier D is not isolated: an answer can read, write and delete all that "
                "you can. Use Linux with bubblewrap, or say that you trust these "
                "submissions (--i-trust-these-submissions)"
            )
        if sys.platform == "win32":
            raise SandboxError("Windows cannot fork a worker: grade in WSL or Docker")
        if tools := missing_tools(self.tier):
            raise SandboxError(f"tier {self.tier} needs {', '.join(tools)}")
        if self.tier != "D" and not known_machine():
            raise SandboxError("this machine's system calls cannot be filtered")
        if self.tier == "C":
            if os.geteuid() != 0:
                raise SandboxError("tier C needs root, to become another user")
            for path in hidden:
                if _open_to_all(path):
                    raise SandboxError(
                        f"{path} can be read by everybody, answers too: "
                        f"chmod go-rwx {path}"
                    )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the preloaded process, and with it all workers."""
        self._stop()
        shutil.rmtree(self._stage, ignore_errors=True)

    def _stop(self) -> None:
        if self._control:
            self._control.close()
        if self._nursery:
            self._nursery.kill()
            self._nursery.wait()
            assert self._nursery.stderr is not None
            self._nursery.stderr.close()
        self._control = self._nursery = None

    def _start(self) -> socket.socket:
        """Start the preloaded process, if it is not running."""
        if self._control and self._nursery and self._nursery.poll() is None:
            return self._control
        self._stop()
        shutil.rmtree(self._stage, ignore_errors=True)
        self._stage.mkdir(mode=0o755)
        ours, theirs = socket.socketpair()
        with theirs:
            made = room(self.tier, self._stage, theirs.fileno())
            self._nursery = subprocess.Popen(
                made.command,
                env=made.environment | {"PATH": os.environ.get("PATH", "/usr/bin")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                cwd="/",
            )
        self._control = ours
        ours.settimeout(_START)
        try:
            ready = ours.recv(5)
        except OSError:
            ready = b""
        if ready != b"ready":
            raise SandboxError(f"tier {self.tier} does not start: {self._complaint()}")
        ours.settimeout(_FORK)
        return ours

    def _complaint(self) -> str:
        """Return the last line that the preloaded process wrote before its end."""
        assert self._nursery is not None
        assert self._nursery.stderr is not None
        self._nursery.kill()
        lines = self._nursery.stderr.read().decode(errors="replace").splitlines()
        self._stop()
        return lines[-1] if lines else "it says nothing"

    def spawn(self, modules: tuple[str, ...] = ()) -> Link:
        """Return the line to a new worker, whose walls are up.

        Args:
            modules: What the course's code imports: imported once, for all workers.
        """
        try:
            return self._spawn(modules)
        except (OSError, EOFError, ValueError) as error:
            self._stop()  # whatever it was, the next one gets a new start
            raise SandboxError(f"no worker could be started: {error}") from error

    def _spawn(self, modules: tuple[str, ...]) -> Link:
        control = self._start()
        ours, theirs = socket.socketpair()
        limits = asdict(self.limits)
        order = {"order": "fork", "limits": limits, "modules": modules[:_MODULES]}
        with theirs:
            socket.send_fds(control, [json.dumps(order).encode()], [theirs.fileno()])
            told, handles, _, _ = socket.recv_fds(control, 4096, 1)
        gone = {"fault": "the preloaded process is gone"}
        found: dict[str, Any] = json.loads(told) if told else gone
        if "fault" in found:
            ours.close()
            raise OSError(found["fault"])
        process = Process(handles[0] if handles else None, found["pid"])
        sweep = None if found["uid"] is None else lambda: self._sweep(found["uid"])
        ours.settimeout(_FORK)
        try:
            word = ours.recv(600)
        except OSError as error:
            word = f"-{error}".encode()
        if word != b"+":
            process.end()
            ours.close()
            raise OSError(word[1:].decode(errors="replace") or "the worker is gone")
        return Link(Line(ours, process, self.limits), self.limits, sweep)

    def _sweep(self, uid: int) -> None:
        if self._control:
            self._control.send(json.dumps({"order": "sweep", "uid": uid}).encode())
            self._control.recv(64)


def _open_to_all(path: Path) -> bool:
    """Return whether users without rights can reach and read a file or folder."""
    reach = all(p.stat().st_mode & 0o001 for p in path.resolve().parents)
    return reach and bool(path.stat().st_mode & 0o004)
