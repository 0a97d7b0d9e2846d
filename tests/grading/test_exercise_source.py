"""Exercise sources: what is read, and what a malformed one is told, with its line."""

import re
from pathlib import Path

import pytest

from unrolled.grading.authoring.source import ExerciseError, read_exercise
from unrolled.grading.exercise import YOUR_TURN

FIXTURES = Path(__file__).parent / "fixtures"
EXEMPLAR = FIXTURES / "12-self-attention.md"
KINDS = FIXTURES / "90-all-kinds.md"


@pytest.fixture(scope="module")
def exemplar():
    return read_exercise(EXEMPLAR)


@pytest.fixture(scope="module")
def kinds():
    return read_exercise(KINDS)


def test_the_exemplar(exemplar):
    assert (exemplar.number, exemplar.name) == ("12", "12-self-attention")
    assert exemplar.title == "A mask that keeps secrets"
    assert exemplar.preamble == "import torch\n"
    assert list(exemplar.questions) == ["q1", "q2"]
    assert exemplar.points == 6
    mask, why = exemplar.questions.values()
    assert (mask.kind, mask.points, mask.shown_points, mask.minutes) == (
        *("function", 4, 1),
        15,
    )
    assert (why.kind, why.points, why.title) == ("words", 2, "why before the softmax?")
    assert mask.prompt.startswith("Write `causal_mask(T)`")
    assert mask.prompt.endswith("$s \\le t$.")
    (visible,), (hidden,) = mask.visible, mask.hidden
    assert (visible.name, visible.points, visible.visible) == (
        *("test_three_by_three", 1),
        True,
    )
    assert visible.note.startswith("row t should be True")
    assert (hidden.points, hidden.visible) == (3, False)
    assert hidden.note == "a mask hard-coded for the visible T = 3"
    (mutant,) = mask.mutants
    assert mutant.fails == ("test_any_length_including_one",)
    assert len(mask.alternatives) == 1
    assert why.rubric.startswith("**2** names the denominator")
    assert "Rubric" not in why.prompt
    assert why.rubric not in why.prompt


def test_solution_and_scaffold_differ_between_the_markers_only(exemplar):
    mask = exemplar.questions["q1"]
    assert "SOLUTION" not in mask.scaffold + mask.solution
    gone = "    return torch.ones(T, T, dtype=torch.bool).tril()\n"
    assert mask.solution.replace(gone, f"    {YOUR_TURN}\n") == mask.scaffold
    assert gone in mask.solution


def test_tests_run_as_their_source_says_and_lines_are_those_of_the_file(kinds):
    """Every test takes its helpers along, and nothing of the other tests."""
    lines = KINDS.read_text(encoding="utf-8").splitlines()
    question = kinds.questions["q1"]
    for test in (*question.visible, *question.hidden):
        own = [i for i, text in enumerate(test.source.split("\n")) if test.name in text]
        assert lines[test.line - 1 + own[0]].startswith(f"def {test.name}(")
        assert test.source.count("def test_") == 1
        names = {}
        exec(kinds.preamble + question.solution, names)
        exec(test.source, names)
        assert callable(names[test.name])
    for cell in kinds.cells:
        first = cell.source.split("\n")[0]
        assert lines[cell.line - 1] == first
    (mutant,) = question.mutants
    assert lines[mutant.line - 1] == "def running_sum(x):"


def test_points_are_the_sums_of_the_tests(kinds):
    assert [q.points for q in kinds.questions.values()] == [6, 2, 3, 3]
    assert [q.shown_points for q in kinds.questions.values()] == [1, 0, 1, 0]
    assert kinds.points == 14


def test_a_docstring_may_go_over_lines(kinds):
    ramp = kinds.questions["q1"].visible[0]
    assert ramp.note == "the third number of ramp(3) is 6"


def test_a_module_may_have_several_gaps(kinds):
    scale = kinds.questions["q2"]
    assert scale.scaffold.count(YOUR_TURN) == 2
    assert scale.forbid == ("nn.Linear",)


def test_specimens_of_a_question_that_asks_for_a_test(kinds):
    q = kinds.questions["q3"]
    assert [(one.name, one.points, one.visible) for one in q.good] == [
        ("by_adding", 0, True),
        ("by_shifting", 0, False),
    ]
    assert [(one.name, one.points, one.visible) for one in q.planted] == [
        ("squared", 1, True),
        ("size_only", 2, False),
    ]
    assert q.planted[0].note == "a square: at 2 and 0 it is the double"


def test_headings_in_code_open_no_question_and_sections_end(kinds):
    assert [c.source for c in kinds.cells if c.question is None][-1] == (
        "## What comes next\n\nNothing."
    )
    assert kinds.questions["q4"].prompt == "Say why.\n\nTake your time."


