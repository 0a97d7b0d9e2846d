"""The pages of the book in one document: links, ids, answers, contents."""

from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from pdf import PrintError, assemble, leaves
from pdf.front import About

ABOUT = About(
    name="A book: on <paper>",
    author="We",
    abstract="It is short.",
    repository="https://example.org/",
    version="1",
    date="today",
)
TOC = {
    "root": "book/index",
    "parts": [
        {"caption": "Part I", "chapters": [{"file": "chapters/01-one"}]},
        {
            "caption": "Part II",
            "chapters": [
                {
                    "file": "chapters/02-two",
                    "sections": [{"file": "chapters/02a-more"}],
                },
                *({"file": f"book/{name}"} for name in ("reference-one", "speed")),
                *({"file": f"book/{name}"} for name in ("reference", "references")),
            ],
        },
    ],
}
QUIZ = """<div class="quiz" id="quiz-q"><style>.quiz-why {}</style>
<fieldset class="quiz-question"><legend>How many?</legend>
<div class="quiz-option" data-right="false"><input type="radio" id="q-0">
<label for="q-0">One</label>
<p class="quiz-why"><strong>Not quite.</strong> Too few.</p></div>
<div class="quiz-option" data-right="true"><input type="radio" id="q-1">
<label for="q-1">Two</label>
<p class="quiz-why"><strong>Right.</strong> Because.</p></div>
</fieldset></div>"""
PAGES = {
    "book/index": "<h1>Door</h1><p id='in'>Come in.</p>",
    "chapters/01-one": '<section id="top"><h1>One<a class="headerlink" href="#top">'
    '#</a></h1></section><section id="same"><h2>First <a href="#top">thing</a></h2>'
    '<p>A <a class="far" href="02-two.html#same">far</a>, '
    '<a class="page" href="02-two.html">page</a>, '
    '<a class="gone" href="02-two.html#hidden">gone</a>, '
    '<a class="door" href="../book/index.html#in">door</a>, '
    '<a class="web" href="https://example.org/#x">web</a>, '
    '<a class="index" href="../genindex.html">index</a>, '
    '<a class="left" href="../book/speed.html#top">left</a> and '
    '<a class="file" href="../_static/x.zip">file</a> link: '
    '<span class="math">\\(x\\)</span>).</p>'
    '<img class="figure-light" src="../_images/a.svg" alt="a">'
    '<img class="figure-dark" src="../_images/b.svg" alt="a">' + QUIZ + "</section>",
    "chapters/02-two": '<section id="top"><h1>Two: “\\(x_t\\)”</h1>'
    '<p id="same">Same.</p>'
    '<details class="hide"><pre id="hidden">import torch</pre></details>'
    '<label for="same">l</label></section>',
    "chapters/02a-more": "<h1>More</h1>",
    "book/reference-one": "<h1>Help: one</h1>",
    "book/speed": "<h1 id='top'>Speed &amp; size</h1>",
    "book/reference": "<h1>Help</h1>",
    "book/references": "<h1>Works</h1><div class='ledger'><table><tr><th>a<br>b</th>"
    "<td>c: 1<br>d: 2</td></tr></table></div>",
}


@pytest.fixture
def built(tmp_path) -> Path:
    """A small book as Sphinx would have built it, and its table of contents."""
    for name, words in PAGES.items():
        path = tmp_path / f"{name}.html"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            "<html><head><link rel='stylesheet' href='../_static/a.css'>"
            "<script src='../_static/scripts/theme.js'></script>"
            f"</head><body><article class='bd-article'>{words}</article></body></html>"
        )
    (tmp_path / "toc.yml").write_text(yaml.safe_dump(TOC))
    return tmp_path


@pytest.fixture
def book(built) -> assemble.Book:
    return assemble.book(built, built / "toc.yml", ABOUT)


@pytest.fixture
def soup(book) -> BeautifulSoup:
    return BeautifulSoup(book.html, "html.parser")


