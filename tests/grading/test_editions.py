"""The two editions: notebooks that are valid, whole and, for students, silent."""

import io
import json
import zipfile
from contextlib import redirect_stdout
from pathlib import Path

import nbformat
import pytest

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.exercise import YOUR_TURN
from unrolled.grading.notebooks.editions import (
    scan,
    solution_notebook,
    student_notebook,
)
from unrolled.grading.notebooks.leaks import secrets_of
from unrolled.grading.notebooks.sheets import NotebookError, exercise_of

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = ["12-self-attention", "90-all-kinds"]


@pytest.fixture(scope="module", params=NAMES)
def exercise(request):
    return read_exercise(FIXTURES / f"{request.param}.md")


@pytest.fixture
def kinds():
    return read_exercise(FIXTURES / "90-all-kinds.md")


def text_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


def run(notebook, folder, monkeypatch):
    """Run the code cells in order, as a kernel would; return what was printed."""
    monkeypatch.chdir(folder)
    names, printed = {"__name__": "__main__"}, io.StringIO()
    with redirect_stdout(printed):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
    return printed.getvalue()


def test_both_are_valid_notebooks_and_the_same_every_time(exercise):
    for make in (student_notebook, solution_notebook):
        first, second = (nbformat.writes(make(exercise)) for _ in range(2))
        assert first == second
        nbformat.validate(nbformat.reads(first, as_version=4))


def test_the_student_sees_all_prose_and_no_secret(exercise, tmp_path):
    notebook = student_notebook(exercise)
    text = text_of(notebook)
    for question in exercise.questions.values():
        assert all(part in text for part in question.prompt.split("\n\n"))
        assert question.scaffold.strip() in text
        for test in question.visible:
            assert f"def {test.name}(S, rng):" in text
            assert test.note.split()[-1] in text
    file = tmp_path / "student.ipynb"
    nbformat.write(notebook, file)
    assert scan([file], exercise) == []
    raw = file.read_text(encoding="utf-8")
    for question in exercise.questions.values():
        for hidden in [t for t in question.judges if not t.visible]:
            assert hidden.name not in raw
        assert (question.rubric or "no rubric") not in raw
    assert "SOLUTION" not in raw
    assert "rubric" not in raw.lower()


def test_every_question_has_one_cell_for_its_answer(exercise):
    cells = student_notebook(exercise).cells
    answers = [c for c in cells if c.metadata["unrolled"]["role"] == "answer"]
    places = [c.metadata["unrolled"]["question"] for c in answers]
    assert places == list(exercise.questions)
    assert all(c.metadata["deletable"] is False for c in answers)
    for cell, question in zip(answers, exercise.questions.values(), strict=True):
        words = question.kind == "words"
        assert cell.cell_type == ("markdown" if words else "code")
        assert (YOUR_TURN in cell.source) is not words


def test_every_coded_question_is_checked_once_after_what_it_needs(exercise):
    for make in (student_notebook, solution_notebook):
        cells = make(exercise).cells
        for question in exercise.coded():
            call = f'check("{question.id}")'
            (at,) = [i for i, c in enumerate(cells) if c.source.endswith(call)]
            own = [
                i
                for i, c in enumerate(cells)
                if c.metadata["unrolled"]["question"] == question.id
                and c.metadata["unrolled"]["role"] in ("answer", "visible", "hidden")
            ]
            assert at >= max(own)


def test_points_are_shown_and_what_is_forbidden(kinds):
    text = text_of(student_notebook(kinds))
    assert "**14 points**, about 40 minutes" in text
    assert (
        "## Question 1: a running sum\n\n*6 points, of which you can check 1 here; "
        "about 5 minutes. Not allowed: torch.cumsum, cumsum.*\n\nWrite `running_sum(x)`"
        in text
    )
    assert "*3 points, given by a person; about 10 minutes.*" in text


def test_an_unanswered_notebook_runs_to_its_end(exercise, tmp_path, monkeypatch):
    printed = run(student_notebook(exercise), tmp_path, monkeypatch)
    assert "q1: 0 of 1 point that you can check here." in printed
    assert "not answered yet" in printed


def test_the_solution_runs_and_passes_hidden_tests_too(exercise, tmp_path, monkeypatch):
    printed = run(solution_notebook(exercise), tmp_path, monkeypatch)
    for question in exercise.coded():
        all_of_it = f"{question.points} of {question.points} points"
        assert f"{question.id}: {all_of_it} that you can check here." in printed
    assert "not yet" not in printed
    assert "error" not in printed


def test_the_solution_shows_rubric_mutants_and_other_answers(kinds):
    text = text_of(solution_notebook(kinds))
    assert "**Rubric.** **3** says that sums forget the order." in text
    rejected = "A wrong answer, rejected by test_any_numbers, test_negative_numbers."
    assert f"{rejected}\n\n```python\ndef running_sum(x):\n    n =" in text
    assert "Another right answer.\n\n```python\ndef running_sum(x):" in text
    assert "An implementation that holds a bug: a sign that is lost." in text


