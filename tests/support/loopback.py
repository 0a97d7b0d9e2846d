"""A package index on this machine that behaves, or misbehaves, as a test wants."""

import base64
import hashlib
import io
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import pytest

import unrolled
from unrolled.data.catalogue import sources
from unrolled.data.fetch import download
from unrolled.data.fetch.sources import Archive, Source

HERE, PACKAGE = Path(__file__).parent, Path(unrolled.__file__).parent
PIECE = 1 << 14
WHOLE_NAME = "tiny-1.0-py3-none-any.whl"
HTML = "application/vnd.pypi.simple.v1+html"
JSON = "application/vnd.pypi.simple.v1+json"


def tiny_zip(n_bytes: int = 300_000, seed: int = 0) -> bytes:
    """Return a zip of a text and of noise, which does not shrink."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {
            "tiny/words.txt": b"In the beginning\n" * 20,
            "tiny/noise.bin": Random(seed).randbytes(n_bytes),
        }.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def archive_of(content: bytes, filename: str = WHOLE_NAME) -> Archive:
    """Return the entry of our table for a file of this content."""
    return Archive(
        project="tiny",
        version="1.0",
        filename=filename,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )


def source_of(*archives: Archive) -> Source:
    """Return a source of these archives."""
    return Source(name="tiny", archives=archives, licence="CC0", citation="nobody")


@dataclass
class Behaviour:
    """What the index does; lists are used up, one entry a request."""

    files: dict[str, bytes] = field(default_factory=dict)
    style: str = HTML
    ranges: bool = True
    range_shift: int = 0  # lies about where a range begins
    claims: dict[str, Any] = field(default_factory=dict)  # of the JSON page
    digest: str | None = None  # what the page says of the files
    yanked: bool = False
    page: bytes | None = None  # instead of a proper one
    page_headers: dict[str, str] = field(default_factory=dict)
    location: str | None = None  # where it sends on who asks for a file
    no_ranges: bool = False  # answers 416 to every range
    length: str | None = None  # what it says for a length instead of the truth
    reason: str | None = None  # the words after a status
    lengths: bool = True  # send Content-Length
    page_statuses: list[int] = field(default_factory=list)
    file_statuses: list[int] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)  # bytes after which it hangs up
    pause: float = 0.0  # seconds a piece
    login: tuple[str, str] | None = None
    elsewhere: str | None = None  # another host for the files
    encoding: str | None = None
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    sent: int = 0
    held: threading.Event = field(default_factory=threading.Event)  # stops it midway

    def file_requests(self) -> list[dict[str, str]]:
        """Return the headers of the requests for files."""
        return [headers for path, headers in self.asked if path.startswith("/files/")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behaviour: Behaviour

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        do = self.behaviour
        self.path = urlsplit(self.path).path  # a proxy is asked for whole addresses
        do.asked.append((self.path, dict(self.headers)))
        if do.login and not self._is_welcome():
            return self._answer(401, b"")
        if self.path.startswith("/files/"):
            return self._file()
        status = do.page_statuses.pop(0) if do.page_statuses else 200
        if self.path != "/simple/tiny/":
            status = 404
        body = self._page() if status == 200 else b""
        self._answer(status, body, do.style, do.page_headers)

    def _is_welcome(self) -> bool:
        word = base64.b64encode(":".join(self.behaviour.login or ()).encode()).decode()
        return self.headers.get("Authorization") == f"Basic {word}"

    def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "text/plain",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.send_response(status, self.behaviour.reason)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _page(self) -> bytes:
        do = self.behaviour
        if do.page is not None:
            return do.page
        base = do.elsewhere or ""
        rows = [
            (
                name,
                f"{base}/files/{name}",
                do.digest or hashlib.sha256(data).hexdigest(),
            )
            for name, data in do.files.items()
        ]
        if do.style == JSON:
            files = [
                {"filename": name, "url": url, "hashes": {"sha256": digest}}
                | {"yanked": do.yanked}
                | do.claims
                for name, url, digest in rows
            ]
            page = {"meta": {"api-version": "1.0"}, "name": "tiny", "files": files}
            return json.dumps(page).encode()
        yanked = ' data-yanked="spoilt"' if do.yanked else ""
        return "".join(
            f'<a href="{url}#sha256={digest}"{yanked}>{name}</a>'
            for name, url, digest in rows
        ).encode()

    def _file(self) -> None:
        do = self.behaviour
        status = do.file_statuses.pop(0) if do.file_statuses else 200
        data = do.files.get(self.path.removeprefix("/files/"))
        if do.location is not None:
            return self._answer(302, b"", headers={"Location": do.location})
        if status != 200 or data is None:
            return self._answer(404 if data is None else status, b"")
        if do.no_ranges and "Range" in self.headers:
            return self._answer(416, b"")
        start = 0
        if do.ranges and (asked := self.headers.get("Range")):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                return self._answer(416, b"")
            self.send_response(206)
            told = f"bytes {start + do.range_shift}-{len(data) - 1}/{len(data)}"
            self.send_header("Content-Range", told)
        else:
            self.send_response(200)
        if do.encoding:
            self.send_header("Content-Encoding", do.encoding)
        if do.lengths and not do.length:
            self.send_header("Content-Length", str(len(data) - start))
        else:
            if do.length:
                self.send_header("Content-Length", do.length)
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self._send(data[start:])

    def _send(self, body: bytes) -> None:
        do = self.behaviour
        stop = do.drops.pop(0) if do.drops else len(body)
        for at in range(0, min(stop, len(body)), PIECE):
            piece = body[at : min(at + PIECE, stop)]
            try:
                self.wfile.write(piece)
            except OSError:  # who asked is gone
                break
            do.sent += len(piece)
            time.sleep(do.pause)
            while do.held.is_set():
                time.sleep(0.005)
        if stop < len(body):
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about callers that hang up."""


