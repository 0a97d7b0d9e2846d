"""Opinions: every text and score of the source, documents and twins on one side."""

import html
import io
import re
import tarfile
import zipfile
from collections import defaultdict

import pytest

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import opinions as module
from unrolled.data.corpora.opinions import INNER, KINDS, Opinion, opinion, opinions
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS

# what we changed in a text, by kind and identifier, and in what way
NUMBERS = {"tweets": {"2613", "2614", "2646", "2718"}, "news": {"494_12"}}
USERS = {"tweets": {"1027", "1343", "2170", "3316"}, "products": {"51_5"}}
LINKS = {"tweets": {"942", "1713", "2477", "3146", "3444"}}
APOSTROPHES = {"films": {"114", "3443"}}
SIZES = {"tweets": 4200, "films": 10_605, "products": 3708, "news": 5190}


def everything(kind):
    parts = opinions(kind)
    return {one.id: one for part in PARTS for one in getattr(parts, part)}


@pytest.fixture(scope="module")
def raw():
    name = f"vaderSentiment-3.3.2/additional_resources/{INNER}"
    with open_source(find_source("opinions")) as archive, archive.inner(name) as inner:
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
    changed = set()
    for name, score, text in raw[kind]:
        one = found[name.decode()]
        assert one.score == float(score)
        # the same letters, whatever became of spaces, quotes and entities
        letters = re.sub(r"[\s'\"]", "", html.unescape(html.unescape(text.decode())))
        if re.sub(r"[\s'\"]", "", one.text) != letters:
            changed.add(one.id)
    ways = (NUMBERS, USERS, LINKS, APOSTROPHES)
    assert changed == set().union(*(way.get(kind, set()) for way in ways))
    assert all(-4 <= one.score <= 4 for one in found.values())


def test_nothing_that_leads_to_a_person_is_left():
    for kind in SIZES:
        for one in everything(kind).values():
            # seven digits, however they are set, but for hearts, a date and a size
            digits = re.findall(r"(?:\d[ ().-]{0,2}){7,}", one.text)
            assert all(
                re.fullmatch(r"[0(). -]+|3+|2.14.2012 -|1024-1280", found.strip())
                for found in digits
            ), one
            for user in re.findall(r"[^\s()]*@[^\s()]*", one.text):
                assert re.fullmatch(
                    r"(RT|eye\.|[.~])?@(anonymous(?:'s|[.,:!])?)?", user
                ), one
            if kind == "tweets":
                links = re.findall(r"\w+\.\w+/\w+|\w+\.tumblr", one.text)
                assert links == [], one


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("call 202 555 0143 now", "call 000 000 0000 now"),
        ("at (202) 555-0143 or 555-0143.", "at (000) 000-0000 or 000-0000."),
        ("call 5550143", "call 0000000"),
        ("2025550143555", "0000000000000"),
        ("love <33333333 in 1995 or 2014-2015", "love <33333333 in 1995 or 2014-2015"),
        ("write to some_one@anonymous, or", "write to @anonymous, or"),
        ("mail (a.b-c@shop.example.com), or", "mail (@anonymous), or"),
        ("RT@anonymous hi.@anonymous @ home", "RT@anonymous hi.@anonymous @ home"),
        ("RT someone: hi", "RT @anonymous: hi"),
        ("by some_one on lj", "by @anonymous on lj"),
        (
            "see bit.ly/abc1 or pic.twitter.com/x9",
            "see @ or @".replace("@", "http://url_removed"),
        ),
        ("my.tumblr.com, wired.com", "http://url_removed, wired.com"),
        ("Anne?s film, is?so", "Anne's film, is?so"),
        ("Was it Anne?s", "Was it Anne?s"),
    ],
)
def test_texts_are_masked_and_mended_by_hand(written, read):
    assert opinion(f"1\t0.5\t{written}").text == read


def test_apostrophes_are_mended_where_we_say(raw):
    for name in APOSTROPHES["films"]:
        text = next(row[2].decode() for row in raw["films"] if row[0].decode() == name)
        assert everything("films")[name].text == re.sub(r"\?s", "'s", text, count=1)


def test_films_are_cut_and_have_no_hyphens_as_the_docstring_says():
    texts = [one.text for one in everything("films").values()]
    lengths = [len(text) for text in texts]
    assert (max(lengths), lengths.count(255)) == (255, 11)
    assert everything("films")["3114"].text.endswith("that may or may not qual")
    assert not any(re.search(r"\w-\w", text) for text in texts)


def test_parts_of_products_differ_in_praise_as_the_docstring_says():
    shares = [
        sum(one.score > 0 for one in part) / len(part)
        for part in (getattr(opinions("products"), part) for part in PARTS)
    ]
    assert [round(share, 2) for share in shares] == [0.55, 0.62, 0.66]


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [("tweets", 20, 99), ("films", 15, 29), ("products", 20, 20), ("news", 20, 20)],
)
def test_texts_have_as_many_ratings_as_the_docstring_says(kind, least, most):
    name = f"vaderSentiment-3.3.2/additional_resources/{INNER}"
    file = KINDS[kind].replace("GroundTruth", "anonDataRatings")
    with open_source(find_source("opinions")) as archive, archive.inner(name) as inner:
        rows = inner.read(f"hutto_ICWSM_2014/{file}").decode().splitlines()
    counts = [len(row.split("\t")[3].split(",")) for row in rows]
    assert (min(counts), max(counts)) == (least, most)
    assert (sum(n < 20 for n in counts) > len(counts) / 2) is (kind == "films")


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
