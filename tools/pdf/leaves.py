"""The built pages of the book, in order, each made ready to stand beside the others."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

from . import PrintError

# What is of no use on paper: links to a heading itself, the dark twins of figures, code
# that the page folds away, lists of pages, and what only a screen can be asked.
DROPPED = "a.headerlink, img.figure-dark, details.hide, .toctree-wrapper, button, form"
# Pages to search in, or to maintain the book by: on a screen, not on paper.
ON_SCREEN = re.compile(r"book/(reference(-[a-z]+)?|times|speed|decisions)")
POINTING = ("for", "headers", "aria-labelledby", "aria-describedby", "aria-controls")
PRINTABLE = ("http", "https", "mailto")


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """One page of the book on the web: its name, its place in the book, its words."""

    docname: str  # as in book/_toc.yml: chapters/04-recurrent-networks
    part: str  # the caption of its part, or ""
    soup: BeautifulSoup

    @property
    def id(self) -> str:
        """The place in the whole document where this leaf begins."""
        return self.docname.replace("/", "-")

    def address(self, html: Path) -> str:
        """Return where the built page is."""
        return (html / f"{self.docname}.html").as_uri()

    @property
    def article(self) -> Tag:
        """The words of the page, without what the theme puts around them."""
        found = self.soup.select_one("article.bd-article")
        if found is None:
            raise PrintError(f"{self.docname}.html has no article")
        return found

    @property
    def title(self) -> str:
        """The heading of the page, as plain text."""
        return plain(self.article.h1)

    @property
    def number(self) -> str:
        """The number of a chapter, from its file's name; other pages have none."""
        found = re.match(r"chapters/(\d+)-", self.docname)
        return str(int(found[1])) if found else ""


def plain(tag: Tag | None) -> str:
    """Return the text of a heading in one line, with equations as they are read."""
    text = " ".join(tag.get_text().split()) if tag else ""
    text = re.sub(r"\\(?:[()]|math[a-z]+|text[a-z]*|operatorname)", "", text)
    return re.sub(r"[\\{}]", "", text)


def listed(toc: dict[str, Any], part: str = "") -> Iterator[tuple[str, str]]:
    """Yield every file of a table of contents with its part, in reading order."""
    part = toc.get("caption", part)
    if name := toc.get("root") or toc.get("file"):
        yield name, part
    for key in ("parts", "chapters", "sections", "subtrees", "entries"):
        for entry in toc.get(key, []):
            yield from listed(entry, part)


def on_paper(docname: str) -> bool:
    """Say whether a page of the book is printed."""
    return not ON_SCREEN.fullmatch(docname)


def read(html: Path, toc: Path) -> list[Leaf]:
    """Return the built leaves, each without what paper has no use for."""
    contents = yaml.safe_load(toc.read_text(encoding="utf-8"))
    leaves = []
    for docname, part in listed(contents):
        path = html / f"{docname}.html"
        if not path.is_file():
            raise PrintError(f"{path} is not there: say make book")
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        leaf = Leaf(docname=docname, part=part, soup=soup)
        for tag in leaf.article.select(DROPPED):
            tag.decompose()
        for tag in leaf.article.select(".ledger td br"):  # a number a line: too long
            tag.replace_with("; ")
        leaves.append(leaf)
    return leaves


def rename_ids(leaf: Leaf) -> None:
    """Give every id the name of its leaf, so that no two leaves share one."""
    for tag in leaf.article.find_all(True):
        if tag.get("id"):
            tag["id"] = f"{leaf.id}--{tag['id']}"
        for key in POINTING:
            if value := tag.get(key):
                names = value.split() if isinstance(value, str) else value
                tag[key] = " ".join(f"{leaf.id}--{name}" for name in names)


def relink(leaf: Leaf, html: Path, places: Mapping[str, tuple[str, set[str]]]) -> None:
    """Turn links to other leaves into links inside the document.

    ``places`` has for every leaf, by its address, the id of its top and the ids that it
    keeps on paper; a link to what is left out leads to the top. A link to anything else
    in the built book becomes plain text: on another machine it would lead nowhere.
    """
    here = leaf.address(html)
    for tag in leaf.article.find_all(["a", "area"], href=True):
        address, fragment = urldefrag(urljoin(here, tag["href"]))
        if address in places:
            top, ids = places[address]
            place = f"{top}--{unquote(fragment)}"
            tag["href"] = "#" + (place if place in ids else top)
        elif urlsplit(address).scheme not in PRINTABLE:
            tag.unwrap()
    for tag in leaf.article.find_all(src=True):
        tag["src"] = urljoin(here, tag["src"])
