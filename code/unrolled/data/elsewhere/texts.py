"""Two running texts that papers and courses share: tiny Shakespeare and WikiText-2."""

from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import PARTS, Splits


def tiny_shakespeare() -> Splits[str]:
    """Return 1.1 million characters of plays, cut in order at 90 % and at 95 %.

    Its home gives one file and no division; this is the one TensorFlow Datasets made.
    """
    text = home_file("tiny_shakespeare", "input.txt").read_text(encoding="utf-8")
    first, second = len(text) * 90 // 100, len(text) * 95 // 100
    return Splits(train=text[:first], validation=text[first:second], test=text[second:])


def wikitext2() -> Splits[str]:
    """Return WikiText-2 (raw): good articles of Wikipedia, divided by article.

    A heading is a line such as ``= Title =``. Nothing is replaced by ``<unk>``, but
    words stand apart from their punctuation and ``@-@`` is a hyphen.
    """
    return Splits(**{part: _parquet(_rows(part)) for part in PARTS})


def _rows(part: str) -> Path:
    return home_file("wikitext2", f"{part}-00000-of-00001.parquet")


@cache
def _parquet(path: Path) -> str:
    """Return the lines of a part; the home keeps a blank line as an empty string."""
    lines = pq.read_table(path, columns=["text"]).column("text").to_pylist()
    return "".join(line or " \n" for line in lines)
