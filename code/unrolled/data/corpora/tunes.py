r"""Dance tunes of Ireland, Scotland and New England in ABC notation, one a record.

Three collections: Ryan's Mammoth Collection (Boston, 1883), the 1,850 melodies of
O'Neill's Music of Ireland (Chicago, 1903; some are here twice) and Aird's Airs
(Glasgow, from 1782): 4,248 tunes. Volunteers typed them, each with habits of their
own, so we bring them to one spelling. Of the header a tune keeps what a player must
know: metre, unit of length and key. ``E Minor``, ``EM`` and ``Em`` all become ``Em``;
a missing unit is the one that ABC prescribes. The body keeps notes, rests, bars,
repeats, ties, slurs, tuplets, grace notes and, on lines of their own, changes of metre,
unit or key. Left out are comments, words and fingerings in quotes, bowing and ornament
signs, and voices but the first. In Irish titles a point marks the letter after it as
dotted (".c" for "ċ"). Seven titles of minstrel shows, which mock black Americans, are
not shown: a number stands for them. Only ``name``, the place in the archive, has them.

The collections overlap, with themselves too: the same tune stands under two numbers,
in two hands or under another title. Tunes are related if they share a title (but for
"the", "reel" and the like) or 16 steps of the melody in a row, whatever the key and
rhythm; relatives of relatives as well. A family is never split.
"""

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from unrolled.data.abc_notation import default_unit, music_of, spell_key
from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits, runs, split_families

SOURCE = Source(
    name="tunes",
    archives=pinned(
        """music21-10.5.1-py3-none-any.whl 20118992
        dc3309498c4c95cebdf8d4f20c868deb6b63bce1d929cad4f51a7ccc982987b1"""
    ),
    licence=(
        "BSD-3-Clause (package); tunes of 1782 to 1903, typed by volunteers named "
        "in them"
    ),
    citation=(
        "Aird's Airs, 1782-1803; Ryan's Mammoth Collection, 1883; O'Neill's Music "
        "of Ireland, 1903"
    ),
)
COLLECTIONS = ("airdsAirs", "oneills1850", "ryansMammoth")
SHARED_STEPS = 16
_LETTERS = "CDEFGABcdefgab"
# titles not shown, by file: the number is the file's place in its collection
_HIDDEN = {
    f"ryansMammoth/{file}/1": f"Ryan's Mammoth Collection {place}"
    for file, place in (
        *(("DarsSugarInDeGourdJig", 223), ("NInWoodPileJig", 684)),
        *(("OldZipCoonReel_A", 744), ("OldZipCoonReel_G", 745)),
        *(("WalkAroundBrudderBones", 1019), ("WalkAroundCarveDatPossum", 1021)),
        ("WalkAroundGwineToDeShow", 1024),
    )
}
_MAIL = {"\n": "", "20": " ", "3D": "="}  # some tunes came by mail and kept its code
_COMMON = re.compile(
    r"""\b(?:the|an?|reel|jig|slip|double|single|hornpipe|strathspey|clog|march|waltz
      |air|quick|step|quickstep|minuet|highland|fling|polka|dance|first|second|third
      |1st|2n?d|3d|3rd|setting|version|walk|around|no\ \d)\b
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tune:
    """A tune: where it stands, what it is called, and how it goes."""

    name: str
    titles: tuple[str, ...]
    metre: str
    unit: str
    key: str
    body: str

    @property
    def text(self) -> str:
        """Return what a model learns: metre, unit, key and the lines of music."""
        return f"M:{self.metre}\nL:{self.unit}\nK:{self.key}\n{self.body}\n"

    @property
    def abc(self) -> str:
        """Return the tune as a file that a player of ABC takes."""
        return f"X:1\nT:{self.titles[0]}\n{self.text}"


def tune(name: str, text: str) -> Tune:
    """Read one tune: a header that ends with its key, then the music."""
    plain = re.sub(r"=(\n|20|3D)", lambda coded: _MAIL[coded[1]], text)
    header, found, rest = plain.partition("\nK:")
    fields: dict[str, list[str]] = {}
    for line in header.split("\n"):
        letter, _, value = line.partition("%")[0].partition(":")
        if words := value.split():
            fields.setdefault(letter, []).append(" ".join(words))
    missing = [letter for letter in "TM" if letter not in fields]
    if missing or not found:
        raise ValueError(f"tune {name}: {text[:60]!r} lacks {missing or ['K']}")
    key, *lines = rest.split("\n")
    metre = fields["M"][0]
    # a program that hid addresses wrote "Gat:e" for "Gate"
    titles = tuple(re.sub(r"at:(?=\S)", "at", title) for title in fields["T"])
    return Tune(
        name=name,
        titles=(_HIDDEN[name],) if name in _HIDDEN else titles,
        metre=metre,
        unit=fields.get("L", [default_unit(metre)])[-1],
        key=spell_key(key.partition("%")[0].strip()),
        body=music_of(lines),
    )


def steps(one: Tune) -> tuple[int, ...]:
    """Return the melody as steps up and down the scale: no key, octave or rhythm."""
    music = re.sub(r"(?m)^[A-Z]:.*|\{[^}]*\}", "", one.body)
    notes = re.findall(r"([A-Ga-g])([,']*)", music)
    heights = [_LETTERS.index(a) + 7 * (b.count("'") - b.count(",")) for a, b in notes]
    return tuple(high - low for low, high in pairwise(heights))


def plain_titles(one: Tune) -> set[str]:
    """Return the letters of the titles but common words: "acacia" for a reel."""
    words = (re.sub(r"[^a-z0-9'`]+", " ", title.lower()) for title in one.titles)
    return {re.sub(r"\W", "", _COMMON.sub("", title)) for title in words} - {""}


def _keys(one: Tune) -> Iterator[Hashable]:
    """Yield what no tune of another part may share."""
    yield one.body
    yield from plain_titles(one)
    yield from runs(steps(one), SHARED_STEPS)


def _tunes() -> Iterator[Tune]:
    """Yield the tunes of the three collections in the order of their files."""
    with open_source(SOURCE) as archive:
        for member in sorted(archive.names()):
            place = PurePosixPath(member)
            if place.parent.name in COLLECTIONS and place.suffix == ".abc":
                file = archive.read(member).decode("utf-8")
                pieces = re.split(r"(?m)^X:", file)[1:]
                for number, text in enumerate(pieces, 1):
                    name = f"{place.parent.name}/{place.stem}/{number}"
                    yield tune(name, "X:" + text)


@cache
def tunes() -> Splits[tuple[Tune, ...]]:
    """Return the 4,248 tunes, divided by families: about 80 / 10 / 10."""
    found = tuple(_tunes())
    if not found:
        raise ValueError(f"the archive of tunes must hold {', '.join(COLLECTIONS)}")
    return split_families(found, name=lambda one: one.name, keys=_keys)
