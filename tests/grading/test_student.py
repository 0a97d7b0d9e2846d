"""Check, submit, and the answers found in notebooks that people have worked in."""

import copy
import json
import os
import random
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.notebooks import handing_in, ticks
from unrolled.grading.notebooks.borrowed import Elsewhere
from unrolled.grading.notebooks.editions import solution_notebook, student_notebook
from unrolled.grading.notebooks.handing_in import (
    find_notebook,
    open_notebook,
    submit_notebook,
)
from unrolled.grading.notebooks.progress import Progress
from unrolled.grading.notebooks.sheets import NotebookError, entry_of
from unrolled.grading.notebooks.submissions import (
    LARGEST,
    answers_of,
    digest_of,
    read_notebook,
    submission_of,
)
from unrolled.grading.student import check_notebook, check_question, open_exercise

FIXTURES = Path(__file__).parent / "fixtures"
KINDS = read_exercise(FIXTURES / "90-all-kinds.md")
SUM = """def running_sum(x):
    return x.new_tensor([x[:i].sum() for i in range(1, len(x) + 1)])"""
WRONG = "def running_sum(x):\n    return x"


def plain(notebook):
    return json.loads(nbformat.writes(notebook))


@pytest.fixture
def book():
    return plain(student_notebook(KINDS))


def cell_of(book, id):
    for cell in book["cells"]:
        if cell["metadata"]["unrolled"] == {"role": "answer", "question": id}:
            return cell
    raise AssertionError(id)


def answer(book, id, code):
    cell_of(book, id)["source"] = code.splitlines(keepends=True)
    return book


def extra(code, kind="code"):
    return {"cell_type": kind, "metadata": {}, "source": code, "outputs": []}


def defined(code):
    names = {}
    exec(KINDS.preamble + code, names)
    return names


def save(book, folder, name="90-all-kinds.ipynb"):
    (folder / name).write_text(json.dumps(book), encoding="utf-8")
    return folder / name


# -- answers in notebooks ------------------------------------------------------------


def test_a_fresh_notebook_has_no_answers(book):
    assert answers_of(book, KINDS) == dict.fromkeys(KINDS.questions, "")


def test_the_solutions_come_out_as_they_went_in():
    found = answers_of(plain(solution_notebook(KINDS)), KINDS)
    for question in KINDS.coded():
        assert question.solution.strip() in found[question.id]
    assert found["q4"] == ""


def test_words_come_without_our_lines(book):
    written = "".join(cell_of(book, "q4")["source"])
    answer(book, "q4", written.replace("*Write your answer here.*", "Because *so*."))
    assert answers_of(book, KINDS)["q4"] == "Because *so*."


@pytest.mark.parametrize("n", range(5))
def test_cells_may_be_moved(book, n):
    answer(book, "q1", SUM)
    random.Random(n).shuffle(book["cells"])
    assert answers_of(book, KINDS)["q1"].strip() == SUM


@pytest.mark.parametrize("where", [0, -1])
def test_an_unanswered_copy_changes_nothing(book, where):
    scaffold = copy.deepcopy(cell_of(book, "q1"))
    answer(book, "q1", SUM)
    book["cells"].insert(where if where == 0 else len(book["cells"]), scaffold)
    assert answers_of(book, KINDS)["q1"].strip() == SUM


def test_of_two_answers_the_last_counts_and_a_broken_one_does_not(book):
    first = copy.deepcopy(cell_of(answer(book, "q1", WRONG), "q1"))
    answer(book, "q1", SUM)
    book["cells"].insert(0, first)
    code = answers_of(book, KINDS)["q1"]
    got = defined(code)["running_sum"](torch.ones(3))
    assert got.tolist() == [1, 2, 3]
    broken = {**first, "source": "def running_sum(x:\n"}
    book["cells"].append(broken)
    assert answers_of(book, KINDS)["q1"] == code


def test_the_same_cell_twice_is_one_answer(book):
    answer(book, "q1", SUM)
    book["cells"].append(copy.deepcopy(cell_of(book, "q1")))
    assert answers_of(book, KINDS)["q1"].strip() == SUM


def test_a_split_cell_is_put_together_again(book):
    head, body = SUM.split("\n")
    answer(book, "q1", head)
    rest = {**copy.deepcopy(cell_of(book, "q1")), "source": body}
    book["cells"].insert(book["cells"].index(cell_of(book, "q1")) + 1, rest)
    assert answers_of(book, KINDS)["q1"].strip() == SUM


