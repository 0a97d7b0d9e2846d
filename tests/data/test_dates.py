"""Dates across languages: babel writes the same, and every part meets its like."""

from datetime import date, timedelta

import pytest
from babel.dates import format_date
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.made.dates import ISO, LENGTHS, convert, dates, days_of, key, write
from unrolled.data.made.draws import stream
from unrolled.data.splits import PARTS, part_of
from unrolled.runtime import generator

LOCALES = "en en_GB de fr hu ja es it pl fi cs da sv pt nl ru zh ko".split()
SPANS = {"train": (1918, 1921), "validation": (2018, 2021), "test": (2018, 2021)}
STYLES = [(locale, length) for locale in LOCALES for length in LENGTHS]


def test_the_text_is_babels_own():
    days = dates(len(STYLES) * 40, sources=STYLES, target=ISO, generator=generator(0))
    assert len({row.source_text for row in days}) > 2000
    for row in days:
        assert row.target_text == row.date.isoformat()
        assert "".join(row.target) == row.date.isoformat()
    for n, style in enumerate(STYLES):
        for row in days[n * 40 : n * 40 + 40]:
            text, tokens = write(row.date, style)
            assert text == format_date(row.date, style[1], locale=style[0])
            written = "".join(token for token, _ in tokens)
            assert written == "".join(text.split())


@given(st.dates(date(1, 1, 1)), st.sampled_from(STYLES), st.sampled_from(STYLES))
def test_aligned_tokens_say_the_same_part(day, source, target):
    row = convert(day, source, target)
    assert row.source_text == format_date(day, source[1], locale=source[0])
    kinds = {"weekday": "EEEE", "month": "MMMM", "day": "d", "year": "y"}
    one, two = write(day, source)[1], write(day, target)[1]
    for s, t in row.alignment:
        assert one[s][1] == two[t][1]
    shared = {k for _, k in one} & {k for _, k in two} & set(kinds)
    assert {one[s][1] for s, _ in row.alignment} == shared
    assert len(row.alignment) == len(shared)


def test_each_part_is_where_babel_puts_it():
    row = convert(date(2023, 3, 1), ("en_GB", "full"), ("hu", "full"))
    assert row.source == ("Wednesday", ",", "1", "March", "2023")
    assert row.target == ("2023", ".", "március", "1", ".", ",", "szerda")
    named = [(row.source[s], row.target[t]) for s, t in row.alignment]
    assert named == [
        ("Wednesday", "szerda"),
        ("1", "1"),
        ("March", "március"),
        ("2023", "2023"),
    ]
    # British English to Hungarian: the order is reversed
    assert [t for _, t in row.alignment] == sorted((t for _, t in row.alignment))[::-1]


def test_the_numbers_aligned_with_iso_are_the_dates_own():
    for row in dates(300, target=ISO, generator=generator(1)):
        parts = {row.source[s]: row.target[t] for s, t in row.alignment}
        assert parts[str(row.date.year)] == f"{row.date.year:04}"
        assert f"{row.date.day:02}" in parts.values()
        assert parts[format_date(row.date, "MMMM", locale="en")] == f"{row.date:%m}"


@pytest.mark.parametrize("part", PARTS)
def test_a_day_is_of_one_part_whatever_its_style(part):
    rows = dates(300, part=part, years=(1999, 2001), generator=generator(2))
    assert {part_of(key(row.date)) for row in rows} == {part}
    assert {row.date.year for row in rows} == {1999, 2000, 2001}


@pytest.mark.parametrize("locale", LOCALES)
def test_no_source_of_one_part_is_a_source_of_another_even_without_a_century(locale):
    style = (locale, "short")
    texts = {
        part: {format_date(day, "short", locale=locale) for day in days_of(part, *span)}
        for part, span in SPANS.items()
    }
    assert all(texts.values())
    assert not texts["train"] & texts["test"]
    assert not texts["train"] & texts["validation"]
    assert not texts["test"] & texts["validation"]
    rows = dates(20, sources=[style], years=(1918, 1921), generator=generator(4))
    assert {row.source_text for row in rows} <= texts["train"]


def test_a_day_and_the_same_a_century_later_are_of_one_part_and_a_year_later_need_not():
    days = [date(1900, 3, 1) + timedelta(n) for n in range(3000)]
    assert all(key(day) == key(day.replace(year=day.year + 100)) for day in days)
    assert len({key(day) for day in days}) == 3000
    shares = [len(days_of(part, 1900, 2099)) / 73_049 for part in PARTS]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.01)


def test_the_same_seed_draws_the_same_and_a_stream_goes_on():
    first = dates(5, generator=generator(3))
    drawn = stream(dates, 5, generator=generator(3))
    assert next(drawn) == first
    assert next(drawn) != first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"years": (0, 5)}, r"years=\(0, 5\) must be a range within 1 to 9999"),
        ({"years": (5, 4)}, r"years=\(5, 4\) must be a range within 1 to 9999"),
        ({"part": "all"}, "part='all' must be one of train, validation, test"),
        ({"sources": ()}, "options is empty"),
        ({"target": ("xx", "full")}, "locale='xx' is not one that babel knows"),
        ({"target": ("?", "full")}, r"locale='\?' is not one that babel knows"),
        ({"target": ("en", "QQQ y")}, r"the style \('en', 'QQQ y'\) has the field 'Q'"),
        ({"target": ("en", "'so'")}, "names no part of a date; give one of full"),
    ],
)
def test_what_cannot_be_drawn_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        dates(**({"n_rows": 2} | wrong), generator=generator(0))
