"""The sandbox: which tier runs, what it stops, and that switching it off shows."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from border_exercise import SECRET, SOLUTIONS, exercise
from hostile_answers import CORE, HOSTILE
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.engine.loading import imported
from unrolled.grading.sandbox import house as module
from unrolled.grading.sandbox.breaches import attacks, breaches, choose_sandbox
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.process import Process, WorkerLost
from unrolled.grading.sandbox.proxy import namespace
from unrolled.grading.sandbox.rooms import missing_tools

QUICK = Limits(cpu=0.5, idle=0.5, wall=60.0, memory=256 << 20)


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox(limits=QUICK) as chosen:
        yield chosen


def loaded(sandbox, code):
    link = sandbox.spawn()
    link.begin(0)
    link.ask({"op": "load"}, ("<code>", code, []))
    return link


def test_the_best_tier_that_this_machine_has_is_chosen(sandbox):
    assert sandbox.tier == ("B" if missing_tools("A") else "A")


@pytest.mark.parametrize("tier", "AB")
def test_no_attack_gets_out(tier):
    if missing_tools(tier):
        with pytest.raises(SandboxError, match=f"tier {tier} needs"):
            Sandbox(tier)
        return
    with Sandbox(tier, limits=QUICK) as one:
        got = attacks(one)
        assert len(got) >= 11
        assert not any(got.values())
        every = exercise("q1", "q2", "q3", "q4")
        graded = grade_answers(every, SOLUTIONS, secret=SECRET, sandbox=one)
        assert graded.earned == every.points
        assert graded.tier == tier


def test_the_check_fails_when_the_sandbox_is_switched_off():
    with Sandbox("D", limits=QUICK, trusted=True) as off:
        found = breaches(off)
    assert {"reads_files", "writes_files", "deletes_files", "leaves_files"} <= set(
        found
    )


def test_a_tier_that_is_not_tight_is_not_used(monkeypatch):
    real = module.room
    monkeypatch.setattr(module, "room", lambda tier, *more: real("D", *more))
    monkeypatch.setattr(module, "missing_tools", lambda tier: [])
    with pytest.raises(SandboxError, match=r"tier A is not tight: .*reads_files"):
        choose_sandbox(limits=QUICK, tiers="A")


@pytest.fixture
def without(monkeypatch):
    """Return a function that takes programs off the path, or puts broken ones there."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # a user of no rights looks there too
        for place in ("/usr/sbin", "/usr/bin", "/sbin", "/bin"):
            for tool in Path(place).iterdir():
                if not (there := Path(folder, tool.name)).is_symlink():
                    there.symlink_to(tool)

        def take(*tools: str, broken: bool = False) -> None:
            for tool in tools:
                there = Path(folder, tool)
                there.unlink(missing_ok=True)
                if broken:
                    there.write_text(f"#!/bin/sh\necho no {tool} today >&2\nexit 1\n")
                    there.chmod(0o755)

        monkeypatch.setenv("PATH", folder)
        yield take


def test_without_bubblewrap_tier_b_is_as_fair(without):
    without("bwrap")
    with choose_sandbox(limits=QUICK) as one:
        assert one.tier == "B"
        for kind in CORE:
            code, fair, _ = HOSTILE[kind]
            answers = SOLUTIONS | {"q1": code}
            graded = grade_answers(exercise(), answers, secret=SECRET, sandbox=one)
            assert graded.earned == fair + 6, kind
            assert graded.complete


def test_without_namespaces_only_tier_c_is_left(without):
    without("bwrap", "unshare", broken=True)
    with pytest.raises(SandboxError) as caught:
        choose_sandbox(limits=QUICK, tiers="AB")
    assert "tier B does not start: no unshare today" in f"{caught.value}"
    assert "tier A does not start: no " in f"{caught.value}"
    if os.geteuid() != 0:
        with pytest.raises(SandboxError, match="tier C needs root"):
            choose_sandbox(limits=QUICK)
    elif not module._open_to_all(Path(sys.base_prefix).resolve()):
        with pytest.raises(SandboxError, match="tier C runs no code"):
            choose_sandbox(limits=QUICK)  # Python is root's own: nobody else runs it
    else:
        with choose_sandbox(limits=QUICK) as one:
            assert one.tier == "C"