def test_a_deleted_cell_is_an_empty_answer(book):
    book["cells"].remove(cell_of(book, "q2"))
    answer(book, "q1", SUM)
    found = answers_of(book, KINDS)
    assert (found["q1"].strip(), found["q2"]) == (SUM, "")


def test_without_metadata_the_first_line_tells(book):
    answer(book, "q1", f"# q1: your answer goes into this cell\n{SUM}")
    answer(book, "q4", "<!-- q4: your answer goes into this cell -->\n\nSo.")
    for cell in book["cells"]:
        cell["metadata"] = {}
    found = answers_of(book, KINDS)
    assert SUM in found["q1"]
    assert found["q4"] == "So."


def test_code_that_does_not_parse_is_still_the_answer(book):
    answer(book, "q1", "def running_sum(x):\nreturn x")
    assert answers_of(book, KINDS)["q1"] == "def running_sum(x):\nreturn x"


def test_helpers_of_other_cells_come_along_and_nothing_else(book):
    answer(book, "q1", "def running_sum(x):\n    return torch.stack(parts(x))")
    book["cells"][1:1] = [
        extra("import math, torch\nimport numpy as np\nEPS: float = 0.0\nlaunch()"),
        extra(
            "def unused():\n    return torch.cumsum\n\n\n@keep\ndef parts(x):\n"
            "    return [x[:i + 1].sum() + EPS for i in range(len(x))]"
        ),
        extra("def keep(f):\n    return f"),
        extra("parts(x) is a helper", kind="markdown"),
    ]
    code = answers_of(book, KINDS)["q1"]
    assert "unused" not in code
    assert "cumsum" not in code
    assert "launch" not in code
    assert "math" not in code
    assert "numpy" not in code
    for line in ("EPS: float = 0.0", "@keep\ndef parts(x):", "def keep(f):"):
        assert line in code


def test_what_was_only_tried_out_does_not_come_along():
    answer = "def f(x):\n    states = [tanh(v) for v in x]\n    return g(states)\n"
    tried = ["states = f(3)", "x = np.load('mine.npy')", "v = input()"]
    helper = "try:\n    import fast as g\nexcept ImportError:\n    g = tuple"
    there = Elsewhere([*tried, "from math import *", helper], "import torch")
    assert there.borrowed(answer) == f"from math import *\n{helper}\n"
    there = Elsewhere([*tried, "from a import *"], "")
    assert there.borrowed("def f(x): return x") == ""


def test_an_import_added_to_the_given_cell_comes_along(book):
    given = next(
        c for c in book["cells"] if c["metadata"]["unrolled"]["role"] == "given"
    )
    changed = "".join(given["source"]).replace("n + 1", "n + 2")
    given["source"] = f"import math\n{changed}"
    answer(book, "q1", "def running_sum(x):\n    return ramp(math.floor(2.5))")
    code = answers_of(book, KINDS)["q1"]
    assert code.startswith("import math\n")
    assert "def ramp" not in code  # which stays as given
    assert defined(code)["running_sum"](None).tolist() == [1, 2]


def test_what_only_a_notebook_has_is_left_out(book):
    code = f"%timeit 3\n{SUM}\ncheck('q1')\n!ls\ndisplay(\n    3\n)\nrunning_sum?"
    found = answers_of(answer(book, "q1", code), KINDS)["q1"]
    assert defined(found)["running_sum"](torch.ones(2)).tolist() == [1, 2]
    assert found.split("\n")[1] == SUM.split("\n")[0]  # lines keep their places


def test_a_percent_that_is_no_magic_stays(book):
    code = "def running_sum(x):\n    return (x\n        % 3)"
    assert answers_of(answer(book, "q1", code), KINDS)["q1"].strip() == code


HOSTILE = [
    {},
    {"cells": None},
    {"cells": [None, 3, "x", [], {}, {"source": 3}, {"source": [1, None]}]},
    {"cells": [{"metadata": 3, "source": "x"}, {"metadata": {"unrolled": [1]}}]},
    {
        "cells": [
            {"metadata": {"unrolled": {"role": ["a"], "question": {}}}, "source": ""}
        ]
    },
    {
        "cells": [
            {
                "metadata": {"unrolled": {"role": "answer", "question": "q99"}},
                "cell_type": "code",
                "source": "x = 1",
            }
        ]
    },
]


@pytest.mark.parametrize("notebook", HOSTILE)
def test_a_spoilt_notebook_has_empty_answers(notebook):
    assert answers_of(notebook, KINDS) == dict.fromkeys(KINDS.questions, "")
    assert submission_of(notebook) is None


