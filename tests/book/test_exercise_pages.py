"""Pages of exercises: made from their sources, made anew with them, and no secrets."""

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

import unrolled
from minibook import build, page
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.leaks import scan
from unrolled_book import exercise_links

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
SOURCES = exercise_links.sources(ROOT)

SOURCE = '''---
exercise:
  title: Twice & thrice
  questions:
    q1: {kind: function, minutes: 15, forbid: [torch.add]}
    q2: {kind: words, points: 2, minutes: 10}
    q3: {kind: test, minutes: 5}
---

# Exercise 1: twice & thrice

The opening words.

```{code-cell} ipython3
:tags: [given]

import torch
given_number = 42
```

## Question 1: the `double`

Write **it**.

```{code-cell} ipython3
:tags: [given]
:question: q1

only_for_the_first = 1
```

```{code-cell} ipython3
:tags: [answer]
:question: q1

def double(x):
    """Return twice x."""
    # BEGIN SOLUTION
    return x + x  # secret-solution
    # END SOLUTION
```

```{code-cell} ipython3
:tags: [visible]
:question: q1

def test_one(S, rng):
    """points: 1 | hint: one and one, <b>no more</b>"""
    assert S.double(1) == 2
```

```{code-cell} ipython3
:tags: [hidden]
:question: q1

def test_negative(S, rng):
    """points: 2 | catches: a secret-misconception"""
    assert S.double(-3) == -6, "secret-assertion"
```

```{code-cell} ipython3
:tags: [alternative]
:question: q1

def double(x):
    return x.__add__(x)  # secret-alternative
```

```{code-cell} ipython3
:tags: [mutant]
:question: q1
:fails: [test_negative]

def double(x):
    return abs(x) * 2  # secret-mutant
```

## Question 2, read by a person: why?

Say why.

:::{admonition} Rubric
:class: rubric
One point for the secret-rubric.
:::

## Question 3: find the bug

Write a test.

```{code-cell} ipython3
:tags: [answer]
:question: q3

def test_thrice(S, rng):
    # BEGIN SOLUTION
    assert S.thrice(2) == 6  # secret-test
    # END SOLUTION
```

```{code-cell} ipython3
:tags: [good, visible]
:question: q3
:name: as_shown

def thrice(x):
    return 3 * x  # shown-good
```

```{code-cell} ipython3
:tags: [good]
:question: q3
:name: other

def thrice(x):
    return x + x + x  # secret-good
```

```{code-cell} ipython3
:tags: [planted, visible]
:question: q3
:name: twice
:catches: a factor of two

def thrice(x):
    return 2 * x  # shown-bug
```

```{code-cell} ipython3
:tags: [planted]
:question: q3
:name: squared
:catches: a secret-square

def thrice(x):
    return x**3  # secret-bug
```
'''
FILES = {
    "exercises/01-tiny.md": SOURCE,
    "book/exercise-01.md": "```{graded-exercise} 01\n```\n",
    "book/outline.yml": """- part: Part I
  idea: An idea.
  chapters:
    - {stem: 00-none, title: None, line: A line.}
    - {stem: 01-tiny, title: A tiny one, line: A line.}
""",
    "chapters/00-none.md": "# None\n\n## Exercises\n\nWords.\n",
    "chapters/01-tiny.md": (
        "# A tiny one\n\n## Exercises\n\nDo it.\n\n## Summary\n\nDone.\n"
    ),
    "index.md": """(doing-exercises)=
# Index

```{graded-exercises}
```

```{toctree}
chapters/00-none
chapters/01-tiny
book/exercise-01
```
""",
    "conf.py": (
        'extensions = ["myst_parser", "unrolled_book.exercise_links", '
        '"unrolled_book.exercise_pages"]\n'
        'exclude_patterns = ["exercises", "_build"]\nhtml_theme = "basic"\n'
    ),
}


def write(root: Path, changes: dict[str, tuple[str, str]]) -> None:
    """Write the miniature book, with something exchanged in some files."""
    for name, text in FILES.items():
        old, new = changes.get(name, ("", ""))
        assert old in text
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    # the package under test, wherever another may be installed
    (root / "unrolled").symlink_to(Path(unrolled.__file__).parent)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("exercises")
    write(root, {})
    done = build(root)
    assert done.returncode == 0, done.stderr
    return root


def download(root: Path, html: BeautifulSoup, name: str) -> Path:
    link = html.select_one("a.download")
    assert link.text == name
    return (root / link["href"]).resolve()


def blocks(part: BeautifulSoup) -> list[str]:
    return [pre.text.strip() for pre in part("pre")]


# ---- the page ----


