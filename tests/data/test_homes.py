"""Downloads from elsewhere: only when asked, only what the table says, kept once."""

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from homes_server import Loopback
from unrolled import cli
from unrolled.data.fetch import homes
from unrolled.data.fetch.homes import HomeError, fetch_from_home, home_file, home_folder
from unrolled.data.fetch.homes_table import HOMES, Home, HomeFile

FILES = {"/a/one.txt": b"first\n" * 999, "/a/two.bin": bytes(range(256)) * 400}
CONTENTS = {path.rpartition("/")[2]: content for path, content in FILES.items()}
WANTED = (
    "tiny_shakespeare wikitext2 imdb tatoeba multi30k ewt bert gpt2".split()
)  # what issue 4 asks for


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNROLLED_DATA", str(tmp_path))
    monkeypatch.delenv("UNROLLED_OFFLINE", raising=False)
    return tmp_path / "elsewhere" / "toy"


@pytest.fixture
def server(monkeypatch):
    """Serve a home called toy on loopback, and enter it in the table."""
    with Loopback(FILES) as running:
        files = tuple(
            HomeFile(
                url=running.address + path,
                size=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
            )
            for path, content in FILES.items()
        )
        home = Home(name="toy", files=files, licence="none", citation="us")
        monkeypatch.setitem(HOMES, "toy", home)
        yield running


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_table_is_whole():
    assert list(HOMES) == WANTED
    assert all(name == home.name for name, home in HOMES.items())
    for home in HOMES.values():
        assert home.licence
        assert home.citation
        assert home.files
        names = [file.filename for file in home.files]
        assert len(set(names)) == len(names)
        assert home.size == sum(file.size for file in home.files)


def test_every_file_is_pinned():
    files = [file for home in HOMES.values() for file in home.files]
    assert len({file.sha256 for file in files}) == len(files) == 22
    assert len({file.url for file in files}) == len(files)
    for file in files:
        url = urlsplit(file.url)
        assert url.scheme == "https"
        assert not url.query
        assert "//" not in url.path
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert re.fullmatch(r"[\w.-]+", file.filename)
        assert file.size > 500
        if url.hostname != "ai.stanford.edu":  # which keeps no history
            assert re.search(r"/[0-9a-f]{40}/", url.path)


def test_hosts_are_named_in_the_table_alone():
    hosts = {urlsplit(f.url).hostname for home in HOMES.values() for f in home.files}
    package = Path(homes.__file__).parents[2]
    naming = {
        path.name
        for path in package.rglob("*.py")
        if any(host in path.read_text(encoding="utf-8") for host in hosts)
    }
    assert naming == {"homes_table.py"}


def test_the_first_call_downloads_and_the_second_does_not_ask(server, folder, capsys):
    assert fetch_from_home("toy") == folder
    assert kept(folder) == CONTENTS
    assert server.asked == list(FILES)
    progress = capsys.readouterr().err
    assert "one.txt" in progress
    assert "102k" in progress  # 102,400 bytes of two.bin
    server.files.clear()
    assert fetch_from_home("toy") == folder
    assert server.asked == list(FILES)


def test_progress_can_be_silent(server, capsys):
    fetch_from_home("toy", progress=False)
    assert "%" not in capsys.readouterr().err


def test_without_the_server_the_cache_is_enough(server, folder, monkeypatch):
    fetch_from_home("toy")
    server.stop()
    monkeypatch.setenv("UNROLLED_OFFLINE", "1")
    assert fetch_from_home("toy") == folder


def test_a_file_that_was_damaged_or_lost_comes_anew(server, folder):
    fetch_from_home("toy")
    (folder / "two.bin").write_bytes(b"rotten")
    fetch_from_home("toy")
    assert server.asked == [*FILES, "/a/two.bin"]
    (folder / "one.txt").unlink()
    fetch_from_home("toy")
    assert server.asked == [*FILES, "/a/two.bin", "/a/one.txt"]
    assert kept(folder) == CONTENTS


def test_what_a_killed_download_left_is_swept(server, folder):
    folder.mkdir(parents=True)
    (folder / "tmp4x1").write_bytes(b"half")
    fetch_from_home("toy")
    assert set(kept(folder)) == {"one.txt", "two.bin"}


def complaint(name: str = "toy") -> str:
    with pytest.raises(HomeError) as caught:
        fetch_from_home(name, progress=False)
    return str(caught.value)


def said(server: Loopback, folder: Path, path: str, why: str, remedy: str) -> str:
    """Return the whole message that is due for ``path``."""
    file = path.rpartition("/")[2]
    digest = hashlib.sha256(FILES[path]).hexdigest()
    return (
        f"toy: {file} could not be had from {server.address}{path}: {why}. The book "
        f"never needs it. {remedy}. A copy from elsewhere will do as {folder / file}, "
        f"if its sha256 is {digest}"
    )


