"""The command line of a teacher: ``unrolled grade --help``.

torch takes seconds to load, so it is imported where it is used.
"""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from unrolled.cli.exercise import Number
from unrolled.cli.plainly import plainly
from unrolled.grading.notebooks.shelf import exercises_folder, find_exercise


class _ClassFirst(TyperGroup):
    """``unrolled grade 04 …`` is ``unrolled grade class 04 …``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["class", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ClassFirst,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    subcommand_metavar="NN SUBMISSIONS -o OUT [OPTIONS] | COMMAND",
    help="""Grade a class: scores, a page for each student, a report.

**unrolled grade 04 submissions/ -o out/** grades all that is in a folder, each answer
in a sandbox; its options: `unrolled grade class --help`. On a new machine, try
**unrolled grade selftest** first.""",
)
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where results go.")
]
MarksFile = Annotated[
    Path | None,
    typer.Option("--marks", help="Marks for words, as manual.html exports them."),
]


@app.command("class")
def grade(
    number: Number,
    submissions: Annotated[
        Path,
        typer.Argument(
            help="A folder, or a zip of one, with NAME.ipynb, NAME/….ipynb, NAME.zip, "
            "or files as Moodle and Canvas call them."
        ),
    ],
    out: Out,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="How many at once.")
    ] = 1,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Grade the K-th of N shares only, and write single results; then "
            "grade without it, with --resume, to merge. A share always resumes.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what is in OUT.")
    ] = False,
    private: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A folder with private tests: NN-name.md, hidden cells."
        ),
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The course's secret; made if missing. Else that of your settings.",
        ),
    ] = None,
    marks: MarksFile = None,
    trusted: Annotated[
        bool,
        typer.Option(
            "--i-trust-these-submissions",
            help="Run them even if no sandbox of this machine isolates them.",
        ),
    ] = False,
) -> None:
    """Grade the submissions of a class (the word 'class' may be left out).

    Writes OUT/scores.csv, report.html, results.json, feedback/STUDENT.html, manual.html
    if there are questions in words, and results/ with one file for each submission.
    What cannot be read is listed and stops nobody. Exits with 3 if the machine failed:
    those are UNGRADED, no zeros, and --resume tries them again.

    Try: unrolled grade 04 submissions/ -o out/ -j 4

    On a cluster: unrolled grade 04 submissions/ -o out/ --shard $SLURM_ARRAY_TASK_ID/8
    """
    with plainly("Stopped. What is graded is kept: go on with --resume."):
        which, share = find_exercise(number, exercises_folder()), _share(shard)
        from unrolled.cli.grade_runs import grade_class

        code = grade_class(
            which,
            submissions,
            out,
            jobs=jobs,
            shard=share,
            resume=resume,
            private=private,
            secret=secret,
            marks=marks,
            trusted=trusted,
        )
    raise typer.Exit(code)


@app.command()
def report(
    number: Number,
    out: Annotated[Path, typer.Argument(help="What a grading was written to.")],
    marks: MarksFile = None,
) -> None:
    """Merge marks for words, and write tables and pages again; no answer is run.

    Marks that were merged before stay, unless the file has others.
    """
    with plainly():
        which = find_exercise(number, exercises_folder())
        from unrolled.cli.grade_runs import report_again

        code = report_again(which, out, marks)
    raise typer.Exit(code)


@app.command()
def selftest() -> None:
    """Attack the sandbox from inside: say what holds here, and which tier will grade.

    Exits with 3 if none does.
    """
    with plainly():
        from unrolled.cli import grade_selftest

        code = grade_selftest.selftest()
    raise typer.Exit(code)


def _share(shard: str | None) -> tuple[int, int] | None:
    """Return which of how many shares is meant."""
    if shard is None:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", shard)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"--shard {shard}: write 1/8 for the first share of eight")
    return int(match[1]), int(match[2])