# as in an image whose Python everybody may run: root's own is moved to where they may
OPENED = """
set -e
mkdir -p "$1/kept" && mount --bind "$2" "$1/kept"
top=/$(echo "$2" | cut -d/ -f2)
case "$2" in /root/*) mount -t tmpfs -o mode=755 opened "$top"; mkdir -p "$2" ;; esac
mount --bind "$1/kept" "$2"
shift 2
exec "$@"
"""
IN_TIER_C = """
import json
from pathlib import Path
from border_exercise import SECRET, SOLUTIONS, exercise
from hostile_answers import CORE, HOSTILE
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.nursery import FIRST_UID

quick = Limits(cpu=0.5, idle=0.5, wall=60.0, memory=256 << 20)
with choose_sandbox(limits=quick, tiers="C") as one:
    earned = {
        kind: grade_answers(
            exercise(), SOLUTIONS | {"q1": HOSTILE[kind][0]}, secret=SECRET, sandbox=one
        ).earned
        for kind in CORE
    }
owners = [path.lstat().st_uid for path in Path("/tmp").iterdir()]
left = sum(FIRST_UID < uid < FIRST_UID + 256 for uid in owners)
print(json.dumps([one.tier, earned, left]))
"""


def test_a_second_user_is_enough_where_there_are_no_namespaces(tmp_path):
    if os.geteuid() != 0:
        with pytest.raises(SandboxError, match="tier C needs root"):
            Sandbox("C")
        return
    base = Path(sys.base_prefix).resolve()
    opened = ["unshare", "--mount", "sh", "-c", OPENED, "sh", str(tmp_path), str(base)]
    ran = subprocess.run(
        [*opened, sys.executable, "-c", IN_TIER_C],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path[1:])},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    tier, earned, left = json.loads(ran.stdout)
    assert tier == "C"
    assert left == 0
    assert earned == {kind: 6 + HOSTILE[kind][1] for kind in CORE}


def test_tier_c_insists_that_tests_are_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "_open_to_all", lambda path: path.name == "open.md")
    with pytest.raises(SandboxError, match=r"open\.md can be read by everybody"):
        Sandbox("C", hidden=(tmp_path / "shut.md", tmp_path / "open.md"))
    Sandbox("C", hidden=(tmp_path / "shut.md",)).close()


