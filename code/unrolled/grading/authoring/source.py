"""Read the source of an exercise, ``exercises/NN-name.md``, and complain well.

A question is a section ``## Question 1: its title``; all its cells stand in it. Prose
is for students, every word of it, but for the rubric: an admonition of class
``rubric``, which only questions in words have. Code cells have one of the tags below
and the option ``question``, except those given. What questions of kind ``test`` are
and how their points come about: :mod:`unrolled.grading.exercise`.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from unrolled.grading.authoring.cells import (
    Fail,
    Piece,
    complain_about,
    read_header,
    split,
)
from unrolled.grading.authoring.code_cells import parse
from unrolled.grading.authoring.questions import build_question
from unrolled.grading.authoring.settings import read_settings
from unrolled.grading.exercise import (
    Cell,
    Exercise,
    ExerciseError,
    Mutant,
    Question,
    Specimen,
    Test,
)

__all__ = [
    "Cell",
    "Exercise",
    "ExerciseError",
    "Mutant",
    "Question",
    "Specimen",
    "Test",
    "read_exercise",
]

#: The tags of code cells, and the options that each may have.
TAGS = {
    "given": {"question"},
    "answer": {"question"},
    "visible": {"question"},
    "hidden": {"question"},
    "mutant": {"question", "fails"},
    "alternative": {"question"},
    "good": {"question", "name"},
    "planted": {"question", "name", "catches", "points"},
}
_SHOWABLE = ("good", "planted")  # these may be tagged visible as well
_NAME = re.compile(r"(\d\d)-[a-z0-9]+(-[a-z0-9]+)*")
_HEADING = re.compile(r"## Question (\d+)\b[^:]*:\s*(.+)")


def read_exercise(path: Path | str) -> Exercise:
    """Return the exercise whose source is the file at ``path``.

    Raises:
        ExerciseError: It is malformed: ``file:line: what, and what would be right``.
    """
    path = Path(path)
    fail = complain_about(str(path))
    if not (named := _NAME.fullmatch(path.stem)) or path.suffix != ".md":
        fail(1, f"{path.name!r} is no name for an exercise: 12-self-attention.md is")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        fail(1, "this file is not text in UTF-8")
    lines = text.split("\n")  # as editors count them
    header, where, first = read_header(lines, fail)
    title, settings = read_settings(header, where, fail)
    cells: list[Cell] = []
    found: dict[str, list[tuple[str, Piece]]] = {id: [] for id in settings}
    titles: dict[str, str] = {}
    section: str | None = None
    for piece in split(lines, first, fail):
        if piece.source.startswith("## ") and piece.kind == "prose":
            section = _heading(piece, titles, list(settings), fail)
        role, question = piece.kind, section
        if piece.kind == "code":
            role = _tag(piece, fail)
            if role != "given" or "question" in piece.options:
                question = _question(piece, section, list(settings), fail)
        if role == "given":
            parse(piece.source, piece.line, fail)
        if piece.kind == "rubric" and question is None:
            fail(piece.start, "this rubric is in the section of no question")
        if question is not None:
            found[question].append((role, piece))
        cell = Cell(role=role, source=piece.source, line=piece.line, question=question)
        cells.append(cell)
    for id in settings:
        if id not in titles:
            at = where[f"exercise.questions.{id}"]
            fail(at, f"{id} has no section: add '## Question {id[1:]}: its title'")
    questions = {
        id: build_question(id, titles[id], settings[id], found[id], fail)
        for id in settings
    }
    _once(questions, fail)
    return Exercise(
        number=named[1],
        name=path.stem,
        title=title,
        preamble="\n\n".join(c.source for c in cells if c.role == "given") + "\n",
        questions=questions,
        digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        cells=tuple(cells),
    )


def _heading(
    piece: Piece, titles: dict[str, str], known: list[str], fail: Fail
) -> str | None:
    """Return the question whose section starts here, if one does."""
    heading = piece.source.splitlines()[0]
    if not heading.startswith("## Question"):
        return None
    if not (match := _HEADING.fullmatch(heading.rstrip())):
        fail(piece.line, f"{heading!r} should read '## Question 1: its title'")
    id = f"q{match[1]}"
    if id not in known:
        there = ", ".join(known)
        fail(piece.line, f"question {match[1]} is not in the header, which has {there}")
    if id in titles:
        fail(piece.line, f"a second section for {id}: a question has one")
    titles[id] = match[2]
    if list(titles) != known[: len(titles)]:
        fail(piece.line, f"{id} comes out of turn: the header has {', '.join(known)}")
    return id


def _tag(piece: Piece, fail: Fail) -> str:
    """Return the tag of a code cell; see that it is known and its options are."""
    there = ", ".join(TAGS)
    tags = piece.options.get("tags")
    if not isinstance(tags, list) or not tags:
        fail(piece.start, f"this cell needs a tag, as in ':tags: [given]': {there}")
    for tag in tags:
        if tag not in TAGS:
            fail(piece.start, f"unknown tag {tag!r}: there are {there}")
    main = [tag for tag in tags if tag != "visible"] or ["visible"]
    if len(main) > 1 or (len(tags) > 1 and main[0] not in _SHOWABLE):
        fail(piece.start, f"tags {tags}: one is enough, or [good, visible]")
    for option in piece.options.keys() - {"tags"} - TAGS[main[0]]:
        allowed = ", ".join(sorted({"tags"} | TAGS[main[0]]))
        fail(
            piece.start, f"a cell tagged {main[0]} has no option {option!r}: {allowed}"
        )
    if not piece.source:
        fail(piece.start, "this cell is empty")
    return str(main[0])


def _question(piece: Piece, section: str | None, known: list[str], fail: Fail) -> str:
    """Return the question a cell belongs to, which is that of its section."""
    id: Any = piece.options.get("question")
    if id is None:
        fail(
            piece.start, f"this cell does not say its question: ':question: {known[0]}'"
        )
    if id not in known:
        fail(piece.start, f"unknown question {id!r}: the header has {', '.join(known)}")
    if id != section:
        here = section or "no question"
        fail(
            piece.start, f"a cell of {id} in the section of {here}: move it to its own"
        )
    return str(id)


def _once(questions: dict[str, Question], fail: Fail) -> None:
    """See that no two tests or specimens of the exercise have the same name."""
    seen: dict[str, int] = {}
    for question in questions.values():
        for one in question.judges:
            if one.name in seen:
                first = seen[one.name]
                fail(one.line, f"{one.name} is defined in the cell of line {first} too")
            seen[one.name] = one.line
