"""English to French, as people translated the words of seven programs.

The pairs are read out of gettext catalogues: menus, buttons, hints and error messages
of Django, Oscar, Indico, JupyterLab, Sphinx, Spyder and Wagtail, each with what its
volunteers wrote in French. (A catalogue does not say whether a translator leant on a
machine.) Kept are pairs of 2 to 20 words on either side in plain text. Dropped are
what is fuzzy, obsolete or left in English, and every string with a placeholder,
markup, an accelerator, an address or code in it.

Both sides are brought to one spelling: NFC, single plain spaces, straight quotes and
three dots for an ellipsis. French keeps its guillemets and has a plain space inside
them and before ; : ! and ?, where its translators wrote a no-break space, a plain one
or none; English has no space there.

Many strings are templates ("Add a page", "Add a role"), so that a test pair often has
a near twin in training. For 4 % of the test pairs of `interface` an English string of
training has four fifths of the words in common (Jaccard index), and for 49 % half of
them; for `interface_by_program` it is 0.5 % and 22 %. The second is the harder
division and tells more.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import polib

from unrolled.data.fetch.sources import SOURCES
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS, Splits, split_families

SHORTEST, LONGEST = 2, 20
VALIDATION_PROGRAM, TEST_PROGRAM = "spyder", "wagtail"

_CATALOGUE = re.compile(r"(?:.*/)?fr(?:_FR)?/LC_MESSAGES/[^/]+\.(?:po|mo)")
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """An English string, its French translation, and the programs that say so."""

    english: str
    french: str
    programs: tuple[str, ...]


def key(text: str) -> str:
    """Return the words of ``text`` without case, accents or punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in letters if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", bare))


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


def translations(entry: polib.POEntry | polib.MOEntry) -> Iterator[tuple[str, str]]:
    """Yield what an entry translates: one pair, or the singular and the plural."""
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    # French has one form for 0 and 1; the last form is the common plural, and some
    # catalogues have a third between them, for millions
    forms = entry.msgstr_plural
    yield entry.msgid, forms[min(forms)]
    yield entry.msgid_plural, forms[max(forms)]


def catalogues(filename: str) -> Iterator[polib.POFile | polib.MOFile]:
    """Yield the French catalogues of an archive; a compiled one if it stands alone."""
    with open_source("interface", filename) as archive:
        names = set(archive.names())
        for name in sorted(filter(_CATALOGUE.fullmatch, names)):
            if name.endswith(".po"):
                yield polib.pofile(archive.read(name).decode("utf-8"))
            elif name.removesuffix("mo") + "po" not in names:
                compiled = archive.read(name)  # polib's stub knows file names only
                yield polib.mofile(compiled)  # type: ignore[call-overload]


def read_catalogue(
    catalogue: polib.POFile | polib.MOFile,
) -> Iterator[tuple[str, str]]:
    """Yield (English, French) for all of a catalogue that is fit to learn from."""
    for entry in catalogue.translated_entries():  # neither fuzzy nor obsolete
        for source, target in translations(entry):
            english, french = tidy_english(source), tidy_french(target)
            if is_plain(english) and is_plain(french) and key(english) != key(french):
                yield english, french


@cache
def pairs() -> tuple[Pair, ...]:
    """Return every distinct pair, before any splitting, in the catalogues' order."""
    programs: dict[tuple[str, str], dict[str, None]] = {}
    for archive in SOURCES["interface"].archives:
        program = archive.project.removesuffix("_language_pack_fr_fr")
        for catalogue in catalogues(archive.filename):
            for pair in read_catalogue(catalogue):
                programs.setdefault(pair, {})[program] = None
    if not programs:
        raise ValueError("source 'interface' holds no French catalogue: fetch it anew")
    return tuple(
        Pair(english=english, french=french, programs=tuple(said_by))
        for (english, french), said_by in programs.items()
    )


def _sides(pair: Pair) -> tuple[str, str]:
    """Return the two keys that no other part may hold."""
    return f"en {key(pair.english)}", f"fr {key(pair.french)}"


@cache
def interface() -> Splits[tuple[Pair, ...]]:
    """Return the pairs, divided so that no part shares a string with another.

    Pairs with the same English or the same French (`key`) form a group, through any
    number of steps, and a group falls into one part as a whole: about 80 / 10 / 10.
    """
    return split_families(pairs(), name=lambda pair: _sides(pair)[0], keys=_sides)


@cache
def interface_by_program() -> Splits[tuple[Pair, ...]]:
    """Return the pairs divided by program: Wagtail is the test, Spyder validation.

    A pair that shares its English or its French with a pair of the test is left out
    of the other two, and one that shares with validation is left out of training.
    """
    rest, parts = pairs(), {}
    for part, program in (("test", TEST_PROGRAM), ("validation", VALIDATION_PROGRAM)):
        parts[part] = tuple(pair for pair in rest if program in pair.programs)
        taken = {side for pair in parts[part] for side in _sides(pair)}
        rest = tuple(pair for pair in rest if taken.isdisjoint(_sides(pair)))
    parts["train"] = rest
    return Splits(**{part: parts[part] for part in PARTS})
