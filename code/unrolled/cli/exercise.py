"""The command line of the exercises: ``unrolled exercise --help``.

torch takes seconds to load, so only a check, which runs the student's code, does.
"""

from pathlib import Path
from typing import Annotated

import typer

from unrolled.cli.plainly import plainly
from unrolled.grading.notebooks.handing_in import Found, find_notebook, submit_notebook
from unrolled.grading.notebooks.progress import Progress
from unrolled.grading.notebooks.sheets import exercise_of
from unrolled.grading.notebooks.shelf import (
    exercise_files,
    exercises_folder,
    find_exercise,
    shown_exercise,
)
from unrolled.grading.notebooks.shelf import start as write_notebook
from unrolled.grading.notebooks.ticks import points, printable

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""The graded exercises: see them, start one, check it, hand it in.

**unrolled exercise start 04** writes a notebook; in it, `check("q1")` and `submit()` do
the same as the commands here. Nothing needs a network.""",
)
Number = Annotated[
    str,
    typer.Argument(
        metavar="NN", help="Which exercise, as in 04; unrolled exercise list has all."
    ),
]
File = Annotated[
    Path | None,
    typer.Option("--notebook", "-n", help="Your notebook; else that of this folder."),
]


@app.command("list")
def show() -> None:
    """List the exercises: questions, points, minutes, and how far you are here."""
    with plainly():
        line = "{:32} {:>9} {:>7} {:>8}  {}".format
        typer.echo(line("exercise", "questions", "points", "minutes", "progress here"))
        for name, path in exercise_files(exercises_folder()).items():
            exercise = shown_exercise(path)
            questions = exercise.questions
            kept = Progress.load(Path.cwd(), name).questions
            known = [kept[id] for id in questions if id in kept]
            done = points(sum(entry["earned"] for entry in known)) if known else ""
            minutes = sum(question.minutes for question in questions.values())
            typer.echo(line(name, len(questions), exercise.points, minutes, done))


@app.command()
def start(
    number: Number,
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to; else here.")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option(help="What to call it, if not NN-name.ipynb.")
    ] = None,
) -> None:
    """Write the notebook of an exercise into a folder of yours; never over a file.

    Try: unrolled exercise start 04 my-work
    """
    with plainly():
        path = find_exercise(number, exercises_folder())
        written = write_notebook(path, folder, name=name)
        exercise = shown_exercise(path)
        typer.echo(f"{exercise.title}: {points(exercise.points)}.")
        typer.echo(f"Your notebook: {written}")
        typer.echo("Open it in JupyterLab or VS Code and run its first code cell.")


def _notebook(number: str, file: Path | None) -> Found:
    """Return the student's notebook, which must be of the exercise that is named."""
    name = find_exercise(number, exercises_folder()).stem
    found = find_notebook(name, file)
    if (other := exercise_of(found.notebook).name) != name:
        raise ValueError(f"{file} is of the exercise {other}, not {name}")
    return found


@app.command()
def check(
    number: Number,
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QK]", help="A question, as in q1; else all."),
    ] = None,
    notebook: File = None,
) -> None:
    """Check your notebook as it is saved: ticks, points and what to look at.

    Each answer runs alone, as in the grading, so this also finds what works in your
    kernel only because of something you ran before. Exits with 1 if a check fails.
    """
    from unrolled.grading.student import check_notebook

    with plainly():
        found = _notebook(number, notebook)
        exercise = exercise_of(found.notebook)
        worth = {id: one.points for id, one in exercise.questions.items()}
        if question is not None and question not in worth:
            there = ", ".join(worth)
            raise ValueError(f"there is no question {question!r}: there are {there}")
        reports = check_notebook(found, [question] if question else None)
        progress = Progress.load(found.folder, exercise.name)
        for report in reports:
            typer.echo(printable(str(report)))
            progress = progress.noting(report)
        typer.echo(progress.line(worth))
        if trouble := progress.save():
            typer.echo(trouble, err=True)
        if not all(report.passed for report in reports):
            raise typer.Exit(1)


@app.command()
def submit(number: Number, notebook: File = None) -> None:
    """Write the one file to hand in, beside your notebook; say what is still empty."""
    with plainly():
        typer.echo(printable(submit_notebook(_notebook(number, notebook))))
