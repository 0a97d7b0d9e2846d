"""Chapters and exercises inside JupyterLab itself: seen, run, and used by hand.

One server, on this machine alone, with a folder and settings of its own.
"""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect

from unrolled.book.drawing import DRAWN
from unrolled.book.records import CLAIM, QUIZ
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.sheets import code_mark
from unrolled.widgets import MIME as LAB

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
THEMES = ("JupyterLab Light", "JupyterLab Dark")
FIGURE = "image/svg+xml"
RAW = ("{measured}", "{numref}", "{ref}", "{cite", "{eq}", ":::", "```{")
SETTINGS = {
    # No news from elsewhere, and every cell in the page, not those in sight alone.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}


def types_of(notebook: dict[str, Any]) -> list[str]:
    """Return which records and figures a notebook stores, in order."""
    return [
        mime
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        for mime in output.get("data", {})
        if mime in {FIGURE, *DRAWN}
    ]


def quickest() -> Path:
    """Return the chapter that runs in the least time and has one of everything."""
    found = {}
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if {FIGURE, CLAIM, QUIZ, LAB} <= set(types_of(notebook)):
            found[path] = notebook["metadata"]["unrolled"]["seconds"]
    return min(found, key=found.__getitem__)


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: its address, its token and its folder."""

    address: str
    token: str
    folder: Path


@pytest.fixture(scope="module")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "work"
    folder.mkdir()
    for name, values in SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    environment = {k: v for k, v in os.environ.items() if k != "UNROLLED_BOOK"}
    environment |= {name: str(home / part) for name, part in own.items()}
    environment |= {"JUPYTER_TOKEN": token, "MPLBACKEND": "agg"}
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True,  # as in a container
        "LabApp.extension_manager": "readonly",
        "LabApp.expose_app_in_browser": True,
    }
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser"]
            + [f"--{name}={value}" for name, value in options.items()],
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            _wait_for(address, process, home / "log")
            yield Server(address, token, folder)
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)  # it ends its kernels
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"{address}api", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None:
                break
            time.sleep(0.25)
    raise RuntimeError(f"JupyterLab does not start:\n{log.read_text()[-3000:]}")


@dataclass(frozen=True)
class Client:
    """A notebook in a tab of JupyterLab."""

    page: Page
    stored: dict[str, Any]

    def command(self, name: str, **arguments: Any) -> None:
        """Start a command of JupyterLab; when it has ended is for the caller to see."""
        call = "([name, args]) => void window.jupyterapp.commands.execute(name, args)"
        self.page.evaluate(call, [name, arguments])

    def theme(self, name: str) -> None:
        # Its splash screen, shown again within 200 ms, is removed twice: its own error
        splash = self.page.locator("#jupyterlab-splash")
        expect(splash).to_have_count(0, timeout=60_000)
        self.command("apputils:change-theme", theme=name)
        light = str(name == THEMES[0]).lower()
        body = self.page.locator("body")
        soon = 60_000  # a kernel may still be busy, and so may the machine
        expect(body).to_have_attribute("data-jp-theme-light", light, timeout=soon)
        expect(body).to_have_attribute("data-jp-theme-name", name, timeout=soon)
        expect(splash).to_have_count(0, timeout=soon)

    def run_all(self, seconds: float = 120) -> None:
        """Run the notebook to its end, and look for errors."""
        self.command("notebook:clear-all-cell-outputs")
        self.page.wait_for_function(f"() => ({COUNTS})().every((n) => !n)")
        self.command("notebook:run-all-cells")
        self.page.wait_for_function(
            f"() => document.querySelector('{ERROR}') || ({COUNTS})().every((n) => n)",
            timeout=1000 * seconds,
            polling=500,
        )
        assert self.page.locator(ERROR).all_inner_texts() == []

    def n_cells(self) -> int:
        return self.page.locator(".jp-Notebook .jp-Cell").count()

    def check_outputs(self) -> None:
        """Every figure is an image with words, every card styled, no answer open."""
        types = types_of(self.stored)
        figures = self.page.locator(".jp-OutputArea figure.unrolled-figure")
        expect(figures).to_have_count(types.count(FIGURE))
        for seen in figures.all():
            image = seen.locator("img")
            assert image.evaluate("i => i.complete && i.naturalWidth > 100")
            assert len(image.get_attribute("alt") or "") > 40
        words = self.page.locator(".jp-MarkdownCell .jp-RenderedMarkdown")
        captions = words.filter(has_text=CAPTION)
        expect(captions).to_have_count(types.count(FIGURE))
        cards = self.page.locator(".jp-OutputArea .claim")
        expect(cards).to_have_count(types.count(CLAIM))
        for card in cards.all():
            edge = card.evaluate("c => getComputedStyle(c).borderLeftWidth")
            assert edge == "3px", card.inner_text()
        answers = self.page.locator(".jp-OutputArea .quiz details")
        expect(answers).not_to_have_count(0)
        for answer in answers.all():
            assert not answer.locator("p").is_visible()
        text = self.page.locator(".jp-Notebook").inner_text()
        assert "drawn in the page" not in text
        assert "Maybe you need to run the cell" not in text

    def check_contrast(self) -> None:
        """Words in the outputs stand out from what is behind them."""
        for spot in (".claim p", ".quiz summary"):
            seen = self.page.locator(f".jp-OutputArea {spot}").first
            assert seen.evaluate(CONTRAST) >= 4.5, spot


CAPTION = re.compile(r"^\s*Figure \d+\.\d+\.")  # a cell of words below the figure
READY = """async () => {
  const { context, sessionContext } = window.jupyterapp.shell.currentWidget;
  await context.ready;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
  await sessionContext.session.kernel.requestExecute({ code: "" }).done;
}"""
ERROR = '[data-mime-type="application/vnd.jupyter.error"]'
COUNTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .map(({ model }) => model).filter(({ type }) => type === "code")
  .map(({ executionCount }) => executionCount)"""
CONTRAST = """(node) => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ink = light(parts(getComputedStyle(node).color));
  let behind = node;
  const clear = (n) => parts(getComputedStyle(n).backgroundColor)[3] === 0;
  while (behind.parentElement && clear(behind)) behind = behind.parentElement;
  const paper = light(parts(getComputedStyle(behind).backgroundColor));
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}"""


@pytest.fixture
def open_notebook(
    lab_server: Server, open_page: Callable[..., Any]
) -> Iterator[Callable[[Path], Client]]:
    """Open notebooks of the server's folder; at the end nothing has gone wrong."""
    opened = []

    def open_one(path: Path) -> Client:
        blocked = open_page(viewport={"width": 1280, "height": 1000})
        blocked.page.set_default_timeout(20_000)
        opened.append(blocked)
        stored = json.loads(path.read_text(encoding="utf-8"))
        where = f"{lab_server.address}doc/tree/{path.name}?token={lab_server.token}"
        blocked.page.goto(f"{where}&reset")
        cells = blocked.page.locator(".jp-Notebook .jp-Cell")
        expect(cells).to_have_count(len(stored["cells"]), timeout=60_000)
        blocked.page.evaluate(READY)
        return Client(blocked.page, stored)

    yield open_one
    for blocked in opened:
        blocked.assert_clean()


@pytest.fixture
def chapter(lab_server: Server) -> Path:
    """A copy of a chapter's notebook as it is committed: JupyterLab trusts it not."""
    return Path(shutil.copy(quickest(), lab_server.folder))


@pytest.fixture
def made_here(lab_server: Server) -> Callable[..., Path]:
    """Write a small notebook of these cells."""

    def write(*sources: str) -> Path:
        cells = [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "source": source,
                "metadata": {"unrolled": {"alt": "Alt words.", "caption": "Below."}},
                "outputs": [],
                "execution_count": None,
            }
            for i, source in enumerate(sources)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = {"cells": cells, "nbformat": 4, "nbformat_minor": 5}
        path = lab_server.folder / f"made-{secrets.token_hex(4)}.ipynb"
        path.write_text(json.dumps(notebook | {"metadata": {"kernelspec": kernel}}))
        return path

    return write


@pytest.mark.parametrize("theme", THEMES)
def test_a_committed_chapter_is_seen_before_it_is_trusted(
    theme: str, chapter: Path, open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(chapter)
    client.theme(theme)
    client.check_outputs()
    client.check_contrast()
    labs = client.page.locator(".jp-OutputArea .lab-mark a")
    expect(labs).to_have_count(types_of(client.stored).count(LAB))
    client.page.locator(".quiz summary").first.click()
    assert client.page.locator(".quiz details p").first.is_visible()


def test_a_committed_chapter_shows_no_raw_markup(
    chapter: Path, open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(chapter)
    words = client.page.locator(".jp-MarkdownCell .jp-RenderedMarkdown")
    text = "\n".join(words.all_inner_texts())
    assert [sign for sign in RAW if sign in text] == []


def test_a_chapter_that_is_run_shows_the_same(
    chapter: Path, open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(chapter)
    client.run_all(seconds=300)
    expect(client.page.locator(".unrolled-lab")).to_have_count(
        types_of(client.stored).count(LAB)
    )
    for theme in THEMES:
        client.theme(theme)
        client.check_outputs()
        client.check_contrast()


SMALL = (
    "from unrolled.book import claim, lab, question, quiz, show\n"
    "from unrolled.figures.diagrams import draw_unrolled\n"
    "from unrolled.layers.recurrent import RNNCell\n"
    "lab('unroll-it')",
    "quiz('q', question('One?', right='a', because='So.', wrong={'b': 'x', 'c': 'y'}))",
    "draw_unrolled(n_steps=2)",
    "show(RNNCell)",
    "1",
)
KEYS = ("d", "d", "a", "b", "x", "ArrowDown", "ArrowUp", "j", "k", "m", "0", "0")


def test_the_keys_of_a_lab_and_a_quiz_are_their_own(
    made_here: Callable[..., Path], open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(made_here(*SMALL))
    client.run_all()
    page, n = client.page, client.n_cells()
    lab = page.locator(".unrolled-lab")
    active = "() => document.activeElement.outerHTML.slice(0, 300)"
    following = lab.get_by_role("button", name="Next step")
    following.click()
    assert "Step 2" in lab.locator(".lab-where").inner_text()
    answer = page.locator(".quiz summary").first
    others = (lab.locator(kind).first for kind in ("input[type=range]", "select"))
    for spot in (following, *others, answer):
        spot.focus()
        before = spot.evaluate("node => node.outerHTML.slice(0, 60)")
        for key in KEYS:
            page.keyboard.press(key)
        assert before in page.evaluate(active), "the focus has gone elsewhere"
        assert client.n_cells() == n
        assert page.locator(".jp-MarkdownCell").count() == 0
    following.focus()
    where = lab.locator(".lab-where").inner_text()
    page.keyboard.press("Enter")
    assert lab.locator(".lab-where").inner_text() != where
    answer.focus()
    page.keyboard.press("Enter")
    assert page.locator(".quiz details p").first.is_visible()
    page.keyboard.press("Space")
    assert not page.locator(".quiz details p").first.is_visible()
    assert client.n_cells() == n
    assert page.locator(".jp-Notebook.jp-mod-editMode").count() == 0


def test_a_live_figure_has_the_words_of_its_cell_and_a_source_its_colours(
    made_here: Callable[..., Path], open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(made_here(*SMALL))
    client.run_all()
    figure = client.page.locator("figure.unrolled-figure")
    assert figure.locator("img").get_attribute("alt") == "Alt words."
    assert figure.locator("figcaption").inner_text() == "Below."
    source = client.page.locator(".shown-source pre")
    assert "def forward" in source.inner_text()
    assert source.locator("span[style*=color]").count() > 10


def test_a_check_is_a_table_and_unsaved_work_is_not_handed_in(
    lab_server: Server, open_notebook: Callable[[Path], Client]
) -> None:
    source = ROOT / "tests" / "grading" / "fixtures" / "90-all-kinds.md"
    notebook = student_notebook(read_exercise(source))
    calls = ('check("q1")', "submit()")
    notebook.cells += [nbformat.v4.new_code_cell(call) for call in calls]
    path = lab_server.folder / "90-all-kinds.ipynb"
    nbformat.write(notebook, path)
    client = open_notebook(path)
    client.run_all()
    page = client.page
    for theme in THEMES:
        client.theme(theme)
        table = page.locator(".jp-OutputArea table").last
        assert "to do" in table.inner_text()
        assert table.locator("td").first.evaluate(CONTRAST) >= 4.5
        assert table.locator("th[scope=row]").first.evaluate(
            "cell => getComputedStyle(cell).textAlign"
        ) in ("left", "start")
    written = lab_server.folder / "90-all-kinds.submission.ipynb"
    assert written.is_file()
    written.unlink()
    (place,) = [
        i for i, c in enumerate(notebook.cells) if c.source.startswith(code_mark("q1"))
    ]
    answer = f"{code_mark('q1')}\ndef running_sum(x):\n    return x\n"
    page.evaluate(
        "([i, text]) => { const { widgets } = window.jupyterapp.shell.currentWidget"
        ".content; widgets[i].model.sharedModel.setSource(text); }",
        [place, answer],
    )
    client.run_all()
    last = page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output")
    expect(last).to_contain_text("Save first: q1 is not in 90-all-kinds.ipynb")
    assert not written.exists()
    client.command("docmanager:save")
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)
    client.run_all()
    expect(last).to_contain_text("Written: ")
    assert "return x" in written.read_text(encoding="utf-8")
