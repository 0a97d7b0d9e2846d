"""How long the book takes to run, read out of what was stored when it was run.

- ``{chapter-times}`` lists the pages of chapters: last run, cells, claims, size.
- ``{recipe-times}`` lists the recipes, the experiments too long for a chapter.
- ``{pinned-versions}`` lists the versions that the numbers rest on.
- ``{limit}`page```, ``{limit}`chapter``` and ``{limit}`book``` print the limits.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from unrolled.book.records import CLAIM as MIME
from unrolled_book import notebooks, outline
from unrolled_book.tables import table

LOG = logging.getLogger(__name__)
PAGE_LIMIT, CHAPTER_LIMIT, BOOK_LIMIT = 60, 100, 30 * 60  # seconds of one core
KEEP = "\N{NO-BREAK SPACE}"  # a number and its unit stay together
PINNED = ("torch", "numpy", "matplotlib")  # as tools/chapters.py has it


class Chapter(NamedTuple):
    """What the notebook of a chapter's page says of its last run."""

    docname: str
    seconds: float
    cores: int
    cells: int
    claims: int
    size: int  # bytes
    python: str


class Recipe(NamedTuple):
    """What a recipe's results say of the run that made them."""

    name: str
    seconds: float
    cores: int
    units: int
    python: str
    torch: str


def chapter_times(root: Path) -> list[Chapter]:
    """Return the last runs of all chapters' pages of the book in ``root``."""
    found = []
    for path in notebooks.of_chapters(root):
        notebook = notebooks.read(path)
        record = notebook["metadata"]["unrolled"]
        found.append(
            Chapter(
                docname=f"chapters/{path.stem}",
                seconds=record["seconds"],
                cores=record["cores"],
                cells=sum(cell["cell_type"] == "code" for cell in notebook["cells"]),
                claims=sum(1 for _ in notebooks.outputs(notebook, MIME)),
                size=path.stat().st_size,
                python=notebook["metadata"]["language_info"]["version"],
            )
        )
    return found


def result_files(root: Path) -> list[Path]:
    """Return the results of recipes; an interrupted run has left none."""
    found = sorted((root / "book" / "results").glob("*.json"))
    return [path for path in found if not path.name.endswith(".partial.json")]


def recipe_times(root: Path) -> list[Recipe]:
    """Return the runs behind all committed results below ``root``."""
    found = []
    for path in result_files(root):
        record = json.loads(path.read_text(encoding="utf-8"))
        found.append(
            Recipe(
                name=record["recipe"],
                seconds=record["seconds"],
                cores=record["cores"],
                units=len(record["units"]),
                python=record["versions"]["python"],
                torch=record["versions"]["torch"],
            )
        )
    return found


def pinned(root: Path) -> dict[str, str]:
    """Return the pinned versions that the stored outputs depend on."""
    text = (root / "requirements.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^([\w-]+)==(\S+)$", text, re.M))
    return {name: found[name] for name in PINNED}


def duration(seconds: float) -> str:
    """Return a duration as a reader wants it: 90 s, 2 min 40 s, 2 h 5 min."""
    whole = round(seconds)
    parts = [(whole, "s")]
    if whole >= 120:
        parts = [(whole // 60, "min"), (whole % 60, "s")]
    if whole >= 3600:
        minutes = round(whole / 60)
        parts = [(minutes // 60, "h"), (minutes % 60, "min")]
    first, *rest = parts
    shown = [first, *(part for part in rest if part[0])]
    return " ".join(f"{count}{KEEP}{unit}" for count, unit in shown)


def megabytes(size: int) -> str:
    """Return a number of bytes as a reader wants it."""
    return f"{size / 1e6:.1f}{KEEP}MB"


class ChapterTimes(SphinxDirective):
    """The table of chapters, with their sum."""

    def run(self) -> list[nodes.Node]:
        """Build the table, and have it rebuilt whenever a notebook changes."""
        root = Path(self.env.srcdir)
        for path in notebooks.of_chapters(root):
            self.env.note_dependency(str(path))
        self.env.note_reread()  # a chapter may have come that was not there before
        chapters = chapter_times(root)
        rows = [
            (
                self._link(chapter),
                duration(chapter.seconds),
                chapter.cores,
                chapter.cells,
                chapter.claims,
                megabytes(chapter.size),
            )
            for chapter in chapters
        ]
        rows.append(
            (
                nodes.strong(text="all"),
                duration(sum(chapter.seconds for chapter in chapters)),
                "",
                sum(chapter.cells for chapter in chapters),
                sum(chapter.claims for chapter in chapters),
                megabytes(sum(chapter.size for chapter in chapters)),
            )
        )
        head = ("chapter", "last run", "cores", "cells", "claims", "size")
        return [table(head, rows)]

    def _link(self, chapter: Chapter) -> nodes.Node:
        page = outline.pages(self.env.app)[chapter.docname]
        name = str(page.number)
        if page.kind != "main":
            name += f", {page.kind}: {outline.heading(page)}"
        if chapter.docname not in self.env.found_docs:
            return nodes.Text(name)
        uri = self.env.app.builder.get_relative_uri(self.env.docname, chapter.docname)
        return nodes.reference(text=name, refuri=uri, internal=True)


class RecipeTimes(SphinxDirective):
    """The table of recipes."""

    def run(self) -> list[nodes.Node]:
        """Build the table, and have it rebuilt whenever results change."""
        root = Path(self.env.srcdir)
        for path in result_files(root):
            self.env.note_dependency(str(path))
        self.env.note_reread()
        rows = [
            (
                nodes.literal(text=recipe.name),
                duration(recipe.seconds),
                recipe.cores,
                recipe.units,
                recipe.python,
                recipe.torch,
            )
            for recipe in recipe_times(root)
        ]
        return [table(("recipe", "took", "cores", "units", "Python", "torch"), rows)]


class PinnedVersions(SphinxDirective):
    """The table of versions."""

    def run(self) -> list[nodes.Node]:
        """Build the table from the notebooks and from requirements.txt."""
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / "requirements.txt"))
        for path in notebooks.of_chapters(root):
            self.env.note_dependency(str(path))
        ran = sorted({chapter.python for chapter in chapter_times(root)})
        rows = [("Python", ", ".join(ran)), *pinned(root).items()]
        return [table(("what", "version"), rows)]


class Limit(SphinxRole):
    """A limit on the running time."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Print it, or warn that there is none of that name."""
        limits = {"page": PAGE_LIMIT, "chapter": CHAPTER_LIMIT, "book": BOOK_LIMIT}
        if self.text not in limits:
            LOG.warning(
                "no limit %r: say one of %s", self.text, ", ".join(limits),
                location=self.get_location(),
            )  # fmt: skip
            return [nodes.problematic(text=self.text)], []
        return [nodes.inline(text=duration(limits[self.text]))], []


def setup(app: Sphinx) -> None:
    """Register the directives and the role."""
    app.add_directive("chapter-times", ChapterTimes)
    app.add_directive("recipe-times", RecipeTimes)
    app.add_directive("pinned-versions", PinnedVersions)
    app.add_role("limit", Limit())
