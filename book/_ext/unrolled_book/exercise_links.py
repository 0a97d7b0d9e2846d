"""Links to the graded exercises: from their chapters, from a list, and to edit them.

A chapter that has a graded exercise is given a box that leads to it. The box is made
when the book is, so that no chapter must be run or written anew for it.

``{graded-exercises}`` lists all exercises of the book.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.exercise import Exercise
from unrolled.grading.notebooks.shelf import exercise_files
from unrolled_book import outline
from unrolled_book.tables import table

#: Where in a chapter the box is put, if it has such a section.
PLACE = "Exercises"


def page_of(number: str) -> str:
    """Return the name that Sphinx knows the page of an exercise by."""
    return f"book/exercise-{number}"


def sources(root: Path) -> dict[str, Path]:
    """Return the sources of the exercises by their numbers, in order."""
    folder = root / "exercises"
    found = exercise_files(folder) if folder.is_dir() else {}
    return {name[:2]: path for name, path in found.items() if path.suffix == ".md"}


def extent(exercise: Exercise) -> str:
    """Say how large an exercise is."""
    questions = exercise.questions.values()
    minutes = sum(question.minutes for question in questions)
    n = len(exercise.questions)
    return (
        f"{n} question{'' if n == 1 else 's'}, {exercise.points} points, "
        f"about {minutes} minutes"
    )


def add_box(app: Sphinx, doctree: nodes.document) -> None:
    """Put the box that leads to its graded exercise on a chapter's main page."""
    named = re.fullmatch(r"chapters/(\d\d)-.*", app.env.docname)
    if not named or page_of(named[1]) not in app.env.found_docs:
        return
    if outline.pages(app)[app.env.docname].kind != "main":
        return
    path = sources(Path(app.srcdir)).get(named[1])
    if path is None:  # the exercise's own page says what is wrong
        return
    app.env.note_dependency(str(path))
    exercise = read_exercise(path)
    uri = app.builder.get_relative_uri(app.env.docname, page_of(named[1]))
    link = nodes.reference(
        text=f"Exercise {int(named[1])}: {exercise.title}", refuri=uri, internal=True
    )
    line = nodes.paragraph("", "", link)
    line += nodes.Text(
        f". {extent(exercise)}; a notebook whose checks tell you at once how you "
        "stand, and that can be handed in and graded."
    )
    box = nodes.admonition(
        "",
        nodes.title(text="The graded exercise of this chapter"),
        line,
        classes=["exercise", "graded"],
    )
    place = next(
        (s for s in doctree.findall(nodes.section) if s[0].astext() == PLACE),
        next(doctree.findall(nodes.section)),
    )
    place += box


class GradedExercises(SphinxDirective):
    """The list of all exercises."""

    def run(self) -> list[nodes.Node]:
        """Build it; look again at every build which there are."""
        self.env.note_reread()
        rows = []
        for number, path in sources(Path(self.env.srcdir)).items():
            try:
                exercise = read_exercise(path)
            except ValueError as error:
                raise self.error(str(error)) from error
            name: nodes.Node = nodes.Text(exercise.title)
            if page_of(number) in self.env.found_docs:
                uri = self.env.app.builder.get_relative_uri(
                    self.env.docname, page_of(number)
                )
                name = nodes.reference(text=exercise.title, refuri=uri, internal=True)
            minutes = sum(one.minutes for one in exercise.questions.values())
            questions = len(exercise.questions)
            rows.append(
                (int(number), name, questions, exercise.points, f"about {minutes}")
            )
        head = ("chapter", "exercise", "questions", "points", "minutes")
        return [table(head, rows)]


def edit_the_exercise(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Let "edit" on the page of an exercise lead to the exercise's source."""
    named = re.fullmatch(page_of(r"(\d\d)"), page)
    path = sources(Path(app.srcdir)).get(named[1]) if named else None
    if path is None:
        return
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("label") == "source-edit-button":
                button["url"] = button["url"].replace(
                    f"{page}.md", f"exercises/{path.name}"
                )


def setup(app: Sphinx) -> None:
    """Register the box, the list and the link; the last after the theme's buttons."""
    app.add_directive("graded-exercises", GradedExercises)
    app.connect("doctree-read", add_box)
    app.connect("html-page-context", edit_the_exercise, priority=900)
