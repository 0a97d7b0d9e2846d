"""Symbol tasks: copy, reverse, remember for a while, count odd or even.

Each has one right answer, found by a rule that fits in a sentence, and a length that
the caller sets. Symbols are ids ``first_id``, ``first_id + 1``, … so that room may be
left below them for padding, start and end. Axes: B rows, T steps, E symbols, one-hot.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.made.recall import N_DISTRACTORS
from unrolled.shapes import at_least


@dataclass(frozen=True, kw_only=True, slots=True)
class SymbolPair:
    """A source and the target that a rule makes of it, as symbol ids."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def _check_lengths(shortest: int, longest: int, least: int) -> None:
    at_least(least, shortest=shortest)
    if longest < shortest:
        raise ValueError(f"{longest=} must be at least {shortest=}")


def _strings(
    n_rows: int,
    shortest: int,
    longest: int,
    n_symbols: int,
    first_id: int,
    generator: torch.Generator,
) -> list[tuple[int, ...]]:
    """Draw strings of symbols; every length in the range is as likely as any other."""
    at_least(1, n_rows=n_rows, n_symbols=n_symbols)
    at_least(0, first_id=first_id)
    _check_lengths(shortest, longest, 1)
    lengths = torch.randint(shortest, longest + 1, (n_rows,), generator=generator)
    ids = torch.randint(n_symbols, (n_rows, longest), generator=generator) + first_id
    pairs = zip(ids.tolist(), lengths.tolist(), strict=True)
    return [tuple(row[:length]) for row, length in pairs]


def copying(
    n_rows: int,
    shortest: int,
    longest: int,
    *,
    n_symbols: int = 10,
    first_id: int = 0,
    generator: torch.Generator,
) -> list[SymbolPair]:
    """Draw pairs whose target is the source."""
    strings = _strings(n_rows, shortest, longest, n_symbols, first_id, generator)
    return [SymbolPair(source=string, target=string) for string in strings]


def reversal(
    n_rows: int,
    shortest: int,
    longest: int,
    *,
    n_symbols: int = 10,
    first_id: int = 0,
    generator: torch.Generator,
) -> list[SymbolPair]:
    """Draw pairs whose target is the source from back to front."""
    strings = _strings(n_rows, shortest, longest, n_symbols, first_id, generator)
    return [SymbolPair(source=string, target=string[::-1]) for string in strings]


def varying_recall(
    n_rows: int,
    shortest: int,
    longest: int,
    *,
    n_symbols: int = 8,
    generator: torch.Generator,
) -> tuple[Batch, Tensor]:
    """Draw delayed recall with a lag of its own for each row; give back the lags (B,).

    As in :func:`unrolled.data.made.recall.recall`, the answer ``y`` (B,) is the only
    symbol among distractors, asked for at the end. Here it comes ``lag`` steps before
    the end, with distractors on both sides: all rows have T = longest + 1 steps, there
    is no padding, and the step at which the symbol comes says nothing about which one
    it is. With ``shortest == longest`` it is exactly delayed recall.
    """
    at_least(1, n_rows=n_rows)
    at_least(2, n_symbols=n_symbols)
    _check_lengths(shortest, longest, 0)
    lags = torch.randint(shortest, longest + 1, (n_rows,), generator=generator)
    y = torch.randint(n_symbols, (n_rows,), generator=generator)
    shape = (n_rows, longest + 1)
    ids = n_symbols + torch.randint(N_DISTRACTORS, shape, generator=generator)
    ids.scatter_(1, (longest - lags)[:, None], y[:, None])  # (B, T)
    x = F.one_hot(ids, n_symbols + N_DISTRACTORS).float()
    return Batch(x=x, y=y), lags


def running_parity(
    n_rows: int, n_steps: int, *, p_one: float = 0.5, generator: torch.Generator
) -> Batch:
    """Draw bits ``x`` and, at each step, whether the ones so far are odd: (B, T) both.

    With fair bits every window of inputs that leaves out one earlier bit says nothing
    about the answer.
    """
    at_least(1, n_rows=n_rows, n_steps=n_steps)
    if not 0 <= p_one <= 1:
        raise ValueError(f"{p_one=} must be a probability between 0 and 1")
    x = (torch.rand(n_rows, n_steps, generator=generator) < p_one).long()
    return Batch(x=x, y=x.cumsum(dim=1) % 2)
