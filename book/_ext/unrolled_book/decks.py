"""The five decks, ``book/decks.yml``: every line of each has its place in the book.

Pages ask :func:`line_link` for the place of a line on the deck map, which
:mod:`unrolled_book.deck_map` prints.
"""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

from unrolled_book import notebooks, outline
from unrolled_book.corrections import Lines

DECKS = "book/decks"
FACTS = ("deck", "title", "lecturer", "given", "lines", "ranges")


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Some lines of a deck: what they show, and the page and section for it."""

    lines: Lines
    about: str
    chapter: str | None = None  # a page; none: a title, an agenda, references
    section: str | None = None
    also: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Return its name in addresses: ``deck-002-121-138``."""
        return f"deck-{self.lines.deck}-{self.lines.first}-{self.lines.last}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Deck:
    """A deck: its facts, as far as its own text states them, and all its lines."""

    deck: str
    title: str
    lecturer: str | None
    given: str | None
    lines: int
    ranges: tuple[Range, ...]


def _range(deck: str, entry: dict[str, Any]) -> Range:
    where = f"{deck}:{entry.get('lines')}"
    if not entry.get("about"):
        raise ValueError(f"decks.yml: {where}: no about")
    if unknown := set(entry) - {"lines", "about", "chapter", "section", "also"}:
        raise ValueError(f"decks.yml: {where}: what is {', '.join(sorted(unknown))}?")
    if "section" in entry and "chapter" not in entry:
        raise ValueError(f"decks.yml: {where}: a section, but no chapter")
    parts = entry | {"also": tuple(entry.get("also", ()))}
    return Range(**parts | {"lines": Lines.parse(where)})


def read(root: Path) -> list[Deck]:
    """Return the five decks; every line of each must lie in one range, and in one."""
    path = root / "book" / "decks.yml"
    decks = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        name = entry.get("deck")
        if missing := [fact for fact in FACTS if fact not in entry]:
            raise ValueError(f"decks.yml: {name}: no {', '.join(missing)}")
        ranges = tuple(_range(name, part) for part in entry["ranges"])
        expected = 1
        for part in ranges:
            if part.lines.first != expected:
                says = "in two ranges" if part.lines.first < expected else "in none"
                line = min(part.lines.first, expected)
                raise ValueError(f"decks.yml: {name}: line {line} is {says}")
            expected = part.lines.last + 1
        if expected != entry["lines"] + 1:
            total = entry["lines"]
            raise ValueError(
                f"decks.yml: {name}: ends at line {expected - 1}, not {total}"
            )
        decks.append(Deck(**entry | {"ranges": ranges}))
    return decks


def headings(path: Path) -> list[str]:
    """Return the headings in a chapter's notebook, as they stand in its prose."""
    cells = notebooks.read(path)["cells"]
    prose = (notebooks.text(c["source"]) for c in cells if c["cell_type"] == "markdown")
    text = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", "\n".join(prose), flags=re.M | re.S)
    return re.findall(r"^#+ +(.+?) *$", text, flags=re.M)


def range_of(app: Sphinx, source: str) -> Range | None:
    """Return the range that the first of some lines lies in."""
    lines = Lines.parse(source)
    first = lines._replace(last=lines.first)
    ranges = (part for deck in app.unrolled_decks for part in deck.ranges)
    return next((part for part in ranges if part.lines.meets(first)), None)


def line_link(app: Sphinx, docname: str, source: str) -> str:
    """Return ``002:163`` as a link to its place on the deck map, if there is one."""
    found = range_of(app, source)
    if found is None or DECKS not in app.env.found_docs:
        return source
    page = app.builder.get_relative_uri(docname, DECKS)
    title = f"deck {found.lines.deck}, {found.about}"
    return f'<a href="{page}#{found.anchor}" title="{escape(title)}">{source}</a>'


def chapter_link(
    app: Sphinx, docname: str, chapter: str, anchor: str = "", words: str = ""
) -> str:
    """Return a link to a page of a chapter, or only words where it is to come."""
    target = f"chapters/{chapter}"
    page = outline.pages(app).get(target)
    if not words:
        words = f"chapter {int(chapter.split('-')[0])}"
        words += f", {page.kind}" if page and page.kind != "main" else ""
    if target not in app.env.found_docs:
        return f'{words} <span class="planned">(to come)</span>'
    uri = app.builder.get_relative_uri(docname, target)
    return f'<a href="{uri}{anchor}">{words}</a>'


def load(app: Sphinx) -> None:
    """Read the map once per build."""
    root = Path(app.srcdir)
    there = (root / "book" / "decks.yml").is_file()
    app.unrolled_decks = read(root) if there else []


def setup(app: Sphinx) -> None:
    """Register the reading of the map."""
    app.connect("builder-inited", load)