TRAPS = [
    "-" * 90_000 + "1",
    "1" + "+1" * 90_000,
    "1" + "+1" * 400,  # deep enough to stop a walk, but not the parser
    "(" * 5_000,
    "x" * 3_000_000,
    "a\0b",
    "\ud800 = 1",
    "\f\v\x1c\u2028def f(): pass",
    "lambda:" * 9_000 + "0",
]


@pytest.mark.parametrize("n", range(len(TRAPS)))
def test_no_code_stops_the_reading_of_a_notebook(book, n):
    cell_of(book, "q1")["source"] = TRAPS[n]
    answer(book, "q2", SUM)
    book["cells"].insert(2, extra(TRAPS[n]))
    found = answers_of(book, KINDS)
    assert found["q1"]
    assert found["q2"].strip().endswith(SUM.split("\n")[1])
    digest_of(found)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 200_000, "it is not JSON"),
        (b"[1]", "it has no cells"),
        (b'{"cells": {}}', "it has no cells"),
    ],
)
def test_a_file_that_is_no_notebook(tmp_path, content, words):
    file = tmp_path / "a.ipynb"
    file.write_bytes(content)
    with pytest.raises(NotebookError, match=f"a.ipynb is no notebook: {words}"):
        read_notebook(file)


def test_a_file_too_large_a_folder_and_a_link(tmp_path):
    file = tmp_path / "a.ipynb"
    with file.open("wb") as big:
        big.truncate(LARGEST + 1)
    with pytest.raises(NotebookError, match="clear its outputs"):
        read_notebook(file)
    (tmp_path / "link.ipynb").symlink_to("/etc/hostname")
    for name in ("link.ipynb", "", "none.ipynb"):
        with pytest.raises(NotebookError, match="is no file"):
            read_notebook(tmp_path / name)


def test_the_digest_sees_every_change_and_no_order():
    one = digest_of({"q1": "a", "q2": "b"})
    assert one == digest_of({"q2": "b", "q1": "a"})
    assert len({one, digest_of({"q1": "ab", "q2": ""}), digest_of({"q1": "a"})}) == 3


# -- check ---------------------------------------------------------------------------


def names_with(code, id="q1"):
    names = {}
    exec(KINDS.preamble, names)
    for test in KINDS.questions[id].visible:
        exec(test.source, names)
    exec(code, names)
    return names


def checked(code, id="q1"):
    entry = entry_of(KINDS.questions[id], full=False)
    return check_question(KINDS.name, id, entry, names_with(code, id))


def test_a_right_answer_is_ticked():
    report = checked(SUM)
    assert [(r.name, r.earned, r.status) for r in report.lines] == [
        ("test_ramp", 1, "passed"),
        ("test_one", 0, "passed"),
    ]
    assert report.passed
    assert str(report) == (
        "q1: 1 of 1 point that you can check here: the first examples work. The other "
        "5 points: by tests that you do not see.\n  ✓ ramp: passed, 1 of 1 point.\n"
        "  ✓ one: passed."
    )


@pytest.mark.parametrize(
    ("code", "status", "note"),
    [
        (KINDS.questions["q1"].scaffold, "todo", "not answered yet"),
        ("", "todo", "running_sum is not defined: run the cell of your answer first"),
        (WRONG, "failed", "the third number of ramp(3) is 6"),
        (
            "def running_sum(x):\n    return x @ 3",
            "error",
            "of running_sum). the third number of ramp(3) is 6",
        ),
        ("def running_sum(x):\n    raise SystemExit(0)", "error", "SystemExit: 0 ("),
        (
            "class E(Exception):\n    def __str__(self):\n        raise E\n"
            "def running_sum(x):\n    raise E",
            "error",
            "E: an exception without words",
        ),
    ],
)
def test_other_answers_are_told_what_to_look_at(code, status, note):
    line = checked(code).lines[0]
    assert (line.status, line.earned) == (status, 0)
    assert note in line.note


def test_a_keyboard_interrupt_is_the_students_own():
    with pytest.raises(KeyboardInterrupt):
        checked("def running_sum(x):\n    raise KeyboardInterrupt")


def test_every_check_draws_the_same_numbers_each_time():
    drawn = []
    names = {"test_a": lambda S, rng: drawn.append(rng.random())}
    names["test_b"] = names["test_a"]
    entry = {"kind": "function", "points": 1, "tests": ["test_a", "test_b"]}
    for exercise in ("one", "one", "two"):
        check_question(exercise, "q1", entry, names)
    assert drawn[:2] == drawn[2:4]
    assert len(set(drawn)) == 4


