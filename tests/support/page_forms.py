"""Which pages have the book's form already, and which were written before it."""

from pathlib import Path

from unrolled.chapters.pages import Page, all_pages

#: Pages that were written before there was a form. None is ever added; one that keeps
#: the form is taken off.
OLD_FORM = {
    "00-primer",
    "01-sequences",
    "02-language-models",
    "03-words-as-vectors",
    "05-backpropagation-through-time",
    "06-character-rnn",
}


def has_the_form(page: Page) -> bool:
    """Whether a page, main or further, is one of those that keep the form."""
    return page.stem not in OLD_FORM


def executed_pages(root: Path) -> list[Page]:
    """Return the pages that have a notebook: one that is being written has none."""
    return [page for page in all_pages(root) if page.notebook.is_file()]
