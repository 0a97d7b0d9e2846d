"""The user's own index: settings as pip reads them, and passwords told to nobody."""

import ast
import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
import requests
from requests.adapters import HTTPAdapter

from loopback import HTML, JSON, Behaviour, archive_of, loopback, tiny_index
from loopback import WHOLE_NAME as NAME
from unrolled.data.catalogue import sources
from unrolled.data.fetch import download, settings
from unrolled.data.fetch import index as index_module
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.settings import Settings, pip_settings, read_settings
from unrolled.data.fetch.store import fetch

DEFAULT = "https://default.invalid/simple/"
CERT = Path(__file__).parents[1] / "support" / "loopback.pem"


@pytest.fixture(name="home")
def _home(monkeypatch, tmp_path) -> Path:
    """A user without any settings, but for those of the machine."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    return tmp_path


@pytest.fixture(name="bare")
def _bare(home, monkeypatch) -> Path:
    """Not even those of the machine."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return home


@pytest.fixture(name="index")
def _index(monkeypatch, tmp_path):
    with tiny_index(monkeypatch, tmp_path / "data") as do:
        yield do


def get() -> bool:
    return fetch("tiny", sources()["tiny"].archives[0])


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def pips_own() -> dict[str, str]:
    """Return what pip itself says, for the command install: the oracle."""
    out = subprocess.check_output(
        [sys.executable, "-m", "pip", "config", "list"], text=True
    )
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in out.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section in found:
            found[section][name] = ast.literal_eval(value)
    return found["global"] | found["install"] | found[":env:"]


def test_settings_are_those_of_pip(home, monkeypatch):
    """Every kind of file, in the order in which they win, and the variables."""
    write(home / "one/pip/pip.conf", "[global]\nindex-url = http://a\nproxy = http://p")
    write(home / "two/pip/pip.conf", "[global]\nindex-url = http://b\ntimeout = 7")
    write(home / ".pip/pip.conf", "[global]\nindex-url = http://c\nretries = 1")
    assert pip_settings(os.environ) == pips_own()
    text = "[install]\nretries = 2\nextra-index-url =\n  http://e\n  f\n"
    write(home / ".config/pip/pip.conf", f"{text}[global]\nindex_url = http://d")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "g h")
    ours = pip_settings(os.environ)
    assert ours == pips_own()
    assert ours["index-url"] == "http://d"
    assert ours["extra-index-url"].split() == ["http://e", "f"]
    assert ours["timeout"] == "7"
    assert ours["retries"] == "2"
    assert ours["trusted-host"] == "g h"


def test_the_file_that_is_chosen_wins_over_the_users(home, monkeypatch):
    write(home / ".config/pip/pip.conf", "[global]\nindex-url = http://user\nx = 1")
    write(home / "mine.conf", "[global]\nindex-url = http://mine")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(home / "mine.conf"))
    ours = pip_settings(os.environ)
    theirs = pips_own()
    for settled in (ours, theirs):
        assert settled["index-url"] == "http://mine"
        assert "x" not in settled
    monkeypatch.setenv("PIP_CONFIG_FILE", str(home / "gone.conf"))
    assert pip_settings(os.environ)["index-url"] == "http://user"


def test_the_environments_own_file_is_read(bare, monkeypatch):
    write(bare / "prefix/pip.conf", "[global]\nindex-url = http://prefix")
    monkeypatch.setattr(sys, "prefix", str(bare / "prefix"))
    assert pip_settings(os.environ).get("index-url") is None
    monkeypatch.delenv("PIP_CONFIG_FILE")
    assert pip_settings(os.environ)["index-url"] == "http://prefix"


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_have_their_files_elsewhere(bare, monkeypatch, platform):
    monkeypatch.delenv("PIP_CONFIG_FILE")
    monkeypatch.setattr(sys, "platform", platform)
    names = {path.name for path in settings.pip_files()}
    assert names == {"pip.ini" if platform == "win32" else "pip.conf"}
    assert Path("/etc/pip.conf") not in settings.pip_files()


@pytest.mark.parametrize("content", [b"index-url = x", b"[global\n", b"\xff\xfe\x00[g"])
def test_a_broken_file_is_said_and_no_other_index_asked(home, content):
    """It may hold a password, so what is in it is not shown."""
    file = home / ".config/pip/pip.conf"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"pip's settings in {file} cannot be") as told:
        read_settings(DEFAULT)
    assert "Mend the file" in str(told.value)
    assert "index-url" not in "".join(traceback.format_exception(told.value))


