"""The command line: ``unrolled --help``.

torch takes seconds to load, so only the commands that need it import it.
"""

import os
import platform
import shutil
import textwrap
from pathlib import Path
from typing import Annotated

import typer

import unrolled
from unrolled.cli import data, exercise, export, grade, models

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="""The companion of *Unrolled*, sequence models from recurrence to attention.

Start with **unrolled info**: it says which device the book will use, and why.
Chapters are notebooks in `chapters/`; open them with `make lab`.""",
)
app.add_typer(data.app, name="data")
app.add_typer(exercise.app, name="exercise")
app.add_typer(grade.app, name="grade")
app.add_typer(export.app, name="export")
app.add_typer(models.app)


@app.command()
def info() -> None:
    """Say which device, versions and folders the book uses here.

    Set UNROLLED_DEVICE to cpu, cuda, cuda:1 or mps to choose another device.
    """
    import torch

    from unrolled.runtime import book_folder, pick_device

    chosen = os.environ.get("UNROLLED_DEVICE")
    try:
        device, book = pick_device(), book_folder()
    except (ValueError, FileNotFoundError) as error:
        raise typer.BadParameter(str(error)) from error
    why = f"by UNROLLED_DEVICE={chosen}" if chosen else "the fastest one present"
    typer.echo(f"unrolled {unrolled.__version__}")
    typer.echo(f"device   {device} ({why})")
    typer.echo(f"torch    {torch.__version__}, {torch.get_num_threads()} threads")
    typer.echo(f"python   {platform.python_version()}")
    typer.echo(f"book     {book}")
    pinned = _pinned_torch(book)
    if torch.__version__.partition("+")[0] != pinned:
        typer.echo(f"note     the numbers in the book are torch {pinned}'s: yours may")
        typer.echo("         differ a little, and more where something is trained")


def _pinned_torch(book: Path) -> str:
    """Return the version of torch that the book's numbers were made with."""
    pins = (book.parent / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return next(p.removeprefix("torch==") for p in pins if p.startswith("torch=="))


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Which recipe; see --list.")] = "",
    show: Annotated[
        bool, typer.Option("--list", help="List the recipes and stop.")
    ] = False,
    names: Annotated[
        bool, typer.Option("--names", help="List their bare names and stop.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option(help="Forget the finished part of an interrupted run.")
    ] = False,
    stamp: Annotated[
        bool,
        typer.Option(
            "--restamp",
            help="Keep the results although the recipe's own code has changed, if one "
            "whole unit comes out as it did.",
        ),
    ] = False,
) -> None:
    """Run a recipe: an experiment that takes longer than a chapter has.

    Its results go to book/results/NAME.json, the models it makes to
    book/_static/models. Interrupt it when you like: the next run goes on from there.

    Several processes share the batches of a training run:
    torchrun --nproc-per-node 2 -m unrolled run NAME

    Try: unrolled run flip_flop
    """
    from unrolled.recipes.discovery import load_recipe, recipe_names
    from unrolled.recipes.runner import restamp, run_recipe
    from unrolled.training.distributed import leads, together

    if names:
        typer.echo("\n".join(recipe_names()))
        return
    if show or not name:
        for known in recipe_names():
            summary = (load_recipe(known).__doc__ or "").strip().splitlines()[0]
            typer.echo(_beside(known, max(map(len, recipe_names())), summary))
        return
    try:
        load_recipe(name)
        if stamp:
            typer.echo(f"one unit came out as it did: {restamp(name)}")
            return
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with together():
        try:
            written = run_recipe(name, fresh=fresh)
        except KeyboardInterrupt:
            if leads():
                typer.echo(
                    f"\nStopped. What is finished is kept: 'unrolled run {name}' goes "
                    "on from there, and with --fresh it starts over."
                )
            raise typer.Exit(130) from None
    if written:  # by the first of several processes
        path, *models = written
        typer.echo(f"results in {path}")
        for model in models:
            typer.echo(f"model in   {model}")


def _beside(name: str, width: int, words: str) -> str:
    """Return a name and, beside it, the words, in as many lines as the terminal needs.

    What is not shown in a terminal, such as the input of grep, is one line.
    """
    columns, _ = shutil.get_terminal_size(fallback=(10_000, 24))
    return textwrap.fill(
        words,
        max(columns, width + 22),  # at least twenty characters of words
        initial_indent=f"{name:{width}}  ",
        subsequent_indent=" " * (width + 2),
    )
