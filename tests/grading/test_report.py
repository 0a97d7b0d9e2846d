"""The page about a class: its numbers, and that students' texts stay texts."""

from dataclasses import replace

import pytest

from graded_course import HOSTILE, course_of, record_of
from page_reader import Reader, shown
from unrolled.grading.course.misconceptions import misconceptions_of, stops_of
from unrolled.grading.course.records import Mark, Rejected
from unrolled.grading.course.report import bins_of, report_page, standings_of

MARK = Mark(points=4, comment="")


def test_a_class_in_numbers():
    records = [
        record_of("Ada"),
        record_of("Bob", fails=("test_two", "test_random")),
        record_of("Cyd", empty=("q1", "q2", "q3", "q4", "q5")),
        record_of("Dee", ungraded=("test_scale",)),
    ]
    course = course_of(*records, marks={"Ada": {"q5": MARK}, "Bob": {"q5": MARK}})
    text = shown(report_page(course))
    assert "Submissions 4" in text
    assert "Median 13 of 17" in text  # 17, 13, 0; Dee's is no mark
    assert "Mean 10 of 17" in text
    assert "1 could not be graded: Dee." in text
    assert "Still to be read 0" in text
    assert "3 submissions; 1 that could not be graded are left out." in text


def test_scores_fall_into_tenths():
    every = ("q1", "q2", "q3", "q4", "q5")
    records = [
        record_of("none", empty=every),
        record_of("all"),
        record_of("most", empty=("q1",)),  # 9 + 4 of 17: 76 %
        record_of("few", empty=("q1", "q2", "q3", "q5")),  # 3 of 17: 18 %
    ]
    course = course_of(*records, marks={"all": {"q5": MARK}, "most": {"q5": MARK}})
    bins = bins_of(course, list(course.records))
    assert [count for _, count, _ in bins] == [1, 1, 0, 0, 0, 0, 0, 1, 0, 1]
    assert bins[0][0] == "0 to under 10\u00a0%"
    assert bins[9] == ("90 to 100\u00a0%", 1, 1.0)


def test_the_hardest_question_comes_first_and_unknown_ones_last():
    records = [
        record_of("Ada", fails=("test_mask",)),
        record_of("Bob", fails=("test_mask", "test_two"), empty=("q3",)),
    ]
    found = standings_of(course_of(*records))
    assert [one.question.id for one in found] == ["q2", "q3", "q1", "q4", "q5"]
    assert [one.share for one in found] == [1 / 3, 0.5, 0.875, 1, None]
    assert [(one.full, one.empty, one.known) for one in found] == [
        (0, 0, 2), (1, 1, 2), (1, 0, 2), (2, 0, 2), (0, 0, 0),
    ]  # fmt: skip


def test_misconceptions_count_those_who_could_be_judged():
    stopped = record_of("Eve")
    outcomes = tuple(
        replace(one, status="error", earned=0, note="the answer does not run: X")
        if one.question == "q2"
        else replace(one, status="timeout", earned=0, note="stopped")
        if one.test == "test_scale"
        else one
        for one in stopped.outcomes
    )
    records = [
        record_of("Ada", fails=("test_mask", "whole")),
        record_of("Bob", fails=("test_mask",)),
        record_of("Cyd", empty=("q2",)),
        record_of("Dee", ungraded=("test_mask",)),
        replace(stopped, outcomes=outcomes),
        record_of("Fay"),
    ]
    course = course_of(*records)
    found = {one.test: (one.caught, one.asked) for one in misconceptions_of(course)}
    assert found["test_mask"] == (2, 3)
    assert found["whole"] == (1, 6)
    assert found["test_scale"] == (0, 5)
    assert [one.test for one in misconceptions_of(course)][:2] == ["test_mask", "whole"]
    (q2, q3) = stops_of(course)
    assert q2[0] == 2
    assert dict(q2[2])["does not run"] == 1
    assert dict(q3[2])["computes for too long"] == 1
    text = shown(report_page(course))
    assert "one size" in text
    assert "2 of 3" in text


def test_what_needs_a_person_is_listed():
    long = " ".join(f"words that only we two wrote, number {n}," for n in range(9))
    records = [
        record_of("Ada", seal="changed", words=long),
        record_of("Bob", seal="unsealed", words=long, tier="D"),
        record_of("Cyd", other_edition=True),
    ]
    rejected = (Rejected(file="x.docx", why="is no notebook"),)
    text = shown(report_page(course_of(*records, rejected=rejected)))
    assert "1 changed after submit(): Ada" in text
    assert "1 handed in without submit(): Bob" in text
    assert "1 worked in another edition of the exercise: Cyd" in text
    assert "x.docx is no notebook" in text
    assert "Ada and Bob question 5: 100" in text
    assert "a reason to look, not a verdict" in text
    assert "3 of 3 submissions wait for a person" in text
    assert "tier A: bubblewrap" in text
    assert "tier D: limits and time-outs only: answers were not isolated" in text


def test_a_class_without_a_blemish_needs_nothing():
    records = [record_of("Ada", words="One."), record_of("Bob", empty=("q4", "q5"))]
    marks = {"Ada": {"q5": MARK}, "Bob": {"q5": MARK}}
    text = shown(report_page(course_of(*records, marks=marks)))
    assert "Nothing. Every file was accepted" in text
    assert "No two answers have" in text


def test_no_class_is_a_class():
    text = shown(report_page(course_of()))
    assert "Submissions 0" in text
    assert "Nothing is graded yet" in text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_text(text):
    def page(name: str, words: str) -> str:
        other = f"{name}2"
        records = [
            record_of(name, words=words, seal="changed", submitted=name),
            record_of(other, words=words, seal="unsealed", other_edition=True),
        ]
        rejected = (Rejected(file=f"{name}.x", why=name),)
        return report_page(course_of(*records, rejected=rejected))

    alike = " ".join(f"we wrote number {n}," for n in range(9))
    found, plain = (Reader(page(one, one + alike)) for one in (text, "Ada"))
    assert found.tags == plain.tags
    assert [n for n, _ in found.attributes] == [n for n, _ in plain.attributes]
    page(text, text).encode()


def test_equal_input_gives_equal_bytes():
    records = [record_of("Ada", fails=("whole",)), record_of("Bob")]
    page = report_page(course_of(*records))
    assert page == report_page(course_of(*reversed(records)))
    assert "http:" not in page
    assert "https:" not in page
    assert "<script" not in page
