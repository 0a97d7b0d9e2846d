"""Show each figure's light drawing on light pages and its dark one on dark pages."""

import hashlib
import os
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from unrolled.figures.style import recolour
from unrolled_book import notebooks


def dark_twins(path: Path) -> dict[str, str]:
    """Return the dark drawing of every figure in a notebook, by its light file name."""
    twins = {}
    for _, content in notebooks.outputs(notebooks.read(path), "image/svg+xml"):
        light = notebooks.text(content)
        lines = os.linesep.join(light.splitlines())  # as myst-nb writes and hashes it
        twins[f"{hashlib.sha256(lines.encode()).hexdigest()}.svg"] = recolour(light)
    return twins


def add_dark_twins(app: Sphinx, doctree: nodes.document) -> None:
    """Put the dark drawing beside the light one; the theme's style shows either."""
    path = Path(app.srcdir) / f"{app.env.docname}.ipynb"
    if not path.is_file():
        return
    twins = dark_twins(path)
    for image in list(doctree.findall(nodes.image)):
        light = Path(image["uri"])
        if light.name not in twins:
            continue
        dark = light.with_name(f"{light.stem}-dark.svg")
        (Path(app.outdir).parent / "jupyter_execute" / dark.name).write_text(
            twins[light.name], encoding="utf-8"
        )
        twin = image.deepcopy()
        twin["uri"] = dark.as_posix()
        twin["classes"] = [*image["classes"], "figure-dark"]
        image["classes"] = [*image["classes"], "figure-light"]
        image.parent.insert(image.parent.index(image) + 1, twin)


def setup(app: Sphinx) -> None:
    """Run before Sphinx collects the images it must copy."""
    app.connect("doctree-read", add_dark_twins, priority=100)
