"""A new chapter: made in its place, refused where it must be, and in order as it is."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import chapters
import new_chapter
from minibook import build, page
from unrolled_book.form import measure

ROOT = Path(__file__).resolve().parents[2]
OUTLINE = """
- part: Part I. Counting
  idea: One, two.
  chapters:
    - {stem: 01-one, title: One, line: The first.}
    - {stem: 02-two-and-more, title: Two and more, line: The second.}
    - {stem: 03-three, title: Three, line: The third.}
- part: Part II. Adding
  idea: And more.
  chapters:
    - {stem: 04-four, title: Four, line: The fourth.}
- part: Part III. Ending
  idea: Enough.
  chapters:
    - {stem: 05-five, title: Five, line: The fifth.}
"""
TOC = """format: jb-book
root: book/index
parts:
  - caption: Part I. Counting
    chapters:
      - file: chapters/01-one
        sections:
          - file: chapters/01-one-more
      - file: chapters/03-three
  - caption: Part III. Ending
    chapters:
      - file: chapters/05-five
  - caption: Graded exercises
    chapters:
      - file: book/exercise-01
      - file: book/instructors
"""


@pytest.fixture
def tiny(tmp_path) -> Path:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "outline.yml").write_text(OUTLINE)
    (tmp_path / "book" / "_toc.yml").write_text(TOC)
    return tmp_path


def contents(root: Path) -> dict[str, list[str]]:
    """Return the files of each part, those that are nested among them."""
    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text())
    return {
        part["caption"]: re.findall(r"'file': '([^']+)'", str(part["chapters"]))
        for part in toc["parts"]
    }


# ---- where things go ----


def test_a_chapter_gets_page_exercise_room_test_and_contents(tiny):
    plan, files = new_chapter.make(tiny, "2", "two-and-more")
    assert plan.room == "c02_two_and_more"
    room = "code/unrolled/chapters/c02_two_and_more"
    assert set(files) == {
        "chapters/02-two-and-more.md",
        "exercises/02-two-and-more.md",
        f"{room}/__init__.py",
        f"{room}/two_and_more_experiment.py",
        f"{room}/figures.py",
        f"{room}/quiz.py",
        "tests/package/test_c02_two_and_more.py",
        "book/exercise-02.md",
    }
    assert all((tiny / name).is_file() for name in files)
    for name in files:
        assert not re.search(r"@\w+@", (tiny / name).read_text()), name
    assert contents(tiny) == {
        "Part I. Counting": [
            "chapters/01-one",
            "chapters/01-one-more",
            "chapters/02-two-and-more",
            "chapters/03-three",
        ],
        "Part III. Ending": ["chapters/05-five"],
        "Graded exercises": [
            "book/exercise-01",
            "book/exercise-02",
            "book/instructors",
        ],
    }


def test_a_part_that_the_contents_lack_is_put_in_its_place(tiny):
    new_chapter.make(tiny, "04", "four")
    found = contents(tiny)
    assert list(found)[:3] == [
        "Part I. Counting",
        "Part II. Adding",
        "Part III. Ending",
    ]
    assert found["Part II. Adding"] == ["chapters/04-four"]


def test_the_contents_keep_every_other_line(tiny):
    new_chapter.make(tiny, "04", "four")
    new_chapter.make(tiny, "02", "two-and-more")
    after = (tiny / "book" / "_toc.yml").read_text().splitlines()
    assert [line for line in TOC.splitlines() if line not in after] == []


@pytest.mark.parametrize("stem", ["05-five", "03-three"])
def test_the_last_part_and_the_last_chapter_of_a_part_find_their_place(tiny, stem):
    toc = tiny / "book" / "_toc.yml"
    toc.write_text(TOC.replace(f"      - file: chapters/{stem}\n", ""))
    if stem == "05-five":  # a part without chapters is not in the contents
        text = toc.read_text()
        toc.write_text(
            text.replace("  - caption: Part III. Ending\n    chapters:\n", "")
        )
    new_chapter.make(tiny, stem[:2], stem[3:])
    assert contents(tiny)["Part I. Counting"][:2] == [
        "chapters/01-one",
        "chapters/01-one-more",
    ]
    assert list(contents(tiny))[1] == "Part III. Ending"


# ---- what is refused ----


@pytest.mark.parametrize(
    ("number", "name", "fault"),
    [
        (
            "02",
            "two",
            "'02' NAME='two' is not in book/outline.yml: it plans 02-two-and",
        ),
        ("07", "lstm", "not in book/outline.yml: it has 01-one, 02-two-and-more"),
        ("", "", "N='' NAME='' is not in book/outline.yml: it has 01-one"),
        ("two", "two", "N='two' NAME='two' is not in book/outline.yml"),
    ],
)
def test_a_chapter_that_is_not_planned_is_refused(tiny, number, name, fault):
    with pytest.raises(ValueError, match=fault):
        new_chapter.make(tiny, number, name)
    assert not (tiny / "chapters").exists()


@pytest.mark.parametrize("name", ["chapters/04-four.md", "exercises/04-four.md"])
def test_nothing_is_overwritten(tiny, name):
    (tiny / name).parent.mkdir()
    (tiny / name).write_text("mine")
    with pytest.raises(FileExistsError, match=f"not overwritten: {name}"):
        new_chapter.make(tiny, "04", "four")
    assert (tiny / name).read_text() == "mine"
    assert (tiny / "book" / "_toc.yml").read_text() == TOC
    assert not (tiny / "code").exists()


# ---- what is made is in order ----

NEW = next(p for p in new_chapter.planned(ROOT) if not (
    ROOT / "chapters" / f"{p.stem}.md"
).exists())  # fmt: skip
#: What the template leaves to the author, and who asks for it.
LEFT = {
    "test_a_chapter_has_a_lab",
    "test_exercise_has_every_kind_of_question_and_words_for_a_fifth",
    "test_each_objective_of_the_chapter_has_a_question",
}
CONF = """
extensions = ["sphinx_external_toc", "myst_nb", "sphinx.ext.mathjax", "sphinx_exercise",
              "sphinxcontrib.bibtex", "unrolled_book"]
