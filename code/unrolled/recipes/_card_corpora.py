"""What the data cards say of the real texts: counts, faults measured, an example."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from unrolled.data.corpora.interface import (
    Pair,
    interface,
    interface_by_program,
    key,
    pairs,
)
from unrolled.data.corpora.kjv import kjv, kjv_text
from unrolled.data.corpora.opinions import SHARED_WORDS, Opinion, opinions
from unrolled.data.corpora.shakespeare import shakespeare, shakespeare_text
from unrolled.data.corpora.tags import SHARED_WORDS as SHARED_BY_ARTICLES
from unrolled.data.corpora.tags import tags
from unrolled.data.corpora.tunes import Tune, tunes
from unrolled.data.splits import PARTS, Splits
from unrolled.recipes._card_forms import card, each_part, everything, share, text

# Harmless and typical, looked at by us: no person is named, nobody is abused.
CHOSEN = {"tweets": "3555", "films": "6241", "products": "4_3", "news": "137_9"}
_NOTE = re.compile(r"\((\d)|[A-Ga-gz][,']*(\d*)(/*)(\d*)")


def measure_kjv() -> dict[str, Any]:
    """Count books, words and characters; the example is how it begins."""
    parts = kjv_text()
    whole = parts.train + parts.validation + parts.test
    counts = {
        "books": each_part(len, kjv()),
        "words": each_part(lambda part: len(part.split()), parts),
        "characters": each_part(len, parts),
    }
    first = kjv().train[0].text
    example = text(first[: first.index(".", 150) + 1])
    return card(example, counts, distinct=len(set(whole)), total=len(whole))


def measure_shakespeare() -> dict[str, Any]:
    """Count works, words and characters; the example is a speech with its speaker."""
    parts = shakespeare_text()
    counts = {
        "works": each_part(len, shakespeare()),
        "words": each_part(lambda part: len(part.split()), parts),
        "characters": each_part(len, parts),
    }
    works = everything(shakespeare())
    scene = next(work.text for work in works if work.name == "twelfth_night")
    line = scene.index("If music be")
    start = scene.rindex("\n\n", 0, line) + 2
    example = text(*scene[start:].split("\n")[:5])
    poems = sum(work.is_poem for work in works)
    return card(example, counts, poems=poems, plays=len(works) - poems)


def bar_lengths(one: Tune) -> Iterator[Fraction]:
    """Yield the length of each bar in whole notes, by a rough count.

    Triplets are reckoned; other tuplets, and notes that sound together, are not.
    """
    body = re.sub(r"\{.*?\}", "", one.body)
    for bar in re.split(r"[|:\[\]]+\d?", body):
        length, triplet = Fraction(0), 0
        for group, n, slashes, by in _NOTE.findall(bar):
            if group:
                triplet = 3 if group == "3" else 0
                continue
            note = Fraction(int(n or 1), int(by or 2 ** len(slashes)))
            length += note * (Fraction(2, 3) if triplet > 0 else 1)
            triplet -= 1
        if length:
            yield length * Fraction(one.unit)


def measure_tunes() -> dict[str, Any]:
    """Count tunes and characters, and the bars whose notes add up to the metre."""
    found = everything(tunes())
    steady = [one for one in found if not re.search("(?m)^[KLM]:", one.body)]
    metres = {"C": Fraction(1), "C|": Fraction(1)}
    full = [
        length == (metres.get(one.metre) or Fraction(one.metre))
        for one in steady
        for length in bar_lengths(one)
    ]
    counts = {
        "tunes": each_part(len, tunes()),
        "characters": each_part(lambda part: sum(len(t.text) for t in part), tunes()),
    }
    cat = next(one for one in found if one.titles[0] == "The Cat in the Corner")
    return card(text(cat.abc.rstrip()), counts, full=share(full), bars=len(full))


def measure_opinions(kind: str) -> dict[str, Any]:
    """Count texts and words, and how praise and blame are spread over the file."""
    parts = opinions(kind)
    found: list[Opinion] = sorted(everything(parts), key=_place)
    half = len(found) // 2
    counts = {
        "texts": each_part(len, parts),
        "words": each_part(lambda p: sum(len(o.text.split()) for o in p), parts),
    }
    one = next(opinion for opinion in found if opinion.id == CHOSEN[kind])
    return card(
        text(f"{one.score:+.2f}  {one.text}"),
        counts,
        shared=SHARED_WORDS,
        documents=len({opinion.document for opinion in found}),
        positive=share(opinion.score > 0 for opinion in found),
        **{
            f"positive_{part}": share(
                opinion.score > 0 for opinion in getattr(parts, part)
            )
            for part in PARTS
        },
        mild=share(abs(opinion.score) < 1 for opinion in found),
        first_half=share(opinion.score > 0 for opinion in found[:half]),
        second_half=share(opinion.score > 0 for opinion in found[half:]),
    )


def _place(one: Opinion) -> tuple[int, ...]:
    return tuple(map(int, one.id.split("_")))


def measure_tags() -> dict[str, Any]:
    """Count sentences and words; how many words of test are new, which tag is rare."""
    parts = tags()
    found = everything(parts)
    known = {word for sentence in parts.train for word in sentence.words}
    tally = Counter(tag for sentence in found for tag in sentence.tags)
    rare, n_rare = min(tally.items(), key=lambda item: (item[1], item[0]))
    counts = {
        "sentences": each_part(len, parts),
        "words": each_part(lambda p: sum(len(s.words) for s in p), parts),
    }
    square = next(s for s in found if " ".join(s.words).startswith("A praça foi ina"))
    return card(
        text(*(f"{w:12}{t}" for w, t in zip(square.words, square.tags, strict=True))),
        counts,
        shared=SHARED_BY_ARTICLES,
        articles=len({sentence.document for sentence in found}),
        n_tags=len(tally),
        new=share(word not in known for s in parts.test for word in s.words),
        rare=rare,
        n_rare=n_rare,
    )


def nearest(split: Splits[tuple[Pair, ...]]) -> list[float]:
    """Return for every test pair the best Jaccard index with training's English."""
    train = [set(key(pair.english).split()) for pair in split.train]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(train):
        for word in words:
            holders[word].append(place)
    best = []
    for pair in split.test:
        words = set(key(pair.english).split())
        shared = Counter(place for word in words for place in holders[word])
        ratios = (n / (len(words | train[place])) for place, n in shared.items())
        best.append(max(ratios, default=0.0))
    return best


def measure_interface() -> dict[str, Any]:
    """Count pairs and words, and how near the test comes to what was learnt."""
    parts = interface()
    found, by_program = nearest(parts), nearest(interface_by_program())
    counts = {
        "pairs": each_part(len, parts),
        "by program": each_part(len, interface_by_program()),
    }
    lengths = sorted(len(pair.english.split()) for pair in pairs())
    words = "Warning: It was not possible to remove this item!"
    one = next(pair for pair in pairs() if pair.english == words)
    return card(
        text(one.english, one.french),
        counts,
        programs=len({program for pair in pairs() for program in pair.programs}),
        median=lengths[len(lengths) // 2],
        jaccard_50=share(index >= 0.5 for index in found),
        jaccard_80=share(index >= 0.8 for index in found),
        by_program_50=share(index >= 0.5 for index in by_program),
    )
