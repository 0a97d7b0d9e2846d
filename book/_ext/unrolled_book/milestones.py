"""The milestones of the timeline, ``book/timeline.yml``, as a list.

``{milestones}`` lists them with what each changed, the work to cite and the chapter
that treats it. The figure above the list is drawn from the same file.
"""

from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled_book import outline

DATA = "book/timeline.yml"


class Milestone(NamedTuple):
    """One entry of the file; ``cite`` holds keys of the bibliography."""

    year: int
    name: str
    strand: str
    cite: list[str]
    why: str
    chapter: str


def milestones(root: Path) -> list[Milestone]:
    """Return the milestones of the book that stands in ``root``, each complete."""
    entries = yaml.safe_load((root / DATA).read_text(encoding="utf-8"))
    for entry in entries:
        if wrong := set(Milestone._fields) ^ set(entry):
            what = f"{entry.get('year')} {entry.get('name')}"
            raise ValueError(f"{DATA}: {what}: {', '.join(sorted(wrong))}")
    return [Milestone(**entry) for entry in entries]


class Milestones(SphinxDirective):
    """The list."""

    def run(self) -> list[nodes.Node]:
        """Build it; look again at every build which chapters there are."""
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / DATA))
        self.env.note_dependency(str(root / outline.PLAN))
        self.env.note_reread()
        items = [self._item(milestone) for milestone in milestones(root)]
        return [nodes.definition_list("", *items, classes=["milestones"])]

    def _item(self, milestone: Milestone) -> nodes.definition_list_item:
        works = " and ".join(f"{{cite:t}}`{key}`" for key in milestone.cite)
        why, _ = self.state.inline_text(f"{milestone.why} {works}. ", self.lineno)
        item = nodes.definition_list_item(
            "",
            nodes.term(text=f"{milestone.year} · {milestone.name}"),
            nodes.classifier(text=milestone.strand),
            nodes.definition(
                "", nodes.paragraph("", "", *why, *self._chapter(milestone))
            ),
        )
        self.set_source_info(item)  # Sphinx asks every list of this kind for it
        return item

    def _chapter(self, milestone: Milestone) -> list[nodes.Node]:
        """Name the chapter, with a link if the book has it."""
        chapter = outline.chapters(self.env.app).get(f"chapters/{milestone.chapter}")
        if chapter is None:
            raise self.error(
                f"{milestone.name}: no chapter {milestone.chapter!r} in {outline.PLAN}"
            )
        words = f"Chapter {chapter.number}, {chapter.title}"
        if not outline.is_written(self.env, chapter):
            return [nodes.Text(f"{words}.")]
        address = self.env.app.builder.get_relative_uri(
            self.env.docname, chapter.docname
        )
        link = nodes.reference(text=words, refuri=address, internal=True)
        return [link, nodes.Text(".")]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("milestones", Milestones)
