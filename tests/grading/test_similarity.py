"""Similar answers: copies in disguise are found, honest ones are left alone."""

import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from graded_course import course_of, record_of
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course.records import Course, Record
from unrolled.grading.course.similarity import Pair, many, pairs, tokens
from unrolled.grading.exercise import Exercise

EXERCISES = {
    path.name[:2]: read_exercise(path)
    for path in sorted((Path(__file__).parents[2] / "exercises").glob("[0-9]*.md"))
}
FOUR, FIVE = EXERCISES["04"], EXERCISES["05"]

LONG = '''
def unroll(x, W, b):
    """Read a sequence."""
    h, states = x.new_zeros(len(x), len(b)), []  # empty memory
    for t in range(x.shape[1]):
        a = torch.cat([x[:, t], h], dim=1) @ W + b
        h = torch.where(a > 0, torch.tanh(a), 0.1 * a)
        states.append(h)
    return torch.stack(states, dim=1)


def last(states, lengths):
    rows = torch.arange(len(lengths))
    chosen = states[rows, lengths - 1]
    return chosen / chosen.norm(dim=1, keepdim=True).clamp(min=1e-6)


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, states):
        return (states * self.weight).sum(dim=-1)
'''


def class_of(*answers: str, question: str = "q1", exercise: Exercise | None = None):
    """Return a course of students a, b, c … with these answers to one question."""
    records: list[Record] = []
    for n, answer in enumerate(answers):
        own = dict.fromkeys(["q1", "q2", "q3", "q4", "q5", "q6"], "")
        own[question] = answer
        record = replace(record_of(f"s{n:03}"), answers=own)
        records.append(record)
    if exercise is None:
        return course_of(*records)
    return Course(exercise=exercise, records=tuple(records))


def renamed(code: str) -> str:
    names = {"x": "data", "h": "memory", "states": "out", "W": "matrix", "t": "i",
             "a": "z", "weight": "w", "unroll": "go", "chosen": "picked"}  # fmt: skip
    for old, new in names.items():
        code = re.sub(rf"\b{old}\b", new, code)
    return code


def pieces(code: str) -> list[str]:
    return re.split(r"\n\n\n(?=def|class)", code.strip())


def test_a_copy_with_new_names_comments_numbers_and_layout_is_found():
    copy = renamed(LONG).replace("0.1", "0.25").replace("# empty memory", "# mine!")
    copy = copy.replace('"""Read a sequence."""', '"""My very own words."""')
    copy = copy.replace("[], ", "[],\\\n  ").replace("    ", "\t")
    (pair,) = pairs(class_of(LONG, copy))
    assert pair == Pair(a="s000", b="s001", question="q1", share=1.0)


def test_a_copy_with_moved_functions_is_found():
    first, second, third = pieces(LONG)
    (pair,) = pairs(class_of(LONG, "\n\n\n".join([third, first, second])))
    assert pair.share > 0.85


def test_a_copy_that_was_padded_is_found():
    more = "\n".join(f"def f{n}(p):\n    return [p ** {n}, {n}] * n" for n in range(40))
    (pair,) = pairs(class_of(LONG, f"{more}\n{renamed(LONG)}\n{more}"))
    assert pair.share > 0.9


def test_a_copy_with_a_line_changed_here_and_there_is_found():
    copy = LONG.replace("torch.where(a > 0, torch.tanh(a), 0.1 * a)", "a.sigmoid()")
    (pair,) = pairs(class_of(LONG, copy.replace("rows = ", "print(7)\n    rows = ")))
    assert pair.share > 0.6


def test_code_that_is_not_python_is_compared_all_the_same():
    broken = LONG + "\n)))def '''never closed\n" + LONG
    (pair,) = pairs(class_of(broken, renamed(broken)))
    assert pair.share == 1


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_independent_right_answers_are_not_alike(exercise):
    compared = 0
    for question in exercise.coded():
        for other in question.alternatives:
            course = class_of(
                question.solution, other, question=question.id, exercise=exercise
            )
            assert pairs(course, alike=0.2) == ()
            compared += 1
    assert compared >= 5


@pytest.mark.parametrize("exercise", [FOUR, FIVE], ids=["04", "05"])
def test_copies_of_a_long_answer_are_found_in_real_exercises(exercise):
    found = set()
    for question in exercise.coded():
        course = class_of(
            question.solution,
            *question.alternatives,
            renamed(question.solution),
            question=question.id,
            exercise=exercise,
        )
        found |= {(p.question, p.share) for p in pairs(course)}
    assert {share for _, share in found} == {1.0}
    assert len(found) >= 4


