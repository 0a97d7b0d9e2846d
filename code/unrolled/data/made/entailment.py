"""Does a premise entail a hypothesis, contradict it, or leave it open?

In this small world people buy, sell or paint things, and sentences count them: *at
least two roses*, *no flowers*. Roses are flowers, so what is said of the one bears on
the other. The label is decided by looking at every world that the premise allows. For
each hypothesis the three labels are drawn alike, so the hypothesis alone tells nothing.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import torch

from unrolled.data.made.draws import python_random
from unrolled.data.splits import check_part, part_of
from unrolled.shapes import at_least

Words = tuple[str, ...]
Claim = tuple[str, int, str]  # at least, at most or exactly; a number; a noun
LABELS = ("entailment", "contradiction", "neutral")
PEOPLE = ("Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry")
VERBS = {"bought": "buy", "sold": "sell", "painted": "paint", "cleaned": "clean"}
KINDS = {
    "flower": ("rose", "tulip", "orchid"),
    "animal": ("dog", "horse", "cow"),
    "tool": ("hammer", "saw", "drill"),
    "instrument": ("violin", "flute", "drum"),
}
KIND_OF = {noun: kind for kind in KINDS for noun in (kind, *KINDS[kind])}
NOUNS, DEEDS = tuple(KIND_OF), tuple(product(PEOPLE, VERBS))
NUMBERS = ("no", "one", "two", "three", "four")
SUPPOSED = [("at least", n) for n in (1, 2, 3)] + [("at most", n) for n in (0, 1, 2)]
SAID = [("at least", n) for n in (1, 2, 3, 4)] + [("at most", n) for n in (0, 1, 2, 3)]
SAID += [("exactly", n) for n in (1, 2, 3, 4)]
MOST_FACTS = 6
P_ELSEWHERE = 0.25  # of neutral pairs, how many speak of another person or deed


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """A premise of one or more sentences, a hypothesis, and what follows."""

    premise: Words
    hypothesis: Words
    label: str


@cache
def worlds(claim: Claim) -> frozenset[tuple[int, ...]]:
    """Return the worlds in which a claim holds: counts of three sorts and all others.

    Counts stop at 5: no claim names more than 4, so it cannot tell 5 from more.
    """
    how, number, noun = claim
    kind = KIND_OF[noun]
    sort = None if noun == kind else KINDS[kind].index(noun)
    counts = ((w, sum(w) if sort is None else w[sort]) for w in every_world())
    holds = {
        "at least": lambda n: n >= number,
        "at most": lambda n: n <= number,
        "exactly": lambda n: n == number,
    }[how]
    return frozenset(w for w, n in counts if holds(n))


@cache
def every_world() -> tuple[tuple[int, ...], ...]:
    """Return all counts from 0 to 5 of three named sorts and of the unnamed ones."""
    return tuple(product(range(6), repeat=4))


def follows(premise: Claim, hypothesis: Claim) -> str:
    """Return the label of two claims about what one person did."""
    if KIND_OF[premise[2]] != KIND_OF[hypothesis[2]]:
        return "neutral"
    possible, meant = worlds(premise), worlds(hypothesis)
    if possible <= meant:
        return "entailment"
    return "neutral" if possible & meant else "contradiction"


def kinship(premise: str, hypothesis: str) -> str:
    """Return how two nouns of a kind stand: same, one above the other, or beside."""
    if premise == hypothesis:
        return "same"
    return "above" if KIND_OF[premise] in (premise, hypothesis) else "beside"


@cache
def pool(part: str) -> dict[Claim, dict[str, dict[str, list[Claim]]]]:
    """Return a part's premises for each hypothesis, by label and by kin of the nouns.

    Pairs of claims are held out. A hypothesis is kept if it has all three labels.
    """
    found: dict[Claim, dict[str, dict[str, list[Claim]]]] = {}
    for (how, number), noun in product(SUPPOSED, KIND_OF):
        hypothesis = (how, number, noun)
        nouns = (KIND_OF[noun], *KINDS[KIND_OF[noun]])
        premises: dict[str, dict[str, list[Claim]]] = {}
        for (said, count), other in product(SAID, nouns):
            premise = (said, count, other)
            if part_of(f"{premise} {hypothesis}") == part:
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
