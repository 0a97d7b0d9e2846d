"""Fetching from an index that helps, fails, lies, or is cut off in the middle."""

import gzip
import resource
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from loopback import (
    HTML,
    JSON,
    Behaviour,
    archive_of,
    child,
    loopback,
    source_of,
    tiny_index,
    tiny_zip,
)
from loopback import WHOLE_NAME as NAME
from unrolled.data.catalogue import find_source, sources
from unrolled.data.fetch import download, parts, web
from unrolled.data.fetch import index as index_module
from unrolled.data.fetch.errors import DataError, UnreachableError
from unrolled.data.fetch.store import fetch, open_source

WHOLE = tiny_zip()
GZIP = {"Content-Encoding": "gzip"}
SIZE = f"{len(WHOLE):,}"
FETCH = "print(fetch('tiny', archive))"


@pytest.fixture(name="folder")
def _folder(tmp_path) -> Path:
    return tmp_path / "data"


@pytest.fixture(name="index")
def _index(monkeypatch, folder):
    with tiny_index(monkeypatch, folder) as do:
        yield do


def get() -> bool:
    return fetch("tiny", sources()["tiny"].archives[0])


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def failure(folder: Path, *, kept: bool = False) -> str:
    """Fetch in vain; hold the folder to hold nothing but, perhaps, a part."""
    with pytest.raises(DataError) as caught:
        get()
    left = files(folder) if folder.is_dir() else {}
    assert list(left) == ([f"{NAME}.part"] if kept else [])
    assert "unrolled data fetch tiny" in str(caught.value)
    assert NAME in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("style", [HTML, JSON, "text/html"])
@pytest.mark.parametrize("lengths", [True, False])
def test_a_file_is_fetched_once_from_either_kind_of_page(index, folder, style, lengths):
    index.style, index.lengths = style, lengths
    assert get() is True
    assert files(folder) == {NAME: WHOLE}
    assert get() is False
    assert len(index.file_requests()) == 1
    assert "Range" not in index.file_requests()[0]


def test_a_file_in_a_new_deep_folder(index, monkeypatch, tmp_path):
    monkeypatch.setenv("UNROLLED_DATA", str(tmp_path / "a" / "b" / "c"))
    get()
    assert files(tmp_path / "a" / "b" / "c") == {NAME: WHOLE}


def test_a_bar_shows_the_progress_on_stderr(index, capsys):
    get()
    shown = capsys.readouterr()
    assert NAME in shown.err
    assert "301k/301k" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("drops", [[100_000], [70_000, 70_000, 1], [0, 0, 0]])
def test_a_lost_connection_is_taken_up_where_it_broke(index, folder, drops):
    index.drops = list(drops)
    get()
    assert files(folder) == {NAME: WHOLE}
    assert len(index.file_requests()) == 1 + len(drops)
    assert index.sent <= len(WHOLE) + len(drops) * web.PIECE
    if drops[0]:
        start = int(index.file_requests()[1]["Range"].strip("bytes=-"))
        assert 0 < start <= 100_000


def test_after_a_few_tries_it_gives_up_and_keeps_the_part(index, folder):
    index.drops = [70_000, 10, 10, 10]
    said = failure(folder, kept=True)
    part = (folder / f"{NAME}.part").read_bytes()
    assert part
    assert part == WHOLE[: len(part)]
    assert f"{len(part):,} bytes of it are kept" in said
    get()
    assert index.file_requests()[-1]["Range"] == f"bytes={len(part)}-"
    assert files(folder) == {NAME: WHOLE}


def test_a_part_without_a_byte_is_not_kept(index, folder):
    index.drops = [0] * 4
    assert "kept" not in failure(folder)


def test_tries_that_bring_much_are_not_counted(index, folder, monkeypatch):
    monkeypatch.setattr(download, "_GAIN", 10_000)
    monkeypatch.setattr(web, "PIECE", 10_000)
    index.drops = [30_000] * 8
    get()
    assert files(folder) == {NAME: WHOLE}


