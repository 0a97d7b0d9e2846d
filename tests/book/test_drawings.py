"""Drawings and the list of milestones, in a miniature book."""

import re
from pathlib import Path

import pytest
import yaml

from minibook import build, page
from unrolled.figures.diagrams import draw_unrolled
from unrolled.figures.style import LIGHT
from unrolled.figures.timeline import draw_timeline
from unrolled_book import drawings, milestones

ROOT = Path(__file__).resolve().parents[2]

# ---- by themselves ----


def test_a_drawing_is_what_the_function_draws():
    assert drawings.draw("unrolled.figures.diagrams.draw_unrolled") == draw_unrolled()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("os.path.join", "'os.path.join' is not a function of unrolled.figures"),
        ("unrolled.figures.plots.nothing", "figures.plots has no function 'nothing'"),
        ("unrolled.figures.style.Theme.colours", "No module named"),
        ("unrolled.figures.style.rc", "rc is not decorated with @themed"),
    ],
)
def test_what_cannot_be_drawn_is_named(name, complaint):
    arguments = [LIGHT] if name.endswith("rc") else []
    with pytest.raises((ValueError, ImportError), match=re.escape(complaint)):
        drawings.draw(name, *arguments)


ONE = """- year: 1990
  name: Elman
  strand: recurrence
  cite: [elman1990]
  why: It came *first*.
  chapter: 04-a
"""


@pytest.mark.parametrize("part", ["year", "name", "strand", "cite", "why", "chapter"])
def test_a_milestone_without_a_part_is_named(tmp_path, part):
    (tmp_path / "book").mkdir()
    lines = [line for line in ONE.splitlines() if f" {part}:" not in line]
    text = (
        "\n".join(lines).replace("  name", "- name")
        if part == "year"
        else "\n".join(lines)
    )
    (tmp_path / milestones.DATA).write_text(text)
    with pytest.raises(ValueError, match=rf"book/timeline.yml: .*: {part}"):
        milestones.milestones(tmp_path)


def test_the_books_own_milestones_can_be_read():
    assert len(milestones.milestones(ROOT)) > 30


# ---- in a book ----

CONF = """
extensions = ["myst_nb", "sphinxcontrib.bibtex", "unrolled_book.drawings",
              "unrolled_book.milestones"]
exclude_patterns = ["_build"]
numfig = True
bibtex_bibfiles = ["works.bib"]
bibtex_reference_style = "author_year"
"""
DRAWING = """```{drawing} unrolled.figures.timeline.draw_timeline
:name: fig-a
:data: book/timeline.yml
:alt: A finding.
A *caption* by {cite:t}`elman1990`.
```
"""
PAGES = {
    "conf.py": CONF,
    "index.md": f"# Home\n\nSee {{numref}}`fig-a`.\n\n{DRAWING}\n"
    "```{milestones}\n```\n\n```{bibliography}\n```\n\n"
    "```{toctree}\nchapters/04-a\n```\n",
    "chapters/04-a.md": "# A\n",
    "book/timeline.yml": ONE + ONE.replace("04-a", "05-b").replace("Elman", "Other"),
    "book/outline.yml": "- part: P\n  idea: I\n  chapters:\n"
    + "".join(
        f"    - {{stem: 0{n}-{name}, title: T{n}, line: L}}\n"
        for n, name in enumerate("xxxxab")
    ),
    "works.bib": "@misc{elman1990, author={Elman, J.}, title={T}, year={1990}}\n",
}


def write_book(root: Path, **changes: str) -> None:
    for name, text in (PAGES | changes).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("drawings")
    write_book(root)
    ran = build(root)
    assert ran.returncode == 0, ran.stderr
    return root


@pytest.mark.slow
def test_a_drawing_is_a_numbered_figure_with_a_dark_twin(built):
    shown = page(built, "index.html")
    light, dark = shown.select("figure#fig-a img")
    assert (light["class"], dark["class"]) == (["figure-light"], ["figure-dark"])
    assert light["alt"] == dark["alt"] == "A finding."
    drawn = draw_timeline(yaml.safe_load(PAGES["book/timeline.yml"]))
    for img, svg in ((light, drawn.light), (dark, drawn.dark)):
        assert (built / "_build" / "html" / img["src"]).read_text("utf-8") == svg
    assert shown.select_one("figure#fig-a .caption-number").text.strip() == "Fig. 1"
    assert shown.select_one("figure#fig-a .caption-text em").text == "caption"
    assert shown.find("a", href="#fig-a").text == "Fig. 1"


@pytest.mark.slow
def test_a_milestone_has_its_words_its_work_and_its_chapter(built):
    here, planned = page(built, "index.html").select("dl.milestones dd")
    assert "It came first. Elman [1990]. Chapter 4, T4." in " ".join(here.text.split())
    assert [a["href"] for a in here("a", class_="internal")][-1] == "chapters/04-a.html"
    assert "Chapter 5, T5." in planned.text
    assert len(planned("a")) == 1  # the work: that chapter is not written
    terms = [term.text for term in page(built, "index.html").select("dl.milestones dt")]
    assert "1990 · Elman" in terms[0]
    assert "recurrence" in terms[0]


@pytest.mark.slow
def test_new_data_are_drawn_anew(tmp_path):
    write_book(tmp_path)
    assert build(tmp_path).returncode == 0
    before = [img["src"] for img in page(tmp_path, "index.html").select("figure img")]
    data = tmp_path / "book" / "timeline.yml"
    data.write_text(data.read_text().replace("name: Other", "name: Another"))
    assert build(tmp_path).returncode == 0
    after = [img["src"] for img in page(tmp_path, "index.html").select("figure img")]
    assert not set(before) & set(after)
    assert "1990 · Another" in page(tmp_path, "index.html").text


FAULTS = {  # what is replaced, by what, and the complaint
    (":alt: A finding.\n", ""): "a drawing needs the option 'alt'",
    (":name: fig-a\n", ""): "a drawing needs the option 'name'",
    ("A *caption* by {cite:t}`elman1990`.\n", ""): "a drawing needs a caption",
    ("draw_timeline\n", "draw_nothing\n"): "has no function 'draw_nothing'",
    ("book/timeline.yml\n", "book/none.yml\n"): "No such file",
}


@pytest.mark.slow
def test_a_drawing_that_lacks_something_and_a_lost_milestone_fail_the_build(tmp_path):
    assert all(old in DRAWING for old, _ in FAULTS)
    faulty = "\n".join(DRAWING.replace(old, new) for old, new in FAULTS)
    write_book(
        tmp_path,
        **{
            "index.md": PAGES["index.md"].replace(DRAWING, faulty),
            "book/timeline.yml": PAGES["book/timeline.yml"].replace("05-b", "99-z"),
        },
    )
    ran = build(tmp_path)
    assert ran.returncode != 0
    for complaint in FAULTS.values():
        assert complaint in ran.stderr
    assert "Other: no chapter '99-z' in book/outline.yml" in ran.stderr
