"""GPT-2's byte pairs, as the reference cuts them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from unrolled.data.tokens.byte_level import ALPHABET, ByteLevel

MERGES = (
    *(("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("Ġ", "Ġ"), ("i", "n"), ("Ċ", "Ċ")),
    *(("'", "s"), ("Ã", "©"), ("r", "Ã©"), ("Ġ", "1"), ("1", "2"), ("ĠĠ", "ĠĠ")),
)
BYTES = sorted(ALPHABET, key=lambda c: (ALPHABET[c] * 37) % 256)  # in some order
SPECIALS = ("<|endoftext|>", "<|im_end|>")
TOKENS = (*SPECIALS, *BYTES[:-2], *(left + right for left, right in MERGES))
OURS = ByteLevel(tokens=TOKENS, merges=MERGES, n_specials=2)


def reference():
    made = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(TOKENS)},
            merges=list(MERGES),
            unk_token=SPECIALS[0],
        )
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    return made


THEIRS = reference()
letters = st.sampled_from("the in's'll 12  \n\n\té中½²_-—.,'😀")


def test_the_alphabet_is_that_of_the_reference():
    assert set(ALPHABET) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(ALPHABET.values()) == list(range(256))
    assert (ALPHABET["Ġ"], ALPHABET["Ċ"], ALPHABET["a"]) == (32, 10, 97)


@given(st.text(letters, max_size=30))
@example("there's the thin  café in 2012, he'll say   12\n\n the_end ")
@settings(max_examples=300)
def test_texts_are_cut_as_by_the_reference(text):
    assert OURS.encode(text) == THEIRS.encode(text, add_special_tokens=False).ids


@given(st.text(letters, max_size=30))
@settings(max_examples=50)
def test_decoding_gives_back_the_text(text):
    ids = OURS.encode(text)
    assert 0 in ids or OURS.decode([*ids, 1]) == text


def test_half_a_character_is_shown_as_such_and_specials_are_no_text():
    assert OURS.decode(OURS.encode("é")[:1]) in {"é", "\ufffd"}
    assert OURS.decode(OURS.encode("😀")[:2]) == "\ufffd"
    assert 1 not in OURS.encode("<|im_end|>")
    assert OURS.ids["<|im_end|>"] == 1
    assert len(OURS) == len(TOKENS)


def test_it_comes_back_from_json():
    again = ByteLevel.from_json(OURS.to_json())
    assert again == OURS
    assert again.encode("there's 12") == OURS.encode("there's 12")


def test_complaints():
    with pytest.raises(ValueError, match="id=-1 must be between"):
        OURS.decode([-1])
    with pytest.raises(ValueError, match="comes twice"):
        ByteLevel(tokens=("a", "a"), merges=(), n_specials=0)
    with pytest.raises(ValueError, match="must be a byte or come from a merge before"):
        ByteLevel(tokens=TOKENS, merges=(("he", "t"),), n_specials=2)
