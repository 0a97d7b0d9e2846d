"""What this book adds to Sphinx: claims, a ledger, two-theme figures, labs, bylines."""

from importlib import import_module

from sphinx.application import Sphinx

PARTS = (
    "arithmetic",
    "byline",
    "citations",
    "claims",
    "data_cards",
    "deck_map",
    "decks",
    "drawings",
    "errata",
    "exercise_links",
    "exercise_pages",
    "further",
    "head",
    "labs",
    "launch",
    "ledger",
    "milestones",
    "numbers",
    "offline",
    "outline",
    "package",
    "lectures",
    "records",
    "rebuild",
    "repairs",
    "speeds",
    "themes",
    "times",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register every part; each has its own module."""
    for part in PARTS:
        import_module(f"{__name__}.{part}").setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
