"""Pack what can be handed out: the book, the notebooks, and both editions of exercises.

Students are given all but ``unrolled-instructor.zip``. If a zip for students holds a
line of a solution or of a hidden test, none is left in ``dist/``.
"""

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tqdm import tqdm

from unrolled.grading.authoring.source import Exercise, read_exercise
from unrolled.grading.exports.editions import instructor_files, student_files
from unrolled.grading.exports.mutation import MutationReport, mutation_report
from unrolled.grading.notebooks.leaks import Leak, read_texts, scan_texts
from unrolled.grading.sandbox.breaches import choose_sandbox

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NOTEBOOKS = (
    "LICENSE", "CITATION.cff", "requirements.txt", "code", "chapters",
    "book/_toc.yml", "book/_static", "book/results",
)  # fmt: skip
STUDENT = ("LICENSE", "CITATION.cff", "requirements.txt", "code")
INSTALL = """You need Python 3.11 or later. In this folder:
  python3 -m venv .venv
  . .venv/bin/activate          (on Windows: .venv\\Scripts\\activate)
  pip install torch==2.13.0
  pip install -r requirements.txt
"""
BOOK_README = """*Unrolled*, sequence models from recurrence to attention: the book.

Unpack it and open index.html in a browser: no network is needed.
Text CC BY 4.0, code Apache-2.0; see LICENSE.
"""
NOTEBOOKS_README = f"""The notebooks of *Unrolled*, with the package they import.

{INSTALL}  jupyter lab chapters

Copy a notebook before you change it: then you can always go back.
"""
STUDENT_README = f"""The graded exercises of *Unrolled*, for students.

{INSTALL}
  unrolled exercise list                 what there is
  unrolled exercise start 04 my-work     writes your notebook into my-work
  jupyter lab my-work                    in it, check("q1") tells how you stand

When you are done, save the notebook and run submit() in it, or in its folder:
  unrolled exercise submit 04            writes the one file to hand in
"""
INSTRUCTOR_README = """The graded exercises of *Unrolled*, for instructors.

KEEP IT PRIVATE: it holds the solutions.

exercises/   the sources: prompts, solutions, visible and hidden tests, wrong answers
solutions/   the same as notebooks that run, hidden tests and rubrics included
rubrics/     how the questions in words are marked
mutation/    what every wrong answer earns, and which hidden tests reject it

The book's page "For instructors" takes you from here to a graded class. To grade with
these sources: UNROLLED_EXERCISES=exercises unrolled grade 04 submissions/ -o out/
"""


def pack(name: str, files: Mapping[str, Path | bytes], readme: str = "") -> Path:
    """Write ``files``, name inside to content, as ``dist/NAME.zip`` in one folder."""
    target = DIST / f"{name}.zip"
    beside = target.with_name(target.name + ".writing")
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
        if readme:
            archive.writestr(_entry(f"{name}/README.txt"), readme)
        for inside, file in tqdm(sorted(files.items()), desc=target.name, unit="file"):
            content = file if isinstance(file, bytes) else file.read_bytes()
            archive.writestr(_entry(f"{name}/{inside}"), content)
    beside.replace(target)
    return target


def _entry(inside: str) -> zipfile.ZipInfo:
    """Return an entry that is the same whenever and wherever it is packed."""
    entry = zipfile.ZipInfo(inside, date_time=(2026, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


def tracked(*names: str) -> dict[str, Path]:
    """Return the files that git knows below these names."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *names],
        cwd=ROOT, check=False, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if listed.returncode:
        sys.exit(f"git ls-files failed: {listed.stderr.strip()}")
    return {name: ROOT / name for name in listed.stdout.split("\0") if name}


def exercises() -> dict[Path, Exercise]:
    """Return every exercise of the book by its source."""
    sources = sorted((ROOT / "exercises").glob("[0-9][0-9]-*.md"))
    return {source: read_exercise(source) for source in sources}


def pack_book() -> Path:
    """Pack the built book."""
    built = ROOT / "_build" / "html"
    files = {str(p.relative_to(built)): p for p in built.rglob("*") if p.is_file()}
    files["LICENSE"] = ROOT / "LICENSE"
    return pack("unrolled-book", files, readme=BOOK_README)


def pack_student(of: Mapping[Path, Exercise]) -> Path:
    """Pack the student edition: all exercises as notebooks, and the package."""
    files = {**tracked(*STUDENT), **student_files(of.values())}
    return pack("unrolled-student", files, readme=STUDENT_README)


def pack_instructor(of: Mapping[Path, Exercise]) -> Path:
    """Pack the instructor edition; the mutation reports take some time."""

    def report(exercise: Exercise) -> MutationReport:
        # the course's own answers: where nothing isolates, they may run all the same
        with choose_sandbox(trusted=True) as sandbox:
            return mutation_report(exercise, secret="mutation", sandbox=sandbox)

    sources = {exercise.name: source.read_bytes() for source, exercise in of.items()}
    every = tqdm(of.values(), desc="mutation reports", unit="exercise")
    files = {"LICENSE": ROOT / "LICENSE", **instructor_files(sources, every, report)}
    return pack("unrolled-instructor", files, readme=INSTRUCTOR_README)


def leaks(path: Path, of: Mapping[Path, Exercise]) -> Iterator[Leak]:
    """Yield what a zip for students must not hold.

    The book, its package and other exercises teach what is asked, so a single line of
    an answer may stand there; in what is about the exercise itself none may.
    """
    texts = read_texts([path])
    for exercise in of.values():
        others = [one for one in of.values() if one.name != exercise.name]
        about = [
            text
            for text in texts
            if _about_exercises(text.file.removeprefix(str(path)), others)
        ]
        yield from scan_texts(about, exercise)
        yield from scan_texts(texts, exercise, passages=True)


def _about_exercises(name: str, others: list[Exercise]) -> bool:
    """Return whether a file tells of exercises, but not of one of these."""
    ours = "exercise" in name and "/code/" not in name
    theirs = [one.name for one in others] + [f"exercise-{one.number}" for one in others]
    return ours and not any(other in name for other in theirs)


def main() -> None:
    """Pack everything, from the built book and from the files that git knows."""
    DIST.mkdir(exist_ok=True)
    of = exercises()
    packed = [
        pack_book(),
        pack("unrolled-notebooks", tracked(*NOTEBOOKS), readme=NOTEBOOKS_README),
        pack_student(of),
    ]
    if found := [str(leak) for path in packed for leak in leaks(path, of)]:
        for path in packed:
            path.unlink()
        sys.exit("\n".join(["a zip for students holds secrets:", *found]))
    for path in [*packed, pack_instructor(of)]:
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    print("Open the book by unpacking it and opening index.html: no network is needed.")
    print("unrolled-instructor.zip holds the solutions: keep it private.")


if __name__ == "__main__":
    main()