@pytest.mark.parametrize(
    ("code", "outcomes"),
    [
        (KINDS.questions["q3"].solution, [("passed", 0), ("passed", 1)]),
        (KINDS.questions["q3"].scaffold, [("todo", 0), ("todo", 0)]),
        ("", [("todo", 0), ("todo", 0)]),
        ("def test_double(S, rng):\n    assert False", [("failed", 0), ("passed", 0)]),
        ("def test_double(S, rng):\n    S.double(2)", [("passed", 0), ("failed", 0)]),
    ],
)
def test_a_students_test_is_tried_on_what_may_be_seen(code, outcomes):
    report = checked(code, "q3")
    assert [(line.status, line.earned) for line in report.lines] == outcomes
    assert "accepts the right one: by adding" in str(report)
    assert ("at 2 and 0 it is the double" in str(report)) is (
        outcomes[1][0] == "failed"
    )
    assert report.shown == 1


def test_trying_specimens_leaves_the_notebook_alone():
    names = names_with("def test_double(S, rng):\n    S.double(2)", "q3")
    before = dict(names)
    check_question("x", "q3", entry_of(KINDS.questions["q3"], full=False), names)
    assert names == before


def test_a_forbidden_name_is_found_before_the_grading(book, tmp_path):
    answer(book, "q1", "def running_sum(x):\n    return x.cumsum(0)")
    answer(
        book,
        "q2",
        KINDS.questions["q2"].solution.replace(
            "self.weight = nn.Parameter(torch.ones(n))", "self.inner = nn.Linear(n, n)"
        ),
    )
    first, second, *_ = check_notebook(open_notebook(save(book, tmp_path)))
    assert first.lines[0].name == "does without cumsum"
    assert first.earned == 0
    assert [line.name for line in second.lines] == ["does without nn.Linear"]
    assert not first.passed


@pytest.mark.parametrize(
    "code",
    [
        "from unrolled.losses import cross_entropy as running_sum",
        "def running_sum(x):\n    from unrolled import losses\n    return x.cumsum(0)",
    ],
)
def test_the_package_of_the_book_is_found_before_the_grading(book, tmp_path, code):
    answer(book, "q1", code)
    first, *_ = check_notebook(open_notebook(save(book, tmp_path)))
    assert "does without unrolled" in [line.name for line in first.lines]
    assert first.earned == 0


def test_an_error_inside_a_library_is_told_by_the_students_own_line():
    report = checked("def running_sum(x):\n    y = x\n    return torch.nn.Module().y")
    assert "(line 3 of running_sum)" in report.lines[0].note
    names = names_with("def test_double(S, rng):\n    x = 1\n    assert not x", "q3")
    entry = entry_of(KINDS.questions["q3"], full=False)
    lines = check_question("x", "q3", entry, names).lines
    assert "an assertion without words (line 3 of test_double)" in lines[0].note


def test_a_table_for_everyone(book):
    html = (
        checked(WRONG + "  # <b>&").lines
        and ticks.Report(
            id="q1",
            kind="function",
            points=5,
            lines=(
                ticks.Line(
                    name="test_<b>", points=1, earned=0, status="failed", note="<i>&"
                ),
                ticks.Line(name="test_two", points=2, earned=2, status="passed"),
            ),
        )._repr_html_()
    )
    assert "<b>" not in html
    assert "&lt;i&gt;&amp;" in html
    assert html.count('scope="col"') == 4
    assert html.count('scope="row"') == 2
    assert "<caption" in html
    for sign, word in (("✓", "passed"), ("✗", "not yet")):
        assert f'<span aria-hidden="true">{sign}</span> {word}</td>' in html
    assert "color" not in html


def test_a_terminal_that_knows_no_tick(monkeypatch):
    class Old:
        encoding = "cp1252"

    monkeypatch.setattr(ticks.sys, "stdout", Old())
    assert ticks.printable("  ✓ a é ✗ ·") == "  + a é x -"
    assert ticks.printable("é ·") == "é ·"


def test_a_check_from_the_file_runs_each_answer_alone(book, tmp_path):
    answer(book, "q1", "raise ValueError('early')")
    answer(book, "q3", KINDS.questions["q3"].solution)
    reports = check_notebook(open_notebook(save(book, tmp_path)))
    assert [r.id for r in reports] == ["q1", "q2", "q3", "q4"]
    assert reports[0].lines[0].note == "ValueError: early"
    assert [r.earned for r in reports] == [0, 0, 1, 0]
    assert reports[3].summary() == "3 points, read by a person: nothing to check here."
    (only,) = check_notebook(open_notebook(tmp_path / "90-all-kinds.ipynb"), ["q3"])
    assert only == reports[2]


