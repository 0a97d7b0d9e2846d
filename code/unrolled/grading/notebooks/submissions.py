"""The answers in a notebook that a student hands in, whatever became of its cells.

An answer is found by the metadata of its cell, or by its first line if a tool has
dropped that. Cells may have been moved, copied, split, deleted or mixed with others; a
notebook that can be read at all gives an answer to every question, if an empty one.
What an answer uses and other cells define (an import, a helper) is put before it, so
that what worked in the notebook works for us.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from unrolled.grading.exercise import Exercise, Question
from unrolled.grading.notebooks.borrowed import Elsewhere, parsed, without_calls
from unrolled.grading.notebooks.sheets import (
    KEY,
    WORDS_HERE,
    NotebookError,
    code_mark,
    words_mark,
)

#: A notebook of text is far smaller; this one would only fill the memory.
LARGEST = 20_000_000
#: How many characters of the cells of one answer, and of all other cells, are read.
ROOM = 200_000


def read_notebook(path: Path) -> dict[str, Any]:
    """Return a notebook as plain values; nothing in it is trusted or run.

    Raises:
        NotebookError: It is no notebook, or too large.
    """
    if path.is_symlink() or not path.is_file():
        raise NotebookError(f"{path} is no file")
    if (size := path.stat().st_size) > LARGEST:
        raise NotebookError(
            f"{path} has {size:,} bytes, and at most {LARGEST:,} are read: clear its "
            "outputs and save it again"
        )
    return notebook_of(path.read_bytes(), f"{path}")


def notebook_of(data: bytes, name: str) -> dict[str, Any]:
    """Return a notebook from the bytes of a file; ``name`` is what to call it.

    Raises:
        NotebookError: It is no notebook.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise NotebookError(f"{name} is no notebook: it is not JSON") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise NotebookError(f"{name} is no notebook: it has no cells")
    return notebook


def answers_of(notebook: Mapping[str, Any], exercise: Exercise) -> dict[str, str]:
    """Return the answer to every question of an exercise, "" where there is none.

    An untouched scaffold is no answer. Of several cells for one question those that
    were not answered are left out and the rest are read in their order, as the notebook
    would run them, so the last definition counts.
    """
    own, others = _by_question(notebook, exercise)
    elsewhere = Elsewhere(others, exercise.preamble)
    answers = {}
    for id, question in exercise.questions.items():
        sources = [text for text in own[id] if not _untouched(text, question)]
        if question.kind == "words":
            answers[id] = "\n\n".join(dict.fromkeys(map(_words, sources)))
            continue
        code = _joined(list(dict.fromkeys(sources)))
        if code:
            code = elsewhere.borrowed(code) + without_calls(code)
        answers[id] = code
    return answers


def copies_of(notebook: Mapping[str, Any], exercise: Exercise) -> dict[str, int]:
    """Return how many answered cells there are for each question that has several."""
    own, _ = _by_question(notebook, exercise)
    counts = {
        id: sum(not _untouched(text, exercise.questions[id]) for text in texts)
        for id, texts in own.items()
    }
    return {id: n for id, n in counts.items() if n > 1}


def digest_of(answers: Mapping[str, str]) -> str:
    """Return the digest of a set of answers, the same on every machine."""
    written = json.dumps(dict(sorted(answers.items())), ensure_ascii=True)
    return hashlib.sha256(written.encode()).hexdigest()


def exercise_name(notebook: Mapping[str, Any]) -> str | None:
    """Return the name of the exercise that a notebook says it is of."""
    name = _entry(notebook).get("exercise")
    return name if isinstance(name, str) else None


def submission_of(notebook: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what ``submit`` wrote: exercise, digest, time and version; else None.

    Its digest differs from that of the answers if these were changed afterwards.
    """
    seal = _entry(notebook).get("submission")
    return seal if isinstance(seal, Mapping) else None


def _entry(holder: Any) -> Mapping[str, Any]:
    """Return our entry in the metadata of a notebook or cell, if it is sane."""
    metadata = holder.get("metadata") if isinstance(holder, Mapping) else None
    entry = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def cells_of(notebook: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the cells of a notebook, sane or not, each with its text."""
    cells = notebook.get("cells")
    for cell in cells if isinstance(cells, list) else []:
        source = cell.get("source") if isinstance(cell, Mapping) else None
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        if isinstance(source, str):
            # A lone surrogate is legal JSON, but no text that could be run or written.
            clean = re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", source)
            plain = clean.replace("\r\n", "\n").replace("\r", "\n")
            yield cell, plain.replace("\0", "")


def _by_question(
    notebook: Mapping[str, Any], exercise: Exercise
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the sources of each question's cells, and of all other code cells."""
    own: dict[str, list[str]] = {id: [] for id in exercise.questions}
    others = []
    marks = {id: (code_mark(id), words_mark(id)) for id in own}
    room = ROOM
    used = dict.fromkeys(own, 0)
    for cell, source in cells_of(notebook):
        entry = _entry(cell)
        id = entry.get("question") if entry.get("role") == "answer" else None
        if not isinstance(id, str) or id not in own:
            id = next((m for m in own if source.startswith(marks[m])), None)
        if id is not None:
            used[id] += len(source)
            if used[id] <= ROOM or not own[id]:
                own[id].append(source)
        elif cell.get("cell_type") == "code" and entry.get("role") in (None, "given"):
            room -= len(source)
            if room >= 0:
                others.append(source)
    return own, others


def _words(source: str) -> str:
    """Return an answer in words without the line that marks its place."""
    return re.sub(r"\A<!-- q\d+: [^\n]*-->", "", source).replace(WORDS_HERE, "").strip()


def _untouched(source: str, question: Question) -> bool:
    """Return whether nobody has answered here."""
    if question.kind == "words":
        return not _words(source)
    tree = parsed(source)
    if tree is None:
        return not source.strip()
    return not tree.body or ast.dump(tree) == _scaffold(question.scaffold)


@lru_cache(maxsize=128)
def _scaffold(code: str) -> str:
    """Return a scaffold in the form in which answers are compared with it."""
    return ast.dump(ast.parse(code))


def _joined(sources: list[str]) -> str:
    """Return the code of an answer's cells: all, or those that are Python on their own.

    The parts of a split cell make sense together only; a broken copy of a cell must
    not spoil the good one.
    """
    whole = "\n".join(sources)
    if parsed(whole) is None:
        good = [source for source in sources if parsed(source) is not None]
        whole = "\n".join(good) if good else whole
    return whole