def test_what_has_to_come_once_more_is_no_progress(index, folder, monkeypatch):
    """Each try brings much, and the next has to begin anew: it must come to an end."""
    monkeypatch.setattr(download, "_GAIN", 10_000)
    monkeypatch.setattr(web, "PIECE", 10_000)
    index.no_ranges, index.drops = True, [100_000] * 40
    failure(folder, kept=True)
    assert len(index.file_requests()) < 10


def test_a_server_without_ranges_starts_again(index, folder):
    index.ranges, index.drops = False, [100_000]
    get()
    assert files(folder) == {NAME: WHOLE}
    assert "Range" in index.file_requests()[1]


@pytest.mark.parametrize("lengths", [True, False])
def test_a_server_that_lies_about_the_range_starts_again(index, folder, lengths):
    index.range_shift, index.drops, index.lengths = 7, [100_000], lengths
    get()
    assert files(folder) == {NAME: WHOLE}
    assert "Range" not in index.file_requests()[-1]


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    "part",
    [WHOLE[:50_000], b"", WHOLE, WHOLE + b"more", b"x" * 50_000, b"x" * len(WHOLE)],
    ids=["good", "empty", "whole", "too long", "spoilt", "spoilt and whole"],
)
def test_any_part_that_is_left_is_repaired(index, folder, part, ranges):
    index.ranges = ranges
    folder.mkdir()
    (folder / f"{NAME}.part").write_bytes(part)
    assert get() is True
    assert files(folder) == {NAME: WHOLE}


def test_a_whole_part_is_not_fetched_again(index, folder):
    folder.mkdir()
    (folder / f"{NAME}.part").write_bytes(WHOLE)
    get()
    assert index.file_requests() == []


@pytest.mark.parametrize("spoilt", [WHOLE[:-1], WHOLE[:-1] + b"x", b"", WHOLE + b"x"])
def test_a_corrupt_file_is_fetched_anew(index, folder, spoilt):
    folder.mkdir()
    (folder / NAME).write_bytes(spoilt)
    assert get() is True
    assert files(folder) == {NAME: WHOLE}


def test_a_corrupt_file_is_gone_even_if_no_better_is_to_be_had(index, folder):
    folder.mkdir()
    (folder / NAME).write_bytes(b"corrupt")
    index.page_statuses = [403]
    failure(folder)


def lie(index: Behaviour, data: bytes) -> None:
    """Serve other bytes under the name, and vouch for them as if they were ours."""
    index.files = {NAME: data}
    index.digest = archive_of(WHOLE).sha256


def test_other_bytes_are_refused(index, folder):
    lie(index, WHOLE[:-1] + b"x")
    said = failure(folder)
    assert "sends another file: its sha256 is" in said
    assert f"not {archive_of(WHOLE).sha256[:8]}" in said


def test_more_bytes_than_the_table_says_are_refused(index, folder):
    lie(index, WHOLE + b"x" * 100_000)
    assert f"a file of {len(WHOLE) + 100_000:,} bytes, not {SIZE}" in failure(folder)
    index.lengths = False
    assert f"sends more than {SIZE} bytes" in failure(folder)


def test_an_endless_answer_is_cut_off(index, folder):
    lie(index, WHOLE * 40)
    index.lengths = False
    failure(folder)
    assert index.sent < 30 * len(WHOLE)


def test_fewer_bytes_than_the_table_says_are_refused(index, folder):
    lie(index, WHOLE[:-5000])
    fewer = f"{len(WHOLE) - 5000:,} bytes"
    assert f"a file of {fewer}, not {SIZE}" in failure(folder)
    index.lengths, index.ranges = False, False
    assert f"stops after {fewer}" in failure(folder, kept=True)


def test_a_body_is_taken_as_it_was_sent(index, folder):
    """Some servers call a tar.gz 'gzip-encoded': it must not be unpacked on the way."""
    index.encoding = "gzip"
    get()
    assert files(folder) == {NAME: WHOLE}


def test_a_page_with_another_digest_is_believed_at_once(index, folder):
    index.digest = "0" * 64
    said = failure(folder)
    assert f"has another file of this name: {SIZE} bytes, sha256 00000000" in said
    assert index.file_requests() == []


def test_a_page_with_another_size_is_believed_at_once(index, folder):
    index.style, index.claims = JSON, {"size": 7}
    assert "another file of this name: 7 bytes" in failure(folder)
    assert index.file_requests() == []


