"""Mend what the theme and its companions get wrong on every page."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

OPENING = re.compile(r"[(\[\u2018\u201c]+$")
CLOSING = re.compile(r"[.,;:?!)\]\u2019\u201d]+")


def drop_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take back the one id that sphinx-exercise gives to every exercise."""
    for section in doctree.findall(nodes.section):
        if "exercise-content" in section["ids"]:
            section["ids"].remove("exercise-content")


def glue_marks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep a symbol in a line of text together with the marks around it.

    A browser may begin a line after it, and would: with the full stop.
    """
    for symbol in list(doctree.findall(nodes.math)):
        line = symbol.parent
        at = line.index(symbol)
        before, after = line[:at][-1:], line[at + 1 : at + 2]
        opens = closes = None
        if before and isinstance(before[0], nodes.Text):
            opens = OPENING.search(before[0])
        if after and isinstance(after[0], nodes.Text):
            closes = CLOSING.match(after[0])
        if not (opens or closes):
            continue
        glued = nodes.inline("", "", classes=["glued"])
        line[at] = glued
        if closes:
            line[at + 1] = nodes.Text(after[0][closes.end() :])
        if opens:
            line[at - 1] = nodes.Text(before[0][: opens.start()])
            glued += nodes.Text(opens[0])
        glued += symbol
        if closes:
            glued += nodes.Text(closes[0])


def span_groups(app: Sphinx, doctree: nodes.document) -> None:
    """Let a row with nothing but strong words in its first cell be one wide cell."""
    for row in list(doctree.findall(nodes.row)):
        first, *others = row.children
        words = [part for line in first for part in line if part.astext()]
        strong = len(words) == 1 and isinstance(words[0], nodes.strong)
        if others and strong and not any(cell.astext().strip() for cell in others):
            first["morecols"] = len(others)
            row["classes"].append("group")
            for cell in others:
                row.remove(cell)


def drop_leftovers(app: Sphinx, error: Exception | None) -> None:
    """Remove pages and pictures of earlier builds that this one does not have."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for page in [*(out / "book").glob("*.html"), *(out / "chapters").glob("*.html")]:
        if page.relative_to(out).with_suffix("").as_posix() not in app.env.found_docs:
            page.unlink()
    kept = {name for _, name in app.env.images.values()}
    for picture in (out / "_images").glob("*"):
        if picture.name not in kept:
            picture.unlink()


def front_door(app: Sphinx, error: Exception | None) -> None:
    """Write a first page that leads to the book's, also where refreshing is off."""
    if error or app.builder.format != "html":
        return
    first = app.builder.get_target_uri(app.config.root_doc)
    if first == "index.html":
        return
    (Path(app.outdir) / "index.html").write_text(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{app.config.html_title}</title>\n"
        f'<meta http-equiv="refresh" content="0; url={first}">\n'
        f'<link rel="canonical" href="{first}">\n'
        '<link rel="icon" type="image/svg+xml" href="_static/favicon.svg">\n</head>\n'
        f'<body><a href="{first}">{app.config.html_title}</a></body>\n</html>\n',
        encoding="utf-8",
    )


ICON = re.compile(  # "name":[width,height,[aliases],"code","path"], in fontawesome.js
    r'(?<=[{,])"?([\w-]+)"?:\[\d+,\d+,\[[^\]]*\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?'
)


def thin_icons(app: Sphinx, error: Exception | None) -> None:
    """Keep of the theme's 2,000 icons (1.5 MB on every page) those that a page uses."""
    script = Path(app.outdir) / "_static" / "scripts" / "fontawesome.js"
    if error or not script.is_file():
        return
    pages = [p for kind in ("*.html", "*.js") for p in Path(app.outdir).rglob(kind)]
    names = (
        re.findall(r"\bfa-([a-z0-9-]+)", page.read_text(encoding="utf-8"))
        for page in pages
        if page != script
    )
    used = {name for found in names for name in found}
    text = script.read_text(encoding="utf-8")
    thin = ICON.sub(lambda icon: icon[0] if icon[1] in used else "", text)
    script.write_text(thin, encoding="utf-8")


def visit_citation(writer: Any, node: nodes.citation) -> None:
    """Open an item of the list of works; docutils gives it a role since withdrawn."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        writer.body.append('<div role="list" class="citation-list">\n')
    writer.body.append(
        writer.starttag(node, "div", classes=["citation"], role="listitem")
    )


def depart_citation(writer: Any, node: nodes.citation) -> None:
    """Close it as docutils does."""
    writer.body.append("</div>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        writer.body.append("</div>\n")


#: Who comes for the first time has chosen no mode; the theme complains, then says this.
FIRST_MODE = "document.documentElement.dataset.mode ||= 'auto';"


def setup(app: Sphinx) -> None:
    """Register the repairs."""
    app.add_js_file(None, body=FIRST_MODE)
    app.connect("doctree-read", span_groups)
    app.connect("doctree-resolved", drop_repeated_ids)
    app.connect("doctree-resolved", glue_marks)
    app.connect("build-finished", drop_leftovers)
    app.connect("build-finished", thin_icons)
    app.connect("build-finished", front_door)
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
