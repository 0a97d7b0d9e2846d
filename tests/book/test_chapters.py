"""Every page of a chapter is in order, and its notebook is what its source says.

Objectives, predictions, exercises, a lab, a quiz, summary and further reading are asked
of a chapter's main page; all else of its further pages too.

Each check returns the faults that it finds, so that the last part of this file can
show that it finds them.
"""

import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

import chapters
from unrolled.book.claims import Claim, claim, pretty
from unrolled.book.records import CLAIM as MIME
from unrolled.book.records import QUIZ
from unrolled.chapters.pages import all_pages, front_matter, main_pages
from unrolled.widgets import MIME as LAB
from unrolled_book import notebooks

SOURCES = chapters.sources()
MAIN = [page.source for page in main_pages(chapters.ROOT)]
Notebook = dict[str, Any]

PRIMER = "00-primer"  # the one chapter without exercises: its quiz has the questions

every_page = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
every_chapter = pytest.mark.parametrize("source", MAIN, ids=lambda path: path.stem)
every_graded_chapter = pytest.mark.parametrize(
    "source", [s for s in MAIN if s.stem != PRIMER], ids=lambda path: path.stem
)


def words(source: Path) -> str:
    return source.read_text(encoding="utf-8")


def stored(source: Path) -> Notebook:
    """Return the page: the cells of its source, with the outputs that are stored."""
    return notebooks.with_outputs(source, notebooks.read(chapters.notebook_of(source)))


def all_claims() -> list[tuple[str, dict[str, Any]]]:
    """Return every claim of the book with the chapter that makes it."""
    return [
        (source.stem, claim)
        for source in SOURCES
        for _, claim in notebooks.outputs(stored(source), MIME)
    ]


# ---- the words ----


def admonitions(text: str, kind: str) -> list[str]:
    """Return the bodies of the admonitions of class ``kind``."""
    found = re.findall(r"^:::\{admonition\}[^\n]*\n(.*?)^:::$", text, re.M | re.S)
    return [body for body in found if re.match(rf":class: {kind}\n", body)]


def objectives(text: str) -> list[str]:
    bodies = admonitions(text, "objectives")
    return re.findall(r"^\d+\. .*$", "\n".join(bodies), re.M)


def exercises(text: str) -> list[str]:
    """Return each exercise's options and words."""
    return re.findall(r"^```\{exercise\}[^\n]*\n(.*?)^```$", text, re.M | re.S)


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1].strip() if found else ""


def objective_faults(text: str) -> list[str]:
    boxes, items = admonitions(text, "objectives"), objectives(text)
    faults = [] if len(boxes) == 1 else [f"{len(boxes)} boxes of objectives, not one"]
    if len(items) < 3:
        faults.append(f"{len(items)} numbered objectives, fewer than three")
    faults += [
        f"objective does not begin with a bold verb: {item}"
        for item in items
        if not re.match(r"\d+\. \*\*[a-z]+\*\*", item)
    ]
    if not any("**Builds on**" in box for box in boxes):
        faults.append("the objectives do not say what the chapter builds on")
    return faults


def prediction_faults(text: str) -> list[str]:
    boxes = admonitions(text, "predict")
    faults = [] if boxes else ["the reader is never asked to predict"]
    return faults + [f"no question in: {box}" for box in boxes if "?" not in box]


def exercise_faults(text: str) -> list[str]:
    found = exercises(text)
    faults = [] if 5 <= len(found) <= 6 else [f"{len(found)} exercises, not 5 or 6"]
    faults += [
        f"no label: {e[:60]}" for e in found if not re.match(r":label: \S+\n", e)
    ]
    if len(objectives(text)) > len(found):
        faults.append(f"{len(objectives(text))} objectives, {len(found)} exercises")
    return faults


def ending_faults(text: str) -> list[str]:
    faults = [] if section(text, "Summary") else ["no summary"]
    if "{cite" not in section(text, "Further reading"):
        faults.append("no further reading that is in the bibliography")
    return faults


def deck_faults(text: str) -> list[str]:
    """Return what looks like a line of a deck, and is none of decks 000 to 004."""
    faults = []
    for deck, first, last in re.findall(r"\b(\d{3}):(\d+)(?:[-\u2013](\d+))?", text):
        line = f"{deck}:{first}" + (f"-{last}" if last else "")
        if deck not in ("000", "001", "002", "003", "004") or int(first) < 1:
            faults.append(f"no such deck line: {line}")
        elif last and int(last) <= int(first):
            faults.append(f"runs backwards: {line}")
    return faults


