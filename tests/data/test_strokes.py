"""Strokes: the fonts as the archive holds them, and a pen that follows them."""

import base64
import io
import re
import tarfile
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import strokes as module
from unrolled.data.corpora.strokes import (
    HANDS,
    MEMBER,
    fonts,
    strokes,
    write,
)
from unrolled.data.fetch.store import open_source
from unrolled.data.hershey import read_glyph
from unrolled.runtime import generator

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMES = (*HANDS.train, *HANDS.validation, *HANDS.test)
TEXTS = st.text(st.sampled_from(LETTERS + "0123456789.,!?"), min_size=1, max_size=12)


def test_every_line_of_every_font_is_read():
    with open_source(find_source("strokes")) as archive:
        program = archive.read(MEMBER).decode()
    packed = base64.b64decode(re.search(r"base64 = B'''(.*?)'''", program, re.S)[1])
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        texts = {m.name: tar.extractfile(m).read().decode() for m in tar}
    assert fonts().keys() == texts.keys()
    assert len(texts) == 32
    for name, text in texts.items():
        lines = [line for line in text.splitlines() if line[0] != "#"]
        glyphs = fonts()[name].glyphs
        assert list(glyphs) == [chr(32 + n) for n in range(len(lines))]
        for line, glyph in zip(lines, glyphs.values(), strict=True):
            # another way to the same: cut at the pen's lifting, then take every other
            cut = [part for part in line[10:].rstrip().split(" R") if part]
            pens = tuple(
                tuple(
                    (ord(x) - 82, ord(y) - 82)
                    for x, y in zip(p[::2], p[1::2], strict=True)
                )
                for p in cut
            )
            assert glyph.strokes == pens
            assert (glyph.left, glyph.right) == (ord(line[8]) - 82, ord(line[9]) - 82)


def test_a_plain_capital_a_is_three_strokes():
    a = fonts()["rowmans"].glyphs["A"]
    assert a.strokes == (((0, -12), (-8, 9)), ((0, -12), (8, 9)), ((-5, 2), (5, 2)))
    assert (a.left, a.right) == (-9, 9)


def test_eleven_hands_write_all_of_ascii():
    split = strokes()
    hands = [*split.train, *split.validation, *split.test]
    assert [hand.name for hand in hands] == list(NAMES)
    assert len(set(NAMES)) == 11
    for hand in hands:
        assert all(hand.glyphs[chr(c)].strokes for c in range(33, 127))
        assert not hand.glyphs[" "].strokes
        assert hand.glyphs[" "].right > hand.glyphs[" "].left


def test_no_letter_is_drawn_alike_by_two_hands_nor_a_digit_in_two_parts():
    for one, other in combinations(NAMES, 2):
        a, b = fonts()[one].glyphs, fonts()[other].glyphs
        assert not [c for c in LETTERS if a[c] == b[c]]
    parts = (HANDS.train, HANDS.validation, HANDS.test)
    for here, there in combinations(parts, 2):
        for one, other in product(here, there):
            a, b = fonts()[one].glyphs, fonts()[other].glyphs
            assert not [c for c in "0123456789" if a[c] == b[c]]


def test_every_other_font_with_latin_letters_repeats_a_hand():
    again = {
        **{"futural": "rowmans", "meteorology": "rowmans", "cursive": "scripts"},
        **{"futuram": "rowmand", "gothgbt": "gothiceng", "gothgrt": "gothicger"},
        **{"gothitt": "gothicita", "music": "timesi", "timesrb": "rowmant"},
        **{"astrology": "timesib"},
    }
    assert len(again) == 10
    for name, hand in again.items():
        for c in LETTERS[:26]:
            assert fonts()[name].glyphs[c] == fonts()[hand].glyphs[c]


@given(TEXTS, st.sampled_from(NAMES), st.sampled_from([0.05, 0.2, 9.0]))
def test_without_jitter_the_pen_passes_the_font_s_own_points(text, name, step):
    font = fonts()[name]
    written = write(text, font, jitter=0, step=step, generator=generator(0))
    places = written.offsets[:, :2].astype(float).cumsum(axis=0)
    lifted = written.offsets[:, 2]
    assert set(lifted.tolist()) <= {0.0, 1.0}
    assert lifted.sum() == sum(len(font.glyphs[c].strokes) for c in text)
    x = 0.0
    for place, letter in enumerate(text):
        glyph, mine = font.glyphs[letter], places[written.letters == place]
        for stroke in glyph.strokes:
            for px, py in stroke:
                want = np.array([x + (px - glyph.left) / 21, (9 - py) / 21])
                assert np.abs(mine - want).max(axis=1).min() < 1e-4
        x += (glyph.right - glyph.left) / 21
    drawn = np.linalg.norm(written.offsets[1:, :2], axis=1)[lifted[:-1] == 0]
    assert (drawn <= step + 1e-5).all()
    if step == 9.0:  # no segment is that long: the corners alone
        assert len(lifted) == sum(len(s) for c in text for s in font.glyphs[c].strokes)


def test_letters_are_written_in_order_and_spaces_leave_no_ink():
    written = write("to be", fonts()["scripts"], generator=generator(1))
    assert sorted(set(written.letters.tolist())) == [0, 1, 3, 4]
    assert (np.diff(written.letters) >= 0).all()
    ends = np.flatnonzero(np.diff(written.letters))
    assert (written.offsets[ends, 2] == 1).all()  # the pen is up between letters
    assert written.offsets[-1, 2] == 1
    assert written.offsets.dtype == np.float32
    assert written.offsets.shape == (len(written.letters), 3)


def test_jitter_moves_the_pen_a_little_and_the_seed_decides_how():
    font = fonts()["timesr"]
    exact, one, again, other = (
        write("handwriting", font, jitter=j, generator=generator(seed)).offsets
        for j, seed in ((0, 1), (1, 1), (1, 1), (1, 2))
    )
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.01
    apart = np.abs(one - exact)[:, :2]
    assert 0.001 < apart.mean() < 0.1
    np.testing.assert_array_equal(one[:, 2], exact[:, 2])


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("été", {}, r"text='été' has \['é'\], which 'rowmans' cannot write"),
        ("  ", {}, "text='  ' must have a character that leaves ink"),
        ("", {}, "text='' must have a character that leaves ink"),
        ("a", {"jitter": -1}, "jitter=-1 must not be negative"),
        ("a", {"step": 0}, "step=0 must be positive"),
    ],
)
def test_what_cannot_be_written_is_named(text, settings, message):
    with pytest.raises(ValueError, match=message):
        write(text, fonts()["rowmans"], **settings, generator=generator(0))


@pytest.mark.parametrize("line", ["12345  9I[RFJ[", "12345  xI[", "", "12345  1JZR"])
def test_a_line_that_lies_about_its_length_is_refused(line):
    with pytest.raises(ValueError, match="must hold as many pairs of letters as it sa"):
        read_glyph(line)


def test_a_program_without_fonts_is_refused(monkeypatch):
    class Other:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def read(self, member):
            return b"print('no fonts here')"

    monkeypatch.setattr(module, "open_source", lambda name: Other())
    with pytest.raises(ValueError, match="holds no packed fonts: fetch 'strokes' anew"):
        fonts.__wrapped__()
