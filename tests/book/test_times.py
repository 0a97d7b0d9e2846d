"""Execution times: read out of what was stored, and within the book's limits."""

import json
from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from unrolled.book.claims import claim
from unrolled.runtime import fingerprint
from unrolled_book import times

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "_build" / "html" / "book" / "times.html"
CLAIM = claim("a", "A.", measured={"a": 1.0}, holds=lambda m: True)


def write_chapter(root: Path, stem: str, *, seconds: float, n_code: int) -> Path:
    """Write a notebook with ``n_code`` claims, a cell of code each, and its source."""
    code = {"cell_type": "code", "source": "", "metadata": {}, "execution_count": 1}
    output = {
        "output_type": "execute_result",
        "data": CLAIM._repr_mimebundle_(),
        "metadata": {},
    }
    prose = {"cell_type": "markdown", "source": "Words.", "metadata": {}}
    notebook = {
        "cells": [prose, *[code | {"outputs": [output]} for _ in range(n_code)]],
        "metadata": {
            "unrolled": {"seconds": seconds, "cores": 2},
            "language_info": {"version": "3.11.7"},
        },
    }
    path = root / "chapters" / f"{stem}.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(notebook))
    path.with_suffix(".md").write_text("its source")
    return path


def write_result(root: Path, name: str) -> None:
    folder = root / "book" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "recipe": name,
        "versions": {"python": "3.11.7", "torch": "2.13.0+cpu"},
        "cores": 2,
        "seconds": 99.6,
        "units": [{}, {}, {}],
    }
    (folder / f"{name}.json").write_text(json.dumps(record))


# ---- what is read ----


def test_a_chapter_is_what_its_notebook_says(tmp_path):
    path = write_chapter(tmp_path, "04-a", seconds=30.3, n_code=2)
    (found,) = times.chapter_times(tmp_path)
    assert found == times.Chapter(
        docname="chapters/04-a", seconds=30.3, cores=2, cells=2, claims=2,
        size=path.stat().st_size, python="3.11.7",
    )  # fmt: skip


def test_a_students_copy_is_no_chapter(tmp_path):
    path = write_chapter(tmp_path, "04-a", seconds=30.3, n_code=2)
    path.with_name("04-a-Copy1.ipynb").write_text(path.read_text())
    assert len(times.chapter_times(tmp_path)) == 1


def test_a_recipe_is_what_its_results_say_and_a_partial_run_is_none(tmp_path):
    write_result(tmp_path, "flip_flop")
    (tmp_path / "book" / "results" / "other.partial.json").write_text("{}")
    (found,) = times.recipe_times(tmp_path)
    assert found == times.Recipe(
        name="flip_flop", seconds=99.6, cores=2, units=3, python="3.11.7",
        torch="2.13.0+cpu",
    )  # fmt: skip


def test_versions_are_those_of_the_requirements(tmp_path):
    pins = "# torch==1.0\ntorch==2.13.0\nnumpy==2.4.6\nmatplotlib==3.11.2\nrich==1\n"
    (tmp_path / "requirements.txt").write_text(pins)
    found = times.pinned(tmp_path)
    assert found == {"torch": "2.13.0", "numpy": "2.4.6", "matplotlib": "3.11.2"}


def test_the_versions_shown_are_those_that_numbers_rest_on():
    assert {"torch", "numpy"} <= set(times.PINNED) & set(fingerprint())


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.4, "0 s"),
        (30.3, "30 s"),
        (60, "60 s"),
        (119.4, "119 s"),
        (119.6, "2 min"),
        (320, "5 min 20 s"),
        (720, "12 min"),
        (3600, "1 h"),
        (7530, "2 h 6 min"),
        (7199, "2 h"),
    ],
)
def test_a_duration_is_printed_as_a_reader_wants_it(seconds, shown):
    assert times.duration(seconds).replace(times.KEEP, " ") == shown


def test_a_number_is_not_parted_from_its_unit():
    assert times.duration(320) == f"5{times.KEEP}min 20{times.KEEP}s"
    assert times.megabytes(900_000) == f"0.9{times.KEEP}MB"


# ---- the book's own ----


#: What one machine may be slower by than another. A busy one is slower by far, 91 s for
#: 49, but of all runs the least is kept: 'make execute CHAPTER=NN' mends that later.
NOISE = 1.125


def limit_faults(root: Path) -> list[str]:
    found = times.chapter_times(root)
    faults = [
        f"{chapter.docname}: {chapter.seconds} s"
        for chapter in found
        if chapter.seconds > NOISE * times.PAGE_LIMIT
    ]
    by_chapter = Counter()
    for chapter in found:
        by_chapter[chapter.docname[9:11]] += chapter.seconds
    faults += [
        f"chapter {number}: {seconds:.0f} s"
        for number, seconds in by_chapter.items()
        if seconds > NOISE * times.CHAPTER_LIMIT
    ]
    total = by_chapter.total()
    return faults + [f"all: {total:.0f} s"] * (total > NOISE * times.BOOK_LIMIT)


def test_every_chapter_and_the_book_keep_to_their_limits():
    assert times.chapter_times(ROOT)
    assert limit_faults(ROOT) == []


def test_the_limits_are_those_of_the_project(tmp_path):
    limits = (times.PAGE_LIMIT, times.CHAPTER_LIMIT, times.BOOK_LIMIT)
    assert limits == (60, 100, 1800)
    for n in range(30):
        write_chapter(tmp_path, f"{n:02}-a", seconds=NOISE * 60, n_code=0)
    assert limit_faults(tmp_path) == []
    write_chapter(tmp_path, "30-a", seconds=NOISE * 60 + 1, n_code=0)
    assert limit_faults(tmp_path) == ["chapters/30-a: 68.5 s", "all: 2094 s"]


def test_the_pages_of_a_chapter_share_its_limit(tmp_path):
    write_chapter(tmp_path, "01-a", seconds=NOISE * 60, n_code=0)
    further = write_chapter(tmp_path, "01-a-b", seconds=NOISE * 40, n_code=0)
    further.with_suffix(".md").write_text("---\npage: study\n---\n")
    assert limit_faults(tmp_path) == []
    write_chapter(tmp_path, "01-a-c", seconds=5, n_code=0).with_suffix(
        ".md"
    ).write_text("---\npage: core\n---\n")
    assert limit_faults(tmp_path) == ["chapter 01: 118 s"]


@pytest.mark.built
def test_the_page_shows_every_chapter_recipe_and_version():
    page = BeautifulSoup(PAGE.read_text(encoding="utf-8"), "html.parser")
    by_chapter, by_recipe, versions = (
        [[cell.text.strip() for cell in row("td")] for row in table.select("tbody tr")]
        for table in page.select("article table")
    )
    runs = times.chapter_times(ROOT)
    *rows, total = by_chapter
    assert [row[1] for row in rows] == [times.duration(run.seconds) for run in runs]
    assert [row[4] for row in rows] == [str(run.claims) for run in runs]
    assert total[0] == "all"
    assert total[1] == times.duration(sum(run.seconds for run in runs))
    recipes = times.recipe_times(ROOT)
    assert [row[:2] for row in by_recipe] == [
        [recipe.name, times.duration(recipe.seconds)] for recipe in recipes
    ]
    assert dict(versions[1:]) == times.pinned(ROOT)
    words = page.article.text.replace(times.KEEP, " ")
    said = "60 s of one core, the pages of a chapter together 100 s and all chapters"
    assert f"{said} together 30 min" in " ".join(words.split())
