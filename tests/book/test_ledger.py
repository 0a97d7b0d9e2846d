"""The ledger, the errata and the deck map: what they are made from, and the pages."""

import itertools
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from types import SimpleNamespace

import pytest
import torch
import yaml
from bs4 import BeautifulSoup, Tag
from torch import nn

from unrolled.book.claims import pretty
from unrolled_book import arithmetic, corrections, decks, notebooks
from unrolled_book.arithmetic import NUMBERS
from unrolled_book.claims import Entry, all_claims
from unrolled_book.corrections import Lines
from unrolled_book.errata import group_of

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
FOUND = all_claims(ROOT)
CORRECTIONS = corrections.read(ROOT, FOUND)
DECKS = decks.read(ROOT)
RANGES = [part for deck in DECKS for part in deck.ranges]
WRITTEN = {path.stem: path for path in notebooks.of_chapters(ROOT)}
PLANNED = {
    chapter["stem"]
    for part in yaml.safe_load((ROOT / "book" / "outline.yml").read_text("utf-8"))
    for chapter in part["chapters"]
}
PLACES = PLANNED | set(WRITTEN)  # chapters, and the further pages that there are
every_correction = pytest.mark.parametrize(
    "each", CORRECTIONS, ids=lambda each: each.source
)
every_range = pytest.mark.parametrize("part", RANGES, ids=lambda part: part.anchor)


# ---- lines ----


@pytest.mark.parametrize(
    ("source", "lines"),
    [("001:7", ("001", 7, 7)), ("004:12-30", ("004", 12, 30))],
)
def test_a_source_is_a_deck_and_lines(source, lines):
    assert Lines.parse(source) == lines


@pytest.mark.parametrize("source", ["7", "001:", "005:7", "001:9-8", "001:0", "1:7"])
def test_a_source_that_is_none_is_named(source):
    with pytest.raises(ValueError, match=re.escape(repr(source))):
        Lines.parse(source)


@pytest.mark.parametrize(
    ("other", "meet"),
    [
        ("001:10-20", True),
        ("001:9", False),
        ("001:10", True),
        ("001:20-30", True),
        ("001:21", False),
        ("002:15", False),
        ("001:1-99", True),
    ],
)
def test_ranges_meet_if_they_share_a_line(other, meet):
    own, other = Lines.parse("001:10-20"), Lines.parse(other)
    assert own.meets(other) is other.meets(own) is meet


# ---- corrections: what an entry must be ----

ENTRY = {
    "source": "001:10",
    "group": "error",
    "says": "X.",
    "instead": "Y.",
    "verdict": "refuted",
    "chapter": "01-a",
    "evidence": {"because": "Z."},
}


def read(folder, *entries, found=None):
    (folder / "book").mkdir(exist_ok=True)
    (folder / "book" / "corrections.yml").write_text(yaml.safe_dump(list(entries)))
    return corrections.read(folder, found)


def a_claim(name, source=None, verdict=None):
    return Entry("chapters/01-a", {"id": name, "source": source, "verdict": verdict})


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"says": ""}, "no says"),
        ({"says": "", "instead": None}, "no says; no instead"),
        ({"evidence": {}}, "no evidence"),
        ({"evidence": {"cites": []}}, "no evidence: give claims, cites, because"),
        ({"evidence": "Z."}, "no evidence"),
        ({"evidence": {"because": "Z.", "cite": ["a"]}}, "what is evidence 'cite'?"),
        ({"evidence": {"claims": ["gone"]}}, "no claim 'gone'"),
        ({"group": "mistake"}, "group 'mistake' is none of error"),
        ({"verdict": "wrong"}, "verdict 'wrong' is none of holds"),
        ({"colour": "red"}, "what is 'colour'?"),
        ({"also": ["001:x"]}, "'001:x' is not a slide line"),
        ({"source": "001-10"}, "'001-10' is not a slide line"),
    ],
)
def test_a_faulty_entry_is_named_with_what_is_wrong(tmp_path, change, fault):
    entry = ENTRY | change
    where = re.escape(f"corrections.yml: {entry['source']}: ")
    with pytest.raises(ValueError, match=f"{where}.*{re.escape(fault)}"):
        read(tmp_path, entry, found={})


def test_two_entries_for_one_line_are_named(tmp_path):
    with pytest.raises(ValueError, match="entered twice: 001:10"):
        read(tmp_path, ENTRY, ENTRY)


