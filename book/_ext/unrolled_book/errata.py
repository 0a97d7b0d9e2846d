"""``{errata}`` lists what to say instead of what a slide says, and on what evidence.

Its argument is one of the groups of ``book/corrections.yml``. A claim that faults a
slide and is not taken up there is listed too: refuted among the errors, anything less
among the overstatements.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled_book import corrections as slides
from unrolled_book.claims import LEDGER, Entry
from unrolled_book.corrections import Correction, Lines
from unrolled_book.decks import chapter_link, line_link


def group_of(entry: Entry) -> str:
    """Return the group of a claim that no correction takes up."""
    return "error" if entry.claim["verdict"] == "refuted" else "overstatement"


class Errata(SphinxDirective):
    """The corrections of one group, in the order of the decks."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build an entry for each; look again at every build."""
        (group,) = self.arguments
        if group not in slides.GROUPS:
            raise self.error(f"errata: {group!r} is none of {', '.join(slides.GROUPS)}")
        self.env.note_reread()
        self.found = self.env.app.unrolled_claims
        every = slides.read(Path(self.env.srcdir), self.found)
        rest = slides.left_over(every, self.found)
        listed = [
            (Lines.parse(c.source), self._entry(c)) for c in every if c.group == group
        ]
        listed += [
            (Lines.parse(e.claim["source"]), self._claim(e))
            for e in rest
            if group_of(e) == group
        ]
        return [node for _, node in sorted(listed, key=lambda pair: pair[0])]

    def _entry(self, each: Correction) -> nodes.container:
        box = self._box(each.anchor, each.sources, each.verdict)
        box += self._words(f"**The slide:** {each.says}")
        box += self._words(f"**Rather:** {each.instead}")
        cites = [f"{{cite:t}}`{key}`" for key in each.cites]
        apart = ", ".join(one for one in cites if one[8:] not in each.because)
        evidence = f"{apart}. {each.because}" if apart else each.because
        executed = each.executed(self.found)
        if evidence:
            box += self._words(f"**Evidence:** {evidence}")
        box += [self._measured(entry) for entry in executed]
        promised = each.experiment and not executed
        box += self._treated(each.chapter, promised=promised)
        return box

    def _claim(self, entry: Entry) -> nodes.container:
        claim = entry.claim
        box = self._box(f"claim-{claim['id']}", (claim["source"],), claim["verdict"])
        box += self._measured(entry)
        box += self._treated(entry.docname.split("/")[-1], promised=False)
        return box

    def _box(
        self, name: str, sources: tuple[str, ...], verdict: str
    ) -> nodes.container:
        lines = [line_link(self.env.app, self.env.docname, one) for one in sources]
        head = (
            f'<p class="erratum-head"><span>{", ".join(lines)}</span>'
            f'<span class="erratum-verdict">{verdict}</span></p>'
        )
        box = nodes.container(ids=[f"erratum-{name}"], classes=["erratum"])
        box += nodes.raw("", head, format="html")
        return box

    def _words(self, text: str) -> list[nodes.Node]:
        return self.parse_text_to_nodes(text)

    def _measured(self, entry: Entry) -> nodes.raw:
        claim, app = entry.claim, self.env.app
        ledger = app.builder.get_relative_uri(self.env.docname, LEDGER)
        stem = entry.docname.split("/")[-1]
        card = f"#claim-{claim['id']}"
        where = chapter_link(app, self.env.docname, stem, card, "the cell")
        html = (
            f"<p><strong>Measured:</strong> {escape(claim['sentence'])} ({where}, "
            f'<a href="{ledger}#ledger-{claim["id"]}">the numbers</a>)</p>'
        )
        return nodes.raw("", html, format="html")

    def _treated(self, stem: str, *, promised: bool) -> nodes.raw:
        where = chapter_link(self.env.app, self.env.docname, stem)
        words = "To be measured in" if promised else "Treated in"
        html = f'<p class="erratum-where">{words} {where}.</p>'
        return nodes.raw("", html, format="html")


def setup(app: Sphinx) -> None:
    """Register the list."""
    app.add_directive("errata", Errata)