@pytest.mark.parametrize("style", [HTML, JSON])
def test_a_withdrawn_file_is_fetched_with_a_word_about_it(index, folder, style, capsys):
    index.yanked, index.style = True, style
    get()
    assert files(folder) == {NAME: WHOLE}
    assert f"{NAME} was withdrawn by its makers" in capsys.readouterr().err


def test_a_missing_project_is_named(index, folder):
    index.page_statuses = [404]
    assert "has no project tiny" in failure(folder)


def test_a_missing_file_on_the_page_is_named(index, folder):
    index.files = {"tiny-2.0-py3-none-any.whl": WHOLE}
    assert "has tiny without this file" in failure(folder)


def test_a_missing_file_behind_the_page_is_named(index, folder):
    index.page = f'<a href="/files/gone">{NAME}</a>'.encode()
    assert "127.0.0.1 answers HTTP 404 Not Found" in failure(folder)


@pytest.mark.parametrize("status", [401, 403, 410])
@pytest.mark.parametrize("which", ["page_statuses", "file_statuses"])
def test_a_refusal_is_not_tried_again(index, folder, status, which):
    setattr(index, which, [status])
    assert f"answers HTTP {status}" in failure(folder)
    assert len(index.asked) == 1 + (which == "file_statuses")


@pytest.mark.parametrize("status", [500, 502, 503, 429])
@pytest.mark.parametrize("which", ["page_statuses", "file_statuses"])
def test_a_servers_trouble_is_waited_for(index, folder, status, which):
    setattr(index, which, [status] * 3)
    assert get() is True
    setattr(index, which, [status] * 4)
    (folder / NAME).unlink()
    assert f"answers HTTP {status}" in failure(folder)


@pytest.mark.parametrize(
    ("style", "page"),
    [
        (JSON, b"{"),
        (JSON, b"[]"),
        (JSON, b'{"meta": {"api-version": "9.0"}}'),
        ("image/png", b"PNG"),
        (HTML, b"\xff\xfe<<<"),
    ],
)
def test_a_page_that_is_none_is_a_clear_error(index, folder, style, page):
    index.style, index.page = style, page
    said = failure(folder)
    assert "cannot be read" in said or "without this file" in said or "asked" in said


def test_a_page_nested_too_deep_is_a_clear_error(index, folder):
    index.style, index.page = JSON, b"[" * 200_000
    assert "cannot be read (RecursionError)" in failure(folder)


