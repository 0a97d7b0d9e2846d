"""The parts of an exercise's page that need no parser: points, code, hints."""

from html import escape

from docutils import nodes

from unrolled.grading.exercise import Question, Specimen


def points(n: int) -> str:
    """Return so many points in words."""
    return "1 point" if n == 1 else f"{n} points"


def code(text: str) -> nodes.literal_block:
    """Return a block of Python."""
    return nodes.literal_block(text.rstrip(), text.rstrip(), language="python")


def worth(question: Question) -> nodes.paragraph:
    """Say what a question is worth, how long it takes and what it forbids."""
    words = points(question.points)
    if question.kind == "words":
        words += ", given by a person"
    elif question.shown_points:
        words += f", of which you can check {question.shown_points} yourself"
    line = nodes.paragraph(classes=["byline"])
    line += nodes.Text(f"{words}; about {question.minutes} minutes.")
    for n, name in enumerate(question.forbid):
        line += nodes.Text(", " if n else " Not allowed: ")
        line += nodes.literal(text=name)
    if question.forbid:
        line += nodes.Text(".")
    return line


def specimen(one: Specimen) -> list[nodes.Node]:
    """Return an implementation that a student's test is tried on, and what it is."""
    words = "An implementation that is right, which your test must accept:"
    if one.points:
        words = f"One with a bug, which it must reject ({one.note}):"
    return [nodes.paragraph(text=words), code(one.source)]


def hints(question: Question) -> list[nodes.Node]:
    """Return what the visible checks say, folded: it is for those who are stuck."""
    if not question.visible:
        return []
    items = nodes.bullet_list()
    for test in question.visible:
        line = nodes.paragraph("", "", nodes.literal(text=test.name))
        stop = "" if test.note.endswith((".", "?", "!")) else "."
        line += nodes.Text(f", {points(test.points)}: {test.note}{stop}")
        items += nodes.list_item("", line)
    n = len(question.visible)
    words = "If the check fails" if n == 1 else f"If one of the {n} checks fails"
    start = f'<details class="hints"><summary>{escape(words)}</summary>'
    return [
        nodes.raw("", start, format="html"),
        items,
        nodes.raw("", "</details>", format="html"),
    ]
