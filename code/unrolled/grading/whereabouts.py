"""Which modules have a function: it may be known by several names."""

import sys
from collections.abc import Iterator
from itertools import takewhile
from types import ModuleType

_INDEX: dict[int, list[tuple[ModuleType, str]]] = {}  # a function: where it is known
_INDEXED: set[str] = {"__main__"}


def whereabouts(thing: object) -> Iterator[tuple[ModuleType, str]]:
    """Yield every module that has a function, with its name there."""
    index_modules()
    for module, key in _INDEX.get(id(thing), ()):
        if vars(module).get(key) is thing:
            yield module, key


def index_modules() -> None:
    """Note which modules have which functions, of those not looked at so far.

    The preloaded process does it for torch: a worker that so much as counted all
    modules would copy much of its memory. What was imported since comes last.
    """
    for name in list(
        takewhile(lambda name: name not in _INDEXED, reversed(sys.modules))
    ):
        module = sys.modules[name]
        _INDEXED.add(name)
        if not isinstance(module, ModuleType):
            continue
        for key, value in list(vars(module).items()):
            if callable(value):
                _INDEX.setdefault(id(value), []).append((module, key))
