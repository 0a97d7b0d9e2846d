"""English to French from elsewhere: everyday sentences, and captions of photographs."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from unrolled.data.corpora.interface import key
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.home_files import Home, from_git
from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import Splits, split_families

# The zip at www.manythings.org/anki is made anew every few weeks, so that no digest
# of it stays true: this is a copy of the one of 29 September 2017, in a repository.
TATOEBA = Home(
    name="tatoeba",
    files=from_git(
        "genimind/seq2seq",
        "843b8bc40396fbea4ac9171097122aacfc8b9660",
        "",
        """fra-eng.zip 2951390
        16c4f7d0df9e7c5e6c54cdb0447f3f4a18a55052ff5e2e0b27dd4a06c0e49d04""",
    ),
    licence="CC BY 2.0",
    citation="The contributors of tatoeba.org, by www.manythings.org/anki, 2017",
)
MULTI30K = Home(
    name="multi30k",
    files=from_git(
        "multi30k/dataset",
        "a3d2e0d26b56f3846f66a952536ffed4e401d05a",
        "data/task1/raw",
        """train.en.gz 568929
        d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
        train.fr.gz 604242
        622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
        val.en.gz 21650
        14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
        val.fr.gz 23001
        ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
        test_2016_flickr.en.gz 21077
        611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
        test_2016_flickr.fr.gz 22310
        6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90""",
    ),
    licence="none stated; says that it is for non-commercial research and teaching",
    citation="D. Elliott et al., Multi30K, VL 2016; in French: WMT 2017",
)
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
    path = path or home_file(TATOEBA, "fra-eng.zip")
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
        _lines(_gunzip(home_file(MULTI30K, f"{part}.{language}.gz")))
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
