r"""What BERT (uncased) does to a text before it looks for pieces of words.

Control, format and private characters go, white space becomes a space, and ideographs
stand alone, for Chinese has no spaces. Then letters lose their accents and capitals:
decomposed (NFD), without their non-spacing marks, in lower case one by one. Last,
every punctuation mark stands alone; among ASCII all symbols count as punctuation.

A character's category comes from Python's Unicode data. The reference has the data of
2015 (Unicode 8), so some hundred later marks and punctuation signs of rare scripts are
dropped or set apart here and were not there. No vocabulary of BERT holds one of them.
"""

import unicodedata
from collections.abc import Callable

_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),  # BERT's own table says so, though the block is from 0x2B820
    (0x2F800, 0x2FA1F),
)


class _Each(dict[int, str]):
    """A table for ``str.translate`` that is filled as characters are met."""

    def __init__(self, replace: Callable[[str], str]) -> None:
        self.replace = replace

    def __missing__(self, code: int) -> str:
        self[code] = self.replace(chr(code))
        return self[code]


def _clean(c: str) -> str:
    """Return a character, a space for white space, nothing for a control character."""
    if c in "\t\n\r":
        return " "
    if c == "\ufffd" or unicodedata.category(c) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if c.isspace():
        return " "
    if any(first <= ord(c) <= last for first, last in _IDEOGRAPHS):
        return f" {c} "
    return c


def _is_punctuation(c: str) -> bool:
    """Tell whether a character is punctuation, or any printable symbol of ASCII."""
    if c.isascii():
        return c.isprintable() and not c.isalnum() and c != " "
    return unicodedata.category(c).startswith("P")


def _fold(c: str) -> str:
    """Return a character in lower case, nothing for an accent, punctuation apart."""
    if unicodedata.category(c) == "Mn":
        return ""
    return f" {c} " if _is_punctuation(c) else c.lower()


_CLEAN, _FOLD = _Each(_clean), _Each(_fold)


def split_bert(text: str) -> list[str]:
    """Return the plain words and punctuation marks of a text, as BERT sees them."""
    clean = text.translate(_CLEAN)
    return unicodedata.normalize("NFD", clean).translate(_FOLD).split()
