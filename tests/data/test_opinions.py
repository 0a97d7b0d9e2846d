"""Opinions: every text and score of the source, documents and twins on one side."""

import html
import io
import re
import tarfile
import zipfile
from collections import defaultdict

import pytest

from unrolled.data.corpora import opinions as module
from unrolled.data.corpora.opinions import INNER, KINDS, Opinion, opinion, opinions
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS

SIZES = {"tweets": 4200, "films": 10_605, "products": 3708, "news": 5190}


def everything(kind):
    parts = opinions(kind)
    return {one.id: one for part in PARTS for one in getattr(parts, part)}


@pytest.fixture(scope="module")
def raw():
    name = f"vaderSentiment-3.3.2/additional_resources/{INNER}"
    with open_source("opinions") as archive, archive.inner(name) as inner:
        return {
            kind: [
                row.split(b"\t")
                for row in inner.read(f"hutto_ICWSM_2014/{file}").split(b"\r\n")
            ]
            for kind, file in KINDS.items()
        }


@pytest.mark.parametrize("kind", SIZES)
def test_every_text_of_the_source_is_there_with_its_score(kind, raw):
    found = everything(kind)
    assert len(found) == len(raw[kind]) == SIZES[kind]
    for name, score, text in raw[kind]:
        one = found[name.decode()]
        assert one.score == float(score)
        # the same letters, whatever became of spaces, quotes and entities
        letters = re.sub(r"[\s'\"]", "", html.unescape(html.unescape(text.decode())))
        assert re.sub(r"[\s'\"]", "", one.text) == letters
    assert all(-4 <= one.score <= 4 for one in found.values())


@pytest.mark.parametrize("kind", SIZES)
def test_texts_are_clean(kind):
    for one in everything(kind).values():
        assert one.text == " ".join(one.text.split()) != ""
        assert not re.search(r"&(?:amp|lt|gt|quot|#\d+);|''|Ã.|â€|\ufffd", one.text)


def test_texts_read_as_they_should():
    tweet = everything("tweets")["217"]
    assert tweet.text.endswith('in "lots of love" (lol). So cute! Lol <3')
    assert tweet.score == pytest.approx(1.888888889)
    film = everything("films")["6"].text
    assert film.endswith(
        "mindset of all comics even those who have reached the absolute "
        "top of the game."
    )
    assert 'new "Conan" and that he\'s going' in everything("films")["1"].text
    assert "The Château's balance" in everything("films")["2263"].text
    assert everything("products")["97_2"] == Opinion(
        id="97_2", score=2.45, text="hooray!"
    )
    assert everything("news")["1_4"].text == (
        "But the games also convey another message."
    )
    assert everything("news")["1_4"].document == "1"
    assert everything("news")["15_1"].text.startswith(
        "Skadden, Arps, Slate, Meagher & F"
    )


def test_films_begin_with_praise_as_the_docstring_warns():
    scores = [
        one.score
        for _, one in sorted(everything("films").items(), key=lambda pair: int(pair[0]))
    ]
    half = len(scores) // 2
    assert sum(scores[:half]) / half > 1
    assert sum(scores[half:]) / half < -1


@pytest.mark.parametrize("kind", SIZES)
def test_documents_and_texts_lie_in_one_part(kind):
    parts = opinions(kind)
    for key in (
        lambda one: one.document,
        lambda one: one.text,
        lambda one: " ".join(re.findall(r"[a-z0-9]+", one.text.lower())),
    ):
        seen = [{key(one) for one in getattr(parts, part)} for part in PARTS]
        assert sum(map(len, seen)) == len(set.union(*seen))


@pytest.mark.parametrize("kind", SIZES)
def test_next_to_no_text_of_test_has_a_near_twin_elsewhere(kind):
    # another measure: seven tenths of the different words in common (Jaccard)
    parts = opinions(kind)
    bags = {
        part: [
            frozenset(re.findall(r"[a-z]+", one.text.lower()))
            for one in getattr(parts, part)
        ]
        for part in PARTS
    }
    holders = defaultdict(list)
    for bag in (*bags["train"], *bags["validation"]):
        for word in bag:
            holders[word].append(bag)
    twins = sum(
        any(
            len(bag & other) >= 0.7 * len(bag | other)
            # a twin lacks 3 in 10 of its words at most, so it holds one of these
            for word in sorted(bag, key=lambda w: len(holders[w]))[
                : int(0.3 * len(bag)) + 1
            ]
            for other in holders[word]
        )
        for bag in bags["test"]
        if len(bag) > 4
    )
    assert twins <= 0.01 * len(bags["test"])


def test_contrived_tweets_stay_with_the_tweet_they_were_made_from():
    for stem in ("yay another good phone interview", "anger is ugly"):
        homes = {
            part
            for part in PARTS
            for one in getattr(opinions("tweets"), part)
            if " ".join(re.findall("[a-z]+", one.text.lower())).startswith(stem)
        }
        assert len(homes) == 1


@pytest.mark.parametrize("kind", SIZES)
def test_parts_keep_the_order_and_have_sane_sizes(kind, raw):
    place = {row[0].decode(): i for i, row in enumerate(raw[kind])}
    for part in PARTS:
        places = [place[one.id] for one in getattr(opinions(kind), part)]
        assert places == sorted(places)
        if part != "train":
            assert 0.05 < len(places) / SIZES[kind] < 0.15


def test_reading_twice_gives_the_same():
    assert opinions.__wrapped__("products") == opinions("products")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind='books' must be one of tweets, films, "):
        opinions("books")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\t0.5", "must be an identifier, a score and a text, by tabs"),
        ("1\tgood\tfine film", "must be an identifier, a score and a text, by tabs"),
        ("1\t4.5\tfine film", "must have a score between -4 and 4, and a text"),
        ("1\t-4.5\tfine film", "must have a score between -4 and 4, and a text"),
        ("1\t0.5\t  ", "must have a score between -4 and 4, and a text"),
    ],
)
def test_what_is_no_opinion_is_refused(line, message):
    with pytest.raises(ValueError, match=message):
        opinion(line)


def test_an_archive_without_the_files_is_refused(tmp_path, monkeypatch):
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as file:
        file.addfile(tarfile.TarInfo("hutto_ICWSM_2014/other.txt"), io.BytesIO())
    path = tmp_path / "o.zip"
    monkeypatch.setattr(
        module, "open_source", lambda _: OpenArchive(path, label="opinions")
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/other.txt", "")
    with pytest.raises(ValueError, match=r"opinions must hold hutto_ICWSM_2014.tar.gz"):
        opinions.__wrapped__("news")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"a/{INNER}", inner.getvalue())
    with pytest.raises(ValueError, match=r"nytEditorialSnippets_GroundTruth.txt"):
        opinions.__wrapped__("news")
