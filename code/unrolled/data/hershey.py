"""Fonts of pen strokes in the format of A. V. Hershey: a line of letters a glyph."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PEN_UP = " R"
_Points = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Glyph:
    """A letter: its left and right edge, and lines of the pen, y downwards."""

    left: int
    right: int
    strokes: tuple[_Points, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Font:
    """A hand: a name, and how it draws each character."""

    name: str
    glyphs: Mapping[str, Glyph]


def read_glyph(line: str) -> Glyph:
    """Return the letter in a line: 5 columns number, 3 length, then pairs about R."""
    body = line.rstrip("\r\n")[8:]
    if not line[5:8].strip().isdigit() or len(body) != 2 * int(line[5:8]):
        raise ValueError(f"{line=} must hold as many pairs of letters as it says")
    first, *rest = (body[i : i + 2] for i in range(0, len(body), 2))
    strokes: list[list[tuple[int, int]]] = [[]]
    for pair in rest:
        if pair == PEN_UP:
            strokes.append([])
        else:
            strokes[-1].append((ord(pair[0]) - ord("R"), ord(pair[1]) - ord("R")))
    return Glyph(
        left=ord(first[0]) - ord("R"),
        right=ord(first[1]) - ord("R"),
        strokes=tuple(tuple(stroke) for stroke in strokes if stroke),
    )


def read_font(name: str, text: str) -> Font:
    """Return a font out of its file: a line a character, from the space onwards."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    glyphs = {chr(32 + place): read_glyph(line) for place, line in enumerate(lines)}
    return Font(name=name, glyphs=MappingProxyType(glyphs))
