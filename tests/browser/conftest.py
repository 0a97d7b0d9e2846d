"""A browser for the tests: Chromium, headless, that never leaves this machine."""

import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from pdf.chromium import FLAGS

HTML = Path(__file__).parents[2] / "_build" / "html"

#: JupyterLab's word on a machine that is busy, and none on what it shows.
BUSY = re.compile(r"^Plugin \S+ \(with \d+ dependants\) took [\d.]+ms to activate\.$")
OUTSIDE = re.compile(r"^(?!file:|data:|blob:|https?://(localhost|127\.0\.0\.1)[:/])")


@dataclass
class BlockedPage:
    """A page without a network, and what went wrong or out on it."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_clean(self) -> None:
        assert self.outside == [], "the page asked for something from the network"
        assert self.errors == [], "the page reported errors"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give two processes their shares (``--dist loadgroup``): by page, else by file.

    All tests of a page read the same visit; all of another file share its fixtures. The
    smallest shares, the pages, come last, so that no process ends up waiting for a long
    one.
    """
    items.sort(key=lambda item: item.path.name == "test_book_pages.py")
    for item in items:
        if item.path.parent == Path(__file__).parent:
            call = getattr(item, "callspec", None)
            page = call.params.get("page") if call else None
            group = f"{item.path.name} {page}" if page else item.path.name
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError(
            "no chromium on the PATH: install it (Debian: apt install chromium), or "
            "leave these tests out with -m 'not browser'"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Serve the built book on this machine, and return its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Quiet, directory=str(HTML))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}/"
        http.shutdown()
        thread.join()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., BlockedPage]]:
    """Open pages with options of their own; their outside requests are blocked."""
    contexts = []

    def open_one(**options: object) -> BlockedPage:
        context = browser.new_context(**options)
        context.set_default_timeout(10_000)
        contexts.append(context)
        blocked = BlockedPage(context.new_page())

        def refuse(route) -> None:
            blocked.outside.append(route.request.url)
            route.abort()

        def on_console(message) -> None:
            told = message.type in ("error", "warning")
            if told and not BUSY.match(message.text):
                blocked.errors.append(message.text)

        context.route(OUTSIDE, refuse)
        blocked.page.on("console", on_console)
        blocked.page.on(
            "pageerror",
            lambda error: blocked.errors.append(f"{error}\n{error.stack}"),
        )
        return blocked

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture
def blocked_page(open_page: Callable[..., BlockedPage]) -> BlockedPage:
    """One page with the default options; call ``assert_clean`` at the end."""
    return open_page()
