"""The command line of the exports: ``unrolled export --help``.

What reads sources takes a while to load, so it is imported where it is used.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unrolled.cli.exercise import Number
from unrolled.cli.plainly import plainly
from unrolled.grading.notebooks.shelf import exercises_folder, find_exercise

if TYPE_CHECKING:
    from unrolled.grading.exercise import Exercise

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Exercises for the tools that schools run already: nbgrader, Gradescope,
GitHub Classroom.

What goes to nbgrader and Gradescope holds solutions and hidden tests: keep it private.
What goes to GitHub Classroom holds neither.""",
)
Secret = Annotated[
    Path | None,
    typer.Option("--secret", help="The course's secret; made if there is none."),
]
Private = Annotated[
    Path | None,
    typer.Option("--private", help="A folder with tests of this course only."),
]


def _source(number: str) -> Path:
    """Return the source of an exercise; a student edition has none."""
    path = find_exercise(number, exercises_folder())
    if path.suffix != ".md":
        raise ValueError(
            f"{path} is a student's notebook: exports are made from the sources, which "
            "the repository and the instructor edition have"
        )
    return path


def _exercise(number: str, private: Path | None = None) -> "Exercise":
    from unrolled.grading.authoring.source import read_exercise
    from unrolled.grading.course.secrets import private_tests, with_private

    exercise = read_exercise(_source(number))
    if private is None:
        return exercise
    return with_private(exercise, private_tests(private, exercise))


def _secret(file: Path | None) -> str:
    from unrolled.grading.course.secrets import course_secret, secret_file

    path = file or secret_file()
    secret, made = course_secret(path)
    if made:
        typer.echo(
            f"Made the course's secret: {path}. Keep it, and keep it to yourself."
        )
    return secret


@app.command()
def nbgrader(
    number: Number,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="nbgrader's folder.")],
    secret: Secret = None,
    private: Private = None,
) -> None:
    """Write the source of an exercise for nbgrader: OUT/source/NAME/NAME.ipynb.

    Then, in OUT: nbgrader generate_assignment NAME. Seeds that come from the course's
    secret are in it, the secret is not. Marks are made in the student's kernel there,
    so they hold for honest work; 'unrolled grade' takes the same notebooks.
    """
    with plainly():
        from unrolled.grading.exports.nbgrader import export_nbgrader

        exercise = _exercise(number, private)
        written = export_nbgrader(exercise, out, secret=_secret(secret))
        typer.echo(f"Written: {written}")
        typer.echo(f"Next, in {out}: nbgrader generate_assignment {exercise.name}")
        typer.echo(
            "Kernels need the package 'unrolled' too, as in the student edition."
        )


@app.command()
def gradescope(
    number: Number,
    out: Annotated[Path, typer.Argument(metavar="OUT.zip", help="The zip to write.")],
    secret: Secret = None,
    private: Private = None,
) -> None:
    """Write the autograder of an exercise for Gradescope: one zip to upload.

    It holds hidden tests and the course's secret. Untested on Gradescope itself.
    """
    with plainly():
        from unrolled.grading.exports.gradescope import export_gradescope

        source = _source(number)
        known = _secret(secret)
        export_gradescope(source, out, secret=known, private=private)
        typer.echo(f"Written: {out}")
        typer.echo(
            "Upload it as the autograder of a programming assignment. Keep it to"
        )
        typer.echo("yourself: it holds the solutions and the course's secret.")


@app.command()
def classroom(
    number: Number,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.")],
) -> None:
    """Write a starter repository for GitHub Classroom: visible checks on each push.

    It holds no solution and no hidden test. Untested on GitHub itself.
    """
    with plainly():
        from unrolled.grading.exports.classroom import export_classroom

        export_classroom(_exercise(number), out)
        typer.echo(f"Written: {out}. Push it as the template of an assignment.")
