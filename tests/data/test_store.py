"""The cache: opened only when right, fetched when missing, never the network else."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from loopback import WHOLE_NAME as NAME
from loopback import Behaviour, archive_of, child, tiny_index, tiny_zip
from unrolled.data.catalogue import find_source, sources
from unrolled.data.corpora import glove, minilm, smollm2
from unrolled.data.fetch import store
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.places import data_folder
from unrolled.data.fetch.store import open_source, unpack

WHOLE = tiny_zip()


@pytest.fixture(name="folder")
def _folder(tmp_path) -> Path:
    return tmp_path / "data"


@pytest.fixture(name="index")
def _index(monkeypatch, folder):
    with tiny_index(monkeypatch, folder) as do:
        yield do


@pytest.fixture(name="present")
def _present(index, folder) -> Path:
    """Put the archive where it belongs; and no network any more."""
    folder.mkdir()
    (folder / NAME).write_bytes(WHOLE)
    return folder / NAME


def counted(monkeypatch) -> list[Path]:
    """Return a list that grows with each file that is hashed."""
    hashed, fault = [], store.fault

    def count(archive, path):
        hashed.append(path)
        return fault(archive, path)

    monkeypatch.setattr(store, "fault", count)
    return hashed


def test_the_folder_is_the_users_choice_or_the_platforms(monkeypatch, tmp_path):
    monkeypatch.setenv("UNROLLED_DATA", str(tmp_path / "x"))
    assert data_folder() == tmp_path / "x"
    monkeypatch.setenv("UNROLLED_DATA", "~/x")
    assert data_folder() == Path.home() / "x"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNROLLED_DATA", "here")
    assert data_folder() == tmp_path / "here"
    for nothing in ("", None):
        if nothing is None:
            monkeypatch.delenv("UNROLLED_DATA")
        else:
            monkeypatch.setenv("UNROLLED_DATA", nothing)
        assert data_folder().parts[-2:] == ("unrolled", "data")
        assert data_folder().is_absolute()


def test_what_is_missing_is_fetched_and_opened(index, folder):
    with open_source(find_source("tiny")) as archive:
        assert archive.names() == ["tiny/words.txt", "tiny/noise.bin"]
    assert (folder / NAME).read_bytes() == WHOLE


def test_offline_nothing_is_fetched_and_it_says_what_to_run(index, folder, monkeypatch):
    monkeypatch.setenv("UNROLLED_OFFLINE", "1")
    with pytest.raises(DataError) as caught:
        open_source(find_source("tiny"))
    for word in (str(folder / NAME), "UNROLLED_OFFLINE", "unrolled data fetch tiny"):
        assert word in str(caught.value)
    assert index.asked == []
    assert not folder.exists()


@pytest.mark.parametrize("offline", ["", "0", "No", "false", "OFF"])
def test_offline_may_be_switched_off(index, monkeypatch, offline):
    monkeypatch.setenv("UNROLLED_OFFLINE", offline)
    open_source(find_source("tiny")).close()


@pytest.mark.parametrize("offline", ["1", "Yes", "true", "ON"])
def test_offline_a_fetch_refuses_too_and_spoils_nothing(present, monkeypatch, offline):
    monkeypatch.setenv("UNROLLED_OFFLINE", offline)
    assert store.fetch("tiny", sources()["tiny"].archives[0]) is False
    present.write_bytes(b"half")
    with pytest.raises(DataError, match="UNROLLED_OFFLINE forbids to fetch it"):
        store.fetch("tiny", sources()["tiny"].archives[0])
    assert present.read_bytes() == b"half"


def test_offline_is_said_in_one_of_a_few_words(index, monkeypatch):
    monkeypatch.setenv("UNROLLED_OFFLINE", "maybe")
    with pytest.raises(ValueError, match=r"^UNROLLED_OFFLINE='maybe' must be 1 or 0"):
        open_source(find_source("tiny"))
    assert index.asked == []


def test_a_folder_of_nobody_is_said_plainly(monkeypatch):
    monkeypatch.setenv("UNROLLED_DATA", "~nobody-of-that-name/x")
    with pytest.raises(DataError, match="UNROLLED_DATA='~nobody-of-that-name/x' names"):
        data_folder()


def test_a_whole_folder_serves_without_being_written(present, folder):
    """A class's shared folder: a lock could not even be made there."""
    unpack(find_source("tiny"), MEMBER)
    for made in (folder / ".locks").iterdir():
        made.unlink()
    (folder / ".locks").rmdir()
    (folder / ".locks").write_bytes(b"")  # for root, who may write everywhere
    store._known_good.clear()
    before = sorted(folder.rglob("*"))
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    try:
        assert store.fetch("tiny", sources()["tiny"].archives[0]) is False
        open_source(find_source("tiny")).close()
        assert unpack(find_source("tiny"), MEMBER).stat().st_size == 300_000
        assert sorted(folder.rglob("*")) == before
    finally:
        for path in (folder, *before):
            path.chmod(0o755)


