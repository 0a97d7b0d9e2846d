"""What a student hands in is read in a process that may die, and in little time."""

import csv
import io
import json
import os
import resource
import signal
import struct
import time
import zipfile

import pytest

from border_class import hand_in, notebook
from border_exercise import SOLUTIONS, exercise
from hostile_answers import CELLS
from unrolled.grading import apart as reading
from unrolled.grading.apart import GaveUpError, apart
from unrolled.grading.course import pile
from unrolled.grading.course.pile import read_pile
from unrolled.grading.course.records import Course
from unrolled.grading.course.report import report_page
from unrolled.grading.course.scores import scores_csv
from unrolled.grading.course.similarity import tokens
from unrolled.grading.exports import harness
from unrolled.grading.notebooks.handing_in import Found, submit_notebook
from unrolled.grading.notebooks.sheets import NotebookError, sheet_of
from unrolled.grading.notebooks.submissions import answers_of, copies_of

RIGHT = {"q1": SOLUTIONS["q1"]}
ENOUGH = reading.CPU  # seconds, the reader's own limit; a notebook takes a hundredth


def cell(source):
    return {"cell_type": "code", "metadata": {}, "source": source}


def answered(*sources):
    role = {"unrolled": {"role": "answer", "question": "q1"}}
    return [{**cell(source), "metadata": role} for source in sources]


def book_of(*cells):
    book = notebook(RIGHT)
    book["cells"] += cells
    return book


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("role", ["beside an answer", "as an answer", "thrice"])
def test_no_cell_takes_long_to_read(kind, role):
    source = CELLS[kind]
    cells = answered(source) if role == "as an answer" else [cell(source)]
    cells *= 3 if role == "thrice" else 1
    uses = answered(CELLS["uses on a line"])
    book = book_of(*cells, *uses)
    assert seconds(lambda: answers_of(book, exercise())) < ENOUGH
    assert seconds(lambda: copies_of(book, exercise())) < ENOUGH
    assert seconds(lambda: tokens(source)) < ENOUGH
    assert SOLUTIONS["q1"].strip() in answers_of(book, exercise())["q1"]


def test_many_cells_take_time_by_their_number():
    def of(n):
        others = [cell(f"a{i} = b{i}") for i in range(n)]
        mine = answered(*(f"a{i}" for i in range(n)))
        book = book_of(*others, *mine)
        return min(seconds(lambda: answers_of(book, exercise())) for _ in range(3))

    assert of(4_000) < 4 * 2 * of(1_000)


def test_what_shares_a_line_is_borrowed_once():
    shared = cell("import math; tau = 2 * math.pi\nunused = 1")
    text = cell('a = """\n"""; b = a')
    book = book_of(shared, text, *answered("print(tau, math, b)"))
    found = answers_of(book, exercise())["q1"]
    before, _, _ = found.partition("def double")
    assert before == 'import math; tau = 2 * math.pi\na = """\n"""; b = a\n'


def test_what_a_function_in_a_block_keeps_is_not_borrowed():
    block = cell("if True:\n    def f():\n        inner = 1\n    for i in (1,):\n")
    block["source"] += "        outer = 1\n"
    book = book_of(block, *answered("print(inner)"))
    assert "outer" not in answers_of(book, exercise())["q1"]
    book = book_of(block, *answered("print(outer)"))
    assert "inner = 1" in answers_of(book, exercise())["q1"]  # the block as a whole


def test_what_is_done_apart_comes_back():
    here = os.getpid()
    assert apart(lambda: {"a": [1, "\ud800", None]}) == {"a": [1, "\ud800", None]}
    assert apart(os.getpid) != here
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert apart(lambda: resource.getrlimit(resource.RLIMIT_CORE))[0] == 0
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(apart(lambda: "x" * 10**7)) == 10**7


def endless():
    while True:
        pass


def deep(n=0):
    return deep(n + 1)