def test_the_page_has_what_the_student_needs(built):
    html = page(built, "book/exercise-01.html")
    assert [h1.text.strip("¶") for h1 in html("h1")] == ["Exercise 1: twice & thrice"]
    assert html.select_one(".byline").text == (
        "7 points, about 30 minutes; belongs to chapter 1, A tiny one."
    )
    assert "The opening words." in html.text
    box = html.select_one(".admonition.graded").text
    assert "unrolled exercise start 01" in box
    # a table of the questions, each with a link to its section
    rows = [[cell.text for cell in row("td")] for row in html.select("tbody tr")]
    assert rows == [
        ["1. the double", "a function", "3", "15"],
        ["2. why?", "words", "2", "10"],
        ["3. find the bug", "a test", "2", "5"],
    ]
    for row in html.select("tbody tr"):
        assert html.select_one(row.a["href"]).name == "section"


def test_a_question_shows_its_worth_its_scaffold_and_its_hints(built):
    html = page(built, "book/exercise-01.html")
    first = html.select_one("#exercise-01-q1")
    assert first.h2.text.strip("¶") == "Question 1: the double"
    assert first.select_one(".byline").text == (
        "3 points, of which you can check 1 yourself; about 15 minutes. "
        "Not allowed: torch.add."
    )
    assert first.strong.text == "it"
    given, scaffold = blocks(first)
    assert given == "only_for_the_first = 1"
    assert scaffold.endswith('raise NotImplementedError("your turn")')
    hints = first.select_one("details.hints")
    assert "test_one, 1 point: one and one, <b>no more</b>." in hints.text
    assert hints.b is None  # what an author writes there is text
    second = html.select_one("#exercise-01-q2")
    assert "2 points, given by a person; about 10 minutes." in second.text
    assert not blocks(second)
    third = html.select_one("#exercise-01-q3")
    assert "1 yourself" in third.select_one(".byline").text
    scaffold, good, bug = blocks(third)
    assert "shown-good" in good
    assert "shown-bug" in bug
    assert "(a factor of two)" in third.text


