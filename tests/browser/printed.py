"""A printed book read back: its words, places, links and bookmarks."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pypdf import PageObject, PdfReader

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
TOC = ROOT / "book" / "_toc.yml"
RAW = r"undefined|\\(?:mathbf|begin|frac|tanh|sum|top|text)\b|\\\(|\$\$|Show code cell"


def print_book(
    *options: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command that ``make pdf`` runs."""
    return subprocess.run(
        [sys.executable, "-m", "pdf", *map(str, options)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")} | environment,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@dataclass
class Printed:
    """A printed book: its file, its words by page, and the place of every id."""

    reader: PdfReader

    def __post_init__(self) -> None:
        self.words = [page.extract_text() for page in self.reader.pages]
        self.places = {
            name.removeprefix("/"): self.reader.get_destination_page_number(place) + 1
            for name, place in self.reader.named_destinations.items()
        }

    def links(self, page: PageObject) -> list[str]:
        """Return where the links of a page lead: "#id" or an address."""
        found = []
        for note in page.get("/Annots", []):
            note = note.get_object()
            if note["/Subtype"] == "/Link":
                inside = "/Dest" in note
                target = note["/Dest"] if inside else note["/A"]["/URI"]
                found.append(f"#{target.removeprefix('/')}" if inside else target)
        return found

    def bookmarks(self, items=None, above=()) -> list[tuple[tuple[str, ...], int]]:
        """Return every bookmark with those above it, and its page."""
        found, last = [], above
        for item in self.reader.outline if items is None else items:
            if isinstance(item, list):
                found += self.bookmarks(item, last)
            else:
                last = (*above, item.title)
                page = self.reader.get_destination_page_number(item) + 1
                found.append((last, page))
        return found

    def dead_links(self) -> set[str]:
        """Return the links inside the book that lead nowhere."""
        links = {link for page in self.reader.pages for link in self.links(page)}
        inside = {link[1:] for link in links if link.startswith("#")}
        return inside - set(self.places)

    def raw(self) -> dict[int, list[str]]:
        """Return what no reader should see, by page: undrawn equations and the like."""
        found = (re.findall(RAW, words) for words in self.words)
        return {number: raw for number, raw in enumerate(found, start=1) if raw}
