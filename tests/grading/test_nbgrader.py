"""The source for nbgrader: it is accepted, keeps its secrets, and scores as we do.

nbgrader runs in an environment of its own, made once in the user's cache and named
after what is in it. A ``.pth`` file puts the project's packages behind its own, so that
torch is neither installed twice nor in another version.
"""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock
from platformdirs import user_cache_path
from typer.testing import CliRunner

import unrolled
from unrolled.cli.export import app
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.exports.nbgrader import export_nbgrader, nbgrader_notebook
from unrolled.grading.notebooks.leaks import scan
from unrolled.grading.notebooks.submissions import answers_of, read_notebook
from unrolled.grading.sandbox.breaches import choose_sandbox

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECRET = "a secret of sixteen characters or more"
PACKAGES = [sysconfig.get_path("purelib"), str(Path(unrolled.__file__).parents[1])]
SCORES = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({
        one.student.id: {g.cell.name: g.auto_score for g in one.notebooks[0].grades}
        for one in book.assignment_submissions(sys.argv[1])
    }))
"""


@pytest.fixture(scope="module")
def programs():
    """Return where nbgrader's programs are, after installing them if need be."""
    wanted = (HERE / "requirements-nbgrader.txt").read_bytes()
    key = hashlib.sha256(wanted + sys.version.encode()).hexdigest()[:12]
    home = user_cache_path("unrolled") / f"nbgrader-{key}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not (home / "complete").exists():
            venv.create(home, clear=True, with_pip=True, symlinks=os.name == "posix")
            pip = [home / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
            asked = ["-r", HERE / "requirements-nbgrader.txt"]
            subprocess.run([*pip, "install", "-q", "--no-deps", *asked], check=True)
            (home / "complete").touch()
        (packages,) = home.glob("lib/python*/site-packages")
        (packages / "project.pth").write_text("\n".join(PACKAGES) + "\n")
    return home / "bin"


def run(programs, folder, *words):
    """Run one of nbgrader's programs in a course folder."""
    # what a shell or a runner has set for us is not for it
    dropped = ("PYTHON", "JUPYTER", "IPYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    home = {"HOME": str(folder), "OMP_NUM_THREADS": "1", "JUPYTER_PLATFORM_DIRS": "1"}
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        [programs / words[0], *words[1:]],
        cwd=folder, env=kept | home | path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox() as chosen:
        yield chosen


@pytest.fixture(scope="module")
def kinds():
    return read_exercise(HERE / "fixtures" / "90-all-kinds.md")


@pytest.fixture(scope="module", params=["04-recurrent-networks", "90-all-kinds"])
def exercise(request):
    folder = HERE / "fixtures" if request.param.startswith("9") else ROOT / "exercises"
    return read_exercise(folder / f"{request.param}.md")


def marked(notebook):
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {cell.metadata["nbgrader"]["grade_id"]: cell for cell in cells}


def test_points_and_places_are_those_of_the_exercise(exercise):
    notebook = nbgrader_notebook(exercise, SECRET)
    nbformat.validate(notebook)
    cells = marked(notebook)
    assert len(cells) == sum("nbgrader" in cell.metadata for cell in notebook.cells)
    places = list(cells)
    for question in exercise.questions.values():
        own = [id for id in places if id.split("-")[0] == question.id]
        entries = [cells[id].metadata["nbgrader"] for id in own]
        assert sum(entry.get("points", 0) for entry in entries) == question.points
        assert own[0] == question.id
        assert entries[0]["solution"]
        assert all(entry["locked"] and not entry["solution"] for entry in entries[1:])


def test_all_secrets_stand_between_the_marks(exercise, tmp_path):
    """What nbgrader leaves out of a release is all that must be left out."""
    notebook = nbgrader_notebook(exercise, SECRET)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "nbgrader" in cell.metadata:
            cell.source = "YOUR ANSWER HERE"
        for what in ("SOLUTION", "HIDDEN TESTS"):
            marked = rf"(?s)#+ BEGIN {what}.*?END {what}"
            cell.source = re.sub(marked, "", cell.source)
    nbformat.write(notebook, tmp_path / "released.ipynb")
    assert scan([tmp_path], exercise) == []


def test_only_seeds_come_from_the_secret(exercise):
    texts = [
        nbformat.writes(nbgrader_notebook(exercise, secret))
        for secret in (SECRET, SECRET, "another secret of this length")
    ]
    assert texts[0] == texts[1] != texts[2]
    assert SECRET not in texts[0]


def test_code_that_no_raw_text_can_hold(tmp_path):
    source = (HERE / "fixtures" / "90-all-kinds.md").read_text(encoding="utf-8")
    odd = tmp_path / "90-odd.md"
    line = "def secret_oracle(x):\n"
    odd.write_text(source.replace(line, f"{line}    # ''' is a quote\n"))
    exercise = read_exercise(odd)
    right = {question.id: question.solution for question in exercise.coded()}
    assert scored(exercise, right) == {"q1": 6, "q2": 2, "q3": 3}


def scored(exercise, answers):
    """Return the points of each question as nbgrader counts them, in this process."""
    names = {"__name__": "__main__", "In": [""]}
    points = {question.id: 0 for question in exercise.coded()}
    for cell in nbgrader_notebook(exercise, SECRET).cells:
        if cell.cell_type != "code":
            continue
        id, role = (cell.metadata["unrolled"][key] for key in ("question", "role"))
        source = cell.source
        if role == "answer":
            mark = source.partition("\n")[0]
            source = f"{mark}\n{answers.get(id, exercise.questions[id].scaffold)}"
        names["In"].append(source)
        *body, last = ast.parse(source).body
        try:
            exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
            mode = "eval" if isinstance(last, ast.Expr) else "exec"
            tree = (
                ast.Expression(last.value) if mode == "eval" else ast.Module([last], [])
            )
            value = eval(compile(tree, "<cell>", mode), names)
        except AssertionError:
            assert role == "judge"
            continue
        if role == "judge":
            full = cell.metadata["nbgrader"]["points"]
            points[id] += full if value is None else value
    return points


Q1 = """
def running_sum(x):
    return torch.stack([x[: i + 1].sum() for i in range(len(x))])
"""
HELPER = "def secret_oracle():\n    return 1\n"
LOUD = "import sys\n" + Q1.replace("return", "print(1, file=sys.stderr)\n    return")
ANSWERS = {
    "right": ({}, {"q1": 6, "q2": 2, "q3": 3}),
    "nothing": (
        {"q1": "pass", "q2": "pass", "q3": "pass"},
        {"q1": 0, "q2": 0, "q3": 0},
    ),
    "partly": ({"q1": "def running_sum(x):\n    return x.abs().cumsum2()"}, {"q1": 0}),
    "of sizes": ({"q1": Q1.replace("return", "x = x.abs(); return")}, {"q1": 1}),
    "forbidden": (
        {"q1": "def running_sum(x):\n    return torch.cumsum(x, 0)"},
        {"q1": 0},
    ),
    "forbidden beside": ({"q1": Q1 + "\n\nold = torch.cumsum"}, {"q1": 0}),
    "a helper of ours": (
        {"q1": HELPER + Q1.replace("[x[", "[secret_oracle() * x[")},
        {"q1": 6},
    ),
    "speaks on stderr": ({"q1": LOUD}, {"q1": 6}),
    "sees one bug": (
        {"q3": "def test_double(S, rng):\n    assert S.double(3) == 6"},
        {"q3": 1},
    ),
    "rejects all": ({"q3": "def test_double(S, rng):\n    assert False"}, {"q3": 0}),
    "accepts all": ({"q3": "def test_double(S, rng):\n    pass"}, {"q3": 0}),
}


@pytest.mark.parametrize("who", ANSWERS)
def test_cells_give_the_points_of_the_engine(kinds, sandbox, who, capsys):
    changed, points = ANSWERS[who]
    answers = {question.id: question.solution for question in kinds.coded()} | changed
    theirs = scored(kinds, answers)
    assert theirs == {"q1": 6, "q2": 2, "q3": 3} | points
    assert capsys.readouterr().err == ""
    graded = grade_answers(kinds, answers, secret=SECRET, sandbox=sandbox)
    ours = dict.fromkeys(theirs, 0)
    for outcome in graded.outcomes:
        ours[outcome.question] += outcome.earned
    assert theirs == ours


def test_the_command_writes_a_course_and_keeps_a_configuration(
    tmp_path, monkeypatch, kinds
):
    monkeypatch.setenv("UNROLLED_EXERCISES", str(HERE / "fixtures"))
    config = tmp_path / "nbgrader_config.py"
    config.write_text("c = get_config()\n")
    private = tmp_path / "private"
    private.mkdir()
    (private / "90-all-kinds.md").write_text(
        "```{code-cell}\n:tags: [hidden]\n:question: q1\n\ndef test_mine(S, rng):\n"
        '    """points: 5 | catches: what only we know"""\n    assert S\n```\n'
    )
    words = ["nbgrader", "90", str(tmp_path), "--secret", str(tmp_path / "secret")]
    ran = CliRunner().invoke(app, [*words, "--private", str(private)])
    assert ran.exit_code == 0, ran.output
    file = tmp_path / "source" / "90-all-kinds" / "90-all-kinds.ipynb"
    assert f"Written: {file}" in ran.output
    assert "Made the course's secret" in ran.output
    assert config.read_text() == "c = get_config()\n"
    assert "test_mine" in file.read_text()
    known = (tmp_path / "secret").read_text().strip()
    assert known not in file.read_text()
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 0
    assert "Made" not in again.output
    plain = nbformat.writes(nbgrader_notebook(kinds, known)) + "\n"
    assert file.read_text() == plain


def test_the_command_complains_about_a_student_edition(tmp_path, monkeypatch, kinds):
    notebook = nbgrader_notebook(kinds, SECRET)
    nbformat.write(notebook, tmp_path / "90-all-kinds.ipynb")
    monkeypatch.setenv("UNROLLED_EXERCISES", str(tmp_path))
    ran = CliRunner().invoke(app, ["nbgrader", "90", str(tmp_path / "out")])
    assert ran.exit_code == 1
    assert "is a student's notebook: exports are made from the sources" in ran.output
    assert not (tmp_path / "out").exists()


def classes_of(exercise):
    """Return students with honest work, good and poor, by name."""
    coded = list(exercise.coded())
    students = {
        "solution": {q.id: q.solution for q in coded},
        "alternative": {q.id: q.alternatives[0] for q in coded},
        "scaffold": {},
    }
    for i in range(3):
        students[f"mutant{i}"] = {q.id: q.mutants[i].source for q in coded}
    first, second = coded[0], next(q for q in coded if "nn.RNNBase" in q.forbid)
    layer = "layer = nn.RNN(x.shape[2], h_0.shape[2])"
    students["odd"] = {
        # who warns, or has a helper of a test's name, loses nothing
        first.id: "import sys, warnings\n\n\ndef draw():\n    return 0\n\n\n"
        + first.solution.replace(
            "    return torch.tanh(",
            "    warnings.warn('mine')\n    print('?', file=sys.stderr)\n"
            "    return draw() + torch.tanh(",
        ),
        second.id: second.solution + f"\n\ndef unused(x, h_0):\n    {layer}\n",
    }
    return students


@pytest.mark.slow
def test_nbgrader_accepts_it_and_scores_as_we_do(programs, sandbox, tmp_path):
    exercise = read_exercise(ROOT / "exercises" / "04-recurrent-networks.md")
    export_nbgrader(exercise, tmp_path, secret=SECRET)
    run(programs, tmp_path, "nbgrader", "generate_assignment", exercise.name)
    inside = Path(exercise.name, f"{exercise.name}.ipynb")
    released = tmp_path / "release" / inside
    assert scan([released], exercise) == []
    assert scan([tmp_path / "source" / inside], exercise) != []
    answered = {}
    for student, answers in classes_of(exercise).items():
        notebook = read_notebook(released)
        for cell in notebook["cells"]:
            entry = cell["metadata"]["unrolled"]
            if entry["role"] == "answer" and entry["question"] in answers:
                cell["source"] = answers[entry["question"]]
        answered[student] = answers_of(notebook, exercise)
        file = tmp_path / "submitted" / student / inside
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(notebook), encoding="utf-8")
    run(programs, tmp_path, "nbgrader", "autograde", exercise.name)
    scores = json.loads(run(programs, tmp_path, "python", "-c", SCORES, exercise.name))
    assert set(scores) == set(answered)
    ids = [question.id for question in exercise.coded()]
    theirs = {
        student: {
            id: sum(s for name, s in found.items() if name.startswith(f"{id}-"))
            for id in ids
        }
        for student, found in scores.items()
    }
    ours = {}
    for student, answers in answered.items():
        graded = grade_answers(exercise, answers, secret=SECRET, sandbox=sandbox)
        assert graded.complete
        ours[student] = {
            id: sum(o.earned for o in graded.outcomes if o.question == id) for id in ids
        }
    assert theirs == ours
    full = {question.id: question.points for question in exercise.coded()}
    assert ours["solution"] == ours["alternative"] == full
    assert set(ours["scaffold"].values()) == {0}
    assert ours["odd"] == {**dict.fromkeys(ids, 0), "q1": full["q1"]}
    assert all(
        0 < sum(ours[f"mutant{i}"].values()) < sum(full.values()) for i in (0, 1, 2)
    )
