"""English to French: real pairs, plain text, and nothing of test in training."""

import re
from collections import Counter, defaultdict

import numpy as np
import polib
import pytest

from unrolled.data.catalogue import sources
from unrolled.data.corpora import interface as module
from unrolled.data.corpora.interface import (
    Pair,
    interface,
    interface_by_program,
    key,
    pairs,
    read_catalogue,
)
from unrolled.data.interface_text import is_plain, tidy_english, tidy_french
from unrolled.data.splits import families

PARTS = ("train", "validation", "test")
BOTH = pytest.mark.parametrize("split", [interface, interface_by_program])

CATALOGUE = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "Save the file"
msgstr "Enregistrer le fichier"

#, fuzzy
msgid "Close the file"
msgstr "Ouvrir le fichier"

msgid "Never translated"
msgstr ""

msgid "The same words"
msgstr "the same, words!"

msgid "Save %(name)s now"
msgstr "Enregistrer %(name)s maintenant"

msgid "one old page"
msgid_plural "some old pages"
msgstr[0] "une vieille page"
msgstr[1] "des millions de vieilles pages"
msgstr[2] "de vieilles pages"

#~ msgid "An old string"
#~ msgstr "Une vieille chaîne"
"""


def bare(text):
    """Return the words without case or punctuation: the test's own way."""
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def test_there_are_ten_thousand_distinct_pairs_of_two_to_twenty_words():
    assert len(pairs()) >= 10_000
    assert len({(p.english, p.french) for p in pairs()}) == len(pairs())
    for pair in pairs():
        for text in (pair.english, pair.french):
            n_words = len([w for w in text.split() if re.search(r"\w", w)])
            assert 2 <= n_words <= 20, pair
        assert bare(pair.english) != bare(pair.french), pair


def test_pairs_are_plain_text():
    everything = "\n".join(f"{p.english}\n{p.french}" for p in pairs())
    assert not set(everything) & set(
        "%{}$<>_`*|\\=[]#@~^©\u00a0\u202f\t…\u2019“”\ufffd"
    )
    assert not re.search(r"&\w|https?:|www\.|\w\(\)|::|  |\n |Ã", everything)
    french = "\n".join(p.french for p in pairs())
    assert not re.search(r"[^ .;:!?][;:!?]+$|«[^ ]|[^ ]»", french, re.MULTILINE)
    english = "\n".join(p.english for p in pairs())
    assert not re.search(r" [;:!?.,]+$", english, re.MULTILINE)


def test_it_is_english_on_the_left_and_french_on_the_right():
    def rate(words, side):
        texts = [set(bare(getattr(p, side))) for p in pairs()]
        return sum(not words.isdisjoint(t) for t in texts) / len(texts)

    french = {"le", "la", "les", "de", "du", "des", "un", "une", "l", "d"}
    english = {"the", "of", "to", "and", "is", "this", "your"}
    assert rate(french, "french") > 0.6 > 0.01 > rate(french - {"la", "d"}, "english")
    assert rate(english, "english") > 0.3 > 0.01 > rate(english, "french")


def test_all_seven_programs_gave_pairs():
    programs = {program for pair in pairs() for program in pair.programs}
    assert programs == {
        *("django", "django_oscar", "indico", "jupyterlab"),
        *("sphinx", "spyder", "wagtail"),
    }
    assert len(sources()["interface"].archives) == 7


@BOTH
def test_no_string_of_a_part_is_in_another_on_either_side(split):
    for side in ("english", "french"):
        seen = {
            part: {tuple(bare(getattr(p, side))) for p in getattr(split(), part)}
            for part in PARTS
        }
        for one, other in (PARTS[:2], PARTS[1:], PARTS[::2]):
            assert not seen[one] & seen[other], (side, one, other)


def test_the_split_loses_nothing_and_is_80_10_10():
    split = interface()
    joined = [*split.train, *split.validation, *split.test]
    assert sorted(map(repr, joined)) == sorted(map(repr, pairs()))
    assert 0.08 < len(split.test) / len(pairs()) < 0.12
    assert 0.08 < len(split.validation) / len(pairs()) < 0.12


def test_the_split_by_program_holds_out_whole_programs():
    split = interface_by_program()
    assert set(split.test) == {p for p in pairs() if "wagtail" in p.programs}
    assert all("spyder" in p.programs for p in split.validation)
    assert not any({"spyder", "wagtail"} & set(p.programs) for p in split.train)
    kept = len(split.train) + len(split.validation) + len(split.test)
    assert 0.97 < kept / len(pairs()) < 1


