"""Marks by hand: the page that asks for them, and the file that comes back."""

import json
import re
from dataclasses import replace

import pytest

from graded_course import HOSTILE, course_of, record_of
from page_reader import Reader, shown
from unrolled.grading.course.manual import (
    FORMAT,
    MarksError,
    answer_digest,
    manual_page,
    piles_of,
    read_marks,
)
from unrolled.grading.course.records import Mark


@pytest.fixture
def course():
    return course_of(
        record_of("Ada", words="Because."),
        record_of("Bob", words="Why not?"),
        record_of("Cyd", words=""),
    )


@pytest.fixture
def write(tmp_path):
    """Write a file of marks; an entry says only how it differs from a good one."""

    def written(*entries, **more):
        good = {
            "student": "Ada",
            "question": "q5",
            "answer": answer_digest("Because."),
            "points": 2.5,
            "comment": "Good.",
        }
        whole = {"format": FORMAT, "exercise": "99-border", "marks": []} | more
        if entries:
            whole["marks"] = [
                good | one if isinstance(one, dict) else one for one in entries
            ]
        path = tmp_path / "marks.json"
        path.write_text(json.dumps(whole), encoding="utf-8")
        return path

    return written


# ---- the file ----


def test_marks_come_back(course, write):
    bob = {"student": "Bob", "answer": answer_digest("Why not?"), "points": 4}
    marks = read_marks(write({}, bob | {"comment": ""}), course)
    assert marks == {
        "Ada": {"q5": Mark(points=2.5, comment="Good.")},
        "Bob": {"q5": Mark(points=4.0, comment="")},
    }
    merged = replace(course, marks=marks)
    assert [merged.total(record) for record in merged.records] == [15.5, 17.0, 13.0]
    assert read_marks(write(), course) == {}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"student": "Eve"}, "mark 2 ('Eve', 'q5'): there is no submission of this"),
        ({"student": 7}, "mark 2 (7, 'q5'): there is no submission"),
        ({"student": ["Ada"]}, "there is no submission of this student"),
        (
            {"question": "q9"},
            "('Ada', 'q9'): this is no question in words; there are: q5",
        ),
        ({"question": "q1"}, "this is no question in words"),
        ({"question": None}, "this is no question in words"),
        ({"points": 4.5}, "points must be 0 to 4, not 4.5"),
        ({"points": -0.5}, "points must be 0 to 4, not -0.5"),
        ({"points": float("nan")}, "points must be 0 to 4, not nan"),
        ({"points": float("inf")}, "points must be 0 to 4, not inf"),
        ({"points": 10**400}, "points must be 0 to 4, not 1000"),
        ({"points": "3"}, "points must be a number, not '3'"),
        ({"points": True}, "points must be a number, not True"),
        ({"points": None}, "points must be a number, not None"),
        ({"answer": "0" * 16}, "the answer has changed since it was marked"),
        ({"answer": None}, "the answer has changed since it was marked"),
        ({"comment": 3}, "the comment must be a text"),
        ({"comment": "x" * 10_001}, "a text of at most 10,000 characters"),
        ("a text", "mark 2: is not made of student, question"),
        ({}, "there are two marks for this answer"),
    ],
)
def test_a_mark_that_cannot_be_right_is_refused_with_its_place(
    course, write, entry, said
):
    path = write({}, entry)
    with pytest.raises(MarksError, match=re.escape(said)) as caught:
        read_marks(path, course)
    assert str(caught.value).startswith("marks.json: mark 2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read as JSON"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("\xff", "cannot be read as JSON"),
        ("[]", f"its format is not {FORMAT}"),
        ('{"marks": []}', f"its format is not {FORMAT}"),
        (f'{{"format": "{FORMAT}", "exercise": "04"}}', "has marks for '04', and this"),
        (f'{{"format": "{FORMAT}", "exercise": "99-border"}}', "its marks are no list"),
    ],
)
def test_a_file_that_is_none_is_refused(course, tmp_path, text, said):
    path = tmp_path / "m.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(MarksError, match=re.escape(said)):
        read_marks(path, course)


def test_no_file_is_refused(course, tmp_path):
    with pytest.raises(MarksError, match=r"none\.json: cannot be read"):
        read_marks(tmp_path / "none.json", course)


def test_an_error_cannot_disturb_a_terminal(course, write):
    path = write({"student": "\x1b[2J\n" + "x" * 500})
    with pytest.raises(MarksError) as caught:
        read_marks(path, course)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250


# ---- the page ----


def test_the_page_has_rubric_answers_and_what_was_given_before(course):
    marked = replace(course, marks={"Bob": {"q5": Mark(points=1.5, comment="Hm.")}})
    page = manual_page(marked)
    text = shown(page)
    assert "Two each. 2: says x1 and why. 0: says <nothing> & more." in text
    assert "Say why, in <two> sentences." in text
    assert "2 answers, 4 points each. 1 left it empty" in text
    assert "Because." in text
    assert 'value="1.5"' in page
    assert "Hm.</textarea>" in page
    assert 'max="4" step="0.5"' in page


def test_the_hidden_order_is_fixed_and_not_that_of_names():
    records = [record_of(f"Student {n:02}") for n in range(12)]
    (pile,) = piles_of(course_of(*records))
    places = [answer.place for answer in pile.answers]
    assert sorted(places) == list(range(1, 13))
    assert places != sorted(places)
    (again,) = piles_of(course_of(*reversed(records)))
    assert again == pile


def test_work_is_kept_over_a_mended_test_but_not_over_another_rubric(course):
    def key(exercise):
        page = manual_page(replace(course, exercise=exercise))
        return re.findall(r'data-key="([^"]+)"', page)

    exercise = course.exercise
    other = dict(exercise.questions)
    other["q5"] = replace(other["q5"], rubric="Something else.")
    assert key(exercise) == key(replace(exercise, digest="1" * 64))
    assert key(exercise) != key(replace(exercise, questions=other))


def test_a_very_long_answer_is_cut_and_says_so():
    text = shown(manual_page(course_of(record_of("Ada", words="w " * 20_000))))
    assert "20000 more characters are in the file" in text


def test_nothing_to_mark():
    course = course_of()
    code = {id: q for id, q in course.exercise.questions.items() if id != "q5"}
    bare = replace(course, exercise=replace(course.exercise, questions=code))
    assert "has no question in words" in shown(manual_page(bare))
    assert "Nobody has answered this question" in shown(manual_page(course))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_text(text):
    def read(name: str) -> Reader:
        marks = {name: {"q5": Mark(points=1, comment=name)}}
        return Reader(manual_page(course_of(record_of(name, words=name), marks=marks)))

    found, plain = read(text), read("Ada")
    assert found.tags == plain.tags
    assert [n for n, _ in found.attributes] == [n for n, _ in plain.attributes]
    (name,) = (value for n, value in found.attributes if n == "data-student")
    assert json.loads(name) == text


def test_equal_input_gives_equal_bytes_and_only_our_script_may_run(course):
    page = manual_page(course)
    assert page == manual_page(course)
    policy = next(v for _, v in Reader(page).attributes if v and "default-src" in v)
    assert re.search(r"script-src 'sha256-[^']+';", policy)
    assert "unsafe" not in policy
    assert page.count("<script") == 1
