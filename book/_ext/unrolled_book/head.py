"""What a page says of itself to search engines, to chats and to its header.

The description of a page is its own first sentences, those without an equation. The
addresses are absolute, from ``html_baseurl``; the page itself never asks for them.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from unrolled_book import outline

CARD = "_static/social-card.png"
CARD_WORDS = "Unrolled: a loop, drawn once for every step."
LONG_ENOUGH, TOO_LONG = 70, 240
EQUATION = "\N{OBJECT REPLACEMENT CHARACTER}"
ASIDE = (
    nodes.Admonition, nodes.sidebar, nodes.footnote, nodes.citation, nodes.figure,
    nodes.table, nodes.list_item, nodes.definition,
)  # fmt: skip


def sentences(text: str) -> list[str]:
    """Split prose where a sentence ends and another begins."""
    return re.split(r"(?<=[.?!])\s+(?=[A-Z*(])", re.sub(r"\s+", " ", text).strip())


def in_the_text(node: nodes.Node) -> bool:
    """Say whether a paragraph is running text: no byline, box, list or table."""
    while node.parent is not None:
        if isinstance(node, ASIDE) or "byline" in node.get("classes", ()):
            return False
        node = node.parent
    return True


def plain(paragraph: nodes.paragraph) -> list[str]:
    """Return a paragraph's sentences, but none with an equation in it."""
    copy = paragraph.deepcopy()
    for equation in list(copy.findall(nodes.math)):
        equation.replace_self(nodes.Text(EQUATION))
    return [words for words in sentences(copy.astext()) if EQUATION not in words]


def describe(doctree: nodes.document, opening: str = "") -> str:
    """Return the first sentences of a page, enough to say what it is about."""
    words = [opening] if opening else []
    for paragraph in filter(in_the_text, doctree.findall(nodes.paragraph)):
        for sentence in plain(paragraph):
            if len(" ".join(words)) < LONG_ENOUGH:
                words.append(sentence)
        if len(" ".join(words)) >= LONG_ENOUGH:
            break
    text = " ".join(words)
    if len(text) > TOO_LONG:
        text = text[:TOO_LONG].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    return text


def tags(values: dict[str, str]) -> str:
    """Return the meta elements for ``values``."""
    return "\n".join(
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{escape(value)}">'
        for name, value in values.items()
        if value
    )


def add_meta(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Add description, Open Graph and Twitter tags to the head of a page."""
    base = app.config.html_baseurl.rstrip("/")
    title = re.sub(r"<[^>]+>", "", context.get("title") or app.config.html_title)
    chapter = outline.chapters(app).get(page)
    words = describe(doctree, chapter.line if chapter else "") if doctree else ""
    words = words or f"{title}. From {app.config.html_title}, on sequence models."
    values = {
        "description": words,
        "og:type": "article" if page in outline.pages(app) else "website",
        "og:site_name": app.config.html_title,
        "og:title": title,
        "og:description": words,
        "og:url": context.get("pageurl") or "",
        "og:image": f"{base}/{CARD}" if base else "",
        "og:image:alt": CARD_WORDS if base else "",
        "og:image:width": "1200",
        "og:image:height": "630",
        "twitter:card": "summary_large_image",
    }
    context["metatags"] = context.get("metatags", "") + tags(values)


def edit_the_source(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Let "edit" lead to what is edited: a chapter's .md, not its executed notebook."""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("label") == "source-edit-button":
                button["url"] = re.sub(r"\.ipynb$", ".md", button["url"])


def setup(app: Sphinx) -> None:
    """Register both, after the theme has made its buttons."""
    app.connect("html-page-context", add_meta)
    app.connect("html-page-context", edit_the_source, priority=900)