def test_entries_are_put_in_the_order_of_decks_and_lines(tmp_path):
    sources = ["002:3", "001:100", "001:20", "001:3-4"]
    found = read(tmp_path, *(ENTRY | {"source": source} for source in sources))
    assert [each.source for each in found] == ["001:3-4", "001:20", "001:100", "002:3"]


def test_an_entry_rests_on_the_claims_it_names_and_those_about_its_lines(tmp_path):
    change = {"also": ["002:5"], "evidence": {"claims": ["named"]}}
    found = {
        name: a_claim(name, source)
        for name, source in (
            ("far", "001:11"),
            ("same", "001:8-10"),
            ("named", None),
            ("beside", "002:5"),
        )
    }
    (each,) = read(tmp_path, ENTRY | change, found=found)
    names = [entry.claim["id"] for entry in each.executed(found)]
    assert names == ["named", "same", "beside"]


def test_a_claim_that_faults_a_slide_is_not_lost_without_an_entry(tmp_path):
    found = {
        "taken": a_claim("taken", "001:10", "refuted"),
        "later": a_claim("later", "004:1", "refuted"),
        "earlier": a_claim("earlier", "001:99", "holds with conditions"),
        "fine": a_claim("fine", "001:98", "holds"),
        "ours": a_claim("ours"),
    }
    rest = corrections.left_over(read(tmp_path, ENTRY, found=found), found)
    assert [entry.claim["id"] for entry in rest] == ["earlier", "later"]
    assert [group_of(entry) for entry in rest] == ["overstatement", "error"]


# ---- corrections: the book's own ----


@cache
def bib_keys():
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    return set(re.findall(r"^@\w+\{([^,\s]+),", text, re.M))


@every_correction
def test_every_cited_work_is_in_the_bibliography(each):
    assert set(each.cites) <= bib_keys()
    texts = " ".join((each.says, each.instead, each.because))
    inline = re.findall(r"\{cite:\w\}`([^`]+)`", texts)
    assert set(inline) <= set(each.cites), "cited in the text, not among the cites"


@every_correction
def test_every_computed_number_of_an_entry_exists(each):
    texts = " ".join((each.says, each.instead, each.because))
    names = re.findall(r"\{computed\}`([^:`]+)", texts)
    assert set(names) <= set(NUMBERS)


@every_correction
def test_an_entry_stands_on_lines_of_its_deck_and_in_a_page_that_is_or_will_be(each):
    ends = {deck.deck: deck.lines for deck in DECKS}
    for source in each.sources:
        lines = Lines.parse(source)
        assert lines.last <= ends[lines.deck]
    assert each.chapter in PLACES


@every_correction
def test_a_promised_experiment_is_there_once_its_chapter_is(each):
    if each.experiment and each.chapter in WRITTEN:  # on any page of that chapter
        made = {entry.docname.split("/")[1][:2] for entry in each.executed(FOUND)}
        assert each.chapter[:2] in made, "promised, and not measured"


@every_correction
def test_an_entry_and_the_claims_about_its_line_agree(each):
    verdicts = {
        entry.claim["verdict"]
        for entry in FOUND.values()
        if entry.claim["source"]
        and Lines.parse(entry.claim["source"]).meets(Lines.parse(each.source))
    }
    assert not verdicts or each.verdict in verdicts


@pytest.mark.parametrize(
    "source",
    sorted(
        {
            entry.claim["source"]
            for entry in FOUND.values()
            if entry.claim["verdict"] not in (None, "holds")
        }
    ),
)
def test_a_claim_that_faults_a_slide_has_an_entry_about_its_lines(source):
    assert any(each.speaks_to(source) for each in CORRECTIONS)


def test_no_computed_number_is_left_unused():
    text = (ROOT / "book" / "corrections.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"\{computed\}`([^:`]+)", text)) - {"name"}
    assert set(NUMBERS) - used <= {"gru-share"}  # held below, said in words


# ---- arithmetic: each number once more, by another way ----


def test_berts_epochs():
    tokens_at_512 = 256 * 512 * 10**6
    assert NUMBERS["epochs-all-long"] == pytest.approx(tokens_at_512 / 3.3e9)
    assert round(NUMBERS["epochs-all-long"]) == 40  # the paper: approximately 40
    short, long = 256 * 128 * 900_000, 256 * 512 * 100_000
    assert NUMBERS["epochs-mostly-short"] == pytest.approx((short + long) / 3.3e9)
    swapped = 512 * 256 * 10**6
    assert swapped == tokens_at_512  # so the slide's product is right


