"""Questions in the page: every wrong answer explained, the right one checked by code.

The page needs no script: choosing an answer shows its explanation by style alone. In
the book a small script adds an announcement for screen readers and a count.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

STYLE = (
    "<style>.quiz .quiz-why{display:none}"
    ".quiz input:checked~.quiz-why{display:block}</style>"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question with its options, in the order in which they are shown."""

    prompt: str
    options: tuple[tuple[str, str, bool], ...]  # (text, explanation, right?)

    def html(self, name: str) -> str:
        """Return the question as a group of radio buttons called ``name``."""
        rows = []
        for i, (text, why, right) in enumerate(self.options):
            verdict = "Right" if right else "Not quite"
            rows.append(
                f'<div class="quiz-option" data-right="{str(right).lower()}">'
                f'<input type="radio" name="{name}" id="{name}-{i}">'
                f'<label for="{name}-{i}">{_prose(text)}</label>'
                f'<p class="quiz-why"><strong>{verdict}.</strong> {_prose(why)}</p>'
                "</div>"
            )
        return (
            f'<fieldset class="quiz-question"><legend>{_prose(self.prompt)}</legend>'
            f"{''.join(rows)}</fieldset>"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Quiz:
    """The questions of a chapter, ready to be shown."""

    id: str
    questions: tuple[Question, ...]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        body = "".join(
            question.html(f"{self.id}-q{i}")
            for i, question in enumerate(self.questions, start=1)
        )
        plain = "\n".join(
            f"{i}. {question.prompt}" for i, question in enumerate(self.questions, 1)
        )
        return {
            "text/html": f'<div class="quiz" id="quiz-{self.id}">{STYLE}{body}</div>',
            "text/plain": plain,
        }


def question(
    prompt: str,
    *,
    right: str,
    because: str,
    wrong: Mapping[str, str],
    holds: Any = None,
) -> Question:
    """Ask ``prompt``: one ``right`` answer, and for every ``wrong`` one a reason.

    ``holds`` is the right answer checked by code, where code can; if it is false the
    run fails. Words between backticks are set as code.
    """
    if holds is not None and not holds:
        raise AssertionError(f"the answer {right!r} to {prompt!r} is not right")
    if right in wrong or len(wrong) < 2:
        raise ValueError(f"{prompt!r} needs two or more wrong answers beside the right")
    if missing := [text for text, why in wrong.items() if not why.strip()]:
        raise ValueError(f"{prompt!r}: {missing[0]!r} has no explanation")
    options = [(right, because, True), *((t, why, False) for t, why in wrong.items())]
    random.Random(prompt).shuffle(options)  # the same order in every run
    return Question(prompt=prompt, options=tuple(options))


def quiz(id: str, *questions: Question) -> Quiz:
    """Show ``questions`` as the quiz called ``id``, unique in the book."""
    if not questions:
        raise ValueError(f"quiz {id!r} has no questions")
    return Quiz(id=id, questions=questions)


def _prose(text: str) -> str:
    """Escape ``text`` for HTML, with words between backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))
