"""Shares of words and runs, against counts by hand."""

import pytest

from unrolled.evaluation.writing import (
    commonest_word,
    known_words,
    period,
    repeated_runs,
    words_of,
)


def test_words_are_runs_of_letters():
    assert words_of("And God's 2 sons:\nsaid") == ["and", "god", "s", "sons", "said"]


def test_known_words_leave_out_the_last_of_each_text():
    texts = ["the cat zat th", "a the x"]
    assert known_words(texts, {"the", "cat", "x"}) == 3 / 5
    with pytest.raises(ValueError, match="no words to look up"):
        known_words(["one", ""], {"one"})


def test_the_commonest_word_is_counted_over_all_texts():
    assert commonest_word(["The cat the", "a dog: the end"]) == ("the", 3 / 7)
    with pytest.raises(ValueError, match="no words to count"):
        commonest_word(["1 2", ""])


def test_repeated_runs_have_come_before_in_the_same_text():
    assert repeated_runs(["abcabc"], n=3) == pytest.approx(1 / 4)  # of abc bca cab abc
    assert repeated_runs(["abc", "abc"], n=3) == 0
    assert repeated_runs(["aaaaa"], n=2) == pytest.approx(3 / 4)
    with pytest.raises(ValueError, match="n=4"):
        repeated_runs(["abc"], n=4)


def test_the_period_is_that_of_the_later_half():
    assert period([9, 8, 1, 2, 1, 2, 1, 2]) == 2
    assert period([1, 2, 3, 4] * 2) == 4
    assert period([5, 5, 5, 5]) == 1
    assert period(list(range(8))) is None
    assert period([1, 1, 1, 2]) is None
