"""A run over a class: nothing is lost, nothing counts twice, faults are no zeros."""

import contextlib
import json
import os
import signal
import time
from dataclasses import replace

import pytest

from border_class import QUICK, hand_in, notebook
from border_exercise import SECRET, SOLUTIONS, exercise
from unrolled.grading.course import graders, grading, results
from unrolled.grading.course.graders import Job
from unrolled.grading.course.grading import grade_pile, share
from unrolled.grading.course.pile import read_pile
from unrolled.grading.course.records import Course
from unrolled.grading.course.results import check_out
from unrolled.grading.course.scores import results_json, scores_csv
from unrolled.grading.engine.outcomes import Graded, of_test
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.rooms import missing_tools

ONLY = exercise("q1")
TIER = "B" if missing_tools("A") else "A"
ANSWERS = {
    "anna": SOLUTIONS["q1"],
    "Anna": "def double(x): return x + 1\n",
    "ben": "def double(x): return torch.tensor([2.0])\n",
    "carl": "",
    "dora": "import os\ndef double(x): os._exit(0)\n",
    "emil": "def double(x): return [y + y for y in x]\n",
    "fay": "def double(x): raise ValueError(str(x))\n",
}
EARNED = {"anna": 4, "Anna": 1, "ben": 1, "carl": 0, "dora": 0, "emil": 0, "fay": 0}


@pytest.fixture
def submissions(tmp_path):
    folder = tmp_path / "submissions"
    for name, code in ANSWERS.items():
        hand_in(folder / f"{name}.ipynb", notebook({"q1": code}))
    return folder


@pytest.fixture
def quick(monkeypatch):
    """Take the best sandbox without trying it: other tests do."""

    def choose(*, limits, trusted, hidden):
        return Sandbox(TIER, limits=limits, hidden=hidden)

    monkeypatch.setattr(graders, "choose_sandbox", choose)


@pytest.fixture
def log(monkeypatch, tmp_path):
    """Grade by the length of an answer, with no sandbox, and write down what."""
    path = tmp_path / "graded"

    class House:
        tier = "A"

    def choose(**_):
        return contextlib.nullcontext(House)

    def grade(of, answers, *, secret, sandbox):
        code = answers["q1"]
        with path.open("a") as file:
            file.write(json.dumps(code) + "\n")
        if "die" in code:
            os.kill(os.getpid(), signal.SIGKILL)
        if "fault" in code:
            raise ZeroDivisionError("LEAK")
        if "hang" in code:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1_000)
        status = "ungraded" if "busy" in code else "passed"
        tests = [*of.questions["q1"].visible, *of.questions["q1"].hidden]
        found = tuple(of_test(test, status, f"{len(code)}") for test in tests)
        return Graded(outcomes=found, tier=sandbox.tier)

    monkeypatch.setattr(graders, "choose_sandbox", choose)
    monkeypatch.setattr(graders, "_sandbox", lambda job, tier: choose())
    monkeypatch.setattr(graders, "grade_answers", grade)

    def graded():
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(map(json.loads, lines))

    return graded


def job_of(folder, out, **more):
    check_out(out, ONLY, resume=True)
    entries = {
        "exercise": ONLY,
        "submissions": read_pile(folder, more.get("exercise", ONLY)).submissions,
        "secret": SECRET,
        "out": out,
        "limits": QUICK,
    }
    return Job(**entries | more)


def run(submissions, out, *, jobs=1, **more):
    records = tuple(grade_pile(job_of(submissions, out, **more), jobs=jobs))
    return Course(exercise=more.get("exercise", ONLY), records=records)


def earned(course):
    return {record.student: record.earned for record in course.records}


def stored(out):
    return {path.name: path.stat().st_mtime_ns for path in (out / "results").iterdir()}


def test_a_class_is_graded_in_a_real_sandbox(quick, submissions, tmp_path):
    out = tmp_path / "out"
    course = run(submissions, out, jobs=2)
    assert earned(course) == EARNED
    assert {record.tier for record in course.records} == {TIER}
    assert len(stored(out)) == len(ANSWERS)
    for path in (out / "results").iterdir():
        assert SECRET not in path.read_text()
    assert SECRET not in results_json(course)


