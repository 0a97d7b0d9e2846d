"""The command line of the data: ``unrolled data --help``."""

import os
from itertools import chain
from typing import Annotated

import typer

from unrolled.cli.plainly import plainly
from unrolled.data.catalogue import find_home, find_source, homes, sources
from unrolled.data.fetch.audit import MISSING, look_at, look_elsewhere
from unrolled.data.fetch.errors import DataError, UnreachableError
from unrolled.data.fetch.homes import fetch_from_home
from unrolled.data.fetch.parts import part_of
from unrolled.data.fetch.places import data_folder
from unrolled.data.fetch.sources import Source
from unrolled.data.fetch.store import fetch, path_of, unpack, unpacked_path

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""The book's data: see what there is, fetch it once, check it.

**unrolled data fetch --all** gets everything; after it no chapter needs a network.
The files come from the package index that your pip uses, into the folder that
`unrolled data path` names. Set UNROLLED_DATA to choose another.""",
)
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Which; see: unrolled data list"),
]


def _stopped(kept: str = "What has come is kept") -> str:
    return f"Stopped. {kept}: the same command goes on from there."


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB"


def _state(source: Source) -> str:
    """Return whether a source is here, by sizes and names only."""
    files = [path_of(archive) for archive in source.archives]
    sizes = [path.stat().st_size if path.is_file() else -1 for path in files]
    here = [n == a.size for n, a in zip(sizes, source.archives, strict=True)]
    here += [unpacked_path(source, member).is_file() for member in source.unpacked]
    return "yes" if all(here) else "in part" if any(here) else "no"


@app.command("list")
def show() -> None:
    """List the sources: name, size, whether fetched, licence."""
    with plainly(_stopped()):
        line = "{:12} {:>9}  {:7}  {}".format
        typer.echo(line("name", "size", "fetched", "licence"))
        states = {source.name: _state(source) for source in sources().values()}
        for source in sources().values():
            size, state = _megabytes(source.size), states[source.name]
            typer.echo(line(source.name, size, state, source.licence))
        total = sum(source.size for source in sources().values())
        n_here = sum(state == "yes" for state in states.values())
        words = f"{n_here} of {len(sources())} fetched, in {data_folder()}"
        typer.echo(line("total", _megabytes(total), "", words))


def _get(source: Source, failures: list[str]) -> None:
    """Fetch and unpack a source; note what fails and go on, if an index answers."""
    before = len(failures)
    for archive in source.archives:
        try:
            done = "fetched" if fetch(source.name, archive) else "already here"
        except UnreachableError:
            raise
        except DataError as error:
            failures.append(str(error))
        else:
            typer.echo(f"{source.name:12} {archive.filename}: {done}")
    try:
        for member in source.unpacked if len(failures) == before else ():
            unpack(source, member)
    except DataError as error:
        failures.append(str(error))


@app.command("fetch")
def get(
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", help="Every source.")] = False,
) -> None:
    """Fetch sources, each once; an interrupted fetch goes on where it stopped.

    What a chapter needs as a file is unpacked too, so that the folder is complete and
    can be shared: nobody who reads from it writes into it.

    Try: unrolled data fetch kjv
    """
    with plainly(_stopped()):
        if not names and not everything:
            total = _megabytes(sum(source.size for source in sources().values()))
            raise ValueError(
                "Say what to fetch: 'unrolled data fetch NAME ...', or 'unrolled data "
                f"fetch --all' for everything ({total}). "
                f"There are {', '.join(sources())}."
            )
        failures: list[str] = []
        for source in _chosen(None if everything else names):
            try:
                _get(source, failures)
            except UnreachableError as error:
                raise DataError("\n".join([*failures, str(error)])) from None
        if failures:
            raise DataError("\n".join(failures))


@app.command()
def verify(names: Names = None) -> None:
    """Hash the files that are here, and say which are not as they should be.

    Without a name it looks at all that is fetched, unpacked or from elsewhere; a source
    that is named must be complete. It never uses the network.
    """
    with plainly(_stopped()):
        findings = [look_at(source) for source in _chosen(names)]
        findings += [] if names else [look_elsewhere(homes().values())]
        wrong = 0
        for found in chain.from_iterable(findings):
            part = part_of(found.path)
            if os.path.lexists(part):
                typer.echo(f"{part}: unfinished. To go on: {found.again}")
            file = found.path.relative_to(data_folder())
            if found.fault is None:
                typer.echo(f"{found.name:12} {file}: right")
            elif found.fault == MISSING and not names:
                typer.echo(f"{found.name:12} {file}: not fetched")
            else:
                wrong += 1
                typer.echo(f"{found.path}: {found.fault}. Run: {found.again}", err=True)
        if wrong:
            raise DataError(f"{wrong} wrong")


@app.command()
def path(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A source.")
    ] = None,
) -> None:
    """Print the folder of the data, or the files of a source."""
    with plainly(_stopped()):
        files = [path_of(a) for a in find_source(name).archives] if name else []
        typer.echo("\n".join(map(str, files or [data_folder()])))


@app.command()
def elsewhere(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which; without: list them.")
    ] = None,
) -> None:
    """Download a well-known data set or model from its own home, if you want it.

    The book never needs these. They come from the homes themselves, not from your
    package index, so they need a network that reaches them.

    Try: unrolled data elsewhere tiny_shakespeare
    """
    with plainly(_stopped("Whole files are kept")):
        if name:
            typer.echo(f"{name} is in {fetch_from_home(find_home(name))}")
            return
        line = "{:18} {:>10}  {}".format
        typer.echo(line("name", "size", "licence"))
        for home in homes().values():
            typer.echo(line(home.name, _megabytes(home.size), home.licence))


def _chosen(names: list[str] | None) -> list[Source]:
    """Return the sources of these names, or all; complain before anything is done."""
    return [find_source(name) for name in names or sources()]
