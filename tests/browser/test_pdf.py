"""The whole book as one PDF: complete, linked, numbered, drawn, and made offline.

It is printed once, by the command that ``make pdf`` runs; the tests read the file.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from pypdf import PageObject, PdfReader

from pdf.leaves import listed, plain

pytestmark = [pytest.mark.browser, pytest.mark.built]

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
A4 = (595, 842)
RAW = r"undefined|\\(?:mathbf|begin|frac|tanh|sum|top|text)\b|\\\(|\$\$|Show code cell"


@dataclass
class Printed:
    """A printed book: its file, its words by page, and what the command said."""

    reader: PdfReader
    said: str

    def __post_init__(self) -> None:
        self.words = [page.extract_text() for page in self.reader.pages]
        self.places = {
            name.removeprefix("/"): self.reader.get_destination_page_number(place) + 1
            for name, place in self.reader.named_destinations.items()
        }

    def links(self, page: PageObject) -> list[str]:
        """Return where the links of a page lead: "#id" or an address."""
        found = []
        for note in page.get("/Annots", []):
            note = note.get_object()
            if note["/Subtype"] == "/Link":
                inside = "/Dest" in note
                target = note["/Dest"] if inside else note["/A"]["/URI"]
                found.append(f"#{target.removeprefix('/')}" if inside else target)
        return found

    def bookmarks(self, items=None, above=()) -> list[tuple[tuple[str, ...], int]]:
        """Return every bookmark with those above it, and its page."""
        found, last = [], above
        for item in self.reader.outline if items is None else items:
            if isinstance(item, list):
                found += self.bookmarks(item, last)
            else:
                last = (*above, item.title)
                page = self.reader.get_destination_page_number(item) + 1
                found.append((last, page))
        return found


def run(*options: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdf", *map(str, options)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")} | environment,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pdf") / "dist" / "unrolled.pdf"


@pytest.fixture(scope="module")
def book(target) -> Printed:
    done = run("--html", HTML, "--target", target)
    assert done.returncode == 0, done.stderr
    return Printed(PdfReader(target), done.stdout)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def pages_and_parts() -> list[tuple[str, str]]:
    """Return every page of the book after the first, and its part."""
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    return list(listed(toc))[1:]


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


def test_the_command_says_where_it_is_and_how_long(book, target):
    last = book.said.splitlines()[-1]
    assert f"{target} ({len(book.reader.pages)} pages, " in last
    assert [path.name for path in target.parent.iterdir()] == [target.name]


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
    contents = [i for i, words in enumerate(book.words) if "Contents" in words[:60]]
    words = "\n".join(book.words[i] for i in contents)
    linked = [link for i in contents for link in book.links(book.reader.pages[i])]
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


def test_every_page_but_the_first_shows_its_number(book):
    for number, words in enumerate(book.words[1:], start=2):
        assert str(number) in words.split("\n")[:4], f"page {number}"
    assert "1" not in book.words[0].split("\n")


def test_every_link_inside_leads_somewhere_and_none_leaves_for_this_machine(book):
    links = [link for page in book.reader.pages for link in book.links(page)]
    inside = {link[1:] for link in links if link.startswith("#")}
    assert len(inside) > 20
    assert inside <= set(book.places)
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
    for number, words in enumerate(book.words, start=1):
        assert re.findall(RAW, words) == [], f"page {number}"


def test_nothing_goes_over_the_edge(book):
    assert "wider than the page" not in book.said


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


def test_what_a_claim_folds_on_the_screen_is_printed(book):
    folds = [f for _, _, a in articles() for f in a.select(".claim details")]
    assert folds
    printed = squeezed("".join(book.words))
    for fold in folds:
        assert squeezed(fold.summary.text) not in printed
        for row in fold.select("dl > div"):
            assert squeezed(row.text) in printed


# ---- one page, printed by a reader ----

VISIBLE = """() => [...document.querySelectorAll(
  'button, dialog, form, .bd-sidebar, .skip-link, .bd-header-article, .figure-dark, ' +
  'footer, .headerlink, details.hide')].filter((tag) => tag.offsetHeight)
  .map((tag) => `${tag.tagName}.${tag.className}`)"""


@pytest.mark.parametrize("name", [name for name, _ in pages_and_parts()[::4]])
def test_a_page_prints_only_its_text_and_in_light_colours(open_page, name):
    page = open_page(color_scheme="dark").page
    page.add_init_script("localStorage.setItem('mode', 'dark')")
    page.add_init_script("localStorage.setItem('theme', 'dark')")
    page.goto((HTML / f"{name}.html").as_uri())
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.seen = {theme} }})")
    assert page.evaluate(theme) == "dark"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("window.seen") == "light"
    assert page.evaluate(VISIBLE) == []
    assert page.locator("article h1").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"


# ---- hard cases, in a book of two pages ----

HARD = r"""<section id="top"><h1>Hard</h1><section id="math"><h2>On
<span class="math notranslate">\(\mathbf{x}_t\)</span></h2><p>Words.</p></section>
<div class="math notranslate"><span class="eqno">(1)</span>\[%s\]</div>
<div class="highlight-python notranslate"><div class="highlight"><pre>%s END</pre></div>
</div><div class="pst-scrollable-table-container"><table class="table"><thead><tr>
%s</tr></thead><tbody>%s</tbody></table></div>%s</section>"""
HEAD = """<html><head><script>window.MathJax = {}</script>
<link rel="stylesheet" href="../_static/unrolled.css">
<script defer src="../_static/mathjax/tex-chtml.js"></script></head>"""


def hard_book(folder: Path, more: str = "") -> list[object]:
    """Write a book that is hard to print, and return the options that print it."""
    equation = " + ".join(f"a_{{{i}}} b_{{{i}}}" for i in range(12))
    row = "".join(f"<td>{'wide' * 4} {i}</td>" for i in range(8))
    body = HARD % (
        equation, "x = " + "1 + " * 100,
        "".join(f"<th>column{i}</th>" for i in range(8)),
        f"<tr>{row}</tr>" * 60, more,
    )  # fmt: skip
    (folder / "book").mkdir()
    (folder / "_static").symlink_to(HTML / "_static")
    for name, words in (("index", "<h1>Door</h1>"), ("hard", body)):
        page = (
            f"{HEAD}<body><article class='bd-article'>{words}</article></body></html>"
        )
        (folder / "book" / f"{name}.html").write_text(page)
    toc = folder / "toc.yml"
    toc.write_text("root: book/index\nchapters:\n  - file: book/hard\n")
    return ["--html", folder, "--toc", toc, "--target", folder / "hard.pdf"]


def test_what_is_too_wide_is_wrapped_shrunk_or_turned(tmp_path):
    done = run(*hard_book(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "wider than" not in done.stdout
    book = Printed(PdfReader(tmp_path / "hard.pdf"), done.stdout)
    words = "\n".join(book.words)
    assert "END" in words
    assert "a11b11" in squeezed(words)
    turned = [p for p in book.reader.pages if p.mediabox.width > p.mediabox.height]
    assert len(turned) > 1
    for page in turned:
        assert "column7" in page.extract_text()  # the head is repeated
    marks = [path[-1] for path, _ in book.bookmarks()]
    assert marks[:3] == ["Unrolled", "Contents", "Hard"]
    assert marks[3] == "On x_t"


FAULTS = r"""<img src="https://example.org/a.png" alt="a"><img src="gone.svg" alt="a">
<p class="math">\(\oops\)</p><script>throw new Error("ah");</script>"""


def test_a_book_with_faults_is_not_printed_and_all_are_named(tmp_path):
    done = run(*hard_book(tmp_path, FAULTS))
    assert done.returncode == 1
    assert "No PDF was made" in done.stderr
    assert "asked for https://example.org/a.png" in done.stderr
    assert re.search(r"did not find file://\S+/gone.svg", done.stderr)
    assert r"an equation is not understood: \oops" in done.stderr
    assert "\n  ah\n" in done.stderr
    assert not (tmp_path / "hard.pdf").exists()


def test_without_chromium_it_says_what_to_install(tmp_path):
    done = run(*hard_book(tmp_path), PATH="")
    assert done.returncode == 1
    assert "no Chromium on the PATH: install it" in done.stderr
    assert "Traceback" not in done.stderr
