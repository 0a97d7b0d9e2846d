"""Draw a record as HTML: one function, for the page and for a live notebook."""

from collections.abc import Callable
from html import escape
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from unrolled.book.claims import pretty
from unrolled.book.records import CLAIM, QUIZ, SHOW
from unrolled.book.sources import source_of
from unrolled.widgets import MIME as LAB
from unrolled.widgets import Lab

#: Choosing an answer shows its explanation by style alone; the page needs no script.
QUIZ_STYLE = (
    "<style>.quiz .quiz-why{display:none}"
    ".quiz input:checked~.quiz-why{display:block}</style>"
)


def draw(mime: str, record: dict[str, Any], *, ledger: str = "") -> str:
    """Return the record of type ``mime`` as HTML; ``ledger`` is that page's address."""
    if mime not in DRAWN:
        raise ValueError(f"no way to draw {mime!r}; known are {', '.join(DRAWN)}")
    return DRAWN[mime](record, ledger)


def draw_claim(record: dict[str, Any], ledger: str = "") -> str:
    """Return a claim as a quiet line: tick, sentence, at most three numbers, a link."""
    numbers = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{pretty(record['measured'][name])}</dd></div>"
        for name in record["headline"]
    )
    id, link = record["id"], ""
    if ledger:
        link = f' <a class="claim-link" href="{ledger}#ledger-{id}">in the ledger</a>'
    return (
        f'<div class="claim" id="claim-{id}" role="group" aria-label="Claim: {id}">'
        '<p><span class="claim-mark" title="A claim, asserted in this run">✓</span> '
        f"{escape(record['sentence'])}{link}</p>"
        f"{f'<dl>{numbers}</dl>' if numbers else ''}</div>"
    )


def draw_quiz(record: dict[str, Any], ledger: str = "") -> str:
    """Return a quiz as groups of radio buttons, each with its explanation."""
    questions = "".join(
        _question(question, f"{record['id']}-q{i}")
        for i, question in enumerate(record["questions"], start=1)
    )
    return f'<div class="quiz" id="quiz-{record["id"]}">{QUIZ_STYLE}{questions}</div>'


def _question(question: dict[str, Any], name: str) -> str:
    rows = []
    for i, (text, why, right) in enumerate(question["options"]):
        verdict = "Right" if right else "Not quite"
        rows.append(
            f'<div class="quiz-option" data-right="{str(right).lower()}">'
            f'<input type="radio" name="{name}" id="{name}-{i}">'
            f'<label for="{name}-{i}">{_prose(text)}</label>'
            f'<p class="quiz-why"><strong>{verdict}.</strong> {_prose(why)}</p>'
            "</div>"
        )
    return (
        f'<fieldset class="quiz-question"><legend>{_prose(question["prompt"])}</legend>'
        f"{''.join(rows)}</fieldset>"
    )


def draw_lab(record: dict[str, Any], ledger: str = "") -> str:
    """Return the mark that the book's own scripts turn into the figure."""
    return Lab(record["name"]).placeholder()


def draw_source(record: dict[str, Any], ledger: str = "") -> str:
    """Return the source of an object of the package, as it is now."""
    code = highlight(source_of(record["name"]), PythonLexer(), HtmlFormatter())
    name = escape(record["name"].replace(":", "."))
    return (
        f'<div class="cell_input shown-source"><p class="shown-name">{name}</p>'
        f'<div class="highlight-python notranslate">{code}</div></div>'
    )


def _prose(text: str) -> str:
    """Escape ``text`` for HTML, with words between backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


DRAWN: dict[str, Callable[[dict[str, Any], str], str]] = {
    CLAIM: draw_claim,
    QUIZ: draw_quiz,
    LAB: draw_lab,
    SHOW: draw_source,
}
