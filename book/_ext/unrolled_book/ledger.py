"""``{claims-ledger}``: every claim, in one table that can be filtered.

It also lists the slides' statements with nothing to run, or nothing run yet. Without a
script it is the whole table. ``ledger.js`` shows the filters, and keeps what was chosen
in the address: ``claims.html#deck=002&verdict=refuted``.
"""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled.book.claims import VERDICTS, pretty
from unrolled_book import corrections as slides
from unrolled_book import outline
from unrolled_book.claims import Entry
from unrolled_book.corrections import Correction, Lines
from unrolled_book.decks import chapter_link, line_link
from unrolled_book.tables import Row, stacked_table

ERRATA = "book/errata"
COLUMNS = ["Statement", "Measured", "Slide", "Verdict", "Where"]
OURS = "ours: held"


def _unbroken(value: float) -> str:
    return pretty(value).replace(" ", "\N{NO-BREAK SPACE}")


def _decks(sources: tuple[str, ...]) -> str:
    return " ".join(sorted({Lines.parse(source).deck for source in sources}))


def _unused(there: set[str]) -> str:
    """Say which verdicts the filter does not offer, and why."""
    words = " or ".join(f"“{v}”" for v in VERDICTS if v not in there)
    return f'<p class="ledger-unused">No row so far is {words}.</p>' if words else ""


class Ledger(SphinxDirective):
    """The table of all claims, and its filters."""

    def run(self) -> list[nodes.Node]:
        """Build it; look again at every build, for any chapter may have changed."""
        self.env.note_reread()
        found = self.env.app.unrolled_claims
        entries = slides.read(Path(self.env.srcdir), found)
        self.by_claim = {
            entry.claim["id"]: each
            for each in reversed(entries)
            for entry in each.executed(found)
        }
        rows = [self._claim(entry) for entry in found.values()]
        rows += [self._slide(each) for each in entries if not each.executed(found)]
        return [
            self._filters(rows),
            *stacked_table("Claims ledger", COLUMNS, rows, kind="claims"),
        ]

    def _claim(self, entry: Entry) -> Row:
        claim, stem = entry.claim, entry.docname.split("/")[-1]
        numbers = "<br>".join(
            f"{escape(name)}: {_unbroken(claim['measured'][name])}"
            for name in claim["order"]
        )
        where = self._chapter(stem, f"#claim-{claim['id']}")
        if correction := self.by_claim.get(claim["id"]):
            where += self._erratum(correction)
        sources = (claim["source"],) if claim["source"] else ()
        verdict = claim["verdict"] or OURS
        return self._row(
            f"ledger-{claim['id']}",
            [escape(claim["sentence"]), numbers, self._lines(sources), verdict, where],
            {"deck": _decks(sources) or "ours", "chapter": stem[:2]},
        )

    def _slide(self, each: Correction) -> Row:
        words = nodes.Element()
        text = f"The slide: {each.says}\n\n*Rather:* {each.instead}"
        words += self.parse_text_to_nodes(text)
        waiting = each.experiment and not self._written(each.chapter)
        measured = "not yet" if waiting else "nothing to run"
        where = self._chapter(each.chapter) + self._erratum(each)
        return self._row(
            f"ledger-{each.anchor}",
            [words.children, measured, self._lines(each.sources), each.verdict, where],
            {"deck": _decks(each.sources), "chapter": each.chapter[:2]},
        )

    def _row(self, anchor: str, cells: list[Any], data: dict[str, str]) -> Row:
        return Row(anchor, cells, data | {"verdict": cells[3]})

    def _written(self, stem: str) -> bool:
        return f"chapters/{stem}" in self.env.found_docs

    def _lines(self, sources: tuple[str, ...]) -> str:
        app, page = self.env.app, self.env.docname
        return "<br>".join(line_link(app, page, source) for source in sources)

    def _chapter(self, stem: str, anchor: str = "") -> str:
        return chapter_link(self.env.app, self.env.docname, stem, anchor)

    def _erratum(self, correction: Correction) -> str:
        if ERRATA not in self.env.found_docs:
            return ""
        page = self.env.app.builder.get_relative_uri(self.env.docname, ERRATA)
        return f'<br><a href="{page}#erratum-{correction.anchor}">erratum</a>'

    def _filters(self, rows: list[Row]) -> nodes.raw:
        """Build the controls, hidden until the script that serves them is there."""
        planned = outline.chapters(self.env.app).values()
        titles = {chapter.stem[:2]: chapter.title for chapter in planned}
        stems = sorted({row.data["chapter"] for row in rows})
        chapters = [(s, f"{int(s)}. {titles[s]}" if s in titles else s) for s in stems]
        names = sorted({name for row in rows for name in row.data["deck"].split()})
        decks = [(n, "ours, no slide" if n == "ours" else f"deck {n}") for n in names]
        there = {row.data["verdict"] for row in rows}
        verdicts = [(v, v) for v in (*VERDICTS, OURS) if v in there]
        controls = "".join(
            f'<div><label for="filter-{name}">{label}</label><select name="{name}" '
            f'id="filter-{name}"><option value="">all</option>'
            + "".join(
                f'<option value="{escape(value)}">{escape(words)}</option>'
                for value, words in options
            )
            + "</select></div>"
            for label, name, options in (
                ("Chapter", "chapter", chapters),
                ("Deck", "deck", decks),
                ("Verdict", "verdict", verdicts),
            )
        )
        return nodes.raw(
            "",
            '<form class="ledger-filters" id="ledger-filters" role="search" '
            f'aria-label="Filter the ledger" hidden>{controls}'
            '<div><label for="filter-words">Words</label>'
            '<input type="search" name="words" id="filter-words" autocomplete="off">'
            '</div><button type="reset">Show all</button>'
            f'<p role="status">Shown {len(rows)} of {len(rows)}.</p>'
            f"{_unused(there)}</form>"
            '<p class="ledger-nothing" hidden>Nothing matches. '
            '<button type="reset" form="ledger-filters">Show all</button></p>',
            format="html",
        )


def add_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Put style and script on the pages that have such tables, and on no other."""
    body = context.get("body", "")
    if 'class="ledger"' in body or 'class="erratum' in body:
        app.add_css_file("ledger.css", priority=900)  # after the book's own
    if 'class="ledger-filters"' in body:
        app.add_js_file("ledger.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    """Register the table and its files."""
    app.add_directive("claims-ledger", Ledger)
    app.connect("html-page-context", add_files)