external_toc_path = "book/_toc.yml"
exclude_patterns = ["_build", "chapters/*.md", "exercises"]
bibtex_bibfiles = ["book/references.bib"]
nb_execution_mode = "off"
numfig = True
mathjax_path = "mathjax/tex-chtml.js"
myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence"]
suppress_warnings = ["mystnb.unknown_mime_type"]
html_theme = "sphinx_book_theme"
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Path:
    """A copy of the repository with the next planned chapter made and run in it."""
    root = tmp_path_factory.mktemp("copy") / "repository"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    call(root, "tools/new_chapter.py", NEW.stem[:2], NEW.stem[3:])
    call(root, "-m", "unrolled", "run", NEW.recipe)
    call(root, "tools/chapters.py", NEW.stem[:2])
    return root


def call(root: Path, *command: str, check: bool = True) -> str:
    """Run Python in the copy, with the copy's package, and return what it printed."""
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=root, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(root / "code"), "MPLBACKEND": "agg"},
    )  # fmt: skip
    assert not check or ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    ("title", "after_a_colon"),
    [
        ("GRU, stacks, both directions", "GRU, stacks, both directions"),
        ("The LSTM", "the LSTM"),
        ("A primer", "a primer"),
    ],
)
def test_an_abbreviation_keeps_its_capitals(title, after_a_colon):
    assert new_chapter._uncapitalised(title) == after_a_colon


@pytest.mark.slow
def test_a_new_chapter_passes_what_every_chapter_passes(copied):
    tests = (
        "tests/book/test_chapters.py",
        "tests/grading/test_exercises.py",
        f"tests/package/test_{NEW.room}.py",
    )
    chosen = f"{NEW.stem} or [{NEW.stem[:2]} or {NEW.room} or contents or layers"
    told = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE"]
    others = ("tests/package/test_layering.py", "tests/book/test_reference.py")
    fast = ["-m", "not built and not slow", "-k", chosen.replace("[", "")]
    out = call(copied, *told, *tests, *others, *fast, check=False)
    failed = {re.sub(r"\[.*", "", name) for name in re.findall(r"::(\w+\S*)", out)}
    assert failed == LEFT, out
    assert int(re.search(r"(\d+) passed", out)[1]) > 20


@pytest.mark.slow
def test_a_new_chapter_is_laid_out_and_typed(copied):
    room = copied / "code" / "unrolled" / "chapters" / NEW.room
    test = copied / "tests" / "package" / f"test_{NEW.room}.py"
    for told in (["check", "-q"], ["format", "--check", "-q"]):
        call(copied, "-m", "ruff", *told, str(room), str(test))
    cache = f"--cache-dir={ROOT / '.mypy_cache'}"  # torch is in it already
    call(copied, "-m", "mypy", cache, f"code/unrolled/chapters/{NEW.room}")
    source = copied / "chapters" / f"{NEW.stem}.md"
    before = source.read_bytes()
    assert not chapters.format_code(source)
    assert source.read_bytes() == before


@pytest.mark.slow
def test_a_new_chapter_builds_and_keeps_the_form_but_for_more_claims(copied, tmp_path):
    nn = NEW.stem[:2]
    kept = (
        f"chapters/{NEW.stem}.md",
        f"chapters/{NEW.stem}.ipynb",
        f"exercises/{NEW.stem}.md",
        f"book/exercise-{nn}.md",
        "book/outline.yml",
        "book/references.bib",
        "LICENSE",
    )
    for name in kept:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(copied / name, tmp_path / name)
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "book" / "corrections.yml").write_text("[]\n")
    (tmp_path / "book" / "claims.md").write_text(
        "# Ledger\n\n```{claims-ledger}\n```\n"
    )
    works = "```{bibliography}\n```\n"
    (tmp_path / "book" / "index.md").write_text(
        f"(doing-exercises)=\n# Home\n\nHere.\n\n## Works\n\n{works}"
    )
    (tmp_path / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n"
        f"  - file: chapters/{NEW.stem}\n  - file: book/claims\n"
        f"  - file: book/exercise-{nn}\n"
    )
    ran = build(tmp_path)
    assert ran.returncode == 0, ran.stderr
    html = page(tmp_path, f"chapters/{NEW.stem}.html")
    assert html.select_one(".graded a")["href"] == f"../book/exercise-{nn}.html"
    assert html.select_one("figure .caption-number").text.strip() == f"Fig. {int(nn)}.1"
    form = measure(str(html))
    assert form.faults("main") == ["claims: 1, should be 6 to 10"]
    assert (form.audit, form.folded > 10) == (0, True)
