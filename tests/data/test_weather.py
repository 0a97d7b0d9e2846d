"""Daily weather: four whole years, in order, split by the calendar."""

from collections import Counter
from datetime import date, timedelta

import pytest

from unrolled.data.catalogue import find_source
from unrolled.data.corpora.weather import (
    COLUMNS,
    KINDS,
    LAST_RAIN,
    MEMBER,
    read_days,
    weather,
)
from unrolled.data.fetch.store import open_source

HEAD = ",".join(COLUMNS)


def all_days():
    split = weather()
    return [*split.train, *split.validation, *split.test]


def test_there_are_1461_consecutive_days():
    days = all_days()
    assert len(days) == 1461
    assert [d.date for d in days] == [
        date(2012, 1, 1) + timedelta(days=n) for n in range(1461)
    ]


def test_every_value_is_the_files():
    with open_source(find_source("weather")) as archive:
        lines = archive.read(MEMBER).decode().splitlines()
    for line, day in zip(lines[1:], all_days(), strict=True):
        when, *numbers, kind = line.split(",")
        assert when == day.date.strftime("%Y/%m/%d")
        values = (day.precipitation, day.temp_max, day.temp_min, day.wind)
        assert [float(n) for n in numbers] == list(values)
        assert kind == day.weather


def test_values_are_those_of_a_mild_and_rainy_town():
    days = all_days()
    assert {d.weather for d in days} == set(KINDS)
    assert all(d.temp_min <= d.temp_max for d in days)
    assert all(0 <= d.precipitation < 60 and 0 <= d.wind < 10 for d in days)
    july = [d.temp_max for d in days if d.date.month == 7]
    january = [d.temp_max for d in days if d.date.month == 1]
    assert sum(july) / len(july) > sum(january) / len(january) + 15


def test_the_parts_follow_the_calendar():
    split = weather()
    assert {d.date.year for d in split.train} == {2012, 2013}
    assert {d.date.year for d in split.validation} == {2014}
    assert {d.date.year for d in split.test} == {2015}
    assert (len(split.train), len(split.validation), len(split.test)) == (731, 365, 365)


def test_the_word_changes_its_meaning_where_the_docstring_says():
    wet = [day for day in all_days() if day.precipitation > 0]
    before = Counter(day.weather for day in wet if day.date <= LAST_RAIN)
    after = Counter(day.weather for day in wet if day.date > LAST_RAIN)
    assert before == {"rain": 204, "snow": 23}
    assert after == {"fog": 310, "sun": 77, "rain": 8, "drizzle": 1}
    assert wet[before.total() - 1].date == LAST_RAIN == date(2013, 3, 28)
    assert wet[before.total()].date == date(2013, 4, 4)
    assert max(day.precipitation for day in wet if day.weather == "fog") > 39
    # no other day divides "rain" and "snow" from the other words so well
    in_words = [day.weather in ("rain", "snow") for day in wet]
    right = [
        sum(in_words[:n]) + len(wet) - n - sum(in_words[n:]) for n in range(len(wet))
    ]
    assert right.index(max(right)) == before.total()


def test_the_parts_call_other_days_rain_but_are_as_wet():
    split = weather()
    parts = (split.train, split.validation, split.test)
    assert [sum(d.weather == "rain" for d in part) for part in parts] == [251, 3, 5]
    assert [sum(d.weather == "snow" for d in part) for part in parts] == [23, 0, 0]
    assert [sum(d.wet for d in part) for part in parts] == [329, 150, 144]
    shares = [sum(d.wet for d in part) / len(part) for part in parts]
    assert max(shares) - min(shares) < 0.06


def test_a_wet_day_is_one_with_rain_in_the_gauge():
    days = read_days(f"{HEAD}\n2012/01/01,0.0,1,0,1,rain\n2012/01/02,0.3,1,0,1,sun")
    assert [day.wet for day in days] == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day,rain\n", r"columns \['day', 'rain'\] must be \['date', "),
        (f"{HEAD}\n2012/01/01,0,1,0,1,hail", "weather='hail' must be one of"),
        (
            f"{HEAD}\n2012/01/01,0,1,0,1,sun\n2012/01/03,0,1,0,1,sun",
            "2012-01-03 must be the day after 2012-01-01",
        ),
    ],
)
def test_another_table_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_days(text)
