"""Tunes: all 4,248, in one spelling, and no melody or title in two parts."""

import re
import zipfile
from fractions import Fraction

import pytest

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import tunes as module
from unrolled.data.corpora.tunes import COLLECTIONS, steps, tune, tunes
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS


@pytest.fixture(scope="module")
def found():
    return {one.name: one for part in PARTS for one in getattr(tunes(), part)}


@pytest.fixture(scope="module")
def raw():
    with open_source(find_source("tunes")) as archive:
        return {
            name: archive.read(name).decode("utf-8")
            for name in archive.names()
            if name.endswith(".abc") and name.split("/")[-2] in COLLECTIONS
        }


def melody(one, n):
    """Return the letters of n notes in a row, without octave: a second measure."""
    letters = re.sub(r"(?m)^[A-Z]:.*|\{.*?\}|[^A-Ga-g]", "", one.body).lower()
    return {letters[i : i + n] for i in range(len(letters) - n + 1)}


def test_all_tunes_are_there(found, raw):
    assert len(found) == sum(len(re.findall("(?m)^X:", text)) for text in raw.values())
    assert len(found) == 4248
    counts = [sum(name.startswith(c) for name in found) for c in COLLECTIONS]
    assert counts == [1180, 2009, 1059]


def test_headers_are_in_one_spelling(found):
    for one in found.values():
        assert re.fullmatch(r"C\|?|\d+/\d+", one.metre), one
        assert one.unit in ("1/4", "1/8", "1/16"), one
        assert re.fullmatch(r"[A-G][b#]?(m|dor|mix|lyd|phr)?", one.key), one
        assert one.titles
        assert all(title == " ".join(title.split()) != "" for title in one.titles)


def test_bodies_hold_music_alone(found):
    music = re.compile(r"[A-Ga-gz^_=,'0-9/|:\[\](){}<> -]+")
    field = re.compile(r"M:(C\|?|\d/\d)|L:1/(8|16)|K:[A-G][b#]?(m|mix)?")
    for one in found.values():
        for line in one.body.split("\n"):
            assert music.fullmatch(line) or field.fullmatch(line), (one.name, line)
            assert not re.search(r"=[^A-Ga-g]|=$|\d{3}|  ", line), (one.name, line)


def test_every_note_of_the_source_is_kept(found, raw):
    # counted in another way, in Ryan's collection, a file a tune and one voice each
    for name, text in raw.items():
        if "ryansMammoth" not in name or "=20" in text or "=3D" in text:
            continue
        music = re.split(r"(?m)^K:.*", text, maxsplit=1)[1]
        music = re.sub(r'(?m)^[A-Za-z]:.*|%.*|"[^"]*"|![^!\n|]*!', "", music)
        one = found[f"ryansMammoth/{name.split('/')[-1].removesuffix('.abc')}/1"]
        ours = re.sub(r"(?m)^[KLM]:.*", "", one.body)
        assert len(re.findall(r"\[[KLM]:", music)) == 2 * ("RumAndOnions" in name)
        assert re.findall("[A-Ga-gz]", music) == re.findall("[A-Ga-gz]", ours), name


def bar_length(bar):
    """Add up the notes of a bar, in units; a triplet's notes are two thirds long."""
    length, triplet = Fraction(0), 0
    for sign in re.finditer(r"\((\d)|[A-Ga-gz][,']*(\d*)(/*)(\d*)", bar):
        group, n, slashes, by = sign.groups()
        if group:
            triplet = 3 if group == "3" else 0
            continue
        note = Fraction(int(n or 1), int(by or 2 ** len(slashes)))
        length += note * (Fraction(2, 3) if triplet > 0 else 1)
        triplet -= 1
    return length


def test_most_bars_are_full(found):
    # a bar's notes add up to the metre, but for upbeats, halves and slips of the pen
    full = total = 0
    for one in list(found.values())[::10]:
        if re.search("(?m)^[KLM]:", one.body):
            continue
        metre = Fraction({"C": "4/4", "C|": "2/2"}.get(one.metre, one.metre))
        for bar in re.split(r"[|:\[\]]+\d?", re.sub(r"\{.*?\}", "", one.body)):
            if length := bar_length(bar):
                total += 1
                full += length * Fraction(one.unit) == metre
    assert total > 6000
    assert full / total > 0.75


