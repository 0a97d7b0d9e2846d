"""Imports point one way, and a few names are known in one place only."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import unrolled

ORDER = (
    "shapes runtime data layers models losses training decoding evaluation recipes "
    "figures widgets book chapters grading cli"
).split()
OWNERS = {"matplotlib": ("figures", "chapters"), "ipywidgets": ("widgets",)}
DEVICE = re.compile(r"(cuda|mps)(:.*)?")
LINES = 450  # more is two ideas in one file; splitting by length is as bad
ROOT = Path(unrolled.__file__).parent
ROOM = re.compile(r"unrolled\.chapters\.(c\d\d_\w+)")


BY_NAME = "a name that is not written down"  # an import that may be of anything
KEEPERS = {"models/checkpoints.py", "models/serialise.py"}  # these serve all models


def part_of(path: Path, root: Path) -> str:
    """Return the layer a file belongs to: its folder, or its own name."""
    return path.relative_to(root).with_suffix("").parts[0]


def rank(part: str) -> int:
    """Return a layer's place: all may use what stands before them."""
    return {"__init__": -1, "__main__": len(ORDER)}.get(part) or ORDER.index(part)


def imported_by(tree: ast.AST, package: list[str]) -> Iterator[str]:
    """Yield the dotted name of all that a file imports, however it spells it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = [*above, node.module] if node.module else above
            yield from (".".join([*module, alias.name]) for alias in node.names)


def device_names(tree: ast.AST) -> Iterator[str]:
    """Yield strings such as "cuda:0", and calls of ``.cuda()``; prose may name them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if DEVICE.fullmatch(node.value):
                yield repr(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "cuda":
                yield ".cuda()"


def complaints(root: Path) -> list[str]:
    """Return what is wrong with the package at ``root``, a line each."""
    found = []
    if (root.parent / "__init__.py").exists():
        found.append("code/__init__.py would shadow the standard library's code")
    for path in sorted(root.rglob("*.py")):
        here, part = path.relative_to(root).as_posix(), part_of(path, root)
        if part not in (*ORDER, "__init__", "__main__"):
            found.append(f"{here} is in no layer")
            continue
        text = path.read_text(encoding="utf-8")
        if (n := len(text.splitlines())) >= LINES:
            found.append(f"{here} has {n} lines")
        tree = ast.parse(text)
        package = ["unrolled", *path.relative_to(root).parts[:-1]]
        for name in imported_by(tree, package):
            top, _, rest = name.partition(".")
            there = rest.partition(".")[0]
            if top in OWNERS and part not in OWNERS[top]:
                found.append(f"{here} imports {top}")
            room = ROOM.match(name)
            if room and not here.startswith(f"chapters/{room[1]}/"):
                found.append(f"{here} imports the room {room[1]}")
            if top == "unrolled" and there in ORDER and rank(there) > rank(part):
                found.append(f"{here} imports unrolled.{there}")
        if part != "runtime":
            found += [f"{here} names the device {name}" for name in device_names(tree)]
    return found


def code_of(path: Path) -> str:
    """Return a file's Python: of a page, that of its code cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".md":
        return text
    cells = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text, re.M | re.S)
    lines = "\n".join(cells).splitlines()
    return "\n".join(line for line in lines if re.match(r"\s*(from|import) ", line))


def may_enter(path: Path, room: str) -> bool:
    """Say whether a file is one of the pages or tests of a chapter's room."""
    if path.suffix == ".md":
        return path.name.startswith(f"{room[1:3]}-")
    return path.name.startswith(f"test_{room[:3]}_")


def room_complaints(root: Path) -> list[str]:
    """Return what uses a chapter's room and is no page or test of that chapter."""
    found = []
    kinds = ("chapters/*.md", "exercises/*.md", "tests/**/*.py", "tools/**/*.py")
    for path in sorted(
        p for kind in (*kinds, "book/_ext/**/*.py") for p in root.glob(kind)
    ):
        names = re.findall(r"^\s*(?:from|import) .*", code_of(path), re.M)
        text = re.sub(
            r"from unrolled\.chapters import ", "unrolled.chapters.", "\n".join(names)
        )
        for room in sorted(set(ROOM.findall(text))):
            if not may_enter(path, room):
                found.append(
                    f"{path.relative_to(root).as_posix()} imports the room {room}"
                )
    return found


def test_the_package_keeps_its_layers():
    assert complaints(ROOT) == []


def test_a_chapters_room_is_for_that_chapter():
    assert room_complaints(ROOT.parents[1]) == []


def test_the_checker_reads_the_package():
    assert {"shapes", "runtime", "layers"} <= {
        part_of(p, ROOT) for p in ROOT.rglob("*.py")
    }


GOOD = {
    "__init__.py": '__version__ = "0"',
    "__main__.py": "from unrolled.cli import main",
    "shapes.py": "import torch",
    "runtime.py": 'import torch\ndevice = torch.device("cuda")',
    "layers/__init__.py": "",
    "layers/cell.py": '"""Runs on "cuda" too."""\nfrom unrolled import shapes',
    "layers/unroll.py": "from .cell import x\nfrom ..shapes import y",
    "models/rnn.py": "import unrolled.layers.cell\nfrom unrolled import __version__",
    "figures.py": "import matplotlib.pyplot as plt\nfrom matplotlib import cm",
    "widgets/lab.py": "import ipywidgets",
    "chapters/__init__.py": "",
    "chapters/c04_zoo/__init__.py": "",
    "chapters/c04_zoo/figures.py": "import matplotlib.pyplot as plt",
    "chapters/c04_zoo/quiz.py": "from unrolled.chapters.c04_zoo import figures",
    "cli.py": "from unrolled import figures, widgets\n" * 99,
}


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a fake package under ``root`` and return its folder."""
    package = root / "code" / "unrolled"
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    return package


def test_the_checker_passes_a_good_package(tmp_path):
    assert complaints(plant(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("shapes.py", "import unrolled.runtime", "shapes.py imports unrolled.runtime"),
        (
            "data/a.py",
            "from unrolled.layers import b",
            "data/a.py imports unrolled.layers",
        ),
        ("data/a.py", "from unrolled import cli", "data/a.py imports unrolled.cli"),
        (
            "data/a.py",
            "from ..models.rnn import b",
            "data/a.py imports unrolled.models",
        ),
        ("data/a.py", "from .. import models", "data/a.py imports unrolled.models"),
        ("losses.py", "from . import training", "losses.py imports unrolled.training"),
        (
            "layers/cell.py",
            "def f():\n    from unrolled.models import rnn",
            "layers/cell.py imports unrolled.models",
        ),
        (
            "layers/__init__.py",
            "from unrolled.models import rnn",
            "layers/__init__.py imports unrolled.models",
        ),
        ("__init__.py", "from .shapes import a", "__init__.py imports unrolled.shapes"),
        (
            "chapters/c05_ark/quiz.py",
            "from unrolled.chapters.c04_zoo import figures",
            "chapters/c05_ark/quiz.py imports the room c04_zoo",
        ),
        (
            "chapters/c05_ark/quiz.py",
            "from ..c04_zoo.figures import draw",
            "chapters/c05_ark/quiz.py imports the room c04_zoo",
        ),
        (
            "cli.py",
            "from unrolled.chapters import c04_zoo",
            "cli.py imports the room c04_zoo",
        ),
        (
            "chapters/c04_zoo/quiz.py",
            "from unrolled.cli import app",
            "chapters/c04_zoo/quiz.py imports unrolled.cli",
        ),
        (
            "figures.py",
            "from unrolled.chapters.pages import Page",
            "figures.py imports unrolled.chapters",
        ),
        ("helpers.py", "", "helpers.py is in no layer"),
        ("cli.py", "import matplotlib.pyplot as plt", "cli.py imports matplotlib"),
        (
            "widgets/lab.py",
            "from matplotlib import cm",
            "widgets/lab.py imports matplotlib",
        ),
        ("figures.py", "import ipywidgets", "figures.py imports ipywidgets"),
        ("layers/cell.py", 'x.to("cuda")', "layers/cell.py names the device 'cuda'"),
        ("cli.py", 'd = "mps" if ok else None', "cli.py names the device 'mps'"),
        ("cli.py", 'f"cuda:{rank}"', "cli.py names the device 'cuda:'"),
        ("cli.py", "x.cuda()", "cli.py names the device .cuda()"),
        ("shapes.py", "x = 1\n" * 450, "shapes.py has 450 lines"),
        (
            "../__init__.py",
            "",
            "code/__init__.py would shadow the standard library's code",
        ),
    ],
)
def test_the_checker_catches(tmp_path, name, text, complaint):
    assert complaints(plant(tmp_path, GOOD | {name: text})) == [complaint]


USES = "from unrolled.chapters.c04_zoo.figures import draw\n"
CELL = "# Words\n\n```{code-cell} ipython3\n:tags: [hide-input]\n\n%s```\n"


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("chapters/04-zoo.md", CELL % USES, True),
        ("chapters/04-zoo-lions.md", CELL % USES, True),
        ("chapters/05-ark.md", CELL % USES, False),
        ("chapters/05-ark.md", f"It says `{USES.strip()}`, and imports nothing.", True),
        ("chapters/05-ark.md", CELL % "from unrolled.chapters import c04_zoo\n", False),
        ("exercises/04-zoo.md", CELL % USES, True),
        ("tests/package/test_c04_zoo.py", USES, True),
        ("tests/package/test_c05_ark.py", USES, False),
        ("tests/book/test_pages.py", USES, False),
        ("tools/new.py", "import unrolled.chapters.c04_zoo as zoo\n", False),
        ("tools/new.py", "from unrolled.chapters.pages import all_pages\n", True),
        ("book/_ext/ours/a.py", USES, False),
    ],
)
def test_only_a_chapters_own_pages_and_tests_use_its_room(
    tmp_path, name, text, allowed
):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    expected = [] if allowed else [f"{name} imports the room c04_zoo"]
    assert room_complaints(tmp_path) == expected


def imports_by_name(tree: ast.AST) -> bool:
    """Tell whether a file imports what it finds out only when it runs."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(
        ast.unparse(call.func).rpartition(".")[2] in ("import_module", "__import__")
        and not (call.args and isinstance(call.args[0], ast.Constant))
        for call in calls
    )


