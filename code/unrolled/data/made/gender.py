"""A toy English to French in which *it* must be understood to be translated.

*The animal didn't cross the street because it was too tired*: the animal was. *Too
wide*: the street was. French has no *it*, only *il* and *elle*, and which of them is
right depends on the gender of the noun that is meant; the adjective agrees too. Nouns
of both genders and adjectives of both kinds are crossed. So *il* is right in half of
the sentences, but the gender of the animal (or that of the place) in three quarters:
in half of them both have the same gender. ``mixed`` leaves those out, and then either
guess is right in half: there the adjective must be joined with the noun it suits. Made
data: the French is right, but there are few kinds of sentence.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import torch

from unrolled.data.made.draws import python_random
from unrolled.data.made.gender_words import (
    ANIMALS,
    FIRST,
    FORMS,
    LAST,
    OF_ANIMALS,
    OF_PLACES,
    OWNERS,
    PLACES,
    RELATIVE,
    VERBS,
    Noun,
)
from unrolled.data.splits import check_part, part_of
from unrolled.shapes import at_least

Words = tuple[str, ...]
Pairs = tuple[tuple[int, int], ...]
Phrase = tuple[Words, Words, Pairs]  # English, French, alignment from their starts


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A sentence pair, and the places of what is meant, of *it*, and of il or elle."""

    source: Words
    target: Words
    alignment: Pairs
    subject: str
    object: str
    adjective: str
    referent: int
    it: int
    pronoun: int
    gender: str


@cache
def phrase(text: str) -> Phrase:
    """Read ``english:french`` units in the order of both; ``_`` joins words of one."""
    units = []
    for unit in text.split():
        english, french = (tuple(side.split("_")) for side in unit.split(":"))
        pairs = tuple(product(range(len(english)), range(len(french))))
        units.append((english, french, pairs))
    return join(units)


SLOTS = ("first", "owner", "relative", "last")
Combination = tuple[Noun, Noun, str]  # animal, place, adjective


@cache
def combinations(part: str) -> tuple[tuple[Combination, ...], ...]:
    """Return a part's combinations in eight cells: gender × gender × who is meant.

    A part holds out combinations: each of their words is in the other parts too.
    """
    cells = []
    for one, two, kind in product("mf", "mf", (OF_ANIMALS, OF_PLACES)):
        every = product(ANIMALS[one], PLACES[two], kind)
        named = ((f"{a.english} {p.english} {adj}", (a, p, adj)) for a, p, adj in every)
        cells.append(tuple(each for name, each in named if part_of(name) == part))
    return tuple(cells)


def is_alike(cell: tuple[Combination, ...]) -> bool:
    """Return whether a cell's animals and places have one gender."""
    animal, place, _ = cell[0]
    return animal.gender == place.gender


def noun_phrase(noun: Noun, owner: Noun | None = None) -> Phrase:
    """Return "the dog", or "the king 's dog": le chien, le chien du roi."""
    if owner is None:
        return phrase(f"the:{noun.article} {noun.english}:{noun.french}")
    de = ("du",) if owner.article == "le" else ("de", owner.article)
    source = ("the", owner.english, "'s", noun.english)
    target = (noun.article, noun.french, *de, owner.french)
    return source, target, ((0, 1 + len(de)), (1, 2 + len(de)), (2, 2), (3, 1))


def sentence(combination: Combination, n_adjuncts: int, draw: Random) -> Resolved:
    """Put one sentence together, with ``n_adjuncts`` phrases that change no answer."""
    animal, place, adjective = combination
    meant = animal if adjective in OF_ANIMALS else place
    il, form = {"m": "il", "f": "elle"}[meant.gender], FORMS[adjective][meant.gender]
    slots = draw.sample(SLOTS, n_adjuncts)
    phrases = [
        phrase(draw.choice(FIRST) if "first" in slots else ""),
        noun_phrase(animal, draw.choice(OWNERS) if "owner" in slots else None),
        phrase(draw.choice(RELATIVE) if "relative" in slots else ""),
        phrase(f"didn't:n'_a_pas {draw.choice(VERBS)}"),
        noun_phrase(place),
        phrase(draw.choice(LAST) if "last" in slots else ""),
        phrase(f"because:parce_qu' it:{il} was:était too:trop {adjective}:{form} .:."),
    ]
    source, target, alignment = join(phrases)
    return Resolved(
        source=source,
        target=target,
        alignment=alignment,
        subject=animal.english,
        object=place.english,
        adjective=adjective,
        referent=source.index(meant.english),
        it=source.index("it"),
        pronoun=target.index(il),
        gender=meant.gender,
    )


def join(phrases: list[Phrase]) -> Phrase:
    """Put phrases one after the other, and move their alignments along."""
    source: list[str] = []
    target: list[str] = []
    alignment: list[tuple[int, int]] = []
    for english, french, pairs in phrases:
        alignment += [(e + len(source), f + len(target)) for e, f in pairs]
        source += english
        target += french
    return tuple(source), tuple(target), tuple(alignment)


def gender(
    n_rows: int,
    *,
    n_adjuncts: int = 0,
    mixed: bool = False,
    part: str = "train",
    generator: torch.Generator,
) -> list[Resolved]:
    """Draw sentences, the eight cells of gender × gender × who is meant alike.

    With ``mixed``, only the four in which animal and place differ in gender. When
    ``n_rows`` is a multiple of 8 each cell comes exactly as often as any other.
    """
    at_least(1, n_rows=n_rows)
    if not 0 <= n_adjuncts <= len(SLOTS):
        raise ValueError(f"{n_adjuncts=} must be from 0 to {len(SLOTS)}")
    check_part(part)
    draw = python_random(generator)
    cells = [cell for cell in combinations(part) if not (mixed and is_alike(cell))]
    chosen = cells * (n_rows // len(cells)) + draw.sample(cells, n_rows % len(cells))
    draw.shuffle(chosen)
    return [sentence(draw.choice(cell), n_adjuncts, draw) for cell in chosen]
