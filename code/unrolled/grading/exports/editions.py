"""What students and instructors are given, as files: the two editions of all exercises.

The student edition has each exercise as a notebook beside the package, so that
``unrolled exercise list`` finds them; the instructor edition has the sources,
solutions, rubrics and a mutation report for each.
"""

from collections.abc import Callable, Iterable, Mapping

import nbformat

from unrolled.grading.exercise import Exercise
from unrolled.grading.exports.mutation import MutationReport
from unrolled.grading.exports.mutation_page import mutation_page
from unrolled.grading.notebooks.editions import solution_notebook, student_notebook


def student_files(exercises: Iterable[Exercise]) -> dict[str, bytes]:
    """Return the notebooks that students start from."""
    return {
        f"exercises/{one.name}.ipynb": _notebook(student_notebook(one))
        for one in exercises
    }


def instructor_files(
    sources: Mapping[str, bytes],
    exercises: Iterable[Exercise],
    report: Callable[[Exercise], MutationReport],
) -> dict[str, bytes]:
    """Return sources, solution notebooks, rubrics and mutation reports.

    Args:
        sources: The source of each exercise, by its name.
        exercises: The exercises.
        report: Tries the tests of one on all its answers; this takes a while.

    Raises:
        ValueError: A report has faults: the exercise is not what its source says.
    """
    files: dict[str, bytes] = {}
    for one in exercises:
        found = report(one)
        if found.faults:
            raise ValueError(f"{one.name}: {'; '.join(found.faults)}")
        files |= {
            f"exercises/{one.name}.md": sources[one.name],
            f"solutions/{one.name}.ipynb": _notebook(solution_notebook(one)),
            f"rubrics/{one.name}.md": rubric(one).encode(),
            f"mutation/{one.name}.md": found.markdown().encode(),
            f"mutation/{one.name}.html": mutation_page(found).encode(),
        }
    return files


def rubric(exercise: Exercise) -> str:
    """Return how the questions in words are marked."""
    lines = [f"# Rubric: {exercise.title}"]
    for question in exercise.questions.values():
        if question.kind == "words":
            lines += [f"## {question.id}: {question.title} ({question.points} points)"]
            lines += [question.prompt, f"**Rubric.** {question.rubric}"]
    return "\n\n".join(lines) + "\n"


def _notebook(book: object) -> bytes:
    return f"{nbformat.writes(book)}\n".encode()