def test_windows_over_fifty_tokens():
    windows = torch.arange(1, 51).unfold(0, size=5, step=2)
    assert NUMBERS["windows"] == len(windows)
    assert NUMBERS["last-window-starts"] == windows[-1, 0]
    assert NUMBERS["last-window-ends"] == windows[-1, -1] < 50
    starts = set(windows[:, 0].tolist())
    assert starts == set(arithmetic.window_starts(50, 5, 2))
    assert not starts & {44, 46}
    inputs, labels = windows[:, :-1], windows[:, 1:]
    assert NUMBERS["pairs-in-a-window"] == inputs.shape[1] == labels.shape[1]


@pytest.mark.parametrize(
    ("n_tokens", "width", "stride"), [(50, 5, 2), (9, 4, 2), (10, 4, 2), (4, 4, 3)]
)
def test_windows_start_where_torch_cuts_them(n_tokens, width, stride):
    cut = torch.arange(1, n_tokens + 1).unfold(0, size=width, step=stride)
    starts = arithmetic.window_starts(n_tokens, width, stride)
    assert starts == cut[:, 0].tolist()


@pytest.mark.parametrize(
    ("name", "kind"), [("lstm-weights", nn.LSTM), ("gru-weights", nn.GRU)]
)
def test_weights_of_gated_layers_are_torchs(name, kind):
    with torch.device("meta"):
        layer = kind(64, 128)
    assert NUMBERS[name] == sum(weight.numel() for weight in layer.parameters())
    assert NUMBERS["gru-share"] == 3 / 4


def test_perplexity_of_a_uniform_model():
    logits = torch.zeros(7, 10_000, dtype=torch.float64)
    loss = nn.functional.cross_entropy(logits, torch.arange(7))
    assert NUMBERS["choices"] == pytest.approx(loss.exp().item())
    assert NUMBERS["inverse-of-choices"] == pytest.approx(1e-4)
    mean = arithmetic.geometric_mean([2.0, 8.0, 0.5])
    assert mean == pytest.approx(geometric_mean([2.0, 8.0, 0.5]))


def test_share_of_the_feed_forward_part():
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(512, 8, dim_feedforward=2048)
    sizes = {n: w.numel() for n, w in layer.named_parameters() if w.ndim == 2}
    inner = sum(size for name, size in sizes.items() if name.startswith("linear"))
    share = inner / sum(sizes.values())
    assert NUMBERS["feed-forward-share"] == pytest.approx(share)


def test_what_a_gate_of_nine_tenths_leaves_after_a_hundred_steps():
    gates = torch.full((100,), 0.9, dtype=torch.float64)
    cell = torch.ones((), dtype=torch.float64, requires_grad=True)
    (cell * gates.prod()).backward()
    assert NUMBERS["kept-by-0.9-over-100"] == pytest.approx(cell.grad.item())


def test_a_long_key_outscores_a_similar_one():
    query, short = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0])
    long = 4 * torch.tensor([0.5, 0.75**0.5])
    assert NUMBERS["dot-aligned-short"] == pytest.approx((query @ short).item())
    assert NUMBERS["dot-oblique-long"] == pytest.approx((query @ long).item())
    cosine = torch.cosine_similarity
    assert cosine(query, short, dim=0) > cosine(query, long, dim=0)


# ---- decks ----

DECK = {
    "deck": "001",
    "title": "T",
    "lecturer": None,
    "given": None,
    "lines": 9,
    "ranges": [
        {"lines": "1-4", "about": "a", "chapter": "01-a"},
        {"lines": 5, "about": "b"},
        {"lines": "6-9", "about": "c", "chapter": "01-a", "section": "S"},
    ],
}


def read_decks(folder, deck):
    (folder / "book").mkdir(exist_ok=True)
    (folder / "book" / "decks.yml").write_text(yaml.safe_dump([deck]))
    return decks.read(folder)


def test_a_deck_is_read_with_its_ranges(tmp_path):
    (deck,) = read_decks(tmp_path, DECK)
    assert [part.lines for part in deck.ranges] == [
        ("001", 1, 4),
        ("001", 5, 5),
        ("001", 6, 9),
    ]
    assert deck.ranges[2].anchor == "deck-001-6-9"