def test_the_sheet_gives_the_exercise_back_without_its_secrets(exercise):
    seen = exercise_of(json.loads(nbformat.writes(student_notebook(exercise))))
    assert (seen.name, seen.number, seen.title) == (
        *(exercise.name, exercise.number),
        exercise.title,
    )
    assert (seen.preamble, seen.digest) == (exercise.preamble, exercise.digest)
    for id, question in exercise.questions.items():
        other = seen.questions[id]
        for part in ("title", "kind", "points", "minutes", "forbid", "scaffold"):
            assert getattr(other, part) == getattr(question, part)
        assert other.shown_points == question.shown_points
        assert [t.source for t in other.visible] == [t.source for t in question.visible]
        assert (other.solution, other.hidden, other.mutants) == ("", (), ())


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {"unrolled": 3}, {"unrolled": {"exercise": "x", "questions": [1]}}],
)
def test_a_sheet_that_is_gone_or_spoilt(metadata):
    with pytest.raises(
        NotebookError, match="'unrolled exercise start' writes a new one"
    ):
        exercise_of({"cells": [], "metadata": metadata})


LEAKS = {
    "solution of q1": "totals=[x[:i+1].sum()   for i in range(len(x))]",
    "hidden test of q1": "  assert torch.allclose(S.running_sum(x), secret_oracle(x))",
    "mutant of q1": "return n * (n + 1) / 2",
    "alternative of q1": "return torch.tril(torch.ones(len(x), len(x))) @ x",
    "solution of q2": "self.weight = nn.Parameter(torch.ones(n))",
    "specimen of q3": "a sign that is lost",
    "rubric of q4": "**3** says that sums forget the order. **0** otherwise.",
}


@pytest.mark.parametrize("what", LEAKS)
def test_the_scan_finds_each_kind_of_leak_in_each_kind_of_file(tmp_path, kinds, what):
    notebook = student_notebook(kinds)
    notebook.cells[3].source += f"\n{LEAKS[what]}\n"
    book = nbformat.writes(notebook)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.ipynb").write_text(book, encoding="utf-8")
    (tmp_path / "b.md").write_text(f"So:\n\n    {LEAKS[what]}\n", encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps([{"x": LEAKS[what]}]), encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "d.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep/e.ipynb", book)
    clean = nbformat.writes(student_notebook(kinds))
    (tmp_path / "f.ipynb").write_text(clean, encoding="utf-8")
    found = scan([tmp_path], kinds)
    files = {leak.file.removeprefix(f"{tmp_path}/") for leak in found}
    assert files == {"inner/a.ipynb", "b.md", "c.json", "d.zip/deep/e.ipynb"}
    assert {leak.what for leak in found} == {what}
    assert what in str(found[0])


def test_the_scan_finds_the_instructor_edition_everywhere(tmp_path, exercise):
    file = tmp_path / "solution.ipynb"
    nbformat.write(solution_notebook(exercise), file)
    found = {leak.what for leak in scan([file], exercise)}
    coded = {f"solution of {q.id}" for q in exercise.coded()}
    rubrics = {f"rubric of {q.id}" for q in exercise.questions.values() if q.rubric}
    hidden = {f"hidden test of {q.id}" for q in exercise.coded() if q.hidden}
    assert coded | rubrics | hidden <= found


def test_no_part_of_a_solution_is_too_short_for_the_scan(kinds):
    """``return self.weight * x`` is short, but nothing else is in the gap."""
    squeezed = "".join("self.weight = nn.Parameter(torch.ones(n))".split())
    assert squeezed in secrets_of(kinds)
    whole = squeezed + "returnself.weight*x"
    assert whole in secrets_of(kinds)


def test_a_gap_of_short_lines_is_found_in_a_list_of_lines(tmp_path):
    """A notebook stores lines apart; only together they are a secret."""
    text = (FIXTURES / "12-self-attention.md").read_text(encoding="utf-8")
    short = "    m = g(T)\n    m += 1\n    return m\n"
    source = tmp_path / "12-short.md"
    source.write_text(
        text.replace("    return torch.ones(T, T, dtype=torch.bool).tril()\n", short),
        encoding="utf-8",
    )
    cells = [{"source": ["m = g(T)\n", "m += 1\n", "return m"]}]
    file = tmp_path / "a.ipynb"
    file.write_text(json.dumps({"cells": cells}, indent=1), encoding="utf-8")
    (leak,) = scan([file], read_exercise(source))
    assert leak.what == "solution of q1"
    assert leak.text == "m = g(T) m += 1 return m"
