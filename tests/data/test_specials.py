"""Special tokens in a text, against Hugging Face and by trying every place."""

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from real_text import sentences
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.corpora.smollm2 import smollm2
from unrolled.data.tokens.bpe import BytePairs
from unrolled.data.tokens.bpe_training import train_bpe
from unrolled.data.tokens.byte_level import ALPHABET, ByteLevel
from unrolled.data.tokens.specials import split_specials

END = "<|endoftext|>"
SPECIALS = (END, "<|end", "<|end|>", "<|end|><|end|>", "[ é ]", "aba", "(.*)")
MERGES = (
    *(("e", "n"), ("en", "d"), ("|", ">"), ("Ġ", "a"), ("a", "b"), ("ab", "ab")),
    *(("<", "|"), ("end", "<|"), ("Ã", "©")),
)
BYTES = sorted(ALPHABET, key=ALPHABET.__getitem__)
TOKENS = (*SPECIALS, *BYTES, *(left + right for left, right in MERGES))
LEVEL = ByteLevel(tokens=TOKENS, merges=MERGES, n_specials=len(SPECIALS))
PAIRS = BytePairs(
    merges=tuple(
        tuple(bytes(ALPHABET[c] for c in part) for part in pair) for pair in MERGES
    ),
    specials=SPECIALS,
)
BOTH = pytest.mark.parametrize("tokenizer", [LEVEL, PAIRS], ids=["level", "pairs"])

parts = [
    "<|end",
    "<|",
    "|>",
    "oftext",
    "ab",
    "a",
    "é",
    " ",
    "  ",
    "\n",
    "'s",
    "12",
    ".",
]
texts = st.lists(st.sampled_from([*SPECIALS, *parts]), max_size=12).map("".join)
some = st.sets(st.sampled_from(SPECIALS))


def twin(tokens, merges, specials, unknown=None):
    """Return Hugging Face's tokenizer of the same tables."""
    vocabulary = {token: place for place, token in enumerate(tokens)}
    made = Tokenizer(
        models.BPE(vocab=vocabulary, merges=list(merges), unk_token=unknown)
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    made.add_special_tokens([AddedToken(s, normalized=False) for s in specials])
    return made


THEIRS = twin(TOKENS, MERGES, SPECIALS)


def every_place(text, allowed):
    """Cut a text by trying all specials at each place, one character at a time."""
    found, plain, place = [], "", 0
    while place < len(text):
        here = [special for special in allowed if text.startswith(special, place)]
        if here:
            longest = max(here, key=len)
            found += [(plain, False), (longest, True)]
            plain, place = "", place + len(longest)
        else:
            plain, place = plain + text[place], place + 1
    return [*found, (plain, False)]


@given(texts, some)
@example("<|end|><|end|><|end|>ababa<|endoftext|", {*SPECIALS})
def test_specials_are_found_as_by_trying_every_place(text, allowed):
    wanted = every_place(text, allowed)
    assert list(split_specials(text, SPECIALS, allowed)) == wanted
    for tokenizer in (LEVEL, PAIRS):
        ids = []
        for part, special in wanted:
            ids += [SPECIALS.index(part)] if special else tokenizer.encode(part)
        assert tokenizer.encode(text, allowed_special=allowed) == ids


@given(texts)
@example("  <|end|>  the <|end|><|end|>'s aba b[ é ]")
@settings(max_examples=300)
def test_ids_are_those_of_hugging_face(text):
    wanted = THEIRS.encode(text, add_special_tokens=False).ids
    assert LEVEL.encode(text, allowed_special="all") == wanted
    assert LEVEL.encode(text, allowed_special=SPECIALS) == wanted


@BOTH
@given(texts, some)
def test_the_text_comes_back_whatever_is_allowed(tokenizer, text, allowed):
    ids = tokenizer.encode(text, allowed_special=allowed)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    plain = "".join(p for p, special in every_place(text, allowed) if not special)
    assert tokenizer.decode(ids) == plain


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(SPECIALS))
def test_any_text_comes_back_with_its_specials(text, special):
    ids = PAIRS.encode(text + special + text, allowed_special="all")
    assert PAIRS.decode(ids, skip_special_tokens=False) == text + special + text


