"""The pile of a class: whose is what, what counts, and nothing that stops it."""

import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from border_class import hand_in, notebook
from border_exercise import SOLUTIONS, exercise
from unrolled.grading.course import archives
from unrolled.grading.course.names import cleaned, file_names, slug, student_of
from unrolled.grading.course.pile import read_pile

NAME = "99-border"
RIGHT = {"q1": SOLUTIONS["q1"]}
EARLY, LATE = "2026-11-01T10:00:00+00:00", "2026-11-02T10:00:00+00:00"


@pytest.fixture
def top(tmp_path):
    folder = tmp_path / "submissions"
    folder.mkdir()
    return folder


def zipped(files) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def pile_of(top):
    return read_pile(top, exercise())


def students(top):
    return {one.student: one.file for one in pile_of(top).submissions}


def rejections(top):
    return {one.file: one.why for one in pile_of(top).rejected}


def text(**more):
    return json.dumps(notebook(RIGHT, **more))


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("anna.ipynb", "anna"),
        ("Anna Li.IPYNB", "Anna Li"),
        ("anna", "anna"),
        ("anna.zip", "anna"),
        ("anna.li.ipynb", "anna.li"),
        ("anna-99-border.submission.ipynb", "anna"),
        ("anna_99-border-2.submission.ipynb", "anna"),
        ("99-border_anna.ipynb", "anna"),
        ("anna.submission.ipynb", "anna"),
        (
            "Anna Li_123_assignsubmission_file_99-border.submission.ipynb",
            "Anna Li (123)",
        ),
        ("Anna Li_123_assignsubmission_file_", "Anna Li (123)"),
        ("Anna Li_123_assignsubmission_file", "Anna Li (123)"),
        ("lianna_LATE_12_345_99-border.submission-1.ipynb", "lianna (12)"),
        ("lianna_12_345_work.ipynb", "lianna (12)"),
        ("99-border.ipynb", ""),
        ("99-border.submission.ipynb", ""),
        ("99-border-3.submission.ipynb", ""),
        ("...ipynb", ".."),
        ("a\x1b[31m\n.ipynb", r"a\x1b[31m\x0a"),
        ("a\u202egnp.ipynb", r"a\x202egnp"),
        ("a\udcff.ipynb", r"a\xdcff"),
        ("e\u0301.ipynb", "\xe9"),
    ],
)
def test_whose_a_file_is(name, student):
    assert student_of(name, NAME) == student


def test_cleaned_names_differ_where_names_do():
    names = ["a\x01", "a\x02", r"a\x01", "a\\", "a", "A", "a ", "\u202ea", "\ud800a"]
    assert len({cleaned(name) for name in names}) == len(names)
    assert all(cleaned(name).isprintable() for name in names)


def test_files_of_students_do_not_overwrite_each_other():
    odd = [
        "..",
        ".",
        "",
        "/etc/passwd",
        "../../x",
        "a/b",
        "a-b",
        "con",
        "a\\b",
        "Ä" * 300,
    ]
    odd += [
        "Anna",
        "anna",
        "ANNA",
        "ß",
        "ss",
        "x.",
        "x",
        "-x",
        "\x01",
        "a\nb",
        "é",
        "ben",
    ]
    names = file_names(odd)
    assert names == {one: file_names(odd[::-1])[one] for one in odd}
    assert len({name.casefold() for name in names.values()}) == len(odd)
    for name in names.values():
        assert Path(name).name == name
        assert name not in (".", "..", "")
        assert name.isprintable()
        assert len(f"{name}.html".encode()) < 200
    assert names["ben"] == "ben"
    assert names["é"] == "é"
    assert names["Anna"] != "Anna"
    assert file_names(["Anna", "ben"]) == {"Anna": "Anna", "ben": "ben"}
    assert slug("../..") == "student"