def role_faults(text: str, claims: dict[str, dict[str, Any]]) -> list[str]:
    """Return the numbers and links in prose that no claim stands behind."""
    faults = []
    for whole in re.findall(r"\{measured\}`([^`]*)`", text):
        name, _, rest = whole.partition(":")
        number, _, spec = rest.partition(":")
        if number not in claims.get(name, {"measured": {}})["measured"]:
            faults.append(f"nothing measured: {whole}")
            continue
        try:
            pretty(claims[name]["measured"][number], spec)
        except ValueError as error:
            faults.append(f"{whole}: {error}")
    for whole in re.findall(r"\{claim\}`([^`]*)`", text):
        target = re.search(r"<([^>]*)>$", whole)
        if (target[1] if target else whole) not in claims:
            faults.append(f"no claim: {whole}")
    return faults


@every_chapter
def test_objectives_begin_with_a_verb_and_say_what_they_build_on(source):
    assert objective_faults(words(source)) == []


@every_chapter
def test_the_reader_predicts_before_running(source):
    assert prediction_faults(words(source)) == []


@every_graded_chapter
def test_five_or_six_exercises_have_labels_and_cover_the_objectives(source):
    assert exercise_faults(words(source)) == []


@every_chapter
def test_a_chapter_ends_with_a_summary_and_further_reading(source):
    assert ending_faults(words(source)) == []


@every_page
def test_cited_slides_lie_in_the_five_decks(source):
    assert deck_faults(words(source)) == []


@every_page
def test_every_number_and_link_in_prose_has_its_claim(source):
    known = {claim["id"]: claim for _, claim in all_claims()}
    assert role_faults(words(source), known) == []


# ---- the code ----

HIDDEN_HELP = re.compile(r"pip install|sys\.path|warnings\.(filter|simplefilter)")


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def code_faults(notebook: Notebook) -> list[str]:
    faults = []
    for number, cell in enumerate(code_cells(notebook), start=1):
        for line in notebooks.text(cell["source"]).splitlines():
            if len(line) > 88:
                faults.append(f"cell {number}: {len(line)} columns: {line[:50]}…")
            if HIDDEN_HELP.search(line):
                faults.append(f"cell {number}: not in a chapter: {line}")
    return faults


def result_faults(notebook: Notebook) -> list[str]:
    """Return results that are shown without the recipe being imported.

    By what is imported we know which chapter to run first when a recipe has changed.
    """
    code = "\n".join(notebooks.text(cell["source"]) for cell in code_cells(notebook))
    used = set(re.findall(r"\bresults\([\"'](\w+)[\"']\)", code))
    lists = re.findall(r"from unrolled\.[\w.]+ import (\([^)]+\)|[\w, ]+)", code)
    names = (name for names in lists for name in names.strip("()").split(","))
    imported = {name.split()[0] for name in names if name.strip()}
    return [f"results of {name}, a recipe not imported" for name in used - imported]


def figure_faults(notebook: Notebook) -> list[str]:
    """Return figures without name, caption or alt, and pictures that are no figure."""
    faults, names = [], []
    for number, cell in enumerate(code_cells(notebook), start=1):
        options = cell["metadata"].get("mystnb", {})
        figure, alt = options.get("figure"), options.get("image", {}).get("alt", "")
        bundles = [output.get("data", {}) for output in cell["outputs"]]
        drawn = [b for b in bundles if any(mime.startswith("image/") for mime in b)]
        if drawn and figure is None:
            faults.append(f"cell {number}: a picture that is not a figure")
        if figure is not None:
            names.append(figure.get("name", ""))
            missing = [key for key in ("name", "caption") if not figure.get(key)]
            faults += [f"cell {number}: the figure has no {key}" for key in missing]
            if len(drawn) != 1:
                faults.append(f"cell {number}: {len(drawn)} pictures, not one")
        if (drawn or figure is not None) and len(alt) < 40:
            faults.append(f"cell {number}: alt text of {len(alt)} characters")
        faults += [
            f"cell {number}: a picture, not a drawing: it has no dark twin"
            for bundle in drawn
            if "image/svg+xml" not in bundle
        ]
    twice = {name for name in names if names.count(name) > 1}
    return faults + [f"two figures are called {name}" for name in sorted(twice)]


