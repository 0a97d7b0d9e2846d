"""Questions in the page: every wrong answer explained, the right one checked by code.

The text of a chapter's questions stands in its room, where nobody reads it above the
question; the chapter checks the answers that code can check.
"""

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from unrolled.book.records import QUIZ, bundle


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question with its options, in the order in which they are shown."""

    prompt: str
    options: tuple[tuple[str, str, bool], ...]  # (text, explanation, right?)
    name: str = ""

    @property
    def right(self) -> str:
        """The text of the right answer."""
        return next(text for text, _, right in self.options if right)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quiz:
    """The questions of a chapter, ready to be shown."""

    id: str
    questions: tuple[Question, ...]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        prompts = [question.prompt for question in self.questions]
        words = "\n".join(f"{i}. {prompt}" for i, prompt in enumerate(prompts, 1))
        return bundle(QUIZ, asdict(self), words)


def question(
    prompt: str,
    *,
    right: str,
    because: str,
    wrong: Mapping[str, str],
    holds: Any = None,
    name: str = "",
) -> Question:
    """Ask ``prompt``: one ``right`` answer, and for every ``wrong`` one a reason.

    ``holds`` is the right answer checked by code, where code can; if it is false the
    run fails. A question with a ``name`` may be checked later, by :func:`quiz`. Words
    between backticks are set as code.
    """
    if right in wrong or len(wrong) < 2:
        raise ValueError(f"{prompt!r} needs two or more wrong answers beside the right")
    if missing := [text for text, why in wrong.items() if not why.strip()]:
        raise ValueError(f"{prompt!r}: {missing[0]!r} has no explanation")
    options = [(right, because, True), *((t, why, False) for t, why in wrong.items())]
    random.Random(prompt).shuffle(options)  # the same order in every run
    made = Question(prompt=prompt, options=tuple(options), name=name)
    _check(made, holds)
    return made


def quiz(id: str, *questions: Question, holds: Mapping[str, Any] | None = None) -> Quiz:
    """Show ``questions`` as the quiz called ``id``, unique in the book.

    ``holds`` says by a question's name whether its right answer is right, as code finds
    it; if one is not, the run fails.
    """
    if not questions:
        raise ValueError(f"quiz {id!r} has no questions")
    named = {question.name: question for question in questions if question.name}
    for name, found in (holds or {}).items():
        if name not in named:
            there = ", ".join(named) or "none has a name"
            raise ValueError(f"quiz {id!r} has no question {name!r}: {there}")
        _check(named[name], found)
    return Quiz(id=id, questions=questions)


def _check(question: Question, holds: Any) -> None:
    if holds is not None and not holds:
        raise AssertionError(
            f"the answer {question.right!r} to {question.prompt!r} is not right"
        )
