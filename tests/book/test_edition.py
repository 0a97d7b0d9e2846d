"""The reader's edition says what the page says, in words that any viewer shows."""

import copy
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urldefrag

import nbformat
import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from nbconvert import HTMLExporter, MarkdownExporter

import chapters
from unrolled.book.drawing import IN_NOTEBOOKS
from unrolled.book.records import FIGURE
from unrolled_book import edition, labels, notebooks
from unrolled_book.blocks import Code, Directive, Words, blocks
from unrolled_book.claims import Entry

ROOT = chapters.ROOT
HTML = ROOT / "_build" / "html"
SOURCES = chapters.sources()
every_page = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
RAW = re.compile(r"\{[a-z:]+\}`|^ *:::|```\{|^\([\w-]+\)=$|\{math\}", re.M)


def stored(source: Path) -> nbformat.NotebookNode:
    return nbformat.read(chapters.notebook_of(source), as_version=4)


def words_of(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


# ---- against the built page ----


def plain(html: str) -> str:
    """Return the words of HTML, spaces and quotation marks made alike."""
    soup = BeautifulSoup(html, "lxml")
    for node in soup.select("a.headerlink, .eqno, .math, script, style"):
        node.decompose()
    text = soup.get_text()
    text = text.translate(str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")).replace(
        "…", "..."
    )
    return "".join(re.sub("[–—]", "-", text).split())


def of_the_edition(source: Path) -> list[str]:
    """Return the paragraphs of the edition, equations left out."""
    markdown = MarkdownIt().enable("table")
    found = []
    for text in words_of(stored(source)):
        text = re.sub(r"^\*From \[Unrolled\].*$", "", text, flags=re.M)
        text = re.sub(r"\$\$.+?\$\$|(?<![\\`])\$[^$`]+?\$", "", text, flags=re.S)
        soup = BeautifulSoup(markdown.render(text), "lxml")
        parts = soup.select("p, li, h1, h2, h3, h4, td, th")
        found += [plain(str(p)) for p in parts if not p.find(["p", "li"])]
    return [text for text in found if text]


@cache
def of_the_page(source: Path) -> str:
    html = (HTML / "chapters" / f"{source.stem}.html").read_text(encoding="utf-8")
    article = BeautifulSoup(html, "lxml").select_one("article.bd-article")
    return plain(str(article))


@pytest.mark.built
@every_page
def test_every_paragraph_reads_as_on_the_page(source):
    page = of_the_page(source)
    missing = [
        text
        for text in of_the_edition(source)
        # the page has no full stop after the number of a figure
        if re.sub(r"^(Figure\d+\.\d+)\.", r"\1", text) not in page
    ]
    assert missing == []


@cache
def anchors(page: str) -> set[str]:
    html = (HTML / page).read_text(encoding="utf-8")
    return set(re.findall(r'\bid="([^"]+)"', html))


def addresses(source: Path) -> list[str]:
    text = "\n".join(words_of(stored(source)))
    home = re.escape(chapters.the_book().address)
    return re.findall(rf"\]\({home}/([^)]+)\)", text)


@pytest.mark.built
@every_page
def test_every_link_into_the_book_leads_somewhere(source):
    found = addresses(source)
    assert found
    for address in found:
        page, anchor = urldefrag(address)
        assert (HTML / page).is_file(), address
        assert not anchor or anchor in anchors(page), address


@pytest.mark.built
def test_numbers_and_places_of_labels_are_those_of_the_pages():
    seen = set()
    for name, label in chapters.the_book().labels.items():
        page = (
            BeautifulSoup(
                (HTML / f"{label.docname}.html").read_text(encoding="utf-8"), "lxml"
            )
            if label.kind in ("figure", "equation", "exercise")
            else None
        )
        if page is None:
            assert not label.anchor or label.anchor in anchors(f"{label.docname}.html")
            continue
        place = page.find(id=label.anchor)
        number = place.select_one(".caption-number, .eqno").get_text().strip(" #")
        assert number == label.words, name
        seen.add(label.kind)
    assert seen == {"figure", "equation", "exercise"}


# ---- every committed notebook ----


@every_page
def test_a_notebook_shows_no_source_of_myst(source):
    for text in words_of(stored(source)):
        assert edition._leftovers(text) == []
        assert not RAW.search(text), RAW.search(text)


@pytest.mark.slow
@every_page
def test_what_nbconvert_makes_of_it_has_none_either(source):
    for exporter in (HTMLExporter(), MarkdownExporter()):
        text, _ = exporter.from_notebook_node(stored(source))
        text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)
        assert not RAW.search(text), RAW.search(text)