def test_notebooks_folders_and_archives(top):
    hand_in(top / "anna.ipynb", notebook(RIGHT))
    hand_in(top / "ben" / "deep" / "work.ipynb", notebook(RIGHT))
    (top / "ben" / "picture.png").write_bytes(b"x")
    (top / "carl.zip").write_bytes(zipped({"x/99.ipynb": text(), "readme.txt": "x"}))
    (top / "dora").mkdir()
    (top / "dora" / "all.zip").write_bytes(zipped({"a.ipynb": text()}))
    for litter in (
        ".DS_Store",
        "._anna.ipynb",
        ".git/a.ipynb",
        "__MACOSX/b.ipynb",
        "Thumbs.db",
    ):
        hand_in(top / litter, notebook(RIGHT))
    hand_in(top / "ben" / ".ipynb_checkpoints" / "c.ipynb", notebook(RIGHT))
    hand_in(top / "...ipynb", notebook(RIGHT))
    assert students(top) == {
        "..": "...ipynb",
        "anna": "anna.ipynb",
        "ben": "ben/deep/work.ipynb",
        "carl": "carl.zip/x/99.ipynb",
        "dora": "dora/all.zip/a.ipynb",
    }
    assert pile_of(top).rejected == ()
    assert pile_of(top).submissions[1].answers["q1"] == RIGHT["q1"] + "\n"


def test_a_whole_class_in_one_archive(top, tmp_path):
    moodle = "Anna Li_1_assignsubmission_file_"
    files = {
        f"{moodle}/99-border.submission.ipynb": text(),
        "Anna Li_2_assignsubmission_file_/99-border.submission.ipynb": text(),
        "ben_12_34_99-border.submission.ipynb": text(),
        "carl.zip": zipped({"a.ipynb": text(), "inner.zip": zipped({"b.ipynb": "x"})}),
        "win\\dows.ipynb": text(),
        "../../up.ipynb": text(),
        "/abs.ipynb": text(),
        "notes.txt": "x",
    }
    path = tmp_path / "class.zip"
    path.write_bytes(zipped(files))
    assert students(path) == {
        "abs": "abs.ipynb",
        "Anna Li (1)": f"{moodle}/99-border.submission.ipynb",
        "Anna Li (2)": "Anna Li_2_assignsubmission_file_/99-border.submission.ipynb",
        "ben (12)": "ben_12_34_99-border.submission.ipynb",
        "carl": "carl.zip/a.ipynb",
        "up": "up.ipynb",
        "win": "win/dows.ipynb",
    }
    assert rejections(path) == {"notes.txt": "is neither a notebook (.ipynb) nor a zip"}
    assert sorted(os.listdir(tmp_path)) == ["class.zip", "submissions"]


def test_a_class_within_the_class_is_nobodys(top):
    names = ["Anna Li_1_assignsubmission_file_", "Ben Ox_2_assignsubmission_file_"]
    files = {f"{name}/99-border.submission.ipynb": text() for name in names}
    (top / "Exercise 99.zip").write_bytes(zipped(files))
    for name, data in {**files, f"{names[0]}/broken.ipynb": "x"}.items():
        path = top / "unpacked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data, encoding="utf-8")
    one = {f"{names[0]}/a.ipynb": text()}  # a student may have packed such a folder
    (top / "carl.zip").write_bytes(zipped(one))
    assert students(top) == {"carl": f"carl.zip/{names[0]}/a.ipynb"}
    why = rejections(top)
    assert set(why) == {"Exercise 99.zip", "unpacked"}
    assert all("grade it by itself" in words for words in why.values())


def test_of_several_the_last_sealed_counts(top):
    hand_in(top / "anna" / "a.ipynb", notebook(RIGHT, seal=LATE))
    hand_in(top / "anna" / "b.ipynb", notebook(RIGHT, seal=EARLY))
    hand_in(top / "anna.ipynb", notebook(RIGHT))
    changed = notebook(RIGHT, seal="2026-12-01T10:00:00+00:00")
    changed["cells"][0]["source"] += "\n1 + 1"
    hand_in(top / "anna" / "c.ipynb", changed)
    (anna,) = pile_of(top).submissions
    assert (anna.file, anna.seal, anna.submitted) == ("anna/a.ipynb", "sealed", LATE)
    why = "a duplicate: anna/a.ipynb of the same student is graded"
    assert rejections(top) == dict.fromkeys(
        ["anna.ipynb", "anna/b.ipynb", "anna/c.ipynb"], why
    )
    for file in ("a", "b"):
        (top / "anna" / f"{file}.ipynb").unlink()
    (anna,) = pile_of(top).submissions
    assert (anna.file, anna.seal) == ("anna/c.ipynb", "changed")
    (top / "anna" / "c.ipynb").unlink()
    hand_in(top / "anna" / "z.ipynb", notebook(RIGHT))
    assert students(top) == {"anna": "anna/z.ipynb"}  # both unsealed: the last by name


