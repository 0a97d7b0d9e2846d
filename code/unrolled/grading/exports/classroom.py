"""An exercise as a starter repository of GitHub Classroom: visible checks on each push.

It holds the student's notebook and the package, no solution and no hidden test, so it
can be given to students as it is. Points here are those of the visible checks; the mark
comes from ``unrolled grade``. The older ``.github/classroom/autograding.json`` is not
written: Classroom reads the workflow alone now. Untested on GitHub itself.
"""

from pathlib import Path
from typing import Any

import nbformat
import yaml

from unrolled.grading.exercise import Exercise
from unrolled.grading.exports.package import (
    CHECKING,
    constraints,
    package_files,
    requirements,
)
from unrolled.grading.notebooks.editions import student_notebook

WORKFLOW = ".github/workflows/classroom.yml"
_MINUTES = 5
_README = """\
# {title}

Your notebook is `{name}.ipynb`. You need Python 3.11 or later; in this folder:

    python3 -m venv .venv
    . .venv/bin/activate          (on Windows: .venv\\Scripts\\activate)
{install}
    jupyter lab {name}.ipynb

In the notebook, `check("{first}")` tells you how a question stands, and here:

    unrolled exercise check {number}

Each push runs the same checks on GitHub. They give {shown} of the {points} points; the
others are given by tests that you do not see, and by a person. When you are done, save
the notebook, run `unrolled exercise submit {number}`, and commit and push the file that
it writes.
"""
_INSTALL = (
    "pip install -c constraints.txt {torch}",
    "pip install -c constraints.txt -r requirements.txt",
    "pip install --no-deps ./code",
)
_IGNORED = ".venv/\n__pycache__/\n.ipynb_checkpoints/\nbuild/\n*.egg-info/\n"


def export_classroom(exercise: Exercise, folder: Path) -> Path:
    """Write the starter repository of an exercise into an empty or new folder.

    Raises:
        FileExistsError: The folder has something in it.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty: name a new folder")
    for name, content in classroom_files(exercise).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def classroom_files(exercise: Exercise) -> dict[str, bytes]:
    """Return the files of the starter repository."""
    pins = requirements(CHECKING)
    torch = pins.partition("\n")[0]
    install = [line.format(torch=torch) for line in _INSTALL]
    readme = _README.format(
        title=f"Exercise {exercise.number}: {exercise.title}",
        name=exercise.name,
        number=exercise.number,
        first=next(iter(exercise.questions)),
        install="\n".join(f"    {line}" for line in install),
        shown=sum(question.shown_points for question in exercise.coded()),
        points=exercise.points,
    )
    workflow = yaml.safe_dump(_workflow(exercise, install), sort_keys=False, width=88)
    notebook = nbformat.writes(student_notebook(exercise))
    return {
        f"{exercise.name}.ipynb": f"{notebook}\n".encode(),
        "README.md": readme.encode(),
        "requirements.txt": pins.encode(),
        "constraints.txt": constraints().encode(),
        ".gitignore": _IGNORED.encode(),
        WORKFLOW: f"# Written by 'unrolled export classroom'.\n{workflow}".encode(),
        **package_files(),
    }


def _workflow(exercise: Exercise, install: list[str]) -> dict[str, Any]:
    """Return the workflow: install once, then a graded step for each question."""
    steps: list[dict[str, Any]] = [
        {"name": "Check out", "uses": "actions/checkout@v4"},
        {
            "name": "Python",
            "uses": "actions/setup-python@v5",
            "with": {"python-version": "3.11", "cache": "pip"},
        },
        {"name": "Install", "run": "\n".join(install)},
    ]
    asked = [question for question in exercise.coded() if question.shown_points]
    check = f"unrolled exercise check {exercise.number}"
    for question in asked:
        steps.append(
            {
                "name": f"{question.id}: {question.title}",
                "id": question.id,
                "uses": "classroom-resources/autograding-command-grader@v1",
                "with": {
                    "test-name": f"{question.id}: {question.title}",
                    "command": f"{check} {question.id}",
                    "timeout": _MINUTES,
                    "max-score": question.shown_points,
                },
            }
        )
    ids = [question.id for question in asked]
    outputs = {
        f"{i.upper()}_RESULTS": f"${{{{steps.{i}.outputs.result}}}}" for i in ids
    }
    reporter = {
        "name": "Report",
        "uses": "classroom-resources/autograding-grading-reporter@v1",
        "env": outputs,
        "with": {"runners": ",".join(ids)},
    }
    job = {
        "runs-on": "ubuntu-latest",
        "if": "github.actor != 'github-classroom[bot]'",
        "env": {"UNROLLED_EXERCISES": ".", "OMP_NUM_THREADS": "1"},
        "steps": [*steps, reporter],
    }
    return {
        "name": "Autograding Tests",
        "on": ["push", "workflow_dispatch", "repository_dispatch"],
        "permissions": {"checks": "write", "actions": "read", "contents": "read"},
        "jobs": {"run-autograding-tests": job},
    }
