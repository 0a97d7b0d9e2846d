"""Daily weather in Seattle: four years, a row a day, nothing missing.

Measured by NOAA from 1 January 2012 to 31 December 2015. The split follows the
calendar, because neighbouring days are alike: a test day between two training days
would be half known.
"""

import csv
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import pairwise

from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits

MEMBER = "vega_datasets/_data/seattle-weather.csv"
COLUMNS = ("date", "precipitation", "temp_max", "temp_min", "wind", "weather")
KINDS = ("drizzle", "fog", "rain", "snow", "sun")
TRAIN_UNTIL, VALIDATION_UNTIL = date(2013, 12, 31), date(2014, 12, 31)


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """A day: millimetres of rain, degrees Celsius, metres a second, a word.

    ``weather`` is one of `KINDS`: what an observer would call the day.
    """

    date: date
    precipitation: float
    temp_max: float
    temp_min: float
    wind: float
    weather: str


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
    with open_source("weather") as archive:
        days = read_days(archive.read(MEMBER).decode("utf-8"))
    return Splits(
        train=tuple(d for d in days if d.date <= TRAIN_UNTIL),
        validation=tuple(d for d in days if TRAIN_UNTIL < d.date <= VALIDATION_UNTIL),
        test=tuple(d for d in days if d.date > VALIDATION_UNTIL),
    )