def test_times_of_seals_are_told_in_one_form(top):
    times = {
        "a": (LATE, LATE),
        "b": ("2026-11-02T12:00:00+02:00", LATE),
        "c": ("<b>now</b>", ""),
        "d": ("0001-01-01T00:00:00+14:00", ""),
        "e": (3, ""),
    }
    for name, (time, _) in times.items():
        hand_in(top / f"{name}.ipynb", notebook(RIGHT, seal=time))
    found = {one.student: one.submitted for one in pile_of(top).submissions}
    assert found == {name: told for name, (_, told) in times.items()}


def test_another_edition_is_flagged_and_its_seal_is_that_of_its_own_questions(top):
    hand_in(top / "same.ipynb", notebook(RIGHT, seal=LATE))
    hand_in(top / "other.ipynb", notebook(RIGHT, digest="1" * 64, seal=LATE))
    flags = {one.student: one.other_edition for one in pile_of(top).submissions}
    assert flags == {"other": True, "same": False}
    seals = {one.student: one.seal for one in pile_of(top).submissions}
    assert seals["other"] == "changed"  # without a sheet nobody can tell
    from unrolled.grading.notebooks.handing_in import Found, submit_notebook
    from unrolled.grading.notebooks.sheets import sheet_of

    older = replace(exercise("q1", "q2"), digest="2" * 64)
    book = notebook(RIGHT, of=older)
    book["metadata"]["unrolled"] = sheet_of(older)
    (top / "real").mkdir()
    submit_notebook(Found(notebook=book, folder=top / "real", source="here"))
    real = next(one for one in pile_of(top).submissions if one.student == "real")
    assert (real.seal, real.other_edition) == ("sealed", True)


UNREADABLE = {
    "empty.ipynb": b"",
    "text.ipynb": b"hello",
    "list.ipynb": b"[]",
    "deep.ipynb": b"[" * 10**6,
    "binary.ipynb": bytes(range(256)) * 9,
    "other.ipynb": json.dumps(notebook(RIGHT, name="98-other")).encode(),
    "odd.ipynb": json.dumps(notebook(RIGHT, name="98\x1b[31m")).encode(),
    "nothing.ipynb": b'{"cells": []}',
    "strange.ipynb": b'{"cells": [3, null, {"source": {}}], "metadata": []}',
    "99-border.ipynb": json.dumps(notebook(RIGHT)).encode(),
    "essay.docx": b"x",
    "bad.zip": b"PK\x03\x04 and no more",
    "cut.zip": zipped({"a.ipynb": text() * 99})[:-40],
}


def test_what_cannot_be_read_is_listed_and_stops_nobody(top):
    for name, data in UNREADABLE.items():
        (top / name).write_bytes(data)
    hand_in(top / "anna.ipynb", notebook(RIGHT))
    (top / "link.ipynb").symlink_to(top / "anna.ipynb")
    (top / "linked").symlink_to("/etc")
    os.mkfifo(top / "pipe.ipynb")
    (top / "empty").mkdir()
    (top / "words").mkdir()
    for n in range(5):
        (top / "words" / f"{n}.docx").write_bytes(b"x")
    assert students(top) == {"anna": "anna.ipynb"}
    why = rejections(top)
    assert why.keys() == {
        *UNREADABLE,
        *("link.ipynb", "linked", "pipe.ipynb", "empty", "words"),
    }
    assert why["text.ipynb"] == "it is no notebook: it is not JSON"
    assert why["list.ipynb"] == "it is no notebook: it has no cells"
    assert why["other.ipynb"] == "is of '98-other', not of '99-border'"
    assert all(text.isprintable() for text in why.values())
    assert "does not say of which exercise it is" in why["nothing.ipynb"]
    assert "does not say whose it is: call it NAME.ipynb" in why["99-border.ipynb"]
    assert why["bad.zip"] == "is no zip that can be read"
    assert why["linked"] == "is a link, and links are not followed"
    assert why["empty"] == "has no notebook in it"
    assert why["words"] == (
        "has no notebook in it: there are 0.docx, 1.docx, 2.docx, …"
    )


def test_a_fault_of_ours_in_one_file_stops_nobody(top, monkeypatch):
    from unrolled.grading.course import pile

    hand_in(top / "anna.ipynb", notebook(RIGHT))
    hand_in(top / "ben.ipynb", notebook({"q1": "def double(x): return 3"}))
    real = pile.answers_of

    def fail(book, of):
        if "return 3" in str(book):
            raise ZeroDivisionError("LEAK")
        return real(book, of)

    monkeypatch.setattr(pile, "answers_of", fail)
    assert students(top) == {"anna": "anna.ipynb"}
    assert rejections(top) == {"ben.ipynb": "cannot be read: ZeroDivisionError"}