def test_the_leaves_come_in_reading_order_with_their_parts(book):
    found = [(leaf.docname, leaf.part, leaf.number) for leaf in book.leaves]
    assert found == [
        ("chapters/01-one", "Part I", "1"),
        ("chapters/02-two", "Part II", "2"),
        ("chapters/02a-more", "Part II", ""),
        ("book/references", "Part II", ""),
        ("answers", "Part II", ""),
    ]


def test_a_page_that_is_not_built_is_named(built):
    (built / "chapters" / "02-two.html").unlink()
    with pytest.raises(PrintError, match=r"02-two.html is not there: say make book"):
        leaves.read(built, built / "toc.yml")


def test_no_id_is_used_twice_and_every_link_inside_leads_to_one(soup):
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    inside = [a["href"] for a in soup("a", href=True) if a["href"].startswith("#")]
    assert inside
    assert {href[1:] for href in inside} <= set(ids)
    assert soup.find("label", attrs={"for": "chapters-02-two--same"})


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("far", "#chapters-02-two--same"),
        ("page", "#chapters-02-two"),
        ("gone", "#chapters-02-two"),
        ("door", "#title-page"),
        ("web", "https://example.org/#x"),
    ],
)
def test_a_link_leads_to_its_place_in_the_document(soup, link, place):
    assert soup.select_one(f"a.{link}")["href"] == place


def test_a_link_that_paper_cannot_follow_is_plain_text(soup):
    assert not soup.select("a.index, a.left, a.file")
    assert "index, left and file link" in soup.select_one("#chapters-01-one").text


def test_what_paper_has_no_use_for_is_left_out(soup):
    assert not soup.select(".headerlink, .figure-dark, details.hide, input")
    assert "theme.js" not in soup.head.decode()
    assert soup.head.select_one("link")["href"].startswith("file://")
    assert soup.select_one("img.figure-light")["src"].endswith("/_images/a.svg")


def test_a_book_with_nothing_for_the_screen_says_nothing_of_it(built):
    toc = {"root": "book/index", "chapters": [{"file": "chapters/01-one"}]}
    (built / "toc.yml").write_text(yaml.safe_dump(toc))
    assert "Not on paper" not in assemble.book(built, built / "toc.yml", ABOUT).html


def test_the_numbers_of_a_ledgers_row_stand_in_one_paragraph(soup):
    assert soup.select_one(".ledger td").text == "c: 1; d: 2"
    assert soup.select_one(".ledger th br")


def test_the_answers_are_at_the_end_and_the_right_one_is_first(soup):
    chapter, answers = soup.select_one("#chapters-01-one"), soup.select_one("#answers")
    assert "Because" not in chapter.text
    assert "Too few" not in chapter.text
    assert [p.text for p in answers.select("ol p")] == [
        "How many?",
        "(b) Two:  Because.",
        "(a) One:  Too few.",
    ]
    line = chapter.select_one(".page-line a")
    assert line["href"] == "#" + line.span["data-of"] == f"#{answers.ol['id']}"


def test_the_contents_list_parts_pages_and_sections(soup):
    contents = soup.select_one("nav.book-contents")
    lines = [tag.text for tag in contents.find_all(["p", "a"], recursive=False)]
    assert lines == [
        "Part I",
        "1One",
        "First thing",
        "Part II",
        "2Two: “\\(x_t\\)”",
        "More",
        "Works",
        "Answers",
        "One",
        "Not on paper, but in the book on the web, which is built from "
        "https://example.org/: Help, Speed & size.",
    ]
    for entry in contents.find_all("a", recursive=False):
        assert entry["href"] == "#" + entry.select_one(".page-of")["data-of"]
        assert not entry.select("a")


def test_titles_stand_at_the_head_of_the_pages_as_text(book, soup):
    style = soup.style.text
    assert '@top-right { content: "2  Two: “x_t”"; }' in style
    assert soup.title.text == "A book: on <paper>"
    assert soup.select_one(".subtitle").text == "On <paper>"


def test_a_title_cannot_end_its_string():
    assert assemble._quoted('a\\b"c<') == '"a\\00005cb\\000022c\\00003c"'
