"""``{launch}``: every page of a chapter, with its links to Colab and Binder."""

from pathlib import Path
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled.chapters.pages import Page
from unrolled_book import outline
from unrolled_book.tables import table

COLAB, BINDER = "https://colab.research.google.com", "https://mybinder.org"


def addresses(repository: str, branch: str, docname: str) -> dict[str, str]:
    """Return where the notebook of ``docname`` can be run, by the service's name."""
    home = urlsplit(repository)
    if home.netloc != "github.com":
        raise ValueError(f"{repository=} must be on github.com: Colab reads from there")
    name, notebook = home.path.strip("/"), f"{docname}.ipynb"
    return {
        "Colab": f"{COLAB}/github/{name}/blob/{branch}/{notebook}",
        "Binder": f"{BINDER}/v2/gh/{name}/{quote(branch, safe='')}"
        f"?urlpath={quote(f'lab/tree/{notebook}', safe='')}",
    }


class Launch(SphinxDirective):
    """A table with a row for each page of a chapter that the book has."""

    def run(self) -> list[nodes.Node]:
        """Build the table; look again at every build which chapters there are."""
        self.env.note_dependency(str(Path(self.env.srcdir) / outline.PLAN))
        self.env.note_reread()
        options = self.config.html_theme_options
        home = options["repository_url"], options["repository_branch"]
        rows = [
            (self._page(page), *map(_link, addresses(*home, docname).items()))
            for docname, page in outline.pages(self.env.app).items()
            if docname in self.env.found_docs
        ]
        found = table(("Chapter", "Colab", "Binder"), rows)
        found["classes"].append("launch")
        return [found]

    def _page(self, page: Page) -> nodes.reference:
        builder = self.env.app.builder
        uri = builder.get_relative_uri(self.env.docname, page.docname)
        chapter = outline.chapters(self.env.app).get(page.docname)
        title = chapter.title if chapter else outline.heading(page)
        kind = "" if page.kind == "main" else f" · {page.kind}"
        text = f"{page.number}. {title}{kind}"
        return nodes.reference(text=text, refuri=uri, internal=True)


def _link(link: tuple[str, str]) -> nodes.reference:
    service, address = link
    return nodes.reference(text=f"open in {service}", refuri=address)


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("launch", Launch)
