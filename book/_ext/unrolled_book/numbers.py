"""Figures, exercises and tables are numbered within their chapter: Figure 4.2.

Sphinx counts through the whole book. Here the count starts anew with every chapter and
goes on through its further pages; outside of chapters there is one count for all pages.
"""

from collections import Counter

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from unrolled_book import outline

#: For each document and kind of thing: its id, and the parts of its number.
Numbers = dict[str, dict[str, dict[str, tuple[int, ...]]]]


def by_chapter(counted: Numbers, chapters: dict[str, int]) -> Numbers:
    """Number anew what Sphinx has counted, in its order, chapter by chapter.

    ``chapters`` gives the chapter's number for each document that belongs to one.
    """
    things = sorted(
        (number, docname, kind, name)
        for docname, kinds in counted.items()
        for kind, names in kinds.items()
        for name, number in names.items()
    )
    count: Counter[tuple[int | None, str]] = Counter()
    found: Numbers = {docname: {} for docname in counted}
    for _, docname, kind, name in things:
        chapter = chapters.get(docname)
        count[chapter, kind] += 1
        place = () if chapter is None else (chapter,)
        found[docname].setdefault(kind, {})[name] = (*place, count[chapter, kind])
    return found


def take_back(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx its own count back, with which it compares what it counts now."""
    env.unrolled_numbers = env.toc_fignumbers
    env.toc_fignumbers = getattr(env, "unrolled_counted", {})
    return []


def number_anew(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Number by chapter; return the pages where a number is another than before."""
    env.unrolled_counted = env.toc_fignumbers
    chapters = {name: page.number for name, page in outline.pages(app).items()}
    env.toc_fignumbers = by_chapter(env.toc_fignumbers, chapters)
    return [
        docname
        for docname, numbers in env.toc_fignumbers.items()
        if numbers != env.unrolled_numbers.get(docname)
    ]


def setup(app: Sphinx) -> None:
    """Register both, before and after Sphinx's own count."""
    app.connect("env-get-updated", take_back, priority=100)
    app.connect("env-get-updated", number_anew, priority=900)
