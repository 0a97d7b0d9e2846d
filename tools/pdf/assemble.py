"""Make one HTML document of the whole book: title page, contents, leaves, answers."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag

from . import front, leaves, quizzes
from .front import About
from .leaves import Leaf

CONTENTS = "contents"
KEPT_SCRIPTS = ("/_static/mathjax/", "/_static/labs/", "/_static/models/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Book:
    """The document to print, and the leaves in it."""

    html: str
    leaves: tuple[Leaf, ...]


def book(html: Path, toc: Path, about: About) -> Book:
    """Gather the built pages under ``html`` into one document.

    The first page of the book on the web leads into it and lists what there is; on
    paper the title page and the contents take its place.
    """
    html = html.resolve()
    every = leaves.read(html, toc)
    for leaf in every:
        leaves.rename_ids(leaf)
    kept = [leaf for leaf in every[1:] if leaves.on_paper(leaf.docname)]
    places = {leaf.address(html): (leaf.id, _ids(leaf)) for leaf in kept}
    places[every[0].address(html)] = (front.ID, set())
    for leaf in kept:
        leaves.relink(leaf, html, places)
    answers = quizzes.answers_leaf([(f, quizzes.part_answers(f)) for f in kept])
    if answers:
        kept.append(answers)
    left_out = [leaf for leaf in every[1:] if not leaves.on_paper(leaf.docname)]
    contents = _contents(kept, _elsewhere(left_out, about))
    body = [front.title_page(about), contents, *_bodies(kept)]
    head = f"<title>{escape(about.name)}</title>\n{_head(every, html)}"
    return Book(
        html='<!doctype html>\n<html lang="en" data-theme="light" class="whole-book">\n'
        f'<head><meta charset="utf-8">\n{head}\n<style>{_pages(kept, about)}</style>'
        '</head>\n<body><main class="bd-content"><div class="bd-article-container">\n'
        + "\n".join(body)
        + "\n</div></main></body></html>\n",
        leaves=tuple(kept),
    )


def _ids(leaf: Leaf) -> set[str]:
    return {tag["id"] for tag in leaf.article.find_all(id=True)}


def _head(every: list[Leaf], html: Path) -> str:
    """Return the styles of all leaves, and the scripts that draw: once each."""
    lines: dict[str, None] = {}
    for leaf in every:
        here = leaf.address(html)
        for tag in leaf.soup.head.select("link[rel~=stylesheet], script"):
            source = tag.get("href") or tag.get("src")
            if source:
                # Pages of an earlier build may name another version of the same file.
                source = urljoin(here, source).partition("?")[0]
                tag["href" if tag.name == "link" else "src"] = source
                kept = tag.name == "link" or any(k in source for k in KEPT_SCRIPTS)
            else:
                kept = tag.get_text().startswith("window.MathJax")
            if kept:
                lines[str(tag)] = None
    style = (html / "_static" / "print.css").as_uri()
    others = [line for line in lines if style not in line]
    return "\n".join([*others, f'<link rel="stylesheet" href="{style}">'])


def _elsewhere(left_out: list[Leaf], about: About) -> str:
    """Return a line that names the leaves left out; those of one name, once."""
    names = dict.fromkeys(leaf.title.partition(":")[0] for leaf in left_out)
    if not names:
        return ""
    return (
        '<p class="page-line">Not on paper, but in the book on the web, which is built '
        f'from <a href="{about.repository}">{about.repository}</a>: '
        f"{escape(', '.join(names))}.</p>"
    )


def _contents(kept: list[Leaf], last: str) -> str:
    lines, part = [], ""
    for leaf in kept:
        if leaf.part and leaf.part != part:
            lines.append(f'<p class="contents-part">{escape(leaf.part)}</p>')
            part = leaf.part
        lines.append(_entry("leaf", leaf.id, leaf.article.h1, leaf.number))
        lines += [
            _entry("section", str(heading.parent["id"]), heading)
            for heading in leaf.article("h2")
            if heading.parent.get("id")
        ]
    return (
        f'<nav class="book-contents" id="{CONTENTS}"><h1>Contents</h1>\n'
        + "\n".join(lines)
        + f"{last}</nav>"
    )


def _entry(kind: str, place: str, heading: Tag, number: str = "") -> str:
    words = BeautifulSoup(heading.decode_contents(), "html.parser")
    for tag in words("a"):
        tag.unwrap()
    for tag in words.find_all(id=True):
        del tag["id"]
    number = f'<span class="contents-number">{number}</span>' if number else ""
    return (
        f'<a class="contents-{kind}" href="#{place}">{number}<span>{words}</span>'
        f'<span class="leader"></span>{quizzes.page_of(words, place)}</a>'
    )


def _bodies(kept: list[Leaf]) -> list[str]:
    """Return the leaves as they are printed, each beginning on a new page."""
    return [
        f'<article class="bd-article leaf" id="{leaf.id}" '
        f'style="page: {_page_name(leaf)}">{leaf.article.decode_contents()}</article>'
        for leaf in kept
    ]


def _page_name(leaf: Leaf) -> str:
    return f"leaf-{leaf.id}"


def _pages(kept: list[Leaf], about: About) -> str:
    """Return the paper: A4, with the title of the leaf at the head of its pages."""
    rules = ["@page { size: A4; }"]
    heads = {CONTENTS: "Contents"} | {
        _page_name(leaf): f"{leaf.number}  {leaf.title}".strip() for leaf in kept
    }
    for name, head in heads.items():
        boxes = (
            f"@top-left {{ content: {_quoted(about.title)}; }} "
            f"@top-right {{ content: {_quoted(head)}; }}"
        )
        rules.append(f"@page {name} {{ {boxes} }}")
        rules.append(f"@page {name}-turned {{ size: A4 landscape; {boxes} }}")
    return "\n".join(rules)


def _quoted(text: str) -> str:
    """Return a string of CSS that stands in HTML."""
    for mark in '\\"<':
        text = text.replace(mark, f"\\{ord(mark):06x}")
    return f'"{text}"'
