"""Numbers in words: num2words says the same, and aligned pieces mean the same."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from unrolled.data.made.draws import stream
from unrolled.data.made.numbers import key, numbers, translate
from unrolled.data.splits import PARTS, part_of
from unrolled.runtime import generator

SMALL = [*range(20), *range(20, 100, 10)]
ENGLISH = {num2words(n): n for n in SMALL} | {"hundred": 100, "thousand": 1000}
GERMAN = {num2words(n, lang="de"): n for n in SMALL}
GERMAN |= {"ein": 1, "hundert": 100, "tausend": 1000}
VALUES = [*range(1300), *range(1300, 10**6, 997), 100_001, 101_000, 201_301, 999_999]


def english_value(words: tuple[str, ...]) -> int:
    """Read a number the other way: add, and multiply at hundred and thousand."""
    total = group = 0
    for word in words:
        if word == "thousand":
            total, group = total + group * 1000, 0
        elif word == "hundred":
            group *= 100
        elif word != "and":
            group += ENGLISH[word]
    return total + group


def weights(words, names, hundred, thousand) -> list[int]:
    """Return what each word adds by itself: its digit's worth, from the text alone."""
    at = words.index(thousand) if thousand in words else -1
    worth = []
    for place, word in enumerate(words):
        scale = 1000 if place <= at else 1
        if place + 1 < len(words) and words[place + 1] == hundred:
            scale *= 100
        value = names.get(word, 0)
        worth.append(value * scale if word not in (hundred, thousand) else -scale)
    return worth


@pytest.mark.parametrize("chunk", range(5))
def test_the_words_are_those_of_num2words(chunk):
    for value in VALUES[chunk::5]:
        number = translate(value)
        assert list(number.source) == re.findall("[a-z]+", num2words(value))
        # num2words says "einhunderteinstausend"; German has "einhunderteintausend"
        german = num2words(value, lang="de").replace("einstausend", "eintausend")
        assert "".join(number.target) == german


@given(st.integers(0, 999_999))
def test_aligned_pieces_are_worth_the_same(value):
    number = translate(value)
    assert english_value(number.source) == value
    source = weights(number.source, ENGLISH, "hundred", "thousand")
    target = weights(number.target, GERMAN, "hundert", "tausend")
    assert all(source[s] == target[t] for s, t in number.alignment)
    assert sum(source[s] for s, _ in number.alignment if source[s] > 0) == value
    # each piece has one partner, but for the two words that only join
    free = [w for p, w in enumerate(number.source) if p not in dict(number.alignment)]
    taken = {t for _, t in number.alignment}
    assert len(taken) == len(number.alignment)
    assert set(free) <= {"and"}
    assert {w for p, w in enumerate(number.target) if p not in taken} <= {"und"}


def test_units_cross_tens_and_nothing_else_crosses():
    assert translate(24).target == ("vier", "und", "zwanzig")
    assert translate(24).alignment == ((0, 2), (1, 0))
    pairs = translate(521_024).alignment
    crossed = [p for p in pairs for q in pairs if p[0] < q[0] and p[1] > q[1]]
    words = [translate(521_024).source[s] for s, _ in crossed]
    assert words == ["twenty", "twenty"]
    assert all(s == t for s, t in translate(305).alignment[:2])


def test_every_length_is_drawn_alike_and_stays_in_its_range():
    rows = numbers(6000, generator=generator(0))
    lengths = [len(str(row.value)) for row in rows]
    for digits in range(1, 7):
        assert abs(lengths.count(digits) / 6000 - 1 / 6) < 0.03
    only = numbers(500, n_digits=(3, 4), generator=generator(1))
    assert {len(str(row.value)) for row in only} == {3, 4}
    leading = [str(row.value)[0] for row in rows if row.value > 9]
    assert all(abs(leading.count(d) / len(leading) - 1 / 9) < 0.03 for d in "123456789")


@pytest.mark.parametrize("part", PARTS)
def test_a_number_is_of_one_part(part):
    rows = numbers(600, part=part, generator=generator(2))
    assert {part_of(key(row.value)) for row in rows} == {part}
    shortest = 1 if part == "train" else 3
    assert {len(str(row.value)) for row in rows} == set(range(shortest, 7))


def test_numbers_below_100_are_in_train_and_the_keys_of_others_differ():
    assert {part_of(key(value)) for value in range(100)} == {"train"}
    assert len({key(value) for value in range(100, 5000)}) == 4900


@pytest.mark.parametrize("part", ["validation", "test"])
def test_no_number_fills_a_part_and_its_lengths_come_alike(part):
    rows = numbers(12_000, part=part, generator=generator(4))
    often = Counter(row.value for row in rows)
    assert often.most_common(1)[0][1] < 0.01 * 12_000
    lengths = Counter(len(str(row.value)) for row in rows)
    assert all(abs(lengths[digits] / 12_000 - 1 / 4) < 0.02 for digits in range(3, 7))
    short = numbers(200, n_digits=(2, 3), part=part, generator=generator(4))
    assert {len(str(row.value)) for row in short} == {3}


def test_the_same_seed_draws_the_same_and_a_stream_goes_on():
    first = numbers(5, generator=generator(3))
    drawn = stream(numbers, 5, generator=generator(3))
    assert next(drawn) == first
    assert next(drawn) != first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_digits": (0, 3)}, r"n_digits=\(0, 3\) must be a range within 1 to 6"),
        ({"n_digits": (4, 3)}, r"n_digits=\(4, 3\) must be a range"),
        (
            {"n_digits": (1, 2), "part": "test"},
            r"n_digits=\(1, 2\) must reach 3 for part='test': numbers below 100 are in",
        ),
        ({"part": "tset"}, "part='tset' must be one of train, validation, test"),
    ],
)
def test_what_cannot_be_drawn_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        numbers(**({"n_rows": 2} | wrong), generator=generator(0))


def test_a_number_too_large_is_named():
    with pytest.raises(ValueError, match="value=1000000 must be from 0 to 999999"):
        translate(10**6)
