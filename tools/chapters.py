"""Chapters: pair each source with its executed notebook, and re-run what is stale.

``chapters/NN-name.md`` is edited; ``chapters/NN-name.ipynb`` is the same text with
stored outputs, which the book renders and nbval re-runs. A chapter is *stale* when its
code cells, a module of the package that it imports (however indirectly), the results
of a recipe it uses, or a pinned version changed since it was run; it is *out of step*
when only its words differ.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import jupytext
import nbformat
import typer
from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

from unrolled.recipes._sources import digest, imported_modules

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
PACKAGE = ROOT / "code" / "unrolled"
# A code cell of a source: its options, as ":name:" lines or a YAML block, and its code.
CELL = re.compile(
    r"(?P<head>^```\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*\n?))"
    r"(?P<code>.*?)^```",
    re.M | re.S,
)
PINNED = ("torch", "numpy", "matplotlib")  # what the numbers and pictures rest on


def sources() -> list[Path]:
    """Return the chapters' sources in their order."""
    return sorted(CHAPTERS.glob("[0-9][0-9]-*.md"))


def notebook_of(source: Path) -> Path:
    """Return the executed notebook that belongs to ``source``."""
    return source.with_suffix(".ipynb")


def read_source(source: Path) -> NotebookNode:
    """Read a chapter's source as a notebook without outputs."""
    return jupytext.read(source)


def chapter_key(source: Path, *, root: Path = ROOT) -> str:
    """Return a digest of everything that a chapter's outputs depend on."""
    code = [c.source for c in read_source(source).cells if c.cell_type == "code"]
    package = root / "code" / "unrolled"
    modules = imported_modules("\n\n".join(map(_plain, code)), package)
    recipes = {p.stem for p in modules if p.parent.name == "recipes"}
    files = modules | {
        path
        for name in recipes
        for path in (
            root / "book" / "results" / f"{name}.json",
            root / "book" / "_static" / "models" / f"{name.replace('_', '-')}.js",
        )
        if path.is_file()
    }
    pins = re.findall(
        rf"^(?:{'|'.join(PINNED)})==.*$",
        (root / "requirements.txt").read_text(encoding="utf-8"),
        re.M,
    )
    rest = [code, sorted(pins), digest(files, root)]
    return hashlib.sha256(json.dumps(rest).encode()).hexdigest()


def outputs_digest(notebook: NotebookNode) -> str:
    """Return a digest of every stored output, to tell if one was changed by hand."""
    outputs = [c.outputs for c in notebook.cells if c.cell_type == "code"]
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()


def is_stale(source: Path) -> bool:
    """Say whether ``source`` must be run again: its key or its outputs have changed."""
    if not notebook_of(source).is_file():
        return True
    stored = nbformat.read(notebook_of(source), as_version=4)
    record = stored.metadata.get("unrolled", {})
    expected = (chapter_key(source), outputs_digest(stored))
    return (record.get("key"), record.get("outputs")) != expected


def is_out_of_step(source: Path) -> bool:
    """Say whether the notebook's cells differ from the source's in any way."""
    notebook = notebook_of(source)
    if not notebook.is_file():
        return True
    stored = nbformat.read(notebook, as_version=4)
    return _cells(read_source(source)) != _cells(stored)


def execute(source: Path) -> float:
    """Run ``source`` in a fresh kernel, write its notebook, return the seconds."""
    key, notebook = chapter_key(source), _numbered(read_source(source))
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # not its warning about plain TCP
        resources={"metadata": {"path": str(source.parent)}},
    )
    start = time.perf_counter()
    client.execute()
    seconds = time.perf_counter() - start
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran is nobody's business
    if chapter_key(source) != key:
        raise RuntimeError(
            f"{source.name}, or what it imports, changed while it ran: run it again"
        )
    notebook.metadata["unrolled"] = {
        "key": key,
        "outputs": outputs_digest(notebook),
        "seconds": round(seconds, 1),
        "cores": os.cpu_count(),
    }
    _write(notebook, notebook_of(source))
    return seconds


def synchronise(source: Path) -> None:
    """Bring new words into the notebook and keep its outputs: no code has changed."""
    fresh, stored = (
        _numbered(read_source(source)),
        nbformat.read(notebook_of(source), as_version=4),
    )
    outputs = [c for c in stored.cells if c.cell_type == "code"]
    for cell, old in zip(
        (c for c in fresh.cells if c.cell_type == "code"), outputs, strict=True
    ):
        if cell.source != old.source:
            raise ValueError(f"{source.name} has other code than was run: execute it")
        cell.outputs, cell.execution_count = old.outputs, old.execution_count
    fresh.metadata = stored.metadata | fresh.metadata
    _write(fresh, notebook_of(source))


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
        bool, typer.Option(help="Run them even if nothing changed.")
    ] = False,
    layout: Annotated[
        bool,
        typer.Option("--format", help="Only lay out the code cells, as ruff does."),
    ] = False,
) -> None:
    """Re-run the chapters whose code, package modules, results or versions changed."""
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
    for source in chosen:
        if source not in stale and is_out_of_step(source):
            synchronise(source)
            typer.echo(f"{source.stem}: new words, same code: outputs kept")
    if not stale:
        typer.echo("Every chapter is up to date.")
        return
    failed = []
    for source in (bar := tqdm(stale, unit="chapter")):
        bar.set_description(source.stem)
        try:
            bar.write(f"{source.stem}: ran in {execute(source):.1f} s")
        except Exception as error:  # a cell that failed, a time-out, a dead kernel
            failed.append(source.stem)
            bar.write(f"{source.stem}: FAILED\n{type(error).__name__}: {error}")
    if failed:
        sys.exit(f"not written: {', '.join(failed)}")


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


def _cells(notebook: NotebookNode) -> list[tuple[str, str, str]]:
    return [
        (c.cell_type, c.source, json.dumps(c.metadata, sort_keys=True))
        for c in notebook.cells
    ]


def _numbered(notebook: NotebookNode) -> NotebookNode:
    """Give cells ids that stay the same from run to run."""
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03d}"
    return notebook


def _write(notebook: NotebookNode, path: Path) -> None:
    beside = path.with_name(path.name + ".writing")
    nbformat.write(notebook, beside)
    beside.replace(path)


if __name__ == "__main__":
    typer.run(main)
