"""Numbers in words, English to German: units come before tens.

*Twenty-four* is *vierundzwanzig*: inside every pair of digits the order crosses, and
elsewhere it does not. German writes a number as one long word; we cut it into the
pieces it is built of, so that each piece has its counterpart. ``num2words`` names the
small numbers; how they are put together is spelt out here, with what every piece
stands for, and so the true alignment is known. There are too few numbers below 100 to
divide: all of them are train's, and the others' begin at three digits.
"""

from dataclasses import dataclass
from functools import cache

import torch
from num2words import num2words

from unrolled.data.splits import check_part, part_of
from unrolled.shapes import at_least

MOST_DIGITS = 6
LEAST_HELD_OUT = 3  # digits of the shortest numbers in validation and test
Piece = tuple[str, str | None]  # what is written, and what it stands for (if anything)


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number in both languages; ``alignment`` pairs source and target places."""

    value: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]


def key(value: int) -> str:
    """Return the name by which a number falls to train, validation or test.

    Numbers below 100 share one name, and fall to train.
    """
    return f"number {value}" if value >= 100 else "number below 100"


@cache
def name(value: int, language: str) -> str:
    """Return the single word for 0 to 20, or for a multiple of ten below 100."""
    return num2words(value, lang=language)


@cache
def english_below_1000(value: int) -> tuple[Piece, ...]:
    """Return the English pieces of 1 to 999, each with what it stands for."""
    hundreds, rest = divmod(value, 100)
    pieces: list[Piece] = []
    if hundreds:
        pieces += [(name(hundreds, "en"), "how many hundreds"), ("hundred", "hundred")]
        pieces += [("and", None)] if rest else []
    if rest > 20 and rest % 10:
        pieces += [(name(rest - rest % 10, "en"), "tens")]
        rest %= 10
    if rest:
        pieces += [(name(rest, "en"), "units")]
    return tuple(pieces)


@cache
def german_below_1000(value: int) -> tuple[Piece, ...]:
    """Return the German pieces of 1 to 999, each with what it stands for.

    A one at the end is *ein* here; only the last word of a number says *eins*.
    """
    hundreds, rest = divmod(value, 100)
    pieces: list[Piece] = []
    if hundreds:
        pieces += [(short(hundreds), "how many hundreds"), ("hundert", "hundred")]
    if rest > 20 and rest % 10:
        pieces += [(short(rest % 10), "units"), ("und", None)]
        pieces += [(name(rest - rest % 10, "de"), "tens")]
    elif rest:
        pieces += [(short(rest), "units")]
    return tuple(pieces)


def short(value: int) -> str:
    """Return a German number word as it stands before another: *ein*, not *eins*."""
    return "ein" if value == 1 else name(value, "de")


def english(value: int) -> list[Piece]:
    """Return the English pieces of 0 to 999,999, without hyphens and commas."""
    if value == 0:
        return [(name(0, "en"), "units")]
    thousands, rest = divmod(value, 1000)
    pieces = thousand(english_below_1000(thousands), "thousand") if thousands else []
    pieces += [("and", None)] if thousands and 0 < rest < 100 else []
    return pieces + list(english_below_1000(rest))


def german(value: int) -> list[Piece]:
    """Return the German pieces of 0 to 999,999; joined, they are the German word."""
    if value == 0:
        return [(name(0, "de"), "units")]
    thousands, rest = divmod(value, 1000)
    pieces = thousand(german_below_1000(thousands), "tausend") if thousands else []
    pieces += german_below_1000(rest)
    if value % 100 == 1:
        pieces[-1] = (name(1, "de"), "units")
    return pieces


def thousand(pieces: tuple[Piece, ...], word: str) -> list[Piece]:
    """Return the pieces that count thousands, marked as such, and the word itself."""
    counts: list[Piece] = [(text, of and f"{of} of thousands") for text, of in pieces]
    return [*counts, (word, "thousand")]


def align(source: list[Piece], target: list[Piece]) -> tuple[tuple[int, int], ...]:
    """Pair the places of two pieces that stand for the same; *and*, *und* stay free."""
    places = {of: place for place, (_, of) in enumerate(target) if of}
    found = ((place, of) for place, (_, of) in enumerate(source) if of)
    return tuple((place, places[of]) for place, of in found)


def translate(value: int) -> Number:
    """Return the record of one number from 0 to 999,999."""
    if not 0 <= value < 10**MOST_DIGITS:
        raise ValueError(f"{value=} must be from 0 to {10**MOST_DIGITS - 1}")
    source, target = english(value), german(value)
    return Number(
        value=value,
        source=tuple(text for text, _ in source),
        target=tuple(text for text, _ in target),
        alignment=align(source, target),
    )


def numbers(
    n_rows: int,
    *,
    n_digits: tuple[int, int] = (1, MOST_DIGITS),
    part: str = "train",
    generator: torch.Generator,
) -> list[Number]:
    """Draw numbers of one part, every count of digits in the range alike.

    A number belongs to one part for ever, so none of test is ever drawn for train.
    Validation and test hold no number of one or two digits: there the range begins at
    3, whatever ``n_digits`` says.
    """
    at_least(1, n_rows=n_rows)
    least, most = n_digits
    if not 1 <= least <= most <= MOST_DIGITS:
        raise ValueError(f"{n_digits=} must be a range within 1 to {MOST_DIGITS}")
    check_part(part)
    if part != "train":
        least = max(least, LEAST_HELD_OUT)
    if most < least:
        raise ValueError(
            f"{n_digits=} must reach {least} for {part=}: numbers below 100 are in "
            "train only"
        )
    digits = torch.randint(least, most + 1, (n_rows,), generator=generator)
    values = [-1] * n_rows
    missing = list(range(n_rows))
    while missing:  # draw again, of the same length, what fell to another part
        drawn = uniform(digits[missing], generator)
        for row, value in zip(missing, drawn, strict=True):
            values[row] = value
        missing = [row for row in missing if part_of(key(values[row])) != part]
    return [translate(value) for value in values]


def uniform(digits: torch.Tensor, generator: torch.Generator) -> list[int]:
    """Draw one number for each count of digits, all of that length alike; 0 has one."""
    low = torch.where(digits == 1, 0, 10 ** (digits - 1))
    share = torch.rand(digits.shape, dtype=torch.float64, generator=generator)
    return (low + (share * (10**digits - low)).long()).tolist()
