"""Premise and hypothesis: labels are the world's, and the hypothesis tells nothing."""

import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from unrolled.data.made.draws import stream
from unrolled.data.made.entailment import (
    LABELS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    VERBS,
    entailment,
    pool,
)
from unrolled.data.made.entailment_claims import (
    KINDS,
    SAID,
    SUPPOSED,
    follows,
    parts,
)
from unrolled.data.splits import PARTS
from unrolled.runtime import generator

PAST = "|".join(VERBS)
BASE = {base: past for past, base in VERBS.items()}
ACTIVE = re.compile(rf"(?P<who>[A-Z]\w+) (?P<verb>{PAST}) (?P<amount>.+)")
PASSIVE = re.compile(rf"(?P<amount>.+) (was|were) (?P<verb>{PAST}) by (?P<who>\w+)")
DENIED = re.compile(rf"(?P<who>\w+) did not (?P<verb>{'|'.join(BASE)}) (?P<amount>.+)")


def bounds(words: list[str], denied: bool) -> tuple[int, float]:
    """Read an amount as the least and the greatest number that it allows."""
    number = next((NUMBERS.index(word) for word in words if word in NUMBERS), None)
    head = " ".join(words[:2])
    if denied:
        if words[0] == "any":
            return 0, 0
        return (number, float("inf")) if head == "fewer than" else (0, number)
    if words[0] in ("exactly", "just"):
        return number, number
    if head == "at most" or words[0] == "no":
        return 0, number
    return (number or 1, float("inf"))


def read(sentence: str) -> tuple[str, str, str, int, float]:
    """Read a sentence back: who, did, noun, least, greatest."""
    matches = (DENIED.fullmatch(sentence), PASSIVE.fullmatch(sentence))
    match = matches[0] or matches[1] or ACTIVE.fullmatch(sentence)
    *words, noun = match["amount"].split()
    plural = noun.endswith("s")
    if matches[1]:
        assert match[2] == ("were" if plural else "was"), sentence
    low, high = bounds(words, bool(matches[0]))
    assert plural == ("one" not in words and words[0] not in ("a", "an")), sentence
    if words[0] in ("a", "an"):
        assert (words[0] == "an") == (noun[0] in "aeiou")
    verb = BASE.get(match["verb"], match["verb"])
    return match["who"], verb, noun.removesuffix("s"), low, high


def judge(facts, guess) -> str:
    """Decide by interval reasoning, not by looking at worlds."""
    who, did, noun, low, high = guess
    told = [fact for fact in facts if fact[:2] == (who, did)]
    if not told:
        return "neutral"
    ((_, _, other, least, most),) = told
    if noun == other:
        pass
    elif noun in KINDS.get(other, ()):  # the premise counts more than the hypothesis
        least = 0
    elif other in KINDS.get(noun, ()):
        most = float("inf")
    else:
        least, most = 0, float("inf")
    if low <= least and most <= high:
        return "entailment"
    return "contradiction" if most < low or high < least else "neutral"


@given(st.integers(1, 6), st.sampled_from(PARTS), st.integers(0, 99))
def test_the_label_is_what_a_reader_concludes(n_facts, part, seed):
    rows = entailment(9, n_facts=n_facts, part=part, generator=generator(seed))
    for row in rows:
        sentences = " ".join(row.premise).removesuffix(" .").split(" . ")
        facts = [read(sentence) for sentence in sentences]
        assert len({fact[:2] for fact in facts}) == len(facts) == n_facts
        guess = read(" ".join(row.hypothesis).removesuffix(" ."))
        assert judge(facts, guess) == row.label
        assert " ".join(row.hypothesis).removesuffix(" .") not in sentences


def test_every_pair_of_claims_is_judged_alike_by_worlds_and_by_intervals():
    limits = {"at least": lambda n: (n, float("inf")), "at most": lambda n: (0, n)}
    limits["exactly"] = lambda n: (n, n)
    seen = Counter()
    for (said, n), p in product(SAID, NOUNS):
        for (supposed, m), h in product(SUPPOSED, NOUNS):
            fact = ("x", "y", p, *limits[said](n))
            guess = ("x", "y", h, *limits[supposed](m))
            label = follows((said, n, p), (supposed, m, h))
            assert label == judge([fact], guess), (said, n, p, supposed, m, h)
            seen[label] += 1
    assert set(seen) == set(LABELS)


def accuracy(train, test, text) -> float:
    """Return the test accuracy of a bag of words (and pairs of words)."""
    bag = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\S+")
    model = LogisticRegression(max_iter=200)
    model.fit(bag.fit_transform(map(text, train)), [row.label for row in train])
    guesses = model.predict(bag.transform(map(text, test)))
    return sum(g == row.label for g, row in zip(guesses, test, strict=True)) / len(test)


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_hypothesis_alone_tells_nothing(part):
    rows = entailment(6000, part=part, generator=generator(0))
    fresh = entailment(3000, part=part, generator=generator(1))
    alone = accuracy(rows, fresh, lambda row: " ".join(row.hypothesis))
    assert abs(alone - 1 / 3) < 0.04
    # the test can fail: with the label let in, it is seen at once
    told = accuracy(rows, fresh, lambda row: f"{row.label} {' '.join(row.hypothesis)}")
    assert told > 0.99


