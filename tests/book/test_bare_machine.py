"""The cell for Colab on the page *Set-up* is all that a machine with torch needs.

The machine is an environment in which torch, NumPy, ipykernel, pip and what these need
can be seen, and nothing else: no package of this book, and none that its package needs.
pip gets the rest from where it always does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
import yaml
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from packaging.requirements import Requirement

from unrolled_book import notebooks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "setup.md").read_text(encoding="utf-8")
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
THERE = ("torch", "numpy", "ipykernel", "pip")  # before anything is installed
FETCHES = "kjv_text()"
OURS = re.compile("PYTHON|UNROLLED_|MPLBACKEND|VIRTUAL_ENV")  # set for other tests


def colab_cell(repository: Path) -> str:
    """Return the cell to paste, with ``repository`` in the place of its address."""
    fence = r"^```\{code-block\} ipython3\n:name: colab-cell\n(.*?)^```$"
    (cell,) = re.findall(fence, PAGE, re.M | re.S)
    address = CONFIG["repository"]["url"]
    assert address in cell
    return cell.replace(address, f"{repository.as_uri()} unrolled")


# ---- the machine ----


def with_needs(names: tuple[str, ...]) -> dict[str, Distribution]:
    """Return the installed distributions of these names and of all that they need."""
    found: dict[str, Distribution] = {}
    wanted = list(names)
    while wanted:
        one = distribution(wanted.pop())
        if one.name not in found:
            found[one.name] = one
            needs = map(Requirement, one.requires or [])
            wanted += [
                need.name
                for need in needs
                if need.marker is None or need.marker.evaluate({"extra": ""})
            ]
    return found


def link(names: tuple[str, ...], folder: Path) -> None:
    """Let the distributions of these names be found in ``folder``, and no other."""
    folder.mkdir()
    for one in with_needs(names).values():
        tops = {file.parts[0] for file in one.files or []} - {"..", "__pycache__"}
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(one.locate_file(top))


def copy_of_this(folder: Path) -> Path:
    """Return a repository with the files of this one as they are now."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():  # and not deleted since
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    for words in (["init"], ["add", "-A"], [*who, "commit", "-m", "copy"]):
        subprocess.run(
            ["git", *words], cwd=folder, check=True, capture_output=True, text=True
        )
    return folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Notebook:
    """A notebook's kernel on the machine."""

    client: BlockingKernelClient

    def run(self, code: str) -> tuple[str, str]:
        """Run a cell; return what it printed, and its error's name and words if any."""
        printed: list[str] = []

        def keep(message: dict) -> None:
            printed.append(message["content"].get("text", ""))

        reply = self.client.execute_interactive(code, timeout=300, output_hook=keep)
        content = reply["content"]
        error = f"{content['ename']}: {content['evalue']}" if "ename" in content else ""
        return "".join(printed).replace("\r\n", "\n"), error


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A folder with an environment, a cache for data, and where notebooks start."""

    folder: Path

    @property
    def start(self) -> Path:
        return self.folder / "content"

    @property
    def clone(self) -> Path:
        return self.start / "unrolled"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @contextmanager
    def notebook(self) -> Iterator[Notebook]:
        """Start a notebook; as on Colab its first folder stays on the search path."""
        env = {key: os.environ[key] for key in os.environ if not OURS.match(key)} | {
            "PATH": f"{self.folder / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.start),
            "UNROLLED_DATA": str(self.data),
            "OMP_NUM_THREADS": "1",
            "PIP_NO_COMPILE": "1",  # half a minute for what is imported once
        }
        specs = KernelSpecManager(kernel_dirs=[str(self.folder / "kernels")])
        manager = KernelManager(kernel_name="bare", kernel_spec_manager=specs)
        manager.start_kernel(cwd=str(self.start), env=env)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            yield Notebook(client=client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory() as name:  # half a gigabyte: it must go
        folder = Path(name).resolve()
        env = folder / "env"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
        link(THERE, folder / "there")
        site = sysconfig.get_path("purelib", "venv", {"base": str(env)})
        Path(site, "there.pth").write_text(f"{folder / 'there'}\n")
        (folder / "content").mkdir()
        argv = [str(env / "bin" / "python"), "-m", "ipykernel_launcher"]
        spec = {"argv": [*argv, "-f", "{connection_file}"], "language": "python"}
        (folder / "kernels" / "bare").mkdir(parents=True)
        text = json.dumps(spec | {"display_name": "Bare"})
        (folder / "kernels" / "bare" / "kernel.json").write_text(text)
        yield Machine(folder=folder)


def code_of(path: Path) -> list[str]:
    """Return the code cells of a notebook."""
    cells = notebooks.read(path)["cells"]
    return [
        notebooks.text(cell["source"]) for cell in cells if cell["cell_type"] == "code"
    ]


def run_all(notebook: Notebook, cells: list[str]) -> None:
    assert cells
    for cell in cells:
        _, error = notebook.run(cell)
        assert error == "", f"{cell}\n{error}"


# ---- what happens on it ----


def test_the_cell_for_colab_is_all_that_chapters_need(machine, tmp_path):
    cell = colab_cell(copy_of_this(tmp_path))
    clone_it, go_there, *_ = cell.splitlines()
    with machine.notebook() as notebook:
        missing = "ModuleNotFoundError: No module named 'unrolled'"
        assert notebook.run("import unrolled") == ("", missing)
        assert f"`{missing}`" in PAGE
        for need in ("pypi_simple", "matplotlib", "typer", "yaml"):
            assert notebook.run(f"import {need}")[1].startswith("ModuleNotFoundError")
        # The first lines alone would not do, and what is seen then says what would.
        assert notebook.run(f"{clone_it}\n{go_there}")[1] == ""
        _, half = notebook.run("from unrolled.book import claim")
        assert "pip install -e code" in half
        assert f"`{half.partition(':')[0]}: {half.split(': ')[1]}`" in PAGE
    shutil.rmtree(machine.clone)

    with machine.notebook() as notebook:
        said, error = notebook.run(cell)
        assert error == ""
        assert f"book     {machine.clone / 'book'}\n" in said
        assert not re.search(r"error|not found|fatal", said, re.I), said
        for name in ("torch", "numpy"):
            where = f"import {name}; print({name}.__file__)"
            assert notebook.run(where)[0].startswith(str(machine.folder / "there"))
        assert notebook.run("import unrolled; print(unrolled.__file__)")[0] == (
            f"{machine.clone / 'code' / 'unrolled' / '__init__.py'}\n"
        )
        pages = {path.stem: code_of(path) for path in notebooks.of_chapters(ROOT)}
        firsts = [cells[0] for cells in pages.values()]
        run_all(notebook, firsts)
        run_all(notebook, pages["04-recurrent-networks"][:6])
        for look in ("lab('unroll-it')", "results('flip_flop')['summary']"):
            run_all(notebook, [f"from unrolled.book import lab, results; {look}"])
        # Chapter 2 is the first to read a text that must be fetched.
        assert not machine.data.exists()
        (n, *_) = (n for n, c in enumerate(pages["02-language-models"]) if FETCHES in c)
        run_all(notebook, pages["02-language-models"][: n + 1])
        assert list(machine.data.glob("*.whl"))

    with machine.notebook() as notebook:  # a restart, and no cell for Colab
        run_all(notebook, firsts)
