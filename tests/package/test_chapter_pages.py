"""The pages of chapters: their kinds, their order, and what does not fit together."""

from pathlib import Path

import pytest

from unrolled.chapters import pages

TOC = """
chapters:
  - file: chapters/04-zoo
    sections:
      - file: chapters/04-zoo-tigers
      - file: chapters/04-zoo-lions
  - file: chapters/05-ark
"""
KINDS = {
    "04-zoo": "",
    "04-zoo-lions": "study",
    "04-zoo-tigers": "core",
    "05-ark": "main",
}


def plant(root: Path, kinds: dict[str, str], toc: str = TOC) -> Path:
    """Write pages of these kinds, and a table of contents."""
    (root / "book").mkdir()
    (root / "book" / "_toc.yml").write_text(toc)
    (root / "chapters").mkdir()
    for stem, kind in kinds.items():
        head = f"---\njupytext: {{}}\npage: {kind}\n---\n" if kind else ""
        text = f"{head}\n# {stem}\n\n---\npage: none\n---\n"
        (root / "chapters" / f"{stem}.md").write_text(text)
    (root / "chapters" / "README.md").write_text("No page.")
    return root


def stems(found: list[pages.Page]) -> list[str]:
    return [page.stem for page in found]


def test_a_main_page_comes_first_and_then_what_the_contents_list(tmp_path):
    found = pages.all_pages(plant(tmp_path, KINDS))
    assert stems(found) == ["04-zoo", "04-zoo-tigers", "04-zoo-lions", "05-ark"]
    assert [page.kind for page in found] == ["main", "core", "study", "main"]


def test_a_page_that_the_contents_do_not_list_comes_last_in_its_chapter(tmp_path):
    found = pages.all_pages(plant(tmp_path, KINDS | {"04-zoo-bears": "study"}))
    assert stems(found)[:4] == [
        "04-zoo",
        "04-zoo-tigers",
        "04-zoo-lions",
        "04-zoo-bears",
    ]


def test_without_contents_pages_are_in_the_order_of_their_names(tmp_path):
    root = plant(tmp_path, KINDS)
    (root / "book" / "_toc.yml").unlink()
    found = stems(pages.all_pages(root))
    assert found == ["04-zoo", "04-zoo-lions", "04-zoo-tigers", "05-ark"]


def test_a_chapter_knows_its_further_pages_and_they_know_it(tmp_path):
    root = plant(tmp_path, KINDS)
    found = pages.all_pages(root)
    assert stems(pages.main_pages(root)) == ["04-zoo", "05-ark"]
    assert stems(pages.further_pages(root, "04-zoo")) == [
        "04-zoo-tigers",
        "04-zoo-lions",
    ]
    assert pages.further_pages(root, "05-ark") == []
    assert [pages.main_page_of(page, found).stem for page in found] == [
        "04-zoo", "04-zoo", "04-zoo", "05-ark",
    ]  # fmt: skip
    lions = found[2]
    assert (lions.number, lions.docname) == (4, "chapters/04-zoo-lions")
    assert lions.notebook == root / "chapters" / "04-zoo-lions.ipynb"


@pytest.mark.parametrize(
    ("kinds", "fault"),
    [
        ({"04-zoo": "page"}, "04-zoo.md: page='page' must be one of main, core, study"),
        ({"04-zoo": "main", "04-zoo-lions": ""}, "chapter 4 has 2 main pages, not one"),
        (
            {"04-zoo-lions": "study"},
            "chapter 4 has 0 main pages, not one, among 04-zoo",
        ),
        (
            {"04-zoo": "", "04-ark": "core"},
            "04-ark.md: a further page of chapter 4 must",
        ),
        (
            {"04-zoo": ""} | {f"04-zoo-{n}": "study" for n in range(5)},
            "chapter 4 has 6 pages, more than 5: 04-zoo.md, 04-zoo-0.md",
        ),
    ],
)
def test_pages_that_do_not_fit_together_are_named(tmp_path, kinds, fault):
    with pytest.raises(ValueError, match=fault.replace(".", r"\.")):
        pages.all_pages(plant(tmp_path, kinds))
