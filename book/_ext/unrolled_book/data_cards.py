"""The data cards: what each set of the book is, and what it is not good for.

- ``{data-overview}`` lists all sets, with a link to the card of each.
- ``{data-cards} real`` or ``made`` prints the cards; ``{ref}`data-kjv``` leads to one.
- ``{data-elsewhere}`` lists what can be had from elsewhere and is never needed.

What they say is read by :mod:`unrolled_book.data_words`.
"""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled.data.catalogue import homes, sources
from unrolled_book import outline
from unrolled_book.data_pictures import example
from unrolled_book.data_words import KINDS, NUMBERS, PACKAGE, WORDS, Card, read
from unrolled_book.tables import Row, stacked_table, table
from unrolled_book.times import megabytes

READERS = ("corpora", "elsewhere")  # whose modules say what they are read from


def _badge(kind: str) -> nodes.inline:
    return nodes.inline(text=KINDS[kind], classes=["data-kind", kind])


class _OfCards(SphinxDirective):
    """What the directives share: the cards, and what the page rests on."""

    def cards(self) -> list[Card]:
        """Read them; look again at every build which chapters there are."""
        root = Path(self.env.srcdir)
        folders = (PACKAGE / "data" / name for name in READERS)
        readers = (path for folder in folders for path in sorted(folder.glob("*.py")))
        for path in (root / WORDS, root / NUMBERS, root / outline.PLAN, *readers):
            self.env.note_dependency(str(path))
        self.env.note_reread()
        try:
            return read(root)
        except ValueError as error:
            raise self.error(str(error)) from error


class Overview(_OfCards):
    """The list of all sets."""

    def run(self) -> list[nodes.Node]:
        """Build a table that fits a telephone."""
        rows = [
            (
                nodes.reference(text=card.title, refid=card.anchor, internal=True),
                _badge(card.kind),
                megabytes(card.size) if card.size else "\N{EN DASH}",
            )
            for card in self.cards()
        ]
        total = sum(source.size for source in sources().values())
        rows.append((nodes.strong(text="all, each file once"), "", megabytes(total)))
        found = table(("set", "real or made", "to fetch"), rows)
        found["classes"] += ["data-overview"]
        return [found]


class Cards(_OfCards):
    """The cards of real data or of made data, a section each."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build the sections."""
        made = {"real": False, "made": True}.get(self.arguments[0])
        if made is None:
            raise self.error(f"data-cards {self.arguments[0]!r}: say real or made")
        cards = [card for card in self.cards() if (card.kind == "made") == made]
        return [self._section(card) for card in cards]

    def _section(self, card: Card) -> nodes.section:
        section = nodes.section(ids=[card.anchor], names=[card.anchor])
        section += nodes.title(text=card.title)
        self.state.document.note_explicit_target(section, section)
        head = nodes.paragraph("", "", _badge(card.kind), classes=["data-head"])
        head += nodes.literal(text=card.module)
        section += head
        section += self._words(card.words["what"])
        fields = nodes.definition_list(classes=["data-card"])
        for name, content in (
            ("Example", example(card.example)),
            ("Real or made?", self._words(card.words["real"])),
            ("How many", self._counts(card)),
            ("Split", self._words(card.words["split"])),
            ("Known faults", self._words(card.words["faults"])),
            ("Not good for", self._words(card.words["not_for"])),
            ("Licence", [nodes.paragraph(text=card.licence)]),
            ("To cite", [nodes.paragraph(text=card.citation)]),
            ("File", self._files(card.files)),
            ("Load", [nodes.literal_block(card.code, card.code, language="python")]),
            ("Used in", [self._chapters(card)]),
        ):
            item = nodes.definition_list_item(
                "", nodes.term(text=name), nodes.definition("", *content)
            )
            self.set_source_info(item)
            fields += item
        section += fields
        return section

    def _words(self, text: str) -> list[nodes.Node]:
        return self.parse_text_to_nodes(text)

    def _files(self, files: list[str]) -> list[nodes.Node]:
        if len(files) == 1:
            return self._words(files[0])
        return self._words("\n".join(f"- {file}" for file in files))

    def _counts(self, card: Card) -> list[nodes.Node]:
        """Return a table with a row for each part, and their sum."""
        free = nodes.paragraph(text="As many as you draw.")
        found: list[nodes.Node] = [free] if card.kind == "made" else []
        if not card.counts:
            return found
        parts = list(next(iter(card.counts.values())))
        rows = [
            (part, *(f"{count[part]:,}" for count in card.counts.values()))
            for part in parts
        ]
        if len(parts) > 1:
            sums = (f"{sum(count.values()):,}" for count in card.counts.values())
            rows.append(("all", *sums))
        head = "drawn from" if card.kind == "made" else "part"
        return [*found, table((head, *card.counts), rows)]

    def _chapters(self, card: Card) -> nodes.paragraph:
        """Name the chapters, with a link to each that the book has."""
        if not card.chapters:
            return nodes.paragraph(text="No chapter; it is there for your experiments.")
        planned = outline.chapters(self.env.app)
        line = nodes.paragraph()
        for stem in card.chapters:
            chapter = planned.get(f"chapters/{stem}")
            if chapter is None:
                raise self.error(
                    f"{WORDS}: {card.name}: no chapter {stem!r} in {outline.PLAN}"
                )
            if line.children:
                line += nodes.Text("; ")
            words = f"chapter {chapter.number}, {chapter.title}"
            if outline.is_written(self.env, chapter):
                uri = self.env.app.builder.get_relative_uri(
                    self.env.docname, chapter.docname
                )
                line += nodes.reference(text=words, refuri=uri, internal=True)
            else:
                line += nodes.Text(f"{words} (being written)")
        return line


class Elsewhere(_OfCards):
    """The table of what lives elsewhere."""

    def run(self) -> list[nodes.Node]:
        """Build it from what the package's readers say."""
        self.cards()
        rows = [
            Row(
                f"elsewhere-{home.name}",
                [
                    f"<code>{escape(home.name)}</code>",
                    escape(home.citation),
                    megabytes(home.size),
                    escape(home.licence),
                ],
            )
            for home in homes().values()
        ]
        columns = ["Name", "What", "Size", "Licence"]
        return stacked_table("Sets that live elsewhere", columns, rows)


def add_style(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Put the style on the page that has cards, and on no other."""
    if "data-kind" in context.get("body", ""):
        app.add_css_file("data_cards.css", priority=900)  # after the book's own


def setup(app: Sphinx) -> None:
    """Register the directives and their style."""
    app.add_directive("data-overview", Overview)
    app.add_directive("data-cards", Cards)
    app.add_directive("data-elsewhere", Elsewhere)
    app.connect("html-page-context", add_style)
