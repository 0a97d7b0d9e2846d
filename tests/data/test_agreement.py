"""Agreement: grammatical, right, and what guesses that know no grammar can do."""

from collections.abc import Iterator
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


def phrases(words, start) -> Iterator[int]:
    """Yield every place where a noun phrase from ``start`` can end.

    A grammar of its own that tries all: a noun may have many clauses, of any kind.
    """
    if words[start : start + 1] == ("the",) and words[start + 1] in NOUNS:
        yield from clauses(words, start + 2, NOUNS[words[start + 1]])


def clauses(words, at, many) -> Iterator[int]:
    """Yield every place where clauses of a noun can end that begin here; none ends."""
    yield at
    ends: set[int] = set()
    word = words[at] if at < len(words) else ""
    if word in PREPOSITIONS:
        ends |= set(phrases(words, at + 1))
    after = at + 1 if word == "that" else at
    if word == "that":
        for verb in verbs(words, after, many):
            ends |= set(phrases(words, verb))
    if words[after : after + 1] == ("the",):
        for end in set(phrases(words, after)):
            ends |= set(verbs(words, end, NOUNS[words[after + 1]]))
    for end in ends:
        yield from clauses(words, end, many)


def verbs(words, at, many) -> Iterator[int]:
    """Yield where an embedded verb ends that begins here, if it agrees."""
    if at < len(words) and words[at] in PAST:
        yield at + 1
    elif words[at : at + 1] == ("were" if many else "was",) and words[at + 1] in DOING:
        yield at + 2


def subjects(words) -> set[int]:
    """Return every noun that could be the subject of a verb after ``words``."""
    starts, found = {0}, set()
    while starts:
        start = starts.pop()
        if words[start] == "the" and len(words) in phrases(words, start):
            found.add(start + 1)
        elif words[start] in PREPOSITIONS:
            starts |= {end for end in phrases(words, start + 1) if end < len(words)}
    return found


def numbers(sentence):
    return [NOUNS[word] for word in sentence.words[: sentence.verb_at] if word in NOUNS]


def hits(guesses, sentences):
    pairs = zip(guesses, sentences, strict=True)
    return sum(guess == s.plural for guess, s in pairs) / len(sentences)


@pytest.mark.parametrize("domains", [SEEN, UNSEEN])
@pytest.mark.parametrize("n_nouns", [2, 4, 6])
def test_every_sentence_parses_and_its_verb_agrees(n_nouns, domains):
    for s in agreement(2000, n_nouns, domains=domains, generator=generator(n_nouns)):
        assert subjects(s.words[: s.verb_at]) == {s.subject_at}
        assert NOUNS[s.words[s.subject_at]] == s.plural
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


def cue(words) -> int:
    """Return where the local cue takes the subject to be."""
    if words[0] == "the":
        return 1
    for i in range(len(words) - 2):
        if words[i] in NOUNS and words[i + 1] == "the" and words[i + 2] in NOUNS:
            return i + 2
    return max(i for i, word in enumerate(words) if word in NOUNS)


@pytest.mark.parametrize(
    ("n_nouns", "low", "high"), [(2, 1, 1), (4, 0.82, 0.87), (6, 0.73, 0.79)]
)
def test_a_local_cue_is_right_as_often_as_is_stated(n_nouns, low, high):
    sentences = agreement(8000, n_nouns, generator=generator(10))
    heard = [s.words[: s.verb_at] for s in sentences]
    guesses = [NOUNS[words[cue(words)]] for words in heard]
    assert low <= hits(guesses, sentences) <= high


def test_runs_of_three_words_are_right_as_often_as_is_stated_near_and_far():
    train = agreement(12_000, generator=generator(11))
    test = agreement(4000, generator=generator(12))
    bag = CountVectorizer(ngram_range=(1, 3))
    texts = [
        [" ".join(s.words[: s.verb_at]) for s in sentences]
        for sentences in (train, test)
    ]
    model = LogisticRegression(max_iter=300, C=0.3)
    model.fit(bag.fit_transform(texts[0]), [s.plural for s in train])
    guesses = model.predict(bag.transform(texts[1])).tolist()
    assert hits(guesses, test) == pytest.approx(0.80, abs=0.02)
    for nearest, farthest in [(1, 1), (2, 4), (5, 8), (9, 99)]:
        both = zip(guesses, test, strict=True)
        here = [(g, s) for g, s in both if nearest <= s.distance <= farthest]
        assert 0.7 < hits(*zip(*here, strict=True)) < 0.9


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
        assert subjects(s.words[: s.verb_at]) == {1}
        assert NOUNS[s.words[1]] == s.plural
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
            "bare": lambda w: w[0] == "the" and w[2] in PAST and len(w) == 3,
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
