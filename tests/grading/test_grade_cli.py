"""``unrolled grade``: from a folder of notebooks to scores and pages, and its words."""

import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unrolled.cli import app, grade_runs, grade_selftest
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course import graders
from unrolled.grading.course.manual import FORMAT, answer_digest
from unrolled.grading.course.results import FOLDER
from unrolled.grading.engine.outcomes import Graded, of_test
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.handing_in import Found, submit_notebook
from unrolled.grading.sandbox.house import SandboxError

FIXTURES = Path(__file__).parent / "fixtures"
NAME = "12-self-attention"
SOURCE = FIXTURES / f"{NAME}.md"
RIGHT = "def causal_mask(T):\n    return torch.ones(T, T).bool().tril()\n"
THREE = "def causal_mask(T):\n    return torch.ones(3, 3).bool().tril()\n"
LOUD = "def causal_mask(T):\n    raise ValueError(f'LEAK{T}')\n"
WORDS = "<script>alert(1)</script> =1+1 since the rows do not sum to one"
SECRET = "the-secret-of-this-course-7f3a"
CANARY = 31_415
PRIVATE = f'''```{{code-cell}}
:tags: [hidden]
:question: q1

def test_of_this_year(S, rng):
    """points: 2 | catches: a mask with its corners mixed up"""
    assert S.causal_mask(5)[4, 0] and {CANARY}
```
'''
#: What is handed in: name, answer, words, and the points of the tests.
CLASS = {
    "Anna": (RIGHT, WORDS, 6),
    "anna": (THREE, "", 1),
    "Zoë Müller": (LOUD, "no idea", 0),
    "..": (RIGHT, "", 6),
    "=cmd|' -C calc'!A0": ("def causal_mask(T) return", "", 0),
    "<img src=x onerror=alert(1)>": ("", WORDS, 0),
    "red\x1b[31m\n": ("import os\nos._exit(0)\n", "", 0),
}
SHOWN = {"red\x1b[31m\n": r"red\x1b[31m\x0a"}


def hand_in(folder: Path, name: str, code: str, words: str) -> Path:
    """Do as a student does: answer, submit, and give the file one's name."""
    book = student_notebook(read_exercise(SOURCE))
    for cell in book.cells:
        if cell.metadata["unrolled"]["role"] == "answer":
            code_cell = cell.cell_type == "code"
            cell.source = (code if code_cell else words) or cell.source
    folder.mkdir(parents=True, exist_ok=True)
    submit_notebook(Found(notebook=book, folder=folder, source="here"))
    written = folder / f"{NAME}.submission.ipynb"
    book = json.loads(written.read_text(encoding="utf-8"))
    seal = book["metadata"]["unrolled"]["submission"]
    seal["time"] = "2026-11-16T12:00:00+00:00"
    written.unlink()
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    return path


