"""scores.csv and results.json: known cells, no formulas, nothing of order or time."""

import csv
import io
import json
from dataclasses import replace

import pytest

from border_class import outcome, record, with_words
from border_exercise import _test, exercise
from unrolled.grading.course.records import Course, Mark, Rejected
from unrolled.grading.course.scores import (
    defused,
    marks_of_words,
    read_results,
    results_json,
    scores_csv,
)
from unrolled.grading.course.secrets import with_private

PRIVATE = (_test("test_own", "q1", 2, "a note", "pass", visible=False),)


def course(*records, marks=None):
    return Course(
        exercise=with_words(),
        records=records or (record("anna"), record("ben")),
        rejected=(Rejected(file="x.ipynb", why="is no notebook"),),
        marks=marks or {},
    )


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_for_each_student():
    broken = record("carl", outcomes=(outcome("test_two", 1, "ungraded"),))
    marks = {"anna": {"q5": Mark(points=2.5, comment="=1+1")}}
    text = scores_csv(course(record("ben"), broken, record("anna"), marks=marks))
    assert text.startswith("student,total,of,status,q1,q5,seal,submitted,edition,file")
    anna, ben, carl = rows(text)
    assert (anna["total"], anna["of"], anna["q1"], anna["q5"]) == (
        "3.5",
        "7",
        "1",
        "2.5",
    )
    assert (ben["total"], ben["status"], ben["q5"]) == ("", "to be marked", "")
    assert (carl["total"], carl["status"], carl["q1"]) == ("", "UNGRADED", "UNGRADED")
    assert anna["status"] == "graded"
    assert anna["edition"] == "same"
    late = rows(scores_csv(course(record("a", other_edition=True))))
    assert late[0]["edition"] == "other"


def test_a_student_of_whom_nothing_can_be_graded_has_a_line_without_points():
    rejected = (
        Rejected(file="anna/2.ipynb", why="is no notebook", student="anna"),
        Rejected(file="=b.zip", why="is no zip", student="=b"),
        Rejected(file="carl/1.ipynb", why="is no notebook", student="carl"),
        Rejected(file="carl/2.ipynb", why="is no notebook", student="carl"),
        Rejected(file="list.docx", why="is neither"),
    )
    whole = Course(
        exercise=with_words(),
        records=(record("anna"), record("dora")),
        rejected=rejected,
    )
    text = scores_csv(whole)
    assert [row["student"] for row in rows(text)] == ["'=b", "anna", "carl", "dora"]
    carl = rows(text)[2]
    assert (carl.pop("status"), carl.pop("of")) == ("nothing to grade", "7")
    assert (carl.pop("student"), carl.pop("file")) == ("carl", "carl/1.ipynb")
    assert set(carl.values()) == {""}
    read, _ = read_results(results_json(whole), with_words())
    assert scores_csv(read) == text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\uff1d", "\t=", "\n@"])
def test_no_cell_is_a_formula(start):
    name = f"{start}HYPERLINK(1)"
    one = record(name, file=f'{name}/a,"b".ipynb')
    (row,) = rows(scores_csv(course(one)))
    assert row["student"] == f"'{name}"
    assert row["file"] == f'\'{name}/a,"b".ipynb'
    assert defused("anna-maria @home") == "anna-maria @home"


def test_quotes_commas_and_lines_stay_in_their_cell():
    name = 'Anna, "the\nsecond"'
    (row,) = rows(scores_csv(course(record(name))))
    assert row["student"] == name
    assert None not in row


def test_the_order_of_records_changes_nothing():
    many = [record(name) for name in ("b", "A", "a", "ä", "c")]
    marks = {"b": {"q5": Mark(points=1, comment="c")}, "a": {}}
    back = dict(reversed(marks.items()))
    one, other = course(*many, marks=marks), course(*many[::-1], marks=back)
    assert scores_csv(one) == scores_csv(other)
    assert results_json(one) == results_json(other)


def test_results_are_read_back():
    marks = {"anna": {"q5": Mark(points=2, comment="good")}}
    exercise = with_private(with_words(), PRIVATE)
    whole = replace(course(marks=marks), exercise=exercise)
    text = results_json(whole, PRIVATE)
    read, private = read_results(text, with_words())
    assert read.records == whole.records
    assert read.rejected == whole.rejected
    assert read.marks == marks
    assert read.exercise.points == whole.exercise.points == 9
    assert [test.name for test in private] == ["test_own"]
    assert PRIVATE[0].source not in text
    assert results_json(read, private) == text
    plain = json.loads(text)
    assert [one["total"] for one in plain["students"]] == [3.0, None]
    assert plain["students"][1]["questions"] == {"q1": 1.0, "q5": None}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"exercise": "99-border"}', "[" * 9**5]
)
def test_what_are_no_results(text):
    with pytest.raises(ValueError, match=r"no results|Expecting value"):
        read_results(text, exercise())


def test_results_of_another_exercise_or_edition_are_refused():
    text = results_json(course())
    with pytest.raises(ValueError, match="it is of 99-border, not of 98-other"):
        read_results(text, replace(with_words(), name="98-other"))
    with pytest.raises(ValueError, match="the source of 99-border has changed since"):
        read_results(text, replace(with_words(), digest="1"))


def test_marks_stay_with_the_words_they_were_given_for():
    marks = {
        "anna": {"q5": Mark(points=2, comment="good")},
        "ben": {"q5": Mark(points=1, comment="")},
        "gone": {"q5": Mark(points=1, comment="")},
    }
    everyone = (record("anna"), record("ben"), record("gone"))
    text = results_json(course(*everyone, marks=marks))
    again = [record("anna"), record("ben", answers={"q1": "", "q5": "other words"})]
    assert marks_of_words(text, again) == {"anna": marks["anna"]}
    for broken in ("", "[]", '{"students": [3]}'):
        assert marks_of_words(broken, again) == {}
