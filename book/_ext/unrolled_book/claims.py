"""Claims in the book: numbers in prose, and links between cards and the ledger.

- ``{measured}`claim-id:name``` prints a number that a claim measured, in the book's
  way; a third part is a format specification: ``{measured}`claim-id:name:.0%```.
- ``{claim}`claim-id``` or ``{claim}`words <claim-id>``` links to a claim's card.

The ledger itself, the errata and the deck map have modules of their own.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole, SphinxRole

from unrolled.claims import MIME, pretty
from unrolled_book import notebooks

LOG = logging.getLogger(__name__)
LEDGER = "book/claims"


class Entry(NamedTuple):
    """A claim and the chapter that makes it."""

    docname: str
    claim: dict[str, Any]


def all_claims(root: Path) -> dict[str, Entry]:
    """Return every claim in the committed notebooks below ``root``, by its id."""
    entries = [
        Entry(f"chapters/{path.stem}", claim)
        for path in notebooks.of_chapters(root)
        for _, claim in notebooks.outputs(notebooks.read(path), MIME)
    ]
    found: dict[str, Entry] = {}
    for entry in entries:
        first = found.setdefault(entry.claim["id"], entry)
        if first is not entry:
            where = f"{first.docname} and {entry.docname}"
            raise ValueError(f"claims made twice: {entry.claim['id']!r} in {where}")
    return found


class Measured(SphinxRole):
    """A number out of a claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the number up and print it, or warn that there is none."""
        claim_id, _, rest = self.text.partition(":")
        name, _, spec = rest.partition(":")
        entry = self.env.app.unrolled_claims.get(claim_id)
        if entry is None or name not in entry.claim["measured"]:
            LOG.warning(
                "no measured number %r", self.text, location=self.get_location()
            )
            return [nodes.problematic(text=self.text)], []
        self.env.note_dependency(f"{self.env.srcdir}/{entry.docname}.ipynb")
        try:
            shown = pretty(entry.claim["measured"][name], spec)
        except ValueError as error:
            LOG.warning("%r: %s", self.text, error, location=self.get_location())
            return [nodes.problematic(text=self.text)], []
        return [nodes.inline(text=shown, classes=["measured"])], []


class ClaimLink(ReferenceRole):
    """A link to the card of a claim, in whichever chapter it stands."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Link to the card, or warn that there is no such claim."""
        entry = self.env.app.unrolled_claims.get(self.target)
        if entry is None:
            LOG.warning("no claim %r", self.target, location=self.get_location())
            return [nodes.problematic(text=self.text)], []
        self.env.note_dependency(f"{self.env.srcdir}/{entry.docname}.ipynb")
        uri = self.env.app.builder.get_relative_uri(self.env.docname, entry.docname)
        page = "" if entry.docname == self.env.docname else uri
        link = nodes.reference(text=self.title, refuri=f"{page}#claim-{self.target}")
        return [link], []


def link_cards(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give every claim's card on a page its link to the ledger."""
    if app.builder.format != "html" or LEDGER not in app.env.found_docs:
        return
    ledger = app.builder.get_relative_uri(docname, LEDGER)
    for node in list(doctree.findall(nodes.raw)):
        card = re.search(r'<div class="claim" id="claim-([\w-]+)"', node.astext())
        if card:
            link = f'<a class="claim-link" href="{ledger}#ledger-{card[1]}">ledger</a>'
            html = node.rawsource or node.astext()
            html = html.replace("</p>", f"{link}</p>", 1)
            node.replace_self(nodes.raw("", html, format="html"))


def load(app: Sphinx) -> None:
    """Read all claims once per build."""
    app.unrolled_claims = all_claims(Path(app.srcdir))


def setup(app: Sphinx) -> None:
    """Register the roles and the links."""
    app.connect("builder-inited", load)
    app.connect("doctree-resolved", link_cards)
    app.add_role("measured", Measured())
    app.add_role("claim", ClaimLink())
