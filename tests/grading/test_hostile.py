"""Hostile submissions: each gets its fair score, and nothing comes of the attack."""

import os
import time
from pathlib import Path

import pytest

from border_exercise import SECRET, SOLUTIONS, exercise
from hostile_answers import HOSTILE
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.engine.loading import given
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.proxy import namespace

pytestmark = pytest.mark.slow  # two minutes of loops that must be waited for
QUICK = Limits(cpu=0.7, idle=0.7, wall=120.0, memory=256 << 20)


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox(limits=QUICK) as chosen:
        yield chosen


@pytest.fixture(scope="module")
def resting(sandbox) -> int:
    """Return how many processes a sandbox has that has nothing to do."""
    time.sleep(1)
    return len(workers(sandbox))


def workers(sandbox) -> set[int]:
    """Return the processes below a sandbox's preloaded one that are still alive."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it has just ended
        if state != "Z":
            parents[int(path.parent.name)] = int(parent)
    below = {sandbox._nursery.pid}
    for _ in range(4):  # bubblewrap, its process 1, the preloaded one, its children
        below |= {pid for pid, parent in parents.items() if parent in below}
    return below


def only(sandbox, resting: int) -> bool:
    """Return whether no worker is left, once those that end have ended."""
    for _ in range(200):
        if len(workers(sandbox)) <= resting:
            return True
        time.sleep(0.02)
    return False


def test_thirty_kinds_at_least():
    assert len(HOSTILE) >= 30


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_answers_get_their_fair_score(kind, sandbox, resting, tmp_path):
    canary = tmp_path / "the-canary"
    canary.write_text("untouched")
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    code, fair, statuses = HOSTILE[kind]
    graded = grade_answers(
        exercise(), SOLUTIONS | {"q1": code}, secret=SECRET, sandbox=sandbox
    )
    first, *others = (
        [o for o in graded.outcomes if o.question == q] for q in ("q1", "q2", "q3")
    )
    assert sum(o.earned for o in first) == fair
    assert [o.earned for outcomes in others for o in outcomes] == [1, 2, 3]
    if statuses:
        assert tuple(o.status for o in first) == statuses
    assert not any(o.status == "ungraded" for o in first)
    hidden = next(o for o in first if o.test == "test_random")
    assert "LEAK" not in hidden.note
    assert SECRET not in "".join(o.note for o in graded.outcomes)
    assert all(c.isprintable() for o in graded.outcomes for c in o.note)
    assert only(sandbox, resting)
    below = workers(sandbox)
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in below} == {nice}
    assert canary.read_text() == "untouched"
    assert "pickled" not in os.listdir("/tmp")


# each goes on for as long as it lives, whatever it is refused
BOMBS = {
    "a fork bomb": "os.fork()",
    "a bomb of threads": "threading.Thread(target=time.sleep, args=(1e6,)).start()",
    "a hog of memory": "held.append(bytearray(1 << 20))",
    "a filler of the disk": "open(f'{len(held)}', 'ab').write(bytes(1 << 16))",
    "a hog of the processor": "held.clear()",
}
BOMB = """
import os, threading, time
held, n = [], 0

def attack():
    global n
    while True:
        try:
            {}
        except (OSError, MemoryError, RuntimeError):
            pass
        n += 1

threading.Thread(target=attack, daemon=True).start()
"""


def test_attacks_do_not_change_the_mark_of_a_neighbour(sandbox):
    alone = grade_answers(exercise(), SOLUTIONS, secret=SECRET, sandbox=sandbox)
    links = {name: given(sandbox, exercise()) for name in BOMBS}
    for name, link in links.items():
        link.ask({"op": "load"}, ("<attack>", BOMB.format(BOMBS[name]), []))
    before = {name: namespace(link).n for name, link in links.items()}
    beside = grade_answers(exercise(), SOLUTIONS, secret=SECRET, sandbox=sandbox)
    for name, link in links.items():
        link.begin(0)
        assert namespace(link).n > before[name], f"{name} did not go on all the while"
        link.close()
    assert beside == alone
    assert alone.earned == 10
