"""Every chapter keeps the book's form, and its notebook is what its source says.

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
from bs4 import BeautifulSoup

import chapters
from unrolled.claims import MIME, Claim, pretty
from unrolled_book import notebooks

SOURCES = chapters.sources()
Notebook = dict[str, Any]

PRIMER = "00-primer"  # the one chapter without exercises: its quiz has the questions

every_chapter = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
every_graded_chapter = pytest.mark.parametrize(
    "source", [s for s in SOURCES if s.stem != PRIMER], ids=lambda path: path.stem
)


def words(source: Path) -> str:
    return source.read_text(encoding="utf-8")


def stored(source: Path) -> Notebook:
    return notebooks.read(chapters.notebook_of(source))


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


@every_chapter
def test_cited_slides_lie_in_the_five_decks(source):
    assert deck_faults(words(source)) == []


@every_chapter
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

    The recipe is what makes the chapter stale when its results change.
    """
    code = "\n".join(notebooks.text(cell["source"]) for cell in code_cells(notebook))
    used = set(re.findall(r"\bresults\([\"'](\w+)[\"']\)", code))
    lists = re.findall(r"from unrolled\.recipes import ([\w, ]+)", code)
    imported = {name.split()[0] for names in lists for name in names.split(",")}
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


@every_chapter
def test_code_fits_the_page_and_hides_nothing(source):
    assert code_faults(stored(source)) == []


@every_chapter
def test_results_are_shown_with_the_recipe_that_made_them(source):
    assert result_faults(stored(source)) == []


@every_chapter
def test_every_picture_is_a_named_figure_with_words_for_those_who_cannot_see_it(source):
    assert figure_faults(stored(source)) == []


# ---- what was run ----


def html_outputs(notebook: Notebook) -> list[str]:
    found = notebooks.outputs(notebook, "text/html")
    return [notebooks.text(html) for _, html in found]


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
        for key in ("key", "outputs", "seconds", "cores")
        if key not in record
    ]
    if not re.fullmatch("[0-9a-f]{64}", record.get("key", "0" * 64)):
        faults.append(f"key {record['key']!r} is not a digest")
    if not 0 < record.get("seconds", 1) <= 90:
        faults.append(f"runs in {record['seconds']} s, more than 90")
    if record.get("cores", 1) < 1:
        faults.append(f"{record['cores']} cores")
    return faults


