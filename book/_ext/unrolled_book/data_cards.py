"""The data cards: what each set of the book is, and what it is not good for.

- ``{data-overview}`` lists all sets, with a link to the card of each.
- ``{data-cards} real`` or ``made`` prints the cards; ``{ref}`data-kjv``` leads to one.
- ``{data-elsewhere}`` lists what can be had from elsewhere and is never needed.

Words are in ``book/data.yml``, numbers and examples in what the recipe ``data_cards``
has measured, licences in the package's own table.
"""

import ast
import json
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import unrolled
from unrolled.data.fetch.homes_table import HOMES
from unrolled.data.fetch.sources import SOURCES
from unrolled_book import outline
from unrolled_book.data_pictures import example
from unrolled_book.tables import Row, stacked_table, table
from unrolled_book.times import megabytes

WORDS = "book/data.yml"
NUMBERS = "book/results/data_cards.json"
PACKAGE = Path(unrolled.__file__).parent
TABLES = ("sources.py", "pins.py", "homes_table.py")
KINDS = {"real": "Real", "both": "Part real, part made", "made": "Made"}
SPOKEN = ("what", "real", "split", "faults", "not_for")
FIELDS = {"card", "title", "kind", "module", "load", "chapters", *SPOKEN}
OURS = "Apache-2.0, as all code of this book"


class Card(NamedTuple):
    """A card, its words filled with the numbers that were measured."""

    name: str
    title: str
    kind: str
    module: str
    code: str
    words: dict[str, str]
    chapters: list[str]
    licence: str
    citation: str
    files: list[str]
    size: int
    counts: dict[str, dict[str, int]]
    example: dict[str, Any]

    @property
    def anchor(self) -> str:
        """Where on the page it stands."""
        return f"data-{self.name.replace('_', '-')}"


def read(root: Path) -> list[Card]:
    """Return the cards of the book that stands in ``root``, each complete."""
    entries = yaml.safe_load((root / WORDS).read_text(encoding="utf-8"))
    record = json.loads((root / NUMBERS).read_text(encoding="utf-8"))
    measured = {unit["card"]: unit for unit in record["units"]}
    names = [entry.get("card") for entry in entries]
    if sorted(map(str, names)) != sorted(measured):
        wrong = sorted(set(map(str, names)) ^ set(measured)) or "a card twice"
        raise ValueError(f"{WORDS} and {NUMBERS} do not have the same cards: {wrong}")
    return [_card(entry, measured[entry["card"]]) for entry in entries]


def _card(entry: dict[str, Any], unit: dict[str, Any]) -> Card:
    """Return one card, or say which file and card are wrong, and how."""
    where = f"{WORDS}: {entry['card']}"
    own = {"licence", "citation", "file"}
    fetched = {"source"} if "source" in entry else own
    expected = FIELDS | (set() if entry.get("kind") == "made" else fetched)
    if wrong := expected ^ set(entry):
        raise ValueError(f"{where}: missing or not known: {', '.join(sorted(wrong))}")
    if entry["kind"] not in KINDS:
        raise ValueError(
            f"{where}: kind {entry['kind']!r} must be one of {list(KINDS)}"
        )
    source = SOURCES.get(entry.get("source", ""))
    if "source" in entry and source is None:
        raise ValueError(f"{where}: there is no source {entry['source']!r}")
    said = {name: entry[name] for name in (*SPOKEN, *own & set(entry))}
    for name, words in said.items():
        try:
            said[name] = words.format(**unit["facts"])
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            known = ", ".join(unit["facts"]) or "none"
            raise ValueError(
                f"{where}: {name}: {error!r}; measured are: {known}"
            ) from error
    files = [said["file"]] if "file" in said else ["None: it is made when you ask."]
    if source:
        files = [
            f"`{a.filename}`, version {a.version}, {megabytes(a.size)}"
            for a in source.archives
        ]
    return Card(
        name=entry["card"],
        title=entry["title"],
        kind=entry["kind"],
        module=f"unrolled.data.{entry['module']}",
        code=_code(where, entry["module"], entry["load"]),
        words=said,
        chapters=entry["chapters"],
        licence=source.licence if source else said.get("licence", OURS),
        citation=source.citation if source else said.get("citation", "This book"),
        files=files,
        size=source.size if source else 0,
        counts=unit["counts"],
        example=unit["example"],
    )


def _code(where: str, module: str, load: str) -> str:
    """Return the line that loads a set, after the imports that it needs."""
    path = PACKAGE / "data" / f"{module.replace('.', '/')}.py"
    if not path.is_file():
        raise ValueError(f"{where}: there is no module {module!r}")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    used = {n.id for n in ast.walk(ast.parse(load)) if isinstance(n, ast.Name)}
    if not used & defined:
        raise ValueError(f"{where}: load {load!r} calls nothing of {module}")
    lines = [f"from unrolled.data.{module} import {', '.join(sorted(used & defined))}"]
    if "generator" in used:
        lines.append("from unrolled.runtime import generator")
    return "\n".join([*lines, load])


def _badge(kind: str) -> nodes.inline:
    return nodes.inline(text=KINDS[kind], classes=["data-kind", kind])


class _OfCards(SphinxDirective):
    """What the directives share: the cards, and what the page rests on."""

    def cards(self) -> list[Card]:
        """Read them; look again at every build which chapters there are."""
        root = Path(self.env.srcdir)
        tables = [PACKAGE / "data" / "fetch" / name for name in TABLES]
        for path in (root / WORDS, root / NUMBERS, root / outline.PLAN, *tables):
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
        """Build it from the package's own table."""
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
            for home in HOMES.values()
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
