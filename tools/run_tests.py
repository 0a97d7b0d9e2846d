"""Run every stage of the tests, print the times, and say what was left out.

The last lines name the slowest tests of all stages and how long each stage took.

Chromium and bubblewrap are system packages. In CI (``CI=true``) a missing one is a
failure; on a reader's machine the tests that need it are left out, and the last lines
say so.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree

import typer

import chapters

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
SYSTEM = ("chromium", "bwrap")  # programs that .ci/run installs
BIN = Path(PYTHON).parent


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A command that must succeed, and what it needs."""

    name: str
    command: list[str]
    fast: bool = False
    needs: str = ""  # a program that is not ours to install


def stages() -> list[Stage]:
    """Return all stages in their order."""
    pytest = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    build = "build . --toc book/_toc.yml -W -n --keep-going -q".split()
    nbval = [*pytest, "--nbval-lax", "--nbval-cell-timeout=300", "-W", "default"]
    nbval += ["-p", "nbval_tolerance"]
    sources = sorted(chapters.sources(), key=lambda s: not chapters.is_doubtful(s))
    notebooks = [str(chapters.notebook_of(source)) for source in sources]
    halves = ["-n", "2", "--dist", "loadfile"]
    by_page = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    ruff, mypy = str(BIN / "ruff"), str(BIN / "mypy")
    return [
        Stage(name="lint", command=[ruff, "check", "-q", ".", *notebooks], fast=True),
        Stage(
            name="format",
            command=[ruff, "format", "--check", "-q", ".", *notebooks],
            fast=True,
        ),
        Stage(name="types", command=[mypy, "code/unrolled"], fast=True),
        Stage(
            name="data",
            command=[str(BIN / "unrolled"), "data", "fetch", "--all"],
            fast=True,
        ),
        Stage(
            name="tests",
            command=[*pytest, *halves, "-m", "not built and not browser and not slow"],
            fast=True,
        ),
        Stage(name="slow tests", command=[*pytest, *halves, "-m", "slow"]),
        Stage(name="build", command=[str(BIN / "jupyter-book"), *build]),
        Stage(name="pages", command=[*pytest, *halves, "-m", "built and not browser"]),
        Stage(name="chapters", command=[*nbval, *halves, *notebooks]),
        Stage(
            name="browser",
            command=[*pytest, *by_page, "tests/browser"],  # see its conftest.py
            needs="chromium",
        ),
    ]


def slowest(reports: Path, n: int = 20) -> list[str]:
    """Return a line for each of the slowest tests, their set-up included.

    ``reports`` is a folder with an XML file, in JUnit's form, for each stage.
    """
    tests = [
        (float(test.attrib["time"]), path.stem, test.attrib)
        for path in reports.glob("*.xml")
        for test in ElementTree.parse(path).iter("testcase")
    ]
    return [
        f"{seconds:6.1f} s  {stage}: {test['classname']}::{test['name']}"
        for seconds, stage, test in sorted(tests, key=lambda one: -one[0])[:n]
    ]


def main(
    fast: Annotated[bool, typer.Option(help="Only what takes seconds.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only the stages so named.")
    ] = None,
) -> None:
    """Run the tests."""
    known = [stage.name for stage in stages()]
    if unknown := [name for name in only or [] if name not in known]:
        sys.exit(f"no stage {', '.join(unknown)}; there are: {', '.join(known)}")
    chosen = [stage for stage in stages() if stage.fast or not fast]
    chosen = [stage for stage in chosen if not only or stage.name in only]
    ci = os.environ.get("CI") == "true"
    if ci and (missing := [name for name in SYSTEM if shutil.which(name) is None]):
        sys.exit(f"CI must have {', '.join(missing)}: see .ci/run")
    os.environ |= {"UNROLLED_BOOK": "1", "MPLBACKEND": "agg"}  # as in tools/chapters.py
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE"}
    places = [str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]  # of the plugin
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    left_out, times = [], []
    with tempfile.TemporaryDirectory() as reports:
        for stage in chosen:
            if stage.needs and shutil.which(stage.needs) is None:
                left_out.append(stage)
                continue
            print(f"── {stage.name}", flush=True)
            command = stage.command
            if "pytest" in command:
                command = [*command, f"--junitxml={Path(reports, stage.name)}.xml"]
            start = time.perf_counter()
            code = subprocess.run(command, cwd=ROOT, check=False).returncode
            times.append((stage.name, time.perf_counter() - start))
            if code != 0:
                said = " ".join(stage.command)
                sys.exit(f"── {stage.name} failed (exit {code}): {said}")
        if lines := slowest(Path(reports)):
            print("── slowest tests", *lines, sep="\n")
    total = sum(t for _, t in times)
    print("── passed: " + ", ".join(f"{name} {t:.0f} s" for name, t in times), end="")
    print(f"; together {total / 60:.1f} minutes")
    for stage in left_out:
        print(f"── NOT RUN: {stage.name} tests; install {stage.needs} to run them")


if __name__ == "__main__":
    typer.run(main)
