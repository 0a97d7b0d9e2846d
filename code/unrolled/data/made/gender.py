"""A toy English to French in which *it* must be understood to be translated.

*The animal didn't cross the street because it was too tired*: the animal was. *Too
wide*: the street was. French has no *it*, only *il* and *elle*, and which of them is
right depends on the gender of the noun that is meant; the adjective agrees too. Nouns
of both genders and adjectives of both kinds are crossed, so that no single word tells
the answer. Made data: the French is right, but there are few kinds of sentence.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import NamedTuple

import torch

from unrolled.data.made.draws import python_random
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


class Noun(NamedTuple):
    """An English noun with its French article, noun and gender ("m" or "f")."""

    gender: str
    english: str
    article: str
    french: str


def nouns(gender: str, listed: str) -> tuple[Noun, ...]:
    """Read words such as ``dog:le:chien``."""
    return tuple(Noun(gender, *word.split(":")) for word in listed.split())


def adjectives(listed: str) -> dict[str, dict[str, str]]:
    """Read ``english:masculine:feminine`` words."""
    forms = (word.split(":") for word in listed.split())
    return {english: {"m": m, "f": f} for english, m, f in forms}


@cache
def phrase(text: str) -> Phrase:
    """Read ``english:french`` units in the order of both; ``_`` joins words of one."""
    units = []
    for unit in text.split():
        english, french = (tuple(side.split("_")) for side in unit.split(":"))
        pairs = tuple(product(range(len(english)), range(len(french))))
        units.append((english, french, pairs))
    return join(units)


MASCULINE_ANIMALS = (
    "dog:le:chien cat:le:chat horse:le:cheval rabbit:le:lapin pig:le:cochon "
    "animal:l':animal bird:l':oiseau donkey:l':âne"
)
FEMININE_ANIMALS = (
    "turtle:la:tortue mouse:la:souris frog:la:grenouille cow:la:vache goat:la:chèvre "
    "hen:la:poule bee:l':abeille spider:l':araignée"
)
MASCULINE_PLACES = (
    "bridge:le:pont park:le:parc field:le:champ garden:le:jardin path:le:sentier "
    "tunnel:le:tunnel market:le:marché airport:l':aéroport"
)
FEMININE_PLACES = (
    "street:la:rue road:la:route square:la:place forest:la:forêt beach:la:plage "
    "meadow:la:prairie courtyard:la:cour avenue:l':avenue"
)
ANIMALS = {"m": nouns("m", MASCULINE_ANIMALS), "f": nouns("f", FEMININE_ANIMALS)}
PLACES = {"m": nouns("m", MASCULINE_PLACES), "f": nouns("f", FEMININE_PLACES)}
OWNERS = nouns("m", "king:le:roi farmer:le:fermier uncle:l':oncle")
OWNERS += nouns("f", "queen:la:reine aunt:la:tante actress:l':actrice")
# jeune and large have one form for both genders; only il and elle show it there
OF_ANIMALS = adjectives(
    "tired:fatigué:fatiguée lazy:paresseux:paresseuse nervous:nerveux:nerveuse "
    "slow:lent:lente thirsty:assoiffé:assoiffée young:jeune:jeune"
)
OF_PLACES = adjectives(
    "wide:large:large narrow:étroit:étroite long:long:longue crowded:bondé:bondée "
    "slippery:glissant:glissante dangerous:dangereux:dangereuse"
)
FORMS = OF_ANIMALS | OF_PLACES
VERBS = ("cross:traversé", "explore:exploré")
FIRST = ("in:à Paris:Paris ,:,", "in:en winter:hiver ,:,", "in_spring:au_printemps ,:,")
RELATIVE = (
    "that:qui lived:vivait nearby:tout_près",
    "that:qui had_just:venait_de eaten:manger",
    "that:qui loved:aimait music:la_musique",
)
LAST = ("on_Monday:lundi", "at:à noon:midi", "this:ce morning:matin")
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
    n_rows: int, *, n_adjuncts: int = 0, part: str = "train", generator: torch.Generator
) -> list[Resolved]:
    """Draw sentences, the eight cells of gender × gender × who is meant alike.

    When ``n_rows`` is a multiple of 8 each cell comes exactly as often as any other.
    """
    at_least(1, n_rows=n_rows)
    if not 0 <= n_adjuncts <= len(SLOTS):
        raise ValueError(f"{n_adjuncts=} must be from 0 to {len(SLOTS)}")
    check_part(part)
    draw = python_random(generator)
    cells = combinations(part)
    chosen = list(cells) * (n_rows // 8) + draw.sample(cells, n_rows % 8)
    draw.shuffle(chosen)
    return [sentence(draw.choice(cell), n_adjuncts, draw) for cell in chosen]
