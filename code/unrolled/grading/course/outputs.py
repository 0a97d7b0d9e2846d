"""The folder that a grading leaves: scores, pages for students and for the teacher."""

from collections.abc import Sequence
from pathlib import Path

from unrolled.grading.course.names import file_names
from unrolled.grading.course.records import Course, Record
from unrolled.grading.course.results import SUMMARY
from unrolled.grading.course.scores import (
    Marks,
    marks_of_words,
    read_results,
    results_json,
    scores_csv,
)
from unrolled.grading.exercise import Exercise, Test
from unrolled.grading.files import write_whole

FEEDBACK = "feedback"


def write_outputs(out: Path, course: Course, private: Sequence[Test] = ()) -> None:
    """Write everything but the single results, each file whole."""
    from unrolled.grading.course.feedback import feedback_page
    from unrolled.grading.course.manual import manual_page
    from unrolled.grading.course.report import report_page

    folder = out / FEEDBACK
    folder.mkdir(parents=True, exist_ok=True)
    names = file_names(record.student for record in course.records)
    for record in course.records:
        page = folder / f"{names[record.student]}.html"
        write_whole(page, feedback_page(course, record))
    written = {f"{name}.html" for name in names.values()}
    for path in folder.glob("*.html"):
        if path.name not in written:  # of a student who is not there any more
            path.unlink()
    write_whole(out / "report.html", report_page(course))
    manual = out / "manual.html"
    if any(one.kind == "words" for one in course.exercise.questions.values()):
        write_whole(manual, manual_page(course))
    else:
        manual.unlink(missing_ok=True)
    write_whole(out / "scores.csv", scores_csv(course))
    write_whole(out / SUMMARY, results_json(course, private))


def read_outputs(out: Path, exercise: Exercise) -> tuple[Course, tuple[Test, ...]]:
    """Return the class that was graded into a folder, and its private tests.

    Raises:
        ValueError: There is none, or it is of another exercise.
    """
    path = out / SUMMARY
    if not path.is_file():
        say = f"unrolled grade {exercise.number} submissions/ -o {out}"
        raise ValueError(f"there is no {path}: grade first, as in: {say}")
    try:
        return read_results(path.read_text(encoding="utf-8"), exercise)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def kept_marks(out: Path, records: Sequence[Record]) -> Marks:
    """Return the marks that were merged into a folder before, if there are any."""
    path = out / SUMMARY
    if not path.is_file():
        return {}
    return marks_of_words(path.read_text(encoding="utf-8"), records)
