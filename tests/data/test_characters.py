"""Characters as tokens: every text comes back, and what is unknown is said."""

import pickle
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.vocabulary import SPECIALS
from unrolled.data.tokens.words import Words

anything = st.text(st.characters(exclude_categories=()))  # lone surrogates as well


@given(anything, st.sampled_from([(), ("<eos>",), SPECIALS]))
def test_any_text_comes_back_and_ids_are_places(text, specials):
    chars = Characters.of(text, specials=specials)
    ids = chars.encode(text)
    assert chars.decode(ids) == text
    assert chars.tokens == (*specials, *sorted(set(text)))
    assert [chars.tokens[i] for i in ids] == list(text)
    assert [chars.ids[token] for token in chars.tokens] == list(range(len(chars)))


def test_an_example_by_hand():
    chars = Characters.of("banana")
    assert (chars.characters, len(chars)) == ("abn", 3)
    assert chars.encode("nab") == [2, 0, 1]
    assert chars.decode([1, 0, 2]) == "ban"
    assert chars.encode("") == []
    assert chars.decode([]) == ""


def test_specials_come_first_and_are_never_read_from_a_text():
    chars = Characters.of("<eos>", specials=SPECIALS)
    assert [chars.ids[special] for special in SPECIALS] == [0, 1, 2, 3]
    assert min(chars.encode("<eos>")) >= len(SPECIALS)
    ids = [chars.ids["<bos>"], *chars.encode("so"), chars.ids["<eos>"], 0, 0]
    assert chars.decode(ids) == "so"


def test_the_unknown_is_refused_or_has_a_token_if_asked_for():
    with pytest.raises(ValueError, match=r"'z' \(piece 2 of the text\).*of 3 tokens"):
        Characters.of("banana").encode("anzaz")
    chars = Characters.of("banana", specials=SPECIALS)
    ids = chars.encode("anzaz")
    assert [i == chars.ids["<unk>"] for i in ids] == [False, False, True, False, True]
    assert chars.decode(ids) == "an<unk>a<unk>"


@given(anything)
def test_json_brings_back_an_equal_tokenizer(text):
    chars = Characters.of(text, specials=SPECIALS)
    written = chars.to_json()
    back = Characters.from_json(written)
    assert back == chars
    assert hash(back) == hash(chars)
    assert back.encode(text) == chars.encode(text)
    assert written.isascii()


def test_a_tokenizer_cannot_be_changed_and_goes_to_other_processes():
    chars = Characters.of("banana")
    with pytest.raises(FrozenInstanceError):
        chars.characters = "xyz"
    assert pickle.loads(pickle.dumps(chars)).encode("nab") == [2, 0, 1]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_id_of_no_token_is_named(wrong):
    with pytest.raises(ValueError, match=f"id={wrong} must be between 0 and 2"):
        Characters.of("banana").decode([0, wrong])


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match="token 'a' comes twice"):
        Characters(characters="aba")
    with pytest.raises(ValueError, match="special='a' must be longer than a character"):
        Characters(characters="b", specials=("a",))
    with pytest.raises(ValueError, match="kind='words' must be 'characters'"):
        Characters.from_json(Words.of(["a"]).to_json())
    with pytest.raises(ValueError, match="kind=None must be 'characters'"):
        Characters.from_json("[1]")
