"""The settings of an exercise and of its questions, from the header of its source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from unrolled.grading.authoring.cells import Fail
from unrolled.grading.exercise import Kind

KINDS: tuple[str, ...] = get_args(Kind)
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_KEYS = {"kind", "points", "minutes", "forbid"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What the header says about a question; ``line`` is where."""

    kind: Kind
    points: int
    minutes: int
    forbid: tuple[str, ...]
    line: int


def read_settings(
    header: Mapping[str, Any], where: Mapping[str, int], fail: Fail
) -> tuple[str, dict[str, Settings]]:
    """Return the exercise's title and the settings of its questions."""
    exercise = header.get("exercise")
    top = where.get("exercise", 1)
    if not isinstance(exercise, dict):
        fail(top, "the header needs 'exercise:' with a title and questions")
    for key in exercise.keys() - {"title", "questions"}:
        fail(where.get(f"exercise.{key}", top), f"exercise has no setting {key!r}")
    title, questions = exercise.get("title"), exercise.get("questions")
    if not isinstance(title, str) or not title.strip():
        fail(top, "the exercise needs a title: 'title: A mask that keeps secrets'")
    if not isinstance(questions, dict) or not questions:
        fail(top, "the exercise needs questions: 'q1: {kind: function, minutes: 15}'")
    found = {}
    for n, (id, one) in enumerate(questions.items(), 1):
        line = where.get(f"exercise.questions.{id}", top)
        if id != f"q{n}":
            fail(line, f"question {n} is called {id!r}: call it q{n}")
        found[id] = _settings(id, one, line, fail)
    return title.strip(), found


def _settings(id: str, one: Any, line: int, fail: Fail) -> Settings:
    if not isinstance(one, dict):
        fail(line, f"{id} needs settings: {{kind: function, minutes: 15}}")
    for key in one.keys() - _KEYS:
        fail(line, f"{id} has no setting {key!r}: there are {', '.join(sorted(_KEYS))}")
    kind, forbid = one.get("kind"), one.get("forbid", [])
    minutes: Any = one.get("minutes")
    points: Any = one.get("points")
    if kind not in KINDS:
        fail(line, f"{id} has kind {kind!r}: there are {', '.join(KINDS)}")
    if not _positive(minutes):
        fail(line, f"{id} has minutes {minutes!r}: say how many it takes, as in 15")
    if kind != "words" and points is not None:
        fail(line, f"points of {id} are computed from its tests: leave 'points' out")
    if kind == "words" and not _positive(points):
        fail(line, f"{id} has points {points!r}: words need a whole number, as in 2")
    if kind == "words" and forbid:
        fail(line, f"{id} is answered in words: it can forbid no names")
    named = isinstance(forbid, list) and all(isinstance(name, str) for name in forbid)
    if not named or not all(_DOTTED.fullmatch(name) for name in forbid):
        fail(line, f"{id} has forbid {forbid!r}: write names, as in [nn.LSTMCell]")
    return Settings(
        kind=kind,
        points=points or 0,
        minutes=minutes,
        forbid=tuple(forbid),
        line=line,
    )


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
