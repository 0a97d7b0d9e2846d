"""Our Sphinx extension: its parts by themselves, and in a miniature book."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer

from minibook import build, page, write_source
from unrolled.book.claims import claim
from unrolled.book.records import CLAIM as MIME
from unrolled.book.records import SHOW
from unrolled.book.sources import source_of
from unrolled.figures.plots import plot_squash
from unrolled.widgets import MIME as LAB
from unrolled.widgets import lab_files
from unrolled_book import (
    byline,
    claims,
    corrections,
    notebooks,
    rebuild,
    repairs,
    themes,
)

ROOT = Path(__file__).resolve().parents[2]


def a_claim(name="two-and-two", source=None, verdict=None):
    return claim(
        name,
        "Two & two make four.",
        measured={"sum": 4.0, "share": 0.957},
        holds=lambda m: True,
        source=source,
        verdict=verdict,
    )


def code(*bundles, **metadata):
    outputs = [
        {
            "output_type": "execute_result",
            "data": b,
            "metadata": {},
            "execution_count": 1,
        }
        for b in bundles
    ]
    return {
        "cell_type": "code",
        "source": "x = 1",
        "metadata": metadata,
        "execution_count": 1,
        "outputs": outputs,
    }


def prose(text):
    return {"cell_type": "markdown", "source": text, "metadata": {}}


def write_notebook(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = {
        "cells": [{"id": f"cell-{n}"} | cell for n, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {
                "name": "python3",
                "display_name": "P",
                "language": "python",
            },
            "unrolled": {"key": "0", "seconds": 12.4, "cores": 2},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(notebook))
    write_source(path)
    return path


# ---- claims ----


def test_claims_are_found_with_their_chapter(tmp_path):
    for chapter in ("01-a", "02-b"):
        card = a_claim(chapter[3:])._repr_mimebundle_()
        write_notebook(
            tmp_path / "chapters" / f"{chapter}.ipynb", prose("x"), code(card)
        )
    found = claims.all_claims(tmp_path)
    assert {name: e.docname for name, e in found.items()} == {
        "a": "chapters/01-a",
        "b": "chapters/02-b",
    }
    assert found["a"].claim["measured"] == {"sum": 4.0, "share": 0.957}


def test_a_claim_made_twice_is_named(tmp_path):
    for chapter in ("01-a", "02-b"):
        card = a_claim()._repr_mimebundle_()
        write_notebook(tmp_path / "chapters" / f"{chapter}.ipynb", code(card))
    with pytest.raises(
        ValueError, match="twice: 'two-and-two' in chapters/01-a and chapters/02-b"
    ):
        claims.all_claims(tmp_path)


def test_a_students_copy_of_a_notebook_is_not_a_chapter(tmp_path):
    card = a_claim()._repr_mimebundle_()
    chapter = write_notebook(tmp_path / "chapters" / "01-a.ipynb", code(card))
    chapter.with_name("01-a-Copy1.ipynb").write_text(chapter.read_text())
    chapter.with_name("Untitled.ipynb").write_text("")
    assert list(claims.all_claims(tmp_path)) == ["two-and-two"]


CORRECTION = """
- source: "001:5"
  group: wording
  says: X & Y.
  verdict: rumour
  instead: Z.
  chapter: 01-a
  evidence: {because: It is so.}
"""


def write_corrections(root, text):
    path = root / "book" / "corrections.yml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_corrections_are_read(tmp_path):
    write_corrections(tmp_path, CORRECTION)
    (entry,) = corrections.read(tmp_path)
    assert (entry.source, entry.verdict) == ("001:5", "rumour")


@pytest.mark.parametrize(
    "part", ["group", "says", "verdict", "instead", "chapter", "evidence"]
)
def test_a_correction_without_a_part_is_named(tmp_path, part):
    write_corrections(tmp_path, re.sub(rf"  {part}: .*\n", "", CORRECTION))
    with pytest.raises(ValueError, match=rf"corrections.yml: 001:5: no {part}"):
        corrections.read(tmp_path)


def test_a_correction_with_an_unknown_verdict_is_named(tmp_path):
    write_corrections(tmp_path, CORRECTION.replace("rumour", "wrong"))
    with pytest.raises(ValueError, match="001:5: verdict 'wrong'"):
        corrections.read(tmp_path)


def test_the_books_own_corrections_are_in_order():
    assert corrections.read(ROOT, claims.all_claims(ROOT))


# ---- bylines, labs, figures ----


def written(folder, stem, text):
    (folder / "chapters").mkdir(exist_ok=True)
    (folder / "chapters" / f"{stem}.html").write_text(text)


def test_minutes_are_measured_on_the_page_and_put_wherever_they_stand(tmp_path):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    place = '<main><span class="minutes" data-page="{}">{}</span><p>{}</p></main>'
    other = '<span class="minutes" data-page="01-a-b">…</span>'
    written(tmp_path, "01-a", place.format("01-a", "…", "word " * 600) + other)
    written(tmp_path, "01-a-b", place.format("01-a-b", "…", "word " * 1400))
    written(tmp_path, "02-c", place.format("02-c", "9", "word"))  # of an earlier build
    byline.put_minutes(app, None)
    texts = {p.stem: p.read_text() for p in (tmp_path / "chapters").iterdir()}
    assert re.findall(r'"([\w-]+)">(\d+)<', texts["01-a"]) == [
        ("01-a", "3"),
        ("01-a-b", "7"),
    ]
    assert 'page="01-a-b">7<' in texts["01-a-b"]
    assert 'page="02-c">9<' in texts["02-c"]


def test_sources_stored_as_lines_are_read_alike():
    assert notebooks.text(["a\n", "b"]) == notebooks.text("a\nb") == "a\nb"


class WrittenError(Exception):
    """Raised in the place where myst-nb would write a file, with the file's name."""


