"""Records of a class: JSON both ways, and what adds up to a mark."""

import json
from dataclasses import replace

import pytest

from border_class import outcome, record, with_words
from border_exercise import exercise
from unrolled.grading.course.records import Course, Mark, Record, Rejected


def test_json_both_ways():
    for one in (
        record(),
        record("Ünï \U0001f600", other_edition=True, seal="changed", submitted=""),
        record(answers={}, outcomes=(outcome("t", 2, "ungraded"),)),
    ):
        plain = json.loads(json.dumps(one.plain()))
        assert Record.of_plain(plain) == one


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"student": 3}, "student of a Record must be a str, not int"),
        ({"extra": 3}, "a Record has student, file"),
        ({"seal": "broken"}, "seal='broken' must be one of sealed, changed, unsealed"),
        ({"answers": {"q1": 3}}, "answers of a Record must be texts"),
        ({"answers": []}, "answers of a Record must be a dict, not list"),
        ({"other_edition": 1}, "other_edition of a Record must be a bool, not int"),
        ({"outcomes": [{}]}, "a Outcome has question, test"),
        ({"outcomes": None}, "outcomes of a Record must be a list, not NoneType"),
    ],
)
def test_what_is_no_record_is_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        Record.of_plain({**record().plain(), **change})


def test_what_is_no_outcome_is_refused():
    plain = record().plain()
    plain["outcomes"][0]["status"] = "cheated"
    with pytest.raises(ValueError, match="status='cheated' must be one of passed"):
        Record.of_plain(plain)
    plain["outcomes"][0] |= {"status": "passed", "earned": True}
    with pytest.raises(ValueError, match="earned of a Outcome must be a int, not bool"):
        Record.of_plain(plain)
    with pytest.raises(ValueError, match="a Record has"):
        Record.of_plain([])


def test_points_of_a_record():
    one = record(
        outcomes=(
            outcome("a", 1),
            outcome("b", 3, "timeout"),
            outcome("c", 2, question="q2"),
        )
    )
    assert one.earned == 3
    assert one.of_question("q1") == (1, 4)
    assert one.of_question("q2") == (2, 2)
    assert one.of_question("q5") == (0, 0)
    assert one.complete
    assert not record(outcomes=(outcome("a", 1, "ungraded"),)).complete


def test_a_total_waits_for_marks_and_for_the_machine():
    anna, ben = record("anna"), record("ben", answers={"q1": "x", "q5": " \n"})
    broken = record("carl", outcomes=(outcome("test_two", 1, "ungraded"),))
    course = Course(exercise=with_words(), records=(broken, ben, anna))
    assert course.total(anna) is None
    assert course.points_of(anna, "q5") is None
    assert course.so_far(anna) == 1
    assert course.total(ben) == 1  # nobody need read what is not there
    marks = {"anna": {"q5": Mark(points=2.5, comment="")}, "carl": {}}
    course = replace(course, marks=marks)
    assert course.total(anna) == 3.5
    assert course.points_of(broken, "q1") is None
    assert course.total(broken) is None
    assert course.so_far(broken) == 0


def test_a_course_has_one_order_and_one_record_a_student():
    names = ["ben", "Anna", "anna", "Zoe", "änne"]
    rejected = (Rejected(file="b", why="x"), Rejected(file="a", why="y"))
    records = tuple(map(record, names))
    course = Course(exercise=exercise(), records=records, rejected=rejected)
    again = Course(exercise=exercise(), records=records[::-1], rejected=rejected[::-1])
    assert course == again
    assert [one.student for one in course.records] == [
        *("Anna", "anna", "ben", "Zoe", "änne")
    ]
    assert [one.file for one in course.rejected] == ["a", "b"]
    with pytest.raises(ValueError, match="two records of the student 'ben'"):
        Course(exercise=exercise(), records=(record("ben"), record("ben")))