def test_the_table_knows_what_readers_unpack():
    table = {name: s.unpacked for name, s in sources().items() if s.unpacked}
    assert table == {
        "glove": (glove.VECTORS,),
        "minilm": (f"{minilm.FOLDER}model.safetensors",),
        "smollm2": (smollm2.MEMBER,),
    }
    corpora = Path(glove.__file__).parent.glob("*.py")
    unpacking = {p.stem for p in corpora if "unpack(" in p.read_text(encoding="utf-8")}
    assert unpacking == set(table)


def test_what_is_here_is_opened_without_a_network(present, index, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was touched")

    for call in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, call, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with open_source(find_source("tiny")) as archive:
        assert archive.read("tiny/words.txt").startswith(b"In the beginning")
    unpack(find_source("tiny"), "tiny/words.txt")
    assert index.asked == []


def test_the_real_archives_open_in_a_process_without_a_network():
    """A process in a network of its own, in which there is not even a loopback."""
    code = (
        "import socket\n"
        "from unrolled.data.catalogue import find_source\n"
        "from unrolled.data.fetch.store import open_source\n"
        "for name in ('weather', 'strokes', 'opinions'):\n"
        "    with open_source(find_source(name)) as archive:\n"
        "        print(len(archive.names()))\n"
        "try: socket.create_connection(('127.0.0.1', 9), 1)\n"
        "except OSError as error: print(error.errno)\n"
    )
    cut = ["unshare", "--map-root-user", "--net"]
    try:
        permitted = subprocess.run([*cut, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        permitted = False
    if not permitted:  # the test above holds it on such a machine
        cut = []
    result = subprocess.run(
        [*cut, sys.executable, "-c", code], text=True, capture_output=True, check=True
    )
    assert result.stdout.split()[:3] == ["34", "11", "17"]
    if cut:
        assert result.stdout.split()[3] == "101"  # the network is unreachable


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (WHOLE[:-1], f"it has {len(WHOLE) - 1:,} bytes, not {len(WHOLE):,}"),
        (WHOLE[:-1] + b"x", "its sha256 is"),
        (b"", "it has 0 bytes"),
    ],
)
def test_a_corrupt_file_is_refused_and_the_message_repairs_it(
    present, index, spoilt, why
):
    present.write_bytes(spoilt)
    with pytest.raises(DataError) as caught:
        open_source(find_source("tiny"))
    for word in (str(present), "is corrupt", why, "Run: unrolled data fetch tiny"):
        assert word in str(caught.value)
    assert index.asked == []
    store.fetch("tiny", sources()["tiny"].archives[0])
    open_source(find_source("tiny")).close()


def test_a_folder_in_the_place_of_the_file_is_a_clear_error(present):
    present.unlink()
    present.mkdir()
    with pytest.raises(DataError, match="unrolled data fetch tiny"):
        open_source(find_source("tiny"))


def test_a_file_is_hashed_once_a_process_until_it_changes(present, monkeypatch):
    hashed = counted(monkeypatch)
    for _ in range(3):
        open_source(find_source("tiny")).close()
    assert hashed == [present]
    os.utime(present, ns=(1, 1))
    open_source(find_source("tiny")).close()
    assert hashed == [present, present]


def test_what_was_just_fetched_is_not_hashed_again(index, monkeypatch, folder):
    open_source(find_source("tiny")).close()
    hashed = counted(monkeypatch)
    open_source(find_source("tiny")).close()
    assert hashed == []


def test_a_change_within_a_process_is_noticed(present):
    open_source(find_source("tiny")).close()
    present.write_bytes(WHOLE[:-1] + b"x")
    with pytest.raises(DataError, match="corrupt"):
        open_source(find_source("tiny"))


def test_unknown_names_say_what_there_is(index):
    with pytest.raises(
        ValueError, match=r"name='bible' is no source; there are glove, "
    ):
        find_source("bible")
    with pytest.raises(
        ValueError, match=rf"filename='x' is not in tiny; it has {NAME}$"
    ):
        open_source(find_source("tiny"), "x")


def test_an_archive_can_be_chosen_by_its_name(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(99, seed=1)}
    with tiny_index(monkeypatch, folder, Behaviour(files=both)):
        with open_source(find_source("tiny"), "tiny-1.0.tar.gz") as archive:
            assert len(archive.read("tiny/noise.bin")) == 99
        with open_source(find_source("tiny")) as archive:
            assert archive.label == NAME


MEMBER = "tiny/noise.bin"


def test_a_member_is_unpacked_once(present, folder):
    path = unpack(find_source("tiny"), MEMBER)
    assert path == folder / "unpacked" / "tiny" / "tiny" / "noise.bin"
    with open_source(find_source("tiny")) as archive:
        assert path.read_bytes() == archive.read(MEMBER)
    made = path.stat().st_ino
    assert unpack(find_source("tiny"), MEMBER) == path
    assert path.stat().st_ino == made
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("spoil", [b"", b"x", b"same"])
def test_an_unpacked_member_that_was_spoilt_is_made_anew(present, spoil):
    path = unpack(find_source("tiny"), MEMBER)
    right = path.read_bytes()
    path.write_bytes(right[:-1] + b"x" if spoil == b"same" else spoil)
    assert unpack(find_source("tiny"), MEMBER).read_bytes() == right


def test_what_another_process_unpacked_is_verified_too(present):
    path = unpack(find_source("tiny"), MEMBER)
    right = path.read_bytes()
    path.write_bytes(right[:-1] + b"x")
    out, err = child(f"print(unpack(find_source('tiny'), {MEMBER!r}))").communicate()
    assert out.strip() == str(path), err
    assert path.read_bytes() == right


def test_half_an_unpacked_member_never_has_its_name(present, monkeypatch, folder):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DataError, match=r"noise.bin: the disk is full"):
        unpack(find_source("tiny"), MEMBER)
    assert list((folder / "unpacked" / "tiny" / "tiny").iterdir()) == []


