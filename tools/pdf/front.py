"""The title page, and what the repository says about the book."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

import yaml

ID = "title-page"
# A network with its loop, unrolled: the book's title as a drawing.
DRAWING = """<svg viewBox="0 0 470 150" role="img" aria-label="A network, unrolled">
<marker id="title-page--tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"
 markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z"/></marker>{steps}</svg>"""
STEP = """<g transform="translate({x} 0)"><circle cx="35" cy="75" r="19"/>
<rect x="20" y="122" width="30" height="22" rx="4"/>
<rect x="20" y="6" width="30" height="22" rx="4"/>
<path d="M35 122V95"/><path d="M35 56V29"/>{arrow}</g>"""


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What the title page and the file's properties say."""

    name: str  # title: subtitle
    author: str
    abstract: str
    repository: str
    version: str
    date: str

    @property
    def title(self) -> str:
        """The title without what follows its colon."""
        return self.name.partition(": ")[0]

    @property
    def subtitle(self) -> str:
        """What follows the colon, as a line of its own."""
        words = self.name.partition(": ")[2]
        return words[:1].upper() + words[1:]

    @classmethod
    def read(cls, root: Path) -> "About":
        """Read it from where the repository keeps it."""
        cff = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
        released = cff["date-released"]
        return cls(
            name=cff["title"],
            author=", ".join(
                a.get("name") or f"{a['given-names']} {a['family-names']}"
                for a in cff["authors"]
            ),
            abstract=" ".join(cff["abstract"].split()),
            repository=cff["repository-code"],
            version=str(cff["version"]),
            date=f"{released.day} {released:%B %Y}",
        )


def title_page(about: About) -> str:
    """Return the title page as HTML."""
    arrow = '<path d="M54 75H113"/>'
    steps = [STEP.format(x=100 * i, arrow=arrow if i < 4 else "") for i in range(5)]
    drawing = DRAWING.format(steps="".join(steps))
    return f"""<section class="title-page" id="{ID}">
<h1>{escape(about.title)}</h1><p class="subtitle">{escape(about.subtitle)}</p>
{drawing}
<p class="author">{escape(about.author)}</p>
<p class="abstract">{escape(about.abstract)}</p>
<div class="imprint"><p>Version {about.version}, {about.date}.
<a href="{about.repository}">{about.repository}</a></p>
<p>Printed from the book on the web, where the interactive figures respond and the code
that is folded away can be read. Answers to the questions in the chapters are at the
end. Text and figures CC BY 4.0, code Apache-2.0.</p></div></section>"""