@every_page
def test_its_code_is_the_sources_and_is_folded_alike(source):
    codes = [
        [
            (c.source, c.metadata.get("tags"), c.metadata.get("jupyter"))
            for c in notebook.cells
            if c.cell_type == "code"
        ]
        for notebook in (stored(source), notebooks.read_source(source))
    ]
    assert codes[0] == codes[1]


@every_page
def test_every_record_and_figure_has_its_drawing(source):
    found = [
        "text/html" in bundle
        for mime in (*IN_NOTEBOOKS, FIGURE)
        for bundle, _ in notebooks.outputs(stored(source), mime)
    ]
    assert found
    assert all(found)


# ---- one construct after another ----

HOME = "https://book.test"
LABELS = {
    "ch-a": labels.Label("chapters/01-a", "ch-a", "section", "Title"),
    "ch-b": labels.Label("chapters/02-b", "ch-b", "section", "Other"),
    "fig-b": labels.Label("chapters/02-b", "fig-b", "figure", "Figure 2.1"),
    "eq-a": labels.Label("chapters/01-a", "equation-eq-a", "equation", "(1.1)"),
    "ex-a": labels.Label("chapters/01-a", "ex-a", "exercise", "Exercise 1.1"),
    "/book/setup": labels.Label("book/setup", "", "page", "Set-up"),
    "term softmax": labels.Label("book/glossary", "term-softmax", "term", "softmax"),
}
CLAIMS = {"sum": Entry("chapters/02-b", {"measured": {"share": 0.957}})}


def made(tmp_path, text, caption=None):
    """Return the words of the edition of a page with this text."""
    source = tmp_path / "01-a.md"
    source.write_text(f"# Title\n\n{text}\n")
    book = SimpleNamespace(
        labels=LABELS,
        claims=CLAIMS,
        works=chapters.the_book().works,
        url=lambda page, anchor="": f"{HOME}/{page}" + (f"#{anchor}" if anchor else ""),
    )
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    if caption:
        figure = {"figure": {"name": "fig-b", "caption": caption}}
        page.cells.append(nbformat.v4.new_code_cell("1", metadata={"mystnb": figure}))
    return "\n\n".join(words_of(edition.Edition(book, source).of(page)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{measured}`sum:share:.0%`", "96%"),
        ("{ref}`ch-a`", "Title"),  # on the same page
        ("{ref}`ch-b`", f"[Other]({HOME}/chapters/02-b#ch-b)"),
        ("{ref}`words\n<ch-b>`", f"[words]({HOME}/chapters/02-b#ch-b)"),
        ("[words](ch-b)", f"[words]({HOME}/chapters/02-b#ch-b)"),
        ("[](#ch-b)", f"[Other]({HOME}/chapters/02-b#ch-b)"),
        ("[web](https://a.b/c)", "[web](https://a.b/c)"),
        ("{numref}`fig-b`", f"[Figure 2.1]({HOME}/chapters/02-b#fig-b)"),
        ("{numref}`Fig. %s <fig-b>`", f"[Fig. 2.1]({HOME}/chapters/02-b#fig-b)"),
        ("{eq}`eq-a`", "(1.1)"),
        ("{doc}`/book/setup`", f"[Set-up]({HOME}/book/setup)"),
        ("{term}`softmax`", f"[softmax]({HOME}/book/glossary#term-softmax)"),
        ("{claim}`it <sum>`", f"[it]({HOME}/chapters/02-b#claim-sum)"),
        ("{cite:t}`elman1990`", f"Elman [[1990]({HOME}/book/bibliography#elman1990)]"),
        (
            "{cite:p}`elman1990`",
            f"[[Elman, 1990]({HOME}/book/bibliography#elman1990)]",
        ),
        ("`{eq}` and $x_{t}$ and `[0](x)`", "`{eq}` and $x_{t}$ and `[0](x)`"),
        ("(here)=\n## A\n\n% gone\nB", "## A\n\nB"),
        ("```python\n{eq}`x`\n```", "```python\n{eq}`x`\n```"),
        ("```{math}\n:label: eq-a\nx\n```", "$$\nx \\tag{1.1}\n$$"),
        ("$$a$$\n\n$$\nx\n$$ (eq-a)\n\nB", "$$a$$\n\n$$\nx \\tag{1.1}\n$$\n\nB"),
        (
            "```{math}\na \\\\\nb\n```",
            "$$\n\\begin{aligned}\na \\\\\nb\n\\end{aligned}\n$$",
        ),
        (":::{admonition} T\n:class: predict\nB?\n:::", "> **T**\n>\n> B?"),
        (":::{note}\nB\n:::", "> **Note**\n>\n> B"),
        (
            "::::{note}\n:::{tip}\n```{math}\na\nb\n```\n:::\n::::",
            "> **Note**\n>\n> > **Tip**\n> >\n> > $$ a b $$",
        ),
        (
            ":::{admonition} Deeper\n:class: dropdown\n*B*\n:::",
            "<details><summary>Deeper</summary>\n\n*B*\n\n</details>",
        ),
        (
            "```{exercise} T\n:label: ex-a\nDo {eq}`eq-a`.\n```",
            "> **Exercise 1.1** (T)\n>\n> Do (1.1).",
        ),
    ],
)
def test_a_construct_becomes_plain_markdown(tmp_path, text, expected):
    assert made(tmp_path, text).strip() == expected


