"""Agreement: the verb takes its number from the subject, whatever stands between.

``agreement`` draws sentences such as "Near the nurse the women met the pilots the guard
called are tired." Half of a sentence's nouns are singular and half plural, in random
order, and each noun is as likely to be the subject as any other. So these guesses at
the verb's number are right half the time: that of the first noun, of the last, of the
n-th, whatever else can be made of the nouns' numbers in their order, or of the words
before the verb without their order, or of an embedded *was* or *were*.

Grammar is always right, but it is not all that beats chance. A local cue is: word 2 if
the sentence begins with *the*, else the second noun of the first "noun the noun", else
the last noun. It is right every time with two nouns (which test memory over a distance,
not grammar), 0.85 of the time with four and 0.76 with six; a bag of runs of up to three
words, learnt from 12,000 sentences of four, 0.80. Only more than that shows grammar.
And the other nouns lean to the opposite number: otherwise all together would tell.
``attracted`` sets the numbers instead, to see how far a model is led astray.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from unrolled.data.made.agreement_words import SEEN, Domain, Forms
from unrolled.shapes import at_least

T = TypeVar("T")

PREPOSITIONS = ("near", "behind", "beside", "opposite")
WAS: Forms = ("was", "were")
KINDS = ("preposition", "subject", "object", "bare", "object-was")
SHALLOW, DEEP = KINDS[:2], KINDS[:4]
DEEPEST = 2  # object relatives inside one another: three defeat human readers too


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """A sentence in lower case, and where its subject and its verb stand.

    ``words[verb_at]`` is ``right``; ``wrong`` is the same verb in the other number.
    ``n_attractors`` counts the nouns between subject and verb of the other number.
    """

    words: tuple[str, ...]
    subject_at: int
    verb_at: int
    right: str
    wrong: str
    plural: bool
    n_attractors: int

    @property
    def distance(self) -> int:
        """How many words the verb comes after its subject; 1 is the very next."""
        return self.verb_at - self.subject_at

    @property
    def text(self) -> str:
        """The sentence as it is written."""
        line = " ".join(self.words)
        return f"{line[0].upper()}{line[1:]}."


def _pick(options: Sequence[T], share: float) -> T:
    return options[int(share * len(options))]


def _clause(
    kind: str, turn: int, domain: Domain, here: bool, there: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a noun's clause says before and after the noun phrase in it.

    ``here`` and ``there`` say whether the noun and the one in its clause are plural.
    """
    past, doing = domain.verbs[turn % len(domain.verbs)]
    match kind:
        case "preposition":
            return (PREPOSITIONS[turn % len(PREPOSITIONS)],), ()
        case "subject":
            return ("that", past), ()
        case "object":
            return ("that",), (past,)
        case "bare":
            return (), (past,)
        case "subject-was":
            return ("that", WAS[here], doing), ()
        case _:
            return ("that",), (WAS[there], doing)


def _phrase(
    domain: Domain, nouns: list[str], plural: list[bool], kinds: list[str], turn: int
) -> list[str]:
    """Build a noun phrase, every noun in the clause of the one before it."""
    phrase = ["the", *nouns[-1:]] if nouns else []
    for i in reversed(range(len(nouns) - 1)):  # from the inside out
        before, after = _clause(kinds[i], turn + i, domain, *plural[i : i + 2])
        phrase = ["the", nouns[i], *before, *phrase, *after]
    return phrase


def _sentence(
    domain: Domain, plural: list[bool], head: int, kinds: list[str], shares: list[float]
) -> Agreement:
    """Build a sentence whose subject is noun ``head``; those before it are fronted."""
    draw = iter(shares)
    pool = list(domain.nouns)
    nouns = [pool.pop(int(next(draw) * len(pool)))[many] for many in plural]
    # Prepositions and verbs take turns, so that none stands twice beside itself.
    turn = int(next(draw) * len(PREPOSITIONS) * len(domain.verbs))
    front = [PREPOSITIONS[(turn - 1) % len(PREPOSITIONS)]] if head else []
    front += _phrase(domain, nouns[:head], plural, kinds, turn)
    phrase = _phrase(domain, nouns[head:], plural[head:], kinds[head:], turn + head)
    verb, rest = _pick(domain.predicates, next(draw))
    many = plural[head]
    return Agreement(
        words=(*front, *phrase, verb[many], *rest.split()),
        subject_at=len(front) + 1,
        verb_at=len(front) + len(phrase),
        right=verb[many],
        wrong=verb[not many],
        plural=many,
        n_attractors=sum(other != many for other in plural[head + 1 :]),
    )


