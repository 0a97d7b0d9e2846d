"""A chapter's further pages, listed at the end of its main page with their minutes."""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from unrolled.chapters.pages import Page
from unrolled_book import outline
from unrolled_book.byline import minutes_of

#: What a reader should know of a further page, by its kind.
KINDS = {"core": "part of the course", "study": "optional"}


def further(app: Sphinx, docname: str) -> list[Page]:
    """Return the further pages of a main page that the book has; of another, none."""
    pages = outline.pages(app)
    if docname not in pages or pages[docname].kind != "main":
        return []
    number = pages[docname].number
    others = (p for p in pages.values() if p.number == number and p.kind != "main")
    return [page for page in others if page.docname in app.env.found_docs]


def watch(app: Sphinx, doctree: nodes.document) -> None:
    """Have a main page made anew when the title of a further page may have changed."""
    for page in further(app, app.env.docname):
        path = Path(app.env.doc2path(page.docname))
        app.env.note_dependency(str(path))


def add_list(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the list at the end of a main page that has further pages."""
    pages = further(app, docname)
    if not pages:
        return
    items = nodes.bullet_list()
    for page in pages:
        uri = app.builder.get_relative_uri(docname, page.docname)
        title = app.env.longtitles[page.docname].astext()
        line = nodes.paragraph()
        line += nodes.reference(text=title, refuri=uri, internal=True)
        line += nodes.Text(f" ({page.kind}, {KINDS[page.kind]}): about ")
        line += [minutes_of(page.stem), nodes.Text(" minutes")]
        items += nodes.list_item("", line)
    box = nodes.admonition(classes=["further"])
    box += [nodes.title(text="Further pages of this chapter"), items]
    next(doctree.findall(nodes.section)).append(box)


def setup(app: Sphinx) -> None:
    """Register the list."""
    app.connect("doctree-read", watch)
    app.connect("doctree-resolved", add_list)
