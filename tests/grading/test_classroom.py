"""The starter repository for GitHub Classroom: its own commands, in a plain folder."""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import nbformat
import pytest
import yaml
from typer.testing import CliRunner

from unrolled.cli.export import app
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.exports.classroom import WORKFLOW, export_classroom
from unrolled.grading.exports.package import constraints
from unrolled.grading.notebooks.leaks import scan

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def kinds():
    return read_exercise(FIXTURES / "90-all-kinds.md")


@pytest.fixture
def folder(kinds, tmp_path):
    return export_classroom(kinds, tmp_path / "starter")


def steps_of(folder):
    workflow = yaml.safe_load((folder / WORKFLOW).read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    return job


def answer(folder, kinds, answers):
    file = folder / "90-all-kinds.ipynb"
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        entry = cell.metadata["unrolled"]
        if entry["role"] == "answer" and entry["question"] in answers:
            cell.source = answers[entry["question"]]
    nbformat.write(notebook, file)


def test_it_holds_no_secret_and_every_visible_point(folder, kinds):
    assert scan([p for p in folder.iterdir() if p.name != "code"], kinds) == []
    assert scan([folder], kinds, passages=True) == []
    graded = [
        s["with"] for s in steps_of(folder)["steps"] if "max-score" in s.get("with", {})
    ]
    worth = {step["test-name"].partition(":")[0]: step["max-score"] for step in graded}
    assert worth == {"q1": 1, "q3": 1}  # q2 has no visible test, q4 is in words
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "They give 2 of the 14 points" in readme


def test_the_reporter_hears_of_every_graded_step(folder):
    *steps, reporter = steps_of(folder)["steps"]
    ids = [step["id"] for step in steps if "id" in step]
    assert reporter["with"]["runners"].split(",") == ids
    for id in ids:
        said = reporter["env"][f"{id.upper()}_RESULTS"]
        assert said == "${{steps." + id + ".outputs.result}}"


def test_all_that_is_installed_is_pinned(folder):
    pins = (folder / "requirements.txt").read_text().splitlines()
    assert pins[0].startswith("torch==")
    assert set(pins) <= set(constraints().splitlines())
    (install,) = [step["run"] for step in steps_of(folder)["steps"] if "run" in step]
    first, *_, last = install.splitlines()
    assert first == f"pip install -c constraints.txt {pins[0]}"
    assert last == "pip install --no-deps ./code"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"    {line}" in readme for line in install.splitlines())


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("UNROLLED_EXERCISES", str(FIXTURES))
    (tmp_path / "mine.txt").write_text("mine")
    ran = CliRunner().invoke(app, ["classroom", "90", str(tmp_path)])
    assert ran.exit_code == 1
    assert "is not empty: name a new folder" in ran.output
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    ran = CliRunner().invoke(app, ["classroom", "90", str(tmp_path / "new")])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "new" / WORKFLOW).is_file()


@pytest.mark.slow
def test_the_workflow_runs_in_a_plain_directory(folder, kinds, tmp_path):
    """Torch and the rest are there already: a .pth file shows them, pip finds them."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=True, symlinks=os.name == "posix")
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "project.pth").write_text(sysconfig.get_path("purelib") + "\n")
    job = steps_of(folder)
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    path = {"PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def shell(command):
        return subprocess.run(
            ["bash", "-ec", command], cwd=folder, env=kept | job["env"] | path,
            check=False, capture_output=True, text=True,
        )  # fmt: skip

    (install,) = [step["run"] for step in job["steps"] if "run" in step]
    ran = shell(install)
    assert ran.returncode == 0, ran.stderr
    assert not (packages / "torch").exists()  # not installed twice
    assert (packages / "unrolled").is_dir()
    commands = [
        step["with"]["command"]
        for step in job["steps"]
        if "command" in step.get("with", {})
    ]
    for command in commands:
        ran = shell(command)
        assert ran.returncode == 1, ran.stderr
        assert "0 of 1 point" in ran.stdout
    answer(folder, kinds, {q.id: q.solution for q in kinds.coded()})
    for command in commands:
        ran = shell(command)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "1 of 1 point" in ran.stdout
    ran = shell("unrolled exercise submit 90")
    assert ran.returncode == 0, ran.stderr
    assert (folder / "90-all-kinds.submission.ipynb").is_file()
    assert all(shell(command).returncode == 0 for command in commands)
