"""Claims about how many there are of a kind: what follows from what, and its part."""

from functools import cache
from hashlib import sha256
from itertools import product

Claim = tuple[str, int, str]  # at least, at most or exactly; a number; a noun
Pattern = tuple[str, int, str, int, str]  # what is said, what is supposed, kin of nouns
Group = tuple[str, int, str, str]  # what is supposed, a label, kin of nouns
KINDS = {
    "flower": ("rose", "tulip", "orchid"),
    "animal": ("dog", "horse", "cow"),
    "tool": ("hammer", "saw", "drill"),
    "instrument": ("violin", "flute", "drum"),
}
KIND_OF = {noun: kind for kind in KINDS for noun in (kind, *KINDS[kind])}
SUPPOSED = [("at least", n) for n in (1, 2, 3)] + [("at most", n) for n in (0, 1, 2)]
SAID = [("at least", n) for n in (1, 2, 3, 4)] + [("at most", n) for n in (0, 1, 2, 3)]
SAID += [("exactly", n) for n in (1, 2, 3, 4)]
ALL_IN_TRAIN = (("at least", 1), ("at most", 0))


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
    """Return how the premise's noun stands to the other: same, above, below, beside."""
    if premise == hypothesis:
        return "same"
    if premise in KINDS:
        return "above"
    return "below" if hypothesis in KINDS else "beside"


def pattern(premise: Claim, hypothesis: Claim) -> Pattern:
    """Return what is left of two claims when their nouns have no names."""
    return (*premise[:2], *hypothesis[:2], kinship(premise[2], hypothesis[2]))


@cache
def parts() -> dict[Pattern, str]:
    """Return the part of every pattern.

    Of the patterns with one hypothesis, label and kin, a fifth or at least one goes to
    test and as many to validation: so each part has all the labels.
    """
    alike: dict[Group, set[Pattern]] = {}
    nouns = ("flower", *KINDS["flower"])  # they stand for all
    for (said, count), (how, number) in product(SAID, SUPPOSED):
        for pair in product(nouns, nouns):
            premise, hypothesis = (said, count, pair[0]), (how, number, pair[1])
            group = (how, number, follows(premise, hypothesis), kinship(*pair))
            alike.setdefault(group, set()).add(pattern(premise, hypothesis))
    found: dict[Pattern, str] = {}
    for (how, number, *_), patterns in alike.items():
        n = 0 if (how, number) in ALL_IN_TRAIN else max(1, len(patterns) // 5)
        order = sorted(patterns, key=lambda each: sha256(repr(each).encode()).digest())
        labels = ["test"] * n + ["validation"] * n + ["train"] * (len(order) - 2 * n)
        found |= zip(order, labels, strict=True)
    return found
