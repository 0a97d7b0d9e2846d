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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect

from page_forms import executed_pages, has_the_form
from unrolled.book.drawing import DRAWN
from unrolled.book.records import CLAIM, QUIZ
from unrolled.chapters.pages import Page as ChapterPage
from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.notebooks.editions import student_notebook
from unrolled.grading.notebooks.sheets import code_mark
from unrolled.widgets import MIME as LAB
from unrolled_book.notebooks import FOLDED

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
THEMES = ("JupyterLab Light", "JupyterLab Dark")
FIGURE = "image/svg+xml"
ABOUT_A_MINUTE = 75  # a page may take 60 s, and what is on record was a busy machine's
RAW = ("{measured}", "{numref}", "{ref}", "{cite", "{eq}", ":::", "```{")
SETTINGS = {
    # No news from elsewhere, and every cell in the page, not those in sight alone.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}


def stored_in(notebook: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the records and figures that a notebook stores, with their types."""
    return [
        (mime, value)
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        for mime, value in output.get("data", {}).items()
        if mime in {FIGURE, *DRAWN}
    ]


def types_of(notebook: dict[str, Any]) -> list[str]:
    """Return which records and figures a notebook stores, in order."""
    return [mime for mime, _ in stored_in(notebook)]


def quickest(pages: Sequence[ChapterPage]) -> ChapterPage:
    """Return the page that runs in the least time and has one of everything.

    It has the book's form, if one that has it runs in about a minute.
    """
    found, formed = {}, {}
    for page in pages:
        notebook = json.loads(page.notebook.read_text(encoding="utf-8"))
        if {FIGURE, CLAIM, QUIZ, LAB} <= set(types_of(notebook)):
            found[page] = notebook["metadata"]["unrolled"]["seconds"]
            if has_the_form(page) and found[page] < ABOUT_A_MINUTE:
                formed[page] = found[page]
    choice = formed or found
    return min(choice, key=choice.__getitem__)


PAGES = executed_pages(ROOT)
RUN = quickest(PAGES)
#: All that have the form, and one of the others, for as long as there are others.
SEEN = [page for page in PAGES if has_the_form(page)]
OTHERS = [page for page in PAGES if not has_the_form(page)]
SEEN += [quickest(OTHERS)] if OTHERS else []


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
        records = stored_in(self.stored)
        types = [mime for mime, _ in records]
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
        questions = [q for m, quiz in records if m == QUIZ for q in quiz["questions"]]
        answers = self.page.locator(".jp-OutputArea .quiz details")
        expect(answers).to_have_count(sum(len(q["options"]) for q in questions))
        for answer in answers.all():
            assert not answer.locator("p").is_visible()
        text = self.page.locator(".jp-Notebook").inner_text()
        assert "drawn in the page" not in text
        assert "Maybe you need to run the cell" not in text

    def check_folds(self) -> None:
        """The code of claims, figures and plumbing is folded, all other in sight."""
        folded = [
            bool(FOLDED & set(cell["metadata"].get("tags", ())))
            for cell in self.stored["cells"]
            if cell["cell_type"] == "code"
        ]
        assert any(folded)
        cells = self.page.locator(".jp-Notebook .jp-CodeCell")
        bars = cells.locator(".jp-Cell-inputWrapper .jp-InputPlaceholder")
        expect(bars).to_have_count(sum(folded))
        assert cells.evaluate_all(IN_SIGHT, ".jp-InputPlaceholder") == folded
        shown = cells.evaluate_all(IN_SIGHT, ".jp-InputArea-editor")
        assert shown == [not one for one in folded]

    def check_words(self) -> None:
        """No role, fence or citation is shown as it is written."""
        words = self.page.locator(".jp-MarkdownCell .jp-RenderedMarkdown")
        text = "\n".join(words.all_inner_texts())
        assert len(text) > 1000
        assert [sign for sign in RAW if sign in text] == []

    def check_contrast(self) -> None:
        """Words in the outputs stand out from what is behind them."""
        types = types_of(self.stored)
        for kind, spot in ((CLAIM, ".claim p"), (QUIZ, ".quiz summary")):
            if kind not in types:  # a further page has no quiz
                continue
            seen = self.page.locator(f".jp-OutputArea {spot}").first
            assert seen.evaluate(CONTRAST) >= 4.5, spot


IN_SIGHT = """(cells, part) => cells.map((cell) => cell.querySelector(part))
  .map((found) => Boolean(found?.checkVisibility()))"""
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


# The notebooks are opened as they are committed: JupyterLab does not trust them. The
# argument is not called page: all of this file is one process's, with one server.
@pytest.mark.parametrize("seen", SEEN, ids=lambda page: page.stem)
def test_a_committed_page_is_whole_before_it_is_trusted(
    seen: ChapterPage, lab_server: Server, open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(Path(shutil.copy(seen.notebook, lab_server.folder)))
    client.check_words()
    client.check_folds()
    types = types_of(client.stored)
    labs = client.page.locator(".jp-OutputArea .lab-mark a")
    expect(labs).to_have_count(types.count(LAB))
    for theme in THEMES:
        client.theme(theme)
        client.check_outputs()
        client.check_contrast()
    if QUIZ in types:
        client.page.locator(".quiz summary").first.click()
        assert client.page.locator(".quiz details p").first.is_visible()


def test_pages_that_have_the_form_are_seen() -> None:
    stems = {page.stem for page in SEEN}
    assert {"04-recurrent-networks", "04-recurrent-networks-cost"} <= stems


@pytest.mark.parametrize(("seconds", "choice"), [(74, 1), (76, 0)])
def test_a_page_that_has_the_form_is_run_if_it_takes_about_a_minute(
    tmp_path: Path, seconds: float, choice: int
) -> None:
    names = {"00-primer": 20, "98-in-form": seconds, "98-in-form-study": 3}
    pages = [ChapterPage(tmp_path / f"{name}.md", "main") for name in names]
    for page, took in zip(pages, names.values(), strict=True):
        kinds = (CLAIM,) if page is pages[2] else (FIGURE, CLAIM, QUIZ, LAB)
        cell = {"outputs": [{"data": dict.fromkeys(kinds)}]}
        metadata = {"unrolled": {"seconds": took}}
        page.notebook.write_text(json.dumps({"cells": [cell], "metadata": metadata}))
    assert quickest(pages) is pages[choice]


def test_a_chapter_that_is_run_shows_the_same(
    lab_server: Server, open_notebook: Callable[[Path], Client]
) -> None:
    client = open_notebook(Path(shutil.copy(RUN.notebook, lab_server.folder)))
    client.run_all(seconds=300)
    expect(client.page.locator(".unrolled-lab")).to_have_count(
        types_of(client.stored).count(LAB)
    )
    client.check_folds()
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
