"""Gold tags: counts by a second parser, articles on one side."""

import re
import zipfile
from collections import Counter

import pytest

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import tags as module
from unrolled.data.corpora.tags import MEMBER, TAGS, sentence, tags
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS


@pytest.fixture(scope="module")
def found():
    return {one.id: one for part in PARTS for one in getattr(tags(), part)}


@pytest.fixture(scope="module")
def raw():
    with open_source(find_source("tags")) as archive:
        return archive.read(MEMBER).decode("utf-8")


def test_all_sentences_words_and_tags_are_there(found):
    assert len(found) == 8420
    assert sum(len(one.words) for one in found.values()) == 168_400
    assert {tag for one in found.values() for tag in one.tags} == set(TAGS)
    assert len(TAGS) == 16
    assert all(len(one.words) == len(one.tags) for one in found.values())


def test_words_and_tags_equal_those_of_a_second_parser(found, raw):
    lines = re.findall(r"^\d+\t([^\t]+)\t[^\t]*\t([A-Z]+)\t", raw, re.MULTILINE)
    ours = Counter(
        pair for one in found.values() for pair in zip(one.words, one.tags, strict=True)
    )
    assert Counter(lines) == ours
    names = re.findall(r"^# sent_id = (\S+)$", raw, re.MULTILINE)
    assert set(names) == found.keys()


def test_words_and_contractions_spell_the_text_of_the_comment(found, raw):
    # where a range covers words, the text has the range's form; 75 texts have slips
    same = 0
    for block in raw.strip().split("\n\n"):
        name, text = re.search(r"sent_id = (\S+)\n# text = (.*)", block).groups()
        words = dict(enumerate(found[name].words, 1))
        for first, last, form in re.findall(r"(?m)^(\d+)-(\d+)\t(\S+)", block):
            words |= dict.fromkeys(range(int(first), int(last) + 1), "")
            words[int(first)] = form
        same += "".join(words.values()) == "".join(text.split())
    assert same == 8420 - 75


def test_sentences_read_as_they_do_in_the_file(found):
    first = found["FOLHA_DOC000001_SENT003"]
    assert " ".join(first.words) == "Eu sei que tô lascado , todo dia tem um processo ."
    assert first.tags[:5] == ("PRON", "VERB", "SCONJ", "AUX", "ADJ")
    split = found["FOLHA_DOC003152_SENT003"]  # "às bancas no próximo domingo"
    assert split.words[2:8] == ("a", "as", "bancas", "em", "o", "próximo")
    assert split.tags[2:8] == ("ADP", "DET", "NOUN", "ADP", "DET", "ADJ")
    assert split.document == "FOLHA_DOC003152"


def test_articles_and_sentences_lie_in_one_part():
    for part_of in (
        lambda one: one.document,
        lambda one: "".join(filter(str.isalnum, "".join(one.words).lower())),
    ):
        parts = [{part_of(one) for one in getattr(tags(), part)} for part in PARTS]
        assert sum(map(len, parts)) == len(set.union(*parts))


def test_no_eight_words_in_a_row_lie_in_two_parts():
    seen = [
        {
            " ".join(words[i : i + 8])
            for one in getattr(tags(), part)
            for words in [[w.lower() for w in one.words if w[0].isalnum()]]
            for i in range(len(words) - 7)
        }
        for part in PARTS
    ]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_parts_keep_the_order_and_have_sane_sizes(raw):
    names = re.findall(r"^# sent_id = (\S+)$", raw, re.MULTILINE)
    place = {name: i for i, name in enumerate(names)}
    for part in PARTS:
        places = [place[one.id] for one in getattr(tags(), part)]
        assert places == sorted(places)
        if part != "train":
            assert 0.05 < len(places) / len(names) < 0.15
            used = {tag for one in getattr(tags(), part) for tag in one.tags}
            assert used >= {*TAGS} - {"INTJ"}  # 35 in all, and may fall to one part


def test_reading_twice_gives_the_same():
    assert tags.__wrapped__() == tags()


BLOCK = "# sent_id = A_SENT1\n# text = Da casa\n{}\n3\tcasa\tcasa\tNOUN" + "\t_" * 6


def test_ranges_and_empty_nodes_are_no_words():
    rows = ["1-2\tDa\t_\t_", "1\tDe\tde\tADP", "2\ta\to\tDET", "2.1\tx\tx\tVERB"]
    one = sentence(BLOCK.format("\n".join(row + "\t_" * 6 for row in rows)))
    assert one.words == ("De", "a", "casa")
    assert one.tags == ("ADP", "DET", "NOUN")
    assert (one.id, one.document) == ("A_SENT1", "A")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (BLOCK.format("1\tDe\tde\tADP"), "must have 10 columns, as CoNLL-U has"),
        (BLOCK.format("1\tDe\tde\tPREP" + "\t_" * 6), "tag='PREP' of .* one of"),
        ("# sent_id = A_SENT1", "must have a sent_id and at least one word"),
        ("1\tDe\tde\tADP" + "\t_" * 6, "must have a sent_id and at least one word"),
    ],
)
def test_what_is_not_conllu_is_refused(block, message):
    with pytest.raises(ValueError, match=message):
        sentence(block)


def test_an_archive_without_the_member_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "t.whl", "w") as file:
        file.writestr("dante/other.conllu", "")
    monkeypatch.setattr(
        module, "open_source", lambda _: OpenArchive(tmp_path / "t.whl", label="tags")
    )
    with pytest.raises(ValueError, match=MEMBER):
        tags.__wrapped__()
