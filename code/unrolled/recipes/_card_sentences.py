"""What the data cards say of made sentences: what they are drawn from, and one."""

from collections.abc import Sequence
from typing import Any

from unrolled.data.made.agreement import agreement
from unrolled.data.made.agreement_words import SEEN, UNSEEN, Domain
from unrolled.data.made.dates import dates, days_of
from unrolled.data.made.entailment import PEOPLE, entailment
from unrolled.data.made.entailment import pool as claims
from unrolled.data.made.gender import combinations, gender
from unrolled.data.made.kinship import MEANINGS, analogies, kinship
from unrolled.data.made.numbers import MOST_DIGITS, key, translate
from unrolled.data.made.passages import N_WORDINGS, OWNED, RELATIONS, passages
from unrolled.data.made.preferences import LARGEST, preferences, prompts
from unrolled.data.splits import PARTS, part_of
from unrolled.recipes._card_forms import card, text
from unrolled.runtime import generator

YEARS = (1900, 2099)


def _pairs(alignment: Sequence[tuple[int, int]]) -> str:
    return "aligned  " + " ".join(f"{source}-{target}" for source, target in alignment)


def measure_agreement() -> dict[str, Any]:
    """Count the words seen and held out; the example has a noun in the way."""

    def count(domains: Sequence[Domain], name: str) -> int:
        return sum(len(getattr(domain, name)) for domain in domains)

    counts = {
        name: {"seen": count(SEEN, name), "held out": count(UNSEEN, name)}
        for name in ("nouns", "verbs")
    }
    drawn = agreement(99, generator=generator(2))
    one = min((a for a in drawn if a.n_attractors), key=lambda a: len(a.words))
    subject = one.words[one.subject_at]
    return card(
        text(one.text, f"subject {subject}; {one.right}, not {one.wrong}"), counts
    )


def measure_kinship() -> dict[str, Any]:
    """Count words and the analogies among them."""
    lines = (" ".join(told.tokens) for told in kinship(2, generator=generator(0)))
    counts = {
        "words": {"all": len(MEANINGS)},
        "analogies": {"all": sum(map(len, analogies().values()))},
    }
    return card(text(*lines), counts)


def measure_numbers() -> dict[str, Any]:
    """Count the numbers of each part."""
    values = range(10**MOST_DIGITS)
    found = [part_of(key(value)) for value in values]
    one = translate(7324)  # it has a pair of digits that cross
    return card(
        text(" ".join(one.source), " ".join(one.target), _pairs(one.alignment)),
        {"numbers": {part: found.count(part) for part in PARTS}},
    )


def measure_dates() -> dict[str, Any]:
    """Count the days of each part, in the years drawn from unless others are asked."""
    one = dates(1, generator=generator(0))[0]
    label = f"days, {YEARS[0]} to {YEARS[1]}"
    return card(
        text(one.source_text, one.target_text, _pairs(one.alignment)),
        {label: {part: len(days_of(part, *YEARS)) for part in PARTS}},
    )


def measure_gender() -> dict[str, Any]:
    """Count the combinations of animal, place and adjective of each part."""
    one = gender(1, generator=generator(0))[0]
    return card(
        text(
            " ".join(one.source),
            " ".join(one.target),
            f"it = {one.source[one.referent]}: {one.target[one.pronoun]}",
        ),
        {"combinations": {p: sum(map(len, combinations(p))) for p in PARTS}},
    )


def measure_passages() -> dict[str, Any]:
    """Count which wordings of a question meet which of a fact, in each part."""
    one = passages(1, n_facts=4, generator=generator(0))[0]
    every = len(RELATIONS) * N_WORDINGS
    return card(
        text(
            " ".join(one.passage).replace(" . ", " .\n"),
            " ".join(one.question),
            f"answer {' '.join(one.answer)}, words {one.span}",
        ),
        {"pairs of wordings": {p: every * len(OWNED[p]) for p in PARTS}},
        relations=len(RELATIONS),
    )


def measure_entailment() -> dict[str, Any]:
    """Count the pairs of claims of each part."""

    def count(part: str) -> int:
        by_label = [kin for labels in claims(part).values() for kin in labels.values()]
        return sum(len(premises) for kin in by_label for premises in kin.values())

    one = entailment(1, generator=generator(3))[0]
    return card(
        text(" ".join(one.premise), " ".join(one.hypothesis), one.label),
        {"pairs of claims": {part: count(part) for part in PARTS}},
        people=len(PEOPLE),
    )


def measure_preferences() -> dict[str, Any]:
    """Count the prompts of each part."""
    drawn = preferences(99, generator=generator(0))
    one = next(pair for pair in drawn if max(pair.rewards) - min(pair.rewards) > 1)
    marks = ("*", " ") if one.first_preferred else (" ", "*")
    answers = zip(marks, one.responses, one.rewards, strict=True)
    lines = (
        f"{mark} {reward:+.1f}  {' '.join(said)}" for mark, said, reward in answers
    )
    return card(
        text(" ".join(one.prompt), *lines, f"P(first preferred) = {one.p_first:.2f}"),
        {"prompts": {part: len(prompts(part)) for part in PARTS}},
        largest=LARGEST,
    )