@BOTH
@given(texts)
def test_nothing_is_special_unless_it_is_allowed(tokenizer, text):
    ids = tokenizer.encode(text)
    assert min(ids, default=len(SPECIALS)) >= len(SPECIALS)
    assert tokenizer.encode(text, allowed_special=()) == ids
    assert tokenizer.decode(ids) == text


def test_an_example_by_hand():
    tokenizer = train_bpe("abab", 259, specials=("<eos>", "<e>"))
    assert tokenizer.encode("ab<eos>", allowed_special={"<eos>"}) == [258, 0]
    assert tokenizer.encode("ab<e>os>", allowed_special="all") == [
        *(258, 1),
        *(2 + byte for byte in b"os>"),
    ]
    assert tokenizer.encode("<eos>") == [2 + byte for byte in b"<eos>"]
    assert tokenizer.encode("", allowed_special="all") == []
    assert tokenizer.decode([258, 0], skip_special_tokens=False) == "ab<eos>"
    assert tokenizer.decode([258, 0]) == "ab"
    half = [2 + 0xC3, 0, 2 + 0xA9]  # a character with a special token in its middle
    assert tokenizer.decode(half, skip_special_tokens=False) == "\ufffd<eos>\ufffd"
    assert tokenizer.decode(half) == "é"


def documents():
    """Return real sentences as documents and turns of a talk, 20 to a text."""
    chosen = sentences()[::10]
    for place in range(0, len(chosen), 20):
        turns = chosen[place : place + 20]
        yield END.join(turns[:10]) + "".join(
            f"<|im_start|>user\n{turn}<|im_end|>\n" for turn in turns[10:]
        )


@cache
def real():
    """Return the tokenizer of SmolLM2 and Hugging Face's of the same tables."""
    t = smollm2().tokenizer
    n = len(t.special)
    ours = ByteLevel(tokens=t.tokens, merges=t.merges, n_specials=n, unknown=t.unknown)
    return ours, twin(t.tokens, t.merges, t.tokens[:n], t.tokens[t.unknown])


def test_real_text_with_specials_is_encoded_like_hugging_faces():
    ours, theirs = real()
    texts = list(documents())
    wanted = [each.ids for each in theirs.encode_batch_fast(texts)]
    assert [ours.encode(text, allowed_special="all") for text in texts] == wanted
    assert {i for ids in wanted for i in ids if i < 17} == {0, 1, 2}
    for text, ids in zip(texts, wanted, strict=True):
        assert ids.count(1) == text.count("<|im_start|>") == 10
        if ours.unknown not in ours.encode(text):  # some bytes have no token
            assert ours.decode(ids, skip_special_tokens=False) == text


def test_merges_learnt_with_specials_encode_each_part_as_if_alone():
    tokenizer = train_bpe(kjv_text().train[:50_000], 600, specials=SPECIALS)
    for text in documents():
        ids = tokenizer.encode(text, allowed_special={END})
        alone = [tokenizer.encode(part) for part in text.split(END)]
        joined = alone[0] + [i for part in alone[1:] for i in (0, *part)]
        assert ids == joined
        assert tokenizer.decode(ids, skip_special_tokens=False) == text


@BOTH
@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (
            END,
            r"^allowed_special='<\|endoftext\|>' must be 'all' or a collection, such",
        ),
        ({"<eos>"}, r"^allowed_special has '<eos>', which must be one of \['<\|endof"),
        ([END, "All"], "^allowed_special has 'All', which must be one of"),
    ],
)
def test_what_is_not_special_cannot_be_allowed(tokenizer, allowed, message):
    with pytest.raises(ValueError, match=message):
        tokenizer.encode("a", allowed_special=allowed)


def test_an_empty_special_is_nowhere_to_be_found():
    tokenizer = BytePairs(merges=(), specials=("", "<e>"))
    assert tokenizer.encode("a<e>", allowed_special="all") == [2 + 97, 1]
    with pytest.raises(ValueError, match="has '', which must be one of"):
        tokenizer.encode("a", allowed_special=[""])
