"""Claims in the book: numbers in prose, and links to cards.

- ``{measured}`claim-id:name``` prints a number that a claim measured, in the book's
  way; a third part is a format specification: ``{measured}`claim-id:name:.0%```.
- ``{claim}`claim-id``` or ``{claim}`words <claim-id>``` links to a claim's card.

The cards, the ledger, the errata and the deck map have modules of their own.
"""

from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole, SphinxRole

from unrolled.book.claims import pretty
from unrolled.book.records import CLAIM
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
        for _, claim in notebooks.outputs(notebooks.read(path), CLAIM)
    ]
    found: dict[str, Entry] = {}
    for entry in entries:
        first = found.setdefault(entry.claim["id"], entry)
        if first is not entry:
            where = f"{first.docname} and {entry.docname}"
            raise ValueError(f"claims made twice: {entry.claim['id']!r} in {where}")
    return found


def measured(claims: dict[str, Entry], text: str) -> str:
    """Return the number that ``claim-id:name:format`` names, as the book writes it."""
    claim_id, _, rest = text.partition(":")
    name, _, spec = rest.partition(":")
    entry = claims.get(claim_id)
    if entry is None or name not in entry.claim["measured"]:
        raise LookupError(f"no measured number {text!r}")
    try:
        return pretty(entry.claim["measured"][name], spec)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error


class Measured(SphinxRole):
    """A number out of a claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the number up and print it, or warn that there is none."""
        claims = self.env.app.unrolled_claims
        try:
            shown = measured(claims, self.text)
        except (LookupError, ValueError) as error:
            LOG.warning("%s", error.args[0], location=self.get_location())
            return [nodes.problematic(text=self.text)], []
        docname = claims[self.text.partition(":")[0]].docname
        self.env.note_dependency(f"{self.env.srcdir}/{docname}.ipynb")
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


def load(app: Sphinx) -> None:
    """Read all claims once per build."""
    app.unrolled_claims = all_claims(Path(app.srcdir))


def setup(app: Sphinx) -> None:
    """Register the roles."""
    app.connect("builder-inited", load)
    app.add_role("measured", Measured())
    app.add_role("claim", ClaimLink())
