"""Words as tokens: split as documented, counted as Counter counts."""

import pickle
import re
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from real_text import sentences
from unrolled.data.tokens.vocabulary import SPECIALS
from unrolled.data.tokens.words import Words, join_words, split_words

words = st.sampled_from("a b c d e f".split())
texts = st.lists(st.lists(words).map(" ".join))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat.", "The|cat|sat|."),
        ("Don't! He said: 'tis so", "Don't|!|He|said|:|'|tis|so"),
        ("the boys' dogs", "the|boys|'|dogs"),
        ("L'heure qu'il est aujourd'hui", "L'|heure|qu'|il|est|aujourd'hui"),
        ("lorsqu\u2019elle d'11", "lorsqu\u2019|elle|d'|11"),
        ("I'm at o'clock", "I'm|at|o'clock"),
        ("1,461 days, 3.5 km. 2", "1,461|days|,|3.5|km|.|2"),
        ("a.b 1.b well-known H2O", "a|.|b|1|.|b|well|-|known|H2O"),
        ("snake_case\t\n(x) ...", "snake|_|case|(|x|)|.|.|."),
        ("cafe\u0301 😀👍", "café|😀|👍"),
        (" \u00a0\n", ""),
    ],
)
def test_texts_split_as_documented(text, expected):
    assert "|".join(split_words(text)) == expected


@given(st.text(st.sampled_from("aéßΣl'\u2019quQU1.,-_ \n\u0301\u200d!😀")) | st.text())
def test_only_space_is_lost_and_joined_words_split_alike(text):
    found = split_words(text)
    assert "".join(found) == re.sub(r"\s", "", unicodedata.normalize("NFC", text))
    assert split_words(join_words(found)) == found


def test_real_text_splits_alike_once_joined():
    for sentence in sentences():
        found = split_words(sentence)
        assert split_words(join_words(found)) == found


@given(texts, st.integers(1, 4), st.integers(4, 12) | st.none())
def test_the_vocabulary_is_that_of_a_plain_count(texts, min_count, max_size):
    found = Words.of(texts, min_count=min_count, max_size=max_size)
    counts = Counter(" ".join(texts).split())
    kept = list(found.words)
    assert found.tokens[:4] == SPECIALS
    ranked = sorted(sorted(counts), key=counts.__getitem__, reverse=True)
    allowed = [word for word in ranked if counts[word] >= min_count]
    assert kept == (allowed if max_size is None else allowed[: max_size - 4])
    assert len(found) == len(kept) + 4


@given(texts, texts)
def test_known_words_come_back_and_others_are_unknown(seen, new):
    tokenizer = Words.of(seen)
    for text in seen:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    for text in new:
        expected = [w if w in " ".join(seen) else "<unk>" for w in text.split()]
        ids = tokenizer.encode(text)
        assert [tokenizer.tokens[i] for i in ids] == expected
        assert tokenizer.decode([2, *ids, 3, 0, 0]) == " ".join(expected)


def test_ties_are_in_code_point_order_whatever_the_order_of_texts():
    assert Words.of(["b a", "c b"]).words == ("b", "a", "c")
    assert Words.of(["c b", "a b"]).words == ("b", "a", "c")


def test_a_special_in_a_text_is_text():
    tokenizer = Words.of(["<eos>"])
    assert tokenizer.words == ("<", ">", "eos")
    assert min(tokenizer.encode("<eos>")) >= len(SPECIALS)


def test_without_an_unknown_token_an_unknown_word_is_refused():
    tokenizer = Words.of(["a b"], specials=("<pad>",))
    with pytest.raises(ValueError, match=r"'c' \(piece 1 of the text\) is not in"):
        tokenizer.encode("a c")


def test_json_and_pickle_bring_back_an_equal_tokenizer():
    tokenizer = Words.of(sentences()[::100], min_count=2, max_size=500)
    assert Words.from_json(tokenizer.to_json()) == tokenizer
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode(sentences()[7]) == tokenizer.encode(sentences()[7])


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match="texts='one text' must be several texts"):
        Words.of("one text")
    with pytest.raises(ValueError, match="min_count=0 must be at least 1"):
        Words.of(["a"], min_count=0)
    with pytest.raises(ValueError, match="max_size=3 must be at least 4"):
        Words.of(["a"], max_size=3)
    with pytest.raises(ValueError, match="'pad' is a word that a text may hold"):
        Words(words=("a",), specials=("pad",))
    with pytest.raises(ValueError, match="token 'a' comes twice"):
        Words(words=("a", "b", "a"))
    with pytest.raises(ValueError, match="id=9 must be between 0 and 4"):
        Words(words=("a",)).decode([9])
    with pytest.raises(ValueError, match="kind='x' must be 'words'"):
        Words.from_json('{"kind": "x"}')
