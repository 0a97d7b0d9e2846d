"""Which answers of a class are so alike that a person should look at them.

An answer becomes a set of *k-grams*, runs of k tokens, in which names, literals,
comments, strings and layout make no difference; so neither renaming nor moving a
function hides where it came from. What everybody was given (scaffold, given code, the
question's own words) does not count, nor does what many in the class wrote: it is the
natural way. Two answers are alike if they have much in common of what is left; where
too little is left to tell, as in an answer of one line, nothing is said.

A regular expression reads the tokens, not :mod:`tokenize`: it has something to say of
code that is not Python, and the same under every version of it.
"""

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, islice

from unrolled.grading.course.records import Course
from unrolled.grading.exercise import Question

#: From which share on a pair is shown.
ALIKE = 0.6
_LONGEST = 20_000  # tokens of one answer that are read; a long one has 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two students whose answers to a question are alike.

    Args:
        a: The first student, in the order of the course.
        b: The second.
        question: The question's id.
        share: How much of what is the shorter answer's own is in the other as well.
    """

    a: str
    b: str
    question: str
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Grain:
    """How finely a kind of answer is cut, and how much it takes to tell."""

    k: int
    enough: int  # k-grams that two answers must have in common


_CODE = _Grain(k=10, enough=60)
_WORDS = _Grain(k=5, enough=15)

_TOKEN = re.compile(
    r'''
      \#[^\n]* | \\\n | \s+
    | [rRbBuUfF]{0,2} (?:
          """ (?: [^"\\] | \\. | "(?!"") )*+ (?: """ )?+
        | \'\'\' (?: [^'\\] | \\. | '(?!\'\') )*+ (?: \'\'\' )?+
        | " (?: [^"\\\n] | \\. )*+ "?+ | ' (?: [^'\\\n] | \\. )*+ '?+ )
    | (?P<number> \.?\d (?: [eE][+-] | [\w.] )*+ )
    | (?P<name> [^\W\d]\w*+ )
    | (?P<sign> -> | := | \*\* | // | << | >> | [-+*/%@&|^=<>!]= | . )
    ''',
    re.VERBOSE | re.DOTALL,
)
#: Names that nobody can change at will, unlike those of variables.
_FIXED = frozenset(keyword.kwlist) | {
    name for name in dir(builtins) if not name.startswith("_")
}


def pairs(course: Course, *, alike: float = ALIKE) -> tuple[Pair, ...]:
    """Return the pairs of answers whose share is at least ``alike``, greatest first.

    It is a reason to look, never a verdict.
    """
    if not 0 < alike <= 1:
        raise ValueError(f"alike={alike} must be a share above 0 and at most 1")
    found: list[Pair] = []
    for question in course.exercise.questions.values():
        grain = _WORDS if question.kind == "words" else _CODE
        ours = _known(question, course.exercise.preamble, grain.k)
        grams = {
            record.student: _grams(question, answer, grain.k) - ours
            for record in course.records
            if (answer := record.answers.get(question.id, "")).strip()
        }
        for (a, b), share in _alike(grams, grain.enough, many(len(grams))).items():
            if share >= alike:
                found.append(Pair(a=a, b=b, question=question.id, share=share))
    place = {record.student: n for n, record in enumerate(course.records)}
    return tuple(sorted(found, key=lambda p: (-p.share, place[p.a], place[p.b])))


def many(n_answers: int) -> int:
    """Return in how many answers a k-gram may be before it is the natural way.

    A ring of friends must stay visible, and so must a pair in the smallest class.
    """
    return max(2, min(5, n_answers // 2), n_answers // 8)


def tokens(code: str) -> list[str]:
    """Return the tokens of a code, without what can be changed without a thought.

    Names of variables become ``v`` and numbers ``0``; an attribute keeps its name,
    which is the library's, unless the code itself makes it.
    """
    every = ((match.lastgroup, match.group()) for match in _TOKEN.finditer(code))
    found = list(islice((one for one in every if one[0]), _LONGEST))
    texts = ["", *(text for _, text in found), ""]
    own = {
        name
        for n, name in enumerate(texts[1:-1], start=1)
        if texts[n - 1] in ("def", "class")
        or (texts[n - 1] == "." and texts[n + 1] == "=")
    }
    plain = []
    for before, (kind, text) in zip(texts, found, strict=False):
        if kind == "number":
            text = "0"
        elif kind == "name" and text not in _FIXED:
            text = text if before == "." and text not in own else "v"
        plain.append(text)
    return plain


def _grams(question: Question, answer: str, k: int) -> set[int]:
    """Return the k-grams of an answer, as hashes."""
    if question.kind == "words":
        parts = re.findall(r"\w+", answer.casefold())[:_LONGEST]
    else:
        parts = tokens(answer)
    return {hash(tuple(parts[n : n + k])) for n in range(len(parts) - k + 1)}


def _known(question: Question, preamble: str, k: int) -> set[int]:
    """Return the k-grams that everybody was given with a question."""
    given: Iterable[str] = [question.prompt]
    if question.kind != "words":
        shown = (one.source for one in question.judges if one.visible)
        given = (preamble, question.scaffold, *shown)
    return set().union(*(_grams(question, text, k) for text in given))


def _alike(
    grams: dict[str, set[int]], enough: int, most: int
) -> dict[tuple[str, str], float]:
    """Return the share of each pair of students that has enough rare k-grams in common.

    Args:
        grams: The k-grams of each student's answer, in the order of the course.
        enough: How many must be in common.
        most: In how many answers a rare one is, at most.
    """
    holders: dict[int, list[str]] = {}
    for student, own in grams.items():
        for gram in own:
            holders.setdefault(gram, []).append(student)
    rare = {gram: who for gram, who in holders.items() if len(who) <= most}
    size = Counter(student for who in rare.values() for student in who)
    groups = Counter(tuple(who) for who in rare.values() if len(who) > 1)
    common: Counter[tuple[str, str]] = Counter()
    for who, n in groups.items():
        for a, b in combinations(who, 2):
            common[a, b] += n
    return {
        (a, b): n / min(size[a], size[b]) for (a, b), n in common.items() if n >= enough
    }