@pytest.mark.parametrize(
    ("said", "forbidden"),
    [(w, True) for w in ("1", "y", "t", "on", "yes", "TRUE")]
    + [(w, False) for w in ("0", "n", "f", "off", "no", "False")],
)
def test_no_index_is_said_in_pips_words(bare, monkeypatch, said, forbidden):
    monkeypatch.setenv("PIP_NO_INDEX", said)
    assert read_settings(DEFAULT).indexes == (() if forbidden else (DEFAULT,))


def test_no_index_in_other_words_is_an_error(bare, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "perhaps")
    with pytest.raises(DataError, match="no-index is neither yes nor no"):
        read_settings(DEFAULT)


def test_without_settings_there_is_the_default(bare):
    assert read_settings(DEFAULT) == Settings(indexes=(DEFAULT,))


def test_all_that_pip_knows_is_taken_over(bare, monkeypatch):
    for name, value in {
        "INDEX_URL": "http://a/simple",
        "EXTRA_INDEX_URL": "http://b/simple file:///c http://a/simple",
        "FIND_LINKS": "/folder file:///other",
        "CERT": "/x.pem",
        "CLIENT_CERT": "/y.pem",
        "PROXY": "http://p:1",
        "TRUSTED_HOST": "h:1 i",
        "DEFAULT_TIMEOUT": "77",
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    assert read_settings(DEFAULT) == Settings(
        indexes=("http://a/simple", "http://b/simple", "file:///c"),
        find_links=("/folder", "file:///other"),
        cert="/x.pem",
        client_cert="/y.pem",
        proxy="http://p:1",
        trusted_hosts=("h:1", "i"),
        timeout=77.0,
    )


@pytest.mark.parametrize(
    ("said", "meant"), [("soon", 30), ("0", 1), ("1e9", 300), ("nan", 1)]
)
def test_a_timeout_is_kept_sane(bare, monkeypatch, said, meant):
    monkeypatch.setenv("PIP_TIMEOUT", said)
    assert read_settings(DEFAULT).timeout == meant


@pytest.mark.parametrize(
    ("variables", "indexes"),
    [
        ({"UV_DEFAULT_INDEX": "http://a"}, ["http://a"]),
        ({"UV_DEFAULT_INDEX": "mine=http://a?x=1"}, ["http://a?x=1"]),
        ({"UV_INDEX_URL": "http://a"}, ["http://a"]),
        ({"UV_INDEX_URL": "http://a", "UV_DEFAULT_INDEX": "http://b"}, ["http://b"]),
        ({"UV_INDEX": "b=http://b http://c"}, [DEFAULT, "http://b", "http://c"]),
        ({"UV_EXTRA_INDEX_URL": "http://b"}, [DEFAULT, "http://b"]),
        ({"UV_INDEX_URL": "http://a", "PIP_INDEX_URL": "http://p"}, ["http://p"]),
        ({"PIP_INDEX_URL": ""}, [DEFAULT]),
        ({"PIP_NO_INDEX": "true", "PIP_INDEX_URL": "http://p"}, []),
        ({"PIP_NO_INDEX": "0"}, [DEFAULT]),
    ],
)
def test_uv_is_heard_where_pip_says_nothing(bare, monkeypatch, variables, indexes):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert list(read_settings(DEFAULT).indexes) == indexes


def with_login(login: str) -> str:
    return os.environ["PIP_INDEX_URL"].replace("http://", f"http://{login}@")


@pytest.mark.parametrize(
    ("login", "text"),
    [
        (("me", "s3cret"), "me:s3cret"),
        (("m@", "s3/ét"), "m%40:s3%2F%C3%A9t"),
        (("token", ""), "token"),
    ],
)
def test_name_and_password_are_sent_to_the_index(index, monkeypatch, login, text):
    index.login = login
    monkeypatch.setenv("PIP_INDEX_URL", with_login(text))
    assert get() is True


def test_a_password_goes_to_no_other_host(index, monkeypatch):
    index.login = ("me", "s3cret")
    monkeypatch.setenv("PIP_INDEX_URL", with_login("me:s3cret"))
    other = Behaviour(files=dict(index.files))
    with loopback(other) as address:
        index.elsewhere = address.removesuffix("/simple/")
        get()
    assert "Authorization" in index.asked[0][1]
    (headers,) = other.file_requests()
    assert "Authorization" not in headers
    assert "s3cret" not in str(headers)


@pytest.mark.parametrize(
    ("address", "link", "is_sent"),
    [
        ("https://me:pw@host/simple", "https://host/x", True),
        ("https://me:pw@host/simple", "https://host:443/x", True),
        ("https://me:pw@HOST/simple", "https://host/x", True),
        ("https://me:pw@host/simple", "https://HOST/x", True),
        (
            "https://me:pw@b\u00fccher.example/simple",
            "https://xn--bcher-kva.example",
            True,
        ),
        ("https://me:pw@[::1]/simple", "https://[::1]:443/x", True),
        ("https://me:pw@host/simple", "http://host/x", False),
        ("https://me:pw@host/simple", "http://host:443/x", False),
        ("http://me:pw@host/simple", "https://host/x", False),
        ("https://me:pw@host/simple", "https://host:8443/x", False),
        ("https://me:pw@host/simple", "https://host.evil/x", False),
        ("https://me:pw@host/simple", "https://host@evil/x", False),
    ],
)
def test_a_password_is_for_scheme_host_and_port(address, link, is_sent):
    session = index_module._index(address, Settings(indexes=())).session
    prepared = session.prepare_request(requests.Request("GET", link))
    told = requests.auth._basic_auth_str("me", "pw")
    assert (prepared.headers.get("Authorization") == told) == is_sent


def test_a_host_in_capitals_gets_its_password(index, monkeypatch):
    index.login = ("me", "s3cret")
    address = with_login("me:s3cret").replace("127.0.0.1", "LOCALHOST")
    monkeypatch.setenv("PIP_INDEX_URL", address)
    assert get() is True


def test_a_path_is_not_shown_for_it_may_be_a_token(index, monkeypatch):
    address = os.environ["PIP_INDEX_URL"].replace("simple", "s3cret/simple")
    monkeypatch.setenv("PIP_INDEX_URL", address)
    with pytest.raises(DataError, match=r"http://127.0.0.1:\d+/\.\.\.: ") as caught:
        get()
    assert "s3cret" not in str(caught.value)


def test_what_a_server_says_cannot_steer_the_terminal(index):
    index.reason, index.page_statuses = "\x1b[2Jno" + "o" * 9999, [403]
    with pytest.raises(DataError, match=r"HTTP 403 \?\[2Jno") as caught:
        get()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def spoil(index: Behaviour, how: str) -> None:
    index.login = ("me", "other") if how == "login" else ("me", "s3cret")
    if how == "page":
        index.style, index.page = JSON, b"{"
    elif how == "file":
        index.file_statuses = [403]
    elif how == "missing":
        index.page_statuses = [404]
    elif how == "trouble":
        index.page_statuses = [500] * 9
    elif how == "drop":
        index.drops = [10] * 9
    elif how == "digest":
        index.digest = archive_of(b"").sha256


@pytest.mark.parametrize(
    "how", ["login", "page", "file", "missing", "trouble", "drop", "digest", "dead"]
)
def test_a_password_is_in_no_message_and_no_log(index, monkeypatch, capfd, caplog, how):
    spoil(index, how)
    address = with_login("me:s3cret")
    if how == "dead":
        address = "http://me:s3cret@127.0.0.1:9/simple"
    monkeypatch.setenv("PIP_INDEX_URL", address)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "ftp://me:s3cret@host/simple")
    caplog.set_level(logging.DEBUG)
    with pytest.raises(DataError) as caught:
        get()
    shown = "".join(traceback.format_exception(caught.value))
    shown += str(capfd.readouterr()) + caplog.text
    assert NAME in shown
    assert "s3cret" not in shown


