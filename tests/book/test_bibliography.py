"""The bibliography: complete entries in one order, and none that nobody needs.

The rule for works that no page cites yet: such an entry names, under ``keywords``, the
chapter that will cite it. Once that chapter is written it cites the work, or the entry
goes.
"""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup
from pybtex.database import BibliographyData, Entry, parse_string

from unrolled_book.citations import tell_years_apart

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "book" / "references.bib"
PAGE = ROOT / "_build" / "html" / "book" / "bibliography.html"

NEEDED = {
    "article": {"author", "title", "journal", "volume", "year"},
    "book": {"author", "title", "publisher", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "techreport": {"author", "title", "institution", "year"},
    "misc": {"author", "title", "year"},
}
KEY = re.compile(r"[a-z]+(1[89]|20)\d\d[b-z]?")
DOI = re.compile(r"10\.\d{4,9}/[\w.()/:;-]+")
ARXIV = re.compile(r"\d{4}\.\d{4,5}")
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`|:cite(?::\w+)?:`([^`]+)`")


def entries(text: str) -> BibliographyData:
    return parse_string(text, "bibtex")


def words(root: Path) -> str:
    """Return all that can cite: pages, chapters, data of pages, docstrings."""
    kinds = ("book/*.md", "book/*.yml", "chapters/*.md", "code/unrolled/**/*.py")
    files = (path for kind in kinds for path in sorted(root.glob(kind)))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def cited(text: str) -> set[str]:
    """Return the keys that ``text`` cites, in a role or in a list such as [a, b]."""
    roles = (one or other for one, other in CITED.findall(text))
    lists = re.findall(r"^\s*cites?: \[([\w, ]+)\]$", text, re.M)
    return {key.strip() for keys in (*roles, *lists) for key in keys.split(",")}


def planned(root: Path) -> dict[str, Path]:
    """Return the source of every chapter of the outline, written or not."""
    parts = yaml.safe_load((root / "book" / "outline.yml").read_text("utf-8"))
    stems = (chapter["stem"] for part in parts for chapter in part["chapters"])
    return {stem: root / "chapters" / f"{stem}.md" for stem in stems}


# ---- what may be wrong ----


def plain(name: str) -> str:
    """Return a family name in the letters of a key: Huszár is huszar."""
    name = re.sub(r"\\[a-zA-Z]+\b|[{}\\'\"`^=~]", "", name).lower()
    return re.sub(r"[^a-z]", "", name)


def key_faults(key: str, entry: Entry) -> list[str]:
    first = entry.persons["author"][0]
    name = plain("".join(first.prelast_names + first.last_names))
    year = entry.fields["year"]
    if KEY.fullmatch(key) and re.fullmatch(f"{name}{year}[b-z]?", key):
        return []
    return [f"the key should be {name}{year}, with b, c, … if that is taken"]


def field_faults(entry: Entry) -> list[str]:
    if entry.type not in NEEDED:
        return [f"a type that the book does not use: {entry.type}"]
    has = {*entry.fields, *entry.persons}
    faults = [f"no {name}" for name in sorted(NEEDED[entry.type] - has)]
    fields = entry.fields
    if entry.type == "article" and "pages" not in fields:
        faults.append("no pages")
    if entry.type == "misc" and not {"eprint", "howpublished"} & has:
        faults.append("no eprint, nor a word on how it was published")
    if "doi" in fields and not DOI.fullmatch(fields["doi"]):
        faults.append(f"no DOI: {fields['doi']}")
    if "eprint" in fields:
        if not ARXIV.fullmatch(fields["eprint"]):
            faults.append(f"no number of arXiv's: {fields['eprint']}")
        if fields.get("archiveprefix") != "arXiv":
            faults.append("an eprint needs archiveprefix = {arXiv}")
    if re.search(r"\d-\d", fields.get("pages", "")):
        faults.append(f"pages need a double dash: {fields['pages']}")
    return faults


def title_faults(entry: Entry) -> list[str]:
    """Say which capitals of a title would be lost: the style prints sentence case."""
    if entry.type == "book":
        return []  # printed as it is
    title = entry.fields["title"]
    if title[0].islower():
        return [f"the style gives this a capital, put it in braces: {title.split()[0]}"]
    while "{" in title:  # what stands in braces is kept as it is, the innermost first
        title = re.sub(r"\{[^{}]*\}", "", title)
    lost = re.findall(r"\S*[A-Z]\S*", title[1:])
    return [f"a capital without braces in the title: {word}" for word in lost]


def faults(text: str) -> list[str]:
    """Return what is wrong with the entries by themselves, a line each."""
    found = entries(text)
    keys = re.findall(r"^@\w+\{([^,]+),", text, re.M)
    wrong = []
    for before, after in pairwise(keys):
        if after < before:
            wrong.append(f"{after} must stand before {before}: keys are in order")
    for name in ("doi", "eprint", "title"):
        seen: dict[str, str] = {}
        for key, entry in found.entries.items():
            value = entry.fields.get(name, "").lower()
            if value and seen.setdefault(value, key) != key:
                wrong.append(f"{key}: has the {name} of {seen[value]}")
    for key, entry in found.entries.items():
        own = key_faults(key, entry) + field_faults(entry) + title_faults(entry)
        wrong += [f"{key}: {fault}" for fault in own]
    return wrong


def use_faults(text: str, prose: str, chapters: dict[str, Path]) -> list[str]:
    """Return the entries that nobody needs, and the works that have none."""
    found, used = entries(text).entries, cited(prose)
    wrong = [f"{key}: cited, but not in references.bib" for key in used - set(found)]
    for key in sorted(set(found) - used):
        waiting = re.findall(r"[\w-]+", found[key].fields.get("keywords", ""))
        unknown = [stem for stem in waiting if stem not in chapters]
        wrong += [f"{key}: waits for {stem}, which is not planned" for stem in unknown]
        left = [stem for stem in waiting if stem not in unknown]
        if left and all(chapters[stem].is_file() for stem in left):
            done = ", ".join(left)
            wrong.append(f"{key}: {done} is written without it: cite it or delete it")
        elif not waiting:
            wrong.append(
                f"{key}: nothing cites it: cite it, delete it, or name the chapter "
                "that will cite it, as in keywords = {07-lstm}"
            )
    return sorted(wrong)


# ---- the book's own ----


def test_every_entry_is_complete_and_in_its_place():
    assert faults(SOURCE.read_text(encoding="utf-8")) == []


def test_every_entry_is_cited_or_waits_for_a_chapter_that_is_not_written():
    text = SOURCE.read_text(encoding="utf-8")
    assert use_faults(text, words(ROOT), planned(ROOT)) == []


def test_the_timeline_cites_only_what_is_there():
    data = yaml.safe_load((ROOT / "book" / "timeline.yml").read_text("utf-8"))
    keys = {key for milestone in data for key in milestone["cite"]}
    assert keys
    assert keys <= cited(words(ROOT))
    assert keys <= set(entries(SOURCE.read_text(encoding="utf-8")).entries)


@pytest.mark.built
def test_the_page_lists_what_is_cited_and_links_every_doi_and_preprint():
    page = BeautifulSoup(PAGE.read_text(encoding="utf-8"), "html.parser")
    found = entries(SOURCE.read_text(encoding="utf-8")).entries
    links = {tag["href"] for tag in page.select(".citation a.external")}
    shown = [key for key in cited(words(ROOT)) if key in found]
    assert len(page.select(".citation")) == len(shown)
    for key in shown:
        fields = found[key].fields
        if "doi" in fields:
            assert f"https://doi.org/{fields['doi']}" in links, key
        if "eprint" in fields:
            assert f"https://arxiv.org/abs/{fields['eprint']}" in links, key


@pytest.mark.built
def test_no_two_works_are_cited_alike():
    told: dict[str, set[str]] = {}
    for path in (PAGE.parents[1] / "chapters").glob("*.html"):
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for link in page.select("a[href*='bibliography.html#']"):
            if re.search(r"\D, \d{4}", link.text):  # with the author in the link
                told.setdefault(link.text, set()).add(link["href"])
    assert len(told) > 50
    assert [words for words, places in told.items() if len(places) > 1] == []


def test_works_of_one_author_and_year_are_told_apart():
    text = SOURCE.read_text(encoding="utf-8")
    found = entries(text).entries
    tell_years_apart(found)
    years = {key: entry.fields["year"] for key, entry in found.items()}
    assert years["mikolov2013"] == "2013a"
    assert years["mikolov2013c"] == "2013c"
    assert years["bengio2003"] == "2003"
    tell_years_apart(found)  # a build that is taken up again
    assert {key: entry.fields["year"] for key, entry in found.items()} == years


# ---- the checks themselves can fail ----

GOOD = r"""@misc{huszar2015,
  author        = {Husz{\'a}r, Ferenc},
  title         = {A title with an {LSTM} and {M{\"u}ller}},
  year          = {2015},
  eprint        = {1511.05101},
  archiveprefix = {arXiv},
  keywords      = {07-lstm}
}

@article{van2000,
  author  = {van, Jan},
  title   = {Another title},
  journal = {Journal},
  volume  = {1},
  pages   = {1--2},
  year    = {2000},
  doi     = {10.1000/xyz(123)}
}
"""
PROSE = "As {cite:t}`van2000` says."


def test_good_entries_have_no_faults(tmp_path):
    assert faults(GOOD) == []
    assert use_faults(GOOD, PROSE, {"07-lstm": tmp_path / "none.md"}) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("huszar2015", "huszar2016", "the key should be huszar2015"),
        ("huszar2015", "ferenc2015", "the key should be huszar2015"),
        ("huszar2015", "zhuszar2015", "van2000 must stand before zhuszar2015"),
        ("{LSTM}", "LSTM", "a capital without braces in the title: LSTM"),
        ("Another title", "Another Title", "a capital without braces"),
        ("Another title", "word2vec and its title", "put it in braces: word2vec"),
        ("  journal = {Journal},\n", "", "van2000: no journal"),
        ("  pages   = {1--2},\n", "", "van2000: no pages"),
        ("1--2", "1-2", "pages need a double dash"),
        ("10.1000/xyz(123)", "https://doi.org/10.1000/xyz", "van2000: no DOI"),
        ("1511.05101", "abs/1511.05101", "no number of arXiv's"),
        ("  archiveprefix = {arXiv},\n", "", "an eprint needs archiveprefix"),
        ("  eprint        = {1511.05101},\n", "", "nor a word on how"),
        ("@misc", "@online", "a type that the book does not use: online"),
        ("Another title", 'A title with an {LSTM} and {M{\\"u}ller}', "has the title"),
    ],
)
def test_a_faulty_entry_is_found_out(old, new, fault):
    assert old in GOOD
    assert fault in " | ".join(faults(GOOD.replace(old, new)))


def test_what_nobody_needs_and_what_is_missing_is_found_out(tmp_path):
    chapter = tmp_path / "07-lstm.md"
    chapters = {"07-lstm": chapter}
    idle = GOOD.replace("  keywords      = {07-lstm}\n", "")
    assert "huszar2015: nothing cites it" in use_faults(idle, PROSE, chapters)[0]
    lost = GOOD.replace("07-lstm", "07-lstn")
    assert "waits for 07-lstn" in use_faults(lost, PROSE, chapters)[0]
    assert "elman1990: cited, but not" in use_faults(
        GOOD, PROSE + "{cite:p}`elman1990,van2000`", chapters
    )[0]  # fmt: skip
    chapter.write_text("It is written.")
    assert "07-lstm is written without it" in use_faults(GOOD, PROSE, chapters)[0]
    assert use_faults(GOOD, PROSE + "{cite}`huszar2015`", chapters) == []


def test_keys_are_found_in_roles_in_docstrings_and_in_the_data_of_pages():
    text = "{cite:t}`a1990`, :cite:p:`b1991, c1992`\n"
    text += "  cite: [d1993, e1994]\n  cites: [f1995]\n"
    assert cited(text) == {"a1990", "b1991", "c1992", "d1993", "e1994", "f1995"}