def test_a_sandbox_that_does_not_start_is_nobodys_zero(
    quick, submissions, tmp_path, monkeypatch
):
    def spawn(self, *_):
        raise SandboxError("no worker could be started: no luck")

    monkeypatch.setattr(Sandbox, "spawn", spawn)
    broken = run(submissions, tmp_path / "out", jobs=2)
    status = {one.student: one.complete for one in broken.records}
    assert status == {name: name == "carl" for name in ANSWERS}  # who gave no answer
    assert "no luck" in broken.records[0].outcomes[0].note
    assert "UNGRADED" in scores_csv(broken)
    assert list(stored(tmp_path / "out")) == [results.unique_name("carl") + ".json"]
    monkeypatch.undo()
    monkeypatch.setattr(graders, "choose_sandbox", lambda **_: Sandbox(TIER))
    assert earned(run(submissions, tmp_path / "out")) == EARNED


def test_no_sandbox_at_all_is_told_before_anything_runs(
    submissions, tmp_path, monkeypatch
):
    def choose(**_):
        raise SandboxError("tier A needs bwrap")

    monkeypatch.setattr(graders, "choose_sandbox", choose)
    with pytest.raises(SandboxError, match="tier A needs bwrap"):
        run(submissions, tmp_path / "out")
    assert stored(tmp_path / "out") == {}
    monkeypatch.setattr(graders, "choose_sandbox", lambda **_: os._exit(1))
    with pytest.raises(SandboxError, match="came to an end before it had a sandbox"):
        run(submissions, tmp_path / "out")


def test_the_real_choice_is_made_by_the_first_grader(monkeypatch):
    asked = []

    def choose(**more):
        asked.append(more)
        raise SandboxError("none")

    monkeypatch.setattr(graders, "choose_sandbox", choose)
    job = Job(exercise=ONLY, submissions=(), secret=SECRET, out=None, hidden=("x",))
    with pytest.raises(SandboxError):
        graders._sandbox(job, "")
    assert asked == [{"limits": job.limits, "trusted": False, "hidden": ("x",)}]
    assert graders.choose_sandbox is not choose_sandbox
    with pytest.raises(SandboxError, match="--i-trust-these-submissions"):
        graders._sandbox(job, "D")
    graders._sandbox(replace(job, trusted=True), "D").close()


def test_a_second_run_grades_only_what_has_changed(log, submissions, tmp_path):
    out = tmp_path / "out"
    first = run(submissions, out, jobs=3)
    codes = sorted(code.strip() for code in ANSWERS.values())
    assert [code.strip() for code in log()] == codes
    before = stored(out)
    assert run(submissions, out) == first
    assert log() == []
    assert stored(out) == before
    hand_in(submissions / "ben.ipynb", notebook({"q1": "new = 1\n"}))
    hand_in(submissions / "gus.ipynb", notebook({"q1": "gus = 1\n"}))
    (submissions / "fay.ipynb").unlink()
    again = run(submissions, out)
    assert [code.strip() for code in log()] == ["gus = 1", "new = 1"]
    assert "fay" not in earned(again)
    (submissions / "anna.ipynb").rename(submissions / "anna-99-border.ipynb")
    moved = run(submissions, out)
    assert log() == []
    files = {record.student: record.file for record in moved.records}
    assert files["anna"] == "anna-99-border.ipynb"


@pytest.mark.parametrize(
    "what", ["secret", "tests", "limits", "digest", "version", "grader"]
)
def test_results_of_other_grounds_are_made_again(
    what, log, submissions, tmp_path, monkeypatch, request
):
    out = tmp_path / "out"
    run(submissions, out)
    log()
    more = {}
    if what == "secret":
        more = {"secret": SECRET + "2"}
    elif what == "limits":
        more = {"limits": replace(QUICK, cpu=0.6)}
    elif what == "digest":
        more = {"exercise": replace(ONLY, digest="1" * 64)}
    elif what == "version":
        monkeypatch.setattr(results.torch, "__version__", "0.0")
    elif what == "grader":
        monkeypatch.setattr(results.grading, "__file__", str(tmp_path / "mended.py"))
        results._source_digest.cache_clear()
        request.addfinalizer(results._source_digest.cache_clear)
    else:
        q1 = ONLY.questions["q1"]
        new = replace(q1.hidden[0], source=q1.hidden[0].source + "    pass\n")
        questions = {"q1": replace(q1, hidden=(new,))}
        more = {"exercise": replace(ONLY, questions=questions)}
    run(submissions, out, **more)
    assert len(log()) == len(ANSWERS)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": 3}', b"\xff", None])
