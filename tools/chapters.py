"""Chapters: run each source, and write its notebook, the reader's edition.

``chapters/NN-name.md`` is edited; ``chapters/NN-name.ipynb`` is made of it: the outputs
of a run, which the book renders and nbval compares, between words that any notebook
viewer shows (:mod:`unrolled_book.edition`). A chapter is *stale* when its own cells
have changed since it was run, or when a run gives something else than it stores
(:mod:`compare_outputs`). Only a run can tell, and every run of all tests does. It is
*out of step* when its notebook is not the edition that would be made now: other words,
another number of another chapter, another look of a card. What it imports is kept as
advice: if that has changed, it is the chapter to run first.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import nbformat
import typer
from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

from compare_outputs import cell_faults
from unrolled.book.records import without_drawing
from unrolled.chapters.pages import all_pages
from unrolled.recipes._sources import digest, imported_modules
from unrolled.runtime import fingerprint

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from unrolled_book.claims import all_claims  # noqa: E402
from unrolled_book.edition import Book, Edition, EditionError  # noqa: E402
from unrolled_book.notebooks import read_source, with_outputs  # noqa: E402

# A code cell of a source: its options, as ":name:" lines or a YAML block, and its code.
CELL = re.compile(
    r"(?P<head>^```\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*\n?))"
    r"(?P<code>.*?)^```",
    re.M | re.S,
)


def sources() -> list[Path]:
    """Return the sources of all the chapters' pages, in reading order."""
    return [page.source for page in all_pages(CHAPTERS.parent)]


def notebook_of(source: Path) -> Path:
    """Return the executed notebook that belongs to ``source``."""
    return source.with_suffix(".ipynb")


def the_book(root: Path | None = None) -> Book:
    """Return what editions look things up in, as it is now."""
    root = root or CHAPTERS.parent
    return Book(root, all_claims(root))


def edition_of(source: Path, stored: NotebookNode, book: Book) -> NotebookNode:
    """Return the reader's edition of ``source``, with the outputs that are stored."""
    edition = Edition(book, source).of(with_outputs(source, stored))
    edition.metadata.pop("jupytext", None)  # a copy has no source to be paired with
    return edition


