"""Readers of famous sets, on small files in the very formats of their homes.

The files come from a server on loopback through `fetch_from_home`, as they would from
their homes, which no machine that runs these tests need reach.
"""

import hashlib
from dataclasses import replace

import pytest
import torch

from homes_made import bert_files, fra_eng, gpt2_files, gz, parquet, tar_gz
from homes_server import Loopback
from unrolled.data.catalogue import homes
from unrolled.data.elsewhere import pairs
from unrolled.data.elsewhere.imdb import IMDB, Review, imdb
from unrolled.data.elsewhere.pairs import Translation, multi30k, tatoeba
from unrolled.data.elsewhere.pretrained import bert, gpt2
from unrolled.data.elsewhere.texts import tiny_shakespeare, wikitext2
from unrolled.data.elsewhere.treebank import Tagged, ewt
from unrolled.data.fetch.home_files import HomeFile
from unrolled.data.fetch.homes import HomeError, fetch_from_home, home_folder
from unrolled.data.splits import part_of

READERS = [tiny_shakespeare, wikitext2, imdb, tatoeba, multi30k, ewt, bert, gpt2]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNROLLED_DATA", str(tmp_path))
    monkeypatch.delenv("UNROLLED_OFFLINE", raising=False)


@pytest.fixture
def move_home():
    """Return a function that serves a home's files from loopback, and fetches them."""

    def move(name: str, contents: dict[str, bytes]) -> None:
        real = homes()[name]
        assert set(contents) == {file.filename for file in real.files}
        with Loopback({f"/{name}": made for name, made in contents.items()}) as at:
            files = tuple(
                HomeFile(
                    url=f"{at.address}/{file.filename}",
                    size=len(contents[file.filename]),
                    sha256=hashlib.sha256(contents[file.filename]).hexdigest(),
                )
                for file in real.files
            )
            fetch_from_home(replace(real, files=files), progress=False)

    return move


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_never_downloads(reader):
    with pytest.raises(HomeError, match=r"To get it .* 'unrolled data elsewhere"):
        reader()
    assert not home_folder(IMDB).parent.exists()


def test_tiny_shakespeare_is_cut_in_order(move_home):
    text = "".join(chr(0x100 + n) for n in range(1000))
    move_home("tiny_shakespeare", {"input.txt": text.encode()})
    parts = tiny_shakespeare()
    assert parts.train + parts.validation + parts.test == text
    assert list(map(len, (parts.train, parts.validation, parts.test))) == [900, 50, 50]


def test_wikitext_gets_its_blank_lines_back(move_home):
    rows = ["", " = Robert Boulter = \n", "", " An actor . \n", " In 2000 @-@ 01 \n"]
    parts = {"train": rows, "validation": rows[:2], "test": rows[3:]}
    move_home(
        "wikitext2",
        {f"{part}-00000-of-00001.parquet": parquet(r) for part, r in parts.items()},
    )
    found = wikitext2()
    assert found.train == (
        " \n = Robert Boulter = \n \n An actor . \n In 2000 @-@ 01 \n"
    )
    assert found.validation == " \n = Robert Boulter = \n"
    assert found.test == " An actor . \n In 2000 @-@ 01 \n"


def film_in(part: str, n: int) -> list[str]:
    """Return ``n`` film ids that fall into ``part``."""
    ids = (f"tt{number:07}" for number in range(10_000))
    return [film for film in ids if part_of(film) == part][:n]


def acl_imdb(films: dict[tuple[str, str], list[str]], reviews: dict[str, str]) -> bytes:
    """Pack reviews and the films' addresses as the home does, the rest beside them."""
    address = "http://www.imdb.com/title/{}/usercomments\n"
    files = {
        f"aclImdb/{part}/urls_{side}.txt": "".join(map(address.format, ids))
        for (part, side), ids in films.items()
    }
    beside = {
        "aclImdb/README": "Large Movie Review Dataset v1.0",
        "aclImdb/imdb.vocab": "the\nand\n",
        "aclImdb/train/labeledBow.feat": "9 0:9 1:1\n",
        "aclImdb/train/unsup/0_0.txt": "No stars for this one.",
        "aclImdb/train/urls_unsup.txt": address.format("tt9"),
    }
    return tar_gz(files | beside | reviews)


