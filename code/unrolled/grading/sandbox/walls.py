"""The walls of one worker, built by the forked process around itself.

Before any code of a student is loaded, the process gives up what it has: the sight of
other processes, the network, the file system but for a small one of its own, every
capability, its own rights to files (in tier C), and many system calls. What cannot be
put up is an ``OSError``, which the grader reports as UNGRADED.
"""

import ctypes
import os
import resource
import shutil
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.syscalls import (
    known_machine,
    prepare_filter,
    refuse_calls,
)

SCRATCH = Path("/tmp")  # within the sandbox: each worker mounts its own there
_MOUNTS, _HOST, _IPC, _PIDS, _NET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 1 << 30
_PRIVATE, _READ_ONLY, _PLAIN = 0x44000, 1, 2 | 4 | 8  # no set-uid, device or program
_DUMPABLE, _DROP_BOUND, _AMBIENT, _CLEAR = 4, 24, 47, 4
_LIBRARY = ctypes.CDLL(None, use_errno=True)  # C's


def _call(name: str, *arguments: object) -> None:
    """Make a call of the C library, and raise ``OSError`` if it is refused."""
    if getattr(_LIBRARY, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def prepare() -> None:
    """Do once, for all workers, what is the same for each."""
    address_space()
    if known_machine():
        prepare_filter()


def own_world() -> None:
    """Go on as process 1 of a new world; the old process waits, and ends with it.

    Bubblewrap's own world of processes belongs to a user whom we cannot become again,
    and whoever leaves it for a child's sake could not come back.
    """
    _call("unshare", ctypes.c_int(_PIDS))
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)


def fork_alone() -> int:
    """Fork a child that is alone: process 1 of a world of its own.

    A process that has asked for such a child gets no other, so we go back; a helper in
    between would cost as much again, for a fork copies the tables of all memory.
    """
    here = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        _call("unshare", ctypes.c_int(_PIDS))
        try:
            child = os.fork()
        except OSError:
            _call("setns", ctypes.c_int(here), ctypes.c_int(_PIDS))
            raise
        if child:
            _call("setns", ctypes.c_int(here), ctypes.c_int(_PIDS))
        return child
    finally:
        os.close(here)


def mount(source: str, at: Path, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system; the arguments are those of the system call."""
    long = ctypes.c_ulong(flags)
    texts = (source.encode(), str(at).encode(), kind.encode())
    _call("mount", *texts, long, options.encode() or None)


def own_files(limits: Limits) -> None:
    """Mount a small empty file system, and hide what is known of processes."""
    _call("unshare", ctypes.c_int(_MOUNTS | _HOST | _IPC | _NET))
    mount("none", Path("/"), "none", _PRIVATE)
    size = f"size={limits.disk},nr_inodes=1024,mode=700"
    mount("scratch", SCRATCH, "tmpfs", _PLAIN, size)
    mount("nothing", Path("/proc"), "tmpfs", _PLAIN | _READ_ONLY, "size=4k")
    os.chdir(SCRATCH)


def become(uid: int) -> None:
    """Go on as another user (tier C)."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def sweep(uid: int, home: Path) -> None:
    """Delete a worker's folder, and what its user left where everybody may write."""
    shutil.rmtree(home, ignore_errors=True)
    for folder in (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")):
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.lstat().st_uid == uid:
                linked = path.is_symlink() or not path.is_dir()
                path.unlink() if linked else shutil.rmtree(path, ignore_errors=True)


def drop_capabilities() -> None:
    """Give up every capability, for good."""
    control, long = _LIBRARY.prctl, ctypes.c_ulong
    for number in range(64):  # the last one differs between kernels: try them all
        control(_DROP_BOUND, long(number), long(0), long(0), long(0))
    _call("prctl", _AMBIENT, long(_CLEAR), long(0), long(0), long(0))
    none = struct.pack("6I", *[0] * 6)
    _call("capset", struct.pack("Ii", 0x20080522, 0), none)
    _call("prctl", _DUMPABLE, long(0), long(0), long(0), long(0))


def limit(limits: Limits, *, used: int) -> None:
    """Set the limits of this process; ``used`` is its address space at present."""
    cpu = int(40 * limits.cpu) + 60  # the grader's own clock decides long before
    set_limits(
        {
            "CPU": cpu,
            "FSIZE": limits.disk,
            "NOFILE": limits.files,
            "NPROC": limits.threads,
            "CORE": 0,
            "MEMLOCK": 0,
            "MSGQUEUE": 0,
            "AS": used + limits.memory,
        }
    )


def set_limits(wanted: dict[str, int]) -> None:
    """Set limits of this process by their names, for good."""
    for name, most in wanted.items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None or (sys.platform == "darwin" and name in ("AS", "NPROC")):
            continue  # macOS has not all of them, and refuses these two
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


@contextmanager
def at_most(memory: int) -> Iterator[None]:
    """Let this process take so many bytes more than it has, for a while.

    A process that is started meanwhile has the limit too. macOS knows none.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = address_space()
    most = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (min([used + memory, *most]), hard))
    try:
        yield
    finally:
        if used:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def die_first() -> None:
    """Let the kernel take this process, and no other, where memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(b"1000")
    except OSError:
        pass  # macOS has no such file, and tier C may not have it open


def address_space() -> int:
    """Return the bytes of address space of this process, 0 where nobody says."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def filtered() -> None:
    """Refuse system calls, wherever the filter knows them."""
    if known_machine():
        refuse_calls()
