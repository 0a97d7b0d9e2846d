"""The instructors' guide: its commands are there, and its example is an exercise."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer.main

from unrolled.cli import app
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course.secrets import private_tests, with_private
from unrolled.grading.exercise import Exercise
from unrolled.grading.notebooks.editions import student_notebook

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "book" / "instructors.md"
UsageError = typer.BadParameter.__base__  # typer brings a click of its own
PAGES = (
    GUIDE,
    ROOT / "README.md",
    ROOT / "exercises" / "README.md",
    ROOT / "book" / "how-to-read.md",
    ROOT / "book" / "setup.md",
)


def prose_and_blocks(text: str) -> tuple[str, str]:
    """Return what stands outside fences, and what a shell would be given in them."""
    fences = re.findall(r"^( *)(`{3,})([^\n]*)\n(.*?)^\1\2 *$", text, re.M | re.S)
    prose = re.sub(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", "", text, flags=re.M | re.S)
    shells = [body for _, _, info, body in fences if re.search("sh$|bash|yaml", info)]
    return prose, "\n".join(shells)


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the words of every ``unrolled …`` that a page tells its reader to say."""
    prose, blocks = prose_and_blocks(text)
    blocks = re.sub(r"\\\n\s*", " ", blocks)
    blocks = re.sub(r">-\n\s*(unrolled [^\n]*)\n\s*", r"\1 ", blocks)  # folded YAML
    found = re.findall(
        r"^\s*(?:- )?(?:\.venv/bin/)?(unrolled [^\n|;&>]*)", blocks, re.M
    )
    found += re.findall(r"`(?:\.venv/bin/)?(unrolled [a-z][^`]*)`", prose)
    for line in found:
        line = re.sub(r"\$\(\(.*?\)\)", "1", line)
        yield shlex.split(" ".join(line.split()), comments=True)[1:]


def fault_of(words: list[str]) -> str:
    """Return what is wrong with a command, without running it; "" if nothing is."""
    command: Any = typer.main.get_command(app)
    try:
        while hasattr(command, "commands"):
            if not words:
                return ""  # a group, named in a sentence
            context = command.make_context("unrolled", list(words))
            rest = [*context._protected_args, *context.args]
            _, command, words = command.resolve_command(context, rest)
        if "--help" in words:
            return ""
        context = command.context_class(command)
        values, left, _ = command.make_parser(context).parse_args(list(words))
    except UsageError as error:
        return error.format_message()
    if left:
        return f"unexpected {left}"
    missing = [p.name for p in command.params if p.required and not values.get(p.name)]
    return f"without {', '.join(missing)}" if missing else ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_on_a_page_can_be_said(path):
    found = list(commands_in(path.read_text(encoding="utf-8")))
    assert found
    faults = {" ".join(words): fault_of(words) for words in found}
    assert {said: fault for said, fault in faults.items() if fault} == {}


def test_the_guide_tells_all_that_the_grading_can_do():
    found = [words[:2] for words in commands_in(GUIDE.read_text(encoding="utf-8"))]
    for wanted in (
        ["grade", "selftest"], ["grade", "report"], ["grade", "04"],
        ["export", "nbgrader"], ["export", "gradescope"], ["export", "classroom"],
    ):  # fmt: skip
        assert wanted in found


def test_the_words_for_make_in_the_guide_are_the_makefiles():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    words = re.findall(r"(?:`|^)make (\w+)", GUIDE.read_text(encoding="utf-8"), re.M)
    assert "dist" in words
    for word in words:
        assert re.search(rf"^{word}:.*## ", makefile, re.M), word


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("exercise start 04", ""),
        ("exercise start 04 folder --name my.ipynb", ""),
        ("exercise check 04 q1 -n my.ipynb", ""),
        ("exercise", ""),
        ("exercises", "No such command 'exercises'"),
        ("exercise begin 04", "No such command 'begin'"),
        ("grade 04 submissions -o out --shard 2/5", ""),
        ("grade 04 submissions", "without out"),
        ("grade selftest 04", "unexpected"),
        ("exercise start 04 --force", "No such option: --force"),
        ("exercise start 04 a b c", "unexpected"),
        ("exercise start", "without number"),
        ("exercise check 04 -n", "requires an argument"),
    ],
)
def test_a_command_that_is_not_there_is_found_out(words, fault):
    assert fault in fault_of(words.split())
    assert bool(fault_of(words.split())) is bool(fault)


def test_commands_are_found_wherever_they_stand():
    page = """Say `unrolled info` or `unrolled 0.1.0`, or

   ```sh
   cd there
   .venv/bin/unrolled run --list   # what there is
   unrolled a \\
       b | less
   ```

```{code-block} yaml
args:
  - >-
    unrolled grade 04
    --shard $((I + 1))/20
```

```{code-block} text
unrolled 0.1.0
```
"""
    assert list(commands_in(page)) == [
        ["run", "--list"],
        ["a", "b"],
        ["grade", "04", "--shard", "1/20"],
        ["info"],
    ]


# ---- the example ----


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Exercise:
    """Return the exercise that the guide shows, read as one of the book's is."""
    text = GUIDE.read_text(encoding="utf-8")
    fence = r"^````\{code-block\} markdown\n:name: example-exercise\n(.*?)^````$"
    (source,) = re.findall(fence, text, re.M | re.S)
    path = tmp_path_factory.mktemp("example") / "02-perplexity.md"
    path.write_text(source, encoding="utf-8")
    return read_exercise(path)


def test_the_example_of_private_tests_can_be_read_and_holds(tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    fence = r"^````\{code-block\} markdown\n:name: example-private\n(.*?)^````$"
    (source,) = re.findall(fence, text, re.M | re.S)
    (named,) = re.findall(r"`private/(\S+\.md)`", text)
    (tmp_path / named).write_text(source, encoding="utf-8")
    exercise = read_exercise(ROOT / "exercises" / named)
    tests = private_tests(tmp_path, exercise)
    with_them = with_private(exercise, tests)
    assert with_them.points == exercise.points + 2
    first = with_them.questions["q1"]
    assert failures(with_them, first.solution) == []
    in_place = "\n\ndef rnn_step(x_t, h, W, b):\n    return h.zero_()\n"
    assert tests[0].name in failures(with_them, first.solution + in_place)


def failures(exercise: Exercise, answer: str) -> list[str]:
    """Return the tests of the first question that an answer does not pass."""
    question = exercise.questions["q1"]
    names: dict[str, Any] = {}
    exec(exercise.preamble + answer, names)
    failed = []
    for test in question.judges:
        space = dict(names)
        exec(exercise.preamble + test.source, space)
        try:
            space[test.name](SimpleNamespace(**names), np.random.default_rng(0))
        except Exception:
            failed.append(test.name)
    return failed


def test_the_example_is_an_exercise_with_all_its_parts(example):
    assert example.points == 5
    assert [question.kind for question in example.questions.values()] == [
        "function",
        "words",
    ]
    first = example.questions["q1"]
    assert first.forbid
    assert first.mutants
    assert first.alternatives
    assert example.questions["q2"].rubric
    assert "torch.log" not in str(student_notebook(example))


def test_the_example_holds_what_its_sentence_says(example):
    first = example.questions["q1"]
    every = [test.name for test in first.judges]
    assert failures(example, first.solution) == []
    assert failures(example, first.alternatives[0]) == []
    assert failures(example, first.scaffold) == every
    for mutant in first.mutants:
        assert failures(example, mutant.source) == list(mutant.fails)
