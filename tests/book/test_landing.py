"""The first page and the head of every page: computed, complete, leading somewhere."""

import re
import struct
from functools import cache
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup
from docutils.core import publish_doctree
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from unrolled.chapters.pages import all_pages
from unrolled_book import head, outline

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
FIRST = HTML / "book" / "index.html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
HOME = CONFIG["repository"]["url"]
BASE = CONFIG["html"]["baseurl"]
TOC = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")

built = pytest.mark.built


def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


soup_of = cache(parse)  # of the book's own pages, which stay as they are


def pages() -> list[Path]:
    """Return every page that is made from a source."""
    found = [*(HTML / "book").glob("*.html"), *(HTML / "chapters").glob("*.html")]
    return sorted(found) or [FIRST]  # not built: then the tests fail


def name_of(path: Path) -> str:
    return path.relative_to(HTML).as_posix()


every_page = pytest.mark.parametrize("path", pages(), ids=name_of)
CHAPTERS = [path for path in pages() if path.parent.name == "chapters"]
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=name_of)
KIND = {page.stem: page.kind for page in all_pages(ROOT)}


def planned() -> list[outline.Chapter]:
    return [c for part in outline.outline(ROOT) for c in part.chapters]


def is_written(chapter: outline.Chapter) -> bool:
    listed = re.search(rf"file: {chapter.docname}$", TOC, re.M)
    return bool(listed) and (ROOT / f"{chapter.docname}.ipynb").is_file()


# ---- the first page ----


@built
def test_the_cards_are_the_outline_with_links_to_what_is_written():
    cards = soup_of(FIRST).select(".parts .part")
    assert [card.h3.contents[0] for card in cards] == [
        part.name for part in outline.outline(ROOT)
    ]
    items = soup_of(FIRST).select(".parts li")
    assert len(items) == len(planned())
    for item, chapter in zip(items, planned(), strict=True):
        assert chapter.title in item.text
        assert chapter.line in item.text
        links = [a["href"] for a in item("a")]
        expected = [f"../{chapter.docname}.html"] if is_written(chapter) else []
        assert links == expected, chapter.stem
        assert ("being written" in item.text) != is_written(chapter), chapter.stem


@built
def test_the_state_of_the_book_is_counted():
    numbered = [c for c in planned() if c.number]
    finished = sum(map(is_written, numbered))
    words = " ".join(soup_of(FIRST).select_one(".state").text.split())
    assert f"{finished} of {len(numbered)} chapters" in words
    mains = [c for c in CHAPTERS if KIND[c.stem] == "main"]
    assert finished == len([c for c in mains if not c.stem.startswith("00")])


@built
def test_the_first_thing_to_do_is_to_read_a_chapter_and_the_second_to_set_up():
    page = soup_of(FIRST)
    links = page.select(".start a")
    assert len(links) == 2
    for link, folder in zip(links, ("chapters", "book"), strict=True):
        target = (FIRST.parent / link["href"].split("#")[0]).resolve()
        assert target.is_file()
        assert target.parent.name == folder
    before_figure = page.select_one("article").text.split("The first idea")[0]
    assert links[0].text in before_figure
    assert "for students" in before_figure


@built
def test_the_first_page_shows_one_figure_that_runs():
    page = soup_of(FIRST)
    assert len(page.select("[data-lab]")) == 1
    loaded = [tag["src"] for tag in page.select("script[src]")]
    assert any("labs/unroll-it.js" in source for source in loaded)


# ---- the head ----


@built
@every_page
def test_a_page_says_what_it_is_to_those_who_link_to_it(path):
    page = soup_of(path)
    said = {
        tag.get("property") or tag.get("name"): tag.get("content")
        for tag in page.select("meta[name], meta[property]")
    }
    assert 40 <= len(said["description"]) <= head.TOO_LONG + 2, said["description"]
    assert not re.search(r"[\\{}`]", said["description"]), said["description"]
    assert said["og:description"] == said["description"]
    heading = page.select_one("article h1").contents[0]
    assert said["og:title"] == heading
    assert said["og:url"] == f"{BASE}{name_of(path)}"
    assert said["og:image"] == f"{BASE}_static/social-card.png"
    assert said["og:image:alt"]
    assert said["twitter:card"] == "summary_large_image"
    assert page.select_one("link[rel=canonical]")["href"] == said["og:url"]


@built
@every_page
def test_a_page_has_the_books_icon_and_mark(path):
    page = soup_of(path)
    icon = page.select_one("link[rel~=icon]")["href"]
    assert (path.parent / icon).resolve() == HTML / "_static" / "favicon.svg"
    assert (HTML / "_static" / "favicon.svg").is_file()
    assert page.select_one("a.navbar-brand svg")
    assert page.select_one("a.navbar-brand").text.strip() == CONFIG["title"]


