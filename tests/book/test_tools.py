"""What the Makefile calls: it says what it does, and what it left out."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dist
import run_tests
from run_tests import Stage

ROOT = Path(__file__).parents[2]
PROMISED = (
    "book test check lint format execute chapter form serve lab bench recipes dist pdf "
    "clean".split()
)


def test_make_alone_lists_every_promised_target():
    ran = subprocess.run(
        ["make"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    listed = re.findall(r"^  make (\w+) +\S", ran.stdout, re.M)
    assert set(PROMISED) <= set(listed)


@pytest.mark.parametrize(("goal", "advised"), [("book", True), ("serve", False)])
def test_only_make_book_says_how_to_serve(tmp_path, goal, advised):
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "python").symlink_to("/bin/true")
    known = ["-o", ".venv/book", "BUILD=true", f"BIN={tmp_path}"]
    ran = subprocess.run(
        ["make", goal, *known],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert "The book is built" in ran.stdout
    assert ("make serve" in ran.stdout) == advised


def test_the_readme_names_no_target_that_does_not_exist():
    named = re.findall(r"`make (\w+)", (ROOT / "README.md").read_text())
    named += re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M)
    assert named
    assert set(named) <= set(PROMISED)


def test_ci_calls_make_test():
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(), re.M)


def fake(monkeypatch, *stages, present=()):
    monkeypatch.setattr(run_tests, "stages", lambda: list(stages))
    monkeypatch.setattr(
        run_tests.shutil, "which", lambda name: name if name in present else None
    )


def ok(name, **options):
    return Stage(name=name, command=[sys.executable, "-c", ""], **options)


def test_a_missing_program_leaves_its_tests_out_and_says_so(monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    fake(monkeypatch, ok("tests"), ok("browser", needs="chromium"))
    run_tests.main()
    *_, passed, left_out = capsys.readouterr().out.splitlines()
    assert "tests" in passed
    assert left_out.startswith("── NOT RUN: browser tests; install chromium")


def test_in_ci_a_missing_program_is_a_failure(monkeypatch):
    monkeypatch.setenv("CI", "true")
    fake(monkeypatch, ok("tests"), present=("chromium",))
    with pytest.raises(SystemExit, match="CI must have bwrap"):
        run_tests.main()


def test_a_failing_stage_stops_the_run_and_is_named(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    bad = Stage(name="bad", command=[sys.executable, "-c", "raise SystemExit(3)"])
    fake(monkeypatch, bad, ok("never"))
    with pytest.raises(SystemExit, match=r"bad failed \(exit 3\)"):
        run_tests.main()


def test_fast_runs_only_what_is_fast(monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    fake(monkeypatch, ok("quick", fast=True), ok("long"))
    run_tests.main(fast=True)
    printed = capsys.readouterr().out
    assert "quick" in printed
    assert "long" not in printed


def test_the_slowest_tests_of_all_stages_are_named(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("CI", raising=False)
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    names = []
    for stage, seconds in (("brief", 0), ("long", 0.2)):
        path = tmp_path / f"test_{stage}.py"
        path.write_text(f"import time\ndef test_it():\n    time.sleep({seconds})\n")
        names.append(Stage(name=stage, command=[*pytest_, str(path)]))
    fake(monkeypatch, *names, ok("no tests"))
    run_tests.main()
    *_, head, first, second, passed = capsys.readouterr().out.splitlines()
    assert head == "── slowest tests"
    assert re.search(r"^ +\d+\.\d s  long: .*test_long::test_it$", first)
    assert re.search(r"^ +\d+\.\d s  brief: .*test_brief::test_it$", second)
    assert passed.startswith("── passed: brief ")


def test_a_stage_that_does_not_exist_is_refused(monkeypatch):
    fake(monkeypatch, ok("tests"))
    with pytest.raises(SystemExit, match="no stage typo; there are: tests"):
        run_tests.main(only=["typo"])


def test_packing_twice_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(dist, "DIST", tmp_path)
    (tmp_path / "page.html").write_text("words")
    files = {"index.html": tmp_path / "page.html"}
    first = dist.pack("book", files).read_bytes()
    packed = dist.pack("book", files)
    assert packed.read_bytes() == first
    with zipfile.ZipFile(packed) as archive:
        assert archive.namelist() == ["book/index.html"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["book.zip", "page.html"]
