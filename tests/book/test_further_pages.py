"""Further pages: a small book with a main page, a core page and a study."""

import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from minibook import build, code, page, prose, write_page
from unrolled.book.claims import claim
from unrolled.figures.plots import plot_squash
from unrolled_book import numbers
from unrolled_book.form import measure

ROOT = Path(__file__).resolve().parents[2]
MAIN, CORE, STUDY = "04-zoo", "04-zoo-tigers", "04-zoo-lions"
FILES = {
    "conf.py": f"""
extensions = ["sphinx_external_toc", "myst_nb", "sphinx.ext.mathjax", "sphinx_exercise",
              "unrolled_book"]
external_toc_path = "book/_toc.yml"
exclude_patterns = ["_build", "chapters/*.md", "exercises"]
nb_execution_mode = "off"
numfig = True
numfig_format = {{"figure": "Figure %s"}}
mathjax_path = "mathjax/tex-chtml.js"
myst_enable_extensions = ["dollarmath", "colon_fence"]
suppress_warnings = ["mystnb.unknown_mime_type"]
html_theme = "sphinx_book_theme"
html_theme_options = {{
    "repository_url": "https://github.com/a/b", "repository_branch": "main",
    "use_edit_page_button": True, "use_issues_button": True, "show_navbar_depth": 1,
    "launch_buttons": {{"colab_url": "https://colab.research.google.com"}},
}}
templates_path = ["{ROOT}/book/_templates"]
html_static_path = ["{ROOT}/book/_static"]
html_css_files = ["unrolled.css"]
""",
    "LICENSE": "Ours.\n\nApache License\nVersion 2.0\n",
    "requirements.txt": "torch==2\nnumpy==2\nmatplotlib==3\n",
    "book/_toc.yml": f"""format: jb-book
root: book/index
parts:
  - caption: Part I
    chapters:
      - file: chapters/03-ark
      - file: chapters/{MAIN}
        sections:
          - file: chapters/{CORE}
          - file: chapters/{STUDY}
      - file: chapters/05-sea
  - caption: Back matter
    chapters: [{{file: book/claims}}, {{file: book/decks}}, {{file: book/exercise-04}}]
""",
    "book/outline.yml": "- part: Part I\n  idea: Beasts.\n  chapters:\n"
    + "".join(
        f"    - {{stem: {stem}, title: {title}, line: A line.}}\n"
        for stem, title in (
            ("00-none", "None"),
            ("01-one", "One"),
            ("02-two", "Two"),
            ("03-ark", "The ark"),
            (MAIN, "The zoo"),
            ("05-sea", "The sea"),
        )
    ),
    "book/index.md": "# Home\n\n{chapters}`finished` of {chapters}`planned`.\n\n"
    "```{parts}\n```\n\n```{launch}\n```\n\n```{chapter-times}\n```\n\n"
    "(doing-exercises)=\n## Doing\n\nDo.\n\n"
    "```{figure} picture.svg\n:alt: A.\nOurs.\n```\n",
    "book/picture.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
    "book/claims.md": "# Ledger\n\n```{claims-ledger}\n```\n",
    "book/corrections.yml": "[]\n",
    "book/decks.md": "# Decks\n\n```{deck-map}\n```\n\n```{answers}\n```\n",
    "book/decks.yml": f"""
- deck: "001"
  title: Beasts
  lecturer: A
  given: B
  lines: 30
  ranges:
    - {{lines: 1-9, about: Cats, chapter: {MAIN}, also: [{CORE}]}}
    - {{lines: 10-19, about: Lions, chapter: {STUDY}, section: What they eat}}
    - {{lines: 20-30, about: Whales, chapter: 05-sea}}
""",
    "book/exercise-04.md": "```{graded-exercise} 04\n```\n",
    "exercises/04-zoo.md": """---
exercise:
  title: Feeding time
  questions:
    q1: {kind: words, points: 2, minutes: 10}
---

# Exercise 4: feeding time

Words.

## Question 1, read by a person: why?

Say why.

:::{admonition} Rubric
:class: rubric
**Reason, 2 points.**
:::
""",
}
WORDS = "These are eight words about animals and food. " * 100
EXERCISE = "```{exercise} Count\n:label: ex-%s\nCount them.\n```\n"


