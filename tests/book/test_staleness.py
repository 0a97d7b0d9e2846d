"""A chapter is run again when its cells changed, and compared when a run is made."""

import ast
import json
import os
import re
import subprocess
import sys
import threading

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

import chapters
from unrolled.runtime import fingerprint

BOOK = {"UNROLLED_BOOK": "1"}

HEAD = "---\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
SOURCE = (
    HEAD
    + """# Title

Words.

```{code-cell} ipython3
:tags: [hide-input]

import unrolled.direct
from unrolled.package import module
from unrolled.recipes import my_recipe

x = 1
```

More words.

```{code-cell} ipython3
%time x
```
"""
)
MODULES = {
    "__init__": "",
    "direct": "import unrolled.layers.deep as deep\n",
    "layers/__init__": "from unrolled.tail import x\n",
    "layers/deep": "def f():\n    from unrolled.late import y\n",
    "late": "y = 1\n",
    "tail": "x = 1\n",
    "package/__init__": "",
    "package/module": "",
    "package/other": "",
    "recipes/__init__": "",
    "recipes/my_recipe": "",
    "recipes/another": "",
    "unrelated": "",
}
FILES = {
    "_config.yml": "html: {baseurl: https://book.test/}\n",
    "chapters/01-title.md": SOURCE,
} | {f"code/unrolled/{name}.py": text for name, text in MODULES.items()}