ENDS = {
    "loops": (endless, "it takes more than 1 CPU seconds to read"),
    "takes memory": (lambda: bytearray(2 << 30), "MiB of memory to read"),
    "recurses": (deep, "it is nested too deeply"),
    "raises": (lambda: 1 // 0, "ZeroDivisionError"),
    "leaves": (lambda: os._exit(3), "ends the reader (exit code 3)"),
    "exits": (lambda: exit(), "SystemExit"),
    "crashes": (lambda: os.kill(os.getpid(), signal.SIGTRAP), "SIGTRAP"),
    "is killed": (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"),
    "says too much": (lambda: "x" * 2_000, "MiB of memory to read"),
    "waits": (lambda: time.sleep(99), "the machine was too busy"),
    "says nothing that is plain": (object, "TypeError"),
}


@pytest.mark.parametrize("how", ENDS)
def test_what_is_done_apart_may_end_in_any_way(how, monkeypatch):
    work, words = ENDS[how]
    monkeypatch.setattr(reading, "CPU", 1)
    monkeypatch.setattr(reading, "_SLOW", "it takes more than 1 CPU seconds to read")
    if how == "waits":
        monkeypatch.setattr(reading, "WALL", 0.5)
    if how == "says too much":
        monkeypatch.setattr(reading, "_REPLY", 1_000)
    with pytest.raises(GaveUpError) as told:
        apart(work)
    assert words in f"{told.value}"
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # nobody is left


@pytest.fixture
def stubborn(monkeypatch):
    """Let the reading of some notebooks go wrong in ways that we do not know of."""
    real = pile.answers_of

    def read(book, of):
        text = json.dumps(book)
        if "endless" in text:
            endless()
        if "large" in text:
            bytearray(1 << 40)
        if "crash" in text:
            os.kill(os.getpid(), signal.SIGTRAP)
        return real(book, of)

    monkeypatch.setattr(pile, "answers_of", read)
    monkeypatch.setattr(harness, "answers_of", read)
    monkeypatch.setattr(reading, "CPU", 1)


def test_a_file_that_kills_its_reader_is_named_and_stops_nobody(tmp_path, stubborn):
    top = tmp_path / "submissions"
    hand_in(top / "anna.ipynb", notebook(RIGHT))
    bad = {"ben": "endless", "carl": "large", "dora": "crash"}
    for student, word in bad.items():
        hand_in(top / f"{student}.ipynb", notebook({"q1": f"{word} = 1"}))
    hand_in(top / "zoe.ipynb", notebook(RIGHT))
    found = read_pile(top, exercise())
    assert [one.student for one in found.submissions] == ["anna", "zoe"]
    why = {one.file: one.why for one in found.rejected}
    assert set(why) == {f"{student}.ipynb" for student in bad}
    assert all(words.startswith("cannot be read: ") for words in why.values())
    assert "CPU seconds" in why["ben.ipynb"]
    assert "memory" in why["carl.ipynb"]
    assert "SIGTRAP" in why["dora.ipynb"]
    course = Course(exercise=exercise(), records=(), rejected=found.rejected)
    rows = list(csv.DictReader(io.StringIO(scores_csv(course))))
    assert [row["student"] for row in rows] == [*bad]
    assert {row["status"] for row in rows} == {"nothing to grade"}
    assert all(file in report_page(course) for file in why)
    assert read_pile(top, exercise()) == found


def test_on_gradescope_such_a_file_is_named(tmp_path, stubborn):
    hand_in(tmp_path / "a.ipynb", notebook({"q1": "endless = 1"}))
    with pytest.raises(NotebookError, match=r"a\.ipynb cannot be read: it takes more"):
        harness._submitted(tmp_path, exercise())
    hand_in(tmp_path / "b.ipynb", notebook(RIGHT))
    assert "double" in harness._submitted(tmp_path, exercise())["q1"]


def test_a_list_of_files_that_fills_the_memory_is_not_read(tmp_path, monkeypatch):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.ipynb", json.dumps(notebook(RIGHT)))
    whole = data.getvalue()
    at = whole.rindex(b"PK\x01\x02")
    end = whole.rindex(b"PK\x05\x06")
    entries = whole[at:end] * 30_000
    tail = bytearray(whole[end:])
    tail[12:16] = struct.pack("<I", len(entries))  # and it says that there is one file
    (tmp_path / "anna.zip").write_bytes(whole[:at] + entries + tail)
    opened = []
    real = zipfile.ZipFile

    def count(file, *more):
        opened.append(file)
        return real(file, *more)

    monkeypatch.setattr(zipfile, "ZipFile", count)
    [one] = read_pile(tmp_path, exercise()).rejected
    assert one.why == "holds 30,000 files, and at most 2,000 are read"
    assert opened == []  # not here


def test_a_long_path_in_an_archive_is_not_cleaned(tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for i in range(9):
            archive.writestr(f"{i}/a" + "\u0315\u0300" * 8_000 + ".ipynb", "x")
    (tmp_path / "anna.zip").write_bytes(data.getvalue())
    start = time.process_time()
    found = read_pile(tmp_path, exercise()).rejected
    assert time.process_time() - start < 1
    assert len(found) == 9
    assert "has a path of 16,009 characters; at most 1000 are read" in found[0].why


@pytest.mark.parametrize("depth", [100, 900])
def test_a_deep_notebook_is_submitted_or_refused_in_words(depth, tmp_path):
    book = notebook(RIGHT)
    book["metadata"]["unrolled"] = sheet_of(exercise())
    inner: list = []
    for _ in range(depth):
        inner = [inner]
    book["metadata"]["deep"] = inner
    found = Found(notebook=book, folder=tmp_path, source="here")
    if depth < 500:
        assert "Written" in submit_notebook(found)
    else:
        with pytest.raises(NotebookError, match="nested too deeply to be copied"):
            submit_notebook(found)
        assert not list(tmp_path.iterdir())
