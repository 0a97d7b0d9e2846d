"""Dates across languages: the same four parts in another order.

``babel`` knows how each language writes a date. We let it write every part (weekday,
day, month, year) by itself, so that we know which token says what, and so the true
alignment. Hungarian puts the year first and the weekday last: from British English the
four parts come in exactly the reverse order. A short style may say two digits of the
year only; its century cannot be known. Days that such a style cannot tell apart fall to
one part, so that no source of test is a source of train. Two styles in which one text
means two days (3/4/20, in Britain and in America), or a pattern that leaves out the
year, can still meet across parts: do not draw such sources together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

import torch
from babel import Locale, UnknownLocaleError
from babel.dates import format_date, tokenize_pattern

from unrolled.data.made.draws import choose
from unrolled.data.splits import check_part, part_of
from unrolled.shapes import at_least

Style = tuple[str, str]  # a locale, and full, long, medium, short or a CLDR pattern
ISO: Style = ("en", "y-MM-dd")
LENGTHS = ("full", "long", "medium", "short")
KINDS = {"E": "weekday", "c": "weekday", "d": "day", "M": "month", "L": "month"}
KINDS |= {"y": "year"}
MARKS = ".,/-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dated:
    """A date in two styles; ``alignment`` pairs source and target places."""

    date: date
    source: tuple[str, ...]
    target: tuple[str, ...]
    source_text: str
    target_text: str
    alignment: tuple[tuple[int, int], ...]


@cache
def pattern(style: Style) -> tuple[tuple[str, str | None], ...]:
    """Return the pieces of a style: (field, kind of part) or (literal text, None)."""
    locale, length = style
    try:
        known = Locale.parse(locale)
    except (UnknownLocaleError, ValueError) as error:
        raise ValueError(f"{locale=} is not one that babel knows, as 'hu'") from error
    text = known.date_formats[length].pattern if length in LENGTHS else length
    pieces: list[tuple[str, str | None]] = []
    for sort, found in tokenize_pattern(text):
        if sort == "chars":
            pieces.append((str(found), None))
        elif found[0] in KINDS:
            pieces.append((str(found[0]) * int(found[1]), KINDS[str(found[0])]))
        else:
            raise ValueError(
                f"the style {style} has the field {found[0]!r}; only weekday, day, "
                f"month and year ({', '.join(KINDS)}) can be aligned"
            )
    if not any(kind for _, kind in pieces):
        raise ValueError(
            f"the style {style} names no part of a date; give one of "
            f"{', '.join(LENGTHS)} or a pattern such as 'y-MM-dd'"
        )
    return tuple(pieces)


@cache
def part_in_words(field: str, locale: str, number: int) -> str:
    """Return what babel writes for one field, asked once for each number it can have.

    A day is asked for in a month of 31, a weekday in a week that starts on a Monday.
    """
    asked = {
        "weekday": lambda: date(2001, 1, number),
        "day": lambda: date(2001, 1, number),
        "month": lambda: date(2001, number, 1),
        "year": lambda: date(number, 1, 1),
    }[KINDS[field[0]]]()
    return format_date(asked, field, locale=locale)


def write(day: date, style: Style) -> tuple[str, list[tuple[str, str | None]]]:
    """Return a date as text and as tokens, each with the kind of part it is."""
    values = {"weekday": day.isoweekday(), "day": day.day}
    values |= {"month": day.month, "year": day.year}
    text, tokens = "", list[tuple[str, str | None]]()
    for piece, kind in pattern(style):
        if kind is None:
            text += piece
            tokens += [(token, None) for token in literal_tokens(piece)]
        else:
            said = part_in_words(piece, style[0], values[kind])
            text += said
            tokens.append((said, kind))
    return text, tokens


@cache
def literal_tokens(text: str) -> tuple[str, ...]:
    """Return the words and marks between the parts: "., " is two marks."""
    for mark in MARKS:
        text = text.replace(mark, f" {mark} ")
    return tuple(text.split())


def convert(day: date, source: Style, target: Style) -> Dated:
    """Return the record of one date in two styles."""
    source_text, read = write(day, source)
    target_text, written = write(day, target)
    places = {kind: place for place, (_, kind) in enumerate(written) if kind}
    pairs = ((place, places.get(kind)) for place, (_, kind) in enumerate(read) if kind)
    return Dated(
        date=day,
        source=tuple(token for token, _ in read),
        target=tuple(token for token, _ in written),
        source_text=source_text,
        target_text=target_text,
        alignment=tuple((s, t) for s, t in pairs if t is not None),
    )


def key(day: date) -> str:
    """Return the name by which a day falls to a part: centuries apart are one."""
    return f"{day.month}-{day.day} {day.year % 100}"


@cache
def days_of(part: str, first: int, last: int) -> tuple[date, ...]:
    """Return all days of the years from ``first`` to ``last`` that are of a part."""
    ordinals = range(date(first, 1, 1).toordinal(), date(last, 12, 31).toordinal() + 1)
    days = (date.fromordinal(ordinal) for ordinal in ordinals)
    return tuple(day for day in days if part_of(key(day)) == part)


def dates(
    n_rows: int,
    *,
    sources: Sequence[Style] = (("en_GB", "full"),),
    target: Style = ("hu", "full"),
    years: tuple[int, int] = (1900, 2099),
    part: str = "train",
    generator: torch.Generator,
) -> list[Dated]:
    """Draw dates of one part, written in one of the ``sources`` and in the target.

    A day belongs to one part for ever, in whatever style it is written.
    """
    at_least(1, n_rows=n_rows)
    first, last = years
    if not 1 <= first <= last <= 9999:
        raise ValueError(f"{years=} must be a range within 1 to 9999")
    check_part(part)
    days = choose(days_of(part, first, last), n_rows, generator=generator)
    styles = choose(sources, n_rows, generator=generator)
    drawn = zip(days, styles, strict=True)
    return [convert(day, style, target) for day, style in drawn]
