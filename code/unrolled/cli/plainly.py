"""What goes wrong in a command is said in words, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from unrolled.data.fetch.errors import DataError
from unrolled.grading.notebooks.ticks import printable


@contextmanager
def plainly(stopped: str = "Stopped.") -> Iterator[None]:
    """Say what is wrong, or that it was ``stopped``, on stderr, and exit."""
    try:
        yield
    except BrokenPipeError:  # nobody reads on; typer is quiet about it
        raise
    except (DataError, ValueError, OSError) as error:
        typer.echo(printable(str(error)), err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"\n{stopped}", err=True)
        raise typer.Exit(130) from None
