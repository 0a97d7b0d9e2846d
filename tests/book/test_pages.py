"""The built pages: every link leads somewhere, nothing is missing or left raw."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from unrolled.book.claims import pretty
from unrolled.chapters.pages import all_pages
from unrolled_book import notebooks
from unrolled_book.claims import all_claims

pytestmark = pytest.mark.built

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
LEDGER = HTML / "book" / "claims.html"
FIRST = HTML / "book" / "index.html"
BYLINE = r"(Optional\. )?About \d+ minutes to read; runs in \d+ s on one core\."


def pages(folder: Path) -> list[Path]:
    """Return the pages of the book; the theme's own macros are none."""
    return [
        path
        for path in sorted(folder.rglob("*.html"))
        if path.name not in ("genindex.html", "search.html")
        and "_static" not in path.parts
        and path != folder / "index.html"  # leads to the first page, see below
    ]


PAGES = pages(HTML) or [FIRST]  # not built: then the tests fail
CHAPTERS = [path for path in PAGES if path.parent.name == "chapters"]


def name_of(path: Path) -> str:
    return path.relative_to(HTML).as_posix()


every_page = pytest.mark.parametrize("path", PAGES, ids=name_of)
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=name_of)


def parse(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


@cache
def soup_of(path: Path) -> BeautifulSoup:
    return parse(path.read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> frozenset[str]:
    tags = soup_of(path).find_all(True)
    return frozenset(tag.get("id") or tag.get("name") or "" for tag in tags)


# ---- links and what a page is made of ----


def link_fault(path: Path, address: str) -> str | None:
    """Return what is wrong with a link on the page ``path``, if anything."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = path.parent / unquote(parts.path) if parts.path else path
    target = target.resolve()
    if not target.is_file():
        return f"{address}: no such file"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in anchors(target):
        return f"{address}: no such place on that page"
    return None


def link_faults(path: Path) -> list[str]:
    tags = soup_of(path).find_all(["a", "link"], href=True)
    faults = (link_fault(path, tag["href"]) for tag in tags if tag["href"] != "#")
    return sorted({fault for fault in faults if fault})


def parts_of(soup: BeautifulSoup) -> list[str]:
    """Return the addresses that the browser loads by itself."""
    tags = soup.select("script[src], img[src], iframe[src], source[src], video[src]")
    styles = soup.select("link[rel~=stylesheet], link[rel~=preload], link[rel~=icon]")
    return [tag["src"] for tag in tags] + [tag["href"] for tag in styles]


def outside_faults(soup: BeautifulSoup) -> list[str]:
    return [a for a in parts_of(soup) if re.match(r"(https?:)?//", a)]


def missing_faults(path: Path) -> list[str]:
    inside = (a for a in parts_of(soup_of(path)) if not re.match(r"\w+:|//", a))
    return sorted({a for a in inside if link_fault(path, a)})


@every_page
def test_every_link_leads_to_a_page_and_a_place_on_it(path):
    assert link_faults(path) == []


@every_page
def test_every_script_style_and_picture_is_there(path):
    assert missing_faults(path) == []


@every_page
def test_nothing_is_loaded_from_the_web(path):
    assert outside_faults(soup_of(path)) == []


def test_the_front_door_leads_to_the_first_page():
    door = parse((HTML / "index.html").read_text(encoding="utf-8"))
    refresh = door.find("meta", attrs={"http-equiv": "refresh"})
    for target in (re.search("url=(.*)", refresh["content"])[1], door.a["href"]):
        assert (HTML / target).resolve() == FIRST
    assert FIRST.is_file()


def test_only_what_the_table_of_contents_lists_is_built():
    toc = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"(?:file|root): (\S+)", toc)
    built = {name_of(path).removesuffix(".html") for path in PAGES}
    assert built - {"py-modindex"} == set(listed)


# ---- what the reader sees ----


def text_faults(soup: BeautifulSoup) -> list[str]:
    """Return what should have become something else before it was printed."""
    faults = [str(tag)[:100] for tag in soup.select(".problematic, .system-message")]
    body = parse(str(soup.body))
    for tag in body(["script", "style", "template"]):
        tag.decompose()
    if "<Figure size" in body.text:
        faults.append("<Figure size …>")
    for tag in body(["code", "pre"]):
        tag.decompose()
    return faults + re.findall(
        r"\{[a-z]+(?::[a-z]+)?\}`[^`]*`|^:::+.*$", body.text, re.M
    )


def head_faults(soup: BeautifulSoup) -> list[str]:
    faults = [] if soup.html.get("lang") else ["no language"]
    if not (soup.title and soup.title.text.strip()):
        faults.append("no title")
    # The theme repeats the title in a part that only a printer shows.
    titles = [h1 for h1 in soup("h1") if not h1.find_parent(id="jb-print-docs-body")]
    if len(titles) != 1:
        faults.append(f"{len(titles)} first headings")
    return faults


def picture_faults(soup: BeautifulSoup) -> list[str]:
    return [img.get("src", "") for img in soup("img") if not img.get("alt", "").strip()]


@every_page
def test_nothing_is_left_raw_on_a_page(path):
    assert text_faults(soup_of(path)) == []


@every_page
def test_a_page_has_a_language_a_title_and_one_first_heading(path):
    assert head_faults(soup_of(path)) == []


@every_page
def test_no_page_tells_the_day_of_its_build(path):
    assert "Last updated" not in soup_of(path).text


@every_page
def test_every_picture_has_words(path):
    assert picture_faults(soup_of(path)) == []


@every_page
def test_no_id_is_used_twice_on_a_page(path):
    ids = [tag["id"] for tag in soup_of(path).find_all(id=True)]
    assert sorted({name for name in ids if ids.count(name) > 1}) == []


@every_chapter
def test_a_chapter_says_how_long_it_takes(path):
    byline = soup_of(path).select_one("h1 + .byline")
    assert byline is not None, f"{name_of(path)} has no byline under its title"
    line = re.fullmatch(BYLINE, byline.text)
    assert line, byline.text
    kind = {page.stem: page.kind for page in all_pages(ROOT)}[path.stem]
    assert bool(line[1]) == (kind == "study")


@every_chapter
def test_figures_are_numbered_within_their_chapter(path):
    pages = all_pages(ROOT)
    (own,) = (page for page in pages if page.stem == path.stem)
    same = [page for page in pages if page.number == own.number]
    found = [
        number.text.strip()
        for page in same
        for number in soup_of(HTML / f"{page.docname}.html").select(
            "article figure .caption-number"
        )
    ]
    count = range(1, len(found) + 1)
    assert found == [f"Figure {own.number}.{n}" for n in count]


@every_chapter
def test_every_figure_is_there_for_both_themes_and_captioned(path):
    figures = soup_of(path).select("article figure")
    assert figures
    for figure in figures:
        light_dark = {"figure-light", "figure-dark"}
        kinds = [set(img["class"]) & light_dark for img in figure("img")]
        assert kinds == [{"figure-light"}, {"figure-dark"}], figure.get("id")
        light, dark = figure("img")
        assert light["src"] != dark["src"]
        assert light["alt"] == dark["alt"]
        assert figure.select_one(".caption-number"), figure.get("id")
        assert figure.select_one(".caption-text").text.strip(), figure.get("id")


# ---- claims ----


def cards(path: Path) -> dict[str, str]:
    """Return the claims on a page, each with its link to the ledger."""
    found = {}
    for card in soup_of(path).select(".claim[id]"):
        links = card.select("a.claim-link")
        found[card["id"].removeprefix("claim-")] = links[0]["href"] if links else ""
    return found


def rows() -> dict[str, str]:
    """Return the claims in the ledger, each with its link to the chapter."""
    found = soup_of(LEDGER).select(".ledger tbody tr[id]")
    where = {row["id"]: row.select_one("[data-label=Where] a") for row in found}
    return {
        name.removeprefix("ledger-"): link["href"] if link else ""
        for name, link in where.items()
    }


@every_chapter
def test_every_claim_of_a_chapter_is_in_the_ledger_with_links_both_ways(path):
    assert cards(path)
    for name, address in cards(path).items():
        assert address == f"../book/claims.html#ledger-{name}"
        assert rows().get(name) == f"../{name_of(path)}#claim-{name}"


def test_the_ledger_and_the_pages_show_every_stored_claim():
    stored = all_claims(ROOT)
    shown = {name: name_of(path) for path in CHAPTERS for name in cards(path)}
    assert shown == {name: f"{entry.docname}.html" for name, entry in stored.items()}
    assert set(stored) <= set(rows())


@every_chapter
def test_numbers_in_prose_are_those_of_the_run(path):
    claims = all_claims(ROOT)
    cells = notebooks.read_source(ROOT / "chapters" / f"{path.stem}.md").cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    roles = re.findall(r"\{measured\}`([\w-]+):([^:`]+):?([^`]*)`", prose)
    expected = [
        pretty(claims[id].claim["measured"][name], spec) for id, name, spec in roles
    ]
    assert expected, f"{name_of(path)} glues no number"
    assert [tag.text for tag in soup_of(path).select(".measured")] == expected


# ---- weight ----


def weight(path: Path) -> dict[str, int]:
    """Return the bytes of a page and of what it loads, by name; no MathJax."""
    local = {a.split("?")[0] for a in parts_of(soup_of(path)) if "mathjax" not in a}
    files = {(path.parent / unquote(address)).resolve() for address in local}
    return {f.relative_to(HTML).as_posix(): f.stat().st_size for f in {path, *files}}


def test_the_first_page_is_light(capsys):
    parts = weight(FIRST)
    total = sum(parts.values()) / 1e6
    with capsys.disabled():
        print(f"\nthe first page weighs {total:.2f} MB without MathJax")
    heaviest = sorted(parts.items(), key=lambda item: -item[1])[:4]
    assert total < 1.0, f"{total:.2f} MB; the heaviest: {heaviest}"


# ---- the checks themselves can fail ----

GOOD = (
    '<html lang="en"><head><title>T</title></head><body><h1 id="top">T</h1>'
    '<a href="#top">up</a><img src="a.png" alt="A."><code>{role}`x`</code>'
    "</body></html>"
)


def faults_of(folder: Path, html: str) -> str:
    (folder / "a.png").write_bytes(b"")
    path = folder / "page.html"
    path.write_text(html)
    soup_of.cache_clear(), anchors.cache_clear()
    soup = soup_of(path)
    found = [*link_faults(path), *missing_faults(path), *outside_faults(soup)]
    found += text_faults(soup) + head_faults(soup)
    return " | ".join(found + [f"no alt: {src}" for src in picture_faults(soup)])


def test_a_good_page_has_no_faults(tmp_path):
    assert faults_of(tmp_path, GOOD) == ""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("#top", "gone.html", "gone.html: no such file"),
        ("#top", "#nowhere", "#nowhere: no such place"),
        ("#top", "page.html#nowhere", "page.html#nowhere: no such place"),
        ("a.png", "b.png", "b.png"),
        ("a.png", "https://example.org/a.png", "https://example.org/a.png"),
        ("a.png", "//example.org/a.png", "//example.org/a.png"),
        (
            "<title>",
            '<script src="https://example.org/"></script><title>',
            "example.org",
        ),
        (' alt="A."', "", "no alt: a.png"),
        ('alt="A."', 'alt=" "', "no alt: a.png"),
        (' lang="en"', "", "no language"),
        ("<title>T", "<title> ", "no title"),
        ("<code>", "<h1>Again</h1><code>", "2 first headings"),
        ("<code>", "{measured}`a:b`<code>", "{measured}`a:b`"),
        ("<code>", "{cite:t}`a`<code>", "{cite:t}`a`"),
        ("<code>", '<span class="problematic">a:b</span><code>', "problematic"),
        ("<code>", "<pre>&lt;Figure size 640x480&gt;</pre><code>", "<Figure size"),
    ],
)
def test_a_faulty_page_is_found_out(tmp_path, old, new, fault):
    assert old in GOOD
    assert fault in faults_of(tmp_path, GOOD.replace(old, new))