@pytest.mark.parametrize("packed", [True, False])
def test_a_page_without_end_is_cut_off(index, folder, monkeypatch, packed):
    monkeypatch.setattr(index_module, "_PAGE", 1 << 20)
    index.page = bytes(3 << 20)
    if packed:
        index.page, index.page_headers = gzip.compress(index.page), GZIP
    tracemalloc.start()
    said = failure(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "the page of tiny at 127.0.0.1" in said
    assert "is longer than 1,048,576 bytes" in said
    assert peak < 12 << 20


def test_a_page_may_come_packed(index, folder):
    index.page = gzip.compress(f'<a href="/files/{NAME}">{NAME}</a>'.encode())
    index.page_headers = GZIP
    assert get() is True
    (folder / NAME).unlink()
    index.page = b"not packed at all"
    assert "sends what cannot be unpacked" in failure(folder)


@pytest.mark.parametrize(
    "location",
    ["http://[/x", "http://\xff\xfe..com/x", "file:///etc/passwd", "http://h:99999/x"],
)
def test_a_file_that_is_said_to_be_nowhere_is_a_clear_error(index, folder, location):
    index.location = location
    assert "127.0.0.1 cannot be asked (" in failure(folder)


@pytest.mark.parametrize("length", ["\xb2", "9" * 5000, "-5"])
def test_a_length_that_is_none_does_no_harm(index, folder, length):
    index.length = length
    assert get() is True
    assert files(folder) == {NAME: WHOLE}


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("precious", [b"a letter", None])
def test_a_link_in_the_place_of_the_part_is_not_followed(
    index, folder, tmp_path, precious, hard
):
    """In a shared folder somebody may have put it there."""
    folder.mkdir()
    other, part = tmp_path / "other", folder / f"{NAME}.part"
    if precious:
        other.write_bytes(precious)
    if hard and precious:
        part.hardlink_to(other)
    else:
        part.symlink_to(other)
    assert get() is True
    assert files(folder) == {NAME: WHOLE}
    assert not (folder / NAME).is_symlink()
    assert other.exists() == bool(precious)
    if precious:
        assert other.read_bytes() == precious


def test_a_link_that_comes_later_is_not_followed_either(tmp_path):
    (tmp_path / "part").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        parts.open_part(tmp_path / "part")
    assert not (tmp_path / "other").exists()


def test_a_part_is_nobodys_program(tmp_path):
    parts.open_part(tmp_path / "part").close()
    assert not (tmp_path / "part").stat().st_mode & 0o111


def test_a_folder_in_the_place_of_the_part_is_said_plainly(index, folder):
    (folder / f"{NAME}.part").mkdir(parents=True)
    assert "it cannot be written (Is a directory)" in failure(folder)


@pytest.mark.parametrize("to", ["/nowhere/x", NAME])
def test_a_dangling_link_in_the_place_of_the_file_is_replaced(index, folder, to):
    folder.mkdir()
    (folder / NAME).symlink_to(to)
    get()
    assert not (folder / NAME).is_symlink()
    assert files(folder) == {NAME: WHOLE}


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://host/x"])
def test_only_web_addresses_are_followed(index, folder, address):
    index.page = f'<a href="{address}">{NAME}</a>'.encode()
    assert "gives no web address" in failure(folder)


def test_no_network_is_said_as_such(index, folder, monkeypatch):
    with loopback(Behaviour()) as gone:
        pass
    monkeypatch.setenv("PIP_INDEX_URL", gone)
    with pytest.raises(UnreachableError, match=r"no connection to 127.0.0.1"):
        get()
    failure(folder)


@pytest.mark.parametrize("how", ["page", "file", "silence"])
def test_an_index_that_answers_at_all_is_not_unreachable(index, folder, how):
    if how == "silence":
        index.elsewhere = "http://127.0.0.1:9"
    else:
        setattr(index, f"{how}_statuses", [503] * 9)
    with pytest.raises(DataError) as caught:
        get()
    assert type(caught.value) is DataError


def test_a_server_that_falls_silent_is_not_waited_for_for_ever(
    index, folder, monkeypatch
):
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "1")
    monkeypatch.setattr(download, "_PAUSES", ())
    index.pause = 1.5
    assert "does not answer in time" in failure(folder)


def test_a_slow_server_is_waited_for(index, folder):
    index.pause = 0.02
    get()
    assert files(folder) == {NAME: WHOLE}


def test_the_next_index_is_asked_when_one_fails(index, folder, monkeypatch):
    second = Behaviour(files=dict(index.files))
    lie(index, WHOLE[:-1] + b"x")
    with loopback(second) as address:
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere/simple {address}")
        get()
    assert files(folder) == {NAME: WHOLE}
    assert len(index.file_requests()) == len(second.file_requests()) == 1


def test_the_next_index_goes_on_with_the_part_of_the_first(index, folder, monkeypatch):
    second = Behaviour(files=dict(index.files))
    index.drops, index.file_statuses = [150_000], [200, 403]
    with loopback(second) as address:
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", address)
        get()
    assert files(folder) == {NAME: WHOLE}
    assert "Range" in second.file_requests()[0]


