"""The words of the toy English to French: nouns, adjectives, and phrases between."""

from typing import NamedTuple


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
