"""Imports point one way, and a few names are known in one place only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import unrolled

ORDER = (
    "shapes runtime data layers models losses training decoding evaluation recipes "
    "figures claims quizzes widgets grading cli"
).split()
OWNERS = {"matplotlib": "figures", "ipywidgets": "widgets"}
DEVICE = re.compile(r"(cuda|mps)(:.*)?")
LINES = 200
ROOT = Path(unrolled.__file__).parent


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
            if top in OWNERS and OWNERS[top] != part:
                found.append(f"{here} imports {top}")
            if top == "unrolled" and there in ORDER and rank(there) > rank(part):
                found.append(f"{here} imports unrolled.{there}")
        if part != "runtime":
            found += [f"{here} names the device {name}" for name in device_names(tree)]
    return found


def test_the_package_keeps_its_layers():
    assert complaints(ROOT) == []


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
        ("shapes.py", "x = 1\n" * 200, "shapes.py has 200 lines"),
        (
            "../__init__.py",
            "",
            "code/__init__.py would shadow the standard library's code",
        ),
    ],
)
def test_the_checker_catches(tmp_path, name, text, complaint):
    assert complaints(plant(tmp_path, GOOD | {name: text})) == [complaint]
