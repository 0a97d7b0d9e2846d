"""What ``make bench`` measured, ``book/bench.json``, as tables.

``{speeds} GROUP`` lists the cases of a group: what, against what, the share of their
time that ours takes with its quartiles, and the share that we set out for.

``{grading-cost}`` sets what grading a submission costs beside other graders.

``{gpt-recipes} modern`` sets the modern recipe for a GPT beside the plain one;
``{gpt-recipes} apart`` sets it beside itself with one part exchanged.
"""

import json
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from unrolled_book.tables import Row, stacked_table

DATA = "book/bench.json"
RECIPES = "book/results/gpt_recipes.json"
HEAD = ["what", "against", "share of their time", "half of the rounds", "goal"]


def measured(root: Path) -> dict[str, Any]:
    """Return all that was measured for the book that stands in ``root``."""
    path = root / DATA
    if not path.is_file():
        raise FileNotFoundError(f"{DATA} is missing: run 'make bench'")
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def groups(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the measured cases, by group."""
    return dict(measured(root)["groups"])


def share(value: float) -> str:
    """Return a share as a reader wants it: two figures that mean something."""
    return f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"


class Speeds(SphinxDirective):
    """The table of a group."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build the table, and have it rebuilt when the cases are measured anew."""
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / DATA))
        known = groups(root)
        name = self.arguments[0]
        if name not in known:
            raise self.error(f"{DATA} has no group {name!r}, but {', '.join(known)}")
        rows = [
            Row(
                f"speed-{name}-{number}",
                [
                    escape(row["what"]),
                    escape(row["against"]),
                    f"<strong>{share(row['share'])}</strong>",
                    f"{share(row['low'])} to {share(row['high'])}",
                    "none" if row["reach"] is None else share(row["reach"]),
                ],
            )
            for number, row in enumerate(known[name], start=1)
        ]
        return stacked_table(f"Speeds: {name}", HEAD, rows)


class GradingCost(SphinxDirective):
    """The table of graders."""

    def run(self) -> list[nodes.Node]:
        """Build the table, and have it rebuilt when the cost is measured anew."""
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / DATA))
        cost = measured(root)["grading"]
        ours = [
            f"Unrolled: {escape(cost['what'])}",
            f"<strong>{cost['seconds']}</strong>",
        ]
        others = [[escape(name), str(n)] for name, n in cost["others"].items()]
        rows = [
            Row(f"grading-cost-{number}", cells)
            for number, cells in enumerate([ours, *others], start=1)
        ]
        return stacked_table("Graders", ["grader", "CPU seconds a submission"], rows)


def signed(value: float) -> str:
    """Return a difference with its sign, as typographers have it."""
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


class GPTRecipes(SphinxDirective):
    """A table of what ``unrolled run gpt_recipes`` found."""

    required_arguments = 1
    heads: ClassVar[dict[str, list[str]]] = {
        "modern": ["steps", "loss", "above the plain one", "share of its time"],
        "apart": ["instead", "loss", "above the whole", "share of its time"],
    }

    def run(self) -> list[nodes.Node]:
        """Build the table, and have it rebuilt when the recipe was run anew."""
        path = Path(self.env.srcdir) / RECIPES
        self.env.note_dependency(str(path))
        kind = self.arguments[0]
        if kind not in self.heads:
            raise self.error(f"{kind!r} must be one of {', '.join(self.heads)}")
        summary = json.loads(path.read_text(encoding="utf-8"))["summary"]
        rows = [
            Row(
                f"gpt-{kind}-{number}",
                [
                    escape(name),
                    f"{row['loss']:.3f}",
                    f"{signed(row['above'])} ({signed(row['above, low'])} to "
                    f"{signed(row['above, high'])})",
                    share(row["share of time"]),
                ],
            )
            for number, (name, row) in enumerate(summary[kind].items(), start=1)
        ]
        return stacked_table(f"The modern recipe, {kind}", self.heads[kind], rows)


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("speeds", Speeds)
    app.add_directive("grading-cost", GradingCost)
    app.add_directive("gpt-recipes", GPTRecipes)