def test_imdb_reads_reviews_with_their_stars_and_films(move_home):
    held_out, second = film_in("validation", 2)
    kept = film_in("train", 2)
    asked_as_test = film_in("test", 1)
    films = {
        ("train", "pos"): [kept[0], held_out, *asked_as_test],
        ("train", "neg"): [held_out, kept[1]],
        ("test", "pos"): [second],
        ("test", "neg"): [kept[1], second],
    }
    reviews = {
        "aclImdb/test/neg/1_4.txt": "Dull.",
        "aclImdb/test/pos/0_10.txt": "Très bien.",
        "aclImdb/train/neg/0_1.txt": "Awful.",
        "aclImdb/train/neg/1_3.txt": "Bad.",
        "aclImdb/train/pos/2_7.txt": "Fine.",
        "aclImdb/train/pos/0_8.txt": "I saw it.<br /><br />It is good. <br />See it!\n",
        "aclImdb/train/pos/1_9.txt": "Lovely.",
    }
    move_home("imdb", {"aclImdb_v1.tar.gz": acl_imdb(films, reviews)})
    parts = imdb()
    assert parts.train == (
        Review(text="Bad.", stars=3, film=kept[1]),
        Review(text="Fine.", stars=7, film=asked_as_test[0]),
        Review(text="I saw it.\nIt is good.\nSee it!", stars=8, film=kept[0]),
    )
    assert parts.validation == (  # all of a film, whatever people thought of it
        Review(text="Awful.", stars=1, film=held_out),
        Review(text="Lovely.", stars=9, film=held_out),
    )
    assert parts.test == (  # as its home has it, whatever its film
        Review(text="Dull.", stars=4, film=second),
        Review(text="Très bien.", stars=10, film=second),
    )
    assert [review.is_positive for review in parts.train] == [False, True, True]
    assert imdb() is parts  # read once


CREDIT = "CC-BY 2.0 (France) Attribution: tatoeba.org #2877272 (CM) & #1158250 (W)"


def everyone(parts):
    return [*parts.train, *parts.validation, *parts.test]


def test_tatoeba_with_and_without_the_column_of_credits(move_home, tmp_path):
    old = ["Go.\tVa !", "Hi.\tSalut !", "Hi.\tSalut.", "Hi.\tSalut !"]
    move_home("tatoeba", {"fra-eng.zip": fra_eng(old)})
    found = everyone(tatoeba())
    assert sorted((pair.english, pair.french) for pair in found) == [
        ("Go.", "Va !"),
        ("Hi.", "Salut !"),  # once: the file has it twice
        ("Hi.", "Salut."),
    ]
    assert {pair.credit for pair in found} == {""}

    newer = tmp_path / "fra-eng.zip"
    newer.write_bytes(fra_eng([f"Go.\tVa\u202f!\t{CREDIT}"]))
    assert everyone(tatoeba(newer)) == [
        Translation(english="Go.", french="Va\u202f!", credit=CREDIT)
    ]


def test_no_sentence_of_tatoeba_is_in_two_parts(move_home):
    # chains: sentence n has the translations n and n + 1 within its ten, so that all
    # ten hang together; case and punctuation do not keep them apart
    lines = [
        line
        for n in range(3000)
        if n % 10 < 9
        for line in (f"Say {n}!\tDis {n}.", f"say {n}\tdis {n + 1} !")
    ]
    move_home("tatoeba", {"fra-eng.zip": fra_eng(lines)})
    parts = tatoeba()
    assert len(everyone(parts)) == len(lines)
    assert min(len(parts.train), len(parts.validation), len(parts.test)) > 200
    for side in ("english", "french"):
        numbers = [
            {getattr(pair, side).strip(" .!").split()[1] for pair in part}
            for part in (parts.train, parts.validation, parts.test)
        ]
        assert sum(map(len, numbers)) == len(set.union(*numbers))


def captions() -> dict[str, bytes]:
    made = {}
    for part in ("train", "val", "test_2016_flickr"):
        made[f"{part}.en.gz"] = gz([f"A dog of {part}. ", "Two\u2028men."])
        made[f"{part}.fr.gz"] = gz([f"Un chien de {part}.", "Deux hommes."])
    return made