@contextmanager
def loopback(behaviour: Behaviour, *, cert: Path | None = None) -> Iterator[str]:
    """Serve on this machine, by TLS if given a certificate; yield the address."""
    handler = type("Handler", (_Handler,), {"behaviour": behaviour})
    server = _Server(("127.0.0.1", 0), handler)
    if cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http{'s' if cert else ''}://127.0.0.1:{server.server_port}/simple/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def tiny_index(
    monkeypatch: pytest.MonkeyPatch, folder: Path, behaviour: Behaviour | None = None
) -> Iterator[Behaviour]:
    """Make the source ``tiny``, an index that has it, and a fresh folder for it.

    The user's own settings are out of the way; pauses between tries are short.
    """
    do = behaviour or Behaviour(files={WHOLE_NAME: tiny_zip()})
    archives = [archive_of(data, name) for name, data in do.files.items()]
    for name in list(os.environ):
        if name.upper().startswith(("PIP_", "UV_")) or "_PROXY" in name.upper():
            monkeypatch.delenv(name)
    with loopback(do) as address:
        table = json.dumps(asdict(archives[0]))
        for name, value in {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": address,
            "UNROLLED_DATA": str(folder),
            "UNROLLED_OFFLINE": "0",
            "PYTHONPATH": os.pathsep.join(map(str, (HERE, PACKAGE.parent))),
            "TINY": table,
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(download, "_PAUSES", (0.01, 0.01, 0.01))
        monkeypatch.setitem(sources(), "tiny", source_of(*archives))
        yield do


def child(code: str) -> "subprocess.Popen[str]":
    """Start a process of its own that knows ``tiny``, with all settings of the test."""
    program = (
        "import tiny_table; archive = tiny_table.install()\n"
        "from unrolled.data.catalogue import find_source\n"
        "from unrolled.data.fetch.store import fetch, open_source, unpack\n" + code
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