def test_the_card_is_of_the_right_size_and_light():
    data = (ROOT / "book" / "_static" / "social-card.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1200, 630)
    assert len(data) < 150_000


@built
@every_page
def test_edit_leads_to_a_source_that_exists(path):
    link = soup_of(path).select_one("a.btn-source-edit-button")["href"]
    source = link.removeprefix(f"{HOME}/edit/main/")
    assert source != link
    assert source.endswith(".md")
    assert (ROOT / source).is_file()


@built
@every_chapter
def test_a_chapter_can_be_downloaded_and_opened_elsewhere(path):
    page = soup_of(path)
    notebook = f"chapters/{path.stem}.ipynb"
    offered = {
        " ".join(a.text.split()): a["href"]
        for a in page.select(".dropdown-launch-buttons a")
    }
    assert offered == {
        "Binder": "https://mybinder.org/v2/gh/unrolled-book/unrolled/main"
        f"?urlpath=lab/tree/{notebook}",
        "Colab": "https://colab.research.google.com/github/unrolled-book/unrolled"
        f"/blob/main/{notebook}",
    }
    download = page.select_one("a.btn-download-source-button")
    assert download.has_attr("download")
    copy = (path.parent / download["href"]).resolve()
    assert copy.read_bytes() == (ROOT / notebook).read_bytes()


@built
@every_chapter
def test_a_chapter_carries_its_number_and_its_part(path):
    page = soup_of(path)
    chapter = next(c for c in planned() if c.stem[:2] == path.stem[:2])
    kicker = " ".join(page.select_one(".kicker").text.split())
    number = f"Chapter {chapter.number}" if chapter.number else "Primer"
    main = KIND[path.stem] == "main"
    further = f"{number} · {KIND[path.stem]} {chapter.title}"
    assert kicker == (f"{number} {chapter.part}" if main else further)
    entry = page.select_one("#pst-primary-sidebar li.current a")  # the chapter's
    shown = [tag.text for tag in entry.select(".number")]
    assert shown == ([str(chapter.number)] if chapter.number else [])


# ---- the parts by themselves, in a miniature book ----

PLAN = """
- part: Before
  idea: Nothing.
  chapters:
    - {stem: 00-zero, title: Zero, line: None yet.}
- part: Part I. Counting
  idea: One, two.
  chapters:
    - {stem: 01-one, title: One, line: The first.}
    - {stem: 02-two, title: Two, line: The second.}
"""
INDEX = """# Home

There are {chapters}`finished` of {chapters}`planned`.

```{parts}
```

```{toctree}
chapters/01-one
```
"""


def build(folder: Path, index: str = INDEX) -> tuple[BeautifulSoup, str]:
    """Build a book of one chapter; return its first page and the warnings."""
    sources = {
        outline.PLAN: PLAN,
        "index.md": index,
        "chapters/01-one.md": "# The one\n\nOne is a number.\n",
    }
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file():  # what is there already must not look changed
            path.write_text(text)
    warnings = folder / "warnings.txt"
    with warnings.open("w") as stream, docutils_namespace():
        app = Sphinx(
            folder, None, folder / "out", folder / "trees", "html",
            confoverrides={
                "extensions": ["myst_parser", "unrolled_book.outline"],
                "root_doc": "index",
                "html_theme": "basic",
            },
            status=None, warning=stream,
        )  # fmt: skip
        app.build()
    return parse(folder / "out" / "index.html"), warnings.read_text()


def test_only_the_chapter_that_exists_is_linked_and_counted(tmp_path):
    page, warnings = build(tmp_path)
    assert "There are 1 of 2." in page.text
    links = {a.text: a["href"] for a in page.select(".parts li a")}
    assert links == {"One": "chapters/01-one.html"}
    assert page.text.count("being written") == 2
    assert warnings == ""


def test_a_chapter_that_is_added_becomes_a_link_at_the_next_build(tmp_path):
    build(tmp_path)
    (tmp_path / "chapters" / "02-two.md").write_text("---\norphan: true\n---\n# Two\n")
    page, _ = build(tmp_path)  # the first page itself has not changed
    assert "There are 2 of 2." in page.text
    assert len(page.select(".parts li a")) == 2


def test_the_number_stands_in_the_contents_but_not_in_the_heading(tmp_path):
    page, _ = build(tmp_path)
    assert page.select_one(".toctree-wrapper li").text == "1 The one"
    chapter = parse(tmp_path / "out" / "chapters" / "01-one.html")
    assert chapter.h1.contents[0] == "The one"


def test_an_unknown_count_is_reported(tmp_path):
    _, warnings = build(tmp_path, INDEX.replace("`planned`", "`plannd`"))
    assert "no count of chapters 'plannd': say one of finished, planned" in warnings


def test_a_gap_in_the_numbers_is_reported(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / outline.PLAN).write_text(PLAN.replace("02-two", "03-two"))
    with pytest.raises(ValueError, match=r"numbered from 0 on, got \[0, 1, 3\]"):
        outline.outline(tmp_path)


# ---- descriptions ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("About 3.5 of them, e.g. these.\nThen more.", None),
        ("See fig. 1 here. Then *more*.", ["See fig. 1 here.", "Then *more*."]),
    ],
)
def test_sentences_are_cut_where_they_end(text, expected):
    expected = expected or ["About 3.5 of them, e.g. these.", "Then more."]
    assert head.sentences(text) == expected


PAGE = """
Title
=====

.. note:: A box is no running text, however long it is and wherever it may stand.

1. Nor is a list, however many words there may be in one of its few items.

With an equation :math:`x` in it a sentence is left out. What is left says at once what
the page is about, at length. The rest is not needed.
"""


def test_a_page_is_described_by_its_first_sentences_of_running_text():
    found = head.describe(publish_doctree(PAGE))
    assert found == "What is left says at once what the page is about, at length. " + (
        "The rest is not needed."
    )
    opened = head.describe(publish_doctree(PAGE), "A line that is said first.")
    assert opened.startswith("A line that is said first. What is left says")
    assert "The rest" not in opened


def test_a_long_description_is_cut_between_words():
    found = head.describe(publish_doctree("Word, " * 100))
    assert len(found) <= head.TOO_LONG + 2
    assert found.endswith("Word …")


def test_a_tag_is_escaped_and_an_empty_one_left_out():
    made = head.tags({"description": 'a "b" & c', "og:url": "", "og:title": "T"})
    assert 'name="description" content="a &quot;b&quot; &amp; c"' in made
    assert '<meta property="og:title" content="T">' in made
    assert "og:url" not in made
