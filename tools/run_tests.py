"""Run every stage of the tests, print each one's time, and say what was left out.

Chromium and bubblewrap are system packages. In CI (``CI=true``) a missing one is a
failure; on a reader's machine the tests that need it are left out, and the last lines
say so.
"""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

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
    sources = sorted((ROOT / "chapters").glob("[0-9][0-9]-*.md"))
    notebooks = [str(source.with_suffix(".ipynb")) for source in sources]
    halves = ["-n", "2", "--dist", "loadfile"]
    by_page = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    by_page += ["--durations=5"]  # see tests/browser/conftest.py
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
        Stage(name="slow tests", command=[*pytest, "-m", "slow"]),
        Stage(name="build", command=[str(BIN / "jupyter-book"), *build]),
        Stage(name="pages", command=[*pytest, "-m", "built and not browser"]),
        Stage(name="chapters", command=[*nbval, *halves, *notebooks]),
        Stage(
            name="browser",
            command=[*pytest, "-m", "browser", *by_page],
            needs="chromium",
        ),
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
    left_out, times = [], []
    os.environ |= {"UNROLLED_BOOK": "1", "MPLBACKEND": "agg"}  # as in tools/chapters.py
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE"}
    for stage in chosen:
        if stage.needs and shutil.which(stage.needs) is None:
            left_out.append(stage)
            continue
        print(f"── {stage.name}", flush=True)
        start = time.perf_counter()
        code = subprocess.run(stage.command, cwd=ROOT, check=False).returncode
        times.append((stage.name, time.perf_counter() - start))
        if code != 0:
            sys.exit(f"── {stage.name} failed (exit {code}): {' '.join(stage.command)}")
    print("── passed: " + ", ".join(f"{name} {t:.0f} s" for name, t in times))
    for stage in left_out:
        print(f"── NOT RUN: {stage.name} tests; install {stage.needs} to run them")


if __name__ == "__main__":
    typer.run(main)
