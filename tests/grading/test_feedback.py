"""The page for a student: what it says, and all that it must not say."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from graded_course import HOSTILE, SECRET, course_of, record_of, the_exercise
from page_reader import Reader, shown
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course.feedback import feedback_page, parts_of, without_paths
from unrolled.grading.course.pages import clean, clip, number, percent, points, prose
from unrolled.grading.course.records import Course, Mark
from unrolled.grading.engine.outcomes import of_test

EXERCISES = Path(__file__).parents[2] / "exercises"


def page_of(record, **more) -> str:
    return feedback_page(course_of(record, **more), record)


# ---- what it says ----


def test_all_right_and_marked():
    mark = {"Ada": {"q5": Mark(points=3.5, comment="Well <argued>.")}}
    text = shown(page_of(record_of("Ada"), marks=mark))
    assert "for Ada" in text
    assert "16.5 of 17 points" in text
    assert "so far" not in text
    assert "3.5 of 4 points" in text
    assert "Well <argued>." in text
    assert "not passed" not in text


def test_a_failed_test_says_its_hint_or_misconception_and_no_points():
    record = record_of("Ada", fails=("test_two", "test_mask", "whole"))
    rows = {p.question.id: p.rows for p in parts_of(course_of(record), record)}
    visible, hidden = rows["q1"]
    assert (visible.what, visible.state, visible.note) == ("two", "failed", "twice one")
    assert (hidden.what, hidden.state, hidden.earned) == ("Hidden test 1", "passed", 3)
    assert rows["q2"][1].note == "one size"
    assert [row.what for row in rows["q4"]] == [
        "Right implementation 1",
        "Right implementation 2",
        "Planted bug 1",
        "Planted bug 2",
    ]
    assert rows["q4"][2].note == "does not notice: the bug whole"
    assert "9 of 17 points so far" in shown(page_of(record))


def test_words_that_wait_are_not_counted_and_it_says_so():
    text = shown(page_of(record_of("Ada")))
    assert "13 of 17 points so far" in text
    assert "A person gives the 4 points for your answer in words" in text
    assert "\N{EN DASH} of 4" in text


def test_what_was_left_empty_is_named_and_its_tests_are_not_listed():
    record = record_of("Ada", empty=("q1", "q5"))
    parts = {p.question.id: p for p in parts_of(course_of(record), record)}
    assert (parts["q1"].state, parts["q1"].rows) == ("empty", ())
    assert (parts["q5"].state, parts["q5"].earned) == ("empty", 0)
    assert "You left 2 of 5 questions empty" in shown(page_of(record))


def test_what_could_not_be_graded_is_no_zero():
    record = record_of("Ada", ungraded=("test_scale",))
    text = shown(page_of(record))
    assert "The machine failed on 3 points, which is no fault of yours" in text
    assert "\N{EN DASH} of 3" in text
    assert "0 of 3" not in text


def test_a_note_that_all_tests_share_is_said_once():
    record = record_of("Ada")
    outcomes = tuple(
        replace(one, status="error", earned=0, note="the answer does not run: X")
        if one.question == "q1"
        else one
        for one in record.outcomes
    )
    text = shown(page_of(replace(record, outcomes=outcomes)))
    assert text.count("the answer does not run: X") == 1


@pytest.mark.parametrize(
    ("seal", "said"),
    [
        ("sealed", "Sealed: your answers are those that submit() put into the file"),
        ("changed", "Your answers have changed since you ran submit()"),
        ("unsealed", "This notebook was handed in without submit()"),
    ],
)
def test_the_seal_is_told_in_words(seal, said):
    text = shown(page_of(record_of("Ada", seal=seal)))
    others = {"Sealed:", "changed since", "without submit()"}
    assert said in text
    assert sum(other in text for other in others) == 1


def test_another_edition_is_told():
    assert "another edition" in shown(page_of(record_of("Ada", other_edition=True)))
    assert "another edition" not in shown(page_of(record_of("Ada")))


# ---- what it must not say ----


def test_nothing_of_hidden_tests_others_or_the_machine_is_in_it():
    ada = record_of(
        "Ada",
        fails=("test_random", "test_mask", "detached"),
        ungraded=("test_scale",),
        file="/home/teacher/subs/Ada.ipynb",
    )
    bob = record_of("Bob Secretive", words="my very own words")
    marks = {"Bob Secretive": {"q5": Mark(points=1, comment="for Bob")}}
    page = feedback_page(course_of(ada, bob, marks=marks), ada)
    hidden = [
        judge
        for question in the_exercise().coded()
        for judge in question.judges
        if not judge.visible
    ]
    assert len(hidden) == 7
    for judge in hidden:
        said = shown(page).replace(f"the bug {judge.name}", "")  # its note
        assert not re.search(rf"\b{judge.name}\b", said), judge.name
        for line in judge.source.splitlines():
            assert line.strip() not in page
    for secret in (SECRET, "Secretive", "very own", "for Bob", "/home", "/srv", "room"):
        assert secret not in page
    assert "Two each" not in page  # the rubric


@pytest.mark.parametrize(
    "path", sorted(EXERCISES.glob("[0-9]*.md")), ids=lambda p: p.stem
)
def test_real_exercises_leak_no_line_of_solution_or_hidden_test(path):
    exercise = read_exercise(path)
    outcomes = tuple(
        of_test(judge, "failed", judge.note)
        for question in exercise.coded()
        for judge in question.judges
    )
    answers = dict.fromkeys(exercise.questions, "mine")
    record = replace(
        record_of("Ada"), exercise=exercise.name, answers=answers, outcomes=outcomes
    )
    page = feedback_page(Course(exercise=exercise, records=(record,)), record)
    text, allowed = shown(page), " ".join(one.note for one in outcomes)
    for question in exercise.questions.values():
        hidden = [one for one in question.judges if not one.visible]
        for code in (question.solution, *(one.source for one in hidden)):
            lines = {line.strip(' "') for line in code.splitlines()}
            told = {line for line in lines if len(line) > 12 and line in text}
            assert {line for line in told if line not in allowed} == set()
        told = [one.name for one in hidden if one.name in text]
        assert [name for name in told if name not in allowed] == []


def test_paths_are_taken_out_of_notes():
    said = without_paths(
        "open '/root/a.b/c' and C:\\Users\\ada\\x, and/or 1/2, W_x/W_h"
    )
    assert said == "open '(a file)' and (a file), and/or 1/2, W_x/W_h"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_text(text):
    record = record_of(text, words=f"{text}.", submitted=text)
    outcomes = tuple(
        replace(one, note=text, status="failed", earned=0) if one.points == 3 else one
        for one in record.outcomes
    )
    clean_outcomes = tuple(
        replace(one, note="n", status="failed", earned=0) if one.points == 3 else one
        for one in record.outcomes
    )
    marks = {text: {"q5": Mark(points=1, comment=text)}}
    record = replace(record, outcomes=outcomes)
    page = feedback_page(course_of(record, marks=marks), record)
    tame = replace(record_of("Ada"), outcomes=clean_outcomes)
    marks = {"Ada": {"q5": Mark(points=1, comment="c")}}
    plain = feedback_page(course_of(tame, marks=marks), tame)
    assert Reader(page).tags == Reader(plain).tags
    names = [name for name, _ in Reader(page).attributes]
    assert names == [name for name, _ in Reader(plain).attributes]
    page.encode()  # can be written
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page
    )


def test_equal_input_gives_equal_bytes_and_nothing_is_asked_from_outside():
    record = record_of("Ada", fails=("test_two",))
    page = page_of(record)
    assert page == page_of(record_of("Ada", fails=("test_two",)))
    policy = next(v for _, v in Reader(page).attributes if v and "default-src" in v)
    assert "default-src 'none'" in policy
    assert "script-src 'none'" in policy
    assert not re.search(
        r"https?://|<script|<link(?! rel=\"icon\" href=\"data:,\")", page
    )
    assert Reader(page).tags.count("h1") == 1


# ---- small things ----


def test_numbers_and_shares_in_words():
    assert [number(x) for x in (0, 7.0, 7.5, 7.25, 100)] == [
        "0", "7", "7.5", "7.25", "100",
    ]  # fmt: skip
    assert [points(x) for x in (0, 1, 0.5)] == ["0 points", "1 point", "0.5 points"]
    shares = (0, 0.001, 0.5, 0.999, 1)
    assert [percent(x)[:-2] for x in shares] == ["0", "1", "50", "99", "100"]


def test_clean_shows_controls_and_keeps_honest_text():
    honest = "tab\t line\n é שלום\u200f 👩\u200d💻"
    assert clean(honest) == honest
    assert clean("\x1b\x00\x7f\x9b\u202e\ud800") == "␛␀␡\ufffd\ufffd\ufffd"
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"


def test_prose_knows_a_little_and_escapes_all():
    made = prose("**A** *b* `c<d` $h_{t-1}\\,\\mathbf{W}$\n\n<i>& $x^2$")
    assert made == (
        "<p><strong>A</strong> <em>b</em> <code>c&lt;d</code> "
        '<span class="maths">h<sub>t−1</sub>\u2009W</span></p>\n'
        '<p>&lt;i&gt;&amp; <span class="maths">x<sup>2</sup></span></p>'
    )
    assert "<script" not in prose("$<script>$ **<script>** `<script>` <script>")