def _check_domains(domains: Sequence[Domain], n_nouns: int) -> None:
    fewest = min((len(domain.nouns) for domain in domains), default=0)
    if n_nouns > fewest:
        raise ValueError(f"{n_nouns=} is more than the {fewest} nouns of a domain")


def agreement(
    n_rows: int,
    n_nouns: int = 4,
    *,
    domains: Sequence[Domain] = SEEN,
    generator: torch.Generator,
) -> list[Agreement]:
    """Draw sentences with an even number of nouns, balanced as told above."""
    at_least(1, n_rows=n_rows)
    if n_nouns < 2 or n_nouns % 2:
        raise ValueError(f"{n_nouns=} must be even and at least 2, to be balanced")
    _check_domains(domains, n_nouns)
    order = torch.rand(n_rows, n_nouns, generator=generator).argsort(dim=1)
    heads = torch.randint(n_nouns, (n_rows,), generator=generator).tolist()
    draws = torch.rand(n_rows, 2 * n_nouns + 5, generator=generator).tolist()
    sentences = []
    for plural, head, draw in zip(
        (order < n_nouns // 2).tolist(), heads, draws, strict=True
    ):
        depths = (i - head if i >= head else i for i in range(n_nouns))
        options = (DEEP if depth < DEEPEST else SHALLOW for depth in depths)
        kinds = [_pick(option, draw.pop()) for option in options]
        # Only the first clause may agree. Its verb agrees with the subject once in
        # n_nouns, as if the noun it agrees with were drawn from all of them.
        if draw.pop() < 1 / 4:
            kinds[head] = "subject-was" if draw.pop() < 1 / n_nouns else "object-was"
        domain = _pick(domains, draw.pop())
        sentences.append(_sentence(domain, plural, head, kinds, draw))
    return sentences


def attracted(
    n_rows: int,
    n_between: int,
    n_attractors: int,
    *,
    kinds: Sequence[str] = KINDS,
    domains: Sequence[Domain] = SEEN,
    generator: torch.Generator,
) -> list[Agreement]:
    """Draw sentences that begin with the subject, ``n_between`` nouns before the verb.

    Exactly ``n_attractors`` of these have the other number; which, is drawn. Each is
    brought in by one of ``kinds``: a *preposition* (the pilot near the guards), a
    *subject* relative (that followed the guards), an *object* relative (that the guards
    followed; one inside the other if there are more), a *bare* one (the guards
    followed) or one with a verb that agrees, *object-was* (that the guards were
    following).
    """
    at_least(1, n_rows=n_rows)
    at_least(0, n_between=n_between, n_attractors=n_attractors)
    if n_attractors > n_between:
        raise ValueError(f"{n_attractors=} must be at most {n_between=}")
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"{kinds=} must be some of {KINDS}")
    _check_domains(domains, n_between + 1)
    order = torch.rand(n_rows, n_between, generator=generator).argsort(dim=1)
    draws = torch.rand(n_rows, 2 * n_between + 5, generator=generator).tolist()
    sentences = []
    for others, draw in zip((order < n_attractors).tolist(), draws, strict=True):
        many = draw.pop() < 1 / 2
        plural = [many, *(many != other for other in others)]
        chosen = [_pick(kinds, draw.pop()) for _ in range(n_between)]
        domain = _pick(domains, draw.pop())
        sentences.append(_sentence(domain, plural, 0, chosen, draw))
    return sentences
