"""Byte-pair encoding against a naive trainer, brute force and Hugging Face's."""

import pickle
from collections import Counter
from functools import cache
from itertools import islice, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from real_text import sentences
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens import bpe
from unrolled.data.tokens.bpe import PIECES, BytePairs, replay
from unrolled.data.tokens.bpe_training import learn_merges, train_bpe
from unrolled.data.tokens.vocabulary import SPECIALS

anything = st.text(st.characters(exclude_categories=()))  # lone surrogates as well
small_texts = st.text(st.sampled_from("aab bc é'1\n"), max_size=60)
ALPHABET = [bytes([byte]) for byte in range(256)]


@cache
def trained() -> BytePairs:
    return train_bpe(kjv_text().train[:400_000], 2000)


def naive(text: str, min_count: int) -> list[tuple[bytes, bytes, int]]:
    """Learn merges by counting all pairs anew at each step."""
    pieces = [[bytes([b]) for b in p.encode()] for p in PIECES.findall(text)]
    tokens, learnt = list(ALPHABET), []
    while True:
        counts = Counter(pair for piece in pieces for pair in pairwise(piece))
        best = max(counts.values(), default=0)
        if best < min_count:
            return learnt
        ties = [pair for pair, n in counts.items() if n == best]
        a, b = min(ties, key=lambda pair: [tokens.index(part) for part in pair])
        for piece in pieces:
            i = 0
            while i < len(piece) - 1:
                if (piece[i], piece[i + 1]) == (a, b):
                    piece[i : i + 2] = [a + b]
                i += 1
        tokens.append(a + b)
        learnt.append((a, b, best))


@given(small_texts, st.integers(1, 3))
@example("aaaa aaaaaaa aaa", 1)
def test_merges_are_those_of_a_naive_trainer(text, min_count):
    assert list(learn_merges(text, min_count=min_count)) == naive(text, min_count)


def test_on_real_text_each_merge_has_the_highest_count_of_all():
    text = kjv_text().train[:20_000]
    learnt = list(islice(learn_merges(text), 100))
    states = replay(text, [(a, b) for a, b, _ in learnt])
    for pieces, (a, b, n) in zip(states, learnt, strict=False):
        counts = Counter(pair for piece in pieces for pair in pairwise(piece))
        assert counts[a, b] == n == max(counts.values())


def test_merges_are_those_of_hugging_face():
    # theirs break ties by the order of their characters: give them bytes in order
    text = kjv_text().train[:400_000]

    def shown(piece: bytes) -> str:
        return "".join(chr(0x100 + byte) for byte in piece)

    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    alphabet = [shown(byte) for byte in ALPHABET]
    trainer = trainers.BpeTrainer(
        vocab_size=2000, initial_alphabet=alphabet, show_progress=False
    )
    pieces = [shown(piece.encode()) for piece in PIECES.findall(text)]
    theirs.train_from_iterator([" ".join(pieces)], trainer)
    assert len(trained()) == 2000
    vocabulary = sorted(theirs.get_vocab().items(), key=lambda item: item[1])
    assert [shown(token) for token in trained().tokens] == [t for t, _ in vocabulary]
    ids = theirs.encode(" ".join(pieces[:20_000])).ids
    assert trained().encode("".join(PIECES.findall(text)[:20_000])) == ids


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd\nab", "ab cd"),  # the smallest left part, whatever comes first
        ("ac\nab", "ab ac"),  # then the smallest right part
        ("ba\nab", "ab ba"),
        ("ab\nabc\né", "ab Ã© abc"),  # by id: ab is younger than any byte
        ("abab\ncc\ncc", "ab cc abab"),
        ("cd\ncd\nab", "cd ab"),  # what comes oftener is no tie
    ],
)
def test_of_pairs_that_come_equally_often_the_oldest_is_merged(text, expected):
    merges = [a + b for a, b, _ in learn_merges(text, min_count=1)]
    assert merges == [token.encode("latin-1") for token in expected.split()]


@given(st.lists(st.text("abcdé", min_size=1, max_size=6), max_size=8), st.randoms())
def test_ties_do_not_depend_on_the_order_of_a_text(words, random):
    before = list(learn_merges("\n".join(words), min_count=1))
    random.shuffle(words)
    assert list(learn_merges("\n".join(words), min_count=1)) == before


@given(st.lists(st.text("abcdé", min_size=1, max_size=6), min_size=1, max_size=8))
@example(["abab", "baba", "ca", "ac"])
def test_ties_are_broken_as_hugging_face_breaks_them(words):
    def shown(piece: bytes) -> str:
        return "".join(chr(0x100 + byte) for byte in piece)

    trainer = trainers.BpeTrainer(
        vocab_size=400,
        min_frequency=1,
        initial_alphabet=[shown(byte) for byte in ALPHABET],
        show_progress=False,
    )
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    theirs.train_from_iterator([shown(word.encode()) for word in words], trainer)
    ours = BytePairs(
        merges=tuple((a, b) for a, b, _ in learn_merges("\n".join(words), min_count=1))
    )
    vocabulary = sorted(theirs.get_vocab().items(), key=lambda item: item[1])
    assert [shown(token) for token in ours.tokens] == [token for token, _ in vocabulary]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("aaa", "aa|a"), ("aaaaa", "aa|aa|a"), ("abab", "ab|ab"), ("aab", "aa|b")],
)
def test_equal_pairs_are_merged_from_the_left(text, expected):
    tokenizer = BytePairs(merges=((b"a", b"a"), (b"a", b"b")))
    spelt = [tokenizer.tokens[i].decode() for i in tokenizer.encode(text)]
    assert "|".join(spelt) == expected


