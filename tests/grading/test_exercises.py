"""Every exercise of the book is fair: right answers pass, and wrong ones fail as named.

Here all code runs in this process, so that a failure is quick to find; that the sandbox
gives the same marks is the engine's to show.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from unrolled.chapters.pages import main_pages
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.engine.loading import (
    function_of,
    generator_of,
    seed_of,
    trial_seeds,
)
from unrolled.grading.exercise import Exercise, Question, Specimen
from unrolled.grading.forbid import look
from unrolled.grading.notebooks.sheets import entry_of
from unrolled.grading.notebooks.trials import Namespace
from unrolled.grading.student import check_question

ROOT = Path(__file__).parents[2]
EXERCISES = [
    read_exercise(path) for path in sorted((ROOT / "exercises").glob("[0-9]*.md"))
]
CODED = [
    pytest.param(exercise, question, id=f"{exercise.number}-{question.id}")
    for exercise in EXERCISES
    for question in exercise.coded()
]
SECRETS = ("a course", "another", "a third")

whole = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.number)
coded = pytest.mark.parametrize(("exercise", "question"), CODED)


def run(exercise: Exercise, code: str) -> dict[str, Any]:
    """Return what the given code and then an answer define."""
    names: dict[str, Any] = {"__name__": "answer"}
    exec(compile(exercise.preamble, "<given>", "exec"), names)
    exec(compile(code, "<answer>", "exec"), names)
    return names


def failed(
    exercise: Exercise, question: Question, names: dict[str, Any], secret: str
) -> set[str]:
    """Return the tests an answer fails, or the planted bugs that earn it nothing."""
    torch.manual_seed(seed_of(exercise.name, secret, question.id))
    if question.kind == "test":
        return unnoticed(exercise, question, names, secret)
    found = set()
    for test in (*question.visible, *question.hidden):
        function = function_of(exercise.preamble, test.source, test.name)
        try:
            function(Namespace(names), generator_of(exercise.name, secret, test.name))
        except Exception:
            found.add(test.name)
    return found


def unnoticed(
    exercise: Exercise, question: Question, names: dict[str, Any], secret: str
) -> set[str]:
    """Return the planted bugs that a student's test does not tell from right code."""
    [function] = [names[name] for name in defined(question) if name in names]

    def accepts(one: Specimen) -> Iterator[bool]:
        """Yield the verdict of each trial: is the implementation accepted?"""
        for seed in trial_seeds(exercise.name, secret, question.id):
            try:
                S = Namespace(run(exercise, one.source))
                function(S, np.random.default_rng(seed))
            except Exception:
                yield False
            else:
                yield True

    fair = all(all(accepts(one)) for one in question.good)
    return {one.name for one in question.planted if any(accepts(one)) or not fair}


def defined(question: Question) -> list[str]:
    """Return the names that an answer to the question defines."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    tree = ast.parse(question.solution)
    return [node.name for node in tree.body if isinstance(node, kinds)]


def every(question: Question) -> set[str]:
    tests = (*question.visible, *question.hidden, *question.planted)
    return {test.name for test in tests}


def zeros_for(value: Any, number: float = 0) -> Any:
    """Return zeros, or another number throughout, in the form of ``value``."""
    if isinstance(value, torch.Tensor):
        return torch.full_like(value, number)
    if isinstance(value, tuple | list):
        return type(value)(zeros_for(item, number) for item in value)
    return type(value)(number)


def zero_stub(answer: Any, *, weights: bool) -> Any:
    """Return an answer of the right form whose numbers are all zero.

    A module's results are; its weights and buffers are too, if ``weights`` says so.
    """
    if not isinstance(answer, type):
        return lambda *args: zeros_for(answer(*args))

    class Stub(answer):  # type: ignore[misc]
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            for value in (*self.parameters(), *self.buffers()) if weights else ():
                value.data.zero_()

        def forward(self, *args: Any) -> Any:
            return zeros_for(super().forward(*args))

    return Stub


def objectives(exercise: Exercise) -> Iterator[str]:
    """Yield the numbers of the learning objectives of the exercise's chapter."""
    number = int(exercise.number)
    [chapter] = (page for page in main_pages(ROOT) if page.number == number)
    box = chapter.source.read_text(encoding="utf-8").split(":class: objectives")[1]
    yield from re.findall(r"^(\d+)\. \*\*", box.split(":::")[0], re.MULTILINE)


def test_there_are_exercises():
    assert {"04", "05"} <= {exercise.number for exercise in EXERCISES}


@whole
def test_exercise_has_every_kind_of_question_and_words_for_a_fifth(exercise):
    questions = list(exercise.questions.values())
    assert 5 <= len(questions) <= 7
    assert {q.kind for q in questions} == {"function", "module", "test", "words"}
    words = sum(q.points for q in questions if q.kind == "words")
    assert 0.15 <= words / exercise.points <= 0.25