def test_a_short_answer_is_no_sign_of_anything():
    short = "def double(x):\n    return torch.stack([x, x], dim=0).sum(dim=0)\n"
    assert pairs(class_of(short, short)) == ()
    one_way = next(iter(FOUR.questions.values())).solution
    assert pairs(class_of(one_way, one_way, exercise=FOUR)) == ()


def test_what_most_of_the_class_writes_is_the_natural_way():
    assert pairs(class_of(*[LONG] * 12)) == ()
    other = [renamed(LONG.replace("cat", f"cat{n}")) for n in range(3)]
    assert pairs(class_of(*[LONG] * 12, *other)) == ()


def test_a_ring_of_friends_in_a_large_class_is_found():
    rest = [scrambled(n) for n in range(35)]
    found = pairs(class_of(*rest, *[LONG] * 5))
    assert {(p.a, p.b) for p in found} == {
        (f"s{a:03}", f"s{b:03}") for a, b in product(range(35, 40), repeat=2) if a < b
    }


def scrambled(seed: int) -> str:
    """Return code of the same vocabulary in an order of its own."""
    draw = random.Random(seed)
    parts = re.findall(r"\S+", LONG)
    draw.shuffle(parts)
    return " ".join(parts)


def test_what_was_given_does_not_count():
    course = class_of(LONG, LONG)
    questions = dict(course.exercise.questions)
    assert len(pairs(course)) == 1
    questions["q1"] = replace(questions["q1"], scaffold=LONG)
    given = replace(course, exercise=replace(course.exercise, questions=questions))
    assert pairs(given) == ()
    preamble = replace(course, exercise=replace(course.exercise, preamble=LONG))
    assert pairs(preamble) == ()


def test_words_are_compared_too_but_not_those_of_the_question():
    essay = "The chain is one thousand and two steps long because each state waits "
    essay += "for the one on its left and for the one below it, whoever programs it."
    assert [
        p.question for p in pairs(class_of(essay, essay.upper(), question="q5"))
    ] == ["q5"]
    course = class_of(essay, essay, question="q5")
    questions = dict(course.exercise.questions)
    questions["q5"] = replace(questions["q5"], prompt=essay)
    quoted = replace(course, exercise=replace(course.exercise, questions=questions))
    assert pairs(quoted) == ()


def test_the_order_is_that_of_shares_then_of_students():
    near = LONG.replace("torch.tanh(a)", "a.relu()")
    found = pairs(class_of(near, LONG, *[scrambled(n) for n in range(8)], LONG))
    assert [(p.a, p.b) for p in found] == [
        ("s001", "s010"),
        ("s000", "s001"),
        ("s000", "s010"),
    ]
    assert found[0].share == 1 > found[1].share == found[2].share
    assert pairs(class_of()) == pairs(class_of(LONG)) == pairs(class_of("", "")) == ()


def test_tokens_keep_what_cannot_be_renamed():
    code = "self.w = x.tanh() + 0x1F  # c\nfor i in range(10): y = f'{i}' 'b'; y.w"
    assert " ".join(tokens(code)) == (
        "v . v = v . tanh ( ) + 0 for v in range ( 0 ) : v = ; v . v"
    )
    assert tokens("def f(x): return x.f") == tokens("def g(y): return y.g")
    assert tokens("") == tokens("# only this") == tokens('"""and this"""') == []


@pytest.mark.parametrize(
    "code",
    ["x.", ".", "'", '"""', "\\", "'''\\", "def", "\x00", "é" * 9, "1e", "x" * 10**5],
)
def test_tokens_are_found_in_anything(code):
    assert isinstance(tokens(code), list)


@pytest.mark.parametrize(
    "sign", ["'", '"', '"""', "'''", "\\", "#", "(", ".", "0.", "rb"]
)
def test_no_text_takes_more_than_a_look_at_each_character(sign):
    assert len(tokens(sign * 60_000)) <= 20_000


def test_many_is_a_few_in_a_small_class_and_an_eighth_of_a_large_one():
    assert [many(n) for n in (0, 2, 3, 4, 6, 10, 40, 80, 300)] == [
        2, 2, 2, 2, 3, 5, 5, 10, 37,
    ]  # fmt: skip


@pytest.mark.parametrize("alike", [0, -1, 1.5])
def test_a_threshold_is_a_share(alike):
    with pytest.raises(ValueError, match="must be a share above 0 and at most 1"):
        pairs(class_of(), alike=alike)
