"""A server on loopback that stands for the homes of famous data."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class Loopback:
    """Serves ``files`` by path; ``asked`` are the paths it was asked for, in order.

    A path that is missing gets 404; one in ``broken`` gets that status instead, and
    one in ``cut`` breaks off after half of its bytes. ``headers`` are sent with a path,
    ``moved`` says where a path is sent on to, and ``endless`` are sent over and over.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.asked: list[str] = []
        self.broken: dict[str, int] = {}
        self.cut: set[str] = set()
        self.endless: set[str] = set()
        self.moved: dict[str, str] = {}
        self.headers: dict[str, tuple[str, str]] = {}
        self.sent = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the port; a second call does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        home = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                home.asked.append(self.path)
                if self.path in home.moved:
                    self.send_response(302)
                    self.send_header("Location", home.moved[self.path])
                    return self.end_headers()
                status = home.broken.get(self.path, 200)
                if status != 200 or self.path not in home.files:
                    return self.send_error(status if status != 200 else 404)
                content = home.files[self.path]
                self.send_response(200)
                if self.path not in home.endless:
                    self.send_header("Content-Length", str(len(content)))
                if self.path in home.headers:
                    self.send_header(*home.headers[self.path])
                self.end_headers()
                half = len(content) // 2 if self.path in home.cut else len(content)
                for _ in range(1000 if self.path in home.endless else 1):
                    try:
                        self.wfile.write(content[:half])
                    except OSError:  # who asked is gone
                        return None
                    home.sent += half
                return None

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
