"""What only the course knows: its secret, and tests that are not in the book.

The secret seeds the inputs of tests (:mod:`unrolled.grading.engine.loading`): who has
the public sources still cannot know them. It is a line of text in a file of its owner's
alone, made where there is none; every machine of one course needs the same one. It goes
into no output, only a hash of it and much else names results.

Private tests stand in ``DIR/NN-name.md``, called as the exercise is. The file is read
as an exercise's source is; its code cells are tagged ``hidden`` and say their question,
and their tests count beside those of the book::

    ```{code-cell}
    :tags: [hidden]
    :question: q1

    def test_of_this_year(S, rng):
        \"\"\"points: 2 | catches: a mask that is shifted by one\"\"\"
        assert ...
    ```
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unrolled.grading.authoring.cells import (
    Fail,
    Piece,
    complain_about,
    read_header,
    split,
)
from unrolled.grading.authoring.code_cells import read_tests
from unrolled.grading.exercise import Exercise, Test

_SHORTEST = 16  # characters; a shorter secret could be found by trying


def secret_file() -> Path:
    """Return where the secret is if nobody says: in the user's settings."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "unrolled" / "course-secret"


def course_secret(path: Path) -> tuple[str, bool]:
    """Return the secret in a file, and whether it was made just now.

    Raises:
        ValueError: The file holds no secret, or others may read it.
    """
    made = not os.path.lexists(path) and _make(path)
    if not path.is_file():
        raise ValueError(f"{path} must be a file with the course's secret")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise ValueError(f"{path} can be read by others: chmod 600 {path}")
    secret = path.read_bytes().decode("utf-8", errors="replace").strip()
    if len(secret) < _SHORTEST or not secret.isprintable():
        raise ValueError(
            f"{path} must hold one line of at least {_SHORTEST} characters, the "
            "course's secret; if it is missing, one is made"
        )
    return secret, made


def _make(path: Path) -> bool:
    """Write a new secret, unless another process was faster; return who did."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(secrets.token_hex(32) + "\n")
        os.link(part, path)  # whole, and never over one that is there
        return True
    except FileExistsError:
        return False
    finally:
        part.unlink()


def private_tests(folder: Path, exercise: Exercise) -> tuple[Test, ...]:
    """Return the private tests of a course for an exercise.

    Raises:
        ValueError: There is no such file; ``ExerciseError``: it is malformed.
    """
    path = folder / f"{exercise.name}.md"
    if not path.is_file():
        raise ValueError(f"no private tests for {exercise.name}: {path} is no file")
    fail = complain_about(f"{path}")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        fail(1, "this file is not text in UTF-8")
    headed = lines[0].rstrip() == "---"
    first = read_header(lines, fail)[2] if headed else 0
    asked = [question.id for question in exercise.coded()]
    lines_of = {
        one.name: "the exercise itself"
        for question in exercise.questions.values()
        for one in question.judges
    }
    found: list[Test] = []
    for piece in split(lines, first, fail):
        if piece.kind != "code":
            continue
        for test in _tests(piece, asked, fail):
            if test.name in lines_of:
                fail(test.line, f"{test.name} is defined in {lines_of[test.name]} too")
            lines_of[test.name] = f"the cell of line {test.line}"
            found.append(test)
    if not found:
        fail(1, "no private tests here: add a code cell tagged hidden")
    return tuple(found)


def _tests(piece: Piece, asked: list[str], fail: Fail) -> list[Test]:
    options = piece.options
    if options.get("tags") != ["hidden"] or options.keys() - {"tags", "question"}:
        fail(piece.start, "a cell of private tests has ':tags: [hidden]' and no other")
    id = options.get("question")
    if id not in asked:
        there = ", ".join(asked)
        fail(piece.start, f"question {id!r}: the exercise asks for code in {there}")
    return read_tests(
        piece.source, piece.line, question=str(id), visible=False, fail=fail
    )


def with_private(exercise: Exercise, tests: Sequence[Test]) -> Exercise:
    """Return the exercise as this course grades it: private tests are hidden ones."""
    questions = {}
    for id, question in exercise.questions.items():
        own = tuple(test for test in tests if test.question == id)
        questions[id] = replace(
            question,
            hidden=(*question.hidden, *own),
            points=question.points + sum(test.points for test in own),
        )
    return replace(exercise, questions=questions)
