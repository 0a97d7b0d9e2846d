"""``unrolled exercise``: what is said, what is written, what is never overwritten."""

import json
import os
import shutil
import socket
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from unrolled.cli.exercise import app
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.notebooks import shelf
from unrolled.grading.notebooks.editions import scan, student_notebook
from unrolled.grading.notebooks.shelf import (
    exercise_files,
    exercises_folder,
    find_exercise,
)

FIXTURES = Path(__file__).parent / "fixtures"
MASK = "def causal_mask(T):\n    return torch.ones(T, T).bool().tril()\n"
WORK = "12-self-attention.ipynb"


@pytest.fixture
def sources(tmp_path):
    """Return a folder of two exercises, as the repository has them."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    for name in ("12-self-attention.md", "90-all-kinds.md"):
        shutil.copy(FIXTURES / name, folder)
    (folder / "README.md").write_text("not an exercise")
    return folder


@pytest.fixture
def edition(tmp_path):
    """Return the folder of a student edition: notebooks, no source."""
    folder = tmp_path / "edition"
    folder.mkdir()
    for source in FIXTURES.glob("*.md"):
        notebook = student_notebook(read_exercise(source))
        nbformat.write(notebook, folder / f"{source.stem}.ipynb")
    return folder


@pytest.fixture(params=["sources", "edition"])
def home(request, tmp_path, monkeypatch):
    """Go to an empty folder, with either kind of exercises; there is no network."""

    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    folder = request.getfixturevalue(request.param)
    monkeypatch.setenv("UNROLLED_EXERCISES", str(folder))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def call(*words):
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    assert "Traceback" not in result.output
    return result


def solve(path, id="q1", code=MASK):
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        if cell["metadata"]["unrolled"] == {"role": "answer", "question": id}:
            cell["source"] = code
    path.write_text(json.dumps(book), encoding="utf-8")


def test_list(home):
    lines = call("list").output.splitlines()
    assert [line.split() for line in lines] == [
        ["exercise", "questions", "points", "minutes", "progress", "here"],
        ["12-self-attention", "2", "6", "25"],
        ["90-all-kinds", "4", "14", "40"],
    ]


def test_a_student_goes_all_the_way(home):
    done = call("start", "12")
    assert done.exit_code == 0
    assert f"Your notebook: {WORK}" in done.output
    assert "A mask that keeps secrets: 6 points." in done.output
    nbformat.validate(nbformat.read(WORK, as_version=4))
    first = call("check", "12")
    assert first.exit_code == 1
    assert (
        "· three by three: to do, 0 of 1 point.\n    not answered yet" in first.output
    )
    solve(home / WORK)
    second = call("check", "12", "q1")
    assert second.exit_code == 0
    assert "✓ three by three: passed, 1 of 1 point." in second.output
    assert "So far 1 of 6 points, 2 of 2 questions checked." in second.output
    assert call("list").output.splitlines()[1].endswith("  1 point")
    last = call("submit", "12")
    assert last.exit_code == 0
    assert "Still empty: q2 (2 points)." in last.output
    assert sorted(os.listdir(home)) == [
        WORK,
        "12-self-attention.progress.json",
        "12-self-attention.submission.ipynb",
    ]
    exercise = read_exercise(FIXTURES / "12-self-attention.md")
    solve(home / WORK, code="")  # the student's own answer may be like ours
    (home / "12-self-attention.submission.ipynb").unlink()
    assert scan([home], exercise) == []


def test_start_never_overwrites_and_offers_a_name(home):
    call("start", "12")
    solve(home / WORK)
    before = (home / WORK).read_bytes()
    again = call("start", "12")
    assert again.exit_code == 1
    assert "is there already, and stays as it is." in again.output
    assert again.output.endswith("add: --name 12-self-attention-2.ipynb\n")
    assert call("start", "12", "--name", "12-self-attention-2.ipynb").exit_code == 0
    assert call("start", "12").output.endswith("--name 12-self-attention-3.ipynb\n")
    assert (home / WORK).read_bytes() == before
    taken = call("start", "12", "--name", "12-self-attention-2.ipynb")
    assert taken.exit_code == 1


def test_start_does_not_write_through_a_link(home):
    (home / WORK).symlink_to(home / "elsewhere.ipynb")
    assert call("start", "12").exit_code == 1
    assert not (home / "elsewhere.ipynb").exists()


def test_start_into_a_folder_by_number_or_name(home):
    assert call("start", "12", "mine/new").exit_code == 0
    assert call("start", "12-self-attention", ".").exit_code == 0
    assert (home / WORK).read_bytes() == (home / "mine/new" / WORK).read_bytes()
    for bad in ("../x.ipynb", "a/b.ipynb", "notes.txt"):
        told = call("start", "12", "--name", bad)
        assert told.exit_code == 1
        assert "is no name for a notebook: my-work.ipynb is" in told.output


def test_the_two_ways_to_start_give_the_same_notebook(sources, edition, tmp_path):
    one = shelf.start(find_exercise("90", sources), tmp_path / "a")
    two = shelf.start(find_exercise("90", edition), tmp_path / "b")
    assert one.read_bytes() == two.read_bytes()


def test_several_notebooks_and_none(home):
    none = call("check", "12")
    assert none.exit_code == 1
    assert "no notebook of 12-self-attention in" in none.output
    call("start", "12")
    call("start", "12", "--name", "b.ipynb")
    several = call("submit", "12")
    assert several.exit_code == 1
    assert f"2 notebooks of 12-self-attention in {home}" in several.output
    solve(home / "b.ipynb")
    assert call("check", "12", "q1", "--notebook", "b.ipynb").exit_code == 0
    assert call("check", "12", "q1", "-n", WORK).exit_code == 1
    other = call("check", "90", "-n", "b.ipynb")
    assert (
        "b.ipynb is of the exercise 12-self-attention, not 90-all-kinds" in other.output
    )
    (home / "c.ipynb").write_text("{}")
    assert "c.ipynb is no notebook" in call("submit", "12", "-n", "c.ipynb").output


def test_unknown_exercise_and_question(home):
    told = call("start", "13")
    assert told.exit_code == 1
    assert "there is no exercise '13' in" in told.output
    assert "there are 12-self-attention, 90-all-kinds" in told.output
    call("start", "12")
    told = call("check", "12", "q3")
    assert told.exit_code == 1
    assert "there is no question 'q3': there are q1, q2" in told.output


def test_an_answer_that_stops_python_stops_only_itself(home):
    call("start", "90")
    solve(home / "90-all-kinds.ipynb", "q1", "import sys\nsys.exit(0)\n")
    solve(
        home / "90-all-kinds.ipynb",
        "q3",
        "def test_double(S, rng):\n    assert S.double(3) == 6\n",
    )
    told = call("check", "90")
    assert told.exit_code == 1
    assert "✗ the answer runs: stopped by an error" in told.output
    assert "SystemExit: 0" in told.output
    assert "q3: 1 of 1 point" in told.output


def test_an_interrupt_is_quiet(home):
    call("start", "12")
    solve(home / WORK, code="raise KeyboardInterrupt\n")
    told = call("check", "12")
    assert told.exit_code == 130
    assert told.output == "\nStopped.\n"


def test_progress_that_cannot_be_kept_is_told(home):
    call("start", "12")
    solve(home / WORK)
    (home / "12-self-attention.progress.json").mkdir()
    told = call("check", "12", "q1")
    assert told.exit_code == 0
    assert "Your progress could not be kept" in told.output
    assert not list(home.glob("*.writing"))


def test_a_malformed_source_is_told_with_its_line(sources, monkeypatch, tmp_path):
    monkeypatch.setenv("UNROLLED_EXERCISES", str(sources))
    file = sources / "12-self-attention.md"
    file.write_text(file.read_text().replace("[given]", "[gievn]"))
    told = call("start", "12", str(tmp_path / "x"))
    assert told.exit_code == 1
    assert f"{file}:16: unknown tag 'gievn'" in told.output
    assert not (tmp_path / "x").exists()


def test_where_exercises_are(monkeypatch, tmp_path):
    monkeypatch.delenv("UNROLLED_EXERCISES", raising=False)
    assert (exercises_folder() / "README.md").is_file()
    monkeypatch.setenv("UNROLLED_EXERCISES", str(tmp_path / "none"))
    told = call("list")
    assert told.exit_code == 1
    assert "set UNROLLED_EXERCISES to the folder that has them" in told.output


def test_a_source_comes_before_a_notebook_and_strangers_are_left_out(sources, edition):
    shutil.copy(edition / WORK, sources)  # somebody started one here
    shutil.copy(edition / WORK, sources / "13-other-name.ipynb")
    (sources / "14-broken.ipynb").write_text("{")
    files = exercise_files(sources)
    assert [path.name for path in files.values()] == [
        "12-self-attention.md",
        "90-all-kinds.md",
    ]
