"""Where the exercises are, and a student's first copy of one.

What reads sources and writes notebooks takes a while to load, so it is imported where
it is used: the command line starts without it.
"""

import json
import os
from pathlib import Path
from typing import Any

from unrolled.grading.exercise import Exercise
from unrolled.grading.notebooks.sheets import NotebookError, exercise_of
from unrolled.grading.notebooks.submissions import (
    exercise_name,
    read_notebook,
    submission_of,
)


def exercises_folder() -> Path:
    """Return the folder of ``UNROLLED_EXERCISES``, else that beside ``code/``."""
    named = os.environ.get("UNROLLED_EXERCISES")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "exercises"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"no exercises at {folder}: set UNROLLED_EXERCISES to the folder that has "
            "them"
        )
    return folder


def exercise_files(folder: Path) -> dict[str, Path]:
    """Return the exercises of a folder: sources, else a student edition's notebooks."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("[0-9][0-9]-*.ipynb")):
        try:
            notebook = read_notebook(path)
        except NotebookError:
            continue
        if exercise_name(notebook) == path.stem and submission_of(notebook) is None:
            found[path.stem] = path
    found |= {path.stem: path for path in folder.glob("[0-9][0-9]-*.md")}
    return dict(sorted(found.items()))


def find_exercise(wanted: str, folder: Path) -> Path:
    """Return the file of an exercise, called by its number or its name."""
    files = exercise_files(folder)
    number = wanted.zfill(2) if wanted.isdecimal() else None
    for name, path in files.items():
        if wanted == name or name.startswith(f"{number}-"):
            return path
    there = ", ".join(files) or "none"
    raise ValueError(f"there is no exercise {wanted!r} in {folder}: there are {there}")


def fresh_notebook(path: Path) -> Any:
    """Return a student's notebook, unanswered, from a source or a student edition."""
    if path.suffix == ".ipynb":
        return read_notebook(path)
    from unrolled.grading.authoring.source import read_exercise
    from unrolled.grading.notebooks.editions import student_notebook

    return student_notebook(read_exercise(path))


def shown_exercise(path: Path) -> Exercise:
    """Return an exercise as students see it, from its file."""
    return exercise_of(fresh_notebook(path))


def start(path: Path, folder: Path, *, name: str | None = None) -> Path:
    """Write a student's notebook into a folder; never over a file that is there.

    Raises:
        FileExistsError: The name is taken; says which is free.
    """
    file = folder / (name or f"{path.stem}.ipynb")
    if file.suffix != ".ipynb" or file.parent != folder:
        raise ValueError(f"{name!r} is no name for a notebook: my-work.ipynb is")
    import nbformat

    fresh = nbformat.reads(json.dumps(fresh_notebook(path)), as_version=4)
    text = nbformat.writes(fresh) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise FileExistsError(
            f"{file} is there already, and stays as it is. Open it to go on; to start "
            f"afresh beside it, add: --name {_free(file).name}"
        ) from None
    return file


def _free(file: Path) -> Path:
    """Return a name in the same folder that is not taken."""
    n, free = 1, file
    while os.path.lexists(free):
        n += 1
        free = file.with_name(f"{file.stem}-{n}.ipynb")
    return free