def name_by_myst_nb(content):
    """Return the file name that myst-nb gives to a drawing."""

    class Renderer(NbElementRenderer):
        def __init__(self):
            pass

        def write_file(self, path, content, **_):
            raise WrittenError(*path)

    with pytest.raises(WrittenError) as found:
        Renderer().render_image(MimeData("image/svg+xml", content))
    return found.value.args[0]


def test_a_dark_drawing_is_filed_under_the_name_that_myst_nb_gives_the_light_one(
    tmp_path,
):
    figure = plot_squash([1.0])
    for stored in (figure.light, figure.light.splitlines(keepends=True)):
        bundle = {"image/svg+xml": stored}
        path = write_notebook(tmp_path / "a.ipynb", code(bundle))
        assert themes.dark_twins(path) == {name_by_myst_nb(figure.light): figure.dark}


# ---- a miniature book ----

CONF = """
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "unrolled_book"]
exclude_patterns = ["_build", "*.py", "chapters/*.md"]
nb_execution_mode = "off"
mathjax_path = "mathjax/tex-chtml.js"
myst_enable_extensions = ["dollarmath", "colon_fence"]
suppress_warnings = ["mystnb.unknown_mime_type"]
"""
CHAPTER = """# One

```{math}
:label: rnn-cell
h = x
```

Measured {measured}`two-and-two:sum` and {measured}`two-and-two:share:.0%`.
"""
FIGURE = {
    "figure": {"name": "fig-a", "caption": "Of {measured}`two-and-two:share:.0%`."},
    "image": {"alt": "A finding: {measured}`two-and-two:share:.0%` of it."},
}
PAGES = {
    "conf.py": CONF,
    "index.md": "# Home\n\nSee {claim}`the sum <two-and-two>`.\n\n"
    "```{toctree}\nchapters/01-a\nbook/claims\nreference\n```\n",
    "book/claims.md": "# Ledger\n\n```{claims-ledger}\n```\n",
    "book/corrections.yml": CORRECTION,
    "LICENSE": "Ours.\n\nApache License\nVersion 2.0\n",
    "reference.rst": "Code\n====\n\n.. automodule:: tiny_module\n   :members:\n",
    "tiny_module.py": '"""T."""\n\n\ndef cell():\n    """Compute :eq:`rnn-cell`."""\n',
}


