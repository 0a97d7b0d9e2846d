"""The autograder for Gradescope, run in a plain directory laid out as Gradescope's."""

import dataclasses
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from unrolled.cli.export import app
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.exports import harness
from unrolled.grading.exports.gradescope import export_gradescope
from unrolled.grading.exports.package import constraints, package_files
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.leaks import secrets_of
from unrolled.grading.sandbox.house import SandboxError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = HERE / "fixtures" / "90-all-kinds.md"
SECRET = "a secret of sixteen characters or more"
PRIVATE = """
```{code-cell}
:tags: [hidden]
:question: q1

def test_of_this_course(S, rng):
    \"\"\"points: 5 | catches: what only this course asks\"\"\"
    assert S.running_sum(torch.ones(2)).shape == (2,)
```
"""


@pytest.fixture(scope="module")
def kinds():
    return read_exercise(SOURCE)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Return the zip, made once."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "90-all-kinds.md").write_text(PRIVATE, encoding="utf-8")
    target = folder / "90.zip"
    return export_gradescope(SOURCE, target, secret=SECRET, private=folder)


@pytest.fixture
def root(tmp_path, packed):
    """Return a directory as Gradescope lays it out before a run."""
    root = tmp_path / "autograder"
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(root / "source")
    for name in ("submission", "results"):
        (root / name).mkdir()
    shutil.copy(root / "source" / "run_autograder", root)
    (root / "submission_metadata.json").write_text("{}")
    return root


def hand_in(root, kinds, answers, name="90-all-kinds.submission.ipynb", **metadata):
    notebook = student_notebook(kinds)
    for cell in notebook.cells:
        entry = cell.metadata["unrolled"]
        if entry["role"] == "answer" and entry["question"] in answers:
            cell.source = answers[entry["question"]]
    notebook.metadata["unrolled"] |= metadata
    nbformat.write(notebook, root / "submission" / name)


def results(root):
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))


def right(exercise):
    return {question.id: question.solution for question in exercise.coded()}


def test_the_zip_is_whole_and_its_owner_s_alone(packed, kinds):
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600
    assert sorted(p.name for p in packed.parent.iterdir()) == [
        "90-all-kinds.md",
        "90.zip",
    ]
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
        modes = {i.filename: i.external_attr >> 16 for i in archive.infolist()}
        setup = archive.read("setup.sh").decode()
        pins = archive.read("requirements.txt").decode().splitlines()
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert {
        "exercise/90-all-kinds.md",
        "exercise/secret",
        "code/pyproject.toml",
    } <= names
    assert not [name for name in names if name.endswith(".pyc")]
    # torch first and pinned, and everything within the versions that were tried here
    assert pins[0].startswith("torch==")
    assert all("==" in line and "+" not in line for line in pins)
    installs = [line for line in setup.splitlines() if line.startswith("$pip install")]
    assert "torch==" in installs[0]
    assert all("constraints.txt" in line or "--no-deps" in line for line in installs)
    assert set(pins) <= set(constraints().splitlines())
    for script in ("setup.sh", "run_autograder"):
        with zipfile.ZipFile(packed) as archive:
            text = archive.read(script)
        subprocess.run(["bash", "-n"], input=text, check=True)