# -- in the notebook -----------------------------------------------------------------


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return the namespace of a notebook whose set-up cell has run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    names = names_with("")
    entries = {id: entry_of(q, full=False) for id, q in KINDS.questions.items()}
    names["check"], names["submit"] = open_exercise(KINDS.name, names, entries)
    return names


def test_check_tells_and_keeps_progress(kernel, tmp_path, capsys):
    exec(SUM, kernel)
    assert kernel["check"]("q1") is None
    told = capsys.readouterr().out
    assert "✓ ramp: passed" in told
    assert told.endswith("So far 1 of 14 points, 1 of 4 questions checked.\n")
    exec(WRONG, kernel)
    kernel["check"]()
    told = capsys.readouterr().out
    assert "✗ ramp: not yet" in told
    assert told.endswith("So far 0 of 14 points, 4 of 4 questions checked.\n")
    kept = json.loads((tmp_path / "90-all-kinds.progress.json").read_text())
    assert kept["questions"]["q1"] == {"earned": 0, "shown": 1}
    assert os.listdir(tmp_path) == ["90-all-kinds.progress.json"]


def test_check_of_no_question(kernel, capsys):
    kernel["check"]("q9")
    assert capsys.readouterr().out == (
        "There is no question 'q9': there are q1, q2, q3, q4.\n"
    )


@pytest.mark.parametrize(
    "content", ["", "[]", '{"questions": 3}', '{"questions": {"q1": 0}}']
)
def test_spoilt_progress_is_made_again(tmp_path, content):
    (tmp_path / "x.progress.json").write_text(content)
    assert Progress.load(tmp_path, "x").questions == {}


def test_progress_that_cannot_be_kept_is_no_disaster(tmp_path):
    told = Progress.load(tmp_path / "gone", "x").save()
    assert "could not be kept" in told
    assert "No such file" in told


def test_submit_writes_one_file_and_says_what_is_empty(kernel, book, tmp_path, capsys):
    answer(book, "q1", SUM)
    answer(book, "q4", "Because.")
    cell_of(book, "q1")["outputs"] = [{"output_type": "stream", "text": "x" * 999}]
    work = save(book, tmp_path)
    before = work.read_bytes()
    kernel["submit"]()
    told = capsys.readouterr().out
    file = tmp_path / "90-all-kinds.submission.ipynb"
    assert f"Written: {file}\n" in told
    assert "made from 90-all-kinds.ipynb as it was saved at " in told
    assert "Still empty: q2 (2 points), q3 (3 points)." in told
    assert sorted(os.listdir(tmp_path)) == [work.name, file.name]
    assert work.read_bytes() == before
    sealed = read_notebook(file)
    nbformat.validate(nbformat.from_dict(sealed))
    assert "x" * 999 not in file.read_text()
    answers = answers_of(sealed, KINDS)
    assert answers == answers_of(book, KINDS)
    seal = submission_of(sealed)
    assert set(seal) == {"exercise", "digest", "time", "version"}
    assert (seal["exercise"], seal["digest"]) == ("90-all-kinds", digest_of(answers))


def test_submitting_again_replaces_ours_but_nobodys_work(book, tmp_path):
    file, second = (tmp_path / f"90-all-kinds{n}.submission.ipynb" for n in ("", "-2"))
    submit_notebook(open_notebook(save(book, tmp_path)))
    work = save(answer(book, "q1", SUM), tmp_path)
    submit_notebook(open_notebook(work))
    assert SUM in answers_of(read_notebook(file), KINDS)["q1"]
    assert not second.exists()
    changed = read_notebook(file)
    save(answer(changed, "q1", WRONG), tmp_path, file.name)
    submit_notebook(open_notebook(work))
    assert WRONG in answers_of(read_notebook(file), KINDS)["q1"]
    assert SUM in answers_of(read_notebook(second), KINDS)["q1"]


def test_submit_speaks_of_copies(book, tmp_path):
    first = copy.deepcopy(cell_of(answer(book, "q1", WRONG), "q1"))
    book["cells"].insert(0, first)
    answer(book, "q4", "So.")
    for id in ("q2", "q3"):
        answer(book, id, KINDS.questions[id].solution)
    told = submit_notebook(open_notebook(save(book, tmp_path)))
    assert "Nothing is empty." in told
    assert "q1 is answered in 2 cells; where they differ, the last counts." in told