def test_the_digest_is_of_every_letter(tmp_path, exemplar):
    text = EXEMPLAR.read_text(encoding="utf-8")
    for changed, same in [(text, True), (text.replace("T = 3", "T = 4"), False)]:
        path = tmp_path / EXEMPLAR.name
        path.write_text(changed, encoding="utf-8")
        assert (read_exercise(path).digest == exemplar.digest) is same


def line_of(text, part):
    """Return the number of the line in which ``part`` starts, by counting."""
    return text.count("\n", 0, text.index(part)) + 1


TESTED = "def test_any_length_including_one(S, rng):"
RUBRIC = """:::{admonition} Rubric
:class: rubric
**2** names the denominator, and that a row no longer sums to one. **1** says only
"the future leaks". **0** otherwise.
:::
"""
LAST = (
    "## Question 2" + EXEMPLAR.read_text(encoding="utf-8").partition("## Question 2")[2]
)
SOLVED = """    # BEGIN SOLUTION
    return torch.ones(T, T, dtype=torch.bool).tril()
    # END SOLUTION
"""
FENCE = "```{code-cell} ipython3\n"
MUTANT = ":tags: [mutant]\n:question: q1\n:fails: [test_any_length_including_one]\n"
BAD = {  # what is replaced, by what, a part of the line that is named, the words
    "no question": (
        ":tags: [hidden]\n:question: q1\n",
        ":tags: [hidden]\n",
        "```{code-cell} ipython3\n:tags: [hidden]",
        "this cell does not say its question: ':question: q1'",
    ),
    "unknown question": (
        "[hidden]\n:question: q1",
        "[hidden]\n:question: q7",
        "```{code-cell} ipython3\n:tags: [hidden]",
        "unknown question 'q7': the header has q1, q2",
    ),
    "another section": (
        "[hidden]\n:question: q1",
        "[hidden]\n:question: q2",
        "```{code-cell} ipython3\n:tags: [hidden]",
        "a cell of q2 in the section of q1",
    ),
    "unknown tag": (
        ":tags: [given]",
        ":tags: [gievn]",
        "```{code-cell} ipython3\n:tags: [gievn]",
        "unknown tag 'gievn': there are given, answer,",
    ),
    "no tag": (":tags: [given]\n", "", FENCE, "this cell needs a tag"),
    "two tags": (
        ":tags: [visible]",
        ":tags: [visible, hidden]",
        "```{code-cell} ipython3\n:tags: [visible, hidden]",
        "one is enough",
    ),
    "unknown option": (
        "[alternative]\n",
        "[alternative]\n:fails: [a]\n",
        "```{code-cell} ipython3\n:tags: [alternative]",
        "a cell tagged alternative has no option 'fails': question, tags",
    ),
    "option twice": (
        "[visible]\n",
        "[visible]\n:tags: [hidden]\n",
        ":tags: [hidden]",
        "the option 'tags' stands twice in this cell",
    ),
    "empty cell": ("import torch\n", "", FENCE, "this cell is empty"),
    "given not Python": (
        "import torch\n",
        "import\n",
        "import\n",
        "this is not Python",
    ),
    "test without points": (
        '"""points: 3 | catches: a mask hard-coded for the visible T = 3"""',
        '"""catches: a mask hard-coded"""',
        TESTED,
        "test_any_length_including_one needs the docstring "
        '"""points: N | catches: …""", not ',
    ),
    "points not a number": ("points: 3 |", "points: 3.5 |", TESTED, "points: 3.5 in"),
    "hint for catches": (
        "| catches:",
        "| hint:",
        TESTED,
        "is hidden, so it says 'catches:', not 'hint:'",
    ),
    "arguments": (
        "including_one(S, rng)",
        "including_one(S)",
        "def test_any_length_including_one(S)",
        "test_any_length_including_one(S) should be test_…(S, rng)",
    ),
    "no test": (TESTED, "def any_length(S, rng):", "def any_length", "no test here"),
    "test not Python": (
        "for T in (1, 2, int",
        "for T on (1, 2, int",
        "    for T on",
        "this is not Python: ",
    ),
    "mutant without fails": (
        MUTANT,
        MUTANT.replace(":fails: [test_any_length_including_one]\n", ""),
        "```{code-cell} ipython3\n:tags: [mutant]",
        "a mutant says which it fails: ':fails: [test_any_length_including_one]'",
    ),
    "mutant fails nothing": (
        ":fails: [test_any_length_including_one]",
        ":fails: []",
        "```{code-cell} ipython3\n:tags: [mutant]",
        "a mutant says which it fails",
    ),
    "mutant fails an unknown test": (
        ":fails: [test_any_length_including_one]",
        ":fails: [test_any_length]",
        "```{code-cell} ipython3\n:tags: [mutant]",
        "'test_any_length' is not hidden: q1 hides test_any_length_including_one",
    ),
    "mutant fails a visible test": (
        ":fails: [test_any_length_including_one]",
        ":fails: [test_three_by_three]",
        "```{code-cell} ipython3\n:tags: [mutant]",
        "'test_three_by_three' is not hidden: q1 hides",
    ),
    "mutant fails no list": (
        ":fails: [test_any_length_including_one]",
        ":fails: [test_any",
        ":fails: [test_any",
        "is not a list: write [one, two]",
    ),
    "mutant of something else": (
        "def causal_mask(T):\n    m =",
        "def mask(T):\n    m =",
        "def mask(T)",
        "this does not define causal_mask",
    ),
    "points typed": (
        "q1: {kind: function, minutes: 15}",
        "q1: {kind: function, points: 4, minutes: 15}",
        "    q1: ",
        "points of q1 are computed from its tests: leave 'points' out",
    ),
    "no points for words": (
        "q2: {kind: words, points: 2,",
        "q2: {kind: words,",
        "    q2: ",
        "q2 has points None: words need a whole number",
    ),
    "unknown kind": (
        "kind: function",
        "kind: funktion",
        "    q1: ",
        "has kind 'funkti",
    ),
    "unknown setting": (
        "kind: words,",
        "kind: words, a: 1,",
        "    q2: ",
        "setting 'a'",
    ),
    "no minutes": (", minutes: 15", "", "    q1: ", "q1 has minutes None"),
    "forbid no names": (
        "minutes: 15}",
        "minutes: 15, forbid: nn.RNN}",
        "    q1: ",
        "q1 has forbid 'nn.RNN': write names, as in [nn.LSTMCell]",
    ),
    "question twice": (
        "    q2: {",
        "    q1: {kind: function, minutes: 5}\n    q2: {",
        "    q1: {kind: function, minutes: 5}",
        "exercise.questions.q1 stands twice in the header (first in line 8)",
    ),
    "question misnamed": ("    q2: {", "    q3: {", "    q3: ", "call it q2"),
    "no title": ("  title: A mask that keeps secrets\n", "", "exercise:", "a title"),
    "no exercise": (
        "exercise:\n",
        "exercises:\n",
        "---",
        "the header needs 'exercise:'",
    ),
    "header not YAML": ("q1: {kind", "q1: {{kind", "    q2: ", "header is not YAML"),
    "no header": ("---\njupytext", "jupytext", "jupytext", "begin with a header"),
    "no begin": (
        "    # BEGIN SOLUTION\n",
        "",
        "    # END SOLUTION",
        "'# END SOLUTION' closes nothing",
    ),
    "no end": (
        "    # END SOLUTION\n",
        "",
        "    # BEGIN SOLUTION",
        "the solution that begins here has no end",
    ),
    "no markers": (
        SOLVED,
        "    return torch.ones(T, T, dtype=torch.bool).tril()\n",
        "def causal_mask(T: int)",
        "an answer needs its solution between",
    ),
    "begin twice": (
        "    # BEGIN SOLUTION\n",
        "    # BEGIN SOLUTION\n    # BEGIN SOLUTION\n",
        "    # BEGIN SOLUTION\n    return",
        "'# BEGIN SOLUTION' again, but line 33 is not closed",
    ),
    "marker misspelt": (
        "# END SOLUTION",
        "# End solution",
        "    # End solution",
        "'# End solution' is no marker",
    ),
    "solution outside": (
        SOLVED,
        "    return None\n\n\n# BEGIN SOLUTION\nx = 1\n# END SOLUTION\n",
        "def causal_mask(T: int)",
        "the solution must be inside a function",
    ),
    "no answer": (
        ":tags: [answer]",
        ":tags: [given]",
        "## Question 1",
        "0 cells tagged",
    ),
    "test named twice": (
        "def test_three_by_three(S, rng):",
        TESTED,
        f'{TESTED}\n    """points: 3',
        "test_any_length_including_one is defined in the cell of line 42 too",
    ),
    "no rubric": (RUBRIC, "", "## Question 2", "it needs one rubric, and has 0"),
    "two rubrics": (
        RUBRIC,
        RUBRIC + "\nAnd:\n\n" + RUBRIC.replace("Rubric", "rubric, too"),
        ":::{admonition} rubric, too",
        "it needs one rubric, and has 2",
    ),
    "rubric never closed": (
        '"the future leaks". **0** otherwise.\n:::\n',
        '"the future leaks". **0** otherwise.\n',
        ":::{admonition} Rubric",
        "the block that starts here is never closed",
    ),
    "rubric in a block": (
        RUBRIC,
        f"::::{{note}}\n{RUBRIC}::::\n",
        ":::{admonition} Rubric",
        "a code cell or rubric must start at the left, in no block",
    ),
    "cell in a list": (
        "## Question 2",
        "- so\n  ```{code-cell} ipython3\n  :tags: [given]\n  ```\n\n## Question 2",
        "  ```{code-cell}",
        "a code cell or rubric must start at the left",
    ),
    "rubric for code": (
        "## Question 2",
        RUBRIC + "\n## Question 2",
        ":::{admonition} Rubric",
        "q1 is of kind function: it has no rubric, but",
    ),
    "rubric of nothing": (
        "## Question 1",
        RUBRIC + "\n## Question 1",
        ":::{admonition} Rubric",
        "this rubric is in the section of no question",
    ),
    "no section": (
        LAST,
        "## The end\n",
        "    q2: ",
        "q2 has no section: add '## Question 2: its title'",
    ),
    "section unknown": (
        "## Question 2,",
        "## Question 3,",
        "## Question 3",
        "question 3 is not in the header, which has q1, q2",
    ),
    "section twice": (
        "## Question 2,",
        "## Question 1,",
        "## Question 1, read",
        "a second section for q1",
    ),
    "heading misspelt": (
        "## Question 1: the mask",
        "## Question one: the mask",
        "## Question one",
        "should read '## Question 1: its title'",
    ),
    "cell never closed": (
        "return t[:, None] >= t[None, :]\n```\n",
        "return t[:, None] >= t[None, :]\n",
        "```{code-cell} ipython3\n:tags: [mutant]",
        "this is not Python",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_malformed_source_is_told_file_and_line(tmp_path, fault):
    old, new, place, words = BAD[fault]
    text = EXEMPLAR.read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new, 1)
    path = tmp_path / EXEMPLAR.name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExerciseError) as caught:
        read_exercise(path)
    told = str(caught.value)
    assert re.match(re.escape(str(path)) + r":\d+: \S", told)
    assert words in told
    assert told.startswith(f"{path}:{line_of(text, place)}: ")


