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
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from unrolled.data.fetch.store import open_source
from unrolled.data.splits import Splits, runs, split_families

COLLECTIONS = ("airdsAirs", "oneills1850", "ryansMammoth")
SHARED_STEPS = 16
_LETTERS = "CDEFGABcdefgab"
_MODES = {"": "", "maj": "", "m": "m", "min": "m", "dor": "dor"}
_MODES |= {"mix": "mix", "lyd": "lyd", "phr": "phr"}
_SLIPS = {"Bn": "Bm", "Hp": "Amix"}  # a slip of the hand; the Highland pipes' own key
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
_NOT_MUSIC = re.compile(
    r"""%.*  | "[^"]*"  | ![^!|\s]*!  | \[[A-Za-z]:[^\]]*\]  # comments, words, signs
      | [^A-Ga-gz^_=,'0-9/|:\[\](){}<>\s-]  # bowing, ornaments, marks of layout
      | [_=^]+(?![_=^A-Ga-g])                # an accidental without its note
    """,
    re.VERBOSE,
)
_CHANGE = re.compile(r"\[([KLM]:[^\]]*)\]")
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


def _key(value: str) -> str:
    """Return a key in one spelling: a tonic, and m, dor, mix, lyd, phr or nothing."""
    found = re.fullmatch(r"([A-G][b#]?) *([A-Za-z]*)(?:=c)?", _SLIPS.get(value, value))
    mode = _MODES.get(found[2][:3].lower()) if found else None
    if found is None or mode is None:
        raise ValueError(f"key {value!r} must be a tonic and a mode, such as Em")
    return found[1] + mode


def _unit(metre: str) -> str:
    """Return the unit of length that ABC takes where a tune names none."""
    ratio = Fraction({"C": "4/4", "C|": "2/2"}.get(metre, metre))
    return "1/16" if ratio < Fraction(3, 4) else "1/8"


def _music(line: str) -> str:
    """Return a line of music without what is not music; empty if nothing is left."""
    chords = re.sub(r"\+([A-Ga-g0-9,'/]+)\+", r"[\1]", line)  # as ABC once wrote them
    rests = chords.replace("Z", "z")  # Z rests for bars, but here stands for a note
    music = " ".join(_NOT_MUSIC.sub("", rests).split())
    return music if re.search(r"[A-Ga-g|]", music) else ""


def _body(lines: list[str]) -> str:
    """Return the lines of music, with field lines for changes of metre, unit or key."""
    first = (line for line in lines if not re.match(r"\[V:[^1]", line))
    # a change within a line, "A | [M:2/4] B", makes three lines of it
    pieces = (piece for line in first for piece in _CHANGE.split(line))
    kept, goes_on = [""], False
    for line in pieces:
        if field := re.match(r"([A-Za-z]):([^%]*)", line):
            letter, value = field[1], field[2].strip()
            if letter in "KLM":
                kept.append(f"{letter}:{_key(value) if letter == 'K' else value}")
                goes_on = False
        elif music := _music(line):
            if goes_on:
                kept[-1] += f" {music}"
            else:
                kept.append(music)
            goes_on = re.search(r"\\\s*(?:%.*)?$", line) is not None
    return "\n".join(kept[1:])


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
        unit=fields.get("L", [_unit(metre)])[-1],
        key=_key(key.partition("%")[0].strip()),
        body=_body(lines),
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
    with open_source("tunes") as archive:
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
