"""How far a student is: a small JSON file beside the notebook, made by the checks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unrolled.grading.files import write_whole
from unrolled.grading.notebooks.ticks import Report, points


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The last outcome of the checks of each question."""

    file: Path
    exercise: str
    questions: Mapping[str, Mapping[str, int]]  # q1: {earned, shown}

    @classmethod
    def load(cls, folder: Path, exercise: str) -> "Progress":
        """Return the progress kept in a folder; none if no file there tells it."""
        file = folder / f"{exercise}.progress.json"
        try:
            kept: Any = json.loads(file.read_text(encoding="utf-8"))
            questions = {
                str(id): {key: int(entry[key]) for key in ("earned", "shown")}
                for id, entry in kept["questions"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            questions = {}  # only a memory of checks: the next check makes it again
        return cls(file=file, exercise=exercise, questions=questions)

    def noting(self, report: Report) -> "Progress":
        """Return the progress after a check."""
        entry = {"earned": report.earned, "shown": report.shown}
        return replace(self, questions={**self.questions, report.id: entry})

    def line(self, worth: Mapping[str, int]) -> str:
        """Return a sentence on all questions, whose points are ``worth``."""
        known = [self.questions[id] for id in worth if id in self.questions]
        earned = sum(entry["earned"] for entry in known)
        n, total = len(known), points(sum(worth.values()))
        return f"So far {earned} of {total}, {n} of {len(worth)} questions checked."

    def save(self) -> str:
        """Write the file; return what is wrong if that cannot be done."""
        kept = {"exercise": self.exercise, "questions": self.questions}
        try:
            write_whole(self.file, json.dumps(kept, indent=1) + "\n")
        except OSError as error:
            return (
                f"(Your progress could not be kept in {self.file}: {error.strerror}.)"
            )
        return ""