@pytest.fixture
def tree(tmp_path):
    """A miniature of the repository."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def source(tree, monkeypatch):
    """Its only chapter, with the tools looking at it."""
    real = chapters.imports_digest
    monkeypatch.setattr(chapters, "CHAPTERS", tree / "chapters")
    monkeypatch.setattr(
        chapters, "imports_digest", lambda s, root=tree: real(s, root=root)
    )
    return tree / "chapters" / "01-title.md"


def key_of(tree):
    return chapters.imports_digest(tree / "chapters" / "01-title.md", root=tree)


def append(path, text="\nchanged = 1\n"):
    path.write_text(path.read_text() + text)


# ---- what a chapter imports: advice on what to run first ----

RESTS_ON = [
    "code/unrolled/__init__.py",
    "code/unrolled/direct.py",
    "code/unrolled/layers/__init__.py",  # a package on the way
    "code/unrolled/layers/deep.py",  # imported by what is imported
    "code/unrolled/late.py",  # imported inside a function
    "code/unrolled/tail.py",  # imported by a package's __init__
    "code/unrolled/package/__init__.py",
    "code/unrolled/package/module.py",  # from package import module
    "code/unrolled/recipes/my_recipe.py",
]
DOES_NOT = [
    "code/unrolled/unrelated.py",
    "code/unrolled/package/other.py",
    "code/unrolled/recipes/another.py",
]


def test_the_digest_of_imports_is_the_same_twice(tree):
    assert re.fullmatch("[0-9a-f]{64}", key_of(tree))
    assert key_of(tree) == key_of(tree)


@pytest.mark.parametrize("name", RESTS_ON)
def test_it_changes_with_what_the_chapter_imports(tree, name):
    before = key_of(tree)
    append(tree / name)
    assert key_of(tree) != before


@pytest.mark.parametrize("name", DOES_NOT)
def test_it_does_not_change_with_what_it_does_not_use(tree, name):
    before = key_of(tree)
    append(tree / name)
    assert key_of(tree) == before


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_module_that_comes_into_being_is_seen(tree):
    append(tree / "code/unrolled/direct.py", "from unrolled.package import new\n")
    before = key_of(tree)
    (tree / "code/unrolled/package/new.py").write_text("")
    assert key_of(tree) != before


def test_where_the_tree_lies_does_not_matter(tree):
    before = key_of(tree)
    moved = tree.rename(tree.with_name("elsewhere"))
    assert key_of(moved) == before


def relative_imports(code):
    nodes = ast.walk(ast.parse(code))
    return [n.lineno for n in nodes if isinstance(n, ast.ImportFrom) and n.level]


def test_no_module_of_the_package_imports_by_dots_which_the_key_cannot_follow():
    assert relative_imports("x = 1\nfrom .style import rc") == [2]
    for path in (chapters.ROOT / "code" / "unrolled").rglob("*.py"):
        assert relative_imports(path.read_text()) == [], path


def test_the_key_does_not_change_with_words_in_a_module(tree):
    before, path = key_of(tree), tree / "code/unrolled/direct.py"
    append(path, "\n# a comment\n\n")
    path.write_text('"""Words."""\n' + path.read_text())
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert key_of(tree) == before


# ---- stale, out of step, brought into step ----


def store(source, outputs=True):
    """Write the notebook as if it had been run."""
    notebook = chapters.read_source(source)
    for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        cell.execution_count = number + 1
        if outputs:
            data = {"text/plain": str(number)}
            cell.outputs = [nbformat.v4.new_output("display_data", data)]
    notebook.metadata["unrolled"] = {
        "imports": chapters.imports_digest(source),
        "outputs": chapters.outputs_digest(notebook),
        "fingerprint": fingerprint(),
        "seconds": 1.0,
        "cores": 1,
    }
    nbformat.write(notebook, chapters.notebook_of(source))
    chapters.synchronise(source)


def outputs_of(source):
    notebook = nbformat.read(chapters.notebook_of(source), as_version=4)
    return [
        (cell.execution_count, cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def state(source):
    return chapters.is_stale(source), chapters.is_out_of_step(source)


def test_a_chapter_never_run_is_stale_and_out_of_step(source):
    assert state(source) == (True, True)


def test_a_chapter_just_run_is_neither(source):
    store(source)
    assert state(source) == (False, False)


def test_an_output_changed_by_hand_makes_it_stale(source):
    store(source)
    path = chapters.notebook_of(source)
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[0].outputs[0].data["text/plain"] = "better"
    nbformat.write(notebook, path)
    assert chapters.is_stale(source)


def test_a_chapter_whose_notebook_says_nothing_is_stale(source):
    store(source)
    path = chapters.notebook_of(source)
    notebook = json.loads(path.read_text())
    del notebook["metadata"]["unrolled"]
    path.write_text(json.dumps(notebook))
    assert chapters.is_stale(source)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Words.", "Other words.", (False, True)),
        ("[hide-input]", "[hide-output]", (False, True)),
        ("x = 1", "x = 2", (True, True)),
    ],
)
def test_new_words_put_it_out_of_step_and_new_code_makes_it_stale(
    source, old, new, expected
):
    store(source)
    replace(source, old, new)
    assert state(source) == expected


def test_a_change_in_the_package_makes_it_doubtful_and_not_stale(source, tree):
    store(source)
    assert not chapters.is_doubtful(source)
    append(tree / "code/unrolled/tail.py")
    assert state(source) == (False, False)
    assert chapters.is_doubtful(source)


def test_words_changed_in_the_notebook_alone_put_it_out_of_step(source):
    store(source)
    replace(chapters.notebook_of(source), "More words.", "Words of another hand.")
    assert state(source) == (False, True)


def test_bringing_into_step_takes_the_words_and_keeps_the_outputs(source):
    store(source)
    before = outputs_of(source)
    replace(source, "More words.", "Other words.\n\n+++\n\nA new paragraph.")
    replace(source, "[hide-input]", "[hide-output]")
    chapters.synchronise(source)
    assert state(source) == (False, False)
    assert outputs_of(source) == before
    assert "A new paragraph." in chapters.notebook_of(source).read_text()


def test_bringing_into_step_keeps_what_the_kernel_said_of_itself(source):
    store(source)
    path = chapters.notebook_of(source)
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["language_info"] = {"name": "python", "version": "3.11"}
    nbformat.write(notebook, path)
    source.write_text(source.read_text().replace("Words.", "Other words."))
    chapters.synchronise(source)
    assert nbformat.read(path, as_version=4).metadata.language_info.name == "python"
    assert state(source) == (False, False)


# ---- layout of the code ----

UGLY = """Words  with `a = f( 1 )`  and two trailing spaces<>

