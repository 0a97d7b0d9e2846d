"""Put a lab's scripts on the pages that show it, and on no other."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Add the shared core, the models a lab names, and the lab itself."""
    names = sorted(set(re.findall(r'data-lab="([\w-]+)"', context.get("body", ""))))
    if not names:
        return
    app.add_css_file("labs/core.css")
    app.add_js_file("labs/core.js", loading_method="defer")
    for name in names:
        script = Path(app.srcdir) / "book" / "_static" / "labs" / f"{name}.js"
        for model in models_of(script):
            app.add_js_file(f"models/{model}.js", loading_method="defer")
        app.add_js_file(f"labs/{name}.js", loading_method="defer")


def models_of(script: Path) -> list[str]:
    """Return the models that a lab's script names in a line ``// models: a, b``."""
    line = re.search(r"^// models: (.*)$", script.read_text(encoding="utf-8"), re.M)
    return [name.strip() for name in line[1].split(",")] if line else []


def setup(app: Sphinx) -> None:
    """Register the scripts."""
    app.connect("html-page-context", add_scripts)