def test_multi30k_keeps_its_official_parts_and_its_lines_abreast(move_home):
    move_home("multi30k", captions())
    parts = multi30k()
    assert parts.train == (
        Translation(english="A dog of train.", french="Un chien de train."),
        Translation(english="Two\u2028men.", french="Deux hommes."),
    )
    assert parts.validation[0].english == "A dog of val."
    assert parts.test[0].french == "Un chien de test_2016_flickr."


def test_multi30k_with_a_line_missing_is_refused(move_home):
    move_home("multi30k", captions() | {"train.fr.gz": gz(["Un."])})
    with pytest.raises(ValueError, match="zip\\(\\) argument 2 is shorter"):
        multi30k()


def test_a_gz_that_swells_is_refused(move_home, monkeypatch):
    monkeypatch.setattr(pairs, "_LARGEST", 1000)
    bomb = captions() | {"train.en.gz": gz(["0" * 100_000])}
    move_home("multi30k", bomb)
    with pytest.raises(
        ValueError, match=r"train\.en\.gz unpacks to more than 1,000 bytes: refused"
    ):
        multi30k()


CONLLU = """\
# newdoc id = weblog-1
# sent_id = weblog-1-0001
# text = They don't eat, and he soup.
1\tThey\tthey\tPRON\tPRP\tCase=Nom\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\teat\teat\tVERB\tVB\t_\t0\troot\t0:root\tSpaceAfter=No
4.1\teats\teat\tVERB\t_\t_\t_\t_\t4:conj\t_
5\t#\t#\tSYM\tNFP\t_\t4\tpunct\t4:punct\t_

# sent_id = weblog-1-0002
# text = Yes
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t0:root\t_

"""


def test_the_treebank_gives_every_word_its_tag(move_home):
    one = CONLLU.partition("\n\n")[0] + "\n\n"
    move_home(
        "ewt",
        {
            "en_ewt-ud-train.conllu": CONLLU.encode(),
            "en_ewt-ud-dev.conllu": one.encode(),
            "en_ewt-ud-test.conllu": one.replace("They", "We").encode(),
        },
    )
    parts = ewt()
    first = Tagged(
        id="weblog-1-0001",
        words=("They", "do", "n't", "eat", "#"),
        tags=("PRON", "AUX", "PART", "VERB", "SYM"),
    )
    second = Tagged(id="weblog-1-0002", words=("Yes",), tags=("INTJ",))
    assert parts.train == (first, second)
    assert parts.validation == (first,)
    assert parts.test[0].words[0] == "We"


def test_bert_has_the_names_of_pytorch(move_home):
    move_home("bert", bert_files())
    model = bert()
    assert model.config["hidden_size"] == 4
    assert model.tokens == ("[PAD]", "[UNK]", "the", "##s", "li\u2028ne")
    assert model.merges == ()
    output = "bert.encoder.layer.0.attention.output.LayerNorm"
    assert torch.equal(model.weights[f"{output}.weight"], torch.full((4,), 2.0))
    assert torch.equal(model.weights[f"{output}.bias"], torch.full((4,), 3.0))
    assert len(model.weights) == 7
    assert not any("gamma" in name or "beta" in name for name in model.weights)
    assert model.weights["bert.embeddings.word_embeddings.weight"].shape == (5, 4)
    with pytest.raises(TypeError):
        model.weights["new"] = torch.zeros(1)


def test_gpt2_comes_without_its_masks_and_with_its_merges(move_home):
    move_home("gpt2", gpt2_files())
    model = gpt2()
    assert model.config["n_layer"] == 1
    assert model.tokens == ("!", "t", "Ġt")
    assert model.merges == (("Ġ", "t"), ("h", "e"), ("#", "#"))
    assert sorted(model.weights) == [
        "h.0.attn.c_attn.bias",
        "h.0.attn.c_attn.weight",
        "h.0.ln_1.bias",
        "ln_f.weight",
        "wpe.weight",
        "wte.weight",
    ]
    assert model.weights["h.0.attn.c_attn.weight"].shape == (4, 12)  # (in, out)