def test_a_link_in_the_place_of_a_member_being_unpacked_is_not_followed(
    present, folder, tmp_path
):
    target = folder / "unpacked" / "tiny" / MEMBER
    target.parent.mkdir(parents=True)
    (tmp_path / "other").write_bytes(b"a letter")
    (target.parent / "noise.bin.part").symlink_to(tmp_path / "other")
    assert unpack(find_source("tiny"), MEMBER).stat().st_size == 300_000
    assert not target.is_symlink()
    assert (tmp_path / "other").read_bytes() == b"a letter"


def test_unpacking_what_is_not_there_leaves_nothing(present, folder):
    with pytest.raises(ValueError, match="member='nope' is not in"):
        unpack(find_source("tiny"), "nope")
    assert not (folder / "unpacked").exists()


def test_threads_unpack_without_harm(present):
    paths = []
    threads = [
        threading.Thread(
            target=lambda: paths.append(unpack(find_source("tiny"), MEMBER))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 4
    assert len(set(paths)) == 1
    with open_source(find_source("tiny")) as archive:
        assert paths[0].read_bytes() == archive.read(MEMBER)


def test_a_hostile_archive_leaves_nothing_behind(monkeypatch, folder):
    """Its digest is right, so only what is inside can give it away."""
    evil = WHOLE.replace(b"tiny/words.txt", b"../../../x.txt")
    with tiny_index(monkeypatch, folder, Behaviour(files={NAME: evil})):
        for attempt in (
            lambda: open_source(find_source("tiny")),
            lambda: unpack(find_source("tiny"), "x"),
        ):
            with pytest.raises(DataError, match=r"'../../../x.txt' leads out of its"):
                attempt()
    found = {p.name for p in folder.parent.rglob("*") if p.is_file()}
    assert found <= {NAME, f"{NAME}.lock"}


def test_the_helpers_make_what_they_promise():
    assert archive_of(WHOLE).size == len(WHOLE)
    assert tiny_zip() == WHOLE != tiny_zip(seed=1)
