"""Labs: figures the reader can move, in the book's page and in a live notebook.

``lab`` shows a figure that computes in the page itself; ``live`` is its counterpart
with ipywidgets, whose numbers come from this package. The lab ``some-name`` has its
script in ``book/_static/labs/some-name.js`` and its counterpart in the module
``unrolled.widgets.some_name``, as a function ``live()``. Only here is ipywidgets
imported.
"""

import os
import re
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ipywidgets

from unrolled.runtime import book_folder

#: What a notebook stores of a lab: a record with its name.
MIME = "application/vnd.unrolled.lab+json"


def lab_names() -> list[str]:
    """Return the names of the labs there are, in order."""
    folder = book_folder() / "_static" / "labs"
    return sorted(path.stem for path in folder.glob("*.js") if path.stem != "core")


def lab_files(name: str) -> list[Path]:
    """Return what a page with this lab loads, in order: style, core, models, lab.

    A lab names the models it can show in a line ``// models: one, two``; those that
    have not been exported are left out, and the lab does without.
    """
    if name not in lab_names():
        raise ValueError(f"no lab {name!r}; the labs are {', '.join(lab_names())}")
    static = book_folder() / "_static"
    script = static / "labs" / f"{name}.js"
    named = re.search(r"^// models: (.+)$", script.read_text("utf-8"), re.MULTILINE)
    stems = re.findall(r"[\w-]+", named[1]) if named else []
    models = [static / "models" / f"{stem}.js" for stem in stems]
    core = [static / "labs" / "core.css", static / "labs" / "core.js"]
    return [*core, *(path for path in models if path.is_file()), script]


@dataclass(frozen=True, slots=True)
class Lab:
    """An interactive figure: a small mark in the built book, complete elsewhere."""

    name: str

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, Any]:
        words = f"Lab “{self.name}”: an interactive figure; run the cell to see it"
        stored = {MIME: {"name": self.name}, "text/plain": words}
        if os.environ.get("UNROLLED_BOOK"):
            return stored  # the page draws it when it is built
        return stored | {"text/html": self.complete()}

    def placeholder(self) -> str:
        """Return the mark that the book's own scripts turn into the figure."""
        return (
            f'<div data-lab="{escape(self.name)}"><p>This is an interactive figure, '
            f"“{escape(self.name)}”. It needs JavaScript; if you read this in a "
            "notebook, run the cell (and trust the notebook).</p></div>"
        )

    def complete(self) -> str:
        """Return the figure with its style and scripts inside.

        Inline rather than in an iframe: JupyterLab and VS Code run the scripts of a
        trusted output in the page, Colab puts every output into a frame of its own,
        and only inline does the output take the height and the theme of its notebook.
        The core leaves an earlier copy of itself alone, so cells do not disturb
        each other.
        """
        style, *scripts = (path.read_text("utf-8") for path in lab_files(self.name))
        # "</script>" inside a script would end it.
        safe = [re.sub(r"</(?=script)", r"<\\/", text) for text in scripts]
        # The page is long since loaded in a notebook; in a bare file it may not be.
        safe.append("setTimeout(window.UnrolledLab.mountAll, 0);")
        inline = "\n".join(f"<script>\n{text}\n</script>" for text in safe)
        return f"{self.placeholder()}\n<style>\n{style}\n</style>\n{inline}"


def lab(name: str) -> Lab:
    """Show the lab of this name; ``ValueError`` says which labs there are."""
    lab_files(name)
    return Lab(name)


def live(name: str) -> ipywidgets.VBox:
    """Return the lab's counterpart for a live notebook, computed by the package."""
    modules = {each: f"{__name__}.{each.replace('-', '_')}" for each in lab_names()}
    there = [each for each, module in modules.items() if find_spec(module)]
    if name not in there:
        raise ValueError(
            f"no live version of {name!r}; there is one of {', '.join(there)}"
        )
    return import_module(modules[name]).live()
