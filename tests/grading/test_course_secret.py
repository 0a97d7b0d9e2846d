"""The course's secret and its private tests: kept to their owner, read with care."""

import os
import threading

import pytest

from border_exercise import exercise
from unrolled.grading.course.secrets import (
    course_secret,
    private_tests,
    secret_file,
    with_private,
)
from unrolled.grading.exercise import ExerciseError

CELL = '''```{code-cell}
:tags: [hidden]
:question: q1

def helper(x):
    return x


def test_of_this_year(S, rng):
    """points: 2 | catches: a sign that is lost"""
    assert S.double(helper(-1)) == -2
```
'''


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "private"
    made.mkdir()
    return made


def written(folder, text):
    (folder / "99-border.md").write_text(text, encoding="utf-8")
    return private_tests(folder, exercise())


def test_a_secret_is_made_once_for_its_owner_alone(tmp_path):
    path = tmp_path / "new" / "course-secret"
    secret, made = course_secret(path)
    assert made
    assert len(secret) >= 64
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert course_secret(path) == (secret, False)
    assert course_secret(tmp_path / "other")[0] != secret
    assert os.listdir(path.parent) == ["course-secret"]


def test_many_processes_that_make_one_have_the_same(tmp_path):
    path, found = tmp_path / "secret", []
    gate = threading.Barrier(8)

    def make():
        gate.wait()
        found.append(course_secret(path))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({secret for secret, _ in found}) == 1
    assert sum(made for _, made in found) == 1


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert secret_file() == tmp_path / "unrolled" / "course-secret"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert secret_file() == tmp_path / ".config" / "unrolled" / "course-secret"


def test_a_secret_that_is_none_is_refused(tmp_path):
    path = tmp_path / "secret"
    path.write_text("x" * 40)
    path.chmod(0o640)
    with pytest.raises(ValueError, match=r"secret can be read by others: chmod 600"):
        course_secret(path)
    for text in ("", "short", "x" * 20 + "\n" + "y" * 20):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(ValueError, match="must hold one line of at least 16"):
            course_secret(path)
    path.write_text("x" * 16 + "\n")
    assert course_secret(path) == ("x" * 16, False)
    with pytest.raises(ValueError, match="must be a file"):
        course_secret(tmp_path)


def test_private_tests_count_beside_those_of_the_book(folder):
    (test,) = written(folder, f"# Ours\n\nSome words.\n\n{CELL}")
    assert (test.name, test.question, test.points) == ("test_of_this_year", "q1", 2)
    assert test.note == "a sign that is lost"
    assert not test.visible
    assert "def helper" in test.source
    whole = with_private(exercise(), (test,))
    assert whole.points == 12
    assert whole.questions["q1"].hidden[-1] == test
    assert whole.questions["q1"].points == 6
    assert whole.questions["q2"] == exercise().questions["q2"]
    assert whole.digest == exercise().digest
    headed = written(folder, f"---\nkernelspec: {{name: python3}}\n---\n{CELL}")
    assert [one.name for one in headed] == ["test_of_this_year"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Nothing.\n", ":1: no private tests here"),
        (CELL.replace("q1", "q9"), ":1: question 'q9': the exercise asks for code in"),
        (CELL.replace("[hidden]", "[visible]"), r":1: .* has ':tags: \[hidden\]'"),
        (CELL.replace(":question", ":fails: [a]\n:question"), ":1: .* and no other"),
        (CELL.replace("points: 2", "points: two"), ":9: points: two .* whole number"),
        (CELL.replace("catches", "hint"), ":9: .* is hidden, so it says 'catches:'"),
        (
            CELL.replace("test_of_this_year", "test_random"),
            ":5: .* the exercise itself",
        ),
        (CELL + "\n" + CELL, ":18: .* in the cell of line 5 too"),
        (CELL.replace("return x", "return ("), r":6: this is not Python"),
    ],
)
def test_malformed_private_tests_are_told_with_their_line(folder, text, complaint):
    with pytest.raises(ExerciseError, match=complaint):
        written(folder, text)


def test_no_private_tests_for_this_exercise(folder):
    with pytest.raises(ValueError, match="no private tests for 99-border"):
        private_tests(folder, exercise())
    (folder / "99-border.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ExerciseError, match=r"border\.md:1: this file is not text"):
        private_tests(folder, exercise())
