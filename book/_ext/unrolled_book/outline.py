"""The plan of the book, ``book/outline.yml``, and how much of it is written.

- ``{parts}`` shows every part with its chapters: a link to each that the book has, and
  "being written" beside the others. Nothing of that is typed.
- ``{chapters}`finished``` and ``{chapters}`planned``` print how many there are.
- A chapter carries its number in the sidebar and in the links to the next page, and its
  part above the title.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

LOG = logging.getLogger(__name__)
PLAN = "book/outline.yml"


class Chapter(NamedTuple):
    """A chapter as it is planned."""

    stem: str
    title: str
    line: str
    part: str

    @property
    def docname(self) -> str:
        """The name that Sphinx knows it by."""
        return f"chapters/{self.stem}"

    @property
    def number(self) -> int:
        """Its number, out of the name of its file; the primer's is 0."""
        return int(self.stem.split("-")[0])


class Part(NamedTuple):
    """A part of the book."""

    name: str
    idea: str
    chapters: list[Chapter]


def outline(root: Path) -> list[Part]:
    """Return the parts of the book that stands in ``root``, in their order."""
    planned = yaml.safe_load((root / PLAN).read_text(encoding="utf-8"))
    parts = [
        Part(
            entry["part"],
            entry["idea"],
            [Chapter(part=entry["part"], **chapter) for chapter in entry["chapters"]],
        )
        for entry in planned
    ]
    numbers = [chapter.number for part in parts for chapter in part.chapters]
    if numbers != list(range(len(numbers))):
        raise ValueError(f"{PLAN}: chapters must be numbered from 0 on, got {numbers}")
    return parts


def chapters(app: Sphinx) -> dict[str, Chapter]:
    """Return every planned chapter by its document name; none without a plan."""
    root = Path(app.srcdir)
    if not (root / PLAN).is_file():
        return {}
    return {c.docname: c for part in outline(root) for c in part.chapters}


def is_written(env: BuildEnvironment, chapter: Chapter) -> bool:
    """Say whether the book has the chapter: it is listed, and its notebook exists."""
    return chapter.docname in env.found_docs


class Parts(SphinxDirective):
    """The parts of the book as cards."""

    def run(self) -> list[nodes.Node]:
        """Build a card for each part; look again at every build."""
        self.env.note_dependency(str(Path(self.env.srcdir) / PLAN))
        self.env.note_reread()  # which chapters exist is no property of this page
        cards = [self._card(part) for part in outline(Path(self.env.srcdir))]
        return [nodes.container("", *cards, classes=["parts"])]

    def _card(self, part: Part) -> nodes.section:
        name = nodes.make_id(part.name)
        card = nodes.section(ids=[name], names=[name], classes=["part"])
        card += nodes.title(text=part.name)
        card += nodes.paragraph(text=part.idea, classes=["part-idea"])
        items = (self._item(chapter) for chapter in part.chapters)
        card += nodes.bullet_list("", *items, classes=["part-chapters"])
        return card

    def _item(self, chapter: Chapter) -> nodes.list_item:
        written = is_written(self.env, chapter)
        label = str(chapter.number) if chapter.number else "·"
        head = nodes.paragraph(classes=["part-chapter"])
        head += nodes.inline(text=label, classes=["part-number"])
        head += nodes.Text(" ")
        line = nodes.paragraph(text=chapter.line, classes=["part-line"])
        if written:
            uri = self.env.app.builder.get_relative_uri(
                self.env.docname, chapter.docname
            )
            head += nodes.reference(text=chapter.title, refuri=uri, internal=True)
        else:
            head += nodes.inline(text=chapter.title, classes=["part-title"])
            line += nodes.Text(" ")
            line += nodes.inline(text="being written", classes=["part-state"])
        state = "written" if written else "unwritten"
        return nodes.list_item("", head, line, classes=[state])


class Count(SphinxRole):
    """How many chapters there are; the primer, number 0, is not counted."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Count the chapters that are finished, or all that are planned."""
        numbered = [c for c in chapters(self.env.app).values() if c.number]
        finished = [c for c in numbered if is_written(self.env, c)]
        counts = {"finished": len(finished), "planned": len(numbered)}
        self.env.note_reread()
        if self.text not in counts:
            LOG.warning(
                "no count of chapters %r: say one of %s",
                self.text,
                ", ".join(counts),
                location=self.get_location(),
            )
            return [nodes.problematic(text=self.text)], []
        return [nodes.inline(text=str(counts[self.text]))], []


def number_title(app: Sphinx, doctree: nodes.document) -> None:
    """Put a chapter's number before its title, wherever Sphinx lists it.

    Lists of contents are made from ``env.tocs``, links to the next page from
    ``env.titles``; the heading of the page itself is neither.
    """
    docname = app.env.docname
    chapter = chapters(app).get(docname)
    if chapter is None or not chapter.number:
        return
    app.env.titles[docname] = app.env.titles[docname].deepcopy()  # the page's own stays
    for title in (
        app.env.titles[docname],
        next(app.env.tocs[docname].findall(nodes.reference)),
    ):
        title.insert(0, nodes.inline(text=str(chapter.number), classes=["number"]))
        title.insert(1, nodes.Text(" "))


def name_part(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Tell the template what stands above a chapter's title."""
    if chapter := chapters(app).get(page):
        number = f"Chapter {chapter.number}" if chapter.number else "Primer"
        context["chapter"], context["part"] = number, chapter.part


def setup(app: Sphinx) -> None:
    """Register the directive, the role and the numbers."""
    app.add_directive("parts", Parts)
    app.add_role("chapters", Count())
    app.connect("doctree-read", number_title, priority=900)
    app.connect("html-page-context", name_part)
