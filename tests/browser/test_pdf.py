"""The command that prints the book: hard pages, faults, and one page by a reader.

Whether what it prints is complete is held in test_pdf_book.py.
"""

import re
from pathlib import Path

import pytest
import yaml
from printed import HTML, TOC, Printed, print_book, squeezed
from pypdf import PdfReader

from pdf.leaves import listed

pytestmark = [pytest.mark.browser, pytest.mark.built]

PAGES = [name for name, _ in listed(yaml.safe_load(TOC.read_text(encoding="utf-8")))]

# ---- one page, printed by a reader ----

VISIBLE = """() => [...document.querySelectorAll(
  'button, dialog, form, .bd-sidebar, .skip-link, .bd-header-article, .figure-dark, ' +
  'footer, .headerlink, details.hide')].filter((tag) => tag.offsetHeight)
  .map((tag) => `${tag.tagName}.${tag.className}`)"""


@pytest.mark.parametrize("name", PAGES[1::4])
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
    return ["--html", folder, "--toc", toc, "--target", folder / "dist" / "hard.pdf"]


DEAD = r"""<p><a href="#gone">dead</a></p><p id="gone" style="display: none">x</p>
<p>raw: \mathbf x</p>"""


@pytest.fixture(scope="module")
def hard(tmp_path_factory) -> tuple[Path, str]:
    """Print the hard book; return its file and what the command said last."""
    folder = tmp_path_factory.mktemp("hard")
    done = print_book(*hard_book(folder, DEAD))
    assert done.returncode == 0, done.stderr
    return folder / "dist" / "hard.pdf", done.stdout.splitlines()[-1]


def test_the_command_says_where_it_is_and_how_long(hard):
    target, said = hard
    assert f"{target} ({len(PdfReader(target).pages)} pages, " in said
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_a_dead_link_and_raw_text_are_found(hard):
    book = Printed(PdfReader(hard[0]))
    assert book.dead_links() == {"book-hard--gone"}
    assert list(book.raw().values()) == [[r"\mathbf"]]


def test_what_is_too_wide_is_wrapped_shrunk_or_turned(hard):
    book = Printed(PdfReader(hard[0]))
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
<p class="math">\(\oops\)</p><script>throw new Error("ah");</script>
<div style="width: 3000px">far out</div>"""


def test_a_book_with_faults_is_not_printed_and_all_are_named(tmp_path):
    done = print_book(*hard_book(tmp_path, FAULTS))
    assert done.returncode == 1
    assert "No PDF was made" in done.stderr
    assert "asked for https://example.org/a.png" in done.stderr
    assert re.search(r"did not find file://\S+/gone.svg", done.stderr)
    assert r"an equation is not understood: \oops" in done.stderr
    assert "\n  ah\n" in done.stderr
    assert "wider than the page: DIV.: far out" in done.stderr
    assert not list((tmp_path / "dist").iterdir())


def test_without_chromium_it_says_what_to_install(tmp_path):
    done = print_book(*hard_book(tmp_path), PATH="")
    assert done.returncode == 1
    assert "no Chromium on the PATH: install it" in done.stderr
    assert "Traceback" not in done.stderr
