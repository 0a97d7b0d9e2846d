"""Put a lab's scripts on the pages that show it, and on no other."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from unrolled.runtime import book_folder
from unrolled.widgets import lab_files


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Add what each lab on the page needs: style, core, models, and the lab itself."""
    names = sorted(set(re.findall(r'data-lab="([\w-]+)"', context.get("body", ""))))
    files = dict.fromkeys(path for name in names for path in lab_files(name))
    for path in files:  # once each, in order
        uri = path.relative_to(book_folder() / "_static").as_posix()
        if path.suffix == ".css":
            app.add_css_file(uri)
        else:
            app.add_js_file(uri, loading_method="defer")


def setup(app: Sphinx) -> None:
    """Register the scripts."""
    app.connect("html-page-context", add_scripts)
