"""Tell works of one author and year apart: Mikolov et al. [2013a], [2013b].

Their keys have the letters already (``mikolov2013``, ``mikolov2013b``), and the style
prints the year alone.
"""

import re
from collections.abc import Mapping
from typing import Any

from pybtex.database import Entry
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_KEY = re.compile(r"([a-z]+)(\d{4})([b-z]?)")


def tell_years_apart(entries: Mapping[str, Entry]) -> None:
    """Give the letter of its key to the year of each entry that needs one."""
    for key, entry in entries.items():
        if found := _KEY.fullmatch(key):
            name, year, letter = found.groups()
            if letter or f"{name}{year}b" in entries:
                entry.fields["year"] = f"{year}{letter or 'a'}"


def on_read(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Do so before pages are read."""
    domain: Any = env.domains.get("cite")
    if domain is not None:  # a book may cite nothing
        tell_years_apart(domain.bibdata.data.entries)


def setup(app: Sphinx) -> None:
    """Register it."""
    app.connect("env-before-read-docs", on_read)
