"""Cut training short: a replay takes two updates where the experiment took thousands.

Loops ask :func:`enough` after every update. Outside of :func:`at_most` it is never
enough.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_MOST: ContextVar[int | None] = ContextVar("most updates", default=None)


@contextmanager
def at_most(updates: int) -> Iterator[None]:
    """Let every training loop that runs meanwhile end after so many ``updates``."""
    if updates < 1:
        raise ValueError(f"updates={updates} must be at least 1")
    before = _MOST.set(updates)
    try:
        yield
    finally:
        _MOST.reset(before)


def enough(done: int) -> bool:
    """Say whether a loop must end now that ``done`` updates are made."""
    most = _MOST.get()
    return most is not None and done >= most
