"""From a student's notebook to the one file that is handed in."""

import copy
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import unrolled
from unrolled.grading.exercise import Exercise
from unrolled.grading.files import write_whole
from unrolled.grading.notebooks.sheets import KEY, NotebookError, exercise_of
from unrolled.grading.notebooks.submissions import (
    answers_of,
    copies_of,
    digest_of,
    exercise_name,
    read_notebook,
    submission_of,
)
from unrolled.grading.notebooks.ticks import points

SUFFIX = ".submission.ipynb"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A student's notebook, where its folder is and how fresh it is."""

    notebook: dict[str, Any]
    folder: Path
    source: str


def notebooks_of(exercise: str, folder: Path) -> list[Path]:
    """Return the notebooks of an exercise in a folder, without submissions."""
    found = []
    for path in sorted(folder.glob("*.ipynb")):
        try:
            notebook = read_notebook(path)
        except (NotebookError, OSError):
            continue
        if exercise_name(notebook) == exercise and submission_of(notebook) is None:
            found.append(path)
    return found


def open_notebook(path: Path) -> Found:
    """Return a notebook from its file, with the time when it was saved."""
    notebook = read_notebook(path)
    saved = datetime.fromtimestamp(path.stat().st_mtime)
    source = f"{path.name} as it was saved at {saved:%H:%M:%S}"
    return Found(notebook=notebook, folder=path.parent, source=source)


def find_notebook(
    exercise: str, given: str | Path | None = None, namespace: Mapping[str, Any] = {}
) -> Found:
    """Return the notebook that a kernel runs, or the one of this folder.

    VS Code tells its kernels the file's name and Jupyter's server the session's; Colab
    sends the notebook. Else there must be one notebook of the exercise in the folder.
    """
    if given is not None:
        return open_notebook(Path(given))
    if "google.colab" in sys.modules:
        return _from_colab()
    names = (namespace.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME"))
    here = notebooks_of(exercise, Path.cwd())
    for name in names:
        if isinstance(name, str) and (path := Path.cwd() / Path(name).name) in here:
            return open_notebook(path)
    if len(here) == 1:
        return open_notebook(here[0])
    if not here:
        raise NotebookError(
            f"no notebook of {exercise} in {Path.cwd()}: go to its folder, or write "
            f"one by 'unrolled exercise start {exercise.partition('-')[0]}'"
        )
    there = ", ".join(path.name for path in here)
    raise NotebookError(
        f"{len(here)} notebooks of {exercise} in {Path.cwd()}: {there}. Name one, as "
        f"in submit({here[0].name!r}), or with --notebook on the command line"
    )


def _from_colab() -> Found:
    """Return the notebook in a Colab tab. Untested on Colab."""
    message = sys.modules["google.colab"]._message
    reply = message.blocking_request("get_ipynb", request="", timeout_sec=60)
    notebook = reply["ipynb"]
    return Found(
        notebook=notebook, folder=Path.cwd(), source="the notebook in this tab"
    )


def submit_notebook(found: Found) -> str:
    """Write the file to hand in, beside the notebook; say what is still empty.

    The file is a copy without outputs, whose metadata say which answers it was sealed
    with. An earlier one is replaced, unless somebody has worked in it.
    """
    exercise = exercise_of(found.notebook)
    answers = answers_of(found.notebook, exercise)
    path = _free(found.folder, exercise.name)
    try:
        text = _sealed(found.notebook, exercise, answers)
    except RecursionError:
        raise NotebookError(
            "this notebook is nested too deeply to be copied: clear its outputs, save "
            "it and try again"
        ) from None
    write_whole(path, text)
    words = [
        f"Written: {path}",
        f"It is made from {found.source}. Hand in this one file.",
    ]
    worth = {id: points(question.points) for id, question in exercise.questions.items()}
    empty = [f"{id} ({worth[id]})" for id, answer in answers.items() if not answer]
    words.append(f"Still empty: {', '.join(empty)}." if empty else "Nothing is empty.")
    for id, n in copies_of(found.notebook, exercise).items():
        words.append(
            f"{id} is answered in {n} cells; where they differ, the last counts."
        )
    return "\n".join(words)


def _sealed(
    notebook: Mapping[str, Any], exercise: Exercise, answers: Mapping[str, str]
) -> str:
    """Return the text of a notebook without outputs, and with its seal."""
    sealed = copy.deepcopy(dict(notebook))
    for cell in sealed["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cell.update(outputs=[], execution_count=None)
    sealed["metadata"][KEY]["submission"] = {
        "exercise": exercise.name,
        "digest": digest_of(answers),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": unrolled.__version__,
    }
    return json.dumps(sealed, indent=1, ensure_ascii=False) + "\n"


def _free(folder: Path, name: str) -> Path:
    """Return where a submission may be written without loss."""
    path, n = folder / f"{name}{SUFFIX}", 1
    while os.path.lexists(path) and not _as_written(path):
        n += 1
        path = folder / f"{name}-{n}{SUFFIX}"
    return path


def _as_written(path: Path) -> bool:
    """Return whether a file is a submission that nobody has changed."""
    try:
        notebook = read_notebook(path)
        seal = submission_of(notebook)
        answers = answers_of(notebook, exercise_of(notebook))
    except (NotebookError, OSError):
        return False
    return seal is not None and seal.get("digest") == digest_of(answers)