def test_a_wrong_file_is_refused_and_leaves_nothing(server, folder):
    server.files["/a/one.txt"] = b"something else"
    assert complaint() == said(
        server,
        folder,
        "/a/one.txt",
        "what came has another sha256, and is deleted",
        "Try again; if it stays so, the home has changed the file",
    )
    assert kept(folder) == {}


def test_a_wrong_second_file_leaves_the_first(server, folder):
    server.files["/a/two.bin"] += b"!"
    assert "two.bin" in complaint()
    assert kept(folder) == {"one.txt": FILES["/a/one.txt"]}
    server.files = dict(FILES)
    fetch_from_home("toy")
    assert server.asked == [*FILES, "/a/two.bin"]


@pytest.mark.parametrize(
    ("status", "why", "remedy"),
    [
        (404, "the server answers 404 Not Found", "The file may have moved"),
        (403, "the server answers 403 Forbidden", "The file may have moved"),
        (
            503,
            "the server answers 503 Service Unavailable",
            "Try again later: what has arrived is kept",
        ),
    ],
)
def test_a_server_that_says_no_is_quoted(server, folder, status, why, remedy):
    server.broken["/a/one.txt"] = status
    assert complaint() == said(server, folder, "/a/one.txt", why, remedy)
    assert kept(folder) == {}


AGAIN = "Look at your network or proxy and try again: what has arrived is kept"


def test_a_download_that_breaks_off_leaves_nothing(server, folder):
    server.cut.add("/a/one.txt")
    why = "no whole answer came (ChunkedEncodingError)"
    assert complaint() == said(server, folder, "/a/one.txt", why, AGAIN)
    assert kept(folder) == {}


def test_no_network_is_said_plainly(server, folder):
    server.stop()
    why = "no whole answer came (ConnectionError)"
    assert complaint() == said(server, folder, "/a/one.txt", why, AGAIN)
    assert kept(folder) == {}


def test_offline_refuses_before_anything_is_asked(server, folder, monkeypatch):
    monkeypatch.setenv("UNROLLED_OFFLINE", "1")
    assert complaint() == said(
        server,
        folder,
        "/a/one.txt",
        "UNROLLED_OFFLINE forbids downloads",
        "Unset it and try again",
    )
    assert server.asked == []
    monkeypatch.setenv("UNROLLED_OFFLINE", "0")
    fetch_from_home("toy")
    assert server.asked == list(FILES)


@pytest.mark.parametrize("scheme", ["ftp", "file", "sftp"])
def test_only_http_is_spoken(folder, monkeypatch, tmp_path, scheme):
    secret = tmp_path / "secret.txt"
    secret.write_bytes(b"local")
    digest = hashlib.sha256(b"local").hexdigest()
    file = HomeFile(url=f"{scheme}://{secret}", size=5, sha256=digest)
    home = Home(name="toy", files=(file,), licence="none", citation="us")
    monkeypatch.setitem(HOMES, "toy", home)
    assert "no whole answer came (InvalidSchema)" in complaint()
    assert kept(folder) == {}


def test_a_file_not_fetched_yet_says_how_to_get_it(server, folder):
    with pytest.raises(HomeError) as caught:
        home_file("toy", "one.txt")
    assert str(caught.value) == (
        f"toy: one.txt is not in {folder}. The book never needs it. To get it (0.1 MB) "
        "run 'unrolled data elsewhere toy'"
    )
    assert server.asked == []
    fetch_from_home("toy")
    assert home_file("toy", "one.txt") == folder / "one.txt"


@pytest.mark.parametrize("call", [fetch_from_home, home_folder])
def test_an_unknown_name_is_answered_with_the_known_ones(call):
    message = re.escape("name='penn' is not one of " + ", ".join(HOMES))
    with pytest.raises(ValueError, match=message):
        call("penn")


def test_the_command_lists_the_homes_and_fetches_one(server, folder):
    listed = CliRunner().invoke(cli.app, ["data", "elsewhere"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in WANTED)
    assert server.asked == []
    got = CliRunner().invoke(cli.app, ["data", "elsewhere", "toy"])
    assert got.exit_code == 0
    assert str(folder) in got.output.replace("\n", "")
    assert kept(folder) == CONTENTS


def test_the_command_names_what_there_is():
    got = CliRunner().invoke(cli.app, ["data", "elsewhere", "mnist"])
    assert got.exit_code == 1
    assert "'mnist' is not one of tiny_shakespeare, wikitext2" in got.stderr
    assert "Traceback" not in got.output