def code_of(notebook: NotebookNode) -> list[str]:
    """Return the code of a notebook, cell by cell."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def imports_digest(source: Path, *, root: Path = ROOT) -> str:
    """Return a digest of every module of the package that a chapter imports."""
    code = "\n\n".join(map(_plain, code_of(read_source(source))))
    return digest(imported_modules(code, root / "code" / "unrolled"), root)


def outputs_digest(notebook: NotebookNode) -> str:
    """Return a digest of every stored output, to tell if one was changed by hand.

    How a record is drawn is no part of it.
    """
    outputs = [
        [
            output | {"data": without_drawing(output["data"])}
            if "data" in output
            else output
            for output in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()


def is_stale(source: Path) -> bool:
    """Say whether ``source`` must be run: its own code or a stored output changed."""
    if not notebook_of(source).is_file():
        return True
    stored = nbformat.read(notebook_of(source), as_version=4)
    record = stored.metadata.get("unrolled", {})
    same = code_of(read_source(source)) == code_of(stored)
    return not same or record.get("outputs") != outputs_digest(stored)


def is_doubtful(source: Path) -> bool:
    """Say whether what a chapter imports has changed since it was run or compared."""
    if not notebook_of(source).is_file():
        return True
    stored = nbformat.read(notebook_of(source), as_version=4)
    record = stored.metadata.get("unrolled", {})
    return record.get("imports") != imports_digest(source)


def is_out_of_step(source: Path, book: Book | None = None) -> bool:
    """Say whether the notebook differs in any way from the edition made now."""
    notebook = notebook_of(source)
    if not notebook.is_file() or is_stale(source):
        return True
    stored = nbformat.read(notebook, as_version=4)
    return edition_of(source, stored, book or the_book()) != stored


def run(source: Path) -> NotebookNode:
    """Run ``source`` in a fresh kernel; return its notebook with what it took."""
    before, notebook = source.read_bytes(), read_source(source)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        coalesce_streams=True,  # one print after another is one output
        extra_arguments=["--log-level=ERROR"],  # not its warning about plain TCP
        resources={"metadata": {"path": str(source.parent)}},
    )
    start = _cpu_seconds_of_children()
    client.execute()
    seconds = _cpu_seconds_of_children() - start
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran is nobody's business
    if source.read_bytes() != before:
        raise RuntimeError(f"{source.name} changed while it ran: run it again")
    notebook.metadata["unrolled"] = {
        "outputs": outputs_digest(notebook),
        "imports": imports_digest(source),
        "fingerprint": fingerprint(),
        "seconds": round(seconds, 1),  # of the processor
        "cores": 1,
    }
    return notebook


def execute(source: Path) -> float:
    """Run ``source``, store its outputs, return the seconds.

    What is written has the words of the source until :func:`synchronise` makes the
    edition of it: a reference that leads nowhere costs nobody another run. A busy
    machine makes a run slower and never faster: of all runs of the same cells the least
    seconds are kept.
    """
    notebook = run(source)
    record = notebook.metadata["unrolled"]
    if notebook_of(source).is_file():
        stored = nbformat.read(notebook_of(source), as_version=4)
        before = stored.metadata.get("unrolled", {})
        if code_of(stored) == code_of(notebook) and before.get("cores") == 1:
            record["seconds"] = min(record["seconds"], before["seconds"])
    _write(notebook, notebook_of(source))
    return record["seconds"]


def verify(source: Path) -> list[str]:
    """Run a chapter again; return how it differs from what it stores.

    If it does not, what it imports now is known to give the same, and the least seconds
    are kept, as by :func:`execute`.
    """
    stored = nbformat.read(notebook_of(source), as_version=4)
    fresh = run(source)
    record = stored.metadata["unrolled"]
    same = record["fingerprint"] == fresh.metadata["unrolled"]["fingerprint"]
    codes = ([c for c in nb.cells if c.cell_type == "code"] for nb in (stored, fresh))
    found = [
        f"{old.id}: {fault}"
        for old, new in zip(*codes, strict=True)
        for fault in cell_faults(old, new.outputs, same=same)
    ]
    if not found:
        record["imports"] = fresh.metadata["unrolled"]["imports"]
        if record.get("cores") == 1:
            took = fresh.metadata["unrolled"]["seconds"]
            record["seconds"] = min(record["seconds"], took)
        _write(stored, notebook_of(source))
    return found


def synchronise(source: Path, book: Book | None = None) -> bool:
    """Write the edition and keep its outputs; say whether it is another than before.

    It does not matter what words the notebook has now: one of raw MyST text, as a run
    leaves it, becomes the same edition.
    """
    stored = nbformat.read(notebook_of(source), as_version=4)
    edition = edition_of(source, stored, book or the_book())
    if edition != stored:
        _write(edition, notebook_of(source))
    return edition != stored


def format_code(source: Path) -> bool:
    """Lay out the code cells of ``source`` as ruff does; say whether any changed."""
    text = source.read_text(encoding="utf-8")
    try:
        formatted = CELL.sub(lambda m: m["head"] + _ruff(m["code"]) + "```", text)
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error
    if formatted != text:
        source.write_text(formatted, encoding="utf-8")
    return formatted != text


def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Chapters, such as 04; all if none.")
    ] = None,
    force: Annotated[
        bool, typer.Option(help="Run them even if nothing changed, and store that.")
    ] = False,
    layout: Annotated[
        bool,
        typer.Option("--format", help="Only lay out the code cells, as ruff does."),
    ] = False,
) -> None:
    """Run the chapters whose cells changed; see if those that are named still hold."""
    chosen = [s for s in sources() if not names or s.name.startswith(tuple(names))]
    if names and not chosen:
        known = ", ".join(s.stem for s in sources())
        sys.exit(f"no chapter {', '.join(names)}; there are: {known}")
    if layout:
        for source in filter(format_code, chosen):
            typer.echo(f"{source.stem}: code cells laid out anew")
        return
    # Kernels inherit this: labs are stored small, figures need no display, and two
    # busy threads do not fight over two cores.
    os.environ |= {
        "UNROLLED_BOOK": "1",
        "MPLBACKEND": "agg",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    stale = [source for source in chosen if force or is_stale(source)]
    doubtful = [s for s in chosen if s not in stale and is_doubtful(s)]
    again = [s for s in chosen if s not in stale] if names else []
    failed: list[str] = []
    waiting = [*stale, *again]
    for source in (bar := tqdm(waiting, unit="chapter", disable=not waiting)):
        bar.set_description(source.stem)
        try:
            if source in stale:
                bar.write(f"{source.stem}: ran in {execute(source):.1f} s")
            elif faults := verify(source):
                failed.append(source.stem)
                bar.write(f"{source.stem}: NOT AS STORED\n  " + "\n  ".join(faults))
                bar.write("  --force stores what it gives now")
            else:
                bar.write(f"{source.stem}: gives what it stores")
        except Exception as error:  # a cell that failed, a time-out, a dead kernel
            failed.append(source.stem)
            bar.write(f"{source.stem}: FAILED\n{type(error).__name__}: {error}")
    made = write_editions(failed)
    if not stale and not doubtful and not again and not made and not failed:
        typer.echo("Every chapter is up to date.")
    if failed:
        sys.exit(f"not written: {', '.join(failed)}")
    if left := [s.stem for s in doubtful if s not in again]:
        typer.echo(
            f"What they import has changed since they ran: {', '.join(left)}. "
            "'make execute CHAPTER=NN' tells whether their numbers have; so do all "
            "tests."
        )


def write_editions(failed: list[str]) -> list[Path]:
    """Write every edition that is out of step; return those that were written.

    All are looked at: a page may quote a number of another one. What cannot be made is
    told, and added to ``failed``.
    """
    there = [s for s in sources() if notebook_of(s).is_file() and not is_stale(s)]
    book, made = the_book(), []
    for source in there:
        try:
            if synchronise(source, book):
                made.append(source)
                typer.echo(
                    f"{source.stem}: the reader's edition was made, outputs kept"
                )
        except EditionError as error:
            failed.append(source.stem)
            typer.echo(f"{source.stem}: NO EDITION: {error}")
    return made


def _cpu_seconds_of_children() -> float:
    """Return what processes that have ended took of the processor: kernels, here."""
    times = os.times()
    return times.children_user + times.children_system


def _plain(cell: str) -> str:
    """Return ``cell`` without the lines that only IPython understands."""
    return re.sub(r"^\s*[%!].*$", "", cell, flags=re.M)


def _ruff(code: str) -> str:
    command = [Path(sys.executable).parent / "ruff", "format", "-q", "-"]
    ran = subprocess.run(
        command,
        input=code,
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        check=False,
    )
    if ran.returncode:
        raise ValueError(f"ruff cannot lay out this cell:\n{code}\n{ran.stderr}")
    return ran.stdout


def _write(notebook: NotebookNode, path: Path) -> None:
    beside = path.with_name(path.name + ".writing")
    nbformat.write(notebook, beside)
    beside.replace(path)


if __name__ == "__main__":
    typer.run(main)
