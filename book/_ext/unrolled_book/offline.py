"""Make the book need no network: carry MathJax in it, and leave Thebe out.

The pinned wheel ``sphinx-mathjax-offline`` brings MathJax 3.2.2 (Apache-2.0). We copy
what an HTML page can ask for, and leave the other output formats out. Thebe, which
Jupyter Book puts on every page, would fetch itself from the web and connect to a kernel
there.
"""

import shutil
from importlib.metadata import files
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

# What is copied; the script comes last, for it marks the copy as whole.
PARTS = ("output/chtml/fonts", "input/tex/extensions", "a11y", "sre", "tex-chtml.js")


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Copy MathJax into the built book, once."""
    target = Path(app.outdir) / "_static" / "mathjax"
    if error or app.builder.format != "html" or (target / PARTS[-1]).is_file():
        return
    found = next(
        f for f in files("sphinx-mathjax-offline") or () if f.name == "tex-chtml.js"
    )
    source = Path(found.locate()).parent
    target.mkdir(parents=True, exist_ok=True)
    apache = (Path(app.srcdir) / "LICENSE").read_text(encoding="utf-8")
    (target / "LICENCE.txt").write_text(
        "MathJax 3.2.2, copyright The MathJax Consortium, Apache License 2.0.\n\n"
        + apache[apache.index("Apache License\n") :],
        encoding="utf-8",
    )
    for part in PARTS:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copyfile(source / part, target / part)


def drop_thebe(app: Sphinx, _: Config) -> None:
    """Undo what sphinx-thebe registered, before it acts."""
    for listeners in app.events.listeners.values():
        listeners[:] = [x for x in listeners if x.handler.__module__ != "sphinx_thebe"]
    styles = app.registry.css_files
    styles[:] = [style for style in styles if style[0] != "sphinx-thebe.css"]


def setup(app: Sphinx) -> None:
    """Register both; ``mathjax_path`` in _config.yml points at the copy."""
    app.connect("config-inited", drop_thebe)
    app.connect("build-finished", copy_mathjax)
