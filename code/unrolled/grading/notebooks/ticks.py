"""What a check tells a student: words first, in a terminal and in a notebook."""

import sys
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Literal

Status = Literal["passed", "failed", "error", "todo"]

_SIGNS = {"passed": "✓", "failed": "✗", "error": "✗", "todo": "·"}
_PLAIN = str.maketrans({"✓": "+", "✗": "x", "·": "-"})
_WORDS = {
    "passed": "passed",
    "failed": "not yet",
    "error": "stopped by an error",
    "todo": "to do",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """The outcome of one check, and what to look at."""

    name: str
    points: int
    earned: int
    status: Status
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The outcome of all checks of one question."""

    id: str
    kind: str
    points: int
    lines: tuple[Line, ...]

    @property
    def earned(self) -> int:
        """Return the points earned."""
        return sum(line.earned for line in self.lines)

    @property
    def shown(self) -> int:
        """Return the points that the checks can give."""
        return sum(line.points for line in self.lines)

    @property
    def passed(self) -> bool:
        """Return whether nothing is left to do that a check can see."""
        return all(line.status == "passed" for line in self.lines)

    def summary(self) -> str:
        """Return the outcome in a sentence or two."""
        if self.kind == "words":
            return f"{points(self.points)}, read by a person: nothing to check here."
        said = f"{self.earned} of {points(self.shown)} that you can check here"
        if self.points > self.shown:
            rest = points(self.points - self.shown)
            done = ": the first examples work" if self.passed else ""
            return f"{said}{done}. The other {rest}: by tests that you do not see."
        return f"{said}."

    def __str__(self) -> str:
        rows = [
            f"  {_SIGNS[line.status]} {_words(line.name)}: {_WORDS[line.status]}"
            + (f", {line.earned} of {points(line.points)}." if line.points else ".")
            + (f"\n    {line.note}" if line.note else "")
            for line in self.lines
        ]
        return "\n".join([f"{self.id}: {self.summary()}", *rows])

    def _repr_html_(self) -> str:
        """Return a table that needs neither colour nor a theme to be understood.

        Each cell says where its words begin: JupyterLab would set them to the right.
        """
        left = 'style="text-align:left;vertical-align:top"'
        rows = "".join(
            f'<tr><td {left}><span aria-hidden="true">{_SIGNS[line.status]}</span> '
            f"{_WORDS[line.status]}</td>"
            f'<th scope="row" {left}>{escape(_words(line.name))}</th>'
            f"<td {left}>"
            f"{f'{line.earned} of {line.points}' if line.points else 'none'}</td>"
            f"<td {left}>{escape(line.note)}</td></tr>"
            for line in self.lines
        )
        heads = ("Outcome", "Check", "Points", "What to look at")
        head = "".join(f'<th scope="col" {left}>{text}</th>' for text in heads)
        said = f"<strong>{self.id}</strong>: {escape(self.summary())}"
        if not rows:
            return f"<p>{said}</p>"
        return (
            f'<table style="text-align:left"><caption style="text-align:left">{said}'
            f"</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}


def points(n: int) -> str:
    """Return a number of points in words."""
    return f"{n} point" if n == 1 else f"{n} points"


def _words(name: str) -> str:
    return name[5:].replace("_", " ") if name.startswith("test_") else name


def show(report: Report) -> None:
    """Show a report where we are: as a table in a notebook, else as text."""
    python = sys.modules.get("IPython")  # there, if we are in a notebook
    if python is not None and python.get_ipython() is not None:
        import_module("IPython.display").display(report)
    else:
        print(printable(str(report)))


def printable(text: str) -> str:
    """Return a text that this terminal can show: not all know the tick."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate(_PLAIN)
        return plain.encode(encoding, "replace").decode(encoding)
    return text
