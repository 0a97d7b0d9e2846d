"""The plan of the book, ``book/outline.yml``, and how much of it is written.

- ``{parts}`` shows every part with its chapters: a link to each that the book has, and
  "being written" beside the others. Nothing of that is typed.
- ``{chapters}`finished``` and ``{chapters}`planned``` print how many there are.
- A chapter carries its number in the sidebar and in the links to the next page, and its
  part above the title. A further page carries its kind there, and its chapter above.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from unrolled.chapters.pages import Page, all_pages

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
    if not hasattr(app, "unrolled_chapters"):
        found = {c.docname: c for part in outline(root) for c in part.chapters}
        app.unrolled_chapters = found
    return app.unrolled_chapters


def pages(app: Sphinx) -> dict[str, Page]:
    """Return every page of a chapter by its document name, in reading order."""
    if not hasattr(app, "unrolled_pages"):
        found = all_pages(Path(app.srcdir))
        app.unrolled_pages = {page.docname: page for page in found}
    return app.unrolled_pages


def page_name(app: Sphinx, stem: str, words: str = "") -> str:
    """Return what to call a page: *chapter 4: Title*, *chapter 4, study: Title*.

    ``words`` stand for the title, if there are any. The primer has no number.
    """
    docname = f"chapters/{stem}"
    page, planned = pages(app).get(docname), chapters(app).get(docname)
    if planned is not None:
        number = f"chapter {planned.number}: " if planned.number else ""
        return f"{number}{words or planned.title}"
    if page is None:
        raise ValueError(f"there is no page {docname}, and none is planned")
    return f"chapter {page.number}, {page.kind}: {words or heading(page)}"


def heading(page: Page) -> str:
    """Return the heading of a page, as its source has it."""
    found = re.search(r"^# (.+?) *$", page.source.read_text(encoding="utf-8"), re.M)
    return found[1] if found else page.stem


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
    """Put a chapter's number before its title, a further page's kind after its own.

    Sphinx makes lists of contents from ``env.tocs``, and links to the next page from
    ``env.titles``; the heading of the page itself is neither.
    """
    docname = app.env.docname
    chapter, page = chapters(app).get(docname), pages(app).get(docname)
    before: list[nodes.Node] = []
    after: list[nodes.Node] = []
    if chapter is not None and chapter.number:
        number = nodes.inline(text=str(chapter.number), classes=["number"])
        before = [number, nodes.Text(" ")]
    if page is not None and page.kind != "main":
        after = [nodes.Text(" "), nodes.inline(text=f"· {page.kind}", classes=["kind"])]
    if not before and not after:
        return
    app.env.titles[docname] = app.env.titles[docname].deepcopy()  # the page's own stays
    for title in (
        app.env.titles[docname],
        next(app.env.tocs[docname].findall(nodes.reference)),
    ):
        title[0:0] = [node.deepcopy() for node in before]
        title.extend(node.deepcopy() for node in after)


def name_part(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Tell the template what stands above the title of a chapter or further page."""
    if chapter := chapters(app).get(page):
        number = f"Chapter {chapter.number}" if chapter.number else "Primer"
        context["chapter"], context["part"] = number, chapter.part
        return
    further = pages(app).get(page)
    for chapter in chapters(app).values() if further else ():
        if chapter.number == further.number:
            number = f"Chapter {chapter.number}" if chapter.number else "Primer"
            context["chapter"] = f"{number} · {further.kind}"
            context["part"] = chapter.title
            context["up"] = app.builder.get_relative_uri(page, chapter.docname)


def setup(app: Sphinx) -> None:
    """Register the directive, the role and the numbers."""
    app.add_directive("parts", Parts)
    app.add_role("chapters", Count())
    app.connect("doctree-read", number_title, priority=900)
    app.connect("html-page-context", name_part)
