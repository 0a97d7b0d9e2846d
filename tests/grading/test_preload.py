"""What a worker need not do, since the process that forks it has done it for all."""

import linecache
import sys
from pathlib import Path

import pytest
import torch

from border_exercise import exercise
from unrolled.grading.engine.loading import given
from unrolled.grading.sandbox import rehearsal
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.proxy import namespace

N = 10
LATE = """
import sys
from itertools import takewhile
from unrolled.grading.whereabouts import _INDEXED

def late():
    return [*takewhile(lambda name: name not in _INDEXED, reversed(sys.modules))]

def f(x):
    return (x * x).sum()

def wrong():
    raise ValueError("no")
"""


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox(limits=Limits(cpu=2.0)) as chosen:
        given(chosen, exercise()).close()  # the first order has it import
        yield chosen


def test_the_rehearsal_comes_to_its_end_and_leaves_nothing():
    main, cached = sys.modules["__main__"], set(linecache.cache)
    asked = len([*rehearsal._questions()])
    heard = rehearsal.rehearse()
    # one answer is wrong, and is meant to be
    once = [*["ok"] * 16, "ValueError", *["ok"] * (asked - 17)]
    assert heard == once * rehearsal._ROUNDS
    assert sys.modules["__main__"] is main
    assert not {name for name in set(linecache.cache) - cached if name[0] == "<"}


def test_the_rehearsal_has_every_question_in_it():
    worker = Path(rehearsal.__file__).with_name("worker.py").read_text()
    known = {line.split('"')[1] for line in worker.splitlines() if 'case "' in line}
    asked = {head["op"] for head, _ in rehearsal._questions()}
    assert len(known) >= 11
    assert known - asked == {"item", "length", "items"}


def test_a_worker_imports_nothing(sandbox):
    link = given(sandbox, exercise())
    link.ask({"op": "look"}, (LATE, ["nn.LSTM"]))
    link.ask({"op": "load"}, ("<code>", LATE, ["nn.LSTM"]))
    S = namespace(link)
    assert S.late() == []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    S.f(x).backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="no"):
        S.wrong()
    assert S.late() == []
    link.close()


def faults(pid: int) -> int:
    """Return how many pages a process has copied, or met for the first time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[7])


def test_a_fork_copies_little(sandbox):
    # pages, not seconds: they are the same on a busy machine
    link = sandbox.spawn()
    stat = Path(f"/proc/{link._line._process.number}/stat").read_text()
    nursery = int(stat.rpartition(")")[2].split()[1])
    link.close()
    before, of_workers = faults(nursery), []
    for _ in range(N):
        link = given(sandbox, exercise())
        of_workers.append(faults(link._line._process.number))
        link.close()
    assert (faults(nursery) - before) / N < 500  # 230 as it is written
    assert max(of_workers) < 1_250  # 970; to compile our own code alone takes 700