@whole
def test_each_objective_of_the_chapter_has_a_question(exercise):
    asked = {
        number
        for question in exercise.questions.values()
        for said in re.findall(r"^\*Objectives? ([\d and]+)\.\*", question.prompt)
        for number in re.findall(r"\d+", said)
    }
    assert asked == set(objectives(exercise))
    assert len(asked) >= 5


@whole
def test_rubric_names_all_points_of_words(exercise):
    for question in exercise.questions.values():
        if question.kind == "words":
            parts = re.findall(r"^\*\*.*, (\d+) points?\.\*\*", question.rubric, re.M)
            assert sum(map(int, parts)) == question.points


@coded
def test_right_answers_earn_every_point(exercise, question):
    assert question.alternatives
    for code in (question.solution, *question.alternatives):
        for secret in SECRETS:
            assert not failed(exercise, question, run(exercise, code), secret)


@coded
def test_right_answers_are_written_differently(exercise, question):
    answers = (question.solution, *question.alternatives)
    assert len({ast.dump(ast.parse(code)) for code in answers}) == len(answers)


@coded
def test_right_answers_use_nothing_forbidden(exercise, question):
    for code in (question.solution, *question.alternatives):
        assert look(code, list(question.forbid))["forbidden"] == []


@coded
def test_scaffold_earns_nothing(exercise, question):
    names = run(exercise, question.scaffold)
    assert failed(exercise, question, names, SECRETS[0]) == every(question)


@coded
def test_zeros_of_the_right_shape_earn_nothing(exercise, question):
    for weights in (False, True):
        names = run(exercise, question.solution)
        if question.kind == "test":
            stubs = {name: lambda S, rng: None for name in defined(question)}
        else:
            stubs = {
                name: zero_stub(names[name], weights=weights)
                for name in defined(question)
            }
        for secret in SECRETS:
            found = failed(exercise, question, names | stubs, secret)
            assert found == every(question)


@coded
def test_ones_of_the_right_shape_earn_nothing_hidden(exercise, question):
    if question.kind == "test":
        return
    names = run(exercise, question.solution)
    stubs = {
        name: (lambda *args, right=names[name]: zeros_for(right(*args), 1))
        for name in defined(question)
        if not isinstance(names[name], type)
    }
    if not stubs:
        return
    hidden = {test.name for test in question.hidden}
    assert failed(exercise, question, names | stubs, SECRETS[0]) >= hidden


@coded
def test_given_code_answers_nothing(exercise, question):
    names = run(exercise, question.solution)
    hidden = {test.name for test in question.hidden}
    for node in ast.parse(exercise.preamble).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        if look(ast.unparse(node), list(question.forbid))["forbidden"]:
            continue  # nobody can answer with it
        answers = dict.fromkeys(defined(question), names[node.name])
        assert failed(exercise, question, names | answers, SECRETS[0]) >= hidden


@coded
def test_mutants_fail_exactly_what_they_name(exercise, question):
    shown = {test.name for test in question.visible}
    for mutant in question.mutants:
        for secret in SECRETS:
            found = failed(exercise, question, run(exercise, mutant.source), secret)
            where = f"the mutant in line {mutant.line}, secret {secret!r}"
            assert found - shown == set(mutant.fails), where


@coded
def test_there_are_mutants_enough_and_each_test_is_needed(exercise, question):
    assert len(question.mutants) >= 5
    sources = {ast.dump(ast.parse(mutant.source)) for mutant in question.mutants}
    assert len(sources) == len(question.mutants)
    caught = {name for mutant in question.mutants for name in mutant.fails}
    assert caught == {test.name for test in (*question.hidden, *question.planted)}


@coded
def test_students_learn_something_from_every_failure(exercise, question):
    for one in (*question.visible, *question.hidden, *question.planted):
        assert len(one.note.split()) >= 6, f"{one.name} says only {one.note!r}"


def test_stub_of_a_module_is_zero_throughout():
    stub = zero_stub(nn.Linear, weights=True)(2, 3)
    assert not any(value.any() for value in stub.state_dict().values())
    assert not zero_stub(nn.Linear, weights=False)(2, 3)(torch.ones(1, 2)).any()


# ---- the pattern: exercises that were written, or written anew, by it ----

#: Add the number of an exercise here when it follows exercises/README.md.
PATTERN = ("04", "07")
PATTERNED = [one for one in CODED if one.values[0].number in PATTERN]

patterned = pytest.mark.parametrize(("exercise", "question"), PATTERNED)


def passes_what_is_shown(exercise: Exercise, question: Question, code: str) -> bool:
    """Return whether a student's own checks find nothing wrong with an answer."""
    names = run(exercise, code)
    for test in question.visible:
        exec(compile(test.source, f"<{test.name}>", "exec"), names)
    entry = entry_of(question, full=False)
    return check_question(exercise.name, question.id, entry, names).passed