```python
not = our( 'business' )
```

```{code-cell} ipython3
---
tags: [hide-input]
mystnb:
  figure:
    caption: x = f( 1 )
---
x = f( 1,2 )
```

```{code-cell} ipython3
:tags: [a,  b]

y = 'two'
```

```{code-cell} ipython3
z=3
```

:::{note}
z=3
:::
"""


def test_layout_changes_code_cells_and_nothing_else(tmp_path):
    path = tmp_path / "01-ugly.md"
    ugly = UGLY.replace("<>", "  ")
    path.write_text(ugly)
    assert chapters.format_code(path)
    expected = (
        ugly.replace("x = f( 1,2 )", "x = f(1, 2)")
        .replace("y = 'two'", 'y = "two"')
        .replace("ipython3\nz=3", "ipython3\nz = 3")
    )
    assert path.read_text() == expected
    assert not chapters.format_code(path)
    assert path.read_text() == expected


@pytest.mark.parametrize("path", chapters.sources(), ids=lambda path: path.stem)
def test_the_code_of_every_chapter_is_laid_out(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    assert not chapters.format_code(copy), f"{path.stem}: run 'make format'"
    assert copy.read_bytes() == path.read_bytes()


# ---- running ----

TINY = (
    HEAD
    + """# Tiny

```{code-cell} ipython3
from unrolled.book import claim
print("hello")
```