def with_range(number, **change):
    ranges = [dict(part) for part in DECK["ranges"]]
    ranges[number] |= change
    return DECK | {"ranges": ranges}


@pytest.mark.parametrize(
    ("deck", "fault"),
    [
        (with_range(0, lines="2-4"), "001: line 1 is in none"),
        (with_range(0, lines="1-3"), "001: line 4 is in none"),
        (with_range(2, lines="5-9"), "001: line 5 is in two ranges"),
        (with_range(2, lines="6-8"), "001: ends at line 8, not 9"),
        (with_range(2, lines="6-10"), "001: ends at line 10, not 9"),
        (with_range(1, about=""), "001:5: no about"),
        (with_range(1, section="S"), "001:5: a section, but no chapter"),
        (with_range(1, colour="red"), "001:5: what is colour?"),
        ({k: v for k, v in DECK.items() if k != "given"}, "001: no given"),
    ],
)
def test_a_faulty_map_is_named_with_what_is_wrong(tmp_path, deck, fault):
    with pytest.raises(ValueError, match=re.escape(fault)):
        read_decks(tmp_path, deck)


def test_all_lines_of_all_five_decks_are_mapped_once():
    # How many lines each transcript has, counted once: the last may lack its newline.
    lengths = {"000": 303, "001": 227, "002": 852, "003": 502, "004": 545}
    assert {deck.deck: deck.lines for deck in DECKS} == lengths
    for deck in DECKS:
        times = Counter(
            line
            for part in deck.ranges
            for line in range(part.lines.first, part.lines.last + 1)
        )
        assert times == dict.fromkeys(range(1, lengths[deck.deck] + 1), 1)


@every_range
def test_a_range_leads_to_a_section_that_exists(part):
    for stem in filter(None, (part.chapter, *part.also)):
        assert stem in PLACES
    if part.chapter in WRITTEN:
        found = decks.headings(WRITTEN[part.chapter])
        assert part.section in found, f"no such heading in {part.chapter}"


