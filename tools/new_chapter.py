"""Make a new chapter that builds and runs: page, exercise, room, contents.

    make chapter N=07 NAME=lstm

Everything is made from ``tools/chapter_template`` and is the author's to replace.
Nothing is overwritten; number and name must be those of ``book/outline.yml``.
"""

import re
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
import yaml

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = Path(__file__).parent / "chapter_template"
EXERCISES = "Graded exercises"  # the part of the contents
NEXT = """\
Made chapter {number}:
{files}
and its entries in book/_toc.yml. Now:

1. make recipes RECIPE={recipe}; make execute CHAPTER={nn}; make book: it runs and
   builds as it is.
2. Replace the template's words, code, experiment, figure, claim and quiz by yours; keep
   to the form (python tools/form.py). A main page has 6 to 10 claims.
3. Add a lab: book/_static/labs/NAME.js, and lab("NAME") on the page.
4. Write the graded exercise as exercises/README.md says: 5 to 7 questions, of every
   kind, at least one for each objective.
5. Map the decks' lines to your sections (book/decks.yml), and cite the works that wait
   for this chapter (keywords in book/references.bib).
6. Further pages, if it needs them: chapters/{stem}-TOPIC.md with 'page: core' or
   'page: study' in the front matter, under 'sections:' of the chapter in book/_toc.yml.

Until 2 to 5 are done, tests ask for them: see CONTRIBUTING.md.
"""


class Plan(NamedTuple):
    """A chapter as the outline plans it."""

    stem: str
    title: str
    part: str

    @property
    def room(self) -> str:
        """The name of its package, such as ``c07_lstm``."""
        return "c" + self.stem.replace("-", "_")

    @property
    def recipe(self) -> str:
        """The name of its experiment; all recipes of the book have different ones."""
        return self.stem[3:].replace("-", "_") + "_experiment"


def planned(root: Path) -> list[Plan]:
    """Return the chapters of the outline, in order."""
    parts = yaml.safe_load((root / "book" / "outline.yml").read_text("utf-8"))
    return [
        Plan(chapter["stem"], chapter["title"], part["part"])
        for part in parts
        for chapter in part["chapters"]
    ]


def find(root: Path, number: str, name: str) -> Plan:
    """Return the plan of the chapter, or say what the outline has instead."""
    stem = f"{int(number):02d}-{name}" if number.isdigit() else ""
    plans = {plan.stem: plan for plan in planned(root)}
    if stem in plans:
        return plans[stem]
    of_number = [known for known in plans if stem and known[:2] == stem[:2]]
    instead = f"it plans {of_number[0]}" if of_number else f"it has {', '.join(plans)}"
    raise ValueError(
        f"N={number!r} NAME={name!r} is not in book/outline.yml: {instead}"
    )


def texts(plan: Plan) -> dict[str, str]:
    """Return the files of a new chapter, by their place in the repository."""
    nn, name = plan.stem[:2], plan.stem[3:]
    words = {
        "name": name,
        "title": plan.title,
        "title_lower": _uncapitalised(plan.title),
        "number": str(int(nn)),
        "room": plan.room,
        "recipe": plan.recipe,
    }
    room = f"code/unrolled/chapters/{plan.room}"
    made = {
        f"chapters/{plan.stem}.md": "page.md",
        f"exercises/{plan.stem}.md": "exercise.md",
        f"{room}/__init__.py": "room_init.py.txt",
        f"{room}/{plan.recipe}.py": "experiment.py.txt",
        f"{room}/figures.py": "figures.py.txt",
        f"{room}/quiz.py": "quiz.py.txt",
        f"tests/package/test_{plan.room}.py": "test_room.py.txt",
    }
    found = {path: _fill(template, words) for path, template in made.items()}
    found[f"book/exercise-{nn}.md"] = f"```{{graded-exercise}} {nn}\n```\n"
    return found


def with_entries(toc: str, plan: Plan, plans: list[Plan]) -> str:
    """Return the contents with the chapter in its part, and its exercise."""
    captions = list(dict.fromkeys(one.part for one in plans))
    nn = plan.stem[:2]
    head, *blocks = re.split(r"^(?=  - caption: )", toc, flags=re.M)
    parts = {re.match(r"  - caption: (.*)", block)[1]: block for block in blocks}
    if EXERCISES not in parts:
        raise ValueError(f"book/_toc.yml has no part {EXERCISES!r}")
    if plan.part not in parts:
        empty = f"  - caption: {plan.part}\n    chapters:\n"
        later = captions[captions.index(plan.part) + 1 :]
        names = list(parts)
        place = next((n for n in names if n in later), EXERCISES)
        names.insert(names.index(place), plan.part)
        parts = {name: parts.get(name, empty) for name in names}
    parts[plan.part] = _insert(
        parts[plan.part], "chapters/", nn, f"chapters/{plan.stem}"
    )
    parts[EXERCISES] = _insert(
        parts[EXERCISES], "book/exercise-", nn, f"book/exercise-{nn}"
    )
    return head + "".join(parts.values())


def make(root: Path, number: str, name: str) -> tuple[Plan, list[str]]:
    """Write the chapter into the repository at ``root``; return what was written."""
    plan = find(root, number, name)
    files = texts(plan)
    if there := [path for path in files if (root / path).exists()]:
        raise FileExistsError(f"not overwritten: {', '.join(there)}")
    toc = root / "book" / "_toc.yml"
    contents = with_entries(toc.read_text("utf-8"), plan, planned(root))
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    toc.write_text(contents, encoding="utf-8")
    return plan, list(files)


def main(
    number: Annotated[str, typer.Argument(help="The chapter's number, such as 07.")],
    name: Annotated[str, typer.Argument(help="Its name in the outline: lstm.")],
) -> None:
    """Make a new chapter."""
    try:
        plan, files = make(ROOT, number, name)
    except (ValueError, FileExistsError) as error:
        sys.exit(str(error))
    listed = "\n".join(f"  {path}" for path in files)
    nn = plan.stem[:2]
    print(
        NEXT.format(
            number=int(nn), nn=nn, stem=plan.stem, recipe=plan.recipe, files=listed
        )
    )


def _uncapitalised(title: str) -> str:
    """Return ``title`` as it stands after a colon: "GRU, stacks" keeps its letters."""
    first = title.split()[0].strip(",:")
    short = len(first) > 1 and first.isupper()
    return title if short else title[0].lower() + title[1:]


def _fill(template: str, words: dict[str, str]) -> str:
    text = (TEMPLATE / template).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda found: words[found[1]], text)


def _insert(block: str, kind: str, nn: str, docname: str) -> str:
    """Put an entry among those of its kind in a part, in the order of numbers."""
    lines = block.rstrip("\n").split("\n")
    entries = [
        (found[1], place)
        for place, line in enumerate(lines)
        if (found := re.match(rf"      - file: {kind}(\d\d)", line))
    ]
    later = [place for number, place in entries if number > nn]
    last = [place for number, place in entries if number < nn]
    if later:
        place = later[0]
    elif last:  # behind the last one, and what is nested below it
        place = last[-1] + 1
        while place < len(lines) and lines[place].startswith("        "):
            place += 1
    else:
        place = 2  # the caption, "chapters:"
    return "\n".join([*lines[:place], f"      - file: {docname}", *lines[place:], ""])


if __name__ == "__main__":
    typer.run(main)