def test_the_package_in_it_is_what_git_knows():
    listed = subprocess.run(
        ["git", "ls-files", "code"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    there = {name for name in listed.stdout.split() if (ROOT / name).exists()}
    assert there <= set(package_files())


def test_what_it_imports_is_what_it_asks_for():
    code = "import sys, unrolled.grading.exports.harness; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    found = packages_distributions()
    names = {
        name.lower()
        for module in ran.stdout.split()
        for name in found.get(module.partition(".")[0], ())
    }
    of_torch = {"setuptools", "tqdm", "typing_extensions", "sympy", "mpmath", "jinja2"}
    of_torch |= {"networkx", "fsspec", "filelock", "markupsafe", "packaging"}
    assert names - of_torch == {"torch", "numpy", "pyyaml", "unrolled"}


def test_run_autograder_writes_what_gradescope_reads(root, kinds):
    hand_in(root, kinds, right(kinds) | {"q4": "Because."})
    environment = os.environ | {
        "UNROLLED_AUTOGRADER": str(root),
        "UNROLLED_PYTHON": sys.executable,
        "PYTHONPATH": str(root / "source" / "code"),
    }
    ran = subprocess.run(
        ["bash", root / "run_autograder"], cwd=root, env=environment, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = results(root)
    assert found["score"] == 16  # 5 of them by the private test
    assert found["output"].startswith("One question of each kind: 16 of 16 points")
    assert "q4 (3 points) is read by a person." in found["output"]
    assert found["extra_data"]["tier"] in ("A", "B", "C")
    for test in found["tests"]:
        assert test.keys() == {
            *("name", "score", "max_score", "status", "output"),
            *("output_format", "visibility"),
        }
        assert test["score"] == test["max_score"]
        hidden = "hidden test" in test["name"]
        assert test["visibility"] == ("after_published" if hidden else "visible")
    assert sum(test["max_score"] for test in found["tests"]) == 16
    assert not (root / "source" / "code" / "unrolled" / "__pycache__").exists()


def test_wrong_answers_learn_what_they_missed_and_no_secret(root, kinds):
    (mutant,) = kinds.questions["q1"].mutants
    loud = "class Scale(nn.Module):\n    def __init__(self, n):\n"
    loud += "        raise ValueError('\\x1b[2J' * 9)\n"
    hand_in(root, kinds, {"q1": mutant.source, "q2": loud})
    harness.main(root)
    found = results(root)
    assert found["score"] == 6  # a visible test, and the private one
    assert "Not answered: q3, q4." in found["output"]
    q1 = [test for test in found["tests"] if test["name"].startswith("q1")]
    assert [test["score"] for test in q1] == [1, 0, 0, 0, 5]
    assert q1[2]["output"] == "a sum that holds for ramps only"
    written = (root / "results" / "results.json").read_text()
    assert "\\u001b" not in written
    assert SECRET not in written
    told = " ".join(test["output"] for test in found["tests"])
    squeezed = "".join(written.split())
    for secret, (_, line) in secrets_of(kinds).items():
        assert secret not in squeezed or line.strip() in told


def test_the_exercise_is_closed_before_any_answer_runs(root, kinds, monkeypatch):
    spy = "def running_sum(x):\n"
    spy += f"    open({str(root / 'source' / 'exercise' / 'secret')!r})\n"
    spy += kinds.questions["q1"].solution.partition(":\n")[2]
    hand_in(root, kinds, {"q1": spy})
    home = root / "source" / "exercise"
    os.chmod(home, 0o755)
    real, seen = harness.choose_sandbox, []

    def choose(**options):
        seen.append((options, stat.S_IMODE(home.stat().st_mode)))
        return real(**options)

    monkeypatch.setattr(harness, "choose_sandbox", choose)
    harness.main(root)
    assert seen == [({"hidden": (home,), "tiers": "ABC"}, 0o700)]
    assert all(stat.S_IMODE(p.stat().st_mode) & 0o077 == 0 for p in home.rglob("*"))
    assert results(root)["score"] == 0


def test_as_another_user_in_a_container_without_namespaces(root, kinds):
    """Tier C, as at Gradescope: it needs root, and says so to others."""
    hand_in(root, kinds, right(kinds))
    python = Path(os.__file__).resolve()
    reached = all(p.stat().st_mode & 0o001 for p in python.parents)
    if os.geteuid() != 0 or not reached:  # others cannot read root's own Python
        why = "tier C runs no code" if os.geteuid() == 0 else "tier C needs root"
        with pytest.raises(SandboxError, match=why):
            harness.main(root, "C")
        assert not list((root / "results").iterdir())
        return
    for path in (root, *root.parents):  # as /autograder is: everybody may pass
        if path.owner() == "root" and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    harness.main(root, "C")
    found = results(root)
    assert (found["score"], found["extra_data"]["tier"]) == (16, "C")


BROKEN = {
    "nothing": ({}, "no notebook was handed in"),
    "no JSON": ({"a.ipynb": "PK"}, "a.ipynb cannot be read as a notebook"),
    "no notebook": ({"a.ipynb": "[]", "b.txt": "x"}, "a.ipynb cannot be read"),
    "a link": ({"a.ipynb": None}, "a.ipynb cannot be read as a notebook"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_submission_is_told_what_to_do(root, what):
    files, words = BROKEN[what]
    for name, text in files.items():
        path = root / "submission" / name
        path.write_text(text) if text is not None else path.symlink_to("/etc/passwd")
    harness.main(root)
    found = results(root)
    assert found["score"] == 0
    assert words in found["output"]
    assert "90-all-kinds.submission.ipynb" in found["output"]
    assert "tests" not in found


def test_which_of_several_notebooks_counts(root, kinds):
    hand_in(root, kinds, {}, "first.ipynb")
    hand_in(root, kinds, {}, "second.ipynb")
    harness.main(root)
    assert "2 notebooks of exercise 90 were handed in" in results(root)["output"]
    hand_in(root, kinds, {"q4": "sealed"}, submission={"digest": "x"})
    hand_in(root, kinds, {}, "other.ipynb", exercise="12-self-attention")
    assert harness._submitted(root / "submission", kinds)["q4"] == "sealed"
    shutil.rmtree(root / "submission")
    (root / "submission").mkdir()
    hand_in(root, kinds, {}, "other.ipynb", exercise="12-self-attention")
    harness.main(root)
    assert "is of another exercise, 12-self-attention" in results(root)["output"]


def test_a_fault_of_the_machine_is_loud_and_no_zero(root, kinds):
    hand_in(root, kinds, right(kinds))
    (root / "results" / "results.json").write_text('{"score": 99}')
    ran = subprocess.run(
        [sys.executable, "-m", "unrolled.grading.exports.harness", root, "E"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode != 0
    assert not (root / "results" / "results.json").exists()


def test_ungraded_is_loud_and_no_zero(root, kinds, monkeypatch):
    hand_in(root, kinds, right(kinds))

    def broken(*args, **options):
        graded = real(*args, **options)
        first, *rest = graded.outcomes
        lost = dataclasses.replace(first, status="ungraded", earned=0, note="no memory")
        return dataclasses.replace(graded, outcomes=(lost, *rest))

    real = harness.grade_answers
    monkeypatch.setattr(harness, "grade_answers", broken)
    with pytest.raises(SandboxError, match="no memory"):
        harness.main(root)
    assert not list((root / "results").iterdir())


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("UNROLLED_EXERCISES", str(HERE / "fixtures"))
    secret = ["--secret", str(tmp_path / "secret")]
    out = tmp_path / "new" / "90.zip"
    ran = CliRunner().invoke(app, ["gradescope", "90", str(out), *secret])
    assert ran.exit_code == 0, ran.output
    with zipfile.ZipFile(out) as archive:
        held = archive.read("exercise/secret").decode()
    assert held == (tmp_path / "secret").read_text().strip()
    assert held not in ran.output
    ran = CliRunner().invoke(app, ["gradescope", "90", str(tmp_path / "x"), *secret])
    assert ran.exit_code == 1
    assert "is no name for a zip: 90-all-kinds.zip is" in ran.output
    folder = ["--private", str(tmp_path)]
    ran = CliRunner().invoke(app, ["gradescope", "90", str(out), *secret, *folder])
    assert ran.exit_code == 1
    assert "no private tests for 90-all-kinds" in ran.output
