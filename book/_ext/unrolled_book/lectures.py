"""At the end of a page, folded: which lines of the lectures its claims speak to.

A page argues with no slides, which its readers have not seen. Who taught or heard the
lectures finds here what the page says of them.
"""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from unrolled_book.decks import line_link


def add_box(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Append the box to a page with claims that have a source."""
    claims = [e.claim for e in app.unrolled_claims.values() if e.docname == docname]
    rows = "".join(
        f"<li>{line_link(app, docname, claim['source'])}, {escape(claim['verdict'])}: "
        f'<a href="#claim-{claim["id"]}">{escape(claim["sentence"])}</a></li>'
        for claim in sorted(claims, key=lambda claim: claim["source"] or "")
        if claim["source"]
    )
    if not rows or app.builder.format != "html":
        return
    box = (
        '<details class="lectures"><summary>In the lectures</summary>'
        "<p>This book grew out of five lectures. What this page says of their lines:"
        f"</p><ul>{rows}</ul></details>"
    )
    last = list(doctree.findall(nodes.section))[:1]
    (last[0] if last else doctree).append(nodes.raw("", box, format="html"))


def setup(app: Sphinx) -> None:
    """Register the box."""
    app.connect("doctree-resolved", add_box)
