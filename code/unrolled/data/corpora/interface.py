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

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source
from unrolled.data.interface_text import is_plain, tidy_english, tidy_french
from unrolled.data.splits import PARTS, Splits, split_families

SOURCE = Source(
    name="interface",
    archives=pinned(
        """django-5.2.19-py3-none-any.whl 8319631
        5965d974a5218a2b68a11dd1276434707f23886525c23f0598eccedaf4f4ca00
        django_oscar-4.2.1-py3-none-any.whl 8984805
        adbb95ea0130859c204cc6fb221052d6d437ecbaa90800e8418a809f72645e9c
        indico-3.2.9-py3-none-any.whl 30004029
        194d2e31ccaabd2b9af7809e67d60d942faee35a6b4de36f0c2c280a32ed84c3
        jupyterlab_language_pack_fr_fr-4.5.post3-py2.py3-none-any.whl 222292
        9f6ce9d4e64b367ff084a2313af29d6ad8a02d1d08000f3e6c53e2856fa9a11f
        sphinx-9.0.4-py3-none-any.whl 3917713
        5bebc595a5e943ea248b99c13814c1c5e10b3ece718976824ffa7959ff95fffb
        spyder-6.1.8-py3-none-any.whl 14481595
        4da836742a7138c93392a8a0bd1a5ff40002cf92d217ef0e7bed11b522322f90
        wagtail-8.0.1-py3-none-any.whl 9841588
        1e6ad5c7891a54efce1400e168298b5a2cc343b642cee89c31bf5ec30c98b26c"""
    ),
    licence=(
        "BSD-3-Clause (Django, Oscar, JupyterLab, Wagtail), BSD-2-Clause "
        "(Sphinx), MIT (Indico, Spyder)"
    ),
    citation=(
        "The French translators of Django, django-oscar, Indico, JupyterLab, "
        "Sphinx, Spyder and Wagtail"
    ),
)
VALIDATION_PROGRAM, TEST_PROGRAM = "spyder", "wagtail"

_CATALOGUE = re.compile(r"(?:.*/)?fr(?:_FR)?/LC_MESSAGES/[^/]+\.(?:po|mo)")


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
    with open_source(SOURCE, filename) as archive:
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
    for archive in SOURCE.archives:
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
