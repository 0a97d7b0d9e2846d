"""Read pages again when something that all of them rest on has changed.

Sphinx looks at a page's own source. What this extension makes of it, the outline, the
table of contents and the bibliography stand on other pages too; if one of them changes,
every page is read anew. So it is after a build with warnings: Sphinx would not read the
faulty page again, and the next build would pass.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import unrolled

SHARED = ("book/outline.yml", "book/_toc.yml", "book/references.bib")
PACKAGE = (  # used by this
    "book/*.py",
    "chapters/pages.py",
    "figures/style.py",
    "widgets/__init__.py",
)


def shared_files(root: Path) -> list[Path]:
    """Return what every page rests on."""
    package = Path(unrolled.__file__).parent
    here = sorted(Path(__file__).parent.glob("*.py"))
    labs = sorted((root / "book" / "_static" / "labs").glob("*.js"))
    named = [root / name for name in SHARED]
    named += [path for name in PACKAGE for path in sorted(package.glob(name))]
    return [path for path in [*here, *named, *labs] if path.is_file()]


def all_if_shared_changed(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> Iterable[str]:
    """Return every page if a shared file is another than at the last build."""
    files = shared_files(Path(app.srcdir))
    now = hashlib.sha256(b"\0".join(f.read_bytes() for f in files)).hexdigest()
    before, env.unrolled_shared = getattr(env, "unrolled_shared", ""), now
    return env.found_docs if before != now else ()


def forget_faulty(app: Sphinx, error: Exception | None) -> None:
    """Throw the record of a build with warnings away."""
    if error or app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Register both."""
    app.connect("env-get-outdated", all_if_shared_changed)
    app.connect("build-finished", forget_faulty)
