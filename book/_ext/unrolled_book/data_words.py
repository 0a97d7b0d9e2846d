"""The words and numbers of the data cards, each card complete or refused by name.

Words are in ``book/data.yml``, numbers and examples in what the recipe ``data_cards``
has measured, licences in the package's own table.
"""

import ast
import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import unrolled
from unrolled.data.catalogue import sources
from unrolled_book.times import megabytes

WORDS = "book/data.yml"
NUMBERS = "book/results/data_cards.json"
PACKAGE = Path(unrolled.__file__).parent
KINDS = {"real": "Real", "both": "Part real, part made", "made": "Made"}
SPOKEN = ("what", "real", "split", "faults", "not_for")
FIELDS = {"card", "title", "kind", "module", "load", "chapters", *SPOKEN}
OURS = "Apache-2.0, as all code of this book"


class Card(NamedTuple):
    """A card, its words filled with the numbers that were measured."""

    name: str
    title: str
    kind: str
    module: str
    code: str
    words: dict[str, str]
    chapters: list[str]
    licence: str
    citation: str
    files: list[str]
    size: int
    counts: dict[str, dict[str, int]]
    example: dict[str, Any]

    @property
    def anchor(self) -> str:
        """Where on the page it stands."""
        return f"data-{self.name.replace('_', '-')}"


def read(root: Path) -> list[Card]:
    """Return the cards of the book that stands in ``root``, each complete."""
    try:
        entries = yaml.safe_load((root / WORDS).read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{WORDS}: {error}") from error
    record = json.loads((root / NUMBERS).read_text(encoding="utf-8"))
    measured = {unit["card"]: unit for unit in record["units"]}
    names = [entry.get("card") for entry in entries]
    if sorted(map(str, names)) != sorted(measured):
        wrong = sorted(set(map(str, names)) ^ set(measured)) or "a card twice"
        raise ValueError(f"{WORDS} and {NUMBERS} do not have the same cards: {wrong}")
    return [_card(entry, measured[entry["card"]]) for entry in entries]


def _card(entry: dict[str, Any], unit: dict[str, Any]) -> Card:
    """Return one card, or say which file and card are wrong, and how."""
    where = f"{WORDS}: {entry['card']}"
    own = {"licence", "citation", "file"}
    fetched = {"source"} if "source" in entry else own
    expected = FIELDS | (set() if entry.get("kind") == "made" else fetched)
    if wrong := expected ^ set(entry):
        raise ValueError(f"{where}: missing or not known: {', '.join(sorted(wrong))}")
    if entry["kind"] not in KINDS:
        raise ValueError(
            f"{where}: kind {entry['kind']!r} must be one of {', '.join(KINDS)}"
        )
    source = sources().get(entry.get("source", ""))
    if "source" in entry and source is None:
        raise ValueError(f"{where}: there is no source {entry['source']!r}")
    said = {name: entry[name] for name in (*SPOKEN, *own & set(entry))}
    for name, words in said.items():
        try:
            said[name] = words.format(**unit["facts"])
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            known = ", ".join(unit["facts"]) or "none"
            raise ValueError(
                f"{where}: {name}: {error!r}; measured are: {known}"
            ) from error
    files = [said["file"]] if "file" in said else ["None: it is made when you ask."]
    if source:
        files = [
            f"`{a.filename}`, version {a.version}, {megabytes(a.size)}"
            for a in source.archives
        ]
    return Card(
        name=entry["card"],
        title=entry["title"],
        kind=entry["kind"],
        module=f"unrolled.data.{entry['module']}",
        code=_code(where, entry["module"], entry["load"]),
        words=said,
        chapters=entry["chapters"],
        licence=source.licence if source else said.get("licence", OURS),
        citation=source.citation if source else said.get("citation", "This book"),
        files=files,
        size=source.size if source else 0,
        counts=unit["counts"],
        example=unit["example"],
    )


def _code(where: str, module: str, load: str) -> str:
    """Return the line that loads a set, after the imports that it needs."""
    path = PACKAGE / "data" / f"{module.replace('.', '/')}.py"
    if not path.is_file():
        raise ValueError(f"{where}: there is no module {module!r}")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    used = {n.id for n in ast.walk(ast.parse(load)) if isinstance(n, ast.Name)}
    if not used & defined:
        raise ValueError(f"{where}: load {load!r} calls nothing of {module}")
    lines = [f"from unrolled.data.{module} import {', '.join(sorted(used & defined))}"]
    if "generator" in used:
        lines.append("from unrolled.runtime import generator")
    return "\n".join([*lines, load])