def test_who_can_read_a_file(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    file = folder / "tests.md"
    file.write_text("x")
    file.chmod(0o644)
    parents = all(p.stat().st_mode & 1 for p in tmp_path.resolve().parents)
    reachable = parents and bool(tmp_path.stat().st_mode & 1)
    assert module._open_to_all(file) == reachable
    usr = Path("/usr/bin/env")
    assert module._open_to_all(usr)
    file.chmod(0o640)
    assert not module._open_to_all(file)


def test_tier_d_is_refused_and_says_why():
    with pytest.raises(
        SandboxError, match=r"not isolated.*--i-trust-these-submissions"
    ):
        Sandbox("D")
    with pytest.raises(ValueError, match="tier='E' must be A, B, C or D"):
        Sandbox("E")


def test_no_tier_at_all_is_refused_unless_submissions_are_trusted(monkeypatch):
    monkeypatch.setattr(module, "missing_tools", lambda tier: [f"tool-{tier}"])
    with pytest.raises(SandboxError, match="tier A needs tool-A; tier B needs tool-B"):
        choose_sandbox(tiers="AB")
    monkeypatch.setattr(module, "missing_tools", lambda tier: ["x"] * (tier != "D"))
    with choose_sandbox(trusted=True, tiers="AB") as chosen:
        assert chosen.tier == "D"


def test_a_sandbox_that_does_not_start_says_why(monkeypatch):
    real = module.room

    def broken(tier, stage, fd):
        made = real(tier, stage, fd)
        command = ("sh", "-c", "echo bwrap: no luck today >&2; exit 1")
        return type(made)(command, made.environment)

    monkeypatch.setattr(module, "room", broken)
    with Sandbox("D", trusted=True) as one:
        with pytest.raises(SandboxError, match="does not start: bwrap: no luck today"):
            one.spawn()
        graded = grade_answers(exercise(), SOLUTIONS, secret=SECRET, sandbox=one)
    assert {o.status for o in graded.outcomes} == {"ungraded"}
    assert not graded.complete
    assert "no luck today" in graded.outcomes[0].note


def test_walls_that_cannot_be_put_up_are_a_fault_of_the_machine(sandbox, monkeypatch):
    monkeypatch.setattr(sandbox, "limits", Limits(disk=1 << 70))  # no limit is so large
    with pytest.raises(
        SandboxError, match=r"no worker could be started: OverflowError"
    ):
        sandbox.spawn()
    graded = grade_answers(exercise(), SOLUTIONS, secret=SECRET, sandbox=sandbox)
    assert {o.status for o in graded.outcomes} == {"ungraded"}


def test_a_killed_preloaded_process_is_started_again(sandbox):
    sandbox.spawn().close()
    sandbox._nursery.kill()
    sandbox._nursery.wait()
    graded = grade_answers(exercise(), SOLUTIONS, secret=SECRET, sandbox=sandbox)
    assert graded.earned == 10


def test_a_worker_killed_for_its_memory_has_died_and_nothing_else_has(sandbox):
    # the kernel kills whom it likes least: that is to be the worker, and it alone
    link = sandbox.spawn()
    nursery, worker = sandbox._nursery.pid, link._line._process.number
    assert Path(f"/proc/{worker}/oom_score_adj").read_text() == "1000\n"
    ours = Path("/proc/self/oom_score_adj").read_text()
    assert Path(f"/proc/{nursery}/oom_score_adj").read_text() == ours
    link.close()
    with ThreadPoolExecutor() as pool:
        killing = pool.submit(_kill_next, sandbox)
        code = "def double(x):\n    while x.ndim == 1: pass\n    return 2 * x\n"
        graded = grade_answers(
            exercise(), SOLUTIONS | {"q1": code}, secret=SECRET, sandbox=sandbox
        )
        assert killing.result() > 0
    assert [o.status for o in graded.outcomes] == ["died"] + ["passed"] * 4
    assert sandbox._nursery.pid == nursery
    assert sandbox._nursery.poll() is None


def _kill_next(sandbox) -> int:
    """Kill the next worker that computes for a while, as the kernel would."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for path in Path("/proc").glob("[0-9]*/oom_score_adj"):
            try:
                busy = path.read_text() == "1000\n" and _below(path, sandbox)
                if busy and time.clock_gettime(~int(path.parent.name) << 3 | 2) > 0.15:
                    os.kill(int(path.parent.name), signal.SIGKILL)
                    return int(path.parent.name)
            except OSError:
                continue  # it has just ended
        time.sleep(0.005)
    return 0


def _below(path: Path, sandbox) -> bool:
    """Return whether a process is a descendant of a sandbox's."""
    pid = int(path.parent.name)
    while pid > 1 and pid != sandbox._nursery.pid:
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
    return pid == sandbox._nursery.pid


@pytest.mark.parametrize("handle", [True, False])
def test_ending_a_process_twice_ends_nothing_else(handle, monkeypatch):
    child = subprocess.Popen(["sleep", "1000"])
    process = Process(os.pidfd_open(child.pid) if handle else None, child.pid)
    assert process.number == child.pid
    process.end()
    assert child.wait() == -signal.SIGKILL
    assert process.number == 0
    # once more, it would be our own group that the kernel takes 0 for
    monkeypatch.setattr(os, "kill", lambda *to: pytest.fail(f"killed {to}"))
    monkeypatch.setattr(
        signal, "pidfd_send_signal", lambda *to: pytest.fail(f"killed {to}")
    )
    process.end()


def test_what_the_course_imports_is_imported_once():
    with Sandbox("D", limits=QUICK, trusted=True) as one:
        code = "import sys\nfound = 'xml.dom.pulldom' in sys.modules\n"
        for modules, found in (
            ((), False),
            (("xml.dom.pulldom", "no_such_module"), True),
            ((), True),
        ):
            link = one.spawn(modules)
            link.ask({"op": "load"}, ("<code>", code, []))
            assert namespace(link).found is found
            link.close()
    given = "import numpy as np, torch.nn\nfrom xml.dom import pulldom\nx = 1\n"
    assert imported(given) == ("numpy", "torch.nn", "xml.dom")


def test_workers_do_not_share_anything(sandbox):
    one = loaded(
        sandbox, "import os, torch\nopen('/tmp/note', 'w').write('x')\nx = 1\n"
    )
    other = loaded(sandbox, "import os\nfound = os.path.exists('/tmp/note')\n")
    assert namespace(other).found is False
    with pytest.raises(AttributeError):
        _ = namespace(other).x
    one.close()
    other.close()


def test_a_worker_knows_nothing(sandbox):
    os.environ["A_SECRET_OF_OURS"] = SECRET
    try:
        link = loaded(
            sandbox,
            "import os\nenv = ' '.join(os.environ.values())\npid = os.getpid()\n"
            "def alive(fd):\n    os.fstat(fd)\n",
        )
        S = namespace(link)
        assert SECRET not in S.env
        assert S.pid == 1 or sandbox.tier == "C"  # alone in its world
        for fd in range(4, 20):
            with pytest.raises(OSError, match="Bad file descriptor"):
                S.alive(fd)
        link.close()
    finally:
        del os.environ["A_SECRET_OF_OURS"]


SPIN = "import time\ndef spin(s):\n    end = time.process_time() + s\n"
SPIN += "    while time.process_time() < end: pass\n    return 1\n"


def test_cpu_seconds_decide(sandbox):
    link = loaded(sandbox, SPIN)
    assert namespace(link).spin(0.2) == 1
    with pytest.raises(WorkerLost, match="timeout"):
        namespace(link).spin(30)
    assert link.lost == "timeout"
    with pytest.raises(WorkerLost, match="timeout"):
        _ = namespace(link).spin


def test_the_calls_of_one_test_share_its_seconds(sandbox):
    link = loaded(sandbox, SPIN)
    link.begin(0)
    for _ in range(3):
        namespace(link).spin(0.1)
    with pytest.raises(WorkerLost, match="timeout"):
        namespace(link).spin(0.3)  # on its own it would be allowed
    link = loaded(sandbox, SPIN)
    for _ in range(20):
        link.begin(0)
        namespace(link).spin(0.05)
    link.close()


def test_a_stopped_machine_is_nobodys_fault(sandbox):
    link = loaded(sandbox, SPIN)
    line = link._line
    line._process.waiting = lambda: False  # it wants to run, and is not let
    object.__setattr__(sandbox, "limits", QUICK)
    line._limits = Limits(cpu=0.5, idle=0.3, wall=1.5)
    line._process.cpu = lambda: 0.0
    with pytest.raises(WorkerLost, match="ungraded"):
        namespace(link).spin(60)


def test_a_little_work_now_and_then_is_no_excuse_for_waiting(sandbox):
    code = "import time\ndef drip():\n    while True:\n"
    code += "        t = time.perf_counter()\n"
    code += "        while time.perf_counter() < t + 0.0003: pass\n"
    link = loaded(sandbox, code + "        time.sleep(0.008)\n")
    with pytest.raises(WorkerLost, match="timeout"):
        namespace(link).drip()


def test_a_grader_that_was_stopped_blames_nobody(sandbox):
    link = loaded(sandbox, "import time\ndef f(): time.sleep(0.1)\n")
    line, select = link._line, link._line._wait

    def stopped(**how):
        select(**how)
        line._wait = select
        time.sleep(3 * QUICK.idle)

    line._wait = stopped
    assert namespace(link).f() is None
    link.close()


def test_our_own_time_is_not_the_workers(sandbox):
    link = loaded(sandbox, "def f(g): return g(1)\n")
    time.sleep(2 * QUICK.idle)

    def slow(x):
        time.sleep(2 * QUICK.idle)
        return x + 1

    assert namespace(link).f(slow) == 2
    link.close()


def test_limits_are_checked():
    with pytest.raises(ValueError, match=r"cpu=0 must be positive"):
        Limits(cpu=0)
    with pytest.raises(ValueError, match=r"wall=10 must be several times cpu=5.0"):
        Limits(wall=10)