@every_page
def test_code_fits_the_page_and_hides_nothing(source):
    assert code_faults(stored(source)) == []


@every_page
def test_results_are_shown_with_the_recipe_that_made_them(source):
    assert result_faults(stored(source)) == []


@every_page
def test_every_picture_is_a_named_figure_with_words_for_those_who_cannot_see_it(source):
    assert figure_faults(stored(source)) == []


# ---- what was run ----


def run_faults(notebook: Notebook) -> list[str]:
    """Return the signs that a notebook was not run whole, in order, in silence."""
    cells, faults = code_cells(notebook), []
    if [cell["execution_count"] for cell in cells] != list(range(1, len(cells) + 1)):
        faults.append("the cells were not run once each from top to bottom")
    for number, cell in enumerate(cells, start=1):
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                faults.append(f"cell {number}: {output['ename']}")
            if output.get("name") == "stderr":
                faults.append(f"cell {number}: stderr: {output['text']}")
            plain = notebooks.text(output.get("data", {}).get("text/plain", ""))
            if "<Figure size" in plain:
                faults.append(f"cell {number}: prints {plain}")
    return faults


def record_faults(notebook: Notebook) -> list[str]:
    record = notebook["metadata"].get("unrolled", {})
    faults = [
        f"no {key}"
        for key in ("imports", "outputs", "fingerprint", "seconds", "cores")
        if key not in record
    ]
    for key in ("imports", "outputs"):
        if not re.fullmatch("[0-9a-f]{64}", record.get(key, "0" * 64)):
            faults.append(f"{key} {record[key]!r} is not a digest")
    if not record.get("seconds", 1) > 0:
        faults.append(f"runs in {record['seconds']} s")
    if record.get("cores", 1) < 1:
        faults.append(f"{record['cores']} cores")
    return faults


def claim_faults(notebook: Notebook) -> list[str]:
    """Return the claims whose words are not those of their record."""
    found = list(notebooks.outputs(notebook, MIME))
    return ([] if found else ["no claim"]) + [
        f"claim {record['id']}: its words say something else than was recorded"
        for bundle, record in found
        if notebooks.text(bundle["text/plain"])
        != as_made(record)._repr_mimebundle_()["text/plain"]
    ]


def as_made(record: dict[str, Any]) -> Claim:
    """Return the claim behind a stored record, its numbers in the author's order."""
    parts = {name: record[name] for name in record if name != "order"}
    parts["measured"] = {name: record["measured"][name] for name in record["order"]}
    return Claim(**parts)


def lab_faults(notebook: Notebook) -> list[str]:
    return [] if list(notebooks.outputs(notebook, LAB)) else ["no lab"]


def quiz_questions(notebook: Notebook) -> list[Any]:
    return [
        question
        for _, quiz in notebooks.outputs(notebook, QUIZ)
        for question in quiz["questions"]
    ]


def primer_faults(text: str, notebook: Notebook) -> list[str]:
    """Return what the primer lacks, whose objectives are met in the quiz."""
    faults = ["the primer has exercises"] if exercises(text) else []
    asked, wanted = len(quiz_questions(notebook)), len(objectives(text))
    if asked != wanted:
        faults.append(f"{wanted} objectives, {asked} questions in the quiz")
    return faults


def quiz_faults(notebook: Notebook) -> list[str]:
    questions = quiz_questions(notebook)
    faults = (
        [] if len(questions) >= 3 else [f"{len(questions)} questions, fewer than 3"]
    )
    for question in questions:
        prompt = question["prompt"]
        if sum(right for _, _, right in question["options"]) != 1:
            faults.append(f"not one right answer: {prompt}")
        faults += [
            f"{text!r} is not explained: {prompt}"
            for text, why, _ in question["options"]
            if len(why.strip()) < 10
        ]
    return faults


@every_page
def test_a_chapter_was_run_whole_and_without_noise(source):
    assert run_faults(stored(source)) == []


@every_page
def test_a_page_says_what_it_was_run_on_and_how_long(source):
    assert record_faults(stored(source)) == []