def test_tunes_read_as_they_are_printed(found):
    acacia = found["ryansMammoth/AcaciaReel/1"]
    assert acacia.titles == ("Acacia -- Reel",)
    assert acacia.abc.startswith(
        "X:1\nT:Acacia -- Reel\nM:2/4\nL:1/16\nK:G\n"
        "((3DEF)| G2GA BcdB | {d}cBcd e2((3def) | {a}gfge dBGB | cBAG FADF |\n"
    )
    assert acacia.text == acacia.abc.split("\n", 2)[2]
    valley = found["oneills1850/0001-0050/1"]
    assert valley.titles == ("The Enchanted Valley",)
    assert valley.body.startswith("G3-A (Bcd=e) | f4 (g2dB) | ({d}c3-B) G2-E2 |")
    cockade = found["airdsAirs/book1/1"]
    assert cockade.titles == ("The Ranting Highlandman.", "The White Cockade")
    assert (cockade.metre, cockade.unit, cockade.key) == ("C|", "1/8", "G")
    gate = found["ryansMammoth/GoldenGateReel/1"]
    assert gate.titles == ("Golden Gate -- Reel",)  # "Gat:e" in the file
    assert "f>d=B>a" in found["ryansMammoth/TidalWaveJig/1"].body  # mailed as =3DB


def test_changes_within_a_line_keep_their_place(found):
    gone = found["oneills1850/0051-0100/17"].body
    assert "| G2 G2 | G4 ||\nK:C\n|| E2 (Gc) |" in gone  # G major, then C
    hautboy = found["oneills1850/0550-0625/21"].body
    assert "|\nL:1/16\n(c3d/c/)\nL:1/8\nBA BG {F}E2|" in hautboy
    rum = found["ryansMammoth/RumAndOnionsJig/1"]
    assert re.findall("(?m)^M:.*", rum.text) == [
        *("M:6/8", "M:2/4", "M:6/8", "M:2/4"),
    ]


def test_every_change_of_the_source_is_kept(found, raw):
    # counted in another way: fields after the first K:, alone or within a line
    for name, text in raw.items():
        file = name.split("/corpus/")[-1].removesuffix(".abc")
        for number, piece in enumerate(re.split(r"(?m)^X:", text)[1:], 1):
            music = re.split(r"(?m)^K:.*", piece, maxsplit=1)[1]
            changes = re.findall(r"(?m)(?:^|\[)([KLM]):", music)
            body = found[f"{file}/{number}"].body
            assert re.findall(r"(?m)^([KLM]):", body) == changes, (file, number)


def test_a_capital_rest_is_a_rest(found):
    assert "| G6- | G4 z2 ||" in found["oneills1850/0626-0700/12"].body
    assert "|G3 zAB|" in found["oneills1850/0351-0400/37"].body
    assert "(ED) Dz:|" in found["oneills1850/1176-1275/10"].body


def test_titles_that_insult_are_not_shown(found, raw):
    files = sorted(name for name in raw if "/ryansMammoth/" in name)
    hidden = {name: one for name, one in found.items() if "Collection" in one.titles[0]}
    assert len(hidden) == 7
    for name, one in hidden.items():
        file = f"/{name.removesuffix('/1')}.abc"
        place = [path.endswith(file) for path in files].index(True) + 1
        assert one.titles == (f"Ryan's Mammoth Collection {place}",)
        assert one.abc.startswith(f"X:1\nT:{one.titles[0]}\nM:")
    shown = "\n".join("\n".join(one.titles) for one in found.values())
    assert not re.search(r"(?i)\bcoon\b|\bn\.\.|\b(in de|to de|dat|brudder)\b", shown)


def letters_of_titles(one):
    """Return titles as letters and digits; not those that name a dance and no tune."""
    bare = {re.sub(r"^(the|a) |\W", "", title.lower()) for title in one.titles}
    return bare - {"quickstep", "strathspey", "march", "minuet", "air", "dance", "reel"}


@pytest.mark.parametrize(
    "key",
    [
        lambda one: {one.body},
        lambda one: {re.sub(r"[^A-Ga-g]", "", one.body)},
        letters_of_titles,
        lambda one: {
            re.sub(r"(reel|jig|hornpipe|strathspey)$", "", title)
            for title in letters_of_titles(one)
        },
    ],
    ids=["body", "notes", "title", "title without its dance"],
)
def test_no_tune_lies_in_two_parts(key):
    seen = [set().union(*map(key, getattr(tunes(), part))) for part in PARTS]
    assert set.intersection(seen[0], seen[1]) == set()
    assert set.intersection(seen[2], seen[0] | seen[1]) == set()


def test_no_long_run_of_a_melody_lies_in_two_parts(found):
    seen = [
        set().union(*(melody(one, 20) for one in getattr(tunes(), part)))
        for part in PARTS
    ]
    for held_out in seen[1:]:
        others = set().union(*(part for part in seen if part is not held_out))
        assert len(held_out & others) / len(held_out) < 1e-3


