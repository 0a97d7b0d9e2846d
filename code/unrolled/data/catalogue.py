"""All data there is: every corpus and every set from elsewhere, found by looking.

A module of ``data.corpora`` holds its `Source`, one of ``data.elsewhere`` its `Home`;
there is no other list of them. This is for commands and pages that show all. No reader
of data may import it: what one corpus gives would then rest on the pins of all.
"""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from unrolled.data import corpora, elsewhere
from unrolled.data.fetch.home_files import Home
from unrolled.data.fetch.sources import Source

T = TypeVar("T", Source, Home)


@cache
def sources() -> dict[str, Source]:
    """Return what the corpora are read from, by name."""
    return _held(corpora, Source)


@cache
def homes() -> dict[str, Home]:
    """Return what can be had from elsewhere, by name."""
    return _held(elsewhere, Home)


def find_source(name: str) -> Source:
    """Return the source of that name, or say which there are."""
    if name not in sources():
        raise ValueError(f"{name=} is no source; there are {', '.join(sources())}")
    return sources()[name]


def find_home(name: str) -> Home:
    """Return the home of that name, or say which there are."""
    if name not in homes():
        raise ValueError(f"{name=} is not one of {', '.join(homes())}")
    return homes()[name]


def _held(package: ModuleType, kind: type[T]) -> dict[str, T]:
    """Return what the modules of a package hold of a kind, sorted by name."""
    found = {
        value.name: value
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        for value in vars(import_module(module.name)).values()
        if isinstance(value, kind)
    }
    return dict(sorted(found.items()))
