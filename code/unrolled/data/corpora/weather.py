"""Daily weather in Seattle: four years, a row a day, nothing missing.

Measured by NOAA from 1 January 2012 to 31 December 2015. The split follows the
calendar, because neighbouring days are alike: a test day between two training days
would be half known.

The numbers are alike throughout; the word is not. Up to 28 March 2013 each of the 227
days with rain is called "rain" or "snow"; from 4 April on, nearly all of the 396 are
called "fog" or "sun", and nine "rain" or "drizzle". The word was made by a script of
the data's collectors out of flags that observers set, not out of the gauge, and the
flags may have changed; nobody says so. The break lies inside the training part: 251
days are called "rain" in train, 3 in validation and 5 in test, and none is called
"snow" after `LAST_RAIN`. So do not learn ``weather`` here and test it there. `Day.wet`
is a truth without a break.
"""

import csv
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import pairwise

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits

SOURCE = Source(
    name="weather",
    archives=pinned(
        """vega_datasets-0.9.0-py3-none-any.whl 210822
        3d7c63917be6ca9b154b565f4779a31fedce57b01b5b9d99d8a34a7608062a1d"""
    ),
    licence="MIT (package); the measurements are NOAA's, in the public domain",
    citation=("NOAA, daily weather in Seattle, 2012 to 2015, by way of vega_datasets"),
)
MEMBER = "vega_datasets/_data/seattle-weather.csv"
COLUMNS = ("date", "precipitation", "temp_max", "temp_min", "wind", "weather")
KINDS = ("drizzle", "fog", "rain", "snow", "sun")
TRAIN_UNTIL, VALIDATION_UNTIL = date(2013, 12, 31), date(2014, 12, 31)
LAST_RAIN = date(2013, 3, 28)  # the last wet day before the word changes its meaning


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """A day: millimetres of rain, degrees Celsius, metres a second, a word.

    ``weather`` is the file's word, one of `KINDS`. It means one thing up to
    `LAST_RAIN` and another after it: a day with 39 mm of rain is "fog" then.
    """

    date: date
    precipitation: float
    temp_max: float
    temp_min: float
    wind: float
    weather: str

    @property
    def wet(self) -> bool:
        """Say whether it rained or snowed, by the gauge and not by the word."""
        return self.precipitation > 0


def _day(row: dict[str, str]) -> Day:
    """Return a row of the file as a `Day`."""
    year, month, day = map(int, row["date"].split("/"))
    if row["weather"] not in KINDS:
        raise ValueError(f"weather={row['weather']!r} must be one of {KINDS}")
    return Day(
        date=date(year, month, day),
        precipitation=float(row["precipitation"]),
        temp_max=float(row["temp_max"]),
        temp_min=float(row["temp_min"]),
        wind=float(row["wind"]),
        weather=row["weather"],
    )


def read_days(text: str) -> tuple[Day, ...]:
    """Return the days of a table in the file's format, which must have no gap."""
    rows = csv.DictReader(text.splitlines())
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise ValueError(f"columns {rows.fieldnames} must be {list(COLUMNS)}")
    days = tuple(map(_day, rows))
    for before, after in pairwise(days):
        if after.date - before.date != timedelta(days=1):
            raise ValueError(f"{after.date} must be the day after {before.date}")
    return days


@cache
def weather() -> Splits[tuple[Day, ...]]:
    """Return the days in order: 2012 and 2013 to learn from, 2014, and 2015 to test."""
    with open_source(SOURCE) as archive:
        days = read_days(archive.read(MEMBER).decode("utf-8"))
    return Splits(
        train=tuple(d for d in days if d.date <= TRAIN_UNTIL),
        validation=tuple(d for d in days if TRAIN_UNTIL < d.date <= VALIDATION_UNTIL),
        test=tuple(d for d in days if d.date > VALIDATION_UNTIL),
    )
