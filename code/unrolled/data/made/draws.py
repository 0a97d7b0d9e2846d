"""Drawing: the few things that every generator needs."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Concatenate, ParamSpec, TypeVar

import torch

from unrolled.data.batch import Batch

AHEAD = 16  # batches drawn at once

P = ParamSpec("P")
T = TypeVar("T")


def stream(draw: Callable[P, T], *args: P.args, **settings: P.kwargs) -> Iterator[T]:
    """Call ``draw`` without end: fresh examples as long as anybody asks."""
    while True:
        yield draw(*args, **settings)


def stream_batches(
    draw: Callable[Concatenate[int, P], Batch],
    n_rows: int,
    *args: P.args,
    **settings: P.kwargs,
) -> Iterator[Batch]:
    """Draw batches of ``n_rows`` without end, many at once: small ones cost less so."""
    for many in stream(draw, AHEAD * n_rows, *args, **settings):
        yield from many.split(n_rows)


def choose(options: Sequence[T], n: int, *, generator: torch.Generator) -> list[T]:
    """Draw ``n`` of the options, each as likely as any other, with replacement."""
    if not options:
        raise ValueError("options is empty: there is nothing to choose from")
    places = torch.randint(len(options), (n,), generator=generator)
    return [options[place] for place in places.tolist()]


def python_random(generator: torch.Generator) -> Random:
    """Return Python's own generator, seeded by ours: quicker at a word at a time."""
    return Random(int(torch.randint(2**62, (), generator=generator)))
