"""GloVe: 400,000 words, each with its own row of the table."""

import numpy as np
import pytest

from unrolled.data.corpora import glove as module
from unrolled.data.corpora.glove import WordVectors, glove

UNIT = {}


def nearest(a, b, c, *, without=True, n=6):
    """Return the words nearest to a − b + c by cosine."""
    words = glove()
    unit = UNIT.setdefault("all", words.unit())
    score = unit @ (words[a] - words[b] + words[c])
    if without:
        score[[words.row(w) for w in (a, b, c)]] = -np.inf
    return [words.words[row] for row in np.argsort(-score)[:n]]


def test_there_are_400_000_words_of_50_numbers():
    words = glove()
    assert words.vectors.shape == (400_000, 50)
    assert words.vectors.dtype == np.float32
    assert len(words) == len(words.words) == len(words.index) == 400_000
    assert words.words[:5] == ("the", ",", ".", "of", "to")
    assert all(words.index[w] == row for row, w in enumerate(words.words))
    assert not any(w != w.lower() for w in words.words[:50_000])


def test_rows_belong_to_their_words():
    # the first numbers of the published table, glove.6B.50d.txt
    np.testing.assert_allclose(
        glove()["the"][:5], [0.418, 0.24968, -0.41242, 0.1217, 0.34527], rtol=1e-6
    )
    np.testing.assert_allclose(glove()["the"], glove().vectors[0])
    words = glove()
    unit = UNIT.setdefault("all", words.unit())
    for one, other in (("paris", "france"), ("dog", "cat"), ("tuesday", "monday")):
        alike = unit[words.row(one)] @ unit[words.row(other)]
        assert alike > 0.75 > unit[words.row(one)] @ unit[words.row("thereof")]


def test_king_makes_queen_and_uncle_makes_aunt_by_she_and_he():
    assert nearest("woman", "man", "king")[0] == "queen"
    assert nearest("she", "he", "uncle")[0] == "aunt"


def test_with_its_inputs_in_the_race_king_stays_king():
    assert nearest("woman", "man", "king", without=False)[:2] == ["king", "queen"]


def test_aunt_is_only_fourth_by_woman_and_man():
    assert nearest("woman", "man", "uncle").index("aunt") == 3


def test_unit_vectors_have_length_one_and_the_same_direction():
    words = glove()
    unit = UNIT.setdefault("all", words.unit())
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5)
    some = slice(1000, 1100)
    lengths = np.linalg.norm(words.vectors[some], axis=1, keepdims=True)
    np.testing.assert_allclose(unit[some] * lengths, words.vectors[some], atol=1e-5)


def test_the_table_cannot_be_changed_and_a_word_s_vector_can():
    words = glove()
    with pytest.raises(ValueError, match="read-only"):
        words.vectors[0, 0] = 1
    mine = words["the"]
    mine[:] = 0
    assert words["the"].any()
    assert "the" in words
    assert "The" not in words


def test_a_word_without_vector_is_named():
    with pytest.raises(
        ValueError, match="'Paris' is not among the 400,000 words, all in"
    ):
        glove()["Paris"]


def test_words_and_rows_must_agree():
    with pytest.raises(ValueError, match=r"shape \(3, 2\) must have a row for each"):
        WordVectors(words=("a",), vectors=np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="words has a word twice"):
        WordVectors(words=("a", "a"), vectors=np.zeros((2, 2), np.float32))


def test_another_table_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "table.npy"
    np.save(path, np.zeros((4, 50), np.float32))
    monkeypatch.setattr(module, "unpack", lambda *names: path)
    with pytest.raises(ValueError, match=r"float32 \(4, 50\): it must hold float32"):
        glove.__wrapped__()
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        glove.__wrapped__()
