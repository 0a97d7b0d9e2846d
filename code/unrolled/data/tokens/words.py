r"""Words as tokens, by how often they come, with a token for all the others.

A *word* is a run of letters and digits. It keeps an apostrophe between letters
(``don't``, ``aujourd'hui``) and a point or comma between digits (``1,461``, ``3.5``). A
French elision is a word of its own (``l'``, ``qu'``), for the next word is worth
knowing by itself. Every other character that is no space is a token: punctuation,
hyphens, symbols, emoji. Text is put in Unicode's form NFC first, so that é is one
letter however it was typed; marks that have no composed form (as in Hindi) stand alone.

This is **not lossless**: spaces are not kept, and rare words become ``<unk>``. What
does hold: a decoded text without unknowns splits into the same words again.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from unrolled.data.tokens.vocabulary import (
    SPECIALS,
    find,
    from_json,
    number,
    spell,
    to_json,
)

_ELISION = r"(?i:[^\W\d_]*qu|[cdjlmnst])['\u2019]"
_WORD = r"[^\W_]+(?:(?:['\u2019]|(?<=\d)[.,](?=\d))[^\W_]+)*"
_PIECE = re.compile(rf"{_ELISION}(?=[^\W_])|{_WORD}|\S")
_ELIDED = re.compile(_ELISION)


def split_words(text: str) -> list[str]:
    """Return the words and the punctuation of a text, in order."""
    return _PIECE.findall(unicodedata.normalize("NFC", text))


def join_words(words: Iterable[str]) -> str:
    """Return words with one space between, and none after an elision."""
    return "".join(w if _ELIDED.fullmatch(w) else f"{w} " for w in words).rstrip(" ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """One token for each known word, after the special tokens."""

    words: tuple[str, ...]
    specials: tuple[str, ...] = SPECIALS
    tokens: tuple[str, ...] = field(init=False, repr=False, compare=False)
    ids: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for special in self.specials:
            if split_words(special) == [special]:
                raise ValueError(
                    f"{special=} is a word that a text may hold: write '<{special}>'"
                )
        tokens = (*self.specials, *self.words)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "ids", number(tokens))

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        specials: Iterable[str] = SPECIALS,
    ) -> Self:
        """Return the tokenizer of the words that come at least ``min_count`` times.

        The most frequent come first, equally frequent ones in code-point order. The
        rarest go if there would be more than ``max_size`` tokens, specials included.
        """
        specials = tuple(specials)
        if isinstance(texts, str):
            raise ValueError(
                f"texts={texts[:20]!r} must be several texts, as in [text]"
            )
        if min_count < 1:
            raise ValueError(f"{min_count=} must be at least 1")
        if max_size is not None and max_size < len(specials):
            raise ValueError(
                f"{max_size=} must be at least {len(specials)}, the number of specials"
            )
        counts = Counter(word for text in texts for word in split_words(text))
        known = sorted((-n, word) for word, n in counts.items() if n >= min_count)
        room = None if max_size is None else max_size - len(specials)
        return cls(words=tuple(word for _, word in known[:room]), specials=specials)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Return the id of every word; unknown ones are ``<unk>``, if that is there."""
        return find(split_words(text), self.ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words, spaced, without the specials other than ``<unk>``."""
        return join_words(spell(ids, self.tokens, len(self.specials)))

    def to_json(self) -> str:
        """Return this tokenizer as JSON."""
        return to_json("words", words=self.words, specials=self.specials)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the tokenizer that ``to_json`` wrote."""
        values = from_json(text, "words")
        return cls(words=tuple(values["words"]), specials=tuple(values["specials"]))
