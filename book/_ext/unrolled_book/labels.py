"""Where the labels of the book lie, and what a reference to each prints.

Sphinx knows this once it has read the whole book; an edition must not wait for that. A
test compares both: every number and every address with those of the built pages.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes

from unrolled.chapters.pages import all_pages
from unrolled_book.blocks import Directive, blocks
from unrolled_book.exercise_links import page_of, sources
from unrolled_book.notebooks import read_source

_TARGET = re.compile(
    r"^\((?P<label>[^)\s]+)\)=\n+(?P<hashes>#+) +(?P<title>.+?) *$", re.M
)
_HEADING = re.compile(r"^# +(.+?) *$", re.M)
_MARKS = re.compile(r"[*`$]")


class Label(NamedTuple):
    """A place of the book: its page, its anchor there, and what it is called."""

    docname: str
    anchor: str
    kind: str  # page, section, figure, equation, exercise, term
    words: str  # what a reference without words of its own prints


def all_labels(root: Path) -> dict[str, Label]:
    """Return every label of the book that stands in ``root``.

    A page is there under the name that ``{doc}`` takes, ``/book/setup``, and a term of
    the glossary as ``term softmax``.
    """
    found: dict[str, Label] = {}
    count: Counter[tuple[int, str]] = Counter()

    def add(name: str, label: Label) -> None:
        if name in found:
            raise ValueError(
                f"label {name!r} is used twice, in {found[name].docname} and "
                f"{label.docname}"
            )
        found[name] = label

    def numbered(name: str, docname: str, chapter: int, kind: str) -> None:
        count[chapter, kind] += 1
        words, prefix = f"{chapter}.{count[chapter, kind]}", ""
        if kind == "equation":
            words, prefix = f"({words})", "equation-"
        else:
            words = f"{kind.capitalize()} {words}"
        add(name, Label(docname, nodes.make_id(prefix + name), kind, words))

    for page in all_pages(root):
        cells = read_source(page.source).cells
        whole = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
        for name, label in _sections(page.docname, whole):
            add(name, label)
        for cell in cells:
            if cell.cell_type == "code":
                figure = cell.metadata.get("mystnb", {}).get("figure", {})
                if "name" in figure:
                    numbered(figure["name"], page.docname, page.number, "figure")
                continue
            for directive in _directives(cell.source):
                kind = {"math": "equation", "exercise": "exercise"}.get(directive.name)
                if kind and "label" in directive.options:
                    label = directive.options["label"]
                    numbered(label, page.docname, page.number, kind)
    for path in sorted((root / "book").glob("*.md")):
        docname, text = f"book/{path.stem}", path.read_text(encoding="utf-8")
        for name, label in _sections(docname, text):
            add(name, label)
        for term in _terms(text):
            plain = term.encode("ascii", "ignore").decode()  # as Sphinx does
            anchor = "term-" + re.sub(r"[^\w]+", "-", plain)
            found[f"term {term}"] = Label(docname, anchor, "term", term)
    for number, path in sources(root).items():
        for name, label in _sections(page_of(number), path.read_text("utf-8")):
            found[name] = label  # the page is made of the exercise's own words
    return found


def _sections(docname: str, text: str) -> Iterator[tuple[str, Label]]:
    """Yield the page itself, and each of its headings that has a label."""
    if first := _HEADING.search(text):
        yield f"/{docname}", Label(docname, "", "page", _MARKS.sub("", first[1]))
    for target in _TARGET.finditer(text):
        anchor = nodes.make_id(target["label"])
        words = _MARKS.sub("", target["title"])
        yield target["label"], Label(docname, anchor, "section", words)


def _directives(text: str) -> Iterator[Directive]:
    for block in blocks(text):
        if isinstance(block, Directive):
            yield block
            if block.name != "math":
                yield from _directives(block.body)


def _terms(text: str) -> Iterator[str]:
    for block in blocks(text):
        if isinstance(block, Directive) and block.name == "glossary":
            for line in block.body.split("\n"):
                if line.strip() and not line.startswith(" "):
                    yield line.strip()
