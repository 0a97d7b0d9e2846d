"""Questions about short passages, answered by a span of the passage or by none.

A passage tells facts of three people, and in every one the relation asked about is told
of two of them: of the person in question and another, or of both others, and then there
is no answer. So no count tells whether there is one: *who* is said to do *what* must be
understood. (Who knows the relation only and takes the first is right half the time.)
Statements and questions are worded in four ways each, with *he* or *she* where the
person is the same as just before: words in common are not enough. The parts divide
which wording of a question meets which of a fact; people and values are in all parts.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import torch

from unrolled.data.made.draws import python_random
from unrolled.data.splits import check_part
from unrolled.shapes import at_least

Words = tuple[str, ...]
Fact = tuple[str, str]  # a person and a relation
Relation = tuple[Words, list[str], list[str]]  # values, statements, questions
MEN = "Adam Bruno Carlos David Edgar Felix George Hugo Ivan James Karl Leo Martin Noah"
WOMEN = "Alice Bella Clara Diana Emma Flora Grace Helen Irene Julia Karen Laura Nora"
PRONOUNS = dict.fromkeys(MEN.split(), ("he", "him"))
PRONOUNS |= dict.fromkeys(WOMEN.split(), ("she", "her"))
PEOPLE = tuple(PRONOUNS)
N_WORDINGS = 4
# which sums of the two wordings' places, modulo 4, a part owns
OWNED = {"train": (2, 3), "validation": (1,), "test": (0,)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A question and its answer, ``passage[start:end]``; a span of None: no answer."""

    passage: Words
    question: Words
    answer: Words
    span: tuple[int, int] | None
    person: str
    relation: str


def relation(text: str) -> Relation:
    """Read a line of values, then lines of statements, then of questions."""
    values, *lines = (line.strip() for line in text.strip().splitlines())
    return tuple(values.split(", ")), lines[:N_WORDINGS], lines[N_WORDINGS:]


RELATIONS = {
    "home": relation("""
        Paris, New York, Rome, Cape Town, Oslo, Lima, San Diego, Cairo
        {who} lives in {what}
        {who} has a flat in {what}
        years ago {who} settled in {what}
        {what} is where {who} feels at home
        where does {who} live ?
        in which city does {who} reside ?
        what is the home town of {who} ?
        which place does {who} call home ?"""),
    "work": relation("""
        baker, nurse, bus driver, judge, school teacher, painter, plumber, film director
        {who} works as a {what}
        {who} earns a living as a {what}
        {who} trained to be a {what} and became one
        by profession {who} is a {what}
        what is the job of {who} ?
        what does {who} do for a living ?
        which profession does {who} have ?
        what does {who} work as ?"""),
    "music": relation("""
        violin, grand piano, flute, double bass, harp, cello, French horn, trumpet
        {who} plays the {what}
        {who} practises the {what} every day
        on the {what} {who} is quite good
        {who} gives concerts on the {what}
        which instrument does {who} play ?
        on what does {who} make music ?
        what is the instrument of {who} ?
        what could {who} play at a concert ?"""),
    "pet": relation("""
        parrot, black cat, rabbit, guinea pig, tortoise, goldfish, sheep dog, pony
        {who} owns a {what}
        {who} has a {what} as a pet
        {who} feeds a {what} at home
        a {what} keeps {whom} company
        which animal does {who} own ?
        what kind of pet does {who} have ?
        what creature lives with {who} ?
        which animal keeps {who} company ?"""),
    "birth": relation("""
        1948, 1953, 1959, 1964, 1972, 1977, 1986, 1991
        {who} was born in {what}
        {who} came into the world in {what}
        {who} gives {what} as the year of birth
        {who} first saw daylight in {what}
        when was {who} born ?
        what is the year of birth of {who} ?
        when did {who} come into the world ?
        in which year did the life of {who} begin ?"""),
    "food": relation("""
        fried rice, onion soup, pancakes, lentils, apple pie, noodles, roast duck, trout
        {who} likes {what} best
        {who} could eat {what} every day
        the dish that {who} always orders is {what}
        nothing tastes better to {whom} than {what}
        what is the favourite food of {who} ?
        what does {who} like to eat ?
        which dish does {who} prefer ?
        what tastes best to {who} ?"""),
    "study": relation("""
        law, medicine, art history, physics, computer science, Greek, logic, world trade
        {who} studied {what}
        {who} has a degree in {what}
        at university {who} chose {what}
        {who} wrote a thesis on {what}
        what did {who} study ?
        which subject did {who} choose at university ?
        in what does {who} hold a degree ?
        what was the field of study of {who} ?"""),
}
NAMES = tuple(RELATIONS)


