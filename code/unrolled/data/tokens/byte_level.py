r"""Byte pairs in GPT-2's spelling, as SmolLM2 has them, from tables that are given.

What :mod:`unrolled.data.tokens.bpe` does, with the habits of others: tokens come in any
order and are spelt in an alphabet of 256 printable characters, one for each byte (``Ġ``
is a space); an English ending such as ``'ll`` is a piece by itself; and each digit
stands alone, even apart from the space before it. The rank of a merge is its place in
the table, so there are no ties. A text is encoded as a special token only where that is
allowed: :mod:`unrolled.data.tokens.specials`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from unrolled.data.tokens.bpe import N_BYTES, BytePairs, to_bytes
from unrolled.data.tokens.specials import split_specials
from unrolled.data.tokens.vocabulary import check_ids, from_json, number, to_json

PIECES = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)"  # an ending
    r"| ?[^\W\d_]+"  # a word
    r"| ?(?:[^\w\s]|_)+"  # punctuation and symbols
    r"|\s+(?!\S)|\s+"  # white space: less one last space, before something
)


def _alphabet() -> dict[str, int]:
    """Return the byte of each character of GPT-2's alphabet.

    A byte that prints in Latin-1 is its own character; the others follow from U+0100.
    """
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(N_BYTES) if byte not in shown]
    return {chr(byte): byte for byte in sorted(shown)} | {
        chr(N_BYTES + place): byte for place, byte in enumerate(hidden)
    }


ALPHABET = _alphabet()


def _bytes(token: str) -> bytes:
    return bytes(ALPHABET[c] for c in token)


def split_digits(text: str) -> Iterator[str]:
    """Yield the pieces of a text, which no token crosses."""
    start = 0
    for place, c in enumerate(text):
        if unicodedata.category(c).startswith("N"):
            yield from PIECES.findall(text[start:place])
            yield c
            start = place + 1
    yield from PIECES.findall(text[start:])


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteLevel:
    """Tokens in their order, of which the first are special, and merges by rank.

    A byte that has no token of its own is encoded as ``unknown``.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    n_specials: int
    unknown: int = 0
    ids: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _pairs: BytePairs = field(init=False, repr=False, compare=False)
    _numbers: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", number(self.tokens))
        merges = tuple((_bytes(left), _bytes(right)) for left, right in self.merges)
        pairs = BytePairs(merges=merges)
        plain = self.tokens[self.n_specials :]
        known = {_bytes(token): i for i, token in enumerate(plain, self.n_specials)}
        found = (known.get(token, self.unknown) for token in _spelt(pairs))
        object.__setattr__(self, "_pairs", pairs)
        object.__setattr__(self, "_numbers", tuple(found))

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, *, allowed_special: Collection[str] = ()) -> list[int]:
        """Return the ids of a text: of each piece, its bytes after all merges.

        What spells a special token is text too, unless that token is in
        ``allowed_special``, or this is "all": then it is the id of the token.
        """
        segments, numbers = self._pairs._segments, self._numbers
        specials, found = self.tokens[: self.n_specials], []
        for part, special in split_specials(text, specials, allowed_special):
            if special:
                found.append(self.ids[part])
            else:
                found += [numbers[i] for p in split_digits(part) for i in segments[p]]
        return found

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """Return the text of the ids; special tokens are left out, or spelt if asked.

        What is no UTF-8, such as half a character, is shown as U+FFFD.
        """
        ids = list(ids)
        check_ids(ids, len(self))
        n, n_skipped = self.n_specials, self.n_specials if skip_special_tokens else 0
        spelt = (
            _bytes(self.tokens[i]) if i >= n else to_bytes(self.tokens[i])
            for i in ids
            if i >= n_skipped
        )
        return b"".join(spelt).decode("utf-8", "replace")

    def to_json(self) -> str:
        """Return this tokenizer as JSON."""
        return to_json(
            "byte level",
            tokens=self.tokens,
            merges=self.merges,
            n_specials=self.n_specials,
            unknown=self.unknown,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the tokenizer that ``to_json`` wrote."""
        values = from_json(text, "byte level")
        merges = tuple((left, right) for left, right in values.pop("merges"))
        return cls(tokens=tuple(values.pop("tokens")), merges=merges, **values)


def _spelt(pairs: BytePairs) -> tuple[bytes, ...]:
    """Return the bytes of every token."""
    return tuple(token for token in pairs.tokens if isinstance(token, bytes))