@cache
def imports_in(root: Path) -> dict[str, set[str]]:
    """Return which modules of the package each module imports, packages included."""
    files = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts): path
        for path in root.rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        tree, package = ast.parse(path.read_text("utf-8")), module.split(".")[:-1]
        names = [*imported_by(tree, package), ".".join(package)]
        starts = {
            ".".join(name.split(".")[:n])
            for name in names
            for n in range(1, name.count(".") + 2)
        }
        inside = starts | {f"{start}.__init__" for start in starts}
        found[module] = inside & files.keys() - {module}
        if imports_by_name(tree):
            found[module].add(BY_NAME)
    return found


def reached(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Return all that a module imports, followed to the end."""
    found, todo = set(), [module]
    while todo:
        for name in imports.get(todo.pop(), ()):
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


def registries(root: Path, folder: str, start: str) -> list[str]:
    """Return what ``start`` imports, however far, that knows all files of a folder."""
    imports = imports_in(root)
    package = ".".join([root.name, *folder.split("/")])
    members = {m for m in imports if m.rpartition(".")[0] == package}
    members -= {f"{package}.__init__"}
    module = ".".join([root.name, *Path(start).with_suffix("").parts])
    others = members - {module}
    return sorted(
        name
        for name in {module, *reached(module, imports)} - others
        if BY_NAME in imports.get(name, ()) or others <= reached(name, imports)
    )


def files_of(folder: str) -> list[str]:
    found = (ROOT / folder).glob("[!_]*.py")
    return sorted({f"{folder}/{path.name}" for path in found} - KEEPERS)


@pytest.mark.parametrize("file", files_of("data/corpora"))
def test_a_corpus_rests_on_no_other_and_on_no_list_of_all(file):
    assert registries(ROOT, "data/corpora", file) == []
    own = "unrolled." + file.removesuffix(".py").replace("/", ".")
    home = own.rpartition(".")[0]
    seen = {m for m in reached(own, imports_in(ROOT)) if m.startswith(f"{home}.")}
    assert seen <= {f"{home}.__init__"}


@pytest.mark.parametrize("file", files_of("data/elsewhere"))
def test_a_set_from_elsewhere_rests_on_no_list_of_all(file):
    assert registries(ROOT, "data/elsewhere", file) == []
    assert registries(ROOT, "data/corpora", file) == []


@pytest.mark.parametrize("file", files_of("models"))
def test_a_model_rests_on_no_list_of_all_models(file):
    assert registries(ROOT, "models", file) == []


FREE = {
    "data/corpora/__init__.py": "",
    "data/corpora/a.py": "from unrolled.data.store import get",
    "data/corpora/b.py": "from unrolled.data import store",
    "data/corpora/c.py": "",
    "data/store.py": "import os",
    "data/catalogue.py": "def f(name):\n    return import_module(name)",
    "data/table.py": "from unrolled.data.corpora import a, b\nfrom .corpora import c",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        (
            {"data/store.py": "from unrolled.data import catalogue"},
            ["unrolled.data.catalogue"],
        ),
        (
            {"data/store.py": "def f():\n    from .catalogue import x"},
            ["unrolled.data.catalogue"],
        ),
        (
            {"data/store.py": "import unrolled.data.table"},
            ["unrolled.data.corpora.a", "unrolled.data.store", "unrolled.data.table"],
        ),
        (
            {"data/corpora/__init__.py": "from . import b, c"},
            ["unrolled.data.corpora.__init__", "unrolled.data.corpora.a"],
        ),
        (
            {"data/corpora/a.py": "import importlib\nimportlib.import_module(x)"},
            ["unrolled.data.corpora.a"],
        ),
        ({"data/corpora/a.py": "__import__(x)"}, ["unrolled.data.corpora.a"]),
        ({"data/corpora/a.py": "import_module('polib')"}, []),
    ],
)
def test_the_checker_finds_who_knows_all(tmp_path, files, expected):
    package = plant(tmp_path, FREE | files)
    assert registries(package, "data/corpora", "data/corpora/a.py") == expected
