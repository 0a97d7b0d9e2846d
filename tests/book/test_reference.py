"""The package reference: made from the package, and nothing of the package left out.

It is several pages: a browser takes long over one that holds everything.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main
from bs4 import BeautifulSoup

from unrolled.cli import app
from unrolled_book import package

ROOT = Path(__file__).resolve().parents[2]
TOC = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
PAGES = re.findall(r"file: book/(reference\S*)", TOC)
LARGEST = 700_000  # bytes; a page of twice as many took a browser half a minute


def sections(text: str) -> dict[str, str]:
    """Return the introduction of each part that the pages document."""
    found = re.findall(
        r"^\(layer-([\w-]+)\)=\n##? [^\n]+\n(.*?)"
        r"^```\{(?:modules\} ([\w.]+)|commands\})\n```$",
        text,
        re.M | re.S,
    )
    named = ((label.replace("-", "."), words, part) for label, words, part in found)
    return {label: words for label, words, part in named if part in (label, "")}


def part_faults(text: str, parts: list[str]) -> list[str]:
    """Say which parts the pages lack, and what to write."""
    found = sections(text)
    faults = [
        f"code/unrolled has the part {part!r} and no book/reference*.md has it: add a "
        f"section '(layer-{part.replace('.', '-')})=', a heading, a sentence or two on "
        f"what it is for, and the directive '{{modules}} {part}'; the modules follow "
        "by themselves"
        for part in parts
        if part not in found
    ]
    faults += [f"{part}: no introduction" for part, w in found.items() if not w.strip()]
    layers = [part for part in found if "." not in part]
    if not faults and layers != [part for part in parts if "." not in part]:
        faults.append(f"the layers should stand in the order {', '.join(parts)}")
    return faults


def test_every_part_has_its_section_with_an_introduction_in_order():
    sources = (ROOT / "book" / f"{name}.md" for name in PAGES)
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    assert part_faults(text, package.parts()) == []


def test_every_file_of_the_package_is_in_a_part_that_is_documented():
    listed = {path for part in package.parts() for path in package.modules_of(part)}
    private = {
        path for path in package.PACKAGE.rglob("*.py") if path.name.startswith("_")
    }
    rooms = {path for path in package.PACKAGE.rglob("*.py") if package.in_a_room(path)}
    left_out = set(package.PACKAGE.rglob("*.py")) - listed - private - rooms
    assert not left_out, (
        f"{sorted(map(str, left_out))}: a module belongs to a layer, "
        f"one of {', '.join(package.ORDER)}"
    )


def test_the_order_of_layers_is_the_one_that_is_held():
    held = (ROOT / "tests" / "package" / "test_layering.py").read_text(encoding="utf-8")
    words = re.search(r"^ORDER = \((.*?)\)\.split\(\)", held, re.M | re.S)[1]
    assert " ".join(re.findall(r'"([^"]*)"', words)).split() == package.ORDER


def test_what_a_layer_imports_stands_above_it():
    for layer in package.layers():
        place = package.ORDER.index(layer)
        assert set(package.imported_layers(layer)) <= set(package.ORDER[:place])


# ---- a package of our own, and pages that lack something ----

FILES = {
    "__init__.py": "",
    "shapes.py": '"""Shapes.\n\nMore."""',
    "layers/__init__.py": '"""Layers."""\n',
    "layers/cell.py": '''"""Cells, :eq:`all`."""
from unrolled.shapes import x

class Cell:
    """One step, :eq:`cell` and :eq:`all`."""

    def forward(self):
        """Compute :eq:`step`."""
''',
    "layers/deep/__init__.py": '"""Deeper."""',
    "layers/deep/down.py": "",
    "layers/zoo.py": "",
    "chapters/__init__.py": '"""Rooms."""',
    "chapters/pages.py": "",
    "chapters/c04_zoo/__init__.py": '"""No :eq:`business` either."""',
    "chapters/c04_zoo/figures.py": "",
    "layers/_private.py": '"""No :eq:`business`."""\nimport unrolled.data\n',
    "cli.py": "from unrolled.layers import cell\n",
}


@pytest.fixture
def tiny(tmp_path):
    root = tmp_path / "code" / "unrolled"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_layers_and_their_public_modules_are_found(tiny):
    assert package.layers(tiny) == ["shapes", "layers", "chapters", "cli"]
    parts = ["shapes", "layers", "layers.deep", "chapters", "cli"]
    assert package.parts(tiny) == parts  # and no chapter's room
    found = {
        part: [package.module_name(p, tiny) for p in package.modules_of(part, tiny)]
        for part in ("layers", "layers.deep", "cli")
    }
    layers = "unrolled.layers"
    assert found == {
        "layers": [layers, f"{layers}.cell", f"{layers}.zoo"],
        "layers.deep": [f"{layers}.deep", f"{layers}.deep.down"],
        "cli": ["unrolled.cli"],
    }
    assert package.modules_of("data", tiny) == []
    assert package.first_line(tiny / "shapes.py") == "Shapes."
    assert package.imported_layers("layers", tiny) == ["shapes", "data"]
    assert package.imported_layers("cli", tiny) == ["layers"]


def test_what_cites_an_equation_is_found_by_its_full_name(tiny):
    assert sorted(package.citations(tiny)) == [
        ("all", "unrolled.layers.cell"),
        ("all", "unrolled.layers.cell.Cell"),
        ("business", "unrolled.layers._private"),
        ("cell", "unrolled.layers.cell.Cell"),
        ("step", "unrolled.layers.cell.Cell.forward"),
    ]


def test_labelled_equations_are_found_with_their_chapter(tmp_path):
    (tmp_path / "chapters").mkdir()
    text = "```{math}\n:label: cell\nx\n```\n\n```{figure}\n:name: other\n```\n"
    (tmp_path / "chapters" / "04-a.md").write_text(text)
    assert package.equations(tmp_path) == {"cell": "chapters/04-a"}


GOOD = "".join(
    f"(layer-{name.replace('.', '-')})=\n## {name}\n\nWords.\n\n"
    f"```{{modules}} {name}\n```\n\n"
    for name in ("shapes", "data", "data.made")
) + ("(layer-cli)=\n## The command line\n\nWords.\n\n```{commands}\n```\n")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("", "", ""),
        ("(layer-data)=\n", "", "add a section '(layer-data)=', a heading"),
        ("{modules} data", "{modules} dat", "the directive '{modules} data'"),
        ("{commands}", "{command}", "the part 'cli'"),
        (
            "{modules} data.made",
            "{modules} data",
            "the directive '{modules} data.made'",
        ),
        ("## data\n\nWords.", "## data\n", "data: no introduction"),
        ("(layer-data)", "(layer-aside)", "the part 'data'"),
    ],
)
def test_a_page_that_lacks_a_part_is_told_what_to_add(old, new, fault):
    parts = ["shapes", "data", "data.made", "cli"]
    found = part_faults(GOOD.replace(old, new, 1) if old else GOOD, parts)
    assert fault in " | ".join(found)
    assert bool(found) == bool(fault)


def test_a_drawing_function_is_shown_without_its_theme():
    def shown(signature):
        return package.drop_theme(None, "", "", None, None, signature, "Figure")

    assert shown("(theme: Theme, n: int = 4)") == ("(n: int = 4)", "ThemedFigure")
    assert shown("(theme: Theme)") == ("()", "ThemedFigure")
    assert shown("(themes: int)") is None
    assert shown("") is None


# ---- the built pages ----


@pytest.fixture(scope="module")
def pages() -> dict[str, BeautifulSoup]:
    built = (ROOT / "_build" / "html" / "book" / f"{name}.html" for name in PAGES)
    return {
        path.name: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in built
    }


@pytest.mark.built
def test_every_public_module_is_on_a_page(pages):
    for part in package.parts():
        for path in package.modules_of(part) if part != "cli" else ():
            anchor = f"module-{package.module_name(path)}"
            assert sum(bool(page.find(id=anchor)) for page in pages.values()) == 1, path


@pytest.mark.built
def test_no_page_is_too_large_for_a_browser(pages):
    sizes = {name: len(str(page)) for name, page in pages.items()}
    assert max(sizes.values()) < LARGEST, sizes


@pytest.mark.built
def test_equations_and_code_lead_to_each_other(pages):
    rows = pages["reference.html"].select("#from-an-equation-to-its-code tbody tr")
    known = package.equations(ROOT)
    shown = [row.a["href"] for row in rows]
    in_book = [
        f"../{known[label]}.html#equation-{label}"
        for label in known
        if label in {cited for cited, _ in package.citations()}
        and (ROOT / "_build" / "html" / f"{known[label]}.html").is_file()
    ]
    assert in_book
    assert shown == in_book
    for row in rows:
        for link in row("td")[2]("a"):
            name, _, anchor = link["href"].partition("#")
            target = pages[name or "reference.html"].find(id=anchor)
            back = [a["href"] for a in target.parent.select("a[href*=equation-]")]
            assert row.a["href"] in back, link["href"]


@pytest.mark.built
def test_the_command_line_is_explained_in_its_own_words(pages):
    page = pages["reference-commands.html"]
    commands = dict(package.commands())
    top = typer.main.get_command(app).commands
    assert {name.split()[0] for name in commands} == set(top)
    assert {"info", "run", "data fetch"} <= set(commands)
    for name, command in commands.items():
        section = page.find(id=f"command-{name.replace(' ', '-')}")
        words = " ".join(section.text.split()).replace(
            "\N{RIGHT SINGLE QUOTATION MARK}", "'"
        )
        assert f"unrolled {name}" in words
        assert " ".join(command.help.split()) in words
        for parameter in command.params:
            assert parameter.help in words


def test_modules_are_documented_anew_when_the_package_or_an_equation_changed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(package, "PACKAGE", tmp_path)
    labels = {"rnn-cell": "chapters/04-a"}
    monkeypatch.setattr(package, "equations", lambda root: labels)
    said = {"book/reference-a": {package.DOCUMENTS: "yes"}, "book/index": {}}
    env = SimpleNamespace(metadata=said)

    def found():
        return package.pages_to_document(
            SimpleNamespace(srcdir=tmp_path), env, set(), set(), set()
        )

    assert found() == ["book/reference-a"]
    assert found() == []
    (tmp_path / "new.py").write_text("")
    assert found() == ["book/reference-a"]
    (tmp_path / "new.py").write_text("x = 1")
    assert found() == ["book/reference-a"]
    labels["new"] = "chapters/04-a"
    assert found() == ["book/reference-a"]
    assert found() == []
