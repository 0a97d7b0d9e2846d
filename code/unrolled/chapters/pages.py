"""The pages of the chapters: which there are, of what kind, in reading order.

A chapter has a main page, ``chapters/NN-name.md``, and may have further pages,
``chapters/NN-name-topic.md``. The front matter of a page says what it is: ``page: main``,
``page: core`` (a topic that a course needs) or ``page: study`` (optional, one question).
A page that does not say is a main page.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import yaml

# The kinds of pages, with the minutes that one may take to read.
MINUTES = {"main": 45, "core": 25, "study": 15}
#: How many pages a chapter may have, its main page included.
MOST = 5


class Page(NamedTuple):
    """A page of a chapter, by its source."""

    source: Path
    kind: str

    @property
    def stem(self) -> str:
        """Its name, such as ``04-recurrent-networks``."""
        return self.source.stem

    @property
    def number(self) -> int:
        """The number of its chapter; the primer's is 0."""
        return int(self.stem[:2])

    @property
    def docname(self) -> str:
        """The name that the table of contents and Sphinx know it by."""
        return f"chapters/{self.stem}"

    @property
    def notebook(self) -> Path:
        """Its executed notebook, which may not be there yet."""
        return self.source.with_suffix(".ipynb")


def all_pages(root: Path) -> list[Page]:
    """Return every page of the chapters below ``root``, in reading order.

    A chapter's main page comes first, then its further pages as ``book/_toc.yml`` lists
    them; those that it does not list come last.
    """
    toc = root / "book" / "_toc.yml"
    text = toc.read_text(encoding="utf-8") if toc.is_file() else ""
    listed = re.findall(r"file: chapters/(\S+)", text)
    place = {stem: n for n, stem in enumerate(listed)}
    found = [
        Page(source, front_matter(source).get("page", "main"))
        for source in (root / "chapters").glob("[0-9][0-9]-*.md")
    ]
    found.sort(
        key=lambda page: (
            page.number,
            page.kind != "main",
            place.get(page.stem, len(place)),
            page.stem,
        )
    )
    for number, pages in groupby(found, key=lambda page: page.number):
        _check(number, list(pages))
    return found


def main_pages(root: Path) -> list[Page]:
    """Return the main pages, one for each chapter that is written, in order."""
    return [page for page in all_pages(root) if page.kind == "main"]


def further_pages(root: Path, stem: str) -> list[Page]:
    """Return the further pages of the chapter whose main page is ``stem``, in order."""
    number = int(stem[:2])
    return [
        page
        for page in all_pages(root)
        if page.number == number and page.kind != "main"
    ]


def main_page_of(page: Page, pages: Iterable[Page]) -> Page:
    """Return the main page of the chapter that ``page`` belongs to."""
    return next(p for p in pages if p.kind == "main" and p.number == page.number)


def front_matter(source: Path) -> dict[str, Any]:
    """Return what stands between the two lines of dashes at the head of ``source``."""
    head = re.match(r"---\n(.*?)^---$", source.read_text("utf-8"), re.M | re.S)
    return (yaml.safe_load(head[1]) or {}) if head else {}


def _check(number: int, pages: list[Page]) -> None:
    """Complain of a chapter whose pages do not fit together."""
    names = ", ".join(page.source.name for page in pages)
    kinds = ", ".join(MINUTES)
    for page in pages:
        if page.kind not in MINUTES:
            raise ValueError(
                f"{page.source.name}: page={page.kind!r} must be one of {kinds}"
            )
    mains = [page for page in pages if page.kind == "main"]
    if len(mains) != 1:
        raise ValueError(
            f"chapter {number} has {len(mains)} main pages, not one, among {names}: "
            "a further page says 'page: core' or 'page: study' in its front matter"
        )
    for page in pages[1:]:
        if not page.stem.startswith(f"{mains[0].stem}-"):
            raise ValueError(
                f"{page.source.name}: a further page of chapter {number} must be called "
                f"{mains[0].stem}-topic.md"
            )
    if len(pages) > MOST:
        raise ValueError(
            f"chapter {number} has {len(pages)} pages, more than {MOST}: {names}"
        )
