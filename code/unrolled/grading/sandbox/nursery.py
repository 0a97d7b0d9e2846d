"""The preloaded process: it imports torch once, and forks a worker when it is told.

It runs inside the outer sandbox and never sees an answer: a worker gets its own socket
from the grader, puts up its own walls (:mod:`unrolled.grading.sandbox.walls`) and only
then reads from it. ``python -m unrolled.grading.sandbox.nursery TIER FD`` is started by
:mod:`unrolled.grading.sandbox.house`.
"""

import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from unrolled.grading.sandbox import walls
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.pages import gather_pages
from unrolled.grading.sandbox.rehearsal import rehearse
from unrolled.grading.sandbox.worker import Worker
from unrolled.grading.whereabouts import index_modules

FIRST_UID = 61_184  # a range that no distribution gives to people or services
_UIDS = 256


def main(tier: str, control: socket.socket) -> None:
    """Import what answers need, say so, and serve the grader until it hangs up."""
    if tier == "A":
        walls.own_world()
    _warm()
    _settle()
    control.send(b"ready")
    homes: dict[int, Path] = {}
    tried: set[str] = set()
    n_workers = 0
    while True:
        order, fds, _, _ = socket.recv_fds(control, 65_536, 1)
        if not order:
            return
        _reap()
        wanted = json.loads(order)
        if wanted["order"] == "sweep":
            walls.sweep(wanted["uid"], homes.pop(wanted["uid"]))
            control.send(b"{}")
            continue
        uid = FIRST_UID + 1 + n_workers % (_UIDS - 1)
        n_workers += 1
        if tier in ("C", "D"):
            homes[uid] = Path(tempfile.mkdtemp(prefix="answer-"))
        if tier == "C":
            os.chown(homes[uid], uid, uid)
        home = homes.get(uid)
        limits = Limits(**wanted["limits"])
        _import(set(wanted["modules"]) - tried)
        tried.update(wanted["modules"])
        _start(tier, control, fds[0], uid, home, limits)
        os.close(fds[0])


def _warm() -> None:
    """Do what workers do, so that each finds done what is done once."""
    torch.set_num_threads(1)
    np.random.seed(0)
    walls.prepare()
    rehearse()


def _settle() -> None:
    """Put what has been imported where a fork finds it at the least cost."""
    index_modules()
    gc.collect()
    gc.freeze()  # else a worker's first collection copies every page
    gather_pages()


def _import(modules: set[str]) -> None:
    """Import what the course's own code imports, if it is new to us."""
    new = {name for name in modules if name not in sys.modules}
    for name in sorted(new):
        try:
            importlib.import_module(name)
        except Exception:
            pass  # a worker finds out, and says so
    if new:
        _settle()


def _reap() -> None:
    """Take note of the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _start(
    tier: str,
    control: socket.socket,
    line: int,
    uid: int,
    home: Path | None,
    limits: Limits,
) -> None:
    """Fork a worker and tell the grader of it."""
    try:
        worker = walls.fork_alone() if tier in ("A", "B") else os.fork()
    except OSError as error:
        control.send(json.dumps({"fault": f"{error}"[:500]}).encode())
        return
    if not worker:
        _live(tier, line, uid, home, limits)
    told: dict[str, Any] = {"pid": worker, "uid": uid if home else None}
    if not hasattr(os, "pidfd_open"):
        control.send(json.dumps(told).encode())
        return
    handle = os.pidfd_open(worker)  # a dead child has one too, until we reap it
    socket.send_fds(control, [json.dumps(told).encode()], [handle])
    os.close(handle)


def _live(
    tier: str, line: int, uid: int, home: Path | None, limits: Limits
) -> NoReturn:
    """Be a worker: put up the walls, say so, and do what is asked until the end."""
    try:
        used = walls.address_space()
        walls.die_first()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        os.dup2(line, 3)
        os.closerange(4, 65_536)
        if tier in ("A", "B"):
            walls.own_files(limits)
        elif home is not None:
            os.chdir(home)
        if tier == "C":
            walls.become(uid)
        os.environ["HOME"] = os.environ["TMPDIR"] = os.getcwd()
        tempfile.tempdir = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        walls.limit(limits, used=used)
        if tier in ("A", "B"):
            walls.drop_capabilities()
        walls.filtered()
        connection = socket.socket(fileno=3)
        connection.sendall(b"+")
    except BaseException as error:
        os.write(3, b"-" + f"{type(error).__name__}: {error}".encode()[:500])
        os._exit(1)
    try:
        Worker(connection).serve()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
