"""Where to run and from which seed."""

import random

import numpy as np
import pytest
import torch

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