@every_page
def test_a_chapter_makes_claims_and_stores_what_was_recorded(source):
    assert claim_faults(stored(source)) == []


@every_chapter
def test_a_chapter_has_a_lab(source):
    assert lab_faults(stored(source)) == []


@every_chapter
def test_a_chapter_has_a_quiz_with_every_answer_explained(source):
    assert quiz_faults(stored(source)) == []


def test_the_primer_has_a_question_in_the_quiz_for_every_objective():
    source = chapters.CHAPTERS / f"{PRIMER}.md"
    assert primer_faults(words(source), stored(source)) == []


@every_page
def test_a_notebook_is_valid_and_its_cells_keep_their_ids(source):
    notebook = nbformat.read(chapters.notebook_of(source), as_version=4)
    nbformat.validate(notebook)
    ids = [cell["id"] for cell in notebook.cells]
    assert ids == [f"cell-{n:03d}" for n in range(len(ids))]


@every_page
def test_source_and_notebook_are_in_step(source):
    assert not chapters.is_out_of_step(source), f"{source.stem}: run 'make execute'"


@every_page
def test_no_chapter_is_stale(source):
    assert not chapters.is_stale(source), f"{source.stem} is stale: run 'make execute'"


# ---- the book as a whole ----


def ids_used_twice(claims: list[tuple[str, dict[str, Any]]]) -> list[str]:
    ids = [claim["id"] for _, claim in claims]
    return sorted({name for name in ids if ids.count(name) > 1})


def test_there_are_chapters():
    assert SOURCES


def test_no_two_claims_have_the_same_id():
    assert ids_used_twice(all_claims()) == []


def test_labels_of_exercises_and_figures_are_used_once_in_the_book():
    text = "\n".join(map(words, SOURCES))
    labels = re.findall(r"^:label: (\S+)$|^    name: (fig-\S+)$", text, re.M)
    names = [one or other for one, other in labels]
    assert sorted(names) == sorted(set(names))


def test_every_committed_notebook_has_its_source():
    listed = subprocess.run(
        ["git", "ls-files", "*.ipynb"],
        cwd=chapters.CHAPTERS,
        capture_output=True,
        text=True,
        check=True,
    )  # a reader's own copies are not ours to judge
    sources = {source.with_suffix(".ipynb").name for source in SOURCES}
    assert set(listed.stdout.split()) <= sources


def contents_faults(root: Path) -> list[str]:
    """Return the pages that the table of contents lacks, or has in a wrong place."""
    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text(encoding="utf-8"))
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    listed = [entry["file"] for entry in entries if "chapters/" in entry["file"]]
    nested = {e["file"]: [s["file"] for s in e.get("sections", ())] for e in entries}
    pages = all_pages(root)
    mains = [page for page in pages if page.kind == "main"]
    expected = [page.docname for page in mains]
    faults = [] if listed == expected else [f"chapters: {listed}, not {expected}"]
    for main in mains:
        below = [p.docname for p in pages if p.number == main.number and p != main]
        found = nested.get(main.docname, [])
        if found != below:
            faults.append(f"below {main.docname}: {found}, not {below}")
    return faults


def test_every_page_is_in_the_table_of_contents_below_its_chapter():
    assert contents_faults(chapters.ROOT) == []


def kind_faults(source: Path, notebook: Notebook) -> list[str]:
    """Return what a page does not say of its kind, or says otherwise when run."""
    said = front_matter(source).get("page")
    faults = [] if said else ["the front matter does not say 'page: main'"]
    if said and notebook["metadata"].get("page") != said:
        faults.append("the notebook is of another kind: run 'make execute'")
    return faults


@every_page
def test_source_and_notebook_say_what_kind_of_page_it_is(source):
    notebook = notebooks.read(chapters.notebook_of(source))
    assert kind_faults(source, notebook) == []


# ---- the checks themselves can fail ----

BOX = ":::{{admonition}} Title\n:class: {}\n\n{}\n:::\n"
GOALS = "1. **write** a;\n2. **read** b;\n3. **count** c.\n\n**Builds on** nothing."
EXERCISE = "```{{exercise}} Title\n:label: ex-{}\nDo it.\n```\n"
FIVE = "".join(EXERCISE.format(n) for n in "abcde")
ENDING = "## Summary\n\nAll.\n\n## Further reading\n\n{cite:t}`elman1990`.\n"