def test_every_hypothesis_has_its_labels_alike_and_labels_are_balanced():
    rows = entailment(30_000, generator=generator(2))
    assert set(Counter(row.label for row in rows).values()) == {10_000}
    guesses = [read(" ".join(row.hypothesis).removesuffix(" .")) for row in rows]
    table = Counter((g[2:], row.label) for g, row in zip(guesses, rows, strict=True))
    claims = Counter(g[2:] for g in guesses)
    assert len(claims) == len(pool("train"))
    for claim, n in claims.items():
        for label in LABELS:
            assert abs(table[claim, label] / n - 1 / 3) < 0.14  # five deviations


def nameless(premise, hypothesis) -> tuple:
    """Rename the nouns in the order in which they come, a kind to K: by hand."""
    names: dict[str, str] = {}
    nouns = [
        "K" if noun in KINDS else names.setdefault(noun, f"sort {len(names)}")
        for noun in (premise[2], hypothesis[2])
    ]
    return (*premise[:2], *hypothesis[:2], *nouns)


def without_nouns(row) -> tuple:
    """Return the words of both sides; nouns, people and deeds have no names."""
    gone = {*PEOPLE, *VERBS, *VERBS.values()}
    words = (*row.premise, "|", *row.hypothesis)
    blank = ("N" if w.removesuffix("s") in NOUNS else w for w in words if w not in gone)
    return tuple(blank)


def test_what_can_be_guessed_without_nouns_is_what_is_stated():
    learnt: dict[tuple, Counter] = {}
    for row in entailment(30_000, generator=generator(5)):
        learnt.setdefault(without_nouns(row), Counter())[row.label] += 1
    scores = {}
    for part in PARTS:
        rows = entailment(6000, part=part, generator=generator(6))
        table = (learnt.get(without_nouns(row), Counter(neutral=1)) for row in rows)
        guesses = [seen.most_common(1)[0][0] for seen in table]
        alike = []
        for row in rows:  # judge as if all were about one person, deed and noun
            texts = (" ".join(side) for side in (row.premise, row.hypothesis))
            fact, guess = (read(text.removesuffix(" .")) for text in texts)
            alike.append(judge([("", "", "", *fact[3:])], ("", "", "", *guess[3:])))
        labels = [row.label for row in rows]
        scores[part] = [
            sum(g == label for g, label in zip(found, labels, strict=True)) / 6000
            for found in (guesses, alike)
        ]
    assert scores["train"] == pytest.approx([0.83, 0.81], abs=0.03)
    assert scores["validation"] == pytest.approx([0.45, 0.82], abs=0.03)
    assert scores["test"] == pytest.approx([0.50, 0.80], abs=0.03)


def test_patterns_are_held_out_and_words_are_not():
    pairs = {
        part: {
            (premise, hypothesis)
            for hypothesis, labels in pool(part).items()
            for kin in labels.values()
            for premises in kin.values()
            for premise in premises
        }
        for part in PARTS
    }
    assert not pairs["train"] & pairs["test"]
    assert not pairs["train"] & pairs["validation"]
    assert not pairs["test"] & pairs["validation"]
    shapes = {part: {nameless(*pair) for pair in pairs[part]} for part in PARTS}
    assert not shapes["train"] & shapes["test"]
    assert not shapes["train"] & shapes["validation"]
    assert not shapes["test"] & shapes["validation"]
    assert Counter(parts().values()) == {"train": 216, "validation": 36, "test": 36}
    assert len(pool("train")) == 6 * len(NOUNS)
    assert len(pool("test")) == len(pool("validation")) == 4 * len(NOUNS)
    for place in (0, 1):  # of the premise, then of the hypothesis
        claims = {part: {pair[place] for pair in pairs[part]} for part in PARTS}
        for known in (lambda claim: claim[:2], lambda claim: claim[2]):
            seen = set(map(known, claims["train"]))
            assert set(map(known, claims["test"] | claims["validation"])) <= seen


def test_the_same_seed_draws_the_same_and_a_stream_goes_on():
    first = entailment(5, generator=generator(3))
    drawn = stream(entailment, 5, generator=generator(3))
    assert next(drawn) == first
    assert next(drawn) != first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_facts": 0}, "n_facts=0 must be from 1 to 6"),
        ({"n_facts": 7}, "n_facts=7 must be from 1 to 6"),
        ({"part": "dev"}, "part='dev' must be one of train, validation, test"),
    ],
)
def test_what_cannot_be_drawn_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        entailment(**({"n_rows": 2} | wrong), generator=generator(0))