def with_our_merges(tokenizer: BytePairs) -> Tokenizer:
    """Return Hugging Face's byte-level tokenizer with our pieces and merges."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in plain]
    shown = {byte: chr(byte) for byte in plain}
    shown |= {byte: chr(256 + place) for place, byte in enumerate(rest)}

    def show(token: bytes) -> str:
        return "".join(shown[byte] for byte in token)

    vocabulary = {show(token): place for place, token in enumerate(tokenizer.tokens)}
    merges = [(show(left), show(right)) for left, right in tokenizer.merges]
    found = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES.pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return found


def test_ten_thousand_held_out_sentences_are_encoded_like_hugging_faces():
    theirs = with_our_merges(trained())
    expected = [e.ids for e in theirs.encode_batch_fast(list(sentences()))]
    assert len(expected) == 10_000
    assert [trained().encode(sentence) for sentence in sentences()] == expected


@given(anything)
@example("\ud800 \udfff\ud83d\ude00 😀 👩‍👧 \x00\r\n\r\n\t  a  \n b\u0301 ﷽ ½²")
def test_any_text_comes_back(text):
    assert "".join(PIECES.findall(text)) == text
    assert trained().decode(trained().encode(text)) == text


@given(anything, anything)
def test_any_text_can_be_learnt_and_comes_back(text, other):
    tokenizer = train_bpe(text, 300, min_count=1, specials=SPECIALS)
    for t in (text, other, text + other, "<eos>"):
        ids = tokenizer.encode(t)
        assert tokenizer.decode(ids) == t
        assert min(ids, default=4) >= len(SPECIALS)  # no text is a special


@given(st.lists(st.integers(0, 1999)))
def test_whatever_a_model_writes_can_be_decoded(ids):
    spelt = b"".join(trained().tokens[i] for i in ids)
    text = trained().decode(ids)
    if b"\xed" not in spelt:
        assert text == spelt.decode("utf-8", "replace")
    assert trained().decode([*ids, 0xFF]).endswith("\ufffd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("And God said, Let", "And| God| said|,| Let"),
        ("don't l\u2019eau 'tis", "don't| l\u2019eau| '|tis"),
        ("in 1611 (KJV) a_b", "in| 1611| (|KJV|)| a|_|b"),
        ("one  two\n\nthree\n four", "one| | two|\n\n|three|\n| four"),
        ("end. \n ", "end|.| \n "),
        ("x = 12.5%", "x| =| 12|.|5|%"),
    ],
)
def test_texts_are_cut_into_pieces_as_documented(text, expected):
    assert PIECES.findall(text) == expected.split("|")


def test_an_example_by_hand():
    # ab 3 times, then abc 2; "a b" is never merged: no token crosses pieces
    tokenizer = train_bpe("abc\nabc\nab\n", 300)
    assert tokenizer.merges == ((b"a", b"b"), (b"ab", b"c"))
    assert len(tokenizer) == 258
    assert tokenizer.encode("abcab c") == [257, 256, 32, 99]
    assert tokenizer.ids[b"abc"] == 257
    steps = list(replay("abcab c", tokenizer.merges))
    assert [[b"".join(p) for p in step] for step in steps] == [[b"abcab", b" c"]] * 3
    assert steps[0][0] == [b"a", b"b", b"c", b"a", b"b"]
    assert steps[1][0] == [b"ab", b"c", b"ab"]
    assert steps[2] == [[b"abc", b"ab"], [b" ", b"c"]]


@given(anything)
def test_the_last_step_of_a_replay_is_the_encoding(text):
    tokenizer = train_bpe("low lower lowest new newer newest é é", 280)
    *_, last = replay(text, tokenizer.merges)
    spelt = [tokenizer.tokens[i] for i in tokenizer.encode(text)]
    assert [token for piece in last for token in piece] == spelt


def test_specials_come_first():
    tokenizer = train_bpe("abab", 261, specials=SPECIALS)
    assert tokenizer.tokens[:4] == SPECIALS
    assert [tokenizer.ids[special] for special in SPECIALS] == [0, 1, 2, 3]
    assert tokenizer.encode("ab") == [260]
    assert tokenizer.decode([2, 260, 3, 0]) == "ab"


def test_a_full_memory_changes_nothing(monkeypatch):
    expected = trained().encode(sentences()[0])
    monkeypatch.setattr(bpe, "MAX_CACHED", 2)
    fresh = BytePairs(merges=trained().merges)
    assert fresh.encode(sentences()[0]) == expected
    assert len(fresh._segments) == 2


@given(small_texts)
def test_json_and_pickle_bring_back_an_equal_tokenizer(text):
    tokenizer = train_bpe(text, 300, specials=("<eos>",))
    for back in (
        BytePairs.from_json(tokenizer.to_json()),
        pickle.loads(pickle.dumps(tokenizer)),
    ):
        assert back == tokenizer
        assert back.encode(text) == tokenizer.encode(text)


def test_wrong_values_are_named():
    with pytest.raises(ValueError, match="n_tokens=257 must be at least 258: 256"):
        train_bpe("a", 257, specials=("<pad>", "<eos>"))
    with pytest.raises(ValueError, match="min_count=0 must be at least 1"):
        train_bpe("aa", 300, min_count=0)
    with pytest.raises(ValueError, match=r"\(b'ab', b'c'\) uses b'ab', which must be"):
        BytePairs(merges=((b"ab", b"c"),))
    with pytest.raises(ValueError, match="token b'ab' comes twice"):
        BytePairs(merges=((b"a", b"b"), (b"a", b"b")))
    with pytest.raises(ValueError, match="id=256 must be between 0 and 255"):
        BytePairs(merges=()).decode([256])
    with pytest.raises(ValueError, match="kind='words' must be 'byte pairs'"):
        BytePairs.from_json('{"kind": "words"}')
