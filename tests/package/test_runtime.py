"""Where to run and from which seed."""

import random
from itertools import count

import numpy as np
import pytest
import torch
import tqdm.std
from threadpoolctl import threadpool_info, threadpool_limits

from unrolled import runtime


def pretend(monkeypatch, *, cuda, mps):
    monkeypatch.delenv("UNROLLED_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "best"),
    [
        (True, True, "cuda"),
        (True, False, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ],
)
def test_the_fastest_device_present_is_picked(monkeypatch, cuda, mps, best):
    pretend(monkeypatch, cuda=cuda, mps=mps)
    assert runtime.pick_device() == torch.device(best)


def test_the_environment_overrides_the_choice(monkeypatch):
    pretend(monkeypatch, cuda=True, mps=True)
    monkeypatch.setenv("UNROLLED_DEVICE", "cpu")
    assert runtime.pick_device() == torch.device("cpu")


def test_an_empty_override_is_no_override(monkeypatch):
    pretend(monkeypatch, cuda=False, mps=True)
    monkeypatch.setenv("UNROLLED_DEVICE", "")
    assert runtime.pick_device() == torch.device("mps")


def draws():
    return random.random(), np.random.rand(), torch.rand(()).item()


def test_a_seed_makes_every_generator_repeat():
    runtime.seed_all(7)
    first = draws()
    assert all(a != b for a, b in zip(draws(), first, strict=True))
    runtime.seed_all(7)
    assert draws() == first
    runtime.seed_all(8)
    assert all(a != b for a, b in zip(draws(), first, strict=True))


def test_a_generator_repeats_and_leaves_the_global_one_alone():
    runtime.seed_all(7)
    global_draw = torch.rand(3)
    runtime.seed_all(7)
    ours = [torch.rand(3, generator=runtime.generator(seed)) for seed in (1, 1, 2)]
    assert torch.equal(ours[0], ours[1])
    assert not torch.equal(ours[0], ours[2])
    assert torch.equal(torch.rand(3), global_draw)


# ---- one thread ----


def threads():
    """Return on how many threads torch computes, and on how many NumPy's BLAS."""
    blas = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}
    return torch.get_num_threads(), max(blas)


@pytest.fixture
def two_threads():
    """A machine on which torch and NumPy would take two cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2, user_api="blas"):
        assert threads() == (2, 2)
        yield
    torch.set_num_threads(before)


def test_a_chapter_computes_on_one_thread_from_its_seed_on(two_threads):
    runtime.seed_all(0)
    assert threads() == (1, 1)


def test_one_thread_is_given_back(two_threads):
    with runtime.one_thread():
        assert threads() == (1, 1)
    assert threads() == (2, 2)


def test_one_thread_is_given_back_after_an_error(two_threads):
    with pytest.raises(KeyError), runtime.one_thread():
        raise KeyError
    assert threads() == (2, 2)


# ---- progress ----


@pytest.fixture
def seconds_a_step(monkeypatch):
    """Let the clock go on by so many seconds whenever a bar looks at it."""

    def tick(seconds):
        clock = count(0.0, seconds)
        monkeypatch.setattr(tqdm.std, "time", lambda: next(clock))

    monkeypatch.delenv("UNROLLED_BOOK", raising=False)
    return tick


def test_a_loop_that_takes_long_gets_a_bar_that_goes_when_it_is_done(
    seconds_a_step, capsys
):
    seconds_a_step(1.0)
    assert list(runtime.progress(range(9))) == list(range(9))
    shown = capsys.readouterr().err
    assert "/9 [" in shown
    assert shown.rpartition("\r")[0].endswith(" ")  # wiped out
    assert list(runtime.progress(iter("abcdefgh"), total=8)) == list("abcdefgh")
    assert "/8 [" in capsys.readouterr().err


def test_a_loop_that_does_not_gets_none(seconds_a_step, capsys):
    seconds_a_step(0.2)
    assert list(runtime.progress(range(9))) == list(range(9))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wanted", [False, True])
def test_where_the_book_is_made_or_none_is_wanted_there_is_no_bar(
    seconds_a_step, capsys, monkeypatch, wanted
):
    seconds_a_step(1.0)
    if wanted:
        monkeypatch.setenv("UNROLLED_BOOK", "1")
    assert list(runtime.progress(range(9), wanted=wanted)) == list(range(9))
    assert capsys.readouterr().err == ""


def test_the_book_is_found_beside_the_code(monkeypatch, tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_toc.yml").touch()
    monkeypatch.setattr(runtime, "__file__", str(tmp_path / "code/unrolled/runtime.py"))
    assert runtime.book_folder() == tmp_path.resolve() / "book"


@pytest.mark.parametrize("name", ["nonsense", "cuda:99", "CPU"])
def test_a_device_that_is_not_there_is_named_in_the_error(monkeypatch, name):
    monkeypatch.setenv("UNROLLED_DEVICE", name)
    message = f"^UNROLLED_DEVICE='{name}' cannot be used here; this machine has .*cpu"
    with pytest.raises(ValueError, match=message):
        runtime.pick_device()


def test_a_missing_book_says_where_it_was_sought_and_how_to_install(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(runtime, "__file__", str(tmp_path / "code/unrolled/runtime.py"))
    with pytest.raises(FileNotFoundError, match=r"^no book at .*book: .* -e code'"):
        runtime.book_folder()