def test_an_address_in_a_page_keeps_its_secret_too(index):
    """Some indexes sign the addresses of their files."""
    host = os.environ["PIP_INDEX_URL"].removesuffix("/simple/")
    signed = f"{host}/files/gone?signature=s3cret"
    index.page = f'<a href="{signed}">{NAME}</a>'.encode()
    with pytest.raises(DataError, match="HTTP 404") as caught:
        get()
    assert "s3cret" not in str(caught.value)


@pytest.fixture(name="secure")
def _secure(index, monkeypatch):
    """The same index behind TLS, with a certificate that nobody knows."""
    with loopback(index, cert=CERT) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        yield address


def test_an_unknown_certificate_is_refused(secure, index):
    with pytest.raises(DataError, match=r"the certificate of 127.0.0.1:\d+ is not tr"):
        get()
    assert index.asked == []


def test_the_users_certificate_is_used(secure, monkeypatch):
    monkeypatch.setenv("PIP_CERT", str(CERT))
    assert get() is True


@pytest.mark.parametrize("setting", ["PIP_CERT", "PIP_CLIENT_CERT"])
def test_a_certificate_that_is_not_there_is_named(secure, monkeypatch, setting):
    monkeypatch.setenv("PIP_CERT", str(CERT))
    monkeypatch.setenv(setting, "/nowhere.pem")
    with pytest.raises(DataError, match=rf"invalid path: /nowhere.pem.*{setting}") as e:
        get()
    assert "written" not in str(e.value)


@pytest.mark.parametrize("port", [True, False])
def test_a_trusted_host_needs_no_certificate(secure, monkeypatch, port):
    host = secure.split("/")[2]
    monkeypatch.setenv("PIP_TRUSTED_HOST", host if port else host.split(":")[0])
    assert get() is True


