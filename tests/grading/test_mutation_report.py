"""The mutation report: what each wrong answer earns, and that faults are seen."""

from dataclasses import replace
from pathlib import Path

import pytest

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.exercise import Mutant
from unrolled.grading.exports.editions import instructor_files, rubric
from unrolled.grading.exports.mutation import mutation_report
from unrolled.grading.exports.mutation_page import mutation_page
from unrolled.grading.sandbox.breaches import choose_sandbox

SOURCE = Path(__file__).parent / "fixtures" / "90-all-kinds.md"


@pytest.fixture(scope="module")
def kinds():
    return read_exercise(SOURCE)


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox() as chosen:
        yield chosen


@pytest.fixture(scope="module")
def report(kinds, sandbox):
    return mutation_report(kinds, secret="x", sandbox=sandbox)


def test_every_answer_of_the_source_is_tried(report):
    tried = [(t.question, t.label, t.earned, t.points) for t in report.trials]
    assert tried == [
        ("q1", "the solution", 6, 6),
        ("q1", "alternative 1", 6, 6),
        ("q1", "mutant 1", 1, 6),
        ("q2", "the solution", 2, 2),
        ("q3", "the solution", 3, 3),
        ("q3", "mutant 1", 0, 3),
    ]
    by_sum, by_test = report.trials[2], report.trials[5]
    assert by_sum.hidden == ("test_any_numbers", "test_negative_numbers")
    assert by_sum.others == ()  # ones are a ramp of length one
    assert by_test.hidden == ("squared", "size_only")
    assert report.faults == []
    assert "2 wrong answers and 4 right ones were tried." in report.summary
    assert "each right one earns every point" in report.summary


def test_what_the_source_says_wrongly_is_a_fault(kinds, sandbox):
    question = kinds.questions["q1"]
    (mutant,) = question.mutants
    loud = "def running_sum(x):  # <b>a | b\n    return abs(x)\n"
    wrong = replace(
        question,
        alternatives=(mutant.source,),
        mutants=(
            replace(mutant, fails=("test_any_numbers",)),
            Mutant(question="q1", source=loud, fails=("test_any_numbers",), line=1),
        ),
    )
    exercise = replace(kinds, questions={"q1": wrong})
    found = mutation_report(exercise, secret="x", sandbox=sandbox)
    assert found.faults == [
        "q1, alternative 1: the source names none",
        "q1, mutant 1: the source names test_any_numbers",
        "q1, mutant 2: <b>a | b: the source names test_any_numbers",
    ]
    assert "3 are not judged as the source says" in found.summary
    text, page = found.markdown(), mutation_page(found)
    assert "| mutant 2: <b>a \\| b | 0 of 6 |" in text
    assert "**FAULT: the source names none**" in text
    assert "<b>" not in page
    assert "&lt;b&gt;a | b" in page
    assert page.count("FAULT") == 3
    with pytest.raises(ValueError, match="90-all-kinds: q1, alternative 1: the source"):
        instructor_files({"90-all-kinds": b""}, [exercise], lambda _: found)


def test_the_page_names_every_mutant_and_its_tests(report):
    page, text = mutation_page(report), report.markdown()
    for trial in report.trials:
        for name in (trial.label, *trial.hidden):
            assert name in page
            assert name in text
    assert page.startswith("<!doctype html>")
    assert '<html lang="en">' in page
    assert "FAULT" not in page + text


def test_the_instructor_edition_is_whole(kinds, report):
    source = SOURCE.read_bytes()
    files = instructor_files({kinds.name: source}, [kinds], lambda _: report)
    assert sorted(files) == [
        "exercises/90-all-kinds.md",
        "mutation/90-all-kinds.html",
        "mutation/90-all-kinds.md",
        "rubrics/90-all-kinds.md",
        "solutions/90-all-kinds.ipynb",
    ]
    assert files["exercises/90-all-kinds.md"] == source
    assert "**Rubric.** **3** says that sums forget the order." in rubric(kinds)
    assert "q4: why? (3 points)" in rubric(kinds)
    assert b"totals = [x" in files["solutions/90-all-kinds.ipynb"]
