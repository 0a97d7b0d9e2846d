r"""Preferences with a known reward: which of two answers would a person like better?

A prompt is a small sum; an answer is right or wrong, polite or not, long or short. The
hidden reward is a weighted sum of these, and a judge prefers the first answer with the
probability of Bradley and Terry,

.. math:: P(a \succ b) = \sigma\big((r_a - r_b) / \tau\big),

so that a reward model can be held against the truth. ``features`` scores any tokens
whatever, so also what a policy makes up.

A wrong number is too large as often as too small, unless the right one is 0: then it
can only be too large. So of a right and a wrong answer the smaller is right somewhat
more than half the time: 0.55 of train, 0.54 of validation, 0.56 of test. A prompt goes
with its mirror image (3 plus 4, 4 plus 3), and there are few: 41 are test's.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

import torch

from unrolled.data.made.draws import python_random
from unrolled.data.splits import check_part, part_of
from unrolled.shapes import at_least

Words = tuple[str, ...]
LARGEST = 12  # the largest number in a sum
POLITE = ("please", "thank", "glad", "welcome", "sorry")
THANKS = ("thank you for asking :", "I am glad you asked :", "sorry for the wait :")
FAREWELLS = ("you are welcome", "please ask me again")
FILLERS = (
    "let me see ,",
    "to be quite honest ,",
    "as far as I can tell ,",
    "after some thought ,",
)
ANSWERS = ("it is {}", "the answer is {}", "that makes {}", "{}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Features:
    """What the reward sees: is it right, how many polite words, how many tokens."""

    right: bool
    n_polite: int
    n_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Taste:
    """The weights of the hidden reward; a judge likes what is right, kind and short."""

    right: float = 2.0
    polite: float = 1.0
    length: float = -0.1

    def reward(self, seen: Features) -> float:
        """Return the reward of an answer with these features."""
        kind = self.polite * min(seen.n_polite, 2)  # more than two is no kinder
        return self.right * seen.right + kind + self.length * seen.n_tokens


TASTE = Taste()


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference:
    """Two answers to a prompt, their true rewards, and which one was preferred."""

    prompt: Words
    responses: tuple[Words, Words]
    features: tuple[Features, Features]
    rewards: tuple[float, float]
    p_first: float
    first_preferred: bool

    @property
    def chosen(self) -> Words:
        """Return the answer that was preferred."""
        return self.responses[0 if self.first_preferred else 1]

    @property
    def rejected(self) -> Words:
        """Return the other one."""
        return self.responses[1 if self.first_preferred else 0]


def right_answer(prompt: Words) -> int:
    """Return what ``what is 3 plus 4 ?`` asks for."""
    match prompt:
        case ("what", "is", a, "plus", b, "?"):
            return int(a) + int(b)
        case ("what", "is", a, "minus", b, "?"):
            return int(a) - int(b)
        case ("what", "is", a, "times", b, "?"):
            return int(a) * int(b)
    raise ValueError(f"{prompt=} must be like 'what is 3 plus 4 ?', cut into words")


def features(prompt: Words, response: Words) -> Features:
    """Read the features off any answer; one that names several numbers is not right."""
    named = {word for word in response if word.isdigit()}
    return Features(
        right=named == {str(right_answer(prompt))},
        n_polite=sum(word in POLITE for word in response),
        n_tokens=len(response),
    )


def probability(reward_a: float, reward_b: float, temperature: float) -> float:
    """Return the probability that a is preferred to b; safe for any difference."""
    return 0.5 + 0.5 * math.tanh((reward_a - reward_b) / (2 * temperature))


def key(a: int, sign: str, b: int) -> str:
    """Return the name by which a sum falls to a part: 4 plus 3 goes with 3 plus 4."""
    low, high = (a, b) if sign == "minus" else sorted((a, b))
    return f"{low} {sign} {high}"


@cache
def prompts(part: str) -> tuple[Words, ...]:
    """Return the prompts of a part; no sum is asked in two parts, nor turned round."""
    numbers = range(LARGEST + 1)
    sums = list(product(numbers, ("plus", "times"), numbers))
    sums += [(a, "minus", b) for a in numbers for b in range(a + 1)]
    asked = (
        f"what is {a} {s} {b} ?" for a, s, b in sums if part_of(key(a, s, b)) == part
    )
    return tuple(tuple(text.split()) for text in asked)


def wrong_answer(number: int, draw: Random) -> int:
    """Return a number near the right one, on either side of it and never below 0."""
    far = draw.choice([step for step in (1, 2, 10) if step <= max(number, 1)])
    return number + (draw.choice((-far, far)) if number else far)


def respond(prompt: Words, n_fillers: int, draw: Random) -> Words:
    """Make up an answer: right every other time, polite or not, padded or not."""
    number = right_answer(prompt)
    if draw.random() < 0.5:
        number = wrong_answer(number, draw)
    pieces = [draw.choice(THANKS)] if draw.random() < 0.5 else []
    pieces += draw.sample(FILLERS, draw.randint(0, n_fillers))
    pieces += [draw.choice(ANSWERS).format(number), "."]
    pieces += [draw.choice(FAREWELLS), "."] if draw.random() < 0.5 else []
    return tuple(" ".join(pieces).split())


def preferences(
    n_rows: int,
    *,
    n_fillers: int = 2,
    temperature: float = 1.0,
    taste: Taste = TASTE,
    part: str = "train",
    generator: torch.Generator,
) -> list[Preference]:
    """Draw prompts of one part, two answers to each, and a judgement.

    ``temperature`` is how careless the judge is: near 0 the better answer always wins.
    """
    at_least(1, n_rows=n_rows)
    if not 0 <= n_fillers <= len(FILLERS):
        raise ValueError(f"{n_fillers=} must be from 0 to {len(FILLERS)}")
    if not 0 < temperature < math.inf:
        raise ValueError(f"{temperature=} must be positive and finite")
    check_part(part)
    draw = python_random(generator)
    asked = draw.choices(prompts(part), k=n_rows)
    drawn = []
    for prompt in asked:
        a, b = respond(prompt, n_fillers, draw), respond(prompt, n_fillers, draw)
        seen = features(prompt, a), features(prompt, b)
        r_a, r_b = taste.reward(seen[0]), taste.reward(seen[1])
        p_first = probability(r_a, r_b, temperature)
        drawn.append(
            Preference(
                prompt=prompt,
                responses=(a, b),
                features=seen,
                rewards=(r_a, r_b),
                p_first=p_first,
                first_preferred=draw.random() < p_first,
            )
        )
    return drawn