def test_the_same_number_in_two_hands_lies_in_one_part():
    # O'Neill's 732 to 758 were typed twice, by Safranek and by Hogan
    for number in range(1, 28):
        names = {f"oneills1850/0732-0758_{hand}/{number}" for hand in ("bs", "mh")}
        homes = [
            part
            for part in PARTS
            for one in getattr(tunes(), part)
            if one.name in names
        ]
        assert len(homes) == 2
        assert len(set(homes)) == 1


def test_parts_keep_the_order_and_have_sane_sizes(raw):
    files = [name.split("/corpus/")[-1].removesuffix(".abc") for name in sorted(raw)]
    for part in PARTS:
        names = [one.name.rsplit("/", 1) for one in getattr(tunes(), part)]
        places = [(files.index(file), int(number)) for file, number in names]
        assert places == sorted(places)
        if part != "train":
            assert 0.05 < len(places) / 4248 < 0.15


def test_reading_twice_gives_the_same():
    assert tunes.__wrapped__() == tunes()


HEADER = "X:1\nT: A Tune % mine\nT:\nM:2/4\nR:reel\nK:E Minor % one sharp\n"


def test_one_tune_is_read_by_hand():
    one = tune(
        "c/f/1",
        HEADER
        + 'u"4"e>f !D.C.!Tg2 | \\\n .A~B``c=20 |! % end\nP:B\nK:Dmix=c\nQ:1/4=9\n'
        "[V:1] +EA+ (3D=3DCE =\nz|]*\n[V:2] x4 |\n:17\n",
    )
    assert one.titles == ("A Tune",)
    assert one.unit == "1/16"  # 2/4 is less than three quarters
    assert one.body == "e>f g2 | ABc |\nK:Dmix\n[EA] (3D=CE z|]"
    assert one.text == f"M:2/4\nL:1/16\nK:Em\n{one.body}\n"


def test_changes_and_rests_are_read_by_hand():
    one = tune(
        "n",
        HEADER + "A2 | [M:6/8]B [K:A minor] c \\\nd Z2 [P:A] e|[L:1/16]\n"
        "[V:2][M:3/4] A4 |\nf |\n",
    )
    assert one.body == "A2 |\nM:6/8\nB\nK:Am\nc d z2 e|\nL:1/16\nf |"


@pytest.mark.parametrize(
    ("metre", "unit"),
    [("6/8", "1/8"), ("C", "1/8"), ("C|", "1/8"), ("3/8", "1/16"), ("3/4", "1/8")],
)
def test_a_missing_unit_is_the_one_of_the_standard(metre, unit):
    assert tune("n", HEADER.replace("2/4", metre) + "A|").unit == unit


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("EM", "Em"),
        ("A Mixolydian", "Amix"),
        ("Bb", "Bb"),
        ("F#min", "F#m"),
        ("Hp", "Amix"),
        ("Bn", "Bm"),
        ("D Major", "D"),
        ("Glydian", "Glyd"),
    ],
)
def test_keys_have_one_spelling(written, key):
    assert tune("n", HEADER.replace("E Minor", written) + "A|").key == key


def test_steps_forget_key_rhythm_and_grace_notes():
    one, other = (
        tune("n", HEADER + body) for body in ("C2 E>G | c B,", "{g}D/ (FA) d2\nM:C\n^C")
    )
    assert steps(one) == (2, 2, 3, -8)
    assert steps(other) == (2, 2, 3, -8)
    assert steps(tune("n", HEADER + "a a' A")) == (0 + 7, -14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X:1\nT:a\nK:G\nA|", r"tune n: .* lacks \['M'\]"),
        ("X:1\nT:\nM:C\nK:G\nA|", r"tune n: .* lacks \['T'\]"),
        ("X:1\nT:a\nM:C\nA|", r"tune n: .* lacks \['K'\]"),
        ("X:1\nT:a\nM:C\nK:H\nA|", "key 'H' must be a tonic and a mode, such as Em"),
        ("X:1\nT:a\nM:C\nK:Gaeolic\nA|", "key 'Gaeolic' must be a tonic and a mode"),
    ],
)
def test_what_is_no_tune_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        tune("n", text)


def test_an_archive_without_the_collections_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "m.whl", "w") as file:
        file.writestr("music21/corpus/essenFolksong/a.abc", HEADER + "A|")
    monkeypatch.setattr(
        module, "open_source", lambda _: OpenArchive(tmp_path / "m.whl", label="tunes")
    )
    with pytest.raises(ValueError, match="must hold airdsAirs, oneills1850, ryansMam"):
        tunes.__wrapped__()
