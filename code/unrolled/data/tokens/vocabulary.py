"""What every tokenizer here shares: special tokens, look-ups and the form on the disk.

A tokenizer is a frozen value with ``encode(text) -> list[int]``,
``decode(ids) -> str``, ``tokens`` (the token of an id), ``ids`` (the id of a token) and
a length. Special tokens come first, in the order given, and no text is encoded as one:
``<eos>`` in a text is five characters. Decoding leaves them out, except ``<unk>``,
which stands for something that was there. (Byte pairs never need it, and leave it out
too; they alone, if asked, find special tokens in a text, and spell them. WordPiece
keeps the ways of BERT.)
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

SPECIALS = PAD, UNK, BOS, EOS = ("<pad>", "<unk>", "<bos>", "<eos>")


def number(tokens: Sequence[T]) -> dict[T, int]:
    """Return the id of every token, which is its place; no token may come twice."""
    ids = {token: place for place, token in enumerate(tokens)}
    if len(ids) < len(tokens):
        twice = next(t for place, t in enumerate(tokens) if ids[t] != place)
        raise ValueError(f"token {twice!r} comes twice: every token must be there once")
    return ids


def find(pieces: Sequence[str], ids: Mapping[str, int]) -> list[int]:
    """Return the id of every piece; without ``<unk>``, unknown ones are refused."""
    try:
        return list(map(ids.__getitem__, pieces))
    except KeyError as error:
        if UNK in ids:
            unknown = ids[UNK]
            return [ids.get(piece, unknown) for piece in pieces]
        piece = error.args[0]
        raise ValueError(
            f"{piece!r} (piece {pieces.index(piece)} of the text) is not in the "
            f"vocabulary of {len(ids)} tokens: with {UNK!r} among the specials it "
            "would be encoded as unknown"
        ) from None


def check_ids(ids: Sequence[int], n_tokens: int) -> None:
    """Refuse an id that no token has, a negative one above all."""
    if len(ids) and not 0 <= min(ids) <= max(ids) < n_tokens:
        wrong = next(i for i in ids if not 0 <= i < n_tokens)
        raise ValueError(f"id={wrong} must be between 0 and {n_tokens - 1}")


def spell(ids: Iterable[int], tokens: Sequence[str], n_specials: int) -> list[str]:
    """Return the tokens of the ids, without the specials other than ``<unk>``."""
    ids = list(ids)
    check_ids(ids, len(tokens))
    return [tokens[i] for i in ids if i >= n_specials or tokens[i] == UNK]


def to_json(kind: str, **values: object) -> str:
    """Return a tokenizer's values as JSON, in plain ASCII."""
    return json.dumps({"kind": kind} | values)


def from_json(text: str, kind: str) -> dict[str, Any]:
    """Return the values of a tokenizer from JSON, if it is of this kind."""
    values = json.loads(text)
    found = values.pop("kind", None) if isinstance(values, dict) else None
    if found != kind:
        raise ValueError(f"kind={found!r} must be {kind!r}: this JSON is another thing")
    return values