def test_the_notebook_is_found_as_each_front_end_tells(book, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    with pytest.raises(
        NotebookError, match=r"no notebook of 90-all-kinds in .* start 90"
    ):
        find_notebook("90-all-kinds")
    one = save(answer(book, "q1", SUM), tmp_path)
    assert find_notebook("90-all-kinds").source.startswith(one.name)
    save(answer(book, "q1", WRONG), tmp_path, "b.ipynb")
    (tmp_path / "c.ipynb").write_text("{")
    submit_notebook(open_notebook(one))  # is not taken for the work
    with pytest.raises(
        NotebookError, match=r"2 notebooks .*Name one, as in submit\('90"
    ):
        find_notebook("90-all-kinds")
    vscode = {"__vsc_ipynb_file__": str(tmp_path / "b.ipynb")}
    assert find_notebook("90-all-kinds", None, vscode).source.startswith("b.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", "some/where/b.ipynb")
    assert find_notebook("90-all-kinds").source.startswith("b.ipynb")
    assert find_notebook("90-all-kinds", one).source.startswith(one.name)


def test_colab_sends_its_notebook(book, tmp_path, monkeypatch):
    """A stand-in at the border; Colab itself is not tested."""

    class Message:
        @staticmethod
        def blocking_request(name, request, timeout_sec):
            assert name == "get_ipynb"
            return {"ipynb": answer(book, "q1", SUM)}

    class Colab:
        _message = Message

    monkeypatch.setitem(handing_in.sys.modules, "google.colab", Colab)
    monkeypatch.chdir(tmp_path)
    told = submit_notebook(find_notebook("90-all-kinds"))
    assert "made from the notebook in this tab" in told
    assert "Still empty: q2" in told


def ran_in(kernel, *sources):
    """Let the kernel remember that it ran these; the first entry is IPython's own."""
    history = SimpleNamespace(input_hist_raw=["", *sources])
    kernel["get_ipython"] = lambda: SimpleNamespace(history_manager=history)


def test_submit_of_unsaved_work_says_save_first(kernel, book, tmp_path, capsys):
    mark = "# q1: your answer goes into this cell\n"
    save(answer(book, "q1", mark + WRONG), tmp_path)
    ran_in(kernel, mark + WRONG, "check('q1')", mark + SUM, "submit()")
    kernel["submit"]()
    told = capsys.readouterr().out
    assert told.startswith(
        "Save first: q1 is not in 90-all-kinds.ipynb as it was saved"
    )
    assert os.listdir(tmp_path) == ["90-all-kinds.ipynb"]
    save(answer(book, "q1", mark + SUM), tmp_path)
    kernel["submit"]()
    assert "Written: " in capsys.readouterr().out


def test_submit_takes_what_was_never_run_and_what_was_tried_before(
    kernel, book, tmp_path, capsys
):
    mark = "# q1: your answer goes into this cell\n"
    save(answer(book, "q1", mark + SUM), tmp_path)
    ran_in(kernel, mark + WRONG, mark + SUM + "\n", "submit()")
    kernel["submit"]()
    assert "Written: " in capsys.readouterr().out
    ran_in(kernel, "submit()")
    kernel["submit"]()
    assert "Written: " in capsys.readouterr().out


def test_submit_of_nothing_says_so(kernel, capsys):
    kernel["submit"]("none.ipynb")
    assert capsys.readouterr().out == "none.ipynb is no file\n"


@pytest.mark.slow
def test_in_a_real_kernel(book, tmp_path):
    from nbclient import NotebookClient

    text = json.dumps(answer(book, "q1", SUM))
    notebook = nbformat.reads(text, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("submit()"))
    nbformat.write(notebook, tmp_path / "90-all-kinds.ipynb")
    NotebookClient(
        notebook, resources={"metadata": {"path": str(tmp_path)}}, timeout=120
    ).execute()
    shown = [out for c in notebook.cells for out in c.get("outputs", [])]
    tables = [out.data for out in shown if out.output_type == "display_data"]
    assert "✓</span> passed" in tables[0]["text/html"]
    assert "✓ ramp: passed" in tables[0]["text/plain"]
    printed = "".join(out.text for out in shown if out.output_type == "stream")
    assert "Still empty: q2 (2 points), q3 (3 points), q4 (3 points)." in printed
    assert (tmp_path / "90-all-kinds.submission.ipynb").is_file()
