"""Agreement: grammatical, right, and proof against guesses that know no grammar."""

from itertools import product

import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from unrolled.data.made.agreement import (
    KINDS,
    PREPOSITIONS,
    agreement,
    attracted,
)
from unrolled.data.made.agreement_words import SEEN, UNSEEN
from unrolled.runtime import generator

NOUNS = {
    form: many
    for domain in SEEN + UNSEEN
    for pair in domain.nouns
    for form, many in zip(pair, (False, True), strict=True)
}
PAST, DOING = (
    {verb[form] for domain in SEEN + UNSEEN for verb in domain.verbs} for form in (0, 1)
)


def parse_phrase(words):
    """Read a noun phrase off the front of ``words``: its number, and what is left.

    A grammar of its own, by descent: fails on a word out of place or out of agreement.
    """
    assert words[0] == "the"
    many, words = NOUNS[words[1]], words[2:]
    if words and words[0] in PREPOSITIONS:
        return many, parse_phrase(words[1:])[1]
    if words and words[0] == "that":
        words = words[1:]
        if words[0] == "the":  # an object relative: its subject, then its verb
            actor, words = parse_phrase(words)
            return many, parse_verb(words, actor)
        return many, parse_phrase(parse_verb(words, many))[1]
    return many, words


def parse_verb(words, many):
    if words[0] in PAST:
        return words[1:]
    assert words[0] == ("were" if many else "was")
    assert words[1] in DOING
    return words[2:]


def parse_subject(words):
    """Return the subject's number and place in ``words``, all that precede the verb."""
    rest = list(words)
    while rest[0] in PREPOSITIONS:  # fronted phrases have no relatives
        assert rest[1] == "the"
        assert rest[2] in NOUNS
        rest = rest[3:]
    many, left = parse_phrase(rest)
    assert not left
    return many, len(words) - len(rest) + 1


def numbers(sentence):
    return [NOUNS[word] for word in sentence.words[: sentence.verb_at] if word in NOUNS]


def hits(guesses, sentences):
    pairs = zip(guesses, sentences, strict=True)
    return sum(guess == s.plural for guess, s in pairs) / len(sentences)


@pytest.mark.parametrize("domains", [SEEN, UNSEEN])
@pytest.mark.parametrize("n_nouns", [2, 4, 6])
def test_every_sentence_parses_and_its_verb_agrees(n_nouns, domains):
    for s in agreement(2000, n_nouns, domains=domains, generator=generator(n_nouns)):
        many, place = parse_subject(s.words[: s.verb_at])
        assert (many, place) == (s.plural, s.subject_at)
        assert s.words[s.verb_at] == s.right
        forms = [(s.wrong, s.right) if s.plural else (s.right, s.wrong)]
        assert any(forms[0] == verb for d in domains for verb, _ in d.predicates)
        between = s.words[s.subject_at + 1 : s.verb_at]
        others = [NOUNS[word] for word in between if word in NOUNS]
        assert s.n_attractors == sum(other != s.plural for other in others)
        assert s.distance == len(between) + 1
        assert len(numbers(s)) == n_nouns == 2 * sum(numbers(s))
        nouns = [word for word in s.words if word in NOUNS]
        assert len(set(nouns)) == n_nouns


@pytest.mark.parametrize("n_nouns", [2, 4])
def test_no_function_of_the_nouns_numbers_in_order_beats_chance(n_nouns):
    sentences = agreement(16_000, n_nouns, generator=generator(1))
    orders = [tuple(numbers(s)) for s in sentences]
    for place in range(n_nouns):  # the first noun, …, the last noun
        assert abs(hits([o[place] for o in orders], sentences) - 0.5) < 0.02
    for order in set(orders):  # and so any table from orders to guesses
        found = [s.plural for s, o in zip(sentences, orders, strict=True) if o == order]
        assert abs(sum(found) / len(found) - 0.5) < 0.04
    heads = [sum(w in NOUNS for w in s.words[: s.subject_at]) for s in sentences]
    shares = torch.bincount(torch.tensor(heads)) / len(heads)
    assert (shares - 1 / n_nouns).abs().max() < 0.02


@pytest.mark.parametrize("n_nouns", [2, 4])
def test_no_bag_of_words_beats_chance(n_nouns):
    sentences = agreement(6000, n_nouns, generator=generator(2))
    texts = [
        " ".join((*s.words[: s.verb_at], *s.words[s.verb_at + 1 :])) for s in sentences
    ]
    answers = [s.plural for s in sentences]

    def score(ngrams):
        bags = CountVectorizer(ngram_range=ngrams).fit_transform(texts)
        model = LogisticRegression(max_iter=300).fit(bags[:4000], answers[:4000])
        return model.score(bags[4000:], answers[4000:])

    assert abs(score((1, 1)) - 0.5) < 0.04
    # The same learner with pairs of neighbours in its bag does see grammar.
    assert score((1, 2)) > 0.6


