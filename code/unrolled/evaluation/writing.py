"""What a model's texts show before anybody reads them: words, repetition, variety."""

import re
from collections import Counter
from collections.abc import Sequence, Set


def words_of(text: str) -> list[str]:
    """Return the words of ``text`` in lower case: its runs of the letters a to z."""
    return re.findall(r"[a-z]+", text.lower())


def known_words(texts: Sequence[str], vocabulary: Set[str]) -> float:
    """Return which share of all words of ``texts`` stands in ``vocabulary``.

    The last word of each text is left out: it may have been cut off.
    """
    words = [word for text in texts for word in words_of(text)[:-1]]
    if not words:
        raise ValueError(f"texts has no words to look up: {list(texts)[:3]}")
    return sum(word in vocabulary for word in words) / len(words)


def commonest_word(texts: Sequence[str]) -> tuple[str, float]:
    """Return the most frequent word of ``texts``, and its share of all words.

    It grows as texts lose variety, also where no long run is repeated.
    """
    counts = Counter(word for text in texts for word in words_of(text))
    if not counts:
        raise ValueError(f"texts has no words to count: {list(texts)[:3]}")
    word, found = counts.most_common(1)[0]
    return word, found / counts.total()


def repeated_runs(texts: Sequence[str], n: int = 30) -> float:
    """Return which share of all runs of ``n`` characters came before in their text."""
    runs = [
        Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts
    ]
    total = sum(found.total() for found in runs)
    if not total:
        raise ValueError(f"no text has a run of {n=} characters")
    return 1 - sum(len(found) for found in runs) / total


def period(ids: Sequence[int]) -> int | None:
    """Return the least period of the later half of ``ids``; None if it has none.

    A period is shown by the later half's agreeing with what stands so many places
    before, so that it is at most half as long as ``ids``.
    """
    half = len(ids) // 2
    later = list(ids[half:])
    for step in range(1, half + 1):
        if later == list(ids[half - step : len(ids) - step]):
            return step
    return None
