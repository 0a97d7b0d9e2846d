"""Real sentences in four languages and tones, read straight from the archives."""

import re
from functools import cache

import polib

from unrolled.data.catalogue import find_source
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.fetch.store import open_source

TWEETS = "hutto_ICWSM_2014/tweets_GroundTruth.txt"
OPINIONS = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
TAGS = "dante/data/porttinari/annotated.conllu"
INDICO = "indico-3.2.9-py3-none-any.whl"
FRENCH = "indico/translations/fr_FR/LC_MESSAGES/messages.po"
EACH = 2500


def bible() -> list[str]:
    """Return sentences of the books that are kept from training."""
    parts = kjv_text()
    return re.findall(r"[^.?!]+[.?!]\s*", parts.test + parts.validation)


def tweets() -> list[str]:
    """Return tweets: slang, links, smileys."""
    with (
        open_source(find_source("opinions")) as outer,
        outer.inner(OPINIONS) as archive,
    ):
        lines = archive.read(TWEETS).decode("utf-8", "replace").splitlines()
    return [line.split("\t")[2] for line in lines]


def portuguese() -> list[str]:
    """Return sentences of a Brazilian newspaper."""
    with open_source(find_source("tags")) as archive:
        text = archive.read(TAGS).decode()
    return re.findall(r"^# text = (.*)", text, re.MULTILINE)


def french() -> list[str]:
    """Return strings of an interface, markup and placeholders and all."""
    with open_source(find_source("interface"), INDICO) as archive:
        catalogue = polib.pofile(archive.read(FRENCH).decode())
    return [entry.msgstr for entry in catalogue if entry.msgstr]


@cache
def sentences() -> tuple[str, ...]:
    """Return 10,000 sentences, as many of each kind."""
    found = [kind()[:EACH] for kind in (bible, tweets, portuguese, french)]
    assert [len(kind) for kind in found] == [EACH] * 4
    return tuple(sentence for kind in found for sentence in kind)
