"""Three hundred submissions, thirty hostile: killed in the middle, then finished."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import border_class
from border_class import hand_in, notebook
from border_exercise import SECRET, SOLUTIONS, exercise
from hostile_answers import HOSTILE
from unrolled.grading.course.names import unique_name

pytestmark = pytest.mark.slow  # a minute: loops have to be waited for

#: What is graded beside them; most computes nothing for long.
KINDS = (
    *("loops", "loops when loaded", "loops once", "exits", "exits hard"),
    *("exits hard once", "crashes", "aborts", "kills all", "kills its parent"),
    *("takes memory", "takes memory slowly", "recurses", "patches comparisons"),
    *("lies by a tensor", "lies by an object", "looks at frames", "deletes files"),
    *("reads the tests", "forks", "forks by C", "starts threads", "leaves a daemon"),
    *("runs a program", "fills the disk", "follows a link", "forges marks"),
    *("sends broken JSON", "replies with a pickle", "imports the grader"),
)
BENIGN = {
    SOLUTIONS["q1"]: 4,
    "def double(x):\n    return x + x\n": 4,
    "def double(x):\n    return x\n": 0,
    "def double(x):\n    return torch.tensor([2.0])\n": 1,
    "": 0,
}


def the_class(folder: Path) -> dict[str, int]:
    """Write 300 submissions; return what each has earned, known in advance."""
    fair = {}
    for n in range(270):
        code, points = list(BENIGN.items())[n % len(BENIGN)]
        fair[f"student {n:03}"] = points
        hand_in(folder / f"student {n:03}.ipynb", notebook({"q1": f"# {n}\n{code}"}))
    for n, kind in enumerate(KINDS):
        code, points, _ = HOSTILE[kind]
        fair[f"student {9 * n:03}x"] = points  # spread among the others
        hand_in(folder / f"student {9 * n:03}x.ipynb", notebook({"q1": code}))
    return fair


def start(folder: Path, out: Path, jobs: int) -> subprocess.Popen:
    here = Path(border_class.__file__)
    command = [sys.executable, str(here), str(folder), str(out), str(jobs)]
    paths = [str(here.parent), *(path for path in sys.path if path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def of_run(folder: Path) -> list[int]:
    """Return the processes of runs over a folder, and so of their graders."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it has just ended
    return found


def until(condition) -> None:
    """Wait until something holds, for as long as a busy machine may need."""
    for _ in range(6_000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


def stored(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in out.glob("results/*.json")}


def test_three_hundred_submissions_killed_and_resumed(tmp_path):
    folder, out = tmp_path / "submissions", tmp_path / "out"
    fair = the_class(folder)
    assert len(fair) == 300
    assert len(KINDS) == 30
    run = start(folder, out, 2)
    until(lambda: len(stored(out)) >= 120)
    assert run.poll() is None
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()
    until(lambda: not of_run(folder))  # its graders go when it is gone
    before = stored(out)
    assert 120 <= len(before) < 300
    assert all(json.loads((out / "results" / name).read_text()) for name in before)
    again = start(folder, out, 2)
    said, _ = again.communicate()
    assert again.returncode == 0
    assert json.loads(said) == [300, 300 - len(before)]
    after = stored(out)
    assert {name: after[name] for name in before} == before
    assert after.keys() == {f"{unique_name(student)}.json" for student in fair}
    found, notes = {}, ""
    for name in after:
        text = (out / "results" / name).read_text()
        record = json.loads(text)["record"]
        found[record["student"]] = sum(one["earned"] for one in record["outcomes"])
        statuses = {one["status"] for one in record["outcomes"]}
        assert "ungraded" not in statuses
        hidden = [one for one in record["outcomes"] if one["test"] == "test_random"]
        notes += hidden[0]["note"]
        assert SECRET not in text
    assert found == fair
    assert "LEAK" not in notes
    assert exercise("q1").questions["q1"].hidden[0].source not in notes
    assert not of_run(folder)