```{code-cell} ipython3
claim("sum", "It is four.", measured={"sum": 2 + 2}, holds=lambda m: m["sum"] == 4)
```
"""
)


@pytest.fixture(autouse=True)
def in_the_book(monkeypatch):
    """Kernels store records, as where the book is made."""
    monkeypatch.setenv("UNROLLED_BOOK", "1")


@pytest.mark.slow
def test_a_run_writes_outputs_and_what_they_rest_on(source, tree):
    source.write_text(TINY)
    seconds = chapters.execute(source)
    assert state(source) == (False, True)  # its words are the source's
    assert chapters.synchronise(source)
    assert state(source) == (False, False)
    assert not chapters.synchronise(source)
    notebook = nbformat.read(chapters.notebook_of(source), as_version=4)
    first, second = (c for c in notebook.cells if c.cell_type == "code")
    assert first.outputs[0].text == "hello\n"
    assert second.outputs[0].data["application/vnd.unrolled.claim+json"]["id"] == "sum"
    record = notebook.metadata["unrolled"]
    assert record["imports"] == key_of(tree)
    assert record["fingerprint"] == fingerprint()
    assert record["seconds"] == seconds > 0
    assert all("execution" not in cell.metadata for cell in notebook.cells)
    assert not list(source.parent.glob("*.writing"))


@pytest.mark.slow
def test_a_chapter_that_gives_what_it_stores_is_no_longer_doubtful(source, tree):
    module = tree / "code/unrolled/shapes.py"  # the kernel imports the real one
    module.write_text("")
    source.write_text(TINY.replace("print(", "import unrolled.shapes; print("))
    chapters.execute(source)
    append(module)
    assert chapters.is_doubtful(source)
    assert chapters.verify(source) == []
    assert not chapters.is_doubtful(source)


@pytest.mark.parametrize(("took", "kept"), [(7.0, 7.0), (90.0, 40.0)])
@pytest.mark.parametrize("again", [chapters.execute, chapters.verify])
def test_of_two_runs_of_the_same_cells_the_quicker_counts(
    source, monkeypatch, again, took, kept
):
    def run(source, seconds):
        notebook = chapters.read_source(source)
        notebook.metadata["unrolled"] = {
            "outputs": chapters.outputs_digest(notebook),
            "imports": chapters.imports_digest(source),
            "fingerprint": fingerprint(),
            "seconds": seconds,
            "cores": 1,
        }
        return notebook

    source.write_text(TINY)
    monkeypatch.setattr(chapters, "run", lambda source: run(source, 40.0))
    chapters.execute(source)
    monkeypatch.setattr(chapters, "run", lambda source: run(source, took))
    again(source)
    stored = nbformat.read(chapters.notebook_of(source), as_version=4)
    assert stored.metadata["unrolled"]["seconds"] == kept


@pytest.mark.slow
def test_a_chapter_that_gives_something_else_is_told_what_and_kept(source):
    source.write_text(TINY)
    chapters.execute(source)
    chapters.synchronise(source)
    path = chapters.notebook_of(source)
    path.write_text(path.read_text().replace('"sum": 4.0', '"sum": 5.0'))
    before = path.read_bytes()
    assert chapters.verify(source) == [
        "cell-002: claim sum: sum (close) is 4.0, on record 5.0"
    ]
    assert path.read_bytes() == before


@pytest.mark.slow
def test_nbval_fails_a_cell_that_gives_something_else(source):
    bits = "import time; print('a', flush=True); time.sleep(1); print("
    checked = TINY.replace("print(", bits).replace(
        "ipython3\nfrom", "ipython3\n:tags: [nbval-check-output]\n\nfrom"
    )
    source.write_text(checked)  # printed in two bits, which nbval joins in place
    chapters.execute(source)
    chapters.synchronise(source)
    path = chapters.notebook_of(source)
    assert nbval(path).returncode == 0
    path.write_text(path.read_text().replace('"sum": 4.0', '"sum": 5.0'))
    failed = nbval(path)
    assert failed.returncode == 1
    assert "claim sum: sum (close) is 4.0, on record 5.0" in failed.stdout


def nbval(path):
    """Run a notebook as the tests of all chapters do."""
    options = "-q -p no:cacheprovider --nbval-lax -p nbval_tolerance -W default".split()
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(path)],
        env=os.environ | {"PYTHONPATH": str(chapters.ROOT / "tools"), **BOOK},
        cwd=chapters.ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_what_is_folded_in_the_page_is_folded_in_jupyterlab(source):
    code = [c for c in chapters.read_source(source).cells if c.cell_type == "code"]
    assert [c.metadata.get("jupyter") for c in code] == [{"source_hidden": True}, None]
    replace(source, "hide-input", "claim")
    code = [c for c in chapters.read_source(source).cells if c.cell_type == "code"]
    assert code[0].metadata.jupyter == {"source_hidden": True}


@pytest.mark.slow
def test_a_claim_that_fails_leaves_the_old_notebook(source):
    store(source)
    before = chapters.notebook_of(source).read_bytes()
    source.write_text(TINY.replace("2 + 2", "2 + 3"))
    with pytest.raises(CellExecutionError, match="claim 'sum' does not hold"):
        chapters.execute(source)
    assert chapters.notebook_of(source).read_bytes() == before
    assert chapters.is_stale(source)


def test_outputs_are_not_carried_over_to_other_code(source):
    store(source)
    replace(source, "x = 1", "x = 2")
    with pytest.raises(ValueError, match="has other code than was run"):
        chapters.synchronise(source)


@pytest.mark.slow
def test_a_source_that_changes_while_it_runs_is_not_sealed(source, tree):
    source.write_text(TINY.replace("print(", "import time; time.sleep(4); print("))
    later = threading.Timer(1.5, lambda: source.write_text(TINY))
    later.start()
    with pytest.raises(RuntimeError, match="changed while it ran"):
        chapters.execute(source)
    later.join()
    assert not chapters.notebook_of(source).exists()