def test_no_index_on_the_web_is_said_as_such(index, folder, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere/simple")
    assert "leave no index to ask on the web" in failure(folder)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert "leave no index to ask on the web" in failure(folder)


def test_a_full_disk_is_noticed_before_it_is_full(index, folder, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert f"the disk is full ({SIZE} bytes needed, 1,000 free)" in failure(folder)
    assert index.asked == []


def test_a_disk_that_fills_up_keeps_the_part(index, folder):
    """The kernel itself stops the file at 100,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        said = failure(folder, kept=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "the disk is full (File too large)" in said
    assert "set UNROLLED_DATA to another folder" in said
    get()
    assert files(folder) == {NAME: WHOLE}


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "/dev/null/deep"])
def test_a_folder_that_cannot_be_written_is_named(index, monkeypatch, place):
    monkeypatch.setenv("UNROLLED_DATA", place)
    with pytest.raises(DataError, match=rf"^{place}/{NAME}: it cannot be written"):
        get()


def wait_for(condition, process=None) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize("at", [1, 200_000])
def test_a_killed_fetch_is_repaired_by_the_next(index, folder, at):
    index.pause = 0.02
    process = child(FETCH)
    wait_for(lambda: index.sent >= at, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    left = files(folder)
    assert NAME not in left
    part = left.get(f"{NAME}.part", b"")
    assert part == WHOLE[: len(part)]
    index.pause = 0
    assert get() is True  # the dead process holds no lock
    assert files(folder) == {NAME: WHOLE}
    if at > 2 * web.PIECE:
        assert part
        assert "Range" in index.file_requests()[-1]


def test_killed_again_and_again_it_still_comes_to_an_end(index, folder):
    index.pause = 0.02
    for number in range(1, 3):
        process = child(FETCH)
        wait_for(lambda n=number: index.sent >= n * 100_000, process)
        process.kill()
        process.communicate()
    out, _ = child(FETCH).communicate()
    assert out.split() == ["True"]
    assert files(folder) == {NAME: WHOLE}
    assert index.sent < 2 * len(WHOLE)


def test_ctrl_c_stops_at_once_and_keeps_the_part(index, folder):
    index.pause = 0.02
    process = child(FETCH)
    wait_for(lambda: index.sent >= 150_000, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert "KeyboardInterrupt" in err
    (part,) = files(folder).items()
    assert part == (f"{NAME}.part", WHOLE[: len(part[1])])
    assert part[1]


def started_waiting(code: str) -> subprocess.Popen[str]:
    """Start a second process, and return when it says that it waits."""
    process = child(code)
    for line in process.stderr:
        if line.startswith(f"waiting for another process that is at {NAME}"):
            return process
    raise AssertionError(process.communicate())


def test_two_processes_fetch_it_once(index, folder):
    index.held.set()
    first = child(FETCH)
    wait_for(lambda: index.sent > 0, first)
    second = started_waiting(
        "with open_source(find_source('tiny')) as a: print(a.names())"
    )
    index.held.clear()
    (out_1, err_1), (out_2, _) = first.communicate(), second.communicate()
    assert out_1.split() == ["True"]
    assert "waiting" not in err_1
    assert "words.txt" in out_2
    assert len(index.file_requests()) == 1
    assert files(folder) == {NAME: WHOLE}


def test_when_the_first_process_dies_the_waiting_one_goes_on(index, folder):
    index.held.set()
    first = child(FETCH)
    wait_for(lambda: index.sent > 0, first)
    second = started_waiting(FETCH)
    first.kill()
    first.communicate()
    index.held.clear()
    out, _ = second.communicate()
    assert out.split() == ["True"]
    assert files(folder) == {NAME: WHOLE}


def test_several_archives_of_a_source_are_each_fetched(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(999, seed=1)}
    with tiny_index(monkeypatch, folder, Behaviour(files=both)):
        for archive in sources()["tiny"].archives:
            assert fetch("tiny", archive) is True
            open_source(find_source("tiny"), archive.filename).close()
    assert files(folder) == both


def test_the_real_table_is_whole():
    filenames = [a.filename for s in sources().values() for a in s.archives]
    assert len(filenames) == len(set(filenames)) == 17
    for source in sources().values():
        assert source.licence
        assert source.citation
        assert source_of(*source.archives).size == source.size
        for archive in source.archives:
            assert archive.filename.startswith(f"{archive.project}-{archive.version}")
            assert len(bytes.fromhex(archive.sha256)) == 32


def test_reading_what_is_here_imports_no_network_library():
    code = (
        "import sys; from unrolled.data.fetch.store import open_source\n"
        "from unrolled.data.corpora.weather import SOURCE\n"
        "open_source(SOURCE).close()\n"
        "print({'requests', 'urllib3', 'pypi_simple', 'http'} & set(sys.modules))"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert out.strip() == "set()"
