"""Pen strokes: A. V. Hershey's vector fonts, and a shaky hand that writes in them.

The fonts were drawn for plotters in 1967, each letter as a few lines of a pen. `write`
sets a text in one of them and lets the pen wander: synthetic handwriting, made and not
collected, but with what running handwriting seldom has, the true letter of every
point.

Of the 32 fonts in the archive 21 have Latin letters, and ten of these are others over
again under a second name. That leaves the eleven hands of `HANDS`. They are split by
family, so that no letter and no digit of one part is drawn alike in another (brackets
and a few other signs are the same in all).
"""

import base64
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.hershey import Font, Glyph, read_font
from unrolled.data.splits import Splits

if TYPE_CHECKING:
    import torch

SOURCE = Source(
    name="strokes",
    archives=pinned(
        """Hershey_Fonts-2.1.0-py2.py3-none-any.whl 63934
        e53ef56bdef231f10f0576a6570f49fcc8442e45115028bc52a7ade15d824581"""
    ),
    licence="MIT (package); the letters are A. V. Hershey's, made for the US Navy",
    citation=(
        "A. V. Hershey, Calligraphy for Computers, US Naval Weapons Laboratory, 1967"
    ),
)
MEMBER = "HersheyFonts/HersheyFonts.py"
HANDS = Splits(
    train=(
        *("scripts", "scriptc", "timesi", "timesib"),
        *("gothiceng", "gothicger", "gothicita"),
    ),
    validation=("rowmans", "rowmand"),
    test=("timesr", "rowmant"),
)
CAPITAL, BASELINE = 21, 9  # a capital's height and the line it stands on, y downwards
_LITERAL = re.compile(r"__compressed_fonts_base64 = B'''([A-Za-z0-9+/=\s]+)'''")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Written:
    """A text as a pen wrote it, with T points.

    ``offsets`` (T, 3) has the step from the point before, to the right and upwards in
    heights of a capital, and 1 where the pen is lifted after the point, else 0. The
    first step starts at the left end of the line. ``letters`` (T,) has for each point
    the place in ``text`` of the character it belongs to.
    """

    text: str
    offsets: NDArray[np.float32]
    letters: NDArray[np.int64]


@cache
def fonts() -> Mapping[str, Font]:
    """Return all 32 fonts by name, Greek, music and repetitions among them."""
    with open_source(SOURCE) as archive:
        program = archive.read(MEMBER).decode("utf-8")
    found = _LITERAL.search(program)
    if found is None:
        raise ValueError(f"{MEMBER} holds no packed fonts: fetch 'strokes' anew")
    packed = io.BytesIO(base64.b64decode(found[1]))
    with OpenArchive(packed, label=MEMBER) as inner:
        texts = {name: inner.read(name).decode("ascii") for name in inner.names()}
    return MappingProxyType({name: read_font(name, texts[name]) for name in texts})


@cache
def strokes() -> Splits[tuple[Font, ...]]:
    """Return the eleven hands: script, italic and black letter to learn from.

    Plain Roman (no serifs) is for validation and Roman with serifs for the test.
    """
    return Splits(
        train=tuple(fonts()[name] for name in HANDS.train),
        validation=tuple(fonts()[name] for name in HANDS.validation),
        test=tuple(fonts()[name] for name in HANDS.test),
    )


def _evenly(points: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return the line through ``points`` (n, 2) in steps of ``step`` at the most."""
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    parts = np.maximum(np.ceil(lengths / step), 1).astype(int)
    corners = np.concatenate([[0], np.cumsum(parts)])
    along = np.arange(corners[-1] + 1)
    x, y = (np.interp(along, corners, values) for values in points.T)
    return np.stack([x, y], axis=1)


@cache
def _pen(glyph: Glyph, step: float) -> NDArray[np.float64]:
    """Return a letter as (n, 3): x from its left edge, y upwards, pen lifted after."""
    lines = [np.zeros((0, 3))]
    for stroke in glyph.strokes:
        raw = np.array(stroke, dtype=float)
        points = np.stack([raw[:, 0] - glyph.left, BASELINE - raw[:, 1]], axis=1)
        line = _evenly(points / CAPITAL, step)
        lifted = np.arange(len(line)) == len(line) - 1
        lines.append(np.column_stack([line, lifted]))
    return np.concatenate(lines)


def _laid_out(
    text: str, font: Font, step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return points (T, 3), the left edge of each letter, and each point's letter."""
    glyphs = [font.glyphs[letter] for letter in text]
    pens = [_pen(glyph, step) for glyph in glyphs]
    letters = np.repeat(np.arange(len(text)), [len(pen) for pen in pens])
    widths = np.array([glyph.right - glyph.left for glyph in glyphs]) / CAPITAL
    return np.concatenate(pens), np.cumsum(widths) - widths, letters


def write(
    text: str,
    font: Font,
    *,
    jitter: float = 1.0,
    step: float = 0.2,
    generator: "torch.Generator",
) -> Written:
    """Write ``text``, the pen's points at most ``step`` of a capital's height apart.

    ``jitter`` scales the unsteadiness: one slant for the text, a size and a height
    above the line for each letter, a tremor for each point. At 0 the font is exact.
    """
    import torch  # seconds to load: only when asked

    if unknown := sorted(set(text) - font.glyphs.keys()):
        raise ValueError(f"{text=} has {unknown}, which {font.name!r} cannot write")
    if not any(font.glyphs[letter].strokes for letter in text):
        raise ValueError(f"{text=} must have a character that leaves ink")
    if jitter < 0 or step <= 0:
        raise ValueError(f"{jitter=} must not be negative and {step=} must be positive")

    def shaken(*shape: int, by: float) -> NDArray[np.float64]:
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        return jitter * by * noise.numpy()

    points, left, letters = _laid_out(text, font, step)
    place = points[:, :2] * (1 + shaken(len(text), 1, by=0.05))[letters]
    place[:, 0] += left[letters] + shaken(1, by=0.1) * place[:, 1]
    place[:, 1] += shaken(len(text), by=0.03)[letters]
    place += shaken(*place.shape, by=0.01)
    steps = np.diff(place, axis=0, prepend=0.0)
    offsets = np.column_stack([steps, points[:, 2]]).astype(np.float32)
    return Written(text=text, offsets=offsets, letters=letters)
