"""The book as one PDF: complete, linked, numbered, drawn.

``make pdf`` checks the whole book by these tests: it names the file in UNROLLED_PDF.
Without that name a book of two chapters is printed, with the pages that they lead to:
the ledger, which leads back, the data, whose pictures are painted, and one that is left
to the screen.
"""

import os
import re
from functools import cache

import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from printed import HTML, ROOT, TOC, Printed, print_book, squeezed
from pypdf import PdfReader

from pdf.leaves import listed, on_paper, plain

pytestmark = [pytest.mark.browser, pytest.mark.built]

A4 = (595, 842)
WHOLE = os.environ.get("UNROLLED_PDF")
FEW = (
    "chapters/04-recurrent-networks", "chapters/05-backpropagation-through-time",
    "book/data", "book/claims", "book/times",
)  # fmt: skip


def contents() -> dict:
    """Return the contents of the book that is printed: all pages, or few."""
    toc = yaml.safe_load(TOC.read_text(encoding="utf-8"))
    if not WHOLE:
        for part in toc["parts"]:
            part["chapters"] = [c for c in part["chapters"] if c["file"] in FEW]
            for chapter in part["chapters"]:
                chapter.pop("sections", None)
    return toc


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Printed:
    if WHOLE:
        return Printed(PdfReader(ROOT / WHOLE))
    folder = tmp_path_factory.mktemp("pdf")
    toc, target = folder / "toc.yml", folder / "few.pdf"
    toc.write_text(yaml.safe_dump(contents()), encoding="utf-8")
    done = print_book("--html", HTML, "--toc", toc, "--target", target)
    assert done.returncode == 0, done.stderr
    return Printed(PdfReader(target))


def pages_and_parts() -> list[tuple[str, str]]:
    """Return every printed page of the book after the first, and its part."""
    return [(name, part) for name, part in listed(contents()) if on_paper(name)][1:]


@cache
def articles() -> list[tuple[str, str, Tag]]:
    """Return the same with the words of each page; to be read, not changed."""
    found = []
    for name, part in pages_and_parts():
        soup = BeautifulSoup((HTML / f"{name}.html").read_text("utf-8"), "html.parser")
        for tag in soup.select("a.headerlink"):
            tag.decompose()
        found.append((name, part, soup.select_one("article.bd-article")))
    return found


# ---- the file ----


def test_it_is_a_book_on_a4(book):
    assert len(book.reader.pages) > 20
    for page in book.reader.pages:
        size = (round(page.mediabox.width), round(page.mediabox.height))
        assert sorted(size) == sorted(A4)


def test_it_has_a_title_an_author_and_a_language(book):
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert book.reader.metadata.title == about["title"]
    assert book.reader.metadata.author == about["authors"][0]["name"]
    assert book.reader.root_object["/Lang"] == "en"
    assert book.reader.root_object["/MarkInfo"]["/Marked"]
    assert about["authors"][0]["name"] in book.words[0]


def test_every_font_is_in_the_file(book):
    fonts = {
        id(font): font
        for page in book.reader.pages
        for font in (f.get_object() for f in page["/Resources"]["/Font"].values())
    }
    assert fonts
    for font in fonts.values():
        if font["/Subtype"] == "/Type3":  # drawn by the file itself
            continue
        whole = font["/DescendantFonts"][0] if "/DescendantFonts" in font else font
        descriptor = whole.get_object()["/FontDescriptor"].get_object()
        assert any(key.startswith("/FontFile") for key in descriptor), font


# ---- finding one's way ----


def test_every_page_of_the_book_has_its_bookmark_under_its_part(book):
    marks = dict(book.bookmarks())
    assert marks["Unrolled",] == 1
    for name, part, article in articles():
        title = plain(article.h1)
        (page,) = [p for path, p in marks.items() if path[:1] == (part,)
                   and len(path) == 2 and path[1].endswith(title)]  # fmt: skip
        assert page == book.places[name.replace("/", "-")]
        assert squeezed(title) in squeezed(book.words[page - 1])


def test_the_sections_of_a_page_are_bookmarks_below_it(book):
    marks = [path for path, _ in book.bookmarks()]
    for _, part, article in articles():
        title = plain(article.h1)
        below = [p[2] for p in marks if len(p) == 3 and p[0] == part
                 and p[1].endswith(title)]  # fmt: skip
        assert below == [plain(heading) for heading in article("h2")]