def test_headings_are_those_of_the_prose(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# One\n", "text\n", "## Two, or three "]},
        {"cell_type": "code", "source": "# a comment"},
        {"cell_type": "markdown", "source": "```{code}\n# no heading\n```\n### Four"},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert decks.headings(path) == ["One", "Two, or three", "Four"]


def test_a_line_is_found_in_its_range():
    app = SimpleNamespace(unrolled_decks=DECKS)
    for deck, line in itertools.product(DECKS, (1, 100, 200)):
        part = decks.range_of(app, f"{deck.deck}:{line}")
        assert part in deck.ranges
        assert part.lines.first <= line <= part.lines.last
    assert decks.range_of(app, "000:9999") is None


# ---- the pages ----

built = pytest.mark.built


@cache
def page(name):
    html = (HTML / "book" / f"{name}.html").read_text(encoding="utf-8")
    return BeautifulSoup(html, "html.parser")


def rows(name="claims") -> dict[str, Tag]:
    return {row["id"]: row for row in page(name).select(".ledger tbody tr")}


def in_book(stem):
    return (HTML / "chapters" / f"{stem}.html").is_file()


@built
def test_the_ledger_has_all_claims_and_every_slide_that_has_none():
    without = [each for each in CORRECTIONS if not each.executed(FOUND)]
    assert without
    expected = [f"ledger-{name}" for name in FOUND]
    expected += [f"ledger-{each.anchor}" for each in without]
    assert list(rows()) == expected


@built
def test_the_ledger_shows_the_numbers_in_the_authors_order():
    for name, entry in FOUND.items():
        cell = rows()[f"ledger-{name}"].select_one("[data-label=Measured]")
        measured = entry.claim["measured"]
        expected = [f"{key}: {pretty(measured[key])}" for key in entry.claim["order"]]
        shown = [text.replace("\xa0", " ") for text in cell.stripped_strings]
        assert shown == expected


@built
def test_slide_lines_lead_to_their_place_on_the_deck_map():
    app = SimpleNamespace(unrolled_decks=DECKS)
    links = page("claims").select(".ledger [data-label=Slide] a")
    links += page("errata").select(".erratum-head a")
    assert len(links) > len(CORRECTIONS)
    for link in links:
        place, anchor = link["href"].split("#")
        assert place == "decks.html"
        assert anchor == decks.range_of(app, link.text).anchor
        assert page("decks").find(id=anchor)


@built
def test_filters_offer_what_the_rows_have():
    form = page("claims").select_one("form.ledger-filters")
    assert form.has_attr("hidden")  # until the script is there
    for name in ("chapter", "deck", "verdict"):
        select = form.find("select", attrs={"name": name})
        label = form.find("label", attrs={"for": select["id"]})
        assert label.text == name.capitalize()
        offered = [option["value"] for option in select("option")]
        assert offered[0] == ""
        known = {
            value
            for row in rows().values()
            for value in (
                [row["data-verdict"]]
                if name == "verdict"
                else row[f"data-{name}"].split()
            )
        }
        assert sorted(offered[1:]) == sorted(known)
    n = len(rows())
    assert form.find(role="status").text == f"Shown {n} of {n}."


@built
def test_the_errata_list_every_entry_once_in_its_group_and_in_order():
    expected = []
    for group in corrections.GROUPS:
        entries = [
            (Lines.parse(each.source), f"erratum-{each.anchor}")
            for each in CORRECTIONS
            if each.group == group
        ]
        entries += [
            (Lines.parse(entry.claim["source"]), f"erratum-claim-{entry.claim['id']}")
            for entry in corrections.left_over(CORRECTIONS, FOUND)
            if group_of(entry) == group
        ]
        expected += [name for _, name in sorted(entries)]
    assert [tag["id"] for tag in page("errata").select(".erratum")] == expected


@built
@every_correction
def test_an_erratum_shows_its_verdict_its_evidence_and_what_is_to_come(each):
    box = page("errata").find(id=f"erratum-{each.anchor}")
    assert box.select_one(".erratum-verdict").text == each.verdict
    labels = [strong.text for strong in box("strong")]
    assert labels[:2] == ["The slide:", "Rather:"]
    assert set(labels[2:]) & {"Evidence:", "Measured:"}
    assert len(box.select('a[href^="bibliography.html#"]')) >= len(each.cites)
    executed = each.executed(FOUND)
    assert labels.count("Measured:") == len(executed)
    promised = "To be measured in" in box.text
    assert promised == (each.experiment and not executed)
    assert ("(to come)" in box.text) == (not in_book(each.chapter))


@built
def test_ledger_and_errata_lead_to_each_other():
    for each in CORRECTIONS:
        box = page("errata").find(id=f"erratum-{each.anchor}")
        names = [entry.claim["id"] for entry in each.executed(FOUND)]
        for name in names:
            assert box.find("a", href=f"claims.html#ledger-{name}")
        rest = [f"ledger-{name}" for name in names] or [f"ledger-{each.anchor}"]
        links = {link["href"] for row in rest for link in rows()[row]("a")}
        assert any(link.startswith("errata.html#erratum-") for link in links)
        if not names:
            assert f"errata.html#erratum-{each.anchor}" in links


@built
def test_the_deck_map_shows_every_deck_and_every_range():
    soup = page("decks")
    for deck in DECKS:
        section = soup.find("section", id=f"deck-{deck.deck}")
        assert deck.title in section.h2.text
        facts = section.select_one(".deck-facts").text
        assert (deck.lecturer or "not stated") in facts
        assert (deck.given or "not stated") in facts
        shown = [row["id"] for row in section.select(".ledger tbody tr")]
        assert shown == [part.anchor for part in deck.ranges]


@built
def test_the_deck_map_says_which_claims_answer_to_which_lines():
    shown = {row["id"]: row for row in page("decks").select("[id^=answers-] tbody tr")}
    citing = {
        f"answer-{name}": entry
        for name, entry in FOUND.items()
        if entry.claim["source"] and in_book(entry.docname.split("/")[-1])
    }
    assert set(shown) == set(citing)
    for name, entry in citing.items():
        cells = shown[name](["th", "td"])
        assert cells[0].text == entry.claim["source"]
        assert cells[1].a["href"] == f"claims.html#ledger-{entry.claim['id']}"
        assert cells[2].text == entry.claim["verdict"]


@built
def test_style_and_script_are_on_the_pages_that_need_them_only():
    def has(name, file):
        tags = page(name).select("script[src], link[rel=stylesheet]")
        return any(file in (tag.get("src") or tag["href"]) for tag in tags)

    pages = ("claims", "decks", "errata", "index", "bibliography")
    assert [has(name, "ledger.css") for name in pages] == [True] * 3 + [False] * 2
    assert [has(name, "ledger.js") for name in pages] == [True] + [False] * 4
