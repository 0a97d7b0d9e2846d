"""ABC notation, brought to one spelling: keys, units of length, lines of music."""

import re
from fractions import Fraction

_MODES = {"": "", "maj": "", "m": "m", "min": "m", "dor": "dor"}
_MODES |= {"mix": "mix", "lyd": "lyd", "phr": "phr"}
_SLIPS = {"Bn": "Bm", "Hp": "Amix"}  # a slip of the hand; the Highland pipes' own key
_NOT_MUSIC = re.compile(
    r"""%.*  | "[^"]*"  | ![^!|\s]*!  | \[[A-Za-z]:[^\]]*\]  # comments, words, signs
      | [^A-Ga-gz^_=,'0-9/|:\[\](){}<>\s-]  # bowing, ornaments, marks of layout
      | [_=^]+(?![_=^A-Ga-g])                # an accidental without its note
    """,
    re.VERBOSE,
)
_CHANGE = re.compile(r"\[([KLM]:[^\]]*)\]")


def spell_key(value: str) -> str:
    """Return a key in one spelling: a tonic, and m, dor, mix, lyd, phr or nothing."""
    found = re.fullmatch(r"([A-G][b#]?) *([A-Za-z]*)(?:=c)?", _SLIPS.get(value, value))
    mode = _MODES.get(found[2][:3].lower()) if found else None
    if found is None or mode is None:
        raise ValueError(f"key {value!r} must be a tonic and a mode, such as Em")
    return found[1] + mode


def default_unit(metre: str) -> str:
    """Return the unit of length that ABC takes where a tune names none."""
    ratio = Fraction({"C": "4/4", "C|": "2/2"}.get(metre, metre))
    return "1/16" if ratio < Fraction(3, 4) else "1/8"


def _music(line: str) -> str:
    """Return a line of music without what is not music; empty if nothing is left."""
    chords = re.sub(r"\+([A-Ga-g0-9,'/]+)\+", r"[\1]", line)  # as ABC once wrote them
    rests = chords.replace("Z", "z")  # Z rests for bars, but here stands for a note
    music = " ".join(_NOT_MUSIC.sub("", rests).split())
    return music if re.search(r"[A-Ga-g|]", music) else ""


def music_of(lines: list[str]) -> str:
    """Return the lines of music, with field lines for changes of metre, unit or key."""
    first = (line for line in lines if not re.match(r"\[V:[^1]", line))
    # a change within a line, "A | [M:2/4] B", makes three lines of it
    pieces = (piece for line in first for piece in _CHANGE.split(line))
    kept, goes_on = [""], False
    for line in pieces:
        if field := re.match(r"([A-Za-z]):([^%]*)", line):
            letter, value = field[1], field[2].strip()
            if letter in "KLM":
                kept.append(f"{letter}:{spell_key(value) if letter == 'K' else value}")
                goes_on = False
        elif music := _music(line):
            if goes_on:
                kept[-1] += f" {music}"
            else:
                kept.append(music)
            goes_on = re.search(r"\\\s*(?:%.*)?$", line) is not None
    return "\n".join(kept[1:])
