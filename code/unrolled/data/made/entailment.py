"""Does a premise entail a hypothesis, contradict it, or leave it open?

In this small world people buy, sell or paint things, and sentences count them: *at
least two roses*, *no flowers*. Roses are flowers, so what is said of the one bears on
the other. The label is decided by looking at every world that the premise allows. For
each hypothesis the three labels are drawn alike, so the hypothesis alone tells nothing.

Held out are *patterns*: "exactly one X, so at most two X" is of one part for all
nouns, and no renaming of test's nouns gives a pair of training. Hypotheses *at least
one* and *no* are in training only: too few patterns contradict or entail them. Test has
36 patterns, so its rows are many but not many-sided.

Nouns matter less than they seem: who reasons rightly about the amounts, as if both
sides spoke of one person, deed and noun, is right in 0.80 of test (chance: 1/3). Who
only knows by heart which amounts of training go with which label is right in 0.50.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import torch

from unrolled.data.made.draws import python_random
from unrolled.data.made.entailment_claims import (
    KIND_OF,
    KINDS,
    SAID,
    SUPPOSED,
    Claim,
    follows,
    kinship,
    parts,
    pattern,
)
from unrolled.data.splits import check_part
from unrolled.shapes import at_least

Words = tuple[str, ...]
LABELS = ("entailment", "contradiction", "neutral")
PEOPLE = ("Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry")
VERBS = {"bought": "buy", "sold": "sell", "painted": "paint", "cleaned": "clean"}
NOUNS, DEEDS = tuple(KIND_OF), tuple(product(PEOPLE, VERBS))
NUMBERS = ("no", "one", "two", "three", "four")
MOST_FACTS = 6
P_ELSEWHERE = 0.25  # of neutral pairs, how many speak of another person or deed


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """A premise of one or more sentences, a hypothesis, and what follows."""

    premise: Words
    hypothesis: Words
    label: str


@cache
def pool(part: str) -> dict[Claim, dict[str, dict[str, list[Claim]]]]:
    """Return a part's premises for each hypothesis, by label and by kin of the nouns.

    A hypothesis is kept if it has all three labels.
    """
    found: dict[Claim, dict[str, dict[str, list[Claim]]]] = {}
    for (how, number), noun in product(SUPPOSED, KIND_OF):
        hypothesis = (how, number, noun)
        nouns = (KIND_OF[noun], *KINDS[KIND_OF[noun]])
        premises: dict[str, dict[str, list[Claim]]] = {}
        for (said, count), other in product(SAID, nouns):
            premise = (said, count, other)
            if parts()[pattern(premise, hypothesis)] == part:
                label = premises.setdefault(follows(premise, hypothesis), {})
                label.setdefault(kinship(other, noun), []).append(premise)
        if len(premises) == len(LABELS):
            found[hypothesis] = premises
    return found


@cache
def amounts(claim: Claim) -> tuple[tuple[str, bool], ...]:
    """Return the wordings of a claim, each with whether it goes with *did not*."""
    how, number, noun = claim
    word, things = NUMBERS[number], noun if number == 1 else f"{noun}s"
    if how == "exactly":
        return ((f"exactly {word} {things}", False), (f"just {word} {things}", False))
    if claim[:2] == ("at most", 0):
        return ((f"no {things}", False), (f"any {things}", True))
    if claim[:2] == ("at least", 1):
        an = "an" if noun[0] in "aeiou" else "a"
        return ((f"at least one {noun}", False), (f"{an} {noun}", False))
    more = "fewer" if how == "at least" else "more"
    return ((f"{how} {word} {things}", False), (f"{more} than {word} {things}", True))


def say(person: str, verb: str, claim: Claim, draw: Random) -> Words:
    """Put a claim into words: active or passive, sometimes by denying the contrary."""
    amount, denied = draw.choice(amounts(claim))
    if denied:
        return tuple(f"{person} did not {VERBS[verb]} {amount} .".split())
    if draw.random() < 0.5:
        return tuple(f"{person} {verb} {amount} .".split())
    be = "was" if claim[1] == 1 else "were"
    return tuple(f"{amount} {be} {verb} by {person} .".split())


def infer(
    hypothesis: Claim, label: str, n_facts: int, part: str, draw: Random
) -> Inference:
    """Make one pair with the label that is asked for."""
    (person, verb), *others = draw.sample(DEEDS, n_facts + 1)
    deed, drawn_label = (person, verb), label
    if label == "neutral" and draw.random() < P_ELSEWHERE:
        deed, drawn_label = others.pop(), draw.choice(LABELS[:2])
    kin = draw.choice(tuple(pool(part)[hypothesis][drawn_label].values()))
    supposed = said = say(person, verb, hypothesis, draw)
    claim = draw.choice(kin)
    while said == supposed:
        said = say(*deed, claim, draw)
    sentences = [said]
    for somebody, did in others[: n_facts - 1]:
        about = (*draw.choice(SAID), draw.choice(NOUNS))
        sentences.append(say(somebody, did, about, draw))
    draw.shuffle(sentences)
    return Inference(premise=sum(sentences, ()), hypothesis=supposed, label=label)


def entailment(
    n_rows: int,
    *,
    n_facts: int = 1,
    part: str = "train",
    generator: torch.Generator,
) -> list[Inference]:
    """Draw pairs of one part with the three labels alike.

    One sentence of the premise, or none, bears on the hypothesis; the other
    ``n_facts`` - 1 are about other people and deeds. When ``n_rows`` is a multiple of 3
    each label comes exactly as often as any other.
    """
    at_least(1, n_rows=n_rows)
    if not 1 <= n_facts <= MOST_FACTS:
        raise ValueError(f"{n_facts=} must be from 1 to {MOST_FACTS}")
    check_part(part)
    draw = python_random(generator)
    labels = [*LABELS * (n_rows // 3), *draw.sample(LABELS, n_rows % 3)]
    draw.shuffle(labels)
    hypotheses = draw.choices(tuple(pool(part)), k=n_rows)
    drawn = zip(hypotheses, labels, strict=True)
    return [infer(claim, label, n_facts, part, draw) for claim, label in drawn]
