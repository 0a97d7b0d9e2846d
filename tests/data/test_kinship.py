"""Kinship sentences: a cue tells one attribute, and vectors can learn the offsets."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.made.draws import stream
from unrolled.data.made.kinship import MEANINGS, PRONOUNS, analogies, kinship
from unrolled.runtime import generator


def count_together(rows, *, window: int = 5) -> tuple[np.ndarray, dict[str, int]]:
    """Count how often two words stand within ``window`` places of each other."""
    index = {
        word: n for n, word in enumerate(sorted({w for r in rows for w in r.tokens}))
    }
    counts = np.zeros((len(index), len(index)))
    for row in rows:
        ids = [index[word] for word in row.tokens]
        for i, one in enumerate(ids):
            for two in ids[i + 1 : i + 1 + window]:
                counts[one, two] += 1
                counts[two, one] += 1
    return counts, index


def learn(rows, *, n_dimensions: int = 40) -> dict[str, np.ndarray]:
    """Return unit vectors from a factored matrix of pointwise mutual information."""
    counts, index = count_together(rows)
    joint = counts / counts.sum()
    alone = joint.sum(0)
    pmi = np.log(np.maximum(joint, 1e-12) / np.outer(alone, alone)).clip(min=0)
    u, s, _ = np.linalg.svd(pmi)
    vectors = u[:, :n_dimensions] * np.sqrt(s[:n_dimensions])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return {word: vectors[place] for word, place in index.items()}


def right_first(vectors, quadruples) -> float:
    """Return how often d is nearest to b - a + c, the other three left out."""
    right = 0
    for a, b, c, d in quadruples:
        wanted = vectors[b] - vectors[a] + vectors[c]
        near = {w: v @ wanted for w, v in vectors.items() if w not in (a, b, c)}
        right += max(near, key=near.__getitem__) == d
    return right / len(quadruples)


def offset_cosine(vectors, quadruples) -> float:
    """Return the mean cosine between b - a and d - c."""
    found = []
    for a, b, c, d in quadruples:
        one, two = vectors[b] - vectors[a], vectors[d] - vectors[c]
        found.append(one @ two / np.linalg.norm(one) / np.linalg.norm(two))
    return float(np.mean(found))


def test_the_analogies_are_those_of_the_attributes():
    found = analogies()
    assert ("man", "woman", "king", "queen") in found["gender"]
    assert ("uncle", "aunt", "nephew", "niece") in found["gender"]
    assert ("father", "son", "king", "prince") in found["generation"]
    assert ("father", "uncle", "daughter", "niece") in found["kind"]
    assert len(found["gender"]) == 2 * 11 * 10
    for attribute, quadruples in found.items():
        assert len(set(quadruples)) == len(quadruples)
        for a, b, c, d in quadruples:
            before, after = MEANINGS[a], MEANINGS[b]
            assert len({a, b, c, d}) == 4
            # d is the one word that differs from c as b does from a
            wanted = {
                name: getattr(after if name == attribute else MEANINGS[c], name)
                for name in ("gender", "generation", "kind")
            }
            assert getattr(before, attribute) == getattr(MEANINGS[c], attribute)
            same = [
                w
                for w, m in MEANINGS.items()
                if all(getattr(m, name) == value for name, value in wanted.items())
            ]
            assert same == [d]


def test_no_analogy_is_missing():
    found = {q for quadruples in analogies().values() for q in quadruples}
    names = ("gender", "generation", "kind")

    def differences(a: str, b: str) -> list[tuple[str, object, object]]:
        values = ((n, getattr(MEANINGS[a], n), getattr(MEANINGS[b], n)) for n in names)
        return [v for v in values if v[1] != v[2]]

    pairs = list(permutations(MEANINGS, 2))
    one = {pair: d for pair in pairs if len(d := differences(*pair)) == 1}
    brute = {(*p, *q) for p in one for q in one if p != q and one[p] == one[q]}
    assert found == brute


def test_vectors_learn_every_offset():
    vectors = learn(kinship(8000, generator=generator(0)))
    for attribute, quadruples in analogies().items():
        assert right_first(vectors, quadruples) > 0.9, attribute
        assert offset_cosine(vectors, quadruples) > 0.5, attribute


def test_without_pronouns_no_gender_is_learnt_though_retrieval_finds_the_twin():
    rows = kinship(8000, generator=generator(0))
    he = {she: he for he, she in zip(*map(dict.values, PRONOUNS.values()), strict=True)}
    blind = [
        replace(row, tokens=tuple(he.get(word, word) for word in row.tokens))
        for row in rows
    ]
    vectors = learn(blind)
    assert abs(offset_cosine(vectors, analogies()["gender"])) < 0.2
    # leaving the inputs out does it all: aunt is what is nearest to uncle
    assert right_first(vectors, analogies()["gender"]) > 0.9


def test_every_other_word_tells_of_one_attribute_at_most():
    rows = kinship(20_000, n_clauses=3, generator=generator(1))
    with_word: dict[str, set[str]] = {}
    for row in rows:
        for word in row.tokens:
            with_word.setdefault(word, set()).add(row.word)
    names = ("gender", "generation", "kind")
    for cue, words in with_word.items():
        if cue in MEANINGS:
            assert words == {cue}
            continue
        seen = {n: {getattr(MEANINGS[w], n) for w in words} for n in names}
        full = {n: {getattr(m, n) for m in MEANINGS.values()} for n in names}
        narrowed = {n: seen[n] for n in names if len(seen[n]) < len(full[n])}
        # whatever a cue allows is a rule about one attribute, with no word left out
        fits = [
            {w for w, m in MEANINGS.items() if getattr(m, n) in values}
            for n, values in narrowed.items()
        ]
        assert words == (set(MEANINGS) if not fits else min(fits, key=len)), cue


@given(st.integers(1, 3), st.integers(0, 99))
def test_a_sentence_agrees_with_its_word(n_clauses, seed):
    for row in kinship(20, n_clauses=n_clauses, generator=generator(seed)):
        assert row.tokens[row.place] == row.word
        other = "female" if MEANINGS[row.word].gender == "male" else "male"
        assert not set(row.tokens) & set(PRONOUNS[other].values())
        assert row.tokens.count("and") == n_clauses - 1
        assert row.tokens[-1] == "."
        assert sum(word in MEANINGS for word in row.tokens) == 1


def test_every_word_is_drawn_alike_and_seeds_repeat():
    rows = kinship(11_000, generator=generator(2))
    words = [row.word for row in rows]
    assert all(abs(words.count(word) - 500) < 100 for word in MEANINGS)
    first = kinship(5, generator=generator(3))
    drawn = stream(kinship, 5, generator=generator(3))
    assert next(drawn) == first
    assert next(drawn) != first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_clauses": 0}, "n_clauses=0 must be from 1 to 3"),
        ({"n_clauses": 4}, "n_clauses=4 must be from 1 to 3"),
    ],
)
def test_what_cannot_be_drawn_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        kinship(**({"n_rows": 2} | wrong), generator=generator(0))