def the_class(folder: Path, order=tuple(CLASS)) -> Path:
    for name in order:
        hand_in(folder, name, *CLASS[name][:2])
    hand_in(folder / "anna", "again", RIGHT, "")  # who is anna, too
    (folder / "anna.ipynb").touch()
    (folder / "broken.ipynb").write_text("{")
    (folder / "essay.docx").write_text("x")
    shutil.copy(folder / "Anna.ipynb", folder / f"{NAME}.ipynb")
    book = json.loads((folder / "Anna.ipynb").read_text(encoding="utf-8"))
    book["metadata"]["unrolled"]["submission"]["time"] = ""
    (folder / "anna" / "again.ipynb").write_text(json.dumps(book), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a folder with an exercise, private tests and a secret."""
    home = tmp_path_factory.mktemp("course")
    for folder in ("exercises", "private"):
        (home / folder).mkdir()
    for source in FIXTURES.glob("*.md"):
        shutil.copy(source, home / "exercises")
    (home / "private" / SOURCE.name).write_text(PRIVATE)
    (home / "secret").write_text(SECRET + "\n")
    (home / "secret").chmod(0o600)
    return home


def call(course, *words):
    settings = {
        "UNROLLED_EXERCISES": str(course / "exercises"),
        "XDG_CONFIG_HOME": str(course / "settings"),
        "COLUMNS": "200",
    }
    result = CliRunner().invoke(app, ["grade", *map(str, words)], env=settings)
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert SECRET not in result.output
    assert "\x1b" not in result.output
    return result


def options(course):
    return ["--secret", course / "secret", "--private", course / "private"]


@pytest.fixture(scope="module")
def graded(course):
    """Grade the class once, in a real sandbox, and return what was said and written."""
    folder, out = the_class(course / "submissions"), course / "out"
    told = call(course, "12", folder, "-o", out, *options(course))
    return told, folder, out


@pytest.fixture
def out(graded, tmp_path):
    """Return a copy of the folder that was written."""
    return Path(shutil.copytree(graded[2], tmp_path / "out"))


@pytest.fixture
def asleep(monkeypatch):
    """Let no answer run: whoever wants a sandbox fails."""

    def choose(**_):
        raise SandboxError("somebody wants to run code")

    monkeypatch.setattr(graders, "choose_sandbox", choose)


@pytest.fixture
def pretend(monkeypatch):
    """Grade without a sandbox; an answer that says "busy" cannot be graded."""

    class House:
        tier = "A"

    def grade(exercise, answers, *, secret, sandbox):
        status = "ungraded" if "busy" in answers["q1"] else "passed"
        tests = [*exercise.questions["q1"].visible, *exercise.questions["q1"].hidden]
        outcomes = tuple(of_test(test, status, "a note") for test in tests)
        return Graded(outcomes=outcomes, tier="A")

    house = contextlib.nullcontext(House)
    monkeypatch.setattr(graders, "_sandbox", lambda job, tier: house)
    monkeypatch.setattr(graders, "grade_answers", grade)


def rows(out):
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        return {row["student"].lstrip("'"): row for row in csv.DictReader(file)}


def files(out):
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }


def test_a_class_is_graded(graded):
    told, _, out = graded
    assert told.exit_code == 0
    assert f"{NAME}: 7 submissions graded." in told.output
    assert "Sandbox: tier" in told.output
    scores = rows(out)
    for name, (_, words, points) in CLASS.items():
        row = scores[SHOWN.get(name, name)]
        assert row["q1"] == f"{points}"
        assert row["of"] == "8"
        assert row["q2"] == ("" if words else "0")
        assert row["total"] == ("" if words else f"{points}")
        assert row["seal"] == "sealed"
    unread = scores.pop("broken")
    assert (unread["total"], unread["status"]) == ("", "nothing to grade")
    assert len(scores) == len(CLASS)
    assert "Answers in words to be marked: 3 students" in told.output
    assert sorted(path.name for path in out.iterdir()) == [
        *("feedback", "manual.html", "report.html"),
        *("results", "results.json", "scores.csv"),
    ]


def test_what_is_not_graded_is_listed_everywhere(graded):
    told, _, out = graded
    listed = json.loads((out / "results.json").read_text())["rejected"]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert [one["file"] for one in listed] == [
        *(f"{NAME}.ipynb", "anna/again.ipynb", "broken.ipynb", "essay.docx")
    ]
    assert "Not graded, 4:" in told.output
    for one in listed:
        assert f"  {one['file']}: {one['why']}" in told.output
        assert one["file"] in report


def test_every_student_has_a_page_of_their_own(graded):
    _, _, out = graded
    pages = {path.name for path in (out / "feedback").iterdir()}
    assert len({name.casefold() for name in pages}) == len(CLASS)
    assert len(list((out / FOLDER).iterdir())) == len(CLASS)
    assert "Zoë Müller.html" in pages
    assert not {"Anna.html", "anna.html"} & pages  # where case is no difference
    written = files(out).items()
    html = b"".join(data for name, data in written if name.endswith(".html"))
    assert b"<img src=x" not in html
    assert b"<script>alert" not in html


def test_nothing_of_the_secret_or_of_hidden_tests_gets_out(graded):
    _, _, out = graded
    hidden = read_exercise(SOURCE).questions["q1"].hidden[0].source
    line = next(one.strip() for one in hidden.splitlines() if "assert" in one)
    for name, data in files(out).items():
        text = data.decode()
        assert SECRET not in text
        assert str(CANARY) not in text, name
        assert line not in text
        assert "LEAK1" not in text
    assert not (out.parent / "settings").exists()


def test_runs_agree_to_the_byte(graded, course, tmp_path):
    # another folder, another order, two graders, and a machine that is busy
    _, _, out = graded
    other, two = tmp_path / "elsewhere", tmp_path / "two"
    the_class(other, order=tuple(reversed(CLASS)))
    spin = [sys.executable, "-c", "while True: pass"]
    load = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        told = call(course, "-j", "2", "12", other, "-o", two, *options(course))
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert told.exit_code == 0
    assert files(two) == files(out)


def marks_for(out, points, student="Anna", file="marks.json"):
    path = out.parent / file
    entry = {"student": student, "question": "q2", "points": points, "comment": "<b>"}
    entry["answer"] = answer_digest(WORDS)
    plain = {"format": FORMAT, "exercise": NAME, "marks": [entry]}
    path.write_text(json.dumps(plain))
    return path


def test_marks_are_merged_without_running_anything(course, out, asleep):
    before = files(out)
    told = call(course, "report", "12", out, "--marks", marks_for(out, 1.5))
    assert told.exit_code == 0
    assert rows(out)["Anna"]["total"] == "7.5"
    assert "to be marked: 2 students" in told.output
    changed = {name for name, data in files(out).items() if data != before[name]}
    assert {"scores.csv", "results.json", "manual.html"} <= changed
    assert sum(name.startswith("feedback") for name in changed) == 1
    again = marks_for(out, 2, student="<img src=x onerror=alert(1)>")
    assert call(course, "report", "12", out, "--marks", again).exit_code == 0
    assert rows(out)["Anna"]["total"] == "7.5"  # those of before stay
    assert rows(out)["<img src=x onerror=alert(1)>"]["total"] == "2"
    whole = files(out)
    assert call(course, "report", "12", out).exit_code == 0
    assert files(out) == whole


def test_a_run_that_resumes_keeps_marks_and_runs_nothing(graded, course, out, asleep):
    call(course, "report", "12", out, "--marks", marks_for(out, 1.5))
    whole = files(out)
    more = ["-o", out, "--resume", *options(course)]
    assert call(course, "12", graded[1], *more).exit_code == 0
    assert files(out) == whole
    (out / "scores.csv").unlink()
    (out / "feedback" / "gone.html").write_text("x")
    assert call(course, "12", graded[1], *more).exit_code == 0
    assert files(out) == whole
    (out / "results.json").unlink()  # as after a run that was killed
    bad = call(course, "12", graded[1], *more, "--marks", marks_for(out, 99))
    assert bad.exit_code == 1
    assert "points must be 0 to 2, not 99" in bad.output
    assert rows(out)["Anna"]["q1"] == "6"  # the rest is written


def test_without_the_private_tests_everything_is_graded_again(
    graded, course, out, asleep
):
    more = ["-o", out, "--resume", "--secret", course / "secret"]
    told = call(course, "12", graded[1], *more)
    assert told.exit_code == 3
    assert "Nothing was graded: somebody wants to run code" in told.output


def test_a_share_writes_results_and_the_last_run_merges(
    graded, course, tmp_path, pretend
):
    out, folder = tmp_path / "out", graded[1]
    more = ["-o", out, *options(course)]
    for k in (1, 2):
        told = call(course, "12", folder, *more, "--shard", f"{k}/2")
        assert told.exit_code == 0
        assert f"Share {k} of 2: {4 - (k == 2)} of 7 submissions." in told.output
        assert os.listdir(out) == [FOLDER]
    assert call(course, "12", folder, *more).exit_code == 1
    assert call(course, "12", folder, *more, "--resume").exit_code == 0
    assert len(rows(out)) == len(CLASS) + 1  # and who handed in a broken file


def test_faults_of_the_machine_are_listed_and_are_no_zeros(course, tmp_path, pretend):
    folder = tmp_path / "submissions"
    hand_in(folder, "anna", RIGHT, "")
    hand_in(folder, "ben", "busy = 1", "")
    out = tmp_path / "out"
    told = call(course, "12", folder, "-o", out, *options(course))
    assert told.exit_code == 3
    assert "UNGRADED by a fault of the machine, 1:\n  ben: a note\n" in told.output
    assert rows(out)["ben"]["q1"] == rows(out)["ben"]["status"] == "UNGRADED"
    assert rows(out)["ben"]["total"] == ""
    assert rows(out)["anna"]["total"] == "6"
    hand_in(folder, "ben", "mended = 1", "")
    told = call(course, "12", folder, "-o", out, "--resume", *options(course))
    assert told.exit_code == 0
    assert rows(out)["ben"]["total"] == "6"


def test_another_edition_is_graded_and_told(course, tmp_path, pretend):
    path = hand_in(tmp_path / "submissions", "anna", RIGHT, "")
    book = json.loads(path.read_text(encoding="utf-8"))
    book["metadata"]["unrolled"]["digest"] = "0" * 64
    path.write_text(json.dumps(book), encoding="utf-8")
    out = tmp_path / "out"
    told = call(course, "12", path.parent, "-o", out, *options(course))
    assert told.exit_code == 0
    assert "Made from another edition of the exercise: anna" in told.output
    assert rows(out)["anna"]["edition"] == "other"
    assert rows(out)["anna"]["seal"] == "sealed"


def test_a_secret_is_made_where_settings_are(course, tmp_path, pretend):
    hand_in(tmp_path / "submissions", "anna", RIGHT, "")
    told = call(course, "12", tmp_path / "submissions", "-o", tmp_path / "out")
    made = course / "settings" / "unrolled" / "course-secret"
    assert f"A new secret for your course: {made}." in told.output
    secret = made.read_text().strip()
    assert secret.encode() not in b"".join(files(tmp_path / "out").values())
    assert secret not in told.output
    shutil.rmtree(course / "settings")


def test_what_is_refused(graded, course, tmp_path, asleep):
    _, folder, done = graded
    (empty := tmp_path / "empty").mkdir()
    more = ["--secret", course / "secret"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    cases = [
        (["13", folder, "-o", empty], "there is no exercise '13'"),
        (["12", tmp_path / "none", "-o", empty], "must be a folder of submissions"),
        (["12", empty, "-o", tmp_path / "x"], f"there is nothing of {NAME} to grade"),
        (["12", folder, "-o", tmp_path / "full"], "is not empty"),
        (
            ["12", folder, "-o", done],
            "is not empty: name a new folder, or add --resume",
        ),
        (["12", folder, "-o", folder / "out"], "must be apart"),
        (["12", folder, "-o", course], "must be apart"),
        (["12", folder, "-o", empty, "--shard", "3/2"], "--shard 3/2: write 1/8"),
        (["12", folder, "-o", empty, "--shard", "x"], "--shard x: write 1/8"),
        (["12", folder, "-o", empty, "--private", empty], "no private tests for"),
        (["report", "12", empty], "grade first"),
        (["report", "90", done], f"it is of {NAME}, not of 90-all-kinds"),
        (
            ["report", "12", done, "--marks", tmp_path / "none"],
            "cannot be read as JSON",
        ),
    ]
    for words, complaint in cases:
        told = call(course, *words, *([] if words[0] == "report" else more))
        assert told.exit_code == 1, words
        assert complaint in told.output
    assert list(empty.iterdir()) == []
    inside = empty / "secret"
    told = call(course, "12", folder, "-o", empty, "--secret", inside)
    assert told.exit_code == 1
    assert "must not be in" in told.output
    assert call(course, "12", folder).exit_code == 2  # no -o
    other = [*("90", folder, "-o", done, "--resume"), *more]
    assert "there is nothing of 90-all-kinds" in call(course, *other).output


def test_an_edition_without_tests_cannot_grade(graded, course, tmp_path):
    (tmp_path / "exercises").mkdir()
    shutil.copy(graded[1] / "Anna.ipynb", tmp_path / "exercises" / f"{NAME}.ipynb")
    book = json.loads((graded[1] / "Anna.ipynb").read_text(encoding="utf-8"))
    del book["metadata"]["unrolled"]["submission"]
    file = tmp_path / "exercises" / f"{NAME}.ipynb"
    file.write_text(json.dumps(book), encoding="utf-8")
    told = call(tmp_path, "12", graded[1], "-o", tmp_path / "out")
    assert told.exit_code == 1
    assert "is a student's edition: grading needs the source" in told.output


def test_an_interrupt_keeps_what_is_graded(graded, course, tmp_path, monkeypatch):
    def interrupted(job, *, jobs):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(grade_runs, "grade_pile", interrupted)
    told = call(course, "12", graded[1], "-o", tmp_path / "out", *options(course))
    assert told.exit_code == 130
    assert "Stopped. What is graded is kept: go on with --resume." in told.output


def test_help_is_where_one_looks_for_it(course):
    top = call(course, "--help")
    assert top.exit_code == 0
    for word in ("NN SUBMISSIONS -o OUT", "class", "report", "selftest"):
        assert word in top.output
    for words in (["12", "--help"], ["class", "--help"], ["-j", "2", "--help"]):
        told = call(course, *words)
        assert told.exit_code == 0
        for option in ("--shard", "--resume", "--private", "--secret", "--marks"):
            assert option in told.output
    assert "--marks" in call(course, "report", "--help").output
    assert "Attack the sandbox" in call(course, "selftest", "--help").output


class _House:
    def __init__(self, tier):
        self.tier = tier
        if tier == "A":
            raise SandboxError("tier A needs bwrap")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize(
    ("through", "holds", "code"),
    [
        ({"B": set(), "C": set()}, "B", 0),
        ({"B": {"reads_files"}, "C": {"runs_programs"}}, "C", 0),
        ({"B": {"reads_files"}, "C": {"reads_files"}}, None, 3),
    ],
)
def test_selftest_says_what_holds_and_why_not_the_others(
    course, monkeypatch, through, holds, code
):
    def attacks(house):
        names = ("reads_files", "runs_programs")
        return {name: name in through[house.tier] for name in names}

    monkeypatch.setattr(grade_selftest, "Sandbox", _House)
    monkeypatch.setattr(grade_selftest, "attacks", attacks)
    told = call(course, "selftest")
    assert told.exit_code == code
    assert "Tier A (bubblewrap: isolated)\n  does not run here: tier A needs bwrap" in (
        told.output
    )
    if holds:
        assert f"Tier {holds} holds: it will grade on this machine." in told.output
    else:
        assert "No sandbox holds here." in told.output
    assert ("reads files        GETS THROUGH" in told.output) == bool(through["B"])
    assert ("as this tier says" in told.output) == (holds == "C")