def figure(name: str) -> dict:
    options = {
        "figure": {"name": f"fig-{name}", "caption": "A caption."},
        "image": {"alt": "A finding."},
    }
    return code("draw()", plot_squash([1.0])._repr_mimebundle_(), mystnb=options)


def a_claim(name: str, source: str | None = None) -> dict:
    made = claim(
        name,
        f"The sentence of {name}.",
        measured={"sum": 4.0},
        holds=lambda m: True,
        source=source,
        verdict="holds" if source else None,
    )
    return code("claim(\n)", made._repr_mimebundle_(), tags=["hide-input"])


def write(root: Path) -> Path:
    """Write the small book."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    write_page(
        root, "03-ark", prose("# The ark\n\nTwo of each."), figure("ark"), kind="main"
    )
    write_page(
        root,
        MAIN,
        prose(f"# The zoo: who lives here\n\nSee {{numref}}`fig-pride`. {WORDS}"),
        code("\n".join(f"x = {n}" for n in range(24))),
        figure("zoo"),
        figure("map"),
        a_claim("zoo-is-open", "001:2"),
        prose("## Exercises\n\n" + EXERCISE % "zoo" + "\n## Summary\n\nDone.\n"),
        kind="main",
    )
    write_page(
        root,
        CORE,
        prose("# Tigers\n\nThey have stripes."),
        figure("stripes"),
        a_claim("tigers-have-stripes", "001:5"),
        kind="core",
        seconds=3,
    )
    write_page(
        root,
        STUDY,
        prose(f"# Lions in the *morning*\n\n{WORDS}\n\n## What they eat\n\nMuch."),
        figure("pride"),
        a_claim("lions-eat", "001:12"),
        kind="study",
        seconds=4,
    )
    words = "# The sea\n\nSee {numref}`fig-sea`.\n\n" + EXERCISE % "sea"
    write_page(root, "05-sea", prose(words), figure("sea"), figure("wave"))
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = write(tmp_path_factory.mktemp("zoo"))
    ran = build(root)
    assert ran.returncode == 0, ran.stderr
    return root


def of_chapter(root: Path, stem: str) -> BeautifulSoup:
    return page(root, f"chapters/{stem}.html")


def plain(tag) -> str:
    return " ".join(tag.text.split())


# ---- the order ----


@pytest.mark.slow
def test_the_contents_nest_further_pages_below_their_chapter_and_name_their_kind(built):
    for stem in (MAIN, STUDY, "05-sea"):
        side = of_chapter(built, stem).select_one("#pst-primary-sidebar")
        links = [plain(a) for a in side.select("li a")]
        assert links[:5] == [
            "3 The ark",
            "4 The zoo: who lives here",
            "Tigers · core",
            "Lions in the morning · study",
            "5 The sea",
        ]
        chapter = side.select("li.toctree-l1")[1]
        assert [plain(a) for a in chapter.select("li.toctree-l2 a")] == links[2:4]


@pytest.mark.slow
def test_one_page_leads_to_the_next_in_reading_order(built):
    order = ["03-ark", MAIN, CORE, STUDY, "05-sea"]
    for stem, after in pairwise(order):
        link = of_chapter(built, stem).select_one("a.right-next")
        assert link["href"] == f"{after}.html"


@pytest.mark.slow
def test_figures_are_numbered_within_their_chapter_and_through_its_pages(built):
    found = {
        stem: [
            plain(n) for n in of_chapter(built, stem).select("figure .caption-number")
        ]
        for stem in ("03-ark", MAIN, CORE, STUDY, "05-sea")
    }
    assert found == {
        "03-ark": ["Figure 3.1"],
        MAIN: ["Figure 4.1", "Figure 4.2"],
        CORE: ["Figure 4.3"],
        STUDY: ["Figure 4.4"],
        "05-sea": ["Figure 5.1", "Figure 5.2"],
    }
    link = of_chapter(built, MAIN).find("a", href=f"{STUDY}.html#fig-pride")
    assert link.text == "Figure 4.4"
    assert of_chapter(built, "05-sea").find("a", href="#fig-sea").text == "Figure 5.1"
    home = page(built, "book/index.html").select("figure .caption-number")
    assert [plain(number) for number in home] == ["Figure 1"]


@pytest.mark.slow
def test_exercises_are_numbered_within_their_chapter_too(built):
    for stem, number in ((MAIN, "4.1"), ("05-sea", "5.1")):
        box = of_chapter(built, stem).select_one(".exercise .caption-number")
        assert plain(box) == f"Exercise {number}"


@pytest.mark.slow
def test_a_second_build_changes_nothing(built):
    def articles():
        paths = sorted((built / "_build/html/chapters").glob("*.html"))
        return {p.name: str(of_chapter(built, p.stem).article) for p in paths}

    before = articles()
    assert len(before) == 5
    assert build(built).returncode == 0
    assert articles() == before


# ---- what a page says of itself ----


@pytest.mark.slow
def test_a_further_page_names_its_chapter_and_its_kind_and_leads_up(built):
    for stem, kind in ((CORE, "core"), (STUDY, "study")):
        kicker = of_chapter(built, stem).select_one(".kicker")
        assert plain(kicker) == f"Chapter 4 · {kind} The zoo"
        assert kicker.a["href"] == f"{MAIN}.html"
    assert plain(of_chapter(built, MAIN).select_one(".kicker")) == "Chapter 4 Part I"
    assert of_chapter(built, MAIN).select_one(".kicker a") is None


@pytest.mark.slow
def test_the_byline_has_the_minutes_that_are_measured_on_the_page(built):
    for stem in ("03-ark", MAIN, CORE, STUDY, "05-sea"):
        path = built / "_build" / "html" / "chapters" / f"{stem}.html"
        form = measure(path.read_text(encoding="utf-8"))
        line = plain(of_chapter(built, stem).select_one("h1 + .byline"))
        optional = "Optional. " if stem == STUDY else ""
        assert line.startswith(
            f"{optional}About {form.minutes} minutes to read; runs in"
        )
    # 800 words and 24 lines of code; the claim's is folded, the box is not
    assert "About 6 minutes" in of_chapter(built, MAIN).select_one(".byline").text


@pytest.mark.slow
def test_a_main_page_lists_its_further_pages_with_their_minutes(built):
    box = of_chapter(built, MAIN).select_one(".admonition.further")
    minutes = {
        stem: re.search(
            r"About (\d+)", of_chapter(built, stem).select_one(".byline").text
        )
        for stem in (CORE, STUDY)
    }
    assert [plain(item) for item in box("li")] == [
        f"Tigers (core, part of the course): about {minutes[CORE][1]} minutes",
        f"Lions in the morning (study, optional): about {minutes[STUDY][1]} minutes",
    ]
    assert [a["href"] for a in box("a")] == [f"{CORE}.html", f"{STUDY}.html"]
    for stem in ("03-ark", CORE, STUDY):
        assert of_chapter(built, stem).select(".further") == []


@pytest.mark.slow
def test_only_the_main_page_leads_to_the_graded_exercise(built):
    assert len(of_chapter(built, MAIN).select(".graded")) == 1
    assert of_chapter(built, CORE).select(".graded") == []
    assert of_chapter(built, STUDY).select(".graded") == []
    back = page(built, "book/exercise-04.html").select_one(".byline a")
    assert back["href"] == f"../chapters/{MAIN}.html"


@pytest.mark.slow
def test_a_further_page_can_be_opened_edited_and_linked_to(built):
    html = of_chapter(built, STUDY)
    colab = html.select_one(".dropdown-launch-buttons a")["href"]
    assert colab.endswith(f"/blob/main/chapters/{STUDY}.ipynb")
    edit = html.select_one("a.btn-source-edit-button")["href"]
    assert edit.endswith(f"chapters/{STUDY}.md")
    assert html.find("meta", property="og:type")["content"] == "article"
    assert html.find("meta", property="og:title")["content"] == "Lions in the morning"


# ---- the pages around ----


@pytest.mark.slow
def test_the_first_page_counts_chapters_and_not_pages(built):
    home = page(built, "book/index.html")
    assert "3 of 5." in home.text
    assert len(home.select(".parts li a")) == 3


@pytest.mark.slow
def test_tables_of_pages_name_further_ones(built):
    home = page(built, "book/index.html")
    rows = [plain(row.td) for row in home.select("table.launch tbody tr")]
    assert rows == [
        "3. The ark",
        "4. The zoo",
        "4. Tigers · core",
        "4. Lions in the *morning* · study",
        "5. The sea",
    ]
    table = home.select("article table")[1]
    first, second = ([plain(td) for td in row("td")][:2] for row in table("tr")[3:5])
    assert first == ["4, core: Tigers", "3 s"]
    assert second == ["4, study: Lions in the *morning*", "4 s"]


@pytest.mark.slow
def test_the_ledger_and_the_deck_map_lead_to_further_pages(built):
    row = page(built, "book/claims.html").find(id="ledger-lions-eat")
    link = row.find("a", href=f"../chapters/{STUDY}.html#claim-lions-eat")
    assert link.text == "chapter 4, study"
    decks = page(built, "book/decks.html")
    cats = decks.find(id="deck-001-1-9")
    assert [a.text for a in cats("a")] == [
        "chapter 4: The zoo",
        "chapter 4, core: Tigers",
    ]
    lions = decks.find(id="deck-001-10-19").a
    assert lions["href"] == f"../chapters/{STUDY}.html#what-they-eat"
    assert lions.text == "chapter 4, study: What they eat"
    assert decks.find(id=f"answers-{CORE}").h2.contents[0] == "Chapter 4, core: Tigers"


@pytest.mark.slow
def test_new_words_on_a_further_page_reach_the_main_page(tmp_path):
    root = write(tmp_path)
    assert build(root).returncode == 0
    words = f"# Tigers at night\n\n{WORDS}{WORDS}"
    write_page(root, CORE, prose(words), figure("stripes"), kind="core")
    decks = FILES["book/decks.yml"].replace(f", also: [{CORE}]", "")
    (root / "book" / "decks.yml").write_text(decks)
    ran = build(root)
    assert ran.returncode == 0, ran.stderr
    item = of_chapter(root, MAIN).select_one(".further li")
    assert plain(item) == "Tigers at night (core, part of the course): about 8 minutes"


# ---- numbers by themselves ----


def test_pages_are_written_again_only_where_a_number_has_changed(monkeypatch):
    here = SimpleNamespace(number=4)
    monkeypatch.setattr(numbers.outline, "pages", lambda app: {"a": here, "b": here})
    env = SimpleNamespace(toc_fignumbers={})

    def count(**counted):
        numbers.take_back(None, env)
        env.toc_fignumbers = {
            name: {"figure": {f"fig-{n}": (n,) for n in found}}
            for name, found in counted.items()
        }
        return numbers.number_anew(None, env)

    assert count(a=[1, 2], b=[3]) == ["a", "b"]
    assert count(a=[1, 2], b=[3]) == []
    assert env.toc_fignumbers["b"] == {"figure": {"fig-3": (4, 3)}}
    assert count(a=[1, 2], b=[3, 4]) == ["b"]


def test_a_count_starts_anew_with_a_chapter_and_goes_on_through_its_pages():
    counted = {
        "a": {"figure": {"fig-x": (1,), "fig-y": (2,)}, "table": {"t": (1,)}},
        "b": {"figure": {"fig-z": (3,)}},
        "home": {"figure": {"fig-h": (4,)}},
        "c": {"figure": {"fig-w": (5,)}, "table": {"u": (2,)}},
        "end": {"figure": {"fig-e": (6,)}},
    }
    assert numbers.by_chapter(counted, {"a": 4, "b": 4, "c": 5}) == {
        "a": {"figure": {"fig-x": (4, 1), "fig-y": (4, 2)}, "table": {"t": (4, 1)}},
        "b": {"figure": {"fig-z": (4, 3)}},
        "home": {"figure": {"fig-h": (1,)}},
        "c": {"figure": {"fig-w": (5, 1)}, "table": {"u": (5, 1)}},
        "end": {"figure": {"fig-e": (2,)}},
    }
