"""Read where Chromium put things, and complete the file: bookmarks and properties."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    BooleanObject,
    DictionaryObject,
    Fit,
    NameObject,
    TextStringObject,
)

from . import PrintError
from .front import About
from .leaves import Leaf, plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A bookmark: its words, how deep it is, and where it leads."""

    title: str
    depth: int
    page: int  # counted from zero
    top: float

    @property
    def fit(self) -> Fit:
        """The place on the page that is shown at the top of the window."""
        return Fit.xyz(left=0, top=self.top)


def pages_of(reader: PdfReader) -> dict[str, int]:
    """Return for every id that something links to its page, counted from one."""
    places = reader.named_destinations
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in places.items()
    }


def finish(source: Path, target: Path, leaves: Sequence[Leaf], about: About) -> int:
    """Write ``source`` with bookmarks by part and with properties; count its pages."""
    reader = PdfReader(source)
    writer = PdfWriter(clone_from=reader)
    del writer.root_object[NameObject("/Outlines")]
    _bookmark(writer, list(_flat(reader, reader.outline)), leaves)
    writer.add_metadata(
        {
            "/Title": about.name,
            "/Author": about.author,
            "/Subject": about.abstract,
            "/Creator": f"{about.title} {about.version}, make pdf",
        }
    )
    root = writer.root_object
    root[NameObject("/Lang")] = TextStringObject("en")
    root[NameObject("/PageMode")] = NameObject("/UseOutlines")
    root[NameObject("/ViewerPreferences")] = DictionaryObject(
        {NameObject("/DisplayDocTitle"): BooleanObject(True)}
    )
    writer.write(target)
    return len(reader.pages)


def _flat(reader: PdfReader, items: list[Any], depth: int = 1) -> Iterator[Mark]:
    """Yield the bookmarks that Chromium made, one for each heading, in order."""
    for item in items:
        if isinstance(item, list):
            yield from _flat(reader, item, depth + 1)
        else:
            page = reader.get_destination_page_number(item)
            yield Mark(title=item.title, depth=depth, page=page, top=item.top)


def _bookmark(writer: PdfWriter, marks: list[Mark], leaves: Sequence[Leaf]) -> None:
    """Put the bookmarks under their parts, with the words of the headings.

    The first two are those of the title page and of the contents. Where a heading is
    broken over lines, Chromium loses the space between them.
    """
    starts = [i for i, mark in enumerate(marks) if mark.depth == 1]
    if len(starts) != len(leaves) + 2:
        raise PrintError(f"{len(starts)} first headings in {len(leaves)} leaves")
    for mark in marks[: starts[2]]:
        writer.add_outline_item(mark.title, mark.page, fit=mark.fit)
    part, over = "", None
    for leaf, start, end in zip(
        leaves, starts[2:], [*starts[3:], len(marks)], strict=True
    ):
        own = marks[start:end]
        if leaf.part != part:
            part, over = leaf.part, None
            if part:
                page, fit = own[0].page, own[0].fit
                over = writer.add_outline_item(part, page, fit=fit)
        titles = [
            plain(tag) for tag in leaf.article(["h1", "h2", "h3", "h4", "h5", "h6"])
        ]
        if len(titles) != len(own):
            titles = [mark.title for mark in own]
        titles[0] = f"{leaf.number}  {leaf.title}".strip()
        above = {0: over}  # the last bookmark of each depth
        for mark, title in zip(own, titles, strict=True):
            parent = above[max(depth for depth in above if depth < mark.depth)]
            above = {d: item for d, item in above.items() if d < mark.depth}
            above[mark.depth] = writer.add_outline_item(
                title, mark.page, parent=parent, fit=mark.fit, is_open=False
            )
