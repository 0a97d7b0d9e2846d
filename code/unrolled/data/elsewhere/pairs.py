"""English to French from elsewhere: everyday sentences, and captions of photographs."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from unrolled.data.corpora.interface import key
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import Splits, split_families

_LARGEST = 64_000_000  # bytes of one unpacked file; the largest has 2 million


@dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """An English sentence, its French translation, and whom to credit, if it says."""

    english: str
    french: str
    credit: str = ""


def tatoeba(path: Path | None = None) -> Splits[tuple[Translation, ...]]:
    """Return Tatoeba's sentence pairs, shortest first, as d2l and Keras use them.

    Sentences have many translations, so that pairs with the same English or the same
    French, but for case and punctuation, form a group, and a group falls into one part.
    ``path`` may be a newer fra-eng.zip of yours, from www.manythings.org/anki.
    """
    path = path or home_file("tatoeba", "fra-eng.zip")
    with OpenArchive(path, label=path.name) as archive:
        lines = _lines(archive.read("fra.txt"))
    # a dictionary, as a set that keeps its order: the file has a few pairs twice
    records = tuple(dict.fromkeys(_translation(line) for line in lines))
    return split_families(records, name=lambda pair: _sides(pair)[0], keys=_sides)


def _translation(line: str) -> Translation:
    """Return a line's pair; since 2019 a third column says whose sentences they are."""
    english, french, *credit = line.split("\t")
    return Translation(english=english, french=french, credit="".join(credit))


def _sides(pair: Translation) -> tuple[str, str]:
    """Return the two keys that no other part may hold."""
    return f"en {key(pair.english)}", f"fr {key(pair.french)}"


def multi30k() -> Splits[tuple[Translation, ...]]:
    """Return Multi30k, captions of photographs: the official 29,000, 1,014 and 1,000.

    The test is that of 2016. The parts share no photograph and, but for one sentence
    that is both in train and in validation, no English.
    """
    return Splits(
        train=_captions("train"),
        validation=_captions("val"),
        test=_captions("test_2016_flickr"),
    )


def _captions(part: str) -> tuple[Translation, ...]:
    english, french = (
        _lines(_gunzip(home_file("multi30k", f"{part}.{language}.gz")))
        for language in ("en", "fr")
    )
    return tuple(
        Translation(english=source, french=target)
        for source, target in zip(english, french, strict=True)
    )


def _lines(content: bytes) -> list[str]:
    """Return the lines; ``splitlines`` would also cut at Unicode's rarer separators."""
    lines = content.decode("utf-8").removesuffix("\n").split("\n")
    return [line.strip() for line in lines]


def _gunzip(path: Path) -> bytes:
    """Return what a ``.gz`` holds, which must not swell beyond all measure."""
    with gzip.open(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{path} unpacks to more than {_LARGEST:,} bytes: refused")
    return content
