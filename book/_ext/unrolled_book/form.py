"""What a reader meets on a built page: words, code in sight, numbers, and the minutes.

Folded parts (``details``) do not count. ``LIMITS`` says what a page of each kind may
have: show the model, fold the audit. It measures form, not quality: a page within every
number can still be dull or wrong. The byline prints the minutes that are measured here.
"""

import re
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

from unrolled.chapters.pages import MINUTES

WORDS_A_MINUTE, LINES_A_MINUTE = 200, 12  # of prose, of code in sight
SLIDES = re.compile(r"\b(slides?|decks?)\b|\b00[0-4]:\d+", re.I)
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,.]*(?:\s?×\s?10\S*)?\s?%?")
WORD = re.compile(r"[A-Za-z][\w'\u2019-]*")
#: What a student could not look up elsewhere, or would not say today, and what to say.
ODD = {
    r"foret(?:ell|old|ells|elling)": "predict",
    r"\b(?:is|are|was|were|been|be) mended|\bmend(?:s|ing)?\b": "fix",
    r"\bderivatives? by\b|\bgradients? by\b|\bJacobian [^.]{0,40} by the\b": (
        "with respect to"
    ),
    r"\bholds? zero\b|\bheld zero\b": "contains zero",
    r"\bbrings? (?:\S+ ){0,3}home\b": "gets right",
    r"\bin the race\b|\ba race of\b": "among",
    r"\bat birth\b": "at initialisation",
    r"\btold from\b|\btell \S+ from\b": "distinguish",
    r"\b\w+ less (?:the|ours|theirs|torch|autograd|package)\b": "minus / difference",
    r"\bno bad\b|\bis none\b|\bare none\b": "(say it plainly)",
    r"\bthe way of the\b|\bleaves for the sky\b|\bhave their say\b": "(say it plainly)",
    r"\bwhoever\b|\bwhatever\b|\bnought\b|\bwhence\b|\bthence\b": "(plain word)",
}
#: The most that a page of a kind may have of each; pairs are the least and the most.
EVERY = {"longest": 25, "audit": 0, "on_card": 3, "slides": 0, "odd": 0}
LIMITS: dict[str, dict[str, int | tuple[int, int]]] = {
    "main": {
        "prose": 4000,
        "code": 250,
        "claims": (6, 10),
        "numbers": 80,
        "minutes": MINUTES["main"],
        **EVERY,
    },
    "core": {"minutes": MINUTES["core"], **EVERY},
    "study": {"minutes": MINUTES["study"], **EVERY},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """The measures of a page, as the reader meets it."""

    prose: int  # words
    code: int  # lines in sight
    longest: int  # lines of the longest cell in sight
    audit: int  # lines in sight inside of claim(...)
    folded: int  # lines of code that are folded away
    claims: int
    on_card: int  # the most numbers that a claim's card shows
    numbers: int  # in the prose
    slides: int  # mentions of slides, decks and their lines
    odd_words: tuple[str, ...]

    @property
    def odd(self) -> int:
        """How many kinds of words there are that a student could not look up."""
        return len(self.odd_words)

    @property
    def minutes(self) -> int:
        """The honest minutes that reading takes."""
        return round(self.prose / WORDS_A_MINUTE + self.code / LINES_A_MINUTE)

    def faults(self, kind: str) -> list[str]:
        """Say where a page of this kind has too much, or too little."""
        found = []
        for name, limit in LIMITS[kind].items():
            least, most = limit if isinstance(limit, tuple) else (0, limit)
            value = getattr(self, name)
            if not least <= value <= most:
                bounds = f"{least} to {most}" if least else f"at most {most}"
                found.append(f"{name}: {value}, should be {bounds}")
        return found + [f"say it otherwise: {words}" for words in self.odd_words]


def measure(html: str) -> Form:
    """Measure a page that was built, given as its HTML."""
    page = BeautifulSoup(html, "lxml")
    body = page.select_one("article.bd-article") or page.select_one("main") or page
    _drop(body, "a.headerlink, script, style, .quiz, .exercise, .bibtex-citation")
    folded = sum(_lines(pre) for pre in body.select("details pre"))
    _drop(body, "details")
    cards = [len(card.select("dd")) for card in body.select(".claim")]
    _drop(body, ".claim")
    cells = [cell.get_text().strip() for cell in body.select(".cell_input")]
    lengths = [len(cell.splitlines()) for cell in cells]
    _drop(body, "pre, .cell, figure, table, .math")
    blocks = [b for b in body.select("p, li") if not b.find(["p", "li"])]
    text = " ".join(block.get_text(" ") for block in blocks)
    odd = {
        f"{found[0].strip()} → {say}"
        for pattern, say in ODD.items()
        for found in re.finditer(pattern, text, re.I)
    }
    return Form(
        prose=len(WORD.findall(text)),
        code=sum(lengths),
        longest=max(lengths, default=0),
        audit=sum(map(_audit, cells)),
        folded=folded,
        claims=len(cards),
        on_card=max(cards, default=0),
        numbers=len(NUMBER.findall(text)),
        slides=len(SLIDES.findall(text)),
        odd_words=tuple(sorted(odd)),
    )


def _drop(body: Tag, selector: str) -> None:
    for node in body.select(selector):
        node.decompose()


def _lines(block: Tag) -> int:
    return len(block.get_text().strip().splitlines())


def _audit(cell: str) -> int:
    """Count the lines of a cell that stand inside of a call of ``claim``."""
    count = depth = 0
    for line in cell.splitlines():
        if depth or re.match(r"(?:\w+ = )?claim\(", line):
            count += 1
            depth += line.count("(") - line.count(")")
    return count
