"""``make lab`` gives readers copies of their own, and never takes one back."""

import nbformat
import pytest
from nbformat.sign import MemorySignatureStore, NotebookNotary

import lab
from minibook import prose, write_page


@pytest.fixture
def notary():
    return NotebookNotary(store_factory=MemorySignatureStore, secret=b"test")


def trusted(notary, path):
    return notary.check_signature(nbformat.read(path, as_version=4))


def test_a_reader_gets_a_trusted_copy_of_every_page(tmp_path, notary):
    page = write_page(tmp_path, "01-a", prose("# A"))
    write_page(tmp_path, "01-a-b", prose("# B"), kind="study")
    (tmp_path / "chapters" / "01-a-Copy1.ipynb").write_text("{}")  # is no page
    made = lab.make_copies(tmp_path, notary)
    assert [path.name for path in made] == ["01-a.ipynb", "01-a-b.ipynb"]
    assert made[0].parent == tmp_path / lab.MINE
    assert made[0].read_bytes() == page.read_bytes()
    assert all(trusted(notary, path) for path in made)


def test_a_copy_that_is_there_is_neither_changed_nor_trusted(tmp_path, notary):
    page = write_page(tmp_path, "01-a", prose("# A"))
    (copy,) = lab.make_copies(tmp_path, notary)
    write_page(tmp_path, "01-a", prose("# Mine"))
    copy.write_bytes(page.read_bytes())  # the reader's own work
    write_page(tmp_path, "01-a", prose("# A new edition"))
    assert lab.make_copies(tmp_path, notary) == []
    assert "# Mine" in copy.read_text()
    assert not trusted(notary, copy)


def test_a_page_that_was_not_run_has_no_copy(tmp_path, notary):
    write_page(tmp_path, "01-a", prose("# A")).unlink()
    assert lab.make_copies(tmp_path, notary) == []