def test_the_contents_name_every_page_and_section_with_its_real_page(book):
    own = [i for i, words in enumerate(book.words) if "Contents" in words[:60]]
    words = "\n".join(book.words[i] for i in own)
    linked = [link for i in own for link in book.links(book.reader.pages[i])]
    for name, _, article in articles():
        id = name.replace("/", "-")
        places = {id: article.h1} | {
            f"{id}--{h2.parent['id']}": h2
            for h2 in article("h2")
            if h2.parent.get("id") and not h2.select(".math")
        }
        for place, heading in places.items():
            assert f"#{place}" in linked
            title = r"\s*".join(map(re.escape, squeezed(plain(heading))))
            line = rf"{title}\s*{book.places[place]}(?!\d)"
            assert re.search(line, words), (plain(heading), book.places[place])


def test_the_contents_end_with_what_is_left_to_the_screen(book):
    names = [name for name, _ in listed(contents()) if not on_paper(name)]
    assert "book/times" in names
    start = min(book.places[name.replace("/", "-")] for name, _ in pages_and_parts())
    last = squeezed(book.words[start - 2].partition("Not on paper")[2])
    titles = {path[-1] for path, _ in book.bookmarks()}
    for name in names:
        soup = BeautifulSoup((HTML / f"{name}.html").read_text("utf-8"), "html.parser")
        heading = soup.select_one("article.bd-article h1")
        heading.select_one("a.headerlink").decompose()
        title = plain(heading)
        assert squeezed(title.partition(":")[0]) in last
        assert title not in titles


def test_every_page_but_the_first_shows_its_number(book):
    for number, words in enumerate(book.words[1:], start=2):
        assert str(number) in words.split("\n")[:4], f"page {number}"
    assert "1" not in book.words[0].split("\n")


def test_every_link_inside_leads_somewhere_and_none_leaves_for_this_machine(book):
    links = [link for page in book.reader.pages for link in book.links(page)]
    inside = {link[1:] for link in links if link.startswith("#")}
    assert len(inside) > 20
    assert book.dead_links() == set()
    outside = {link for link in links if not link.startswith("#")}
    assert all(re.match(r"https?://|mailto:", link) for link in outside), outside


def test_links_lead_from_one_chapter_to_another(book):
    starts = sorted(book.places[name.replace("/", "-")] for name, _, _ in articles())
    home = {p: max(s for s in starts if s <= p) for p in range(starts[0], 10_000)}
    across = 0
    for number, page in enumerate(book.reader.pages, start=1):
        for link in book.links(page):
            if number >= starts[0] and link.startswith("#"):
                to = book.places[link[1:]]
                across += to >= starts[0] and home[to] != home[number]
    assert across > 10


# ---- what is on the pages ----


def test_nothing_is_left_raw(book):
    assert book.raw() == {}


def test_every_page_has_words_or_a_figure(book):
    for number, words in enumerate(book.words, start=1):
        drawn = len(book.reader.pages[number - 1].get_contents().get_data())
        assert len(words) > 150 or drawn > 3000, f"page {number} is empty"


def test_figures_are_drawn_and_only_pixels_are_painted(book):
    painted = []
    for page in book.reader.pages:
        parts = page["/Resources"].get("/XObject", {}).values()
        found = (part.get_object() for part in parts)
        painted += [p["/Width"] for p in found if p["/Subtype"] == "/Image"]
    pixels = [img for _, _, a in articles() for img in a.select("img.data-picture")]
    assert len(painted) == len(pixels)
    assert max(painted) <= 64  # they are data, a few pixels wide: none is a figure


def test_every_lab_is_there_and_says_that_it_is_interactive(book):
    labs = sum(len(article.select("[data-lab]")) for _, _, article in articles())
    assert labs
    assert "\n".join(book.words).count("Interactive in the online book.") == labs


def test_the_answers_come_last_and_the_quizzes_say_where(book):
    quizzes = [q for _, _, article in articles() for q in article.select(".quiz[id]")]
    assert quizzes
    first = book.places["answers"]
    words = squeezed("".join(book.words[: first - 1]))
    answers = squeezed("".join(book.words[first - 1 :]))
    for why in (why for quiz in quizzes for why in quiz.select(".quiz-why")):
        reason = squeezed(why.text).removeprefix(squeezed(why.strong.text))
        assert reason not in words
        assert reason in answers
    said = re.findall(r"The answers are on page\s+(\d+)", "\n".join(book.words))
    assert len(said) == len(quizzes)
    assert all(int(page) >= first for page in said)


def test_the_numbers_on_a_claims_card_are_printed(book):
    rows = [row for _, _, a in articles() for row in a.select(".claim dl > div")]
    assert rows
    printed = squeezed("".join(book.words))
    for row in rows:
        assert squeezed(row.text) in printed