def lost(exercise: Exercise, question: Question, code: str, secret: str) -> float:
    """Return the share of a question's points that an answer does not earn."""
    names = failed(exercise, question, run(exercise, code), secret)
    points = sum(one.points for one in question.judges if one.name in names)
    return points / question.points


@patterned
def test_about_a_third_of_the_points_can_be_checked(exercise, question):
    assert 0.3 <= question.shown_points / question.points <= 0.4


@patterned
def test_who_passes_all_checks_loses_two_thirds_at_most(exercise, question):
    surprised = 0
    for mutant in question.mutants:
        if passes_what_is_shown(exercise, question, mutant.source):
            surprised += 1
            for secret in SECRETS:
                share = lost(exercise, question, mutant.source, secret)
                assert 0 < share <= 2 / 3, f"the mutant in line {mutant.line}: {share}"
    assert surprised, "no mutant shows that hidden tests find what checks do not"


@patterned
def test_a_fault_that_no_check_shows_costs_one_test(exercise, question):
    if question.kind == "test":
        return  # there a weak test may overlook several bugs for one reason
    for mutant in question.mutants:
        if passes_what_is_shown(exercise, question, mutant.source):
            assert len(mutant.fails) == 1, f"the mutant in line {mutant.line}"


@patterned
def test_right_answers_pass_all_checks(exercise, question):
    for code in (question.solution, *question.alternatives):
        assert passes_what_is_shown(exercise, question, code)


def wrapped(answer: Any, around: Any) -> Any:
    """Return an answer whose calls, or those of whose modules, go through another."""
    if not isinstance(answer, type):
        return lambda *args: around(answer, *args)

    class Wrapped(answer):  # type: ignore[misc]
        def forward(self, *args: Any) -> Any:
            return around(super().forward, *args)

    return Wrapped


@patterned
def test_checks_use_different_sizes_above_one(exercise, question):
    """So that neither broadcasting nor a transposed axis can pass unseen."""
    shapes: list[tuple[int, ...]] = []

    def noting(answer: Any, *args: Any) -> Any:
        shapes.extend(tuple(x.shape) for x in args if isinstance(x, torch.Tensor))
        return answer(*args)

    names = run(exercise, question.solution)
    names |= {name: wrapped(names[name], noting) for name in defined(question)}
    for test in question.visible:
        function = function_of(exercise.preamble, test.source, test.name)
        function(Namespace(names), generator_of(exercise.name, "", test.name))
    assert all(size > 1 for shape in shapes for size in shape)
    assert all(len(set(shape)) == len(shape) for shape in shapes if len(shape) > 2)


def reshaped(value: Any, change: Any) -> Any:
    """Return a result with its tensors changed, and nothing in place of numbers."""
    if isinstance(value, tuple | list):
        return type(value)(reshaped(item, change) for item in value)
    return change(value) if isinstance(value, torch.Tensor) else None


HOLLOW = {
    "ones": lambda value: zeros_for(value, 1),
    "large": lambda value: zeros_for(value, 1e4),
    "large, below zero": lambda value: zeros_for(value, -1e4),
    "not a number": lambda value: zeros_for(value, float("nan")),
    "nothing": lambda value: None,
    "empty": lambda value: reshaped(value, lambda x: x[:0]),
    "one axis more": lambda value: reshaped(value, lambda x: x[..., None]),
    "one batch more": lambda value: reshaped(value, lambda x: x[None]),
}


@pytest.mark.parametrize("kind", HOLLOW)
@patterned
def test_hollow_answers_earn_nothing(exercise, question, kind):
    names = run(exercise, question.solution)
    if question.kind == "test":
        loud = {name: lambda S, rng: 1 / 0 for name in defined(question)}
        assert failed(exercise, question, names | loud, SECRETS[0]) == every(question)
        return
    for name in defined(question):
        names[name] = wrapped(
            names[name], lambda answer, *args: HOLLOW[kind](answer(*args))
        )
    assert failed(exercise, question, names, SECRETS[0]) == every(question)


@patterned
def test_hidden_tests_say_what_may_be_wrong(exercise, question):
    for one in question.judges:
        if not one.visible and one.points:
            assert one.note.startswith("it may be that"), one.name


@pytest.mark.parametrize("number", PATTERN)
def test_prompts_name_no_slides_and_are_short(number):
    [exercise] = [one for one in EXERCISES if one.number == number]
    for question in exercise.questions.values():
        words = question.prompt.split()
        assert len(words) <= 260, f"{question.id}: {len(words)} words"
        assert not re.search(r"\b(decks?|slides?|lectures?)\b", question.prompt, re.I)
        assert not re.search(r"\b\d{3}:\d+", question.prompt)
