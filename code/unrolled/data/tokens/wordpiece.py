r"""WordPiece, the tokenizer of BERT and MiniLM, from a vocabulary that is given.

Each word (see :mod:`unrolled.data.tokens.bert_text`) is cut from the left into the
longest pieces that the vocabulary has; a piece that goes on with a word begins with
``##``. A word that cannot be cut so is ``[UNK]`` as a whole. A text is ``[CLS]`` pieces
``[SEP]``; two texts are ``[CLS]`` first ``[SEP]`` second ``[SEP]``, and *types* say 0
up to the first ``[SEP]`` and 1 after it. As in the reference, the special tokens may be
written in a text: ``Paris is the [MASK] of France.``
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from unrolled.data.tokens.bert_text import split_bert
from unrolled.data.tokens.vocabulary import check_ids, from_json, number, to_json

SPECIALS = PAD, UNK, CLS, SEP, MASK = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MAX_WORD = 100  # characters; a longer word is unknown
GOES_ON = "##"

_WRITTEN = re.compile("(" + "|".join(map(re.escape, SPECIALS)) + ")")


def share(n_first: int, n_second: int, room: int) -> tuple[int, int]:
    """Return how many pieces of two texts to keep: the longer one gives way first."""
    if n_first + n_second <= room:
        return n_first, n_second
    if n_first <= n_second:
        n_first = min(n_first, room // 2)
        return n_first, room - n_first
    n_second = min(n_second, room // 2)
    return room - n_second, n_second


@dataclass(frozen=True, kw_only=True, slots=True)
class WordPiece:
    """The vocabulary of a BERT in its order, as in the lines of its ``vocab.txt``."""

    tokens: tuple[str, ...]
    ids: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", number(self.tokens))
        for special in SPECIALS:
            if special not in self.ids:
                raise ValueError(f"tokens must hold the special token {special!r}")

    def __len__(self) -> int:
        return len(self.tokens)

    def cut(self, word: str) -> list[str]:
        """Return the longest pieces of a word from the left, or ``[UNK]`` alone."""
        if len(word) > MAX_WORD:
            return [UNK]
        pieces, start = [], 0
        while start < len(word):
            mark = GOES_ON if start else ""
            ends = range(len(word), start, -1)
            tries = (mark + word[start:end] for end in ends)
            piece = next((piece for piece in tries if piece in self.ids), None)
            if piece is None:
                return [UNK]
            pieces.append(piece)
            start += len(piece) - len(mark)
        return pieces

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text, without ``[CLS]`` and ``[SEP]``."""
        pieces = []
        for part in _WRITTEN.split(text):
            if part in SPECIALS:
                pieces.append(part)
            else:
                for word in split_bert(part):
                    pieces += self.cut(word)
        return pieces

    def encode(self, text: str, *, max_length: int | None = None) -> list[int]:
        """Return the ids of ``[CLS]`` text ``[SEP]``, at most ``max_length``."""
        pieces = self.split(text)
        if max_length is not None:
            pieces = pieces[: _room(max_length, 2)]
        return [self.ids[piece] for piece in (CLS, *pieces, SEP)]

    def encode_pair(
        self, first: str, second: str, *, max_length: int | None = None
    ) -> tuple[list[int], list[int]]:
        """Return ids and types of two texts, at most ``max_length`` of each."""
        a, b = self.split(first), self.split(second)
        if max_length is not None:
            n_a, n_b = share(len(a), len(b), _room(max_length, 3))
            a, b = a[:n_a], b[:n_b]
        ids = [self.ids[piece] for piece in (CLS, *a, SEP, *b, SEP)]
        return ids, [0] * (len(a) + 2) + [1] * (len(b) + 1)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words of the ids, spaced and without special tokens but [UNK].

        Not the text: case, accents and spaces were lost before the ids were made.
        """
        ids = list(ids)
        check_ids(ids, len(self))
        pieces = [self.tokens[i] for i in ids]
        spaced = " ".join(p for p in pieces if p not in SPECIALS or p == UNK)
        return spaced.replace(f" {GOES_ON}", "")

    def to_json(self) -> str:
        """Return this tokenizer as JSON."""
        return to_json("wordpiece", tokens=self.tokens)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the tokenizer that ``to_json`` wrote."""
        return cls(tokens=tuple(from_json(text, "wordpiece")["tokens"]))


def _room(max_length: int, n_specials: int) -> int:
    """Return the room for pieces beside the special tokens."""
    if max_length < n_specials:
        raise ValueError(
            f"{max_length=} must be at least {n_specials}, for the specials"
        )
    return max_length - n_specials
