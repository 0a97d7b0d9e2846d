"""Figures that no chapter's notebook holds: drawn by the package when the book is.

``{drawing} unrolled.figures.MODULE.FUNCTION`` calls the function, which is decorated
with ``@themed``, and shows what it draws as a numbered figure with a twin for dark
pages. The caption is the body. Options: ``name`` and ``alt``, as a chapter's figures
have them, and ``data``, a YAML file below the root that is handed to the function.
"""

import hashlib
import importlib
import os
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import unrolled
from unrolled.figures.style import ThemedFigure
from unrolled.recipes._sources import imported_modules


def draw(function: str, *arguments: Any) -> ThemedFigure:
    """Call the drawing function of that dotted name, or say why it cannot be."""
    module, _, name = function.rpartition(".")
    if not module.startswith("unrolled.figures."):
        raise ValueError(f"{function!r} is not a function of unrolled.figures")
    drawn = getattr(importlib.import_module(module), name, None)
    if not callable(drawn):
        raise ValueError(f"{module} has no function {name!r}")
    figure = drawn(*arguments)
    if not isinstance(figure, ThemedFigure):
        raise ValueError(f"{function} is not decorated with @themed")
    return figure


class Drawing(SphinxDirective):
    """A drawing of the package as a figure of the page."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged_required,
        "alt": directives.unchanged_required,
        "data": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Draw, and draw anew when the code behind it or its data have changed."""
        function = self.arguments[0]
        for part in ("name", "alt"):
            if part not in self.options:
                raise self.error(f"{function}: a drawing needs the option {part!r}")
        if not self.content:
            raise self.error(f"{function}: a drawing needs a caption")
        package = Path(unrolled.__file__).parent
        for path in imported_modules(f"import {function.rpartition('.')[0]}", package):
            self.env.note_dependency(str(path))
        try:
            drawn = draw(function, *self._data())
        except (ImportError, OSError, ValueError) as error:
            raise self.error(str(error)) from error
        figure = nodes.figure(align="default")
        for svg, kind in ((drawn.light, "figure-light"), (drawn.dark, "figure-dark")):
            figure += nodes.image(
                uri=self._write(svg), alt=self.options["alt"], classes=[kind]
            )
        words, messages = self.state.inline_text(" ".join(self.content), self.lineno)
        figure += nodes.caption("", "", *words)
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure, *messages]

    def _data(self) -> list[Any]:
        if "data" not in self.options:
            return []
        path = Path(self.env.srcdir) / self.options["data"]
        self.env.note_dependency(str(path))
        return [yaml.safe_load(path.read_text(encoding="utf-8"))]

    def _write(self, svg: str) -> str:
        """Write a drawing where myst-nb writes a chapter's; return its address."""
        folder = Path(self.env.app.outdir).parent / "jupyter_execute"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(svg.encode()).hexdigest()}.svg"
        path.write_text(svg, encoding="utf-8")
        return "/" + Path(os.path.relpath(path, self.env.srcdir)).as_posix()


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("drawing", Drawing)