def shown(folder: Path, target: Path) -> list[Path]:
    """Write all that a reader of a built book gets as plain text, and name the files.

    In HTML a line of code is cut up by its colours, so a page is taken at its text.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        found.append(path)
        if path.suffix == ".html":
            soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
            found.append(target / f"{len(found)}.txt")
            found[-1].write_text(soup.text, encoding="utf-8")
    return found


def test_nothing_of_a_secret_is_in_the_book(built, tmp_path):
    exercise = read_exercise(built / "exercises" / "01-tiny.md")
    files = shown(built / "_build" / "html", tmp_path)
    assert len(files) > 10
    assert scan(files, exercise) == []
    for path in files:
        assert b"secret-" not in path.read_bytes(), path


@pytest.mark.parametrize("secret", ["secret-mutant", "secret-rubric", "secret-bug"])
def test_the_scan_would_find_a_secret_on_a_page(built, tmp_path, secret):
    exercise = read_exercise(built / "exercises" / "01-tiny.md")
    line = next(line for line in SOURCE.splitlines() if secret in line)
    words = "".join(f"<span>{word} </span>" for word in line.split())
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text(f"<pre>{words}</pre>")
    assert scan(shown(tmp_path / "site", tmp_path), exercise)


def test_the_notebook_to_take_away_is_the_students(built):
    html = page(built, "book/exercise-01.html")
    path = download(built / "_build/html/book", html, "01-tiny.ipynb")
    exercise = read_exercise(built / "exercises" / "01-tiny.md")
    assert nbformat.read(path, as_version=4) == student_notebook(exercise)


# ---- the links ----


def test_a_chapter_leads_to_its_exercise_and_back(built):
    chapter = page(built, "chapters/01-tiny.html")
    box = chapter.select_one("#exercises > .admonition.graded:last-child")
    assert box.a["href"] == "../book/exercise-01.html"
    assert box.a.text == "Exercise 1: Twice & thrice"
    assert "3 questions, 7 points, about 30 minutes" in box.text
    back = page(built, "book/exercise-01.html").select_one(".byline a")
    assert back["href"] == "../chapters/01-tiny.html"
    assert not page(built, "chapters/00-none.html").select(".graded")


def test_the_list_names_every_exercise(built):
    (row,) = page(built, "index.html").select("tbody tr")
    cells = [cell.text for cell in row("td")]
    assert cells == ["1", "Twice & thrice", "3", "7", "about 30"]
    assert row.a["href"] == "book/exercise-01.html"


def test_a_chapter_without_exercises_of_its_own_has_the_box_at_its_end(tmp_path):
    write(tmp_path, {"chapters/01-tiny.md": ("## Exercises\n\nDo it.\n\n", "")})
    assert build(tmp_path).returncode == 0
    (box,) = page(tmp_path, "chapters/01-tiny.html").select(".graded")
    assert "Summary" in box.find_previous("h2").text
    assert box.find_next("h2") is None


def test_edit_leads_to_the_source(tmp_path):
    button = {"label": "source-edit-button", "url": "edit/main/book/exercise-01.md"}
    context = {"header_buttons": [{"buttons": [button]}, {}]}
    write(tmp_path, {})

    class App:
        srcdir = tmp_path

    exercise_links.edit_the_exercise(App, "book/exercise-01", "", context, None)
    assert button["url"] == "edit/main/exercises/01-tiny.md"
    exercise_links.edit_the_exercise(App, "book/exercise-02", "", context, None)
    exercise_links.edit_the_exercise(App, "book/other", "", context, None)


# ---- what changes, and what is wrong ----


def test_a_new_source_reaches_page_notebook_and_chapter(tmp_path):
    write(tmp_path, {})
    assert build(tmp_path).returncode == 0
    path = tmp_path / "exercises" / "01-tiny.md"
    text = SOURCE.replace("opening words", "other words").replace(
        "minutes: 15", "minutes: 25"
    )
    path.write_text(text)
    assert build(tmp_path).returncode == 0
    html = page(tmp_path, "book/exercise-01.html")
    assert "The other words." in html.text
    written = download(tmp_path / "_build/html/book", html, "01-tiny.ipynb")
    assert "The other words." in written.read_text()
    chapter = page(tmp_path, "chapters/01-tiny.html")
    assert "about 40 minutes" in chapter.select_one(".graded").text


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("exercises/01-tiny.md", "[answer]", "[answers]", "01-tiny.md:32: unknown tag"),
        ("book/exercise-01.md", "} 01", "} 02", "there is no exercise '02'"),
    ],
)
def test_what_is_wrong_fails_the_build_and_is_named(tmp_path, name, old, new, fault):
    write(tmp_path, {name: (old, new)})
    done = build(tmp_path)
    assert done.returncode != 0
    assert fault in done.stderr


def test_a_page_under_another_name_is_refused(tmp_path):
    write(tmp_path, {"chapters/00-none.md": ("Words.", FILES["book/exercise-01.md"])})
    done = build(tmp_path)
    assert done.returncode != 0
    assert "exercise 01 belongs on book/exercise-01.md" in done.stderr


# ---- the book's own ----


def test_every_exercise_has_its_page_in_the_book_and_no_page_lacks_one():
    assert SOURCES
    toc = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"file: book/exercise-(\d\d)$", toc, re.M)
    assert listed == list(SOURCES)
    for number in listed:
        text = (ROOT / "book" / f"exercise-{number}.md").read_text(encoding="utf-8")
        assert text == f"```{{graded-exercise}} {number}\n```\n"


@pytest.mark.built
@pytest.mark.parametrize("number", SOURCES)
def test_a_built_page_leads_both_ways_and_gives_the_notebook(number):
    exercise = read_exercise(SOURCES[number])
    path = HTML / "book" / f"exercise-{number}.html"
    html = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    article = html.select_one("article")
    for id in exercise.questions:
        assert article.select_one(f"section#exercise-{number}-{id} h2")
    back = article.select_one(".byline a")["href"]
    chapter = (path.parent / back).resolve()
    there = BeautifulSoup(chapter.read_text(encoding="utf-8"), "html.parser")
    (link,) = there.select("article .admonition.graded a")
    assert (chapter.parent / link["href"]).resolve() == path
    written = download(path.parent, article, f"{exercise.name}.ipynb")
    assert nbformat.read(written, as_version=4) == student_notebook(exercise)


@pytest.mark.built
@pytest.mark.parametrize("number", SOURCES)
def test_no_line_of_a_secret_is_on_its_built_page_or_in_its_download(number, tmp_path):
    exercise = read_exercise(SOURCES[number])
    site = tmp_path / "site"
    site.mkdir()
    for name in (f"exercise-{number}.*", f"{exercise.name}.ipynb"):
        for path in HTML.rglob(name):
            if path.parent.name not in ("chapters", "exercises"):
                copy = site / f"{len(list(site.iterdir()))}{path.suffix}"
                copy.write_bytes(path.read_bytes())
    files = shown(site, tmp_path)
    assert {".html", ".md", ".ipynb", ".txt"} <= {path.suffix for path in files}
    assert scan(files, exercise) == []
