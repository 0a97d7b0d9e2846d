"""The deck map, both ways.

``{deck-map}`` prints where in the book each line of the decks is treated, ``{answers}``
which claims of the written chapters answer to which lines.
"""

from html import escape
from itertools import groupby

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled_book import outline
from unrolled_book.claims import LEDGER, Entry
from unrolled_book.corrections import Lines
from unrolled_book.decks import Deck, Range, chapter_link, line_link
from unrolled_book.tables import Row, stacked_table

UNSTATED = "not stated in the text we have"


class DeckMap(SphinxDirective):
    """All decks, each with its facts and the map of its lines."""

    def run(self) -> list[nodes.Node]:
        """Build a section for each deck; look again at every build."""
        self.env.note_reread()  # which chapters exist is no property of this page
        return [self._deck(deck) for deck in self.env.app.unrolled_decks]

    def _deck(self, deck: Deck) -> nodes.section:
        section = nodes.section(ids=[f"deck-{deck.deck}"])
        section += nodes.title(text=f"Deck {deck.deck}: {deck.title}")
        facts = nodes.bullet_list(classes=["deck-facts"])
        for name, fact in (
            ("Lecturer", deck.lecturer or UNSTATED),
            ("Given", deck.given or UNSTATED),
            ("Length", f"{deck.lines} lines"),
        ):
            line = nodes.paragraph("", "", nodes.strong(text=name))
            line += nodes.Text(f": {fact}")
            facts += nodes.list_item("", line)
        section += facts
        columns = ["Lines", "What they show", "Where in the book"]
        rows = [self._row(part) for part in deck.ranges]
        section += stacked_table(
            f"Lines of deck {deck.deck}", columns, rows, kind="lines"
        )
        return section

    def _row(self, part: Range) -> Row:
        first, last = part.lines.first, part.lines.last
        span = str(first) if first == last else f"{first}\N{EN DASH}{last}"
        where = '<span class="planned">no chapter</span>'
        if part.chapter:
            places = [self._place(part.chapter, part.section)]
            where = "; also ".join(places + [self._place(stem) for stem in part.also])
        return Row(part.anchor, [span, escape(part.about), where])

    def _place(self, stem: str, section: str | None = None) -> str:
        words = escape(outline.page_name(self.env.app, stem, section or ""))
        anchor = f"#{nodes.make_id(section)}" if section else ""
        return chapter_link(self.env.app, self.env.docname, stem, anchor, words)


class Answers(SphinxDirective):
    """The claims of each written chapter, by the lines that they answer to."""

    def run(self) -> list[nodes.Node]:
        """Build a table for each chapter that the book has."""
        self.env.note_reread()
        found = self.env.app.unrolled_claims.values()
        in_book = (entry for entry in found if entry.docname in self.env.found_docs)
        by_chapter = groupby(in_book, key=lambda entry: entry.docname)
        return [self._chapter(name, list(entries)) for name, entries in by_chapter]

    def _chapter(self, docname: str, entries: list[Entry]) -> nodes.section:
        stem = docname.split("/")[-1]
        title = outline.page_name(self.env.app, stem)
        section = nodes.section(ids=[f"answers-{stem}"])
        section += nodes.title(text=title[0].upper() + title[1:])
        citing = [entry for entry in entries if entry.claim["source"]]
        citing.sort(key=lambda entry: Lines.parse(entry.claim["source"]))
        n_ours = len(entries) - len(citing)
        words = f"{len(citing)} claims answer to a slide; {n_ours} more are ours alone."
        section += nodes.paragraph(text=words)
        rows = [self._row(entry) for entry in citing]
        columns = ["Slide", "What we assert", "Verdict on the slide"]
        section += stacked_table(f"Claims of {title}", columns, rows)
        return section

    def _row(self, entry: Entry) -> Row:
        claim, app = entry.claim, self.env.app
        page = app.builder.get_relative_uri(self.env.docname, LEDGER)
        asserted = (
            f'<a href="{page}#ledger-{claim["id"]}">{escape(claim["sentence"])}</a>'
        )
        slide = line_link(app, self.env.docname, claim["source"])
        return Row(f"answer-{claim['id']}", [slide, asserted, claim["verdict"]])


def setup(app: Sphinx) -> None:
    """Register both directives."""
    app.add_directive("deck-map", DeckMap)
    app.add_directive("answers", Answers)
