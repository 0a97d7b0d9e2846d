"""The words of made sentences about agreement, those seen and those held out."""

from dataclasses import dataclass

Forms = tuple[str, str]  # singular and plural, or past and -ing


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """Words that go together: any of the nouns can do any of the verbs to any other."""

    nouns: tuple[Forms, ...]
    verbs: tuple[Forms, ...]
    predicates: tuple[tuple[Forms, str], ...]  # the verb that agrees, and what follows


def _forms(line: str) -> tuple[Forms, ...]:
    """Read "cat man/men" as two forms each; a noun's plural adds s unless given."""
    pairs = (word.split("/") for word in line.split())
    return tuple((pair[0], (*pair[1:], pair[0] + "s")[0]) for pair in pairs)


def _predicates(adjectives: str, others: str) -> tuple[tuple[Forms, str], ...]:
    links = _forms("is/are was/were seems/seem looks/look")
    found = [(link, adjective) for link in links for adjective in adjectives.split()]
    for line in others.split(", "):
        verb, rest = line.split(" ", 1)
        found.append((_forms(verb)[0], rest))
    return tuple(found)


_OF_PEOPLE = _predicates(
    "hungry tired happy nervous ready quiet",
    "waits/wait outside, smiles/smile often, sings/sing well, has/have gone home",
)
_OF_VEHICLES = _predicates(
    "old new dirty full empty slow",
    "stops/stop here, needs/need repair, moves/move slowly, has/have broken down",
)
SEEN = (
    Domain(
        nouns=_forms(
            "pilot farmer guard singer teacher doctor baker sailor judge nurse lawyer "
            "painter woman/women child/children"
        ),
        verbs=_forms(
            "followed/following watched/watching helped/helping met/meeting "
            "praised/praising called/calling thanked/thanking blamed/blaming"
        ),
        predicates=_OF_PEOPLE,
    ),
    Domain(
        nouns=_forms(
            "train bus/buses lorry/lorries taxi tram van car caravan coach/coaches "
            "tractor cart ambulance jeep wagon"
        ),
        verbs=_forms(
            "followed/following passed/passing blocked/blocking overtook/overtaking "
            "delayed/delaying damaged/damaging"
        ),
        predicates=_OF_VEHICLES,
    ),
)
# Nouns and embedded verbs that SEEN lacks. A model of whole words can only be asked
# about words it has met: train it on attracted(n, 0, 0, domains=UNSEEN) as well, short
# sentences that teach the words and their number, but never the long way to the verb.
UNSEEN = (
    Domain(
        nouns=_forms("chef clerk poet tailor miner dancer soldier man/men"),
        verbs=_forms("greeted/greeting visited/visiting warned/warning"),
        predicates=_OF_PEOPLE,
    ),
    Domain(
        nouns=_forms("truck limousine carriage tanker trolley minibus/minibuses"),
        verbs=_forms("touched/touching scratched/scratching approached/approaching"),
        predicates=_OF_VEHICLES,
    ),
)
