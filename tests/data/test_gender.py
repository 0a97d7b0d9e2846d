"""Toy English to French: the right pronoun, agreement and elision, and no shortcut."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.made.draws import stream
from unrolled.data.made.gender import combinations, gender
from unrolled.data.made.gender_words import (
    ANIMALS,
    FORMS,
    OF_ANIMALS,
    OF_PLACES,
    OWNERS,
    PLACES,
)
from unrolled.data.splits import PARTS
from unrolled.runtime import generator

VOWELS = "aeiouâéî"  # no h: none of our nouns begins with one
# the genders, written down again from a dictionary
FEMININE = set(
    "tortue souris grenouille vache chèvre poule abeille araignée rue route place "
    "forêt plage prairie cour avenue reine tante actrice".split()
)
MASCULINE = set(
    "chien chat cheval lapin cochon animal oiseau âne pont parc champ jardin sentier "
    "tunnel marché aéroport roi fermier oncle".split()
)
NOUNS = [*ANIMALS["m"], *ANIMALS["f"], *PLACES["m"], *PLACES["f"], *OWNERS]
FRENCH = {noun.english: noun.french for noun in NOUNS}


def test_articles_and_genders_are_those_of_the_dictionary():
    assert {noun.french for noun in NOUNS} == FEMININE | MASCULINE
    for noun in NOUNS:
        assert (noun.gender == "f") == (noun.french in FEMININE)
        vowel = noun.french[0] in VOWELS
        assert noun.article == ("l'" if vowel else "la" if noun.gender == "f" else "le")


def test_adjectives_agree_by_rule():
    for adjective, forms in FORMS.items():
        m, f = forms["m"], forms["f"]
        if m.endswith("e"):
            assert (adjective, m) in {("young", "jeune"), ("wide", "large")}
            assert f == m
        elif m.endswith("x"):
            assert f == m[:-1] + "se"
        else:
            assert f == (m + "ue" if m.endswith("g") else m + "e")
    assert len(OF_ANIMALS) == len(OF_PLACES)
    assert not set(OF_ANIMALS) & set(OF_PLACES)


@given(st.integers(0, 4), st.sampled_from(PARTS), st.integers(0, 99))
def test_it_is_the_noun_that_the_adjective_suits(n_adjuncts, part, seed):
    for row in gender(9, n_adjuncts=n_adjuncts, part=part, generator=generator(seed)):
        meant = row.subject if row.adjective in OF_ANIMALS else row.object
        assert row.source[row.referent] == meant
        assert row.source[row.it] == "it"
        feminine = FRENCH[meant] in FEMININE
        assert row.gender == ("f" if feminine else "m")
        assert row.target[row.pronoun] == ("elle" if feminine else "il")
        assert row.target[-2] == FORMS[row.adjective]["f" if feminine else "m"]
        assert row.source[-2] == row.adjective


@given(st.integers(0, 4), st.integers(0, 99))
def test_alignment_is_that_of_a_dictionary_and_covers_both_sides(n_adjuncts, seed):
    lexicon = {e: {f} for e, f in FRENCH.items()}
    lexicon |= {a: set(forms.values()) for a, forms in FORMS.items()}
    lexicon |= {"the": {"le", "la", "l'", "du"}, "'s": {"du", "de"}, "was": {"était"}}
    lexicon |= {"didn't": {"n'", "a", "pas"}, "because": {"parce", "qu'"}}
    lexicon |= {"it": {"il", "elle"}, "too": {"trop"}, "cross": {"traversé"}}
    lexicon |= {"explore": {"exploré"}, "in": {"à", "en", "au", "printemps"}}
    lexicon |= {"spring": {"au", "printemps"}, "winter": {"hiver"}, "that": {"qui"}}
    lexicon |= {"lived": {"vivait"}, "nearby": {"tout", "près"}, "loved": {"aimait"}}
    lexicon |= {"had": {"venait", "de"}, "just": {"venait", "de"}, "eaten": {"manger"}}
    lexicon |= {"music": {"la", "musique"}, "on": {"lundi"}, "Monday": {"lundi"}}
    lexicon |= {"at": {"à"}, "noon": {"midi"}, "this": {"ce"}, "morning": {"matin"}}
    lexicon |= {word: {word} for word in ("Paris", ",", ".")}
    for row in gender(8, n_adjuncts=n_adjuncts, generator=generator(seed)):
        for s, t in row.alignment:
            assert row.target[t] in lexicon[row.source[s]]
        assert {s for s, _ in row.alignment} == set(range(len(row.source)))
        free = set(range(len(row.target))) - {t for _, t in row.alignment}
        # an owned animal's own article has no English word: le chien du roi
        first = row.target.index(FRENCH[row.subject]) - 1
        assert free == ({first} if "'s" in row.source else set())


@given(st.integers(0, 4), st.integers(0, 99))
def test_elision_and_contraction_are_right(n_adjuncts, seed):
    for row in gender(8, n_adjuncts=n_adjuncts, generator=generator(seed)):
        text = " ".join(row.target)
        assert "de le" not in text
        for word, after in pairwise(row.target):
            if word in ("le", "la", "du"):
                assert after[0] not in VOWELS
            if word.endswith("'"):
                assert after[0] in VOWELS


def test_a_balanced_draw_leaves_to_rules_of_thumb_what_is_stated():
    rows = gender(800, n_adjuncts=1, generator=generator(0))
    subject = sum(row.source[row.referent] == row.subject for row in rows)
    il = sum(row.target[row.pronoun] == "il" for row in rows)
    assert subject == il == 400
    genders = {n.english: n.gender for n in NOUNS}
    cells = Counter(
        (genders[row.subject], genders[row.object], row.adjective in OF_ANIMALS)
        for row in rows
    )
    assert set(cells.values()) == {100}
    assert len(cells) == 8
    # the pronoun is open still when one noun and the adjective are known by kind
    for guess in ("subject", "object"):
        right = sum(genders[getattr(row, guess)] == row.gender for row in rows)
        assert right == 600  # the half meant, and half of the others


@pytest.mark.parametrize("part", PARTS)
def test_with_mixed_genders_no_one_noun_beats_chance(part):
    genders = {n.english: n.gender for n in NOUNS}
    rows = gender(800, mixed=True, n_adjuncts=1, part=part, generator=generator(0))
    assert all(genders[row.subject] != genders[row.object] for row in rows)
    for guess in ("subject", "object"):
        assert sum(genders[getattr(row, guess)] == row.gender for row in rows) == 400
    assert sum(row.gender == "m" for row in rows) == 400
    cells = Counter((genders[row.subject], row.adjective in OF_ANIMALS) for row in rows)
    assert set(cells.values()) == {200}
    # a number of rows that cells do not divide is drawn all the same
    assert len(gender(7, mixed=True, part=part, generator=generator(0))) == 7
    # and what both together tell is everything
    right = sum(
        genders[row.subject if row.adjective in OF_ANIMALS else row.object]
        == row.gender
        for row in rows
    )
    assert right == 800


@pytest.mark.parametrize("part", ["validation", "test"])
def test_combinations_are_held_out_and_words_are_not(part):
    seen = {c for cell in combinations("train") for c in cell}
    held = {c for cell in combinations(part) for c in cell}
    assert not seen & held
    assert all(combinations(part))
    for column in range(3):
        assert {c[column] for c in held} <= {c[column] for c in seen}
    everything = [c for p in PARTS for cell in combinations(p) for c in cell]
    assert len(everything) == len(set(everything)) == 16 * 16 * 12
    named = {(a.english, p.english, adjective) for a, p, adjective in held}
    rows = gender(200, part=part, generator=generator(1))
    assert {(row.subject, row.object, row.adjective) for row in rows} <= named


def test_adjuncts_control_the_length():
    means = []
    for n_adjuncts in range(5):
        rows = gender(200, n_adjuncts=n_adjuncts, generator=generator(2))
        means.append(sum(len(row.source) for row in rows) / 200)
    assert means[0] == 12
    assert all(1.5 < b - a < 4 for a, b in pairwise(means))


def test_the_same_seed_draws_the_same_and_a_stream_goes_on():
    first = gender(5, generator=generator(3))
    drawn = stream(gender, 5, generator=generator(3))
    assert next(drawn) == first
    assert next(drawn) != first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_adjuncts": 5}, "n_adjuncts=5 must be from 0 to 4"),
        ({"n_adjuncts": -1}, "n_adjuncts=-1 must be from 0 to 4"),
        ({"part": "dev"}, "part='dev' must be one of train, validation, test"),
    ],
)
def test_what_cannot_be_drawn_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        gender(**({"n_rows": 2} | wrong), generator=generator(0))
