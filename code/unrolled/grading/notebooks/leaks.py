"""Does a file that students get hold a line of a solution, a hidden test or a rubric?

Blanks are left out on both sides, so that no other layout hides a line; what also
stands in the prompt, the given code, a scaffold or a visible test is no secret.

The chapters and the package teach what the exercises ask for, so a line of an answer
(``with torch.no_grad():``) may stand there by right. In such files a leak is a passage:
two lines of an answer in a row, or a long one.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

from unrolled.grading.exercise import Exercise, Question

#: Shorter lines, such as ``return h``, say nothing and stand everywhere.
SHORTEST = 12
#: A line, or two in a row, as long as this is no idiom of the subject.
LONG_LINE, LONG_PAIR = 40, 32
_READABLE = re.compile(rb"[\t\n\r -~]{%d,}" % SHORTEST)
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Leak:
    """A secret in a student's file."""

    file: str
    what: str  # as in "hidden test of q1"
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Text:
    """What can be read in a file; a file may be read in two or three ways."""

    file: str
    text: str

    @cached_property
    def words(self) -> set[str]:
        """Return its words, for a quick look first: a whole book is read."""
        return set(_WORD.findall(self.text))

    @cached_property
    def squeezed(self) -> str:
        """Return it without blanks."""
        return _squeezed(self.text)


def read_texts(files: Iterable[Path]) -> list[Text]:
    """Return all that can be read in these files.

    Notebooks are read as the text they hold, pages without their markup, zips member by
    member, folders in full.
    """
    return [Text(file=name, text=text) for name, text in _texts(files)]


def scan(
    files: Iterable[Path], exercise: Exercise, *, passages: bool = False
) -> list[Leak]:
    """Return each secret line of an exercise that is in one of these files.

    ``passages`` is for files that teach the same subject.
    """
    return scan_texts(read_texts(files), exercise, passages=passages)


def scan_texts(
    texts: Iterable[Text], exercise: Exercise, *, passages: bool = False
) -> list[Leak]:
    """Return the same for texts that were read before, for one exercise of many."""
    secrets = passages_of(exercise) if passages else secrets_of(exercise)
    needed = {s: set(_WORD.findall(line)) for s, (_, line) in secrets.items()}
    found: dict[Leak, None] = {}
    for text in texts:
        for secret, (what, line) in secrets.items():
            if needed[secret] <= text.words and secret in text.squeezed:
                found[Leak(file=text.file, what=what, text=line.strip())] = None
    return list(found)


def secrets_of(exercise: Exercise) -> dict[str, tuple[str, str]]:
    """Return what students must not see, without blanks; of what, and as it stands."""
    shown = [
        c.source for c in exercise.cells if c.role in ("prose", "given", "visible")
    ]
    for question in exercise.questions.values():
        shown.append(question.scaffold)
        specimens = (*question.good, *question.planted)
        shown += [f"{one.note}\n{one.source}" for one in specimens if one.visible]
    public = _squeezed("\n".join(shown))
    secrets: dict[str, tuple[str, str]] = {}
    for question in exercise.questions.values():
        for what, text in _hidden_texts(question):
            for line in text.splitlines():
                if line.lstrip().startswith(("import ", "from ")):
                    continue
                squeezed = _squeezed(line)
                if len(squeezed) >= SHORTEST and squeezed not in public:
                    secrets.setdefault(squeezed, (f"{what} of {question.id}", line))
        known = set(question.scaffold.splitlines())
        lines = [x for x in question.solution.splitlines() if x not in known]
        whole = _squeezed("".join(lines))
        if len(whole) > len("return x") and whole not in public:
            words = (f"solution of {question.id}", " ".join(map(str.strip, lines)))
            secrets.setdefault(whole, words)
    return secrets


def passages_of(exercise: Exercise) -> dict[str, tuple[str, str]]:
    """Return what cannot stand in a chapter by chance, as :func:`secrets_of` does."""
    secrets = secrets_of(exercise)
    found = {text: told for text, told in secrets.items() if len(text) >= LONG_LINE}
    for question in exercise.questions.values():
        for what, text in _hidden_texts(question):
            lines = [line for line in text.splitlines() if line.strip()]
            for first, second in pairwise(lines):
                parts = (_squeezed(first), _squeezed(second))
                both = "".join(parts)
                if len(both) >= LONG_PAIR and all(part in secrets for part in parts):
                    told = f"{first.strip()} {second.strip()}"
                    found.setdefault(both, (f"{what} of {question.id}", told))
    return found


def _hidden_texts(question: Question) -> Iterator[tuple[str, str]]:
    yield "solution", question.solution
    yield "rubric", question.rubric or ""
    yield from (("hidden test", f"{t.name}\n{t.source}") for t in question.hidden)
    yield from (("mutant", mutant.source) for mutant in question.mutants)
    yield from (("alternative", source) for source in question.alternatives)
    for one in (*question.good, *question.planted):
        if not one.visible:
            yield "specimen", f"{one.name}\n{one.note}\n{one.source}"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _texts(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        if file.is_dir():
            yield from _texts(sorted(file.iterdir()))
        else:
            yield from _text(str(file), file.read_bytes())


def _text(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                yield from _text(f"{name}/{member}", archive.read(member))
        return
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # a picture, say: what can be read in it
        text = b"\0".join(_READABLE.findall(content)).decode("ascii")
    yield name, text
    if "<" in text:
        yield name, unescape(_TAG.sub(" ", text))  # colours of code are tags
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield name, "\0".join(_strings(value))  # with its escapes undone


def _strings(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value; a list of lines is one text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield "".join(value)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _strings(one)
