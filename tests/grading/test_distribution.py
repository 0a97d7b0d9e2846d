"""What students are given holds no secret of any exercise, and works as unpacked."""

import json
import os
import subprocess
import sys
import zipfile
from html import escape
from pathlib import Path

import pytest

import dist
from unrolled.grading.notebooks.leaks import passages_of, scan, secrets_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def of():
    return dist.exercises()


@pytest.fixture(scope="module")
def zips(of, tmp_path_factory):
    """Return the zips for students, packed as ``make dist`` does."""
    before, dist.DIST = dist.DIST, tmp_path_factory.mktemp("dist")
    try:
        files = dist.tracked(*dist.NOTEBOOKS)
        yield {
            "notebooks": dist.pack("unrolled-notebooks", files, readme="x"),
            "student": dist.pack_student(of),
        }
    finally:
        dist.DIST = before


@pytest.mark.parametrize("which", ["notebooks", "student"])
def test_no_zip_for_students_holds_a_secret(zips, of, which):
    assert len(of) >= 2
    assert [str(leak) for leak in dist.leaks(zips[which], of)] == []
    with zipfile.ZipFile(zips[which]) as archive:
        names = archive.namelist()
    assert not [
        name for name in names if "/exercises/" in name and name.endswith(".md")
    ]


@pytest.mark.built
def test_the_book_holds_no_secret_and_one_line_on_its_page_is_found(
    of, tmp_path, monkeypatch
):
    monkeypatch.setattr(dist, "DIST", tmp_path)
    book = dist.pack_book()
    assert [str(leak) for leak in dist.leaks(book, of)] == []
    exercise = list(of.values())[-1]
    _, line = min(secrets_of(exercise).values(), key=lambda told: len(told[1]))
    page = f"unrolled-book/book/exercise-{exercise.number}-more.html"
    with zipfile.ZipFile(book, "a") as archive:
        archive.writestr(page, f"<p>{escape(line)}</p>")
    (leak,) = dist.leaks(book, of)
    assert leak.file.endswith(page)


def planted(tmp_path, zips, name, content):
    """Return the student edition with one more file in it."""
    file = tmp_path / "unrolled-student.zip"
    file.write_bytes(zips["student"].read_bytes())
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(f"unrolled-student/{name}", content)
    return file


def test_one_planted_line_is_found_in_what_is_about_exercises(tmp_path, zips, of):
    for exercise in of.values():
        line = min((told for _, told in secrets_of(exercise).values()), key=len)
        note = json.dumps({"cells": [{"source": ["a\n", f"  {line}\n"]}]})
        for name, text in {"exercises/x.ipynb": note, "my-exercise.html": line}.items():
            file = planted(tmp_path, zips, name, text)
            assert {leak.file.rpartition("/")[2] for leak in dist.leaks(file, of)} == {
                name.rpartition("/")[2]
            }


def test_a_planted_solution_is_found_in_the_package(tmp_path, zips, of):
    for source, exercise in of.items():
        for question in exercise.coded():
            code = f"class Kept:\n    '''{question.solution}'''\n"
            page = "".join(f"<span>{word}</span> " for word in code.split(" "))
            for name, text in {"code/unrolled/a.py": code, "b.html": page}.items():
                file = planted(tmp_path, zips, name, text)
                found = scan([file], exercise, passages=True)
                assert {leak.file for leak in found} == {
                    f"{file}/unrolled-student/{name}"
                }, f"{question.id} of {source}"
        assert set(passages_of(exercise)) - set(secrets_of(exercise))


def test_make_dist_leaves_nothing_that_leaks(tmp_path, monkeypatch, of):
    monkeypatch.setattr(dist, "DIST", tmp_path / "dist")
    monkeypatch.setattr(dist, "ROOT", tmp_path)
    page = tmp_path / "_build" / "html" / "index.html"
    page.parent.mkdir(parents=True)
    source, exercise = next(iter(of.items()))
    page.write_text(next(iter(exercise.coded())).solution, encoding="utf-8")
    (tmp_path / "LICENSE").write_text("free")
    monkeypatch.setattr(dist, "exercises", lambda: {source: exercise})
    monkeypatch.setattr(dist, "tracked", lambda *names: {})
    with pytest.raises(SystemExit, match="a zip for students holds secrets:"):
        dist.main()
    assert not list((tmp_path / "dist").iterdir())


@pytest.mark.slow
def test_the_student_edition_works_as_it_is_unpacked(zips, of, tmp_path):
    with zipfile.ZipFile(zips["student"]) as archive:
        archive.extractall(tmp_path)
    home = tmp_path / "unrolled-student"
    kept = {k: v for k, v in os.environ.items() if k != "UNROLLED_EXERCISES"}
    path = {"PYTHONPATH": str(home / "code"), "OMP_NUM_THREADS": "1"}

    def say(*words, cwd=home):
        command = [sys.executable, "-m", "unrolled", "exercise", *words]
        return subprocess.run(
            command,
            cwd=cwd,
            env=kept | path,
            check=False,
            capture_output=True,
            text=True,
        )

    listed = say("list")
    assert listed.returncode == 0, listed.stderr
    for exercise in of.values():
        assert exercise.name in listed.stdout
    exercise = next(iter(of.values()))
    started = say("start", exercise.number, "my-work")
    assert started.returncode == 0, started.stderr
    checked = say("check", exercise.number, "q1", cwd=home / "my-work")
    assert checked.returncode == 1, checked.stderr
    assert "not answered yet" in checked.stdout
    handed = say("submit", exercise.number, cwd=home / "my-work")
    assert handed.returncode == 0, handed.stderr
    assert "Still empty: q1" in handed.stdout