def test_good_words_have_no_faults():
    text = BOX.format("objectives", GOALS) + BOX.format("predict", "Why?") + FIVE
    text += ENDING + "deck 002:175\u2013181 and (000:88)"
    checks = [objective_faults, prediction_faults, exercise_faults, ending_faults]
    assert [fault for check in [*checks, deck_faults] for fault in check(text)] == []


@pytest.mark.parametrize(
    ("check", "text", "fault"),
    [
        (objective_faults, GOALS, "0 boxes of objectives"),
        (objective_faults, BOX.format("objectives", GOALS[:9]), "fewer than three"),
        (
            objective_faults,
            BOX.format("objectives", "1. write a"),
            "bold verb: 1. write",
        ),
        (objective_faults, BOX.format("objectives", "1. **a** b"), "builds on"),
        (prediction_faults, BOX.format("objectives", "?"), "never asked"),
        (prediction_faults, BOX.format("predict", "Think."), "no question in"),
        (exercise_faults, FIVE[: len(FIVE) // 5], "1 exercises, not 5 or 6"),
        (exercise_faults, FIVE + FIVE[: len(FIVE) // 5] * 2, "7 exercises"),
        (exercise_faults, FIVE.replace(":label: ex-c\n", ""), "no label: Do it."),
        (exercise_faults, BOX.format("objectives", GOALS), "3 objectives, 0 exercises"),
        (ending_faults, ENDING.replace("Summary", "The end"), "no summary"),
        (ending_faults, ENDING.replace("{cite:t}", ""), "no further reading"),
        (deck_faults, "as 005:12 says", "no such deck line: 005:12"),
        (deck_faults, "as 003:20-12 says", "runs backwards: 003:20-12"),
    ],
)
def test_faulty_words_are_found(check, text, fault):
    assert any(fault in found for found in check(text)), check(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{measured}`a:m`, {measured}`a:m:.0%`, {claim}`a`, {claim}`x <a>`", None),
        ("{measured}`b:m`", "nothing measured: b:m"),
        ("{measured}`a:n`", "nothing measured: a:n"),
        ("{measured}`a:m:.0q`", "a:m:.0q: Unknown format code"),
        ("{claim}`b`", "no claim: b"),
        ("{claim}`a <b>`", "no claim: a <b>"),
    ],
)
def test_numbers_and_links_without_a_claim_are_found(text, fault):
    found = role_faults(text, {"a": {"measured": {"m": 0.5}}})
    assert (found == []) if fault is None else found[0].startswith(fault)


def cell(source: str = "1", *outputs: dict, **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": source,
        "metadata": metadata,
        "execution_count": 1,
        "outputs": list(outputs),
    }


def shows(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": data}


def book(*cells: dict[str, Any], **record: Any) -> Notebook:
    return {"cells": list(cells), "metadata": {"unrolled": record}}


SVG = shows({"image/svg+xml": "<svg/>"})
NAMED = {"name": "fig-a", "caption": "A."}
PICTURE = {
    "figure": NAMED,
    "image": {"alt": "A finding in forty characters or a few more."},
}
CLAIM = claim("a", "A.", measured={"m": 1.0}, holds=lambda m: True)


def test_good_cells_have_no_faults():
    record = {"imports": "a" * 64, "outputs": "b" * 64, "fingerprint": {}}
    record |= {"seconds": 9.0, "cores": 1}
    good = book(cell("1", SVG, mystnb=PICTURE), **record)
    for check in (code_faults, figure_faults, run_faults, record_faults):
        assert check(good) == []
    assert claim_faults(book(cell("1", shows(CLAIM._repr_mimebundle_())))) == []


@pytest.mark.parametrize(
    ("check", "notebook", "fault"),
    [
        (code_faults, book(cell("x" * 89)), "89 columns"),
        (code_faults, book(cell("!pip install torch")), "not in a chapter"),
        (code_faults, book(cell("sys.path.append('.')")), "not in a chapter"),
        (code_faults, book(cell("warnings.filterwarnings('x')")), "not in a chapter"),
        (result_faults, book(cell('results("a")')), "results of a"),
        (figure_faults, book(cell("1", SVG)), "a picture that is not a figure"),
        (figure_faults, book(cell("1", SVG)), "alt text of 0"),
        (figure_faults, book(cell("1", SVG, mystnb={"figure": {}})), "no caption"),
        (figure_faults, book(cell("1", mystnb=PICTURE)), "0 pictures, not one"),
        (figure_faults, book(cell("1", shows({"image/png": ""}))), "no dark twin"),
        (figure_faults, book(*[cell("1", SVG, mystnb=PICTURE)] * 2), "two figures are"),
        (run_faults, book(cell(), cell()), "from top to bottom"),
        (
            run_faults,
            book(cell("1", shows({"text/plain": "<Figure size 1>"}))),
            "prints",
        ),
        (
            run_faults,
            book(cell("1", {"output_type": "error", "ename": "ValueError"})),
            "ValueError",
        ),
        (
            run_faults,
            book(cell("1", {"output_type": "stream", "name": "stderr", "text": "oh"})),
            "stderr: oh",
        ),
        (record_faults, book(), "no fingerprint"),
        (record_faults, book(imports="abc"), "is not a digest"),
        (record_faults, book(seconds=0), "runs in 0 s"),
        (claim_faults, book(cell()), "no claim"),
        (lab_faults, book(cell()), "no lab"),
        (quiz_faults, book(cell()), "0 questions"),
    ],
)
def test_faulty_cells_are_found(check, notebook, fault):
    assert any(fault in found for found in check(notebook)), check(notebook)


@pytest.mark.parametrize("part", ["record", "words"])
def test_a_falsified_claim_is_found(part):
    bundle = json.loads(json.dumps(CLAIM._repr_mimebundle_()))
    if part == "record":
        bundle[MIME]["measured"]["m"] = 2.0
    else:
        bundle["text/plain"] = bundle["text/plain"].replace("m 1", "m 2")
    assert "say something else" in claim_faults(book(cell("1", shows(bundle))))[0]


def test_an_unexplained_answer_is_found():
    record = {"questions": [{"prompt": "Q?", "options": [["no", " ", False]]}]}
    found = quiz_faults(book(cell("1", shows({QUIZ: record}))))
    assert "'no' is not explained: Q?" in found
    assert "not one right answer: Q?" in found


def test_a_primer_with_exercises_or_without_questions_is_found():
    text = BOX.format("objectives", GOALS) + FIVE
    found = primer_faults(text, book(cell()))
    assert found == [
        "the primer has exercises",
        "3 objectives, 0 questions in the quiz",
    ]


CONTENTS = {
    "parts": [
        {"chapters": [{"file": "book/index"}]},
        {
            "chapters": [
                {"file": "chapters/01-a", "sections": [{"file": "chapters/01-a-b"}]},
                {"file": "chapters/02-c"},
            ]
        },
    ]
}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda one, two: None, None),
        (lambda one, two: two.update(file="chapters/03-d"), "chapters: "),
        (lambda one, two: one.pop("sections"), "below chapters/01-a: [], not"),
        (
            lambda one, two: two.update(sections=one.pop("sections")),
            "below chapters/02-c: ['chapters/01-a-b'], not []",
        ),
    ],
)
def test_a_page_in_a_wrong_place_of_the_contents_is_found(tmp_path, change, fault):
    toc = copy.deepcopy(CONTENTS)
    change(*toc["parts"][1]["chapters"])
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    (tmp_path / "chapters").mkdir()
    for stem, kind in (("01-a", "main"), ("01-a-b", "study"), ("02-c", "main")):
        path = tmp_path / "chapters" / f"{stem}.md"
        path.write_text(f"---\npage: {kind}\n---\n")
    found = contents_faults(tmp_path)
    assert any(one.startswith(fault) for one in found) if fault else found == []


def test_a_page_that_hides_its_kind_is_found(tmp_path):
    path = tmp_path / "01-a.md"
    path.write_text("# A\n")
    assert kind_faults(path, book()) == ["the front matter does not say 'page: main'"]
    path.write_text("---\npage: core\n---\n# A\n")
    assert "another kind" in kind_faults(path, book())[0]
    ran = book()
    ran["metadata"]["page"] = "core"
    assert kind_faults(path, ran) == []


def test_an_id_used_twice_is_found():
    one = ("04-a", {"id": "same"})
    assert ids_used_twice([one, copy.deepcopy(one)]) == ["same"]