def test_a_caption_stands_below_its_figure_with_number_and_numbers(tmp_path):
    found = made(tmp_path, "A", caption="*Of* {measured}`sum:share`.")
    assert found == "A\n\n**Figure 2.1.** *Of* 0.957."


def test_under_the_title_stands_where_the_page_comes_from(tmp_path):
    title, origin, text = made(tmp_path, "# T\n\nA").split("\n\n")
    assert (title, text) == ("# T", "A")
    assert f"{HOME}/chapters/01-a" in origin
    assert "chapter 1" in origin


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{measured}`sum:none`", "line 5: no measured number 'sum:none'"),
        ("{ref}`ch-c`", r"line 5: {ref}`ch-c`: no section has the label 'ch-c'"),
        ("{ref}`fig-b`", "no section has the label 'fig-b'"),
        ("{eq}`eq-b`", "no equation has the label 'eq-b'"),
        ("{claim}`other`", "no claim 'other'"),
        ("{cite:t}`nobody1900`", "no work 'nobody1900'"),
        ("{cite:alp}`elman1990`", "no role 'cite:alp'"),
        ("[words](ch-c)", r"line 5: \[words\]\(ch-c\) leads to no label"),
        ("![a](b.png)", "leads to no label"),
        ("```{figure} b.png\n```", "no directive 'figure'"),
        (":::{note}\nB", "never closed"),
        ("- $$x$$ (eq-a)", "a labelled equation"),
        ("- a\n\n  :::{note}\n  B\n  :::", "a box that plain"),
        ("{{ name }}", "a substitution"),
        ("a[^1]\n\n[^1]: b", "a footnote"),
        ("Term\n: what it is", "a list of definitions"),
    ],
)
def test_what_cannot_be_resolved_is_an_error_that_says_where(tmp_path, text, error):
    with pytest.raises(edition.EditionError, match=error) as found:
        made(tmp_path, f"First.\n\n{text}")
    assert str(found.value).startswith("01-a.md, line ")


def test_a_text_is_cut_into_words_code_and_directives():
    cut = list(blocks("a\n```py\n:::{b}\n```\n````{c} d\n---\ne: 1\n---\nf\n````\ng"))
    assert cut == ["a", "```py\n:::{b}\n```", ("c", "d", {"e": 1}, "f"), "g"]
    assert [type(one) for one in cut] == [Words, Code, Directive, Words]


def test_a_label_used_twice_is_an_error(tmp_path):
    (tmp_path / "book").mkdir()
    for name in "ab":
        (tmp_path / "book" / f"{name}.md").write_text("(x)=\n# X\n")
    with pytest.raises(ValueError, match="'x' is used twice, in book/a and book/b"):
        labels.all_labels(tmp_path)


# ---- made anew without a run ----


@every_page
def test_a_notebook_with_the_words_of_the_source_becomes_the_same_edition(source):
    ran = stored(source)
    raw = notebooks.with_outputs(source, copy.deepcopy(ran))  # as a run leaves it
    assert words_of(raw) != words_of(ran)
    assert chapters.edition_of(source, raw, chapters.the_book()) == ran


def test_how_a_record_is_drawn_makes_nothing_stale(tmp_path, monkeypatch):
    source = SOURCES[0]
    before = chapters.outputs_digest(stored(source))
    monkeypatch.setattr(edition, "draw", lambda mime, record, **_: "<b>new</b>")
    made = chapters.edition_of(source, stored(source), chapters.the_book())
    assert "<b>new</b>" in nbformat.writes(made)
    assert chapters.outputs_digest(made) == before
    assert chapters.is_out_of_step(source)
    assert not chapters.is_stale(source)
