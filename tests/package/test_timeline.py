"""The timeline: what it draws, what it refuses, and that the page agrees with it."""

import re
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml
from matplotlib import rc_context
from pybtex.database import parse_file

import unrolled
from unrolled.figures.style import LIGHT, WIDTH, rc
from unrolled.figures.timeline import MARKS, STRANDS, draw_timeline

BOOK = Path(unrolled.__file__).parents[2] / "book"
DATA = yaml.safe_load((BOOK / "timeline.yml").read_text(encoding="utf-8"))
THREE = [
    {"year": 1990, "name": "One", "strand": "recurrence"},
    {"year": 1990, "name": "Two", "strand": "attention"},
    {"year": 2003, "name": "Three", "strand": "pre-training"},
]


@pytest.fixture
def figure():
    """The book's own timeline as matplotlib has it, before it is made SVG."""
    with rc_context(rc(LIGHT)):
        drawn = draw_timeline.__wrapped__(LIGHT, DATA)
        yield drawn
        plt.close(drawn)


# ---- the drawing ----


def test_it_uses_no_colour_but_the_themes_and_gives_the_same_bytes_twice():
    drawn = draw_timeline(DATA)
    colours = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", drawn.light))
    assert colours <= set(LIGHT.colours())
    assert drawn.light != drawn.dark
    assert draw_timeline(DATA).light == drawn.light
    assert plt.get_fignums() == []


def test_a_row_says_year_and_name_and_rows_stand_in_the_order_given(figure):
    rows = {}  # height: words, from left to right
    for text in sorted(figure.axes[0].texts, key=lambda text: text.get_position()):
        x, y = text.get_position()
        if x > 2:  # not the axis of years
            rows.setdefault(round(y, 6), []).append(text.get_text())
    _, *shown = [rows[y] for y in sorted(rows)]  # the first row is the key
    assert shown == [[str(m["year"]), m["name"]] for m in DATA]


def test_its_words_can_be_read_on_a_phone_lie_inside_and_do_not_overlap(figure):
    figure.canvas.draw()
    assert figure.get_figwidth() == WIDTH
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) > 2 * len(DATA)
    for text, box in zip(figure.axes[0].texts, boxes, strict=True):
        assert text.get_fontsize() >= 9
        inside = figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1)
        assert inside, f"{text.get_text()!r} leaves the figure"
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_a_strand_has_its_own_mark_and_lane():
    with rc_context(rc(LIGHT)):
        drawn = draw_timeline.__wrapped__(LIGHT, THREE)
        lines = drawn.axes[0].lines
        marks = [line for line in lines if line.get_marker() in MARKS]
        rows = [line for line in marks if line.get_ydata()[0] > 0.5]  # below the key
        plt.close(drawn)
    assert [line.get_marker() for line in rows] == list(MARKS)
    assert len(set(MARKS)) == len(STRANDS)
    assert len({line.get_xdata()[0] for line in rows}) == len(STRANDS)
    assert len({line.get_markeredgecolor() for line in rows}) == len(STRANDS)


def test_the_axis_of_years_is_to_scale():
    years = [1990, 1991, 2000, 2010]
    data = [{"year": y, "name": str(y) + "!", "strand": "recurrence"} for y in years]
    with rc_context(rc(LIGHT)):
        drawn = draw_timeline.__wrapped__(LIGHT, data)
        ticks = {
            int(t.get_text()): t.get_position()[1]
            for t in drawn.axes[0].texts
            if t.get_text().isdigit() and t.get_position()[0] < 1
        }
        plt.close(drawn)
    assert list(ticks) == [1990, 1995, 2000, 2005, 2010]
    steps = [
        b - a for a, b in zip(ticks.values(), list(ticks.values())[1:], strict=False)
    ]
    assert steps == pytest.approx([steps[0]] * 4)
    assert steps[0] > 0


def test_it_complains_of_years_out_of_order_and_of_an_unknown_strand():
    with pytest.raises(ValueError, match=r"in the order of years, got \[2003, 1990"):
        draw_timeline(THREE[::-1])
    wrong = [THREE[0] | {"strand": "magic"}]
    with pytest.raises(ValueError, match="One: no strand 'magic'; say one of recurr"):
        draw_timeline(wrong)


# ---- the data and the words around it ----


def test_every_milestone_is_complete_and_short_enough_for_its_row():
    for milestone in DATA:
        assert set(milestone) == {"year", "name", "strand", "cite", "why", "chapter"}
        assert len(milestone["name"]) <= 32
        assert milestone["why"].endswith(".")
    names = [milestone["name"] for milestone in DATA]
    assert len(set(names)) == len(names)


def test_every_milestone_belongs_to_a_chapter_of_the_outline():
    parts = yaml.safe_load((BOOK / "outline.yml").read_text(encoding="utf-8"))
    stems = {chapter["stem"] for part in parts for chapter in part["chapters"]}
    assert {milestone["chapter"] for milestone in DATA} <= stems


def test_a_year_is_that_of_the_work_or_of_its_preprint_a_year_before():
    works = parse_file(BOOK / "references.bib").entries
    for milestone in DATA:
        for key in milestone["cite"]:
            later = int(works[key].fields["year"]) - milestone["year"]
            assert later in (0, 1), (key, milestone["year"])


def test_preprints_of_one_year_stand_in_the_order_of_their_numbers():
    works = parse_file(BOOK / "references.bib").entries
    numbers = [
        (milestone["year"], works[key].fields["eprint"])
        for milestone in DATA
        for key in milestone["cite"]
        if works[key].fields.get("eprint", "")[:2] == str(milestone["year"])[2:]
    ]
    assert len(numbers) > 10
    assert numbers == sorted(numbers)


def test_the_page_says_what_the_data_say():
    page = " ".join((BOOK / "timeline.md").read_text(encoding="utf-8").split())
    first, last = DATA[0]["year"], DATA[-1]["year"]
    assert f"timeline of {len(DATA)} milestones from {first} to {last}" in page

    def years(strand):
        return [m["year"] for m in DATA if m["strand"] == strand]

    others = years("attention") + years("pre-training")
    again = min(year for year in years("recurrence") if year > 2017)
    assert f"to itself until {min(others)} and returns in {again}" in page
    assert f"Attention begins in {min(years('attention'))}" in page
    assert {m["name"]: m["year"] for m in DATA}["The Transformer"] == 2017
    assert "leads to the Transformer in 2017" in page
    since = [m["strand"] for m in DATA if m["year"] >= 2018]
    assert "From 2018 on most milestones are of pre-training" in page
    assert since.count("pre-training") > len(since) / 2
    late = [m for m in DATA if m["year"] > last - (last - first) / 3]
    assert "more than two thirds of the milestones fall in the last third" in page
    assert len(late) > len(DATA) * 2 / 3
