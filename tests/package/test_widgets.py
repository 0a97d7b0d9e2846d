"""Labs in Python: what ``lab`` writes and what ``live`` computes."""

import re

import ipywidgets
import pytest
import torch

from unrolled import widgets
from unrolled.book.drawing import draw
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.runtime import generator
from unrolled.widgets import MIME, lab, lab_files, lab_names, live
from unrolled.widgets.unroll_it import GAIN, unroll_numbers

every_lab = pytest.mark.parametrize("name", lab_names())


def test_unroll_numbers_agrees_with_the_package():
    rng = generator(0)
    E, D, n_outputs, T = 3, 4, 2, 6
    cell = RNNCell(E, D).double()
    x, V, c = (
        torch.randn(*shape, generator=rng, dtype=torch.float64)
        for shape in [(T, E), (D, n_outputs), (n_outputs,)]
    )
    weights = {name: p.tolist() for name, p in cell.named_parameters()}
    run = unroll_numbers(x.tolist(), **weights, V=V.tolist(), c=c.tolist())
    found = {k: torch.tensor(rows, dtype=torch.float64) for k, rows in run.items()}
    h = unroll(cell, x[None])[0][0].detach()
    torch.testing.assert_close(found["h"], h, rtol=0, atol=1e-12)
    torch.testing.assert_close(torch.tanh(found["a"]), h, rtol=0, atol=1e-12)
    torch.testing.assert_close(found["o"], h @ V + c, rtol=0, atol=1e-12)
    torch.testing.assert_close(found["y"], torch.sigmoid(h @ V + c), rtol=0, atol=1e-12)


@every_lab
def test_the_book_stores_a_record_and_draws_a_small_mark(name, monkeypatch):
    monkeypatch.setenv("UNROLLED_BOOK", "1")
    bundle = lab(name)._repr_mimebundle_()
    assert bundle.keys() == {MIME, "text/plain"}
    assert name in bundle["text/plain"]
    html = draw(MIME, bundle[MIME])
    assert f'data-lab="{name}"' in html
    assert "<script" not in html
    assert len(html) < 400


@every_lab
def test_a_notebook_gets_everything(name, monkeypatch):
    monkeypatch.delenv("UNROLLED_BOOK", raising=False)
    html = lab(name)._repr_mimebundle_()["text/html"]
    assert f'data-lab="{name}"' in html
    assert not re.search(r"<[^>]*\b(src|href)\s*=", html)
    addresses = set(re.findall(r"https?://[^\s'\"]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a source
    assert html.count("<script>") == html.count("</script>")
    assert html.count("<script>") == len(lab_files(name))  # style, but mountAll


@every_lab
def test_files_come_in_the_order_they_load(name):
    files = lab_files(name)
    assert [path.name for path in files[:2]] == ["core.css", "core.js"]
    assert files[-1].name == f"{name}.js"
    assert all(path.parent.name == "models" for path in files[2:-1])
    if name == "unroll-it":
        assert {path.name for path in files[2:-1]} <= {"flip-flop.js"}


def find(box, description):
    def walk(widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from walk(child)

    return next(w for w in walk(box) if getattr(w, "description", "") == description)


def table(box):
    html = next(w for w in box.children if isinstance(w, ipywidgets.HTML)).value
    rows = re.findall(r"<tr>(<td>.*?)</tr>", html)
    return [[float(v) for v in re.findall(r"<td>(.*?)</td>", row)] for row in rows]


def expected(orders, W_x, W_h, b):
    cell = RNNCell(1, 1).double()
    with torch.no_grad():
        for parameter, value in zip(cell.parameters(), (W_x, W_h, b), strict=True):
            parameter.fill_(value)
        x = torch.tensor(orders, dtype=torch.float64)[None, :, None]
        return unroll(cell, x)[0].flatten().tolist()


def test_live_follows_its_controls():
    box = live("unroll-it")
    orders = [1, 0, 0, -1, 0, 1, 0, 0]
    states = [row[3] for row in table(box)]
    assert states == pytest.approx(expected(orders, 4, 2, 0), abs=5e-5)
    find(box, "W_h").value = 0.5
    find(box, "x_2").value = "reset"
    orders[1] = -1
    states = [row[3] for row in table(box)]
    assert states == pytest.approx(expected(orders, 4, 0.5, 0), abs=5e-5)
    readout = [row[4] for row in table(box)]
    assert readout == pytest.approx([GAIN * h for h in states], abs=2e-4)
    find(box, "step").value = 3
    html = next(w for w in box.children if isinstance(w, ipywidgets.HTML)).value
    assert f"h<sub>3</sub> = tanh({table(box)[2][2]:.3f}) = {states[2]:.3f}" in html
    find(box, "Network").value = "Wobble: the memory changes sign at every step"
    states = [row[3] for row in table(box)]
    assert states == pytest.approx(expected(orders, 4, -2, 0), abs=5e-5)


def test_live_puts_negative_factors_in_brackets():
    box = live("unroll-it")
    changes = {"W_h": -0.5, "b": -0.25, "x_5": "reset", "step": 5}
    for name, value in changes.items():
        find(box, name).value = value
    *_, before, now = expected([1, 0, 0, -1, -1], 4, -0.5, -0.25)
    a = -4 - 0.5 * before - 0.25
    html = next(w for w in box.children if isinstance(w, ipywidgets.HTML)).value
    line = f"(-1)·4.00 + ({before:.3f})·(-0.50) + (-0.25) = {a:.3f}"
    assert f"{line}<br>h<sub>5</sub> = tanh({a:.3f}) = {now:.3f}" in html
    find(box, "b").value = -1e-17  # where a slider may end on its way back to zero
    html = next(w for w in box.children if isinstance(w, ipywidgets.HTML)).value
    assert " + 0.00 = " in html


@pytest.mark.parametrize("make", [lab, lab_files])
def test_an_unknown_lab_is_told_which_there_are(make):
    assert "unroll-it" in lab_names()
    assert "core" not in lab_names()
    with pytest.raises(ValueError, match=r"no lab 'roll-it'; the labs are .*unroll-it"):
        make("roll-it")


@every_lab
def test_every_lab_has_a_live_version(name):
    assert isinstance(live(name), ipywidgets.VBox)


@pytest.mark.parametrize("name", ["core", "unroll_it", "not-yet"])
def test_live_says_which_labs_it_has(name, monkeypatch):
    labs = [*lab_names(), "not-yet"]  # whose script came before its Python
    monkeypatch.setattr(widgets, "lab_names", lambda: labs)
    with pytest.raises(ValueError, match=f"no live version of '{name}'.*unroll-it$"):
        live(name)