@pytest.mark.parametrize("n_nouns", [2, 4, 6])
def test_an_embedded_was_or_were_tells_nothing(n_nouns):
    sentences = agreement(40_000, n_nouns, generator=generator(3))
    inner = [(s, set(s.words[: s.verb_at]) & {"was", "were"}) for s in sentences]
    told = [(s, "were" in found) for s, found in inner if found]
    assert len(told) > 4000
    kept, guesses = zip(*told, strict=True)
    assert abs(hits(guesses, kept) - 0.5) < 0.03


@pytest.mark.parametrize(
    ("n_between", "n_attractors"),
    [(k, a) for k, a in product(range(4), repeat=2) if a <= k],
)
def test_attractors_are_as_many_as_asked_for(n_between, n_attractors):
    sentences = attracted(300, n_between, n_attractors, generator=generator(4))
    for s in sentences:
        assert parse_subject(s.words[: s.verb_at]) == (s.plural, 1)
        assert s.subject_at == 1
        assert s.n_attractors == n_attractors
        subject, *others = numbers(s)
        assert len(others) == n_between
        assert sum(other != subject for other in others) == n_attractors
    assert abs(sum(s.plural for s in sentences) / 300 - 0.5) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_clause_is_what_it_says(kind):
    for s in attracted(50, 1, 1, kinds=[kind], generator=generator(5)):
        _, _, *clause = s.words[: s.verb_at]
        shape = {
            "preposition": lambda w: w[0] in PREPOSITIONS and len(w) == 3,
            "subject": lambda w: w[0] == "that" and w[1] in PAST and len(w) == 4,
            "object": lambda w: w[:2] == ["that", "the"] and w[3] in PAST,
            "object-was": lambda w: w[:2] == ["that", "the"] and w[4] in DOING,
        }[kind]
        assert shape(clause)


def test_object_relatives_nest_one_inside_the_other():
    for s in attracted(20, 2, 1, kinds=["object"], generator=generator(6)):
        assert [s.words[i] for i in (2, 5)] == ["that", "that"]
        inner, outer = s.words[s.verb_at - 2 : s.verb_at]
        assert {inner, outer} <= PAST
        assert inner != outer


def test_seen_and_unseen_share_no_noun_and_no_embedded_verb():
    def words(domains, part):
        return {form for d in domains for pair in getattr(d, part) for form in pair}

    assert not words(SEEN, "nouns") & words(UNSEEN, "nouns")
    assert not words(SEEN, "verbs") & words(UNSEEN, "verbs")
    seen = {word for s in agreement(4000, generator=generator(7)) for word in s.words}
    assert words(SEEN, "nouns") <= seen
    assert words(SEEN, "verbs") <= seen


def test_text_is_written_as_a_sentence_and_the_seed_decides():
    first = agreement(50, generator=generator(8))
    assert first == agreement(50, generator=generator(8))
    assert first != agreement(50, generator=generator(9))
    for s in first:
        assert s.text[0].isupper()
        assert s.text.endswith(".")
        assert s.text[:-1].lower().split() == list(s.words)


@pytest.mark.parametrize(
    ("draw", "settings", "message"),
    [
        (agreement, {"n_rows": 0}, "n_rows=0 must be at least 1"),
        (agreement, {"n_nouns": 3}, "n_nouns=3 must be even and at least 2"),
        (agreement, {"n_nouns": 0}, "n_nouns=0 must be even and at least 2"),
        (
            agreement,
            {"n_nouns": 16},
            "n_nouns=16 is more than the 14 nouns of a domain",
        ),
        (agreement, {"domains": ()}, "n_nouns=4 is more than the 0 nouns of a domain"),
        (attracted, {"n_rows": 0}, "n_rows=0 must be at least 1"),
        (attracted, {"n_between": -1}, "n_between=-1 must be at least 0"),
        (attracted, {"n_attractors": -1}, "n_attractors=-1 must be at least 0"),
        (attracted, {"n_attractors": 3}, "n_attractors=3 must be at most n_between=2"),
        (attracted, {"n_between": 14}, "n_nouns=15 is more than the 14 nouns"),
        (attracted, {"kinds": ["verb"]}, r"kinds=\['verb'\] must be some of \('prep"),
        (attracted, {"kinds": []}, r"kinds=\[\] must be some of"),
    ],
)
def test_settings_that_make_no_sentence_are_named(draw, settings, message):
    usual = {"n_rows": 2}
    if draw is attracted:
        usual |= {"n_between": 2, "n_attractors": 1}
    with pytest.raises(ValueError, match=message):
        draw(**(usual | settings), generator=generator(0))
