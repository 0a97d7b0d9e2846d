"""Print the built book: ``make pdf``."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Error as ChromiumError
from pypdf import PdfReader

from . import PrintError, assemble, chromium, finish, front

ROOT = Path(__file__).resolve().parents[2]
PRINTS = 5  # at most: each fills in the page numbers of the one before


def make(html: Path, toc: Path, target: Path) -> int:
    """Print the book built in ``html`` to ``target``; return its number of pages."""
    start = time.perf_counter()

    def say(words: str) -> None:
        print(f"{time.perf_counter() - start:5.1f} s  {words}", flush=True)

    chromium.find()  # before the work, not after it
    about = front.About.read(ROOT)
    book = assemble.book(html, toc, about)
    say(f"gathered {len(book.leaves)} pages of the book")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, "draft.pdf")
        with chromium.opened(book.html) as page:
            say("drawn: equations, figures, labs")
            pages: dict[str, int] = {}
            for i in range(PRINTS):
                before = pages
                chromium.print_to(page, draft, before)
                reader = PdfReader(draft)
                pages = finish.pages_of(reader)
                say(f"print {i + 1}: {len(reader.pages)} pages")
                if pages == before:
                    break
            else:
                raise PrintError("the page numbers do not come to rest")
        beside = target.with_name(target.name + ".writing")
        n_pages = finish.finish(draft, beside, book.leaves, about)
        beside.replace(target)
    say("bookmarks and properties written")
    return n_pages


def main(
    html: Annotated[Path, typer.Option(help="The built book.")] = ROOT / "_build/html",
    toc: Annotated[Path, typer.Option(help="Its contents.")] = ROOT / "book/_toc.yml",
    target: Annotated[Path, typer.Option(help="The file to write.")] = ROOT
    / "dist/unrolled.pdf",
) -> None:
    """Print the whole book as one PDF."""
    try:
        n_pages = make(html, toc, target)
    except (PrintError, ChromiumError) as fault:
        sys.exit(f"No PDF was made: {fault}")
    size = target.stat().st_size / 1e6
    print(f"The book is printed: {target} ({n_pages} pages, {size:.1f} MB)")


if __name__ == "__main__":
    typer.run(main)