SPECIMENS = {
    "no bug": (
        ":tags: [planted, visible]",
        ":tags: [good, visible]",
        "option 'catches'",
    ),
    "no name": (":name: squared\n", "", "an implementation to be tested needs ':name:"),
    "name twice": (
        ":name: by_shifting",
        ":name: by_adding",
        "by_adding is defined in the",
    ),
    "no words": (
        ":catches: a sign that is lost\n",
        "",
        "size_only does not say what is",
    ),
    "points": (":points: 2", ":points: two", "size_only has points 'two'"),
    "nothing planted": (":tags: [good]\n", ":tags: [hidden]\n", "no option 'name'"),
    "two tests": ("def test_double(S", "def help(S", "its answer defines one test_"),
    "no class": ("class Scale(nn.Module)", "class Sc(nn.Module)", None),
    "a class for a function": (
        "q2: {kind: module",
        "q2: {kind: function",
        "no function",
    ),
    "a test for a test": (
        ":tags: [good]\n:question: q3\n:name: by_shifting\n",
        ":tags: [visible]\n:question: q3\n",
        "q3 is of kind test: it has no visible, but",
    ),
    "mutant names a good one": (
        ":fails: [squared, size_only]",
        ":fails: [by_adding]",
        "'by_adding' is not hidden: q3 hides squared, size_only",
    ),
}


@pytest.mark.parametrize("fault", SPECIMENS)
def test_malformed_questions_of_other_kinds(tmp_path, fault):
    old, new, words = SPECIMENS[fault]
    text = KINDS.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / KINDS.name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    if words is None:  # another name is no fault
        assert "Sc" in read_exercise(path).questions["q2"].scaffold
        return
    with pytest.raises(ExerciseError, match=re.escape(words)):
        read_exercise(path)


@pytest.mark.parametrize("name", ["mask.md", "1-mask.md", "12-Mask.md", "12-mask.txt"])
def test_a_misnamed_file(tmp_path, name):
    (tmp_path / name).write_bytes(EXEMPLAR.read_bytes())
    with pytest.raises(ExerciseError, match=r"is no name for an exercise: 12-self"):
        read_exercise(tmp_path / name)


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "12-mask.md"
    path.write_bytes(b"\xff\xfe---")
    with pytest.raises(ExerciseError, match=r"12-mask.md:1: this file is not text in"):
        read_exercise(path)