def test_large_files_and_bombs_are_not_read(top, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST", 5_000)
    monkeypatch.setattr(archives, "_ARCHIVE", 20_000)
    monkeypatch.setattr(archives, "_MEMBERS", 9)
    (top / "large.ipynb").write_bytes(b" " * 5_001)
    (top / "bomb.zip").write_bytes(zipped({"a.ipynb": " " * 10**6}))
    (top / "one.zip").write_bytes(zipped({"a.ipynb": " " * 5_001}))
    parts = {f"{n}.ipynb": " " * 4_000 for n in range(8)}
    (top / "many.zip").write_bytes(zipped(parts))
    (top / "files.zip").write_bytes(zipped({f"{n}.png": "" for n in range(10)}))
    (top / "huge.zip").write_bytes(os.urandom(20_001))
    deep = Path(*"abcdefgh")
    hand_in(top / deep / "x.ipynb", notebook(RIGHT))
    why = rejections(top)
    assert why["large.ipynb"] == "has 5,001 bytes, and at most 5,000 are read"
    assert why["bomb.zip"].startswith("unpacks to 1,000,000 bytes, and at most")
    assert why["one.zip/a.ipynb"] == "has 5,001 bytes, and at most 5,000 are read"
    assert why["many.zip"] == ("unpacks to 32,000 bytes, and at most 20,000 are read")
    assert why["files.zip"] == "holds 10 files, and at most 9 are read"
    assert why["huge.zip"] == "has 20,001 bytes, and at most 20,000 are read"
    assert why["a/b/c/d/e/f/g"] == "is more than 6 folders deep"


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_unpacks_all_at_once_is_not_unpacked(top, packing):
    with zipfile.ZipFile(top / "anna.zip", "w", packing) as archive:
        archive.writestr("a.ipynb", text())
    assert rejections(top) == {
        "anna.zip/a.ipynb": "is packed in a way that zips seldom are"
    }


def test_a_member_that_lies_about_its_size_or_needs_a_password(top):
    data = bytearray(zipped({"a.ipynb": text()}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1  # says that it is encrypted
    data[6] |= 1
    (top / "locked.zip").write_bytes(data)
    lying = bytearray(zipped({"a.ipynb": text()}))
    at = lying.rindex(b"PK\x01\x02")
    lying[at + 24 : at + 28] = b"\x01\0\0\0"  # one byte, it says
    (top / "lying.zip").write_bytes(lying)
    assert students(top) == {}
    assert set(rejections(top)) == {"locked.zip/a.ipynb", "lying.zip/a.ipynb"}


def test_the_order_of_files_changes_nothing(tmp_path):
    names = ["b", "a", "A", "ä", "c (1)"]
    for folder, order in (("one", names), ("two", names[::-1])):
        for name in order:
            hand_in(tmp_path / folder / f"{name}.ipynb", notebook(RIGHT))
            hand_in(tmp_path / folder / name / "again.ipynb", notebook(RIGHT))
    assert pile_of(tmp_path / "one") == pile_of(tmp_path / "two")
    assert len(pile_of(tmp_path / "one").submissions) == len(names)


def test_no_folder_at_all(tmp_path):
    (tmp_path / "x").write_text("x")
    for path in (tmp_path / "none", tmp_path / "x"):
        with pytest.raises(
            ValueError, match="must be a folder of submissions, or a zip"
        ):
            pile_of(path)


def test_a_file_that_cannot_be_graded_still_says_whose_it_is(tmp_path):
    moodle = "Anna Li_7_assignsubmission_file_"
    for name in ("ben.ipynb", "list.csv", f"carl/{exercise().name}.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{")
    for name in (moodle, "dora"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "essay.docx").write_text("words")
    (tmp_path / "emil.zip").write_text("no zip")
    (tmp_path / f"{exercise().name}.ipynb").write_text("{")
    found = {one.file: one.student for one in pile_of(tmp_path).rejected}
    assert found == {
        "ben.ipynb": "ben",
        "list.csv": "",
        f"carl/{exercise().name}.ipynb": "carl",
        moodle: "Anna Li (7)",
        "dora": "dora",
        "emil.zip": "emil",
        f"{exercise().name}.ipynb": "",
    }