def test_a_damaged_result_is_made_again(damage, log, submissions, tmp_path):
    out = tmp_path / "out"
    first = run(submissions, out)
    log()
    path = out / "results" / f"{results.unique_name('ben')}.json"
    if damage is None:
        plain = json.loads(path.read_text())
        plain["record"]["outcomes"][0]["status"] = "ungraded"
        damage = json.dumps(plain).encode()
    path.write_bytes(damage)
    assert run(submissions, out) == first
    assert len(log()) == 1


def test_faults_cost_nobody_else_and_are_tried_again(log, submissions, tmp_path):
    out = tmp_path / "out"
    for name, code in (("x", "die"), ("y", "fault"), ("z", "busy")):
        hand_in(submissions / f"{name}.ipynb", notebook({"q1": f"{code} = 1"}))
    course = run(submissions, out, jobs=2)
    tries = [code.strip() for code in log()]
    assert all(tries.count(f"{word} = 1") == 2 for word in ("die", "fault", "busy"))
    open_ = {one.student: one for one in course.records if not one.complete}
    assert set(open_) == {"x", "y", "z"}
    assert "the grader came to an end" in open_["x"].outcomes[0].note
    assert "ZeroDivisionError" in open_["y"].outcomes[0].note
    assert "LEAK" not in results_json(course)
    assert len(open_["x"].outcomes) == len(course.records[0].outcomes)
    assert len(stored(out)) == len(ANSWERS)
    run(submissions, out)
    assert len(log()) == 6


def test_a_grader_that_hangs_stops_nobody(log, submissions, tmp_path, monkeypatch):
    job = job_of(submissions, tmp_path / "out")
    assert graders.longest(job) == 3 * QUICK.wall  # two tests, and one for good measure
    monkeypatch.setattr(grading, "longest", lambda job: 2.0)
    monkeypatch.setattr(grading, "_LOOK", 0.1)
    monkeypatch.setattr(grading, "_PATIENCE", 0.1)
    hand_in(submissions / "a.ipynb", notebook({"q1": "hang = 1"}))
    course = run(submissions, tmp_path / "out", jobs=2)
    open_ = {one.student: one for one in course.records if not one.complete}
    assert set(open_) == {"a"}
    assert "the grader hung" in open_["a"].outcomes[0].note
    assert [code.strip() for code in log()].count("hang = 1") == 2
    assert len(stored(tmp_path / "out")) == len(ANSWERS)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_shares_make_the_whole(n, log, submissions, tmp_path):
    every = read_pile(submissions, ONLY).submissions
    parts = [share(every, k, n) for k in range(1, n + 1)]
    assert sorted(one.student for part in parts for one in part) == sorted(ANSWERS)
    out = tmp_path / "out"
    for part in parts:
        list(grade_pile(job_of(submissions, out, submissions=part)))
    assert len(log()) == len(ANSWERS)
    whole = run(submissions, out)
    assert log() == []
    assert whole == run(submissions, tmp_path / "alone")


def test_shares_and_jobs_that_do_not_exist(submissions, tmp_path):
    for k, n in ((0, 2), (3, 2), (1, 0)):
        with pytest.raises(ValueError, match=f"shard {k}/{n} must be one of"):
            share([], k, n)
    with pytest.raises(ValueError, match="jobs=0 must be at least 1"):
        run(submissions, tmp_path / "out", jobs=0)


def test_a_run_that_is_left_leaves_no_grader(log, submissions, tmp_path):
    records = grade_pile(job_of(submissions, tmp_path / "out"), jobs=3)
    next(records)
    children = grading._PROCESSES.active_children()
    assert children
    records.close()
    assert not any(child.is_alive() for child in children)
    assert grading._PROCESSES.active_children() == []


def test_where_results_may_go(log, submissions, tmp_path):
    out = tmp_path / "out"
    check_out(out, ONLY, resume=False)
    assert (out / "results").is_dir()
    check_out(out, ONLY, resume=False)  # nothing came of it
    run(submissions, out)
    with pytest.raises(ValueError, match="is not empty: name a new folder, or add"):
        check_out(out, ONLY, resume=False)
    other = replace(ONLY, name="98-other")
    with pytest.raises(ValueError, match="holds results of 99-border, not of 98-other"):
        check_out(out, other, resume=True)
    strange = tmp_path / "strange"
    (strange / "photos").mkdir(parents=True)
    with pytest.raises(ValueError, match="holds no results of a grading"):
        check_out(strange, ONLY, resume=True)
    with pytest.raises(ValueError, match="is a file: name a folder"):
        check_out(submissions / "ben.ipynb", ONLY, resume=True)
