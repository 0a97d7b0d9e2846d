"""Print what a reader meets on built pages, and where a page has too much.

    python tools/form.py                                      # all pages of chapters
    python tools/form.py _build/html/chapters/04-*.html

The measures and their limits stand in ``book/_ext/unrolled_book/form.py``, from where
the byline takes its minutes.
"""

import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from unrolled.chapters.pages import all_pages

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html" / "chapters"
sys.path.insert(0, str(ROOT / "book" / "_ext"))


def main(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Built pages; all chapters' if none.")
    ] = None,
) -> None:
    """Measure the pages."""
    from unrolled_book.form import Form, measure

    pages = {page.stem: page for page in all_pages(ROOT)}
    paths = paths or [HTML / f"{stem}.html" for stem in pages]
    if missing := [str(path) for path in paths if not path.is_file()]:
        sys.exit(f"not built: {', '.join(missing)}; say 'make book' first")
    names = [field.name for field in fields(Form) if field.name != "odd_words"]
    names += ["odd", "minutes"]
    forms = {path.stem: measure(path.read_text(encoding="utf-8")) for path in paths}
    width = max(map(len, forms)) + 1
    print("page".ljust(width) + "".join(f"{name:>9}" for name in names))
    for stem, form in forms.items():
        values = (getattr(form, name) for name in names)
        print(stem.ljust(width) + "".join(f"{value:>9}" for value in values))
    for stem, form in forms.items():
        kind = pages[stem].kind if stem in pages else "main"
        for fault in form.faults(kind):
            print(f"{stem}: {fault}")


if __name__ == "__main__":
    typer.run(main)