def write_book(root, **changes):
    chapter = changes.pop("chapter", CHAPTER)
    for name, text in (PAGES | changes).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    drawing = plot_squash([1.0])._repr_mimebundle_()
    card = a_claim(source="001:117", verdict="refuted")._repr_mimebundle_()
    lab = {LAB: {"name": "unroll-it"}, "text/plain": ""}
    shown = {SHOW: {"name": "unrolled.runtime:seed_all"}, "text/plain": ""}
    write_notebook(
        root / "chapters" / "01-a.ipynb",
        prose(chapter),
        code(card, tags=["claim"]),
        code(drawing, mystnb=FIGURE),
        code(lab),
        code(shown),
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The miniature book, built without a warning."""
    root = tmp_path_factory.mktemp("book")
    write_book(root)
    ran = build(root)
    assert ran.returncode == 0, ran.stderr
    return root


@pytest.mark.slow
def test_numbers_in_prose_are_printed_as_the_book_prints_them(built):
    shown = page(built, "chapters/01-a.html").select(".measured")
    assert [tag.text for tag in shown] == ["4", "96%", "96%"]  # the last in a caption


@pytest.mark.slow
def test_the_ledger_lists_a_claim_with_links_both_ways(built):
    ledger, chapter = page(built, "book/claims.html"), page(built, "chapters/01-a.html")
    row = ledger.find(id="ledger-two-and-two")
    assert row.th.text == "Two & two make four."
    assert "sum: 4" in row.text
    assert [td.text for td in row("td")][1:] == ["001:117", "refuted", "chapter 1"]
    assert row.a["href"] == "../chapters/01-a.html#claim-two-and-two"
    card = chapter.find(id="claim-two-and-two")
    assert card.select_one(".claim-link")["href"] == (
        "../book/claims.html#ledger-two-and-two"
    )


@pytest.mark.slow
def test_the_ledger_lists_what_there_is_nothing_to_run_for(built):
    row = page(built, "book/claims.html").find(id="ledger-001-5")
    assert "X & Y." in row.text
    assert "Z." in row.text
    assert [td.text for td in row("td")][:3] == ["nothing to run", "001:5", "rumour"]
    assert row.a["href"] == "../chapters/01-a.html"


@pytest.mark.slow
def test_a_link_to_a_claim_leads_to_its_card(built):
    link = page(built, "index.html").find("a", string="the sum")
    assert link["href"] == "chapters/01-a.html#claim-two-and-two"


@pytest.mark.slow
def test_a_figure_is_followed_by_its_dark_twin(built):
    light, dark = page(built, "chapters/01-a.html").select("figure img")
    assert light["class"] == ["figure-light"]
    assert dark["class"] == ["figure-dark"]
    drawing = plot_squash([1.0])
    for img, text in ((light, drawing.light), (dark, drawing.dark)):
        path = built / "_build" / "html" / "chapters" / img["src"]
        assert path.read_text().splitlines() == text.splitlines()
        assert img["alt"] == "A finding: 96% of it."


@pytest.mark.slow
def test_a_claim_is_a_line_and_its_code_is_folded_under_words_that_say_so(built):
    cell = page(built, "chapters/01-a.html").select_one(".cell.tag_claim")
    assert cell.select_one(".claim p").text.startswith("✓ Two & two make four.")
    assert [tag.text for tag in cell.select(".claim dd")] == ["4", "0.957"]
    assert "001:117" not in cell.select_one(".claim").text
    fold = cell.select_one("details")
    assert "How it was checked" in fold.summary.text
    assert "x = 1" in fold.text


@pytest.mark.slow
def test_the_lines_of_the_lectures_stand_in_a_folded_box_at_the_end(built):
    chapter = page(built, "chapters/01-a.html")
    box = chapter.select_one("details.lectures")
    assert box.summary.text == "In the lectures"
    assert not box.has_attr("open")
    assert box.li.text == "001:117, refuted: Two & two make four."
    assert box.li.select("a")[-1]["href"] == "#claim-two-and-two"
    assert page(built, "book/claims.html").select("details.lectures") == []


@pytest.mark.slow
def test_a_source_is_drawn_as_it_is_now(built):
    drawn = page(built, "chapters/01-a.html").select_one(".shown-source pre")
    assert drawn.text.strip() == source_of("unrolled.runtime:seed_all").strip()


@pytest.mark.slow
def test_the_byline_stands_under_the_title_of_a_chapter_only(built):
    found = page(built, "chapters/01-a.html").select_one("h1 + .byline")
    assert "runs in 12 s on one core." in found.text
    assert page(built, "book/claims.html").select(".byline") == []


@pytest.mark.slow
def test_a_labs_scripts_are_on_its_page_and_on_no_other(built):
    def loaded(name):
        tags = page(built, name).select("script[src], link[rel=stylesheet]")
        names = (tag.get("src") or tag["href"] for tag in tags)
        found = (re.search(r"_static/((?:labs|models)/[^?]*)", name) for name in names)
        return [match[1] for match in found if match]

    files = [f"{path.parent.name}/{path.name}" for path in lab_files("unroll-it")]
    assert loaded("chapters/01-a.html") == files
    assert loaded("index.html") == loaded("book/claims.html") == []


@pytest.mark.slow
def test_mathjax_lies_in_the_book(built):
    folder = built / "_build" / "html" / "_static" / "mathjax"
    assert (folder / "tex-chtml.js").is_file()
    assert (folder / "LICENCE.txt").is_file()
    assert list(folder.rglob("*.woff"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"chapter": CHAPTER.replace("two-and-two:sum", "two-and-two:product")},
            "no measured number 'two-and-two:product'",
        ),
        (
            {"chapter": CHAPTER.replace("two-and-two:sum", "three:sum")},
            "no measured number 'three:sum'",
        ),
        (
            {"index.md": PAGES["index.md"].replace("<two-and-two>", "<three>")},
            "no claim 'three'",
        ),
        (
            {"chapter": CHAPTER.replace(":label: rnn-cell\n", "")},
            "equation not found: rnn-cell",
        ),
        (
            {"book/corrections.yml": CORRECTION.replace("rumour", "wrong")},
            "verdict 'wrong'",
        ),
    ],
)
def test_what_leads_nowhere_fails_the_build(tmp_path, changes, warning):
    write_book(tmp_path, **changes)
    ran = build(tmp_path)
    assert ran.returncode != 0
    assert warning in ran.stderr


def test_the_record_of_a_claim_is_what_the_extension_reads():
    # One name for the output type, whoever writes and whoever reads it.
    assert MIME in a_claim()._repr_mimebundle_()


@pytest.mark.slow
def test_a_new_number_reaches_every_page_and_old_pages_go(tmp_path):
    quoting = PAGES["index.md"] + "\nIt is {measured}`two-and-two:sum`.\n"
    write_book(
        tmp_path,
        **{"index.md": quoting, "book/old.md": "---\norphan: true\n---\n# Old\n"},
    )
    assert build(tmp_path).returncode == 0
    assert page(tmp_path, "index.html").select_one(".measured").text == "4"
    assert (tmp_path / "_build/html/book/old.html").is_file()
    (tmp_path / "book" / "old.md").unlink()
    notebook = tmp_path / "chapters" / "01-a.ipynb"
    notebook.write_text(notebook.read_text().replace('"sum": 4.0', '"sum": 5.0'))
    assert build(tmp_path).returncode == 0
    assert page(tmp_path, "index.html").select_one(".measured").text == "5"
    assert not (tmp_path / "_build/html/book/old.html").exists()


@pytest.mark.slow
def test_mathjax_is_carried_whole_with_its_licence(built):
    carried = built / "_build" / "html" / "_static" / "mathjax"
    assert (carried / "tex-chtml.js").is_file()
    assert list((carried / "output" / "chtml" / "fonts" / "woff-v2").glob("*.woff"))
    assert "Version 2.0" in (carried / "LICENCE.txt").read_text()


# ---- reading again ----


def changed_pages(env, root):
    app = SimpleNamespace(srcdir=root)
    return set(rebuild.all_if_shared_changed(app, env, set(), set(), set()))


@pytest.mark.parametrize("name", rebuild.SHARED)
def test_what_all_pages_rest_on_makes_all_be_read_again(tmp_path, name):
    (tmp_path / "book").mkdir()
    env = SimpleNamespace(found_docs={"a", "b"})
    assert changed_pages(env, tmp_path) == {"a", "b"}  # never built before
    assert changed_pages(env, tmp_path) == set()
    (tmp_path / name).write_text("new")
    assert changed_pages(env, tmp_path) == {"a", "b"}
    assert changed_pages(env, tmp_path) == set()


def test_the_extension_itself_is_among_it():
    names = {path.name for path in rebuild.shared_files(ROOT)}
    assert {"repairs.py", "byline.py", "style.py", "outline.yml", "core.js"} <= names


@pytest.mark.slow
def test_a_build_that_failed_fails_again(tmp_path):
    write_book(tmp_path, chapter="# A\n\n{measured}`two-and-two:nothing`\n")
    first, second = build(tmp_path), build(tmp_path)
    assert first.returncode != 0
    assert second.returncode != 0
    assert "no measured number" in second.stderr


# ---- repairs ----


def sentence(*parts):
    """A page of one line: strings are words, others stand as they are."""
    line = nodes.paragraph(
        "", "", *(nodes.Text(p) if isinstance(p, str) else p for p in parts)
    )
    return nodes.section("", line), line


@pytest.mark.parametrize(
    ("before", "after", "glued"),
    [
        ("let ", ", then", "x,"),
        ("(", ").", "(x)."),
        ("at ", " it", None),
        ("of ", "", None),
    ],
)
def test_a_symbol_stays_with_the_marks_around_it(before, after, glued):
    page, line = sentence(before, nodes.math("", "x"), after)
    words = line.astext()
    repairs.glue_marks(None, page, "")
    boxes = [n for n in line.findall(nodes.inline) if "glued" in n["classes"]]
    assert [box.astext() for box in boxes] == ([glued] if glued else [])
    assert line.astext() == words  # nothing is lost or doubled


def test_a_row_that_only_names_a_group_is_one_cell():
    def row(*cells):
        return nodes.row(
            "", *(nodes.entry("", nodes.paragraph("", "", c)) for c in cells)
        )

    group = row(nodes.strong("", "Gates"), nodes.Text(""), nodes.Text(""))
    plain = row(nodes.strong("", "h"), nodes.Text("state"), nodes.Text(""))
    body = nodes.tbody("", group, plain)
    repairs.span_groups(None, body)
    assert [len(r.children) for r in (group, plain)] == [1, 3]
    assert group[0]["morecols"] == 2
    assert group["classes"] == ["group"]