def nearest_twins(split):
    """Return for every test pair the best Jaccard index with training's English."""
    train = [set(bare(p.english)) for p in split.train]
    holders = defaultdict(list)
    for place, words in enumerate(train):
        for word in words:
            holders[word].append(place)
    best = []
    for words in (set(bare(p.english)) for p in split.test):
        shared = Counter(place for word in words for place in holders[word])
        sizes = {place: len(words) + len(train[place]) for place in shared}
        best.append(max((n / (sizes[p] - n) for p, n in shared.items()), default=0))
    return np.array(best)


def test_near_twins_are_as_many_as_the_module_says():
    best, by_program = map(nearest_twins, (interface(), interface_by_program()))
    assert (best >= 0.8).mean() == pytest.approx(0.04, abs=0.005)
    assert (best >= 0.5).mean() == pytest.approx(0.49, abs=0.01)
    assert (by_program >= 0.8).mean() == pytest.approx(0.005, abs=0.002)
    assert (by_program >= 0.5).mean() == pytest.approx(0.22, abs=0.01)


def test_pairs_known_to_be_there():
    found = {(p.english, p.french) for p in pairs()}
    assert ("Free shipping", "Livraison gratuite") in found
    assert ("This field is empty", "Ce champ est vide") in found
    assert ("Move to:", "Déplacer vers :") in found


def test_a_catalogue_gives_what_is_translated_and_both_numbers():
    assert list(read_catalogue(polib.pofile(CATALOGUE))) == [
        ("Save the file", "Enregistrer le fichier"),
        ("one old page", "une vieille page"),
        ("some old pages", "de vieilles pages"),
    ]


class FakeArchive:
    """Members by name, in place of an archive."""

    def __init__(self, members):
        self.members = members

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def names(self):
        return list(self.members)

    def read(self, member):
        return self.members[member]


def test_only_catalogues_of_france_are_read_and_none_twice(monkeypatch):
    def text(name):
        return f'msgid ""\nmsgstr ""\n\nmsgid "Hello"\nmsgstr "{name}"\n'.encode()

    def binary(name):
        return polib.pofile(text(name).decode()).to_binary()

    members = {
        "p/locale/fr/LC_MESSAGES/a.po": text("a.po"),
        "p/locale/fr/LC_MESSAGES/a.mo": binary("a.mo"),
        "p/locale/fr_FR/LC_MESSAGES/b.mo": binary("b.mo"),
        "p/locale/fr_CA/LC_MESSAGES/c.po": text("c.po"),
        "p/locale/afr/LC_MESSAGES/d.po": text("d.po"),
        "p/locale/fr/LC_MESSAGES/e.json": b"{}",
    }
    monkeypatch.setattr(module, "open_source", lambda *names: FakeArchive(members))
    read = [entry.msgstr for c in module.catalogues("x") for entry in c]
    assert sorted(read) == ["a.po", "b.mo"]


def test_archives_without_catalogues_are_named(monkeypatch):
    monkeypatch.setattr(module, "open_source", lambda *names: FakeArchive({}))
    with pytest.raises(ValueError, match="'interface' holds no French catalogue"):
        pairs.__wrapped__()


def test_pairs_are_joined_through_any_number_of_steps():
    chain = [("a b", "A B"), ("c d", "A B."), ("C, d", "e f"), ("g h", "i j")]
    made = [Pair(english=e, french=f, programs=("p",)) for e, f in chain]
    assert families(map(module._sides, made)) == [0, 0, 0, 3]


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        ("Fichier\u00a0:", "Fichier :"),
        ("Vraiment?", "Vraiment ?"),
        ("l\u2019«\u202fami\u202f»\n  perdu…", "l'« ami » perdu..."),
        ("à 12:30 (oui!)", "à 12:30 (oui !)"),
        ("fin .", "fin."),
    ],
)
def test_french_has_one_spelling(raw, tidy):
    assert tidy_french(raw) == tidy


def test_english_has_one_spelling():
    assert tidy_english(" The “old”\n file : isn\u2019t\u00a0here …") == (
        'The "old" file: isn\'t here...'
    )


@pytest.mark.parametrize(
    "text",
    [
        *("Save %s now", "Save {x} now", "cost ${x} now", "Open the &File"),
        *("the epub_title value", "use --full here", "edit conf.py now"),
        *("all .py files", "see /tmp/x now", "see http://a.b now", "call repr() now"),
        *("a <b>bold</b> word", "read `this` now", "a **bold** word", "at&nbsp; last"),
        *("N j, Y", ": a list of things", "one", "word " * 21),
    ],
)
def test_what_is_no_prose_is_dropped(text):
    assert not is_plain(text)


def test_prose_may_have_a_slash_a_number_and_brackets():
    assert is_plain("Add/edit the old pages (e.g. C++ 2.0) & more...")


def test_a_key_forgets_case_accents_and_punctuation():
    assert key("À propos, d'Œuvres !") == key("a PROPOS d œuvres")
    assert key("publier") != key("publies")
