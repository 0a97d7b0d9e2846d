"""Sentences about families and courts, from which word vectors can learn offsets.

Each of 22 words is made of three attributes: gender, generation and kind. A sentence
tells of one, two or all of them, in words that depend on that attribute alone: *he* or
*she*, an age, a place. So *uncle* and *aunt* stand in the same
contexts but for their gender, as *king* and *queen* do, and the analogies that vectors
ought to show are known.
"""

from collections import defaultdict
from dataclasses import dataclass, fields
from itertools import permutations
from random import Random

import torch

from unrolled.data.made.draws import python_random
from unrolled.shapes import at_least

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kin:
    """What a word means: gender, generation (+1 for parents), kind of person."""

    gender: str
    generation: int
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A sentence, the word it is about and that word's place in it."""

    tokens: Words
    word: str
    place: int


PAIRS = {
    ("line", 2): "grandfather grandmother",
    ("line", 1): "father mother",
    ("line", -1): "son daughter",
    ("line", -2): "grandson granddaughter",
    ("side", 1): "uncle aunt",
    ("side", 0): "brother sister",
    ("side", -1): "nephew niece",
    ("crown", 1): "king queen",
    ("crown", -1): "prince princess",
    ("people", 1): "man woman",
    ("people", -1): "boy girl",
}
MEANINGS = {
    word: Kin(gender=gender, generation=generation, kind=kind)
    for (kind, generation), pair in PAIRS.items()
    for gender, word in zip(("male", "female"), pair.split(), strict=True)
}
PRONOUNS = {
    "male": {"he": "he", "his": "his", "himself": "himself"},
    "female": {"he": "she", "his": "her", "himself": "herself"},
}
AGES = {
    2: ("seventy", "eighty", "ninety"),
    1: ("forty", "fifty", "sixty"),
    0: ("twenty", "thirty"),
    -1: ("ten", "eleven", "twelve"),
    -2: ("three", "four", "five"),
}
PLACES = {
    "line": ("at home", "in the kitchen", "at the dinner table"),
    "side": ("at the wedding", "at the family party", "in the guest room"),
    "crown": ("in the palace", "in the throne room", "in the royal garden"),
    "people": ("in the street", "on the bus", "at the market"),
}
THINGS = ("coat", "book", "letter", "cup", "bag", "key")
DEEDS = ("found", "lost", "kept", "hid", "bought", "sold")
SKILLS = ("sing", "cook", "read", "dance", "paint", "swim")
# how a sentence opens, and how it goes on, to tell of one attribute and no other
OPENINGS = {
    "gender": (
        "the {word} {deed} {his} {thing}",
        "the {word} taught {himself} to {skill}",
        "the {word} said that {he} could {skill}",
    ),
    "generation": (
        "the {word} was {age} years old",
        "at {age} the {word} learnt to {skill}",
        "at the age of {age} the {word} {deed} a {thing}",
    ),
    "kind": (
        "the {word} sat {where}",
        "the {word} spoke {where}",
        "{where} the {word} {deed} a {thing}",
    ),
}
FURTHER = {
    "gender": ("{deed} {his} {thing}", "taught {himself} to {skill}"),
    "generation": ("turned {age}", "learnt to {skill} at {age}"),
    "kind": ("stayed {where}", "sang {where}"),
}


def change(a: str, b: str) -> tuple[str, object, object] | None:
    """Return (attribute, from, to) if two words differ in one attribute, else None."""
    changes = [
        (field.name, getattr(MEANINGS[a], field.name), getattr(MEANINGS[b], field.name))
        for field in fields(Kin)
        if getattr(MEANINGS[a], field.name) != getattr(MEANINGS[b], field.name)
    ]
    return changes[0] if len(changes) == 1 else None


def analogies() -> dict[str, tuple[tuple[str, str, str, str], ...]]:
    """Return all (a, b, c, d), a to b as c to d, under the attribute that changes."""
    alike = defaultdict(list)
    for a, b in permutations(MEANINGS, 2):
        if same := change(a, b):
            alike[same].append((a, b))
    found: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for (attribute, _, _), pairs in alike.items():
        found[attribute] += [(*one, *two) for one, two in permutations(pairs, 2)]
    return {attribute: tuple(quadruples) for attribute, quadruples in found.items()}


def tell(word: str, n_clauses: int, draw: Random) -> Told:
    """Make one sentence about ``word``: a clause for each of some of its attributes."""
    meaning = MEANINGS[word]
    first, *others = draw.sample(tuple(OPENINGS), n_clauses)
    further = [draw.choice(FURTHER[attribute]) for attribute in others]
    clauses = [draw.choice(OPENINGS[first]), *further]
    text = " and ".join(
        clause.format(
            word=word,
            age=draw.choice(AGES[meaning.generation]),
            where=draw.choice(PLACES[meaning.kind]),
            thing=draw.choice(THINGS),
            deed=draw.choice(DEEDS),
            skill=draw.choice(SKILLS),
            **PRONOUNS[meaning.gender],
        )
        for clause in clauses
    )
    tokens = (*text.split(), ".")
    return Told(tokens=tokens, word=word, place=tokens.index(word))


def kinship(
    n_rows: int, *, n_clauses: int = 2, generator: torch.Generator
) -> list[Told]:
    """Draw sentences of ``n_clauses`` clauses, each about any of the words alike."""
    at_least(1, n_rows=n_rows)
    if not 1 <= n_clauses <= len(OPENINGS):
        raise ValueError(f"{n_clauses=} must be from 1 to {len(OPENINGS)}")
    draw = python_random(generator)
    words = draw.choices(tuple(MEANINGS), k=n_rows)
    return [tell(word, n_clauses, draw) for word in words]