def test_trust_is_for_the_hosts_that_are_named(secure, monkeypatch):
    monkeypatch.setenv("PIP_TRUSTED_HOST", "127.0.0.2 127.0.0.1:9")
    with pytest.raises(DataError, match="is not trusted here"):
        get()


@pytest.mark.parametrize(
    ("address", "verify"),
    [
        ("https://good.example/x", False),
        ("https://GOOD.example:99/x", False),
        ("https://port.example:8443/x", False),
        ("https://port.example/x", True),
        ("https://good.example:pw@evil.example/x", True),
        ("https://good.example.evil/x", True),
    ],
)
def test_only_the_very_host_is_trusted(monkeypatch, address, verify):
    asked = []

    def send(self, request, **kwargs):
        asked.append(kwargs["verify"])

    monkeypatch.setattr(HTTPAdapter, "send", send)
    hosts = ("good.example", "port.example:8443")
    session = index_module._session(Settings(indexes=(), trusted_hosts=hosts))
    prepared = requests.Request("GET", address).prepare()
    session.get_adapter(address).send(prepared, verify=True)
    assert asked == [verify]


def test_the_users_proxy_is_used_with_its_password(index, monkeypatch):
    proxy = with_login("me:s3cret").removesuffix("/simple/")
    monkeypatch.setenv("PIP_PROXY", proxy)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # pip's own wins
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple/")
    assert get() is True
    assert all(h["Host"] == "index.invalid" for _, h in index.asked)
    assert "Proxy-Authorization" in index.asked[0][1]


def test_a_dead_proxy_is_said_as_such_without_its_password(index, monkeypatch):
    monkeypatch.setenv("PIP_PROXY", "http://me:s3cret@127.0.0.1:9")
    with pytest.raises(DataError, match="the proxy does not let us through") as caught:
        get()
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        "https://:x/simple",
        "http://[/simple",
        "http://me:s3cret/x@host/simple",
        "http://me:12s3cret/s3cret@host/simple",
        "http://me:12/s3cret@host/simple",
    ],
)
def test_an_address_that_is_none_is_a_clear_error(index, monkeypatch, address):
    monkeypatch.setenv("PIP_INDEX_URL", address)
    with pytest.raises(DataError, match=f"{NAME} cannot be fetched") as caught:
        get()
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("style", [HTML, JSON])
@pytest.mark.parametrize("link", ["http://[/x", "http://", "//[", "https:///x"])
def test_a_link_that_is_none_is_a_clear_error(index, link, style):
    index.style, index.claims = style, {"url": link}
    if style == HTML:
        index.page = f'<a href="{link}">{NAME}</a>'.encode()
    with pytest.raises(DataError, match=f"{NAME} cannot be fetched"):
        get()


def test_each_try_waits_longer(index, monkeypatch):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    monkeypatch.setattr(download, "_PAUSES", (0.5, 1.0, 2.0))
    index.page_statuses = [500] * 9
    with pytest.raises(DataError, match="HTTP 500"):
        get()
    assert pauses == [0.5, 1.0, 2.0]


NOT_OURS = b"not the file of the table"


def filled(folder: Path, content: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(content)
    return folder


@pytest.mark.parametrize("form", ["path", "address", "index", "among others"])
@pytest.mark.parametrize("forbidden", [True, False])
def test_a_folder_that_pip_takes_files_from_serves(
    index, monkeypatch, tmp_path, form, forbidden
):
    whole = index.files[NAME]
    if form == "index":
        filled(tmp_path / "my simple" / "tiny", whole)
        address = (tmp_path / "my simple").as_uri()
        monkeypatch.setenv("PIP_INDEX_URL", address)
    else:
        folder = filled(tmp_path / "wheels", whole)
        place = folder.as_uri() if form == "address" else str(folder)
        others = "http://127.0.0.1:9/links /nowhere file://[ " * (form != "path")
        monkeypatch.setenv("PIP_FIND_LINKS", others + place)
    if forbidden and form != "index":
        monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert get() is True
    assert (tmp_path / "data" / NAME).read_bytes() == whole
    assert index.asked == []


def test_a_wrong_file_in_a_folder_is_named_and_the_index_asked(
    index, monkeypatch, tmp_path
):
    folder = filled(tmp_path / "wheels", NOT_OURS)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    assert get() is True
    (tmp_path / "data" / NAME).unlink()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(DataError, match=rf"{folder / NAME}: it has 25 bytes, not"):
        get()


def test_without_any_place_it_says_where_to_put_the_file(index, monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(DataError, match=rf"Put it into {tmp_path / 'data'} by hand"):
        get()
