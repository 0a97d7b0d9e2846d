"""The graded exercises as pages, made from their sources, without their secrets.

``{graded-exercise} 04`` is the whole page of an exercise: what it asks, what it is
worth, what is forbidden, how to begin, and the student's notebook to take away. It
shows what that notebook shows: no solution, hidden test, planted bug or rubric.
"""

import os
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import unrolled
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.exercise import Cell, Exercise, Question
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.shelf import find_exercise
from unrolled.recipes._sources import imported_modules
from unrolled_book import outline
from unrolled_book.exercise_links import page_of
from unrolled_book.exercise_parts import code, hints, points, specimen, worth
from unrolled_book.tables import table

WRITES = {
    "function": "a function",
    "module": "a class",
    "test": "a test",
    "words": "words",
}


def source_of(root: Path, number: str) -> Path:
    """Return the source of an exercise of the book that stands in ``root``."""
    return find_exercise(number, root / "exercises")


class GradedExercise(SphinxDirective):
    """The page of an exercise, its title included."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build it; have it built anew when the source, or what reads it, changes."""
        package = Path(unrolled.__file__).parent
        read = "import unrolled.grading.notebooks.shelf"
        for module in imported_modules(read, package):
            self.env.note_dependency(str(module))
        try:
            path = source_of(Path(self.env.srcdir), self.arguments[0])
            self.env.note_dependency(str(path))
            exercise = read_exercise(path)
        except (ValueError, OSError) as error:
            raise self.error(str(error)) from error
        number = exercise.number
        if self.env.docname != page_of(number):
            raise self.error(
                f"exercise {number} belongs on {page_of(number)}.md, where chapters "
                f"look for it, not on {self.env.docname}.md"
            )
        opening = [cell for cell in exercise.cells if cell.question is None]
        heading, words = f"# Exercise {int(number)}: {exercise.title}", ""
        if opening and opening[0].role == "prose":
            first = opening.pop(0)
            heading, _, words = first.source.partition("\n")
        page = self._section(f"exercise-{number}", heading.lstrip("# "))
        page += self._facts(exercise)
        page += self.parse_text_to_nodes(words)
        page += self._start(exercise)
        page += self._overview(exercise)
        for cell in opening:
            page += self._given(cell)
        for question in exercise.questions.values():
            page += self._question(exercise, question)
        return [page]

    def _section(self, name: str, title: str) -> nodes.section:
        words, _ = self.state.inline_text(title, self.lineno)
        section = nodes.section(ids=[name], names=[name])
        section += nodes.title("", "", *words)
        self.state.document.note_explicit_target(section, section)
        return section

    def _facts(self, exercise: Exercise) -> nodes.paragraph:
        minutes = sum(question.minutes for question in exercise.questions.values())
        words = f"{points(exercise.points)}, about {minutes} minutes"
        line = nodes.paragraph(text=words, classes=["byline"])
        for chapter in outline.chapters(self.env.app).values():
            if chapter.number == int(exercise.number):
                uri = self.env.app.builder.get_relative_uri(
                    self.env.docname, chapter.docname
                )
                words = f"chapter {chapter.number}, {chapter.title}"
                line += nodes.Text("; belongs to ")
                if outline.is_written(self.env, chapter):
                    line += nodes.reference(text=words, refuri=uri, internal=True)
                else:
                    line += nodes.Text(f"{words} (being written)")
        line += nodes.Text(".")
        return line

    def _start(self, exercise: Exercise) -> nodes.admonition:
        """Say how to begin, with the notebook to take away."""
        box = nodes.admonition(classes=["exercise", "graded"])
        box += nodes.title(text="How to start")
        link = addnodes.download_reference(
            "",
            "",
            nodes.literal(text=f"{exercise.name}.ipynb"),
            reftarget=self._notebook(exercise),
            refdoc=self.env.docname,
            refexplicit=True,
        )
        line = nodes.paragraph("", "", nodes.Text("Take "), link)
        first = next(iter(exercise.questions))
        line += self.state.inline_text(
            f", or have it written into a folder of yours by `unrolled exercise start "
            f'{exercise.number}`. In it, `check("{first}")` tells you at once how a '
            "question stands, and `submit()` writes the file to hand in: "
            "{ref}`doing-exercises`.",
            self.lineno,
        )[0]
        box += line
        return box

    def _notebook(self, exercise: Exercise) -> str:
        """Write the student's notebook where a build keeps such; return its address."""
        folder = Path(self.env.app.outdir).parent / "jupyter_execute" / "exercises"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{exercise.name}.ipynb"
        text = nbformat.writes(student_notebook(exercise)) + "\n"
        path.write_text(text, encoding="utf-8")
        return "/" + Path(os.path.relpath(path, self.env.srcdir)).as_posix()

    def _overview(self, exercise: Exercise) -> nodes.table:
        rows = [
            (
                nodes.reference(
                    "",
                    f"{question.id[1:]}. ",
                    *self.state.inline_text(question.title, self.lineno)[0],
                    refid=f"exercise-{exercise.number}-{question.id}",
                    internal=True,
                ),
                WRITES[question.kind],
                question.points,
                question.minutes,
            )
            for question in exercise.questions.values()
        ]
        return table(("question", "you write", "points", "minutes"), rows)

    def _question(self, exercise: Exercise, question: Question) -> nodes.section:
        name = f"exercise-{exercise.number}-{question.id}"
        title = f"Question {question.id[1:]}: {question.title}"
        section = self._section(name, title)
        section += worth(question)
        cells = [cell for cell in exercise.cells if cell.question == question.id]
        specimens = {one.line: one for one in (*question.good, *question.planted)}
        for cell in cells:
            if cell.role == "prose":
                text = cell.source
                if text.startswith("## Question"):
                    text = text.partition("\n")[2]
                section += self.parse_text_to_nodes(text)
            elif cell.role == "given":
                section += self._given(cell)
            elif cell.role == "answer":
                section += nodes.paragraph(text="Your answer starts from this:")
                section += code(question.scaffold)
            elif (one := specimens.get(cell.line)) and one.visible:
                section += specimen(one)
        section += hints(question)
        return section

    def _given(self, cell: Cell) -> list[nodes.Node]:
        if cell.role != "given":
            return self.parse_text_to_nodes(cell.source)
        return [nodes.paragraph(text="You are given this:"), code(cell.source)]


def add_style(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Put the style on the pages of exercises, and on no other."""
    if 'class="hints"' in context.get("body", ""):
        app.add_css_file("exercises.css", priority=900)  # after the book's own


def setup(app: Sphinx) -> None:
    """Register the directive and its style."""
    app.add_directive("graded-exercise", GradedExercise)
    app.connect("html-page-context", add_style)
