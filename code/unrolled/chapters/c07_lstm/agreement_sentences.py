"""Sentences whose verbs agree with their subjects, and rules that guess the number.

Every verb that agrees is *was* or *were*, so its form does not tell its level. Every
noun's number is a coin toss of its own, so no noun but the subject tells the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from unrolled.data.made.agreement import PREPOSITIONS, WAS
from unrolled.data.made.agreement_words import SEEN, Domain

END = "."
N_NOUNS, N_NESTED = 4, 2  # the most nouns and nested object relatives in training
P_FRONT, P_OBJECT = 0.5, 0.5


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words, and of each verb that agrees where it and its subject stand.

    ``plural`` says of each noun, in order, whether it is; ``nouns`` where it stands.
    """

    words: tuple[str, ...]
    verbs: tuple[tuple[int, int], ...]
    nouns: tuple[int, ...]
    plural: tuple[bool, ...]

    def number(self, at: int) -> bool:
        """Say whether the noun at place ``at`` is plural."""
        return self.plural[self.nouns.index(at)]


def build(
    domain: Domain,
    plural: Sequence[bool],
    kinds: Sequence[str],
    n_front: int,
    *,
    draw: Random,
) -> Sentence:
    """Return a sentence with these nouns, ``n_front`` of them before the subject.

    ``kinds[i]`` says how noun i + 1 is joined to noun i: by a *preposition* (near the
    pilots), a *subject* relative (that was calling the pilots) or an *object* relative
    (that the pilots were calling).
    """
    chosen = draw.sample(domain.nouns, len(plural))
    forms = [noun[many] for noun, many in zip(chosen, plural, strict=True)]
    words: list[str] = []
    nouns: list[int] = []
    verbs: list[tuple[int, int]] = []

    def verb(i: int) -> None:
        verbs.append((len(words), nouns[i]))
        words.append(WAS[plural[i]])

    def phrase(i: int, end: int) -> None:
        nouns.append(len(words) + 1)
        words.extend(("the", forms[i]))
        if i + 1 == end:
            return
        doing = draw.choice(domain.verbs)[1]
        if kinds[i] == "preposition":
            words.append(draw.choice(PREPOSITIONS))
            phrase(i + 1, end)
        elif kinds[i] == "subject":
            words.append("that")
            verb(i)
            words.append(doing)
            phrase(i + 1, end)
        else:
            words.append("that")
            phrase(i + 1, end)
            verb(i + 1)
            words.append(doing)

    if n_front:
        words.append(draw.choice(PREPOSITIONS))
        phrase(0, n_front)
    phrase(n_front, len(plural))
    verb(n_front)
    words.append(draw.choice(adjectives(domain)))
    return Sentence(tuple(words), tuple(verbs), tuple(nouns), tuple(plural))


@cache
def adjectives(domain: Domain) -> tuple[str, ...]:
    """Return what can follow *was* or *were*."""
    return tuple(rest for verb, rest in domain.predicates if verb == WAS)


def coins(n: int, draw: Random) -> list[bool]:
    """Toss ``n`` coins: which nouns are plural."""
    return [draw.random() < 0.5 for _ in range(n)]


def like_training(n_rows: int, *, seed: int) -> list[Sentence]:
    """Draw sentences of 1 to 4 nouns, with at most two object relatives nested."""
    draw, rows = Random(seed), []
    for _ in range(n_rows):
        n = draw.randint(1, N_NOUNS)
        front = draw.randint(1, n - 1) if n > 1 and draw.random() < P_FRONT else 0
        kinds: list[str] = []
        for i in range(n):
            here = kinds[front:] if i >= front else kinds
            nested = here.count("object") < N_NESTED and draw.random() < P_OBJECT
            kinds.append(
                "object" if nested else draw.choice(("preposition", "subject"))
            )
        rows.append(build(draw.choice(SEEN), coins(n, draw), kinds, front, draw=draw))
    return rows


def between(n_rows: int, n_between: int, kind: str, *, seed: int) -> list[Sentence]:
    """Draw test sentences with ``n_between`` nouns between subject and main verb.

    All are joined in one way, "preposition" (a chain) or "object" (a nest). Half of
    the sentences begin with another noun, after a preposition.
    """
    draw, rows = Random(seed), []
    for _ in range(n_rows):
        front = int(draw.random() < 0.5)
        n = front + 1 + n_between
        rows.append(
            build(draw.choice(SEEN), coins(n, draw), [kind] * n, front, draw=draw)
        )
    return rows


@cache
def vocabulary() -> dict[str, int]:
    """Return the id of every word; that of the full stop, 0, also begins a row."""
    words = {"the", "that", *PREPOSITIONS, *WAS}
    for domain in SEEN:
        words |= {form for noun in domain.nouns for form in noun}
        words |= {doing for _, doing in domain.verbs} | set(adjectives(domain))
    return {word: i for i, word in enumerate((END, *sorted(words)))}


def encode(sentences: Sequence[Sentence]) -> list[list[int]]:
    """Return each sentence as ids, with a full stop before and after it."""
    ids = vocabulary()
    return [[0, *(ids[word] for word in s.words), 0] for s in sentences]


def right(
    guesses: Sequence[Sequence[bool]], sentences: Sequence[Sentence]
) -> list[list[bool]]:
    """Say of each sentence and verb whether the guess of its number is right."""
    return [
        [
            guess == s.number(subject)
            for guess, (_, subject) in zip(g, s.verbs, strict=True)
        ]
        for g, s in zip(guesses, sentences, strict=True)
    ]


def nearest_noun(sentence: Sentence, at: int) -> bool:
    """Guess that the verb at place ``at`` agrees with the noun nearest before it."""
    return sentence.number(max(noun for noun in sentence.nouns if noun < at))


def first_noun(sentence: Sentence, at: int) -> bool:
    """Guess that any verb agrees with the first noun of the sentence."""
    return sentence.plural[0]


def majority(sentence: Sentence, at: int) -> bool:
    """Guess the number of most nouns before the verb; if they tie, of the nearest."""
    votes = [sentence.number(noun) for noun in sentence.nouns if noun < at]
    return votes[-1] if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)


def opening(sentence: Sentence, at: int) -> bool:
    """Guess the first noun, or the second if the sentence begins with a preposition."""
    return sentence.plural[sentence.words[0] in PREPOSITIONS]


def nearest_then_opening(sentence: Sentence, at: int) -> bool:
    """Guess the nearest noun for the first verb, by the opening for all others."""
    first = at == sentence.verbs[0][0]
    return (nearest_noun if first else opening)(sentence, at)


RULES = {
    "nearest noun": nearest_noun,
    "first noun": first_noun,
    "opening": opening,
    "majority": majority,
    "nearest, then opening": nearest_then_opening,
}


def n_attractors(sentence: Sentence, verb: int) -> int:
    """Count the nouns between a verb and its subject that have the other number."""
    at, subject = sentence.verbs[verb]
    return sum(
        many != sentence.number(subject)
        for noun, many in zip(sentence.nouns, sentence.plural, strict=True)
        if subject < noun < at
    )
