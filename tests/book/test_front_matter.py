"""The pages around the chapters say what is so, and what they tell you to do works.

Each check returns the faults that it finds, so that the last part of this file can show
that it finds them.
"""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from unrolled.book.claims import VERDICTS
from unrolled.chapters.pages import all_pages
from unrolled.runtime import pick_device
from unrolled_book import launch
from unrolled_book.claims import all_claims
from unrolled_book.outline import outline

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
REPOSITORY = CONFIG["repository"]["url"]
CHAPTERS = [chapter for part in outline(ROOT) for chapter in part.chapters]
NUMBERS = [chapter.number for chapter in CHAPTERS]
DASH = "\u2013"
OURS = ("preface", "how-to-read", "setup", "notation", "glossary")


def page(name: str) -> str:
    return (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")


def one_line(text: str) -> str:
    return " ".join(text.split())


def block(text: str, name: str) -> str:
    """Return the code block called ``name``."""
    fence = rf"^```\{{code-block\}} \w+\n:name: {name}\n(.*?)^```$"
    (found,) = re.findall(fence, text, re.M | re.S)
    return found


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield each table as rows of cells, its head first and its rule left out."""
    for lines in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines.splitlines()]
        yield [[cell.strip() for cell in row] for row in (rows[0], *rows[2:])]


def chapters_in(words: str) -> list[int]:
    """Return the numbers in *Chapter 4* or *(Chapters 0, 3 and 12.)*."""
    lists = re.findall(r"\b[Cc]hapters? (\d+(?:(?:, | and |, and )\d+)*)", words)
    return [int(number) for found in lists for number in re.findall(r"\d+", found)]


# ---- the glossary ----


def entries(text: str) -> list[tuple[str, str]]:
    """Return the terms of the glossary with their definitions, in their order."""
    (body,) = re.findall(r"^```\{glossary\}\n(.*?)^```$", text, re.M | re.S)
    found = re.findall(r"^(\S.*)\n((?:(?:  .*)?\n)+)", body, re.M)
    return [(term, one_line(words)) for term, words in found]


def glossary_faults(text: str) -> list[str]:
    found = entries(text)
    terms = [term.casefold() for term, _ in found]
    faults = [f"twice: {term}" for term, n in Counter(terms).items() if n > 1]
    if terms != sorted(terms):
        faults += [f"out of order: {b}" for a, b in pairwise(terms) if b < a]
    for term, words in found:
        numbers = chapters_in(words)
        if not numbers or not set(numbers) <= set(NUMBERS):
            faults.append(f"{term}: names no chapter of the book: {numbers}")
        if len(words.split()) < 8:
            faults.append(f"{term}: is hardly explained")
        if re.search(rf"\{{term\}}`[^`]*\b{re.escape(term)}\b>?`", words, re.I):
            faults.append(f"{term}: is explained by itself")
    return faults


def terms_cited(text: str) -> list[str]:
    cited = re.findall(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`", text)
    return [one_line(term) for term in cited]


def test_the_glossary_is_in_order_and_says_where_each_word_is_treated():
    assert glossary_faults(page("glossary")) == []
    assert len(entries(page("glossary"))) >= 70


def test_every_term_that_is_cited_has_its_entry():
    known = {term.casefold() for term, _ in entries(page("glossary"))}
    sources = [*(ROOT / "book").glob("*.md"), *(ROOT / "chapters").glob("*.md")]
    cited = [
        (source.name, term)
        for source in sources
        for term in terms_cited(source.read_text(encoding="utf-8"))
    ]
    assert cited
    assert [pair for pair in cited if pair[1].casefold() not in known] == []


# ---- notation ----

# Bold and calligraphic letters, and Greek ones; what an index adds is the chapter's.
LETTER = re.compile(
    r"\\(?:mathbf|boldsymbol|mathcal)\{(?:\\[a-z]+|\w)\}"
    r"|\\(?:alpha|beta|gamma|delta|epsilon|eta|theta|lambda|mu|rho|sigma|phi|omega)\b"
)


def letters(text: str) -> set[str]:
    """Return the letters of the formulas of ``text``; its code cells have none."""
    words = re.sub(r"^```\{code-cell\}.*?^```$", "", text, flags=re.M | re.S)
    return set(LETTER.findall(words))


def table_faults(text: str) -> list[str]:
    """Return the rows that a stray or missing bar has made too long or too short."""
    return [
        f"{len(row)} cells under {len(head)} heads: {row[0]}"
        for head, *rows in tables(text)
        for row in rows
        if len(row) != len(head)
    ]


@pytest.mark.parametrize("name", OURS)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(name):
    assert table_faults(page(name)) == []


@pytest.mark.parametrize("page_", all_pages(ROOT), ids=lambda page: page.stem)
def test_every_letter_of_a_chapter_is_on_the_page_of_notation(page_):
    used = letters(page_.source.read_text(encoding="utf-8"))
    assert used or page_.kind != "main"
    assert used - letters(page("notation")) == set()


def test_the_table_of_the_decks_names_all_five_and_has_something_for_each():
    (decks,) = [t for t in tables(page("notation")) if "deck 000" in t[0]]
    head, *rows = decks
    assert head[2:7] == [f"deck 00{n}" for n in range(5)]
    rows = [row for row in rows if any(row[1:])]  # the others are headings
    for column in range(1, 8):
        assert any(re.search(r"[$`]", row[column]) for row in rows)
    for row in rows:
        assert all(row), f"an empty cell, where a dash is meant: {row[0]}"
        cited = [cell for cell in row[2:7] if cell != DASH]
        assert cited, f"no deck uses {row[0]}"
        bare = [cell for cell in cited if not re.search(r"\(\d|^from", cell)]
        assert bare == [], f"no line of the deck is given: {bare}"


# ---- how to read ----


def plan_faults(text: str) -> list[str]:
    """Return the chapters that a plan by weeks leaves out or has twice."""
    (plan,) = [table for table in tables(text) if table[0][0] == "week"]
    weeks = [int(row[0]) for row in plan[1:]]
    numbers = [int(n) for row in plan[1:] for n in re.findall(r"\d+", row[1])]
    faults = [] if weeks == list(range(1, len(weeks) + 1)) else [f"weeks are {weeks}"]
    return faults if numbers == NUMBERS else [*faults, f"chapters are {numbers}"]


def test_the_semester_takes_every_chapter_once_and_in_order():
    assert plan_faults(page("how-to-read")) == []


def test_the_other_two_ways_name_chapters_that_are_planned():
    week, *_ = (t for t in tables(page("how-to-read")) if t[0][0] == "day")
    named = [int(re.match(r"\d+", row[1])[0]) for row in week[1:]]
    assert set(named + chapters_in(page("how-to-read"))) <= set(NUMBERS)


def test_the_examples_of_a_chapters_parts_are_still_in_that_chapter():
    text = one_line(page("how-to-read"))
    chapter = one_line((ROOT / "chapters" / "04-recurrent-networks.md").read_text())
    (objective,) = re.findall(r"1\. (\*\*write.*?;)", text)
    (prediction,) = re.findall(r":class: predict (.*?) :::", text)
    (exercise,) = re.findall(r"> \*(.*?: objective \d+, \d+ minutes)\*", text)
    for example in (objective, prediction, exercise):
        assert example in chapter


def test_the_example_of_a_claim_is_the_claim():
    text = one_line(page("how-to-read"))
    claim = all_claims(ROOT)["weights-do-not-grow"].claim
    assert f"[✓]{{.claim-mark}} {claim['sentence']}" in text


def test_every_verdict_is_named():
    text = one_line(page("how-to-read"))
    sentence = re.search(r"says which and how it fares: (.*?)\.", text)
    listed = re.findall(r"\*([^*]+)\*", sentence[1])
    assert listed == list(VERDICTS)


# ---- set-up: words ----


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):.*## ", makefile, re.M))


@pytest.mark.parametrize("name", OURS)
def test_only_targets_of_the_makefile_are_named(name):
    named = set(re.findall(r"(?:`|^|=\w+ )make ([a-z]+)", page(name), re.M))
    assert named <= make_targets()


@pytest.mark.parametrize("name", ["preface", "how-to-read", "setup"])
def test_the_address_of_the_repository_is_the_configured_one(name):
    found = re.findall(r"https://github\.com/[\w-]+/[\w-]+", page(name))
    assert set(found) <= {REPOSITORY}
    assert found or name == "preface"


def test_the_versions_named_are_the_pinned_ones():
    torch = re.search(r"^torch==(\S+)$", (ROOT / "requirements.txt").read_text(), re.M)
    assert set(re.findall(r"torch==([\d.]+\d)", page("setup"))) == {torch[1]}
    project = tomllib.loads((ROOT / "code" / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"Python {oldest} or" in one_line(page("setup"))
    assert f"| Python | {oldest} |" in page("setup")


def messages() -> list[str]:
    """Return what the table of troubles quotes, marked as provoked."""
    (table,) = [t for t in tables(page("setup")) if t[0][0] == "what you see"]
    cells = [row[0] for row in table[1:] if "not reproduced" not in row[0]]
    return [found for cell in cells for found in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("Python 3.11 or later is needed; say make PYTHON=python3.12", "Makefile"),
        ("Could not make .venv; on Debian and Ubuntu: apt install", "Makefile"),
        (".venv is broken: rm -rf .venv, then say make again", "Makefile"),
        ("is stale: run 'make execute'", "tests/book/test_chapters.py"),
        ("no chromium on the PATH: install it", "tests/browser/conftest.py"),
        ("must be installed from a clone", "code/unrolled/runtime.py"),
    ],
)
def test_a_message_of_our_own_is_quoted_as_it_is(words, file):
    assert any(words in message for message in messages())
    source = (ROOT / file).read_text(encoding="utf-8").replace("$(VENV)", ".venv")
    assert words in source


def test_the_message_about_a_missing_device_is_quoted_as_it_is(monkeypatch):
    monkeypatch.setenv("UNROLLED_DEVICE", "warp")
    with pytest.raises(ValueError, match="UNROLLED_DEVICE") as found:
        pick_device()
    quoted = [m for m in messages() if m.startswith("UNROLLED_DEVICE=")]
    has = str(found.value).split("has ")[1].split(".")[0]
    assert quoted == [str(found.value).replace("warp", "cuda").replace(has, "cpu")]


def test_the_makefile_refuses_an_old_python_in_the_words_quoted(tmp_path):
    for name in ("Makefile", "requirements.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "pyproject.toml").touch()
    ran = subprocess.run(
        ["make", "--no-print-directory", "book", "PYTHON=false"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert ran.returncode != 0
    assert ran.stdout.strip() in messages()


# ---- set-up: deeds ----


def test_the_check_prints_what_the_page_says():
    ran = subprocess.run(
        [sys.executable, "-c", block(page("setup"), "check")],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert ran.stdout == block(page("setup"), "check-output")


def test_info_says_what_the_page_shows():
    ran = subprocess.run(
        [sys.executable, "-m", "unrolled", "info"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    shown = block(page("setup"), "info-output").splitlines()[1:]
    assert [s.split()[0] for s in shown] == [
        s.split()[0] for s in ran.stdout.split("\n")[:-1]
    ]


def test_binder_installs_the_books_own_requirements():
    folder = ROOT / ".binder"
    (line,) = re.findall(r"^-r (.*)$", (folder / "requirements.txt").read_text(), re.M)
    assert (folder / line).resolve() == ROOT / "requirements.txt"
    # pip reads "-e PATH" from where it is called, which for repo2docker is the root.
    (local,) = re.findall(r"^-e (.*)$", (ROOT / "requirements.txt").read_text(), re.M)
    assert (ROOT / local / "pyproject.toml").is_file()
    runtime = (folder / "runtime.txt").read_text().strip()
    assert f"| Python | {runtime.removeprefix('python-')} |" in page("setup")


# ---- links to Colab and Binder ----


def test_a_chapter_is_addressed_as_colab_and_binder_expect():
    found = launch.addresses("https://github.com/a/b", "main", "chapters/04-x")
    assert found == {
        "Colab": "https://colab.research.google.com/github/a/b/blob/main/"
        "chapters/04-x.ipynb",
        "Binder": "https://mybinder.org/v2/gh/a/b/main?urlpath="
        "lab%2Ftree%2Fchapters%2F04-x.ipynb",
    }


def test_a_branch_with_a_slash_does_not_lead_binder_astray():
    found = launch.addresses("https://github.com/a/b", "new/part", "x")
    assert "/gh/a/b/new%2Fpart?" in found["Binder"]


def test_a_repository_elsewhere_is_refused_by_name():
    with pytest.raises(ValueError, match=r"example\.org/a/b' must be on github"):
        launch.addresses("https://example.org/a/b", "main", "x")


@pytest.mark.built
def test_the_page_links_every_chapter_that_was_built_and_no_other():
    html = (HTML / "book" / "setup.html").read_text(encoding="utf-8")
    rows = BeautifulSoup(html, "html.parser").select("table.launch tbody tr")
    built = [p.stem for p in all_pages(ROOT) if (HTML / f"{p.docname}.html").is_file()]
    assert set(built) == {path.stem for path in (HTML / "chapters").glob("*.html")}
    assert [Path(row.a["href"]).stem for row in rows] == built
    branch = CONFIG["sphinx"]["config"]["html_theme_options"]["repository_branch"]
    for row, stem in zip(rows, built, strict=True):
        hrefs = [link["href"] for link in row.select("a")][1:]
        expected = launch.addresses(REPOSITORY, branch, f"chapters/{stem}")
        assert hrefs == list(expected.values())


# ---- the checks themselves can fail ----

GOOD = """```{glossary}
alpha
  The first letter of the Greek alphabet, that is. (Chapter 4.)

beta
  The letter that comes after {term}`alpha` in it. (Chapters 0 and 5.)
```
"""


def test_a_good_glossary_has_no_faults():
    assert glossary_faults(GOOD) == []
    assert terms_cited(GOOD) == ["alpha"]
    assert terms_cited("{term}`one\ntwo <b c>` and {term}`d`") == ["b c", "d"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("beta\n", "Alpha\n", "twice: alpha"),
        ("beta\n", "aleph\n", "out of order: aleph"),
        ("(Chapter 4.)", "", "alpha: names no chapter of the book: []"),
        ("0 and 5", "0 and 99", "beta: names no chapter of the book: [0, 99]"),
        (" of the Greek alphabet, that is", "", "alpha: is hardly explained"),
        ("{term}`alpha`", "{term}`beta`", "beta: is explained by itself"),
    ],
)
def test_a_fault_of_a_glossary_is_found(old, new, fault):
    assert fault in glossary_faults(GOOD.replace(old, new))


def test_a_row_with_a_stray_bar_is_found():
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n| $|V|$ | 4 |\n"
    assert table_faults(text) == ["4 cells under 2 heads: $"]
    assert table_faults(text.replace("$|V|$", r"$\|V\|$")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("| 0, 1 |", "| 1 |"), ("| 8, 9 |", "| 8 |"), ("| 2 | 2 |", "| 3 | 2 |")],
)
def test_a_plan_with_a_gap_is_found(old, new):
    text = page("how-to-read")
    assert old in text
    assert plan_faults(text.replace(old, new))


def test_letters_are_found_in_formulas_and_not_in_code():
    text = r"$\mathbf{h}_t = \gamma$" + "\n```{code-cell} ipython3\n\\rho\n```\n"
    assert letters(text) == {r"\mathbf{h}", r"\gamma"}
