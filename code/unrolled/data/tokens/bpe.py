r"""Byte-pair encoding: any text as tokens that are pieces of words.

A text is first cut into *pieces*, which no token crosses: a word with the space before
it and its apostrophes (``don't``), a number, a run of punctuation, a run of white space
(less one last space, which goes with the word after it). A piece is a string of UTF-8
bytes, and the bytes are the first 256 tokens. Then the *merges* that were learnt are
applied in their order: a merge makes one token of two neighbours. As every byte is a
token, nothing is unknown, and decoding gives back the very text. That goes for lone
surrogates too, which are no valid Unicode but may be in a Python string: each is its
three bytes. Python's ``re`` counts combining marks among the punctuation.

Encoding knows no ties: the rank of a merge is its place among the merges, so no two
have the same, and one pair that comes several times in a piece is merged from the left:
``aaa`` becomes ``aa`` and ``a``. Learning does, and the rule for them is in
:mod:`unrolled.data.tokens.bpe_training`. A text is encoded as a special token only
where that is allowed: :mod:`unrolled.data.tokens.specials`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Self, TypeVar

from unrolled.data.tokens.specials import split_specials
from unrolled.data.tokens.vocabulary import check_ids, from_json, number, to_json

T = TypeVar("T")
Merges = tuple[tuple[bytes, bytes], ...]

N_BYTES = 256
MAX_CACHED = 1 << 17  # pieces of text whose tokens an encoder remembers

PIECES = re.compile(
    r" ?[^\W\d_]+(?:['\u2019][^\W\d_]+)*"  # a word
    r"| ?\d+"  # a number
    r"| ?(?:[^\w\s]|_)+"  # punctuation and symbols
    r"|\s+?(?= ?\S)|\s+"  # white space, before something and at the end
)


def to_bytes(piece: str) -> bytes:
    """Return the UTF-8 bytes of a piece, lone surrogates included."""
    return piece.encode("utf-8", "surrogatepass")


def merge(symbols: Sequence[T], left: T, right: T, both: T) -> list[T]:
    """Put ``both`` for each ``left`` followed by ``right``, beginning from the left."""
    found, i, last = [], 0, len(symbols) - 1
    while i <= last:
        if i < last and symbols[i] == left and symbols[i + 1] == right:
            found.append(both)
            i += 2
        else:
            found.append(symbols[i])
            i += 1
    return found


class _Segments(dict[str, tuple[int, ...]]):
    """The tokens of every piece of text met so far, found when first asked for."""

    def __init__(self, made: Mapping[tuple[int, int], int], shift: int) -> None:
        self.made = made  # the number that two neighbours become; later merges, higher
        self.shift = shift

    def __missing__(self, piece: str) -> tuple[int, ...]:
        symbols = list(to_bytes(piece))
        later = len(self.made) + N_BYTES
        while len(symbols) > 1:
            both, pair = min((self.made.get(p, later), p) for p in pairwise(symbols))
            if both == later:
                break
            symbols = merge(symbols, *pair, both)
        found = tuple(symbol + self.shift for symbol in symbols)
        if len(self) < MAX_CACHED:
            self[piece] = found
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class BytePairs:
    """The special tokens, the 256 bytes, and a token for each merge, in their order."""

    merges: Merges
    specials: tuple[str, ...] = ()
    tokens: tuple[str | bytes, ...] = field(init=False, repr=False, compare=False)
    ids: Mapping[str | bytes, int] = field(init=False, repr=False, compare=False)
    _segments: _Segments = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {bytes([byte]): byte for byte in range(N_BYTES)}
        made = {}
        for new, (left, right) in enumerate(self.merges, start=N_BYTES):
            for part in (left, right):
                if part not in numbers:
                    raise ValueError(
                        f"merge {(left, right)!r} uses {part!r}, which must be a byte "
                        "or come from a merge before it"
                    )
            made[numbers[left], numbers[right]] = numbers[left + right] = new
        every_byte = (bytes([byte]) for byte in range(N_BYTES))
        merged = (left + right for left, right in self.merges)
        tokens = (*self.specials, *every_byte, *merged)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "ids", number(tokens))
        object.__setattr__(self, "_segments", _Segments(made, len(self.specials)))

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, *, allowed_special: Collection[str] = ()) -> list[int]:
        """Return the ids of a text: of each piece, its bytes after all merges.

        What spells a special token is text too, unless that token is in
        ``allowed_special``, or this is "all": then it is the id of the token.
        """
        found: list[int] = []
        for part, special in split_specials(text, self.specials, allowed_special):
            if special:
                found.append(self.ids[part])
            else:
                pieces = map(self._segments.__getitem__, PIECES.findall(part))
                found.extend(chain.from_iterable(pieces))
        return found

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """Return the text of the ids; special tokens are left out, or spelt if asked.

        A model may end in the middle of a character or write what is no UTF-8; then
        such bytes are shown as U+FFFD.
        """
        ids = list(ids)
        check_ids(ids, len(self))
        n_skipped = len(self.specials) if skip_special_tokens else 0
        tokens = (self.tokens[i] for i in ids if i >= n_skipped)
        spelt = b"".join(t if isinstance(t, bytes) else to_bytes(t) for t in tokens)
        try:
            return spelt.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return spelt.decode("utf-8", "replace")

    def to_json(self) -> str:
        """Return this tokenizer as JSON, each byte written as the character U+00xx."""
        merges = [[part.decode("latin-1") for part in pair] for pair in self.merges]
        return to_json("byte pairs", merges=merges, specials=self.specials)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the tokenizer that ``to_json`` wrote."""
        values = from_json(text, "byte pairs")
        merges = [
            (a.encode("latin-1"), b.encode("latin-1")) for a, b in values["merges"]
        ]
        return cls(merges=tuple(merges), specials=tuple(values["specials"]))


def replay(
    text: str, merges: Iterable[tuple[bytes, bytes]]
) -> Iterator[list[list[bytes]]]:
    """Yield the pieces of a text as bytes, and again after each merge in turn."""
    pieces = [[bytes([byte]) for byte in to_bytes(p)] for p in PIECES.findall(text)]
    yield pieces
    for left, right in merges:
        pieces = [merge(piece, left, right, left + right) for piece in pieces]
        yield pieces