def card_of(bundle: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a claim's card shows; nbformat sorts the record, not the card."""
    card = BeautifulSoup(notebooks.text(bundle["text/html"]), "html.parser").div
    slide = card.select_one(".claim-slide")
    numbers = {row.dt.text: row.dd.text for row in card.select("dl > div")}
    return card["id"], [p.text for p in card("p")][1:], slide and slide.text, numbers


def claim_faults(notebook: Notebook) -> list[str]:
    """Return the cards that do not show the numbers recorded beside them."""
    found = list(notebooks.outputs(notebook, MIME))
    return ([] if found else ["no claim"]) + [
        f"claim {record['id']}: its card shows something else than was recorded"
        for bundle, record in found
        if card_of(bundle) != card_of(as_made(record)._repr_mimebundle_())
    ]


def as_made(record: dict[str, Any]) -> Claim:
    """Return the claim behind a stored record, its numbers in the author's order."""
    fields = {name: record[name] for name in ("id", "sentence", "source", "verdict")}
    measured = {name: record["measured"][name] for name in record["order"]}
    return Claim(**fields, measured=measured)


def lab_faults(notebook: Notebook) -> list[str]:
    labs = [html for html in html_outputs(notebook) if "data-lab=" in html]
    faults = [] if labs else ["no lab"]
    return faults + [
        "a lab is stored with its scripts: run with UNROLLED_BOOK=1"
        for html in labs
        if "<script" in html
    ]


def quiz_questions(notebook: Notebook) -> list[Any]:
    soups = [BeautifulSoup(html, "html.parser") for html in html_outputs(notebook)]
    return [q for soup in soups for q in soup.select(".quiz .quiz-question")]


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
        prompt = question.legend.text
        if len(question.select("[data-right=true]")) != 1:
            faults.append(f"not one right answer: {prompt}")
        for option in question.select(".quiz-option"):
            why = option.select_one(".quiz-why")
            reason = why.get_text().partition(".")[2] if why else ""
            if len(reason.strip()) < 10:
                faults.append(f"{option.label.text!r} is not explained: {prompt}")
    return faults


@every_chapter
def test_a_chapter_was_run_whole_and_without_noise(source):
    assert run_faults(stored(source)) == []


@every_chapter
def test_a_chapter_says_when_it_goes_stale_and_runs_in_ninety_seconds(source):
    assert record_faults(stored(source)) == []


@every_chapter
def test_a_chapter_makes_claims_and_its_cards_show_what_was_recorded(source):
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


@every_chapter
def test_a_notebook_is_valid_and_its_cells_keep_their_ids(source):
    notebook = nbformat.read(chapters.notebook_of(source), as_version=4)
    nbformat.validate(notebook)
    ids = [cell["id"] for cell in notebook.cells]
    assert ids == [f"cell-{n:03d}" for n in range(len(ids))]


@every_chapter
def test_source_and_notebook_are_in_step(source):
    assert not chapters.is_out_of_step(source), f"{source.stem}: run 'make execute'"


@every_chapter
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


def test_every_chapter_is_in_the_table_of_contents():
    toc = (chapters.ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"file: (chapters/\S+)", toc)
    assert listed == [f"chapters/{source.stem}" for source in SOURCES]


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
CLAIM = Claim(id="a", sentence="A.", measured={"m": 1.0}, source=None, verdict=None)


def test_good_cells_have_no_faults():
    record = {"key": "a" * 64, "outputs": "b" * 64, "seconds": 9.0, "cores": 2}
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
        (record_faults, book(), "no key"),
        (record_faults, book(key="abc"), "is not a digest"),
        (record_faults, book(seconds=91), "more than 90"),
        (claim_faults, book(cell()), "no claim"),
        (lab_faults, book(cell()), "no lab"),
        (
            lab_faults,
            book(cell("1", shows({"text/html": "<div data-lab='a'><script>"}))),
            "with its scripts",
        ),
        (quiz_faults, book(cell()), "0 questions"),
    ],
)
def test_faulty_cells_are_found(check, notebook, fault):
    assert any(fault in found for found in check(notebook)), check(notebook)


@pytest.mark.parametrize("part", ["record", "card"])
def test_a_falsified_claim_is_found(part):
    bundle = json.loads(json.dumps(CLAIM._repr_mimebundle_()))
    if part == "record":
        bundle[MIME]["measured"]["m"] = 2.0
    else:
        bundle["text/html"] = bundle["text/html"].replace("<dd>1<", "<dd>2<")
    assert "shows something else" in claim_faults(book(cell("1", shows(bundle))))[0]


def test_an_unexplained_answer_is_found():
    html = (
        "<div class=quiz><fieldset class=quiz-question><legend>Q?</legend>"
        "<div class=quiz-option data-right=false><label>no</label>"
        "<p class=quiz-why><strong>Not quite.</strong> </p></div></fieldset></div>"
    )
    found = quiz_faults(book(cell("1", shows({"text/html": html}))))
    assert "'no' is not explained: Q?" in found
    assert "not one right answer: Q?" in found


def test_a_primer_with_exercises_or_without_questions_is_found():
    text = BOX.format("objectives", GOALS) + FIVE
    found = primer_faults(text, book(cell()))
    assert found == [
        "the primer has exercises",
        "3 objectives, 0 questions in the quiz",
    ]


def test_an_id_used_twice_is_found():
    one = ("04-a", {"id": "same"})
    assert ids_used_twice([one, copy.deepcopy(one)]) == ["same"]
