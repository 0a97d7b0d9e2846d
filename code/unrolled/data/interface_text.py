"""Strings of programs, English and French: one spelling, and which are prose."""

import re
import unicodedata

SHORTEST, LONGEST = 2, 20
_SAME = str.maketrans("\u2018\u2019\u00b4\u201c\u201d\u2013\u2014", "'''\"\"--") | {
    ord("\u2026"): "..."
}
_LETTER = "A-Za-zÀ-ÖØ-öø-ÿŒœŸ0-9"
_PLAIN = re.compile(rf"""[{_LETTER}"'«(][{_LETTER} .,;:!?'"()/&+«»-]+""")
_CODE = re.compile(
    r"""&\w               # an accelerator: &File
      | \w{2,}\.[A-Za-z]  # a file, a host or a dotted name: conf.py
      | (?:^|[\s"'(])[./-]+\w  # an option, a path or an ending: --full, /tmp, .py
      | \w\ ?\(\)         # a call: repr()
      | ::|://|//
      | ^\W*(?:[A-Za-z]\W+)+[A-Za-z]\W*$  # a date's pattern: N j, Y
    """,
    re.VERBOSE,
)


def _one_spelling(text: str) -> str:
    """Return ``text`` with plain spaces, quotes and dots."""
    plain = unicodedata.normalize("NFC", text).translate(_SAME)
    return " ".join(plain.split())


def tidy_english(text: str) -> str:
    """Return an English string in one spelling: no space before punctuation."""
    return re.sub(r" +([.,;:!?]+)(?=[ )\"']|$)", r"\1", _one_spelling(text))


def tidy_french(text: str) -> str:
    """Return a French string in one spelling: a space before ; : ! ? and in « »."""
    spaced = re.sub(r" *([;:!?]+)(?=[ )\"'»]|$)", r" \1", _one_spelling(text))
    spaced = re.sub(r" +([.,]+)(?=[ )\"']|$)", r"\1", spaced)
    return re.sub(r" *»", " »", re.sub(r"« *", "« ", spaced))


def is_plain(text: str) -> bool:
    """Say whether ``text`` is 2 to 20 words of prose, with no code among them."""
    n_words = sum(any(c.isalnum() for c in word) for word in text.split())
    return (
        SHORTEST <= n_words <= LONGEST
        and _PLAIN.fullmatch(text) is not None
        and _CODE.search(text) is None
    )