@cache
def state(wording: str, person: str, value: str, again: bool) -> tuple[Words, int]:
    """Return a statement's words and where in them the value begins."""
    who, whom = PRONOUNS[person] if again else (person, person)
    before, after = wording.split("{what}")
    start = before.format(who=who, whom=whom).split()
    rest = f"{value} {after} .".format(who=who, whom=whom).split()
    return (*start, *rest), len(start)


def choose_facts(
    people: list[str], asked: str, n_facts: int, told: bool, draw: Random
) -> list[Fact]:
    """Return the facts of a passage in order; the first person is asked about."""
    person, another, third = people
    more, decoy = draw.sample([name for name in NAMES if name != asked], 2)
    # without an answer, all is drawn alike but that two people exchange these
    own, other = (asked, decoy) if told else (decoy, asked)
    facts = [(another, asked), (person, more), (person, own), (third, other)]
    rest = {*product(people, NAMES)} - {(who, asked) for who in people}
    rest -= {(person, more), (person, decoy), (third, decoy)}
    facts += draw.sample(sorted(rest), n_facts - 4)
    draw.shuffle(facts)
    return facts


def make(n_facts: int, told: bool, part: str, draw: Random) -> Passage:
    """Make one passage with its question."""
    people, asked = draw.sample(PEOPLE, 3), draw.choice(NAMES)
    question = draw.randrange(N_WORDINGS)
    met = [s for s in range(N_WORDINGS) if (s + question) % N_WORDINGS in OWNED[part]]
    used, words, span, before = set[str](), list[str](), None, ""
    for who, name in choose_facts(people, asked, n_facts, told, draw):
        values, statements, _ = RELATIONS[name]
        wording = draw.choice(met) if name == asked else draw.randrange(N_WORDINGS)
        value = draw.choice([each for each in values if each not in used])
        used.add(value)
        said, start = state(statements[wording], who, value, who == before)
        if (who, name) == (people[0], asked):
            span = len(words) + start, len(words) + start + len(value.split())
        words += said
        before = who
    return Passage(
        passage=tuple(words),
        question=tuple(RELATIONS[asked][2][question].format(who=people[0]).split()),
        answer=tuple(words[slice(*span)]) if span else (),
        span=span,
        person=people[0],
        relation=asked,
    )


def passages(
    n_rows: int,
    *,
    n_facts: int = 6,
    p_unanswerable: float = 0.0,
    part: str = "train",
    generator: torch.Generator,
) -> list[Passage]:
    """Draw passages of ``n_facts`` sentences, a question of one part to each."""
    at_least(1, n_rows=n_rows)
    most = 3 * (len(RELATIONS) - 1) + 1
    if not 4 <= n_facts <= most:
        raise ValueError(f"{n_facts=} must be from 4 to {most}")
    if not 0 <= p_unanswerable <= 1:
        raise ValueError(f"{p_unanswerable=} must be a probability between 0 and 1")
    check_part(part)
    draw = python_random(generator)
    told = (draw.random() >= p_unanswerable for _ in range(n_rows))
    return [make(n_facts, each, part, draw) for each in told]
