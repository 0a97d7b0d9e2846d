"""A MyST notebook taken apart into cells, every one with its line in the file.

Only what an exercise needs is read: the header, code cells with their options, prose,
and rubrics, which are cells of their own so that no edition shows them by accident.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from unrolled.grading.exercise import ExerciseError

_FENCE = re.compile(
    r"(?P<fence>`{3,}|:{3,}|~{3,})\s*(?:\{(?P<name>[\w-]+)\})?(?P<rest>.*)"
)
_OPTION = re.compile(r":(?P<key>[\w-]+):\s*(?P<value>.*)")
_HIDDEN_AWAY = re.compile(
    r".*\{code-cell\}.*|\s*:class:.*\brubric\b.*|\s*[`:~]{3,}\s*\{[\w-]+\}\s*rubric.*",
    re.IGNORECASE,
)
_LISTS = ("tags", "fails")

Fail = Callable[[int, str], NoReturn]


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A code cell, a rubric or a stretch of prose, as it stands in the file."""

    kind: str  # code, rubric, prose
    source: str
    line: int  # of the first line of ``source``
    start: int  # of the fence
    options: dict[str, Any] = field(default_factory=dict)


def complain_about(file: str) -> Fail:
    """Return the function that refuses a line of ``file``."""

    def fail(line: int, what: str) -> NoReturn:
        raise ExerciseError(f"{file}:{line}: {what}")

    return fail


def read_header(
    lines: list[str], fail: Fail
) -> tuple[dict[str, Any], dict[str, int], int]:
    """Return the header, the line of each of its keys, and how many lines it takes.

    A key is named by its path, as in ``exercise.questions.q1``.
    """
    if not lines or lines[0].rstrip() != "---":
        fail(1, "the file must begin with a header between two lines '---'")
    ends = [i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"]
    if not ends:
        fail(1, "the header has no end: close it with a line '---'")
    text = "\n".join(lines[1 : ends[0]])
    where: dict[str, int] = {}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        _note_lines(node, "", where, fail)
        header = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        fail(mark.line + 2 if mark else 1, f"the header is not YAML: {error.problem}")
    if not isinstance(header, dict):
        fail(1, "the header must be a mapping with an entry 'exercise'")
    return header, where, ends[0] + 1


def _note_lines(node: Any, path: str, where: dict[str, int], fail: Fail) -> None:
    """Write down the line of each key; YAML itself would drop a repeated one."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        name, line = f"{path}{key.value}", key.start_mark.line + 2
        if name in where:
            fail(
                line, f"{name} stands twice in the header (first in line {where[name]})"
            )
        where[name] = line
        _note_lines(value, f"{name}.", where, fail)


def split(lines: list[str], first: int, fail: Fail) -> list[Piece]:
    """Take the lines from index ``first`` on apart into pieces."""
    pieces: list[Piece] = []
    prose: list[str] = []

    def flush(end: int) -> None:
        if any(line.strip() for line in prose):
            text, line = _trimmed(prose, end - len(prose) + 1)
            pieces.append(Piece(kind="prose", source=text, line=line, start=line))
        prose.clear()

    i = first
    while i < len(lines):
        line = lines[i]
        if fenced := _FENCE.fullmatch(line.rstrip()):
            end = _closing(lines, i, fenced["fence"], fail)
            body = lines[i + 1 : end]
            options, skip = _options(body, i + 2, fail)
            text, at = _trimmed(body[skip:], i + 2 + skip)
            if fenced["name"] == "code-cell":
                kind = "code"
            elif _is_rubric(fenced["rest"], options):
                kind = "rubric"
            else:
                prose += _shown(lines[i : end + 1], i + 1, fail)
                i = end + 1
                continue
            flush(i)
            piece = Piece(kind=kind, source=text, line=at, start=i + 1, options=options)
            pieces.append(piece)
            i = end + 1
            continue
        if line.startswith(("## ", "+++")):
            flush(i)
        if line.startswith("+++"):
            if line.strip() != "+++":
                fail(i + 1, "a '+++' here takes no metadata: write it alone")
        else:
            prose += _shown([line], i + 1, fail)
        i += 1
    flush(i)
    return pieces


def _closing(lines: list[str], start: int, fence: str, fail: Fail) -> int:
    for i in range(start + 1, len(lines)):
        bare = lines[i].rstrip()
        if bare and set(bare) == {fence[0]} and len(bare) >= len(fence):
            return i
    fail(start + 1, f"the block that starts here is never closed: add a line '{fence}'")


def _options(body: list[str], line: int, fail: Fail) -> tuple[dict[str, Any], int]:
    """Return a directive's options and how many lines they take."""
    if body and body[0].rstrip() == "---":
        ends = [i for i, text in enumerate(body[1:], 1) if text.rstrip() == "---"]
        if not ends:
            fail(line, "the options of this cell are never closed by a line '---'")
        try:
            found = yaml.safe_load("\n".join(body[1 : ends[0]])) or {}
        except yaml.YAMLError:
            found = None
        if not isinstance(found, dict):
            fail(line, "the options of this cell are not a YAML mapping")
        return {str(key): value for key, value in found.items()}, ends[0] + 1
    options: dict[str, Any] = {}
    for n, text in enumerate(body):
        if not (match := _OPTION.fullmatch(text.rstrip())):
            return options, n
        key, value = match["key"], match["value"]
        if key in options:
            fail(line + n, f"the option {key!r} stands twice in this cell")
        options[key] = _list(value, line + n, fail) if key in _LISTS else value
    return options, len(body)


def _list(value: str, line: int, fail: Fail) -> Any:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        fail(line, f"{value!r} is not a list: write [one, two]")


def _is_rubric(title: str, options: dict[str, Any]) -> bool:
    classes = str(options.get("class", "")).split()
    return title.strip().lower().startswith("rubric") or "rubric" in classes


def _shown(lines: list[str], line: int, fail: Fail) -> list[str]:
    """Return prose as it is; refuse what only looks like prose and would be shown."""
    for n, text in enumerate(lines):
        if _HIDDEN_AWAY.fullmatch(text):
            fail(line + n, "a code cell or rubric must start at the left, in no block")
    return lines


def _trimmed(lines: list[str], line: int) -> tuple[str, int]:
    """Return the text without blank lines around it, and the line it starts in."""
    blank = next((i for i, text in enumerate(lines) if text.strip()), len(lines))
    return "\n".join(lines[blank:]).rstrip(), line + blank
