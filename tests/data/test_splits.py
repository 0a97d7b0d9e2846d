"""The fixed division into train, validation and test."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.splits import (
    PARTS,
    check_part,
    families,
    part_of,
    runs,
    split_by,
    split_families,
    split_named,
)


def test_a_key_has_had_its_part_since_the_first_edition():
    """Should these change, every number of the book that rests on a split would."""
    parts = {"": "train", "genesis": "train", "œuf": "validation", "16": "test"}
    assert {key: part_of(key) for key in parts} == parts


def test_the_parts_have_the_sizes_asked_for():
    counts = Counter(part_of(str(i)) for i in range(20_000))
    assert counts["test"] / 20_000 == pytest.approx(0.10, abs=0.01)
    assert counts["validation"] / 20_000 == pytest.approx(0.10, abs=0.01)
    counts = Counter(part_of(str(i), percent=25) for i in range(20_000))
    assert counts["test"] / 20_000 == pytest.approx(0.25, abs=0.015)
    assert counts["train"] / 20_000 == pytest.approx(0.50, abs=0.015)


@given(st.lists(st.text(max_size=3)))
def test_records_keep_their_order_and_those_alike_stay_together(records):
    parts = split_by(records, key=str.casefold)
    whole = [getattr(parts, name) for name in PARTS]
    assert sum(map(len, whole)) == len(records)
    for name, found in zip(PARTS, whole, strict=True):
        assert list(found) == [r for r in records if part_of(r.casefold()) == name]
    sides = [{r.casefold() for r in part} for part in whole]
    assert len(set.union(*sides)) == sum(map(len, sides))


@pytest.mark.parametrize("percent", [0, 50, -1])
def test_a_share_that_leaves_nothing_is_refused(percent):
    with pytest.raises(ValueError, match=f"percent={percent} must be between 1 and 49"):
        part_of("x", percent=percent)


@given(st.lists(st.sets(st.integers(0, 12), max_size=3), max_size=12))
def test_families_are_the_connected_components(keys):
    heads = families(keys)
    # by repeated search: reach grows along shared keys until it grows no more
    for start in range(len(keys)):
        reach = {start}
        while more := {
            j
            for i in reach
            for j, own in enumerate(keys)
            if j not in reach and own & keys[i]
        }:
            reach |= more
        assert {i for i, head in enumerate(heads) if head == heads[start]} == reach
        assert heads[start] == min(reach)


def test_runs_are_all_neighbours():
    assert list(runs("abcd", 3)) == [("a", "b", "c"), ("b", "c", "d")]
    assert list(runs("ab", 3)) == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=60))
def test_no_key_is_on_two_sides(records):
    def keys(pair):
        return f"en {pair[0]}", f"fr {pair[1]}"

    parts = split_families(records, name=str, keys=keys)
    whole = [getattr(parts, name) for name in PARTS]
    assert sum(map(len, whole)) == len(records)
    for place in (0, 1):
        sides = [{pair[place] for pair in part} for part in whole]
        assert len(set.union(*sides)) == sum(map(len, sides))
    for part in whole:
        assert list(part) == [pair for pair in records if pair in set(part)]


def test_lists_of_names_divide_and_keep_the_order():
    parts = split_named("caba", str.upper, validation=["B"], test=["C"])
    assert (parts.train, parts.validation, parts.test) == (("a", "a"), ("b",), ("c",))


def test_what_is_no_part_is_named():
    check_part("validation")
    with pytest.raises(ValueError, match="part='dev' must be one of train, validation"):
        check_part("dev")
