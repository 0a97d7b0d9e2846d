"""What this book adds to Sphinx: claims, a ledger, two-theme figures, labs, bylines."""

from sphinx.application import Sphinx

from unrolled_book import byline, claims, labs, offline, repairs, themes


def setup(app: Sphinx) -> dict[str, bool]:
    """Register every part; each has its own module."""
    for part in (byline, claims, labs, offline, repairs, themes):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
