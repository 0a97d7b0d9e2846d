"""Draw a record as HTML: one function, for the page and for a notebook.

The page has the book's style sheets and scripts. A notebook has neither, and JupyterLab
takes style sheets, scripts and most attributes out of one that it does not trust: there
a drawing carries its style in its elements, in colours for light and dark alike, and an
answer is folded in ``<details>``.
"""

from collections.abc import Callable
from html import escape
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.style import Style
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from unrolled.book.claims import pretty
from unrolled.book.records import CLAIM, QUIZ, SHOW
from unrolled.book.sources import source_of
from unrolled.figures.style import BOTH, draw_figure, prose
from unrolled.widgets import MIME as LAB
from unrolled.widgets import Lab

__all__ = ["DRAWN", "IN_NOTEBOOKS", "draw", "draw_figure"]

#: Choosing an answer shows its explanation by style alone; the page needs no script.
QUIZ_STYLE = (
    "<style>.quiz .quiz-why{display:none}"
    ".quiz input:checked~.quiz-why{display:block}</style>"
)


#: JupyterLab asks the element that has the focus, not what is around it.
NO_SHORTCUTS = 'data-lm-suppress-shortcuts="true"'


def draw(
    mime: str,
    record: dict[str, Any],
    *,
    ledger: str = "",
    page: str = "",
    notebook: bool = False,
) -> str:
    """Return the record of type ``mime`` as HTML.

    Args:
        mime: Its type.
        record: What an output stores.
        ledger: The address of that page, for a link.
        page: The address of the chapter's page, for a link in a notebook.
        notebook: Whether it is for a notebook, which lacks the page's style.
    """
    drawn = IN_NOTEBOOKS if notebook else DRAWN
    if mime not in drawn:
        raise ValueError(f"no way to draw {mime!r}; known are {', '.join(drawn)}")
    return drawn[mime](record, page if mime == LAB else ledger)


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
            f'<label for="{name}-{i}">{prose(text)}</label>'
            f'<p class="quiz-why"><strong>{verdict}.</strong> {prose(why)}</p>'
            "</div>"
        )
    return (
        f'<fieldset class="quiz-question"><legend>{prose(question["prompt"])}</legend>'
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


DRAWN: dict[str, Callable[[dict[str, Any], str], str]] = {
    CLAIM: draw_claim,
    QUIZ: draw_quiz,
    LAB: draw_lab,
    SHOW: draw_source,
}


# ---- in a notebook ----

BLUE, ORANGE, GREEN, PURPLE, *_ = BOTH.series
EDGE = "padding:2px 0 2px 12px;margin:6px 0;border-left:3px solid"


class _BothThemes(Style):  # type: ignore[misc]
    """Code in colours that are read on light and on dark alike."""

    styles = {  # noqa: RUF012 (as Pygments asks for it)
        Comment: f"italic {BOTH.ink}",
        Keyword: f"bold {BLUE}",
        Operator.Word: f"bold {BLUE}",
        Name.Decorator: PURPLE,
        Number: PURPLE,
        String: GREEN,
    }


def claim_in_notebook(record: dict[str, Any], ledger: str = "") -> str:
    """Return a claim as on the page, with its style inside."""
    numbers = " &nbsp;·&nbsp; ".join(
        f"{escape(name)}: <strong>{pretty(record['measured'][name])}</strong>"
        for name in record["headline"]
    )
    below = f'<p style="margin:4px 0 0 0">{numbers}</p>' if numbers else ""
    link = ""
    if ledger:
        link = f' <a href="{escape(ledger)}#ledger-{record["id"]}">in the ledger</a>'
    return (
        f'<div class="claim" style="{EDGE} {GREEN}">'
        f'<p style="margin:0"><strong style="color:{GREEN}" '
        'title="A claim, asserted in this run">✓</strong> '
        f"{escape(record['sentence'])}{link}</p>"
        f"{below}</div>"
    )


def quiz_in_notebook(record: dict[str, Any], ledger: str = "") -> str:
    """Return a quiz whose answers unfold: that needs neither style nor trust."""
    questions = []
    for question in record["questions"]:
        rows = []
        for text, why, right in question["options"]:
            verdict, colour = (
                ("Right", GREEN) if right else ("Not quite", BOTH.series[1])
            )
            rows.append(
                f'<details style="margin:4px 0"><summary style="cursor:pointer" '
                f"{NO_SHORTCUTS}>{prose(text)}</summary>"
                f'<p style="margin:2px 0 8px 16px"><strong style="color:{colour}">'
                f"{verdict}.</strong> {prose(why)}</p></details>"
            )
        questions.append(
            f'<div style="margin:0 0 16px 0"><p style="margin:0 0 4px 0"><strong>'
            f"{prose(question['prompt'])}</strong></p>{''.join(rows)}</div>"
        )
    lead = "Choose an answer: it opens and says whether it is right."
    return (
        f'<div class="quiz"><p style="margin:0 0 12px 0">{lead}</p>'
        f"{''.join(questions)}</div>"
    )


def lab_in_notebook(record: dict[str, Any], page: str = "") -> str:
    """Return where the figure is found: only a run brings its scripts along."""
    name = escape(record["name"])
    there = ""
    if page:
        there = f', or <a href="{escape(page)}#?{name}">use it in the book</a>'
    return (
        f'<p class="lab-mark" style="{EDGE} {BLUE}">'
        f"An interactive figure, “{name}”: run this cell to use it here{there}.</p>"
    )


def source_in_notebook(record: dict[str, Any], ledger: str = "") -> str:
    """Return the source of an object of the package, as it is now, in colours."""
    form = HtmlFormatter(
        style=_BothThemes, noclasses=True, nobackground=True, nowrap=True
    )
    code = highlight(source_of(record["name"]), PythonLexer(), form)
    name = escape(record["name"].replace(":", "."))
    return (
        f'<div class="shown-source"><p style="margin:0 0 4px 0"><code>{name}</code></p>'
        f'<pre style="margin:0;overflow-x:auto">{code}</pre></div>'
    )


IN_NOTEBOOKS: dict[str, Callable[[dict[str, Any], str], str]] = {
    CLAIM: claim_in_notebook,
    QUIZ: quiz_in_notebook,
    LAB: lab_in_notebook,
    SHOW: source_in_notebook,
}
