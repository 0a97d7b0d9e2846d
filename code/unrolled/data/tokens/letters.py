"""Shannon's alphabet: the space and 26 letters, and nothing else.

Shannon (1951) dropped case and punctuation, so that whoever guesses the next letter has
27 choices. Every letter of it is one byte, so bits of a letter are bits of a byte.
"""

import re

from unrolled.data.tokens.characters import Characters

#: Token 0 is the space, token 1 is "a".
LETTERS = Characters(characters=" abcdefghijklmnopqrstuvwxyz")
_OTHER = re.compile(r"[^a-z]+")
_MARKS = re.compile(r"['\u2019\[\]]")


def to_letters(text: str) -> str:
    """Return ``text`` in lower case, with one space for all that is no letter.

    An apostrophe and the brackets of an editor go without a trace: "LORD's" is "lords".
    """
    return _OTHER.sub(" ", _MARKS.sub("", text).lower()).strip()
